//! The arms of a round: a borrowed view of feature rows with stable ids.
//!
//! Nothing is copied and the storage may be f32 or f64; every row is widened to f64 before
//! arithmetic, so the same values give the same bits whichever way they are stored. Features are checked where
//! they are first read (a bad one makes its row's mean not finite), which saves a pass over memory.

use crate::{Catalogue, Error, Names};
use std::ops::Range;

/// Row-major features in either precision.
#[derive(Debug, Clone, Copy)]
pub enum Features<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

impl<'a> From<&'a [f32]> for Features<'a> {
    fn from(values: &'a [f32]) -> Self {
        Self::F32(values)
    }
}

impl<'a> From<&'a [f64]> for Features<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self::F64(values)
    }
}

impl<'a> From<&'a Vec<f32>> for Features<'a> {
    fn from(values: &'a Vec<f32>) -> Self {
        Self::F32(values)
    }
}

impl<'a> From<&'a Vec<f64>> for Features<'a> {
    fn from(values: &'a Vec<f64>) -> Self {
        Self::F64(values)
    }
}

/// What makes each row stable across rounds.
#[derive(Debug, Clone, Copy)]
enum Keys<'a> {
    /// The id is the row number, counted from this one.
    FromRow(u64),
    Ids(&'a [u64]),
    Names {
        names: &'a [String],
        ids: &'a [u64],
    },
}

/// A number per row, or per row and block, that a constraint refers to by name: a cost, a group.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The name by which a constraint refers to it.
    pub name: &'a str,
    /// One value per row, or one per row and block in row-major order.
    pub values: &'a [f64],
}

/// The rows x_t(i) of a round, borrowed.
///
/// # Example
/// ```
/// use armwise::Arms;
/// let x = [1.0, 0.0, 0.6, 0.8];
/// let arms = Arms::new(&x[..], 2)?.with_ids(&[17, 4])?;
/// assert_eq!((arms.len(), arms.id(1)), (2, 4));
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Arms<'a> {
    features: Features<'a>,
    dim: usize,
    len: usize,
    keys: Keys<'a>,
    /// One flag per row, or one per row and block.
    eligible: Option<&'a [bool]>,
    columns: &'a [Column<'a>],
    /// Where this slice starts in the columns, which are not sliced with it.
    first_row: usize,
    rows_of_columns: usize,
    /// What these rows, all of them and in their order, come from.
    catalogue: Option<&'a Catalogue>,
}

impl<'a> Arms<'a> {
    /// Takes row-major features, `dim` to a row. The id of a row is its number until ids or names are given.
    ///
    /// # Errors
    /// [`Error::NoArms`] without rows, [`Error::Dimension`] if the rows do not come out even.
    pub fn new(features: impl Into<Features<'a>>, dim: usize) -> Result<Self, Error> {
        let features = features.into();
        let values = match features {
            Features::F32(x) => x.len(),
            Features::F64(x) => x.len(),
        };
        if values == 0 {
            return Err(Error::NoArms);
        }
        if dim == 0 || !values.is_multiple_of(dim) {
            let what = "features in the last row";
            return Err(Error::Dimension { what, expected: dim, found: values.checked_rem(dim).unwrap_or(values) });
        }
        let len = values / dim;
        Ok(Self {
            features,
            dim,
            len,
            keys: Keys::FromRow(0),
            eligible: None,
            columns: &[],
            first_row: 0,
            rows_of_columns: len,
            catalogue: None,
        })
    }

    /// Gives every row a stable id.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of ids than rows, [`Error::DuplicateId`] if an id stands twice.
    pub fn with_ids(self, ids: &'a [u64]) -> Result<Self, Error> {
        same_length("ids", self.len, ids.len())?;
        if let Some((id, first, second)) = first_duplicate(ids) {
            return Err(Error::DuplicateId { id, first, second });
        }
        Ok(Self { keys: Keys::Ids(ids), ..self })
    }

    /// Gives every row a name; its id is [`id_of`](crate::id_of) the name.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of names than rows.
    pub fn with_names(self, names: &'a Names) -> Result<Self, Error> {
        same_length("names", self.len, names.ids().len())?;
        Ok(Self { keys: Keys::Names { names: names.names(), ids: names.ids() }, ..self })
    }

