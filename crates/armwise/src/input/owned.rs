//! Arms that own their memory: rows gathered from others, a catalogue, the candidates of a choice from parts.

use super::{Arms, Column, Features, Keys, Names};
use crate::Error;

/// Features in either precision.
#[derive(Debug, Clone)]
enum Stored {
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Only the keys are kept.
    Nothing,
}

/// The ids or names of the rows.
#[derive(Debug, Clone)]
enum Who {
    Numbers(u64),
    Ids(Vec<u64>),
    Names(Names),
}

#[derive(Debug, Clone)]
struct OwnedColumn {
    name: String,
    values: Vec<f64>,
    per_row: usize,
}

/// Rows with their features, keys, flags and columns.
#[derive(Debug, Clone)]
pub(crate) struct OwnedArms {
    features: Stored,
    dim: usize,
    len: usize,
    who: Who,
    /// None, one flag per row, or one per row and block.
    eligible: Option<Vec<bool>>,
    columns: Vec<OwnedColumn>,
}

impl Default for OwnedArms {
    fn default() -> Self {
        let (features, who) = (Stored::F64(Vec::new()), Who::Ids(Vec::new()));
        Self { features, dim: 0, len: 0, who, eligible: None, columns: Vec::new() }
    }
}

impl OwnedArms {
    /// A copy of these arms without flags and columns; rows identified by their numbers stay so.
    pub(crate) fn whole(arms: &Arms<'_>) -> Self {
        let rows: Vec<usize> = (0..arms.len()).collect();
        let mut whole = Self { eligible: None, columns: Vec::new(), ..arms.gather(&rows) };
        if let Some(numbers) = arms.keys().row_numbers() {
            whole.who = Who::Numbers(numbers.start);
        }
        whole
    }