    /// Says which rows may be chosen (one flag per row), or which pairs (one per row and block, row-major).
    ///
    /// # Errors
    /// [`Error::Dimension`] if the mask is not a whole number of flags per row.
    pub fn with_eligible(self, eligible: &'a [bool]) -> Result<Self, Error> {
        if eligible.is_empty() || !eligible.len().is_multiple_of(self.len) {
            return Err(Error::Dimension { what: "eligible flags", expected: self.len, found: eligible.len() });
        }
        Ok(Self { eligible: Some(eligible), ..self })
    }

    /// Attaches the columns that constraints refer to by name.
    ///
    /// # Errors
    /// [`Error::Dimension`] if a column is not a whole number of values per row, [`Error::Constraint`] if two columns
    /// have the same name.
    pub fn with_columns(self, columns: &'a [Column<'a>]) -> Result<Self, Error> {
        for (place, column) in columns.iter().enumerate() {
            if columns[..place].iter().any(|earlier| earlier.name == column.name) {
                return Err(Error::Constraint(format!("two columns have the name {:?}", column.name)));
            }
            if column.values.is_empty() || !column.values.len().is_multiple_of(self.len) {
                return Err(Error::Dimension {
                    what: "values in a column",
                    expected: self.len,
                    found: column.values.len(),
                });
            }
        }
        Ok(Self { columns, first_row: 0, rows_of_columns: self.len, ..self })
    }

    /// The rows of a range, with their ids, flags and columns.
    ///
    /// # Panics
    /// If the range is empty or reaches past the last row.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        assert!(rows.start < rows.end && rows.end <= self.len, "rows {rows:?} of {}", self.len);
        let cut = rows.start * self.dim..rows.end * self.dim;
        let per_row = self.eligible.map_or(0, |mask| mask.len() / self.len);
        Self {
            features: match self.features {
                Features::F32(x) => Features::F32(&x[cut]),
                Features::F64(x) => Features::F64(&x[cut]),
            },
            len: rows.len(),
            keys: match self.keys {
                Keys::FromRow(first) => Keys::FromRow(first + rows.start as u64),
                Keys::Ids(ids) => Keys::Ids(&ids[rows.clone()]),
                Keys::Names { names, ids } => Keys::Names { names: &names[rows.clone()], ids: &ids[rows.clone()] },
            },
            eligible: self.eligible.map(|mask| &mask[rows.start * per_row..rows.end * per_row]),
            first_row: self.first_row + rows.start,
            catalogue: None,
            ..*self
        }
    }

    /// The number of rows.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "arms are never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of features of a row, d.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The id of a row.
    #[must_use]
    #[inline]
    pub fn id(&self, row: usize) -> u64 {
        match self.keys {
            Keys::FromRow(first) => first + row as u64,
            Keys::Ids(ids) | Keys::Names { ids, .. } => ids[row],
        }
    }

    /// The ids of all rows.
    pub(crate) fn ids_into(&self, ids: &mut Vec<u64>) {
        ids.clear();
        match self.keys {
            Keys::FromRow(first) => ids.extend(first..first + self.len as u64),
            Keys::Ids(all) | Keys::Names { ids: all, .. } => ids.extend_from_slice(all),
        }
    }

    /// Copies of some rows, without their columns.
    pub(crate) fn gather(&self, rows: &[usize]) -> Gathered {
        fn pick<T: Copy>(all: &[T], per_row: usize, rows: &[usize]) -> Vec<T> {
            let mut picked = Vec::with_capacity(rows.len() * per_row);
            rows.iter().for_each(|row| picked.extend_from_slice(&all[row * per_row..(row + 1) * per_row]));
            picked
        }
        Gathered {
            features: match self.features {
                Features::F32(x) => Stored::F32(pick(x, self.dim, rows)),
                Features::F64(x) => Stored::F64(pick(x, self.dim, rows)),
            },
            dim: self.dim,
            ids: rows.iter().map(|&row| self.id(row)).collect(),
            names: rows.iter().filter_map(|&row| self.name(row)).map(str::to_owned).collect(),
            eligible: self.eligible.map(|mask| pick(mask, self.eligible_per_row(), rows)),
        }
    }

    /// The name of a row, where names were given.
    #[must_use]
    pub fn name(&self, row: usize) -> Option<&'a str> {
        match self.keys {
            Keys::Names { names, .. } => Some(&names[row]),
            _ => None,
        }
    }

    /// Rows whose ids are their numbers, counted from this one.
    pub(crate) fn numbered_from(self, first: u64) -> Self {
        Self { keys: Keys::FromRow(first), ..self }
    }

    /// As [`with_ids`](Self::with_ids), for whoever sees to it elsewhere that no id stands twice: looking for repeated
    /// ids takes longer than scoring a few features. Rows with the same id share their draws.
    ///
    /// # Panics
    /// For another number of ids than rows.
    #[must_use]
    pub fn with_unique_ids(self, ids: &'a [u64]) -> Self {
        assert_eq!(ids.len(), self.len, "as many ids as rows");
        Self { keys: Keys::Ids(ids), ..self }
    }

    /// The arms of a catalogue.
    pub(crate) fn of_catalogue(self, catalogue: &'a Catalogue) -> Self {
        Self { catalogue: Some(catalogue), ..self }
    }

    /// The catalogue that these arms are.
    pub(crate) fn catalogue(&self) -> Option<&'a Catalogue> {
        self.catalogue
    }

    /// The row numbers that serve as ids, where neither ids nor names were given.
    pub(crate) fn numbers(&self) -> Option<Range<u64>> {
        match self.keys {
            Keys::FromRow(first) => Some(first..first + self.len as u64),
            _ => None,
        }
    }

    /// The features of these arms.
    #[must_use]
    pub fn features(&self) -> Features<'a> {
        self.features
    }

    /// The features of a row, widened to f64.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<f64> {
        let mut features = Vec::with_capacity(self.dim);
        self.row_onto(row, &mut features);
        features
    }

    /// Adds the features of a row to those in `to`.
    pub(crate) fn row_onto(&self, row: usize, to: &mut Vec<f64>) {
        let cut = row * self.dim..(row + 1) * self.dim;
        match self.features {
            Features::F32(x) => to.extend(x[cut].iter().map(|&x| f64::from(x))),
            Features::F64(x) => to.extend_from_slice(&x[cut]),
        }
    }

    /// How many eligible flags a row has: 0 (no mask), 1, or the number of blocks.
    pub(crate) fn eligible_per_row(&self) -> usize {
        self.eligible.map_or(0, |mask| mask.len() / self.len)
    }

    /// Whether row `row` may be chosen in block `block`.
    #[must_use]
    pub fn is_eligible(&self, row: usize, block: usize) -> bool {
        match (self.eligible, self.eligible_per_row()) {
            (None, _) => true,
            (Some(mask), 1) => mask[row],
            (Some(mask), blocks) => mask[row * blocks + block],
        }
    }

    /// The values of a column for these rows, and how many there are to a row.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<(&'a [f64], usize)> {
        let values = self.columns.iter().find(|column| column.name == name)?.values;
        let per_row = values.len() / self.rows_of_columns;
        Some((&values[self.first_row * per_row..(self.first_row + self.len) * per_row], per_row))
    }

    /// The names of the attached columns.
    pub fn column_names(&self) -> impl Iterator<Item = &'a str> {
        self.columns.iter().map(|column| column.name)
    }
}