    /// No rows yet; rows added later are stored without their features.
    pub(crate) fn without_features() -> Self {
        Self { features: Stored::Nothing, ..Self::default() }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The mask, if there is one.
    pub(crate) fn eligible(&self) -> Option<&[bool]> {
        self.eligible.as_deref()
    }

    /// Whether features are kept beside the keys.
    pub(crate) fn has_features(&self) -> bool {
        !matches!(self.features, Stored::Nothing)
    }

    /// Refuses a part that does not fit the rows before it.
    pub(crate) fn check(&self, part: &Arms<'_>) -> Result<(), Error> {
        if self.len == 0 {
            return Ok(());
        }
        let mine: Vec<(&str, usize)> = self.columns.iter().map(|column| (&column.name[..], column.per_row)).collect();
        let theirs = shape(part.keys());
        if mine != theirs {
            let text = format!("a part has the columns (name, values to a row) {theirs:?}, the parts before {mine:?}");
            return Err(Error::Constraint(text));
        }
        if matches!(self.who, Who::Names(_)) != part.name(0).is_some() {
            return Err(Error::Constraint("some parts have names and others have not".into()));
        }
        Ok(())
    }

    /// Adds rows of a part that fits; a missing mask counts as all eligible.
    pub(crate) fn extend(&mut self, part: &Arms<'_>, rows: &[usize]) {
        let keys = part.keys();
        if self.len == 0 {
            (self.dim, self.eligible) = (part.dim(), None);
            self.who = Who::like(keys);
            let column =
                |(name, per_row): (&str, usize)| OwnedColumn { name: name.into(), values: Vec::new(), per_row };
            self.columns = shape(keys).into_iter().map(column).collect();
            if let (Stored::F64(_), Features::F32(_)) = (&self.features, part.features()) {
                self.features = Stored::F32(Vec::new());
            }
        }
        match (&mut self.features, part.features()) {
            (Stored::Nothing, _) => {}
            (Stored::F32(mine), Features::F32(x)) => pick(x, self.dim, rows, mine),
            (Stored::F64(mine), Features::F64(x)) => pick(x, self.dim, rows, mine),
            (Stored::F64(mine), Features::F32(_)) => rows.iter().for_each(|&row| part.row_onto(row, mine)),
            (Stored::F32(mine), Features::F64(x)) => {
                let mut wide = mine.iter().map(|&x| f64::from(x)).collect();
                pick(x, self.dim, rows, &mut wide);
                self.features = Stored::F64(wide);
            }
        }
        match (&mut self.eligible, part.eligible()) {
            (None, None) => {}
            (Some(mine), Some(flags)) if mine.len() * part.len() == flags.len() * self.len => {
                pick(flags, part.eligible_per_row(), rows, mine);
            }
            (mine, _) => {
                // One mask per row and one per row and block: keep flags per row and block.
                let per_row = mine.as_ref().map_or(1, |mine| mine.len() / self.len).max(part.eligible_per_row().max(1));
                let old = mine.take();
                let flag = |place: usize| match &old {
                    None => true,
                    Some(old) if old.len() == self.len => old[place / per_row],
                    Some(old) => old[place],
                };
                let mut flags: Vec<bool> = (0..self.len * per_row).map(flag).collect();
                rows.iter().for_each(|&row| flags.extend((0..per_row).map(|block| part.is_eligible(row, block))));
                *mine = Some(flags);
            }
        }
        for column in &mut self.columns {
            if let Some((values, per_row)) = keys.column(&column.name) {
                pick(values, per_row, rows, &mut column.values);
            }
        }
        self.who.extend(keys, rows);
        self.len += rows.len();
    }

    /// Keeps only these rows, ascending.
    pub(crate) fn retain(&mut self, rows: &[usize]) {
        match &mut self.features {
            Stored::F32(x) => retain(x, self.dim, rows),
            Stored::F64(x) => retain(x, self.dim, rows),
            Stored::Nothing => {}
        }
        if let Some(flags) = &mut self.eligible {
            let per_row = flags.len() / self.len;
            retain(flags, per_row, rows);
        }
        self.columns.iter_mut().for_each(|column| retain(&mut column.values, column.per_row, rows));
        match &mut self.who {
            Who::Numbers(_) => unreachable!("gathered rows have ids or names"),
            Who::Ids(ids) => retain(ids, 1, rows),
            Who::Names(names) => {
                let mut kept = Names::default();
                rows.iter().for_each(|&row| kept.push(names.get(row), names.ids()[row]));
                *names = kept;
            }
        }
        self.len = rows.len();
    }

    /// The keys of some rows, without features and flags.
    pub(crate) fn keys_of(&self, rows: &[usize]) -> Self {
        let who = match &self.who {
            Who::Numbers(first) => Who::Ids(rows.iter().map(|&row| first + row as u64).collect()),
            Who::Ids(ids) => Who::Ids(rows.iter().map(|&row| ids[row]).collect()),
            Who::Names(names) => {
                let mut own = Names::default();
                rows.iter().for_each(|&row| own.push(names.get(row), names.ids()[row]));
                Who::Names(own)
            }
        };
        let column = |column: &OwnedColumn| {
            let mut values = Vec::new();
            pick(&column.values, column.per_row, rows, &mut values);
            OwnedColumn { name: column.name.clone(), values, per_row: column.per_row }
        };
        let columns = self.columns.iter().map(column).collect();
        Self { features: Stored::Nothing, dim: self.dim, len: rows.len(), who, eligible: None, columns }
    }

    /// Refuses an id or a name that appears twice, as rows of several parts may have.
    pub(crate) fn check_unique(&self) -> Result<(), Error> {
        match &self.who {
            Who::Numbers(_) => Ok(()),
            Who::Ids(ids) => Keys::numbers(self.len)?.with_ids(ids).map(|_| ()),
            Who::Names(names) => names.check(),
        }
    }

    /// Calls a function with the keys. Duplicates are not checked here; see `check_unique`.
    pub(crate) fn with_keys<T>(&self, see: impl FnOnce(Keys<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let columns: Vec<Column<'_>> =
            self.columns.iter().map(|column| Column { name: &column.name, values: &column.values }).collect();
        see(self.keys()?.with_columns(&columns)?)
    }

    /// Calls a function with the rows as arms.
    pub(crate) fn with_arms<T>(&self, see: impl FnOnce(&Arms<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.with_keys(|keys| see(&self.plain()?.with_keys(keys)?))
    }

    /// All rows as arms, without columns.
    pub(crate) fn plain(&self) -> Result<Arms<'_>, Error> {
        let arms = match &self.features {
            Stored::F32(x) => Arms::new(x, self.dim),
            Stored::F64(x) => Arms::new(x, self.dim),
            Stored::Nothing => Err(Error::NoArms),
        }?;
        let arms = arms.with_keys(self.keys()?)?;
        self.eligible.as_ref().map_or(Ok(arms), |flags| arms.with_eligible(flags))
    }

    fn keys(&self) -> Result<Keys<'_>, Error> {
        let keys = Keys::numbers(self.len)?;
        match &self.who {
            Who::Numbers(first) => Ok(keys.numbered_from(*first)),
            Who::Ids(ids) => keys.with_unique_ids(ids),
            Who::Names(names) => keys.with_names(names),
        }
    }
}

impl Who {
    /// An empty list of the same kind as these keys.
    fn like(keys: Keys<'_>) -> Self {
        if keys.name(0).is_some() { Self::Names(Names::default()) } else { Self::Ids(Vec::new()) }
    }

    fn extend(&mut self, keys: Keys<'_>, rows: &[usize]) {
        match self {
            Self::Numbers(_) => unreachable!("rows are not added to numbered ones"),
            Self::Ids(ids) => ids.extend(rows.iter().map(|&row| keys.id(row))),
            Self::Names(names) => {
                rows.iter().for_each(|&row| names.push(keys.name(row).unwrap_or_default(), keys.id(row)));
            }
        }
    }
}

/// The columns with their numbers of values to a row.
fn shape(keys: Keys<'_>) -> Vec<(&str, usize)> {
    keys.column_names().filter_map(|name| Some((name, keys.column(name)?.1))).collect()
}

/// Appends the values of some rows.
fn pick<T: Copy>(all: &[T], per_row: usize, rows: &[usize], to: &mut Vec<T>) {
    to.reserve(rows.len() * per_row);
    rows.iter().for_each(|row| to.extend_from_slice(&all[row * per_row..(row + 1) * per_row]));
}

/// Keeps only the values of these rows (ascending), in place.
fn retain<T: Copy>(values: &mut Vec<T>, per_row: usize, rows: &[usize]) {
    for (place, row) in rows.iter().enumerate() {
        values.copy_within(row * per_row..(row + 1) * per_row, place * per_row);
    }
    values.truncate(rows.len() * per_row);
}