/// Features that are owned, in either precision.
#[derive(Debug, Clone)]
pub(crate) enum Stored {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Stored {
    pub(crate) fn features(&self) -> Features<'_> {
        match self {
            Self::F32(x) => Features::F32(x),
            Self::F64(x) => Features::F64(x),
        }
    }
}

/// Rows taken out of some arms.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) features: Stored,
    dim: usize,
    pub(crate) ids: Vec<u64>,
    /// As many as rows, or none.
    names: Vec<String>,
    eligible: Option<Vec<bool>>,
}

impl Gathered {
    /// The rows as arms; that their ids are unique was seen to where they come from.
    pub(crate) fn arms(&self) -> Result<Arms<'_>, Error> {
        let ids = &self.ids;
        let keys = if self.names.is_empty() { Keys::Ids(ids) } else { Keys::Names { names: &self.names, ids } };
        let arms = Arms::new(self.features.features(), self.dim)?;
        Ok(Arms { keys, eligible: self.eligible.as_deref(), ..arms })
    }
}

fn same_length(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Dimension { what, expected, found }) }
}

/// The smallest repeated id with its first two rows. Ids in ascending order, the common case, cost one pass.
fn first_duplicate(ids: &[u64]) -> Option<(u64, usize, usize)> {
    if ids.windows(2).all(|pair| pair[0] < pair[1]) {
        return None;
    }
    let mut sorted: Vec<(u64, usize)> = ids.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let pair = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
    Some((pair[0].0, pair[0].1, pair[1].1))
}
