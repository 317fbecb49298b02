//! The catalogue that a served campaign keeps: rows that come, change and go by entries of the journal.
//!
//! The catalogue after an entry is the fold of all changes up to it (`replay.rs`), so it needs no table of its own. Features are made
//! once where they depend on the rows alone, and prune as the library's catalogue does; with a context they are made for
//! each request.

use super::{replay::Replay, request::Among};
use crate::{
    Campaign, Error,
    core::ArmsAction,
    recipe::Recipe,
    table::{ColumnType, Rows, column_named, columns_of},
};
use armwise::{Arms, Catalogue, Names};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, new_null_array};
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use arrow_schema::{Field, Schema};
use arrow_select::interleave::interleave;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

/// What messages call it.
pub(super) const NAME: &str = "the catalogue";

/// The rows of the catalogue.
#[derive(Debug)]
pub(super) struct Shelf {
    /// The column with the ids.
    customer: String,
    rows: Rows,
    places: HashMap<String, usize>,
    /// Column by column, the rows with each value; made when a column is first asked for.
    values: Mutex<BTreeMap<String, Arc<ByValue>>>,
    /// The features of all rows, and the recipe that made them; none where they need a context.
    features: Mutex<Option<(Recipe, Option<Arc<Catalogue>>)>>,
}

/// The rows with each value of a column.
type ByValue = HashMap<String, Vec<usize>>;

/// Which rows of the catalogue are asked for.
pub(super) enum Which {
    All,
    /// Few of them, by their places.
    These(Vec<usize>),
    /// Many of them.
    Mask(Vec<bool>),
}

fn named(batch: RecordBatch) -> Rows {
    Rows::of(batch, &Arc::from(NAME))
}

impl Shelf {
    pub(super) fn new(customer: &str, batch: RecordBatch) -> Result<Self, Error> {
        let rows = named(batch);
        let mut places = HashMap::with_capacity(rows.len());
        if rows.len() > 0 {
            for (row, id) in rows.ids(customer)?.into_iter().enumerate() {
                let id = id.ok_or_else(|| rows.bad(row, customer, "the arm's id is missing"))?;
                if let Some(first) = places.insert(id.clone(), row) {
                    let (table, first, second) = (NAME.to_owned(), first as u64 + 1, row as u64 + 1);
                    return Err(Error::DuplicateCustomer { table, customer: id, first, second });
                }
            }
        }
        let (values, features) = (Mutex::default(), Mutex::default());
        Ok(Self { customer: customer.to_owned(), rows, places, values, features })
    }

    /// The catalogue of a campaign after its last entry; none if it never had one.
    pub(super) fn of(campaign: &Campaign) -> Result<Option<Self>, Error> {
        let changes = campaign.arms_changes()?;
        if changes.is_empty() {
            return Ok(None);
        }
        let customer = &campaign.config().customer;
        let mut replay = Replay::of(customer, &Self::empty(customer)?);
        for (_, change, bytes) in changes {
            replay.change(change.action, read(&bytes)?)?;
        }
        replay.shelf().map(Some)
    }

    /// A catalogue without rows.
    pub(super) fn empty(customer: &str) -> Result<Self, Error> {
        Self::new(customer, empty())
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// The ids of the rows that are not among these.
    pub(super) fn others(&self, rows: &RecordBatch) -> Result<Vec<String>, Error> {
        let stay = Self::new(&self.customer, rows.clone())?;
        let mut others: Vec<String> = self.places.keys().filter(|id| stay.place(id).is_none()).cloned().collect();
        others.sort_unstable();
        Ok(others)
    }

    /// Rows that name only these ids.
    pub(super) fn ids(&self, ids: &[String]) -> Result<RecordBatch, Error> {
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(ids));
        RecordBatch::try_from_iter([(self.customer.as_str(), texts)]).map_err(|error| unreadable(&error))
    }

    /// The catalogue after a change.
    pub(super) fn after(&self, action: ArmsAction, rows: RecordBatch) -> Result<Self, Error> {
        let new = Self::new(&self.customer, rows)?;
        if action == ArmsAction::Retire {
            if let Some(id) = new.ids_in_order().into_iter().find(|id| self.place(id).is_none()) {
                return Err(Error::NotFound { what: "arm", name: id, hint: String::new() });
            }
            let mut keep: Vec<(&String, &usize)> =
                self.places.iter().filter(|(id, _)| new.place(id).is_none()).collect();
            keep.sort_unstable_by_key(|(_, place)| **place);
            let keep: Vec<usize> = keep.into_iter().map(|(_, place)| *place).collect();
            return Self::new(&self.customer, self.rows.picked(&keep)?.batch().clone());
        }
        self.merged(&new, action == ArmsAction::Put)
    }

    pub(super) fn ids_in_order(&self) -> Vec<String> {
        let mut ids: Vec<(&usize, &String)> = self.places.iter().map(|(id, place)| (place, id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id.clone()).collect()
    }

    /// These rows with others: each takes the place of the one with its id, as a whole or with the columns it has.
    fn merged(&self, new: &Self, whole: bool) -> Result<Self, Error> {
        if self.rows.len() == 0 {
            return Self::new(&self.customer, new.rows.batch().clone());
        }
        if new.rows.len() == 0 {
            return Self::new(&self.customer, self.rows.batch().clone());
        }
        let (mine, theirs) = (self.ids_in_order(), new.ids_in_order());
        let ids = mine.iter().chain(theirs.iter().filter(|id| self.place(id).is_none()));
        let places: Vec<(Option<usize>, Option<usize>)> = ids.map(|id| (self.place(id), new.place(id))).collect();
        let mut names: Vec<String> =
            columns_of(&self.rows.batch().schema()).into_iter().map(|(name, _)| name).collect();
        for (name, _) in columns_of(&new.rows.batch().schema()) {
            if column_named(names.iter().map(String::as_str), &name)
                .map_err(|problem| Error::table(NAME, problem))?
                .is_none()
            {
                names.push(name);
            }
        }
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for name in names {
            let (old, come) = alike(&name, &self.rows, &new.rows)?;
            let nothing = new_null_array(old.data_type(), 1);
            let has = new.rows.has(&name);
            let pick = |&(mine, theirs): &(Option<usize>, Option<usize>)| match (mine, theirs) {
                (_, Some(row)) if has => (1, row),
                (Some(row), None) => (0, row),
                (Some(row), Some(_)) if !whole => (0, row),
                _ => (2, 0),
            };
            let indices: Vec<(usize, usize)> = places.iter().map(pick).collect();
            let array = interleave(&[&*old, &*come, &*nothing], &indices).map_err(|error| unreadable(&error))?;
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| unreadable(&error))?;
        Self::new(&self.customer, batch)
    }

    /// Which rows are asked for.
    pub(super) fn among(&self, among: &Among) -> Result<Which, Error> {
        let mut rows: Option<HashSet<usize>> = None;
        if let Some(ids) = &among.eligible {
            let mut own = HashSet::with_capacity(ids.len());
            for id in ids {
                own.insert(self.place(id).ok_or_else(|| {
                    let hint = "; it is not in the catalogue".to_owned();
                    Error::NotFound { what: "arm", name: id.clone(), hint }
                })?);
            }
            rows = Some(own);
        }
        for (column, wanted) in &among.filter {
            let values = self.values(column)?;
            let found = wanted.iter().filter_map(|value| values.get(value)).flatten().copied();
            rows = Some(match rows {
                None => found.collect(),
                Some(rows) => found.filter(|row| rows.contains(row)).collect(),
            });
        }
        let Some(rows) = rows else { return Ok(Which::All) };
        if rows.len() * FEW < self.len() {
            let mut rows: Vec<usize> = rows.into_iter().collect();
            rows.sort_unstable();
            return Ok(Which::These(rows));
        }
        Ok(Which::Mask((0..self.len()).map(|row| rows.contains(&row)).collect()))
    }

    /// The rows with each value of a column.
    fn values(&self, column: &str) -> Result<Arc<ByValue>, Error> {
        if let Some(known) = self.values.lock().unwrap_or_else(PoisonError::into_inner).get(column) {
            return Ok(Arc::clone(known));
        }
        let mut values = ByValue::new();
        for (row, text) in self.rows.any_texts(column)?.into_iter().enumerate() {
            if let Some(text) = text {
                values.entry(text).or_default().push(row);
            }
        }
        let values = Arc::new(values);
        let mut all = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(column.to_owned(), Arc::clone(&values));
        Ok(values)
    }

    /// The features of all rows by a recipe; none where it reads columns that only a context has.
    pub(super) fn features(&self, recipe: &Recipe) -> Result<Option<Arc<Catalogue>>, Error> {
        let mut made = self.features.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((own, features)) = &*made
            && own == recipe
        {
            return Ok(features.clone());
        }
        let alone = self.rows.len() > 0 && recipe.names().all(|name| self.rows.has(name));
        let features = if alone {
            let (x, _) = recipe.apply(&self.rows)?;
            let names = Names::new(self.ids_in_order())?;
            Some(Arc::new(Catalogue::new(&Arms::new(&x, recipe.dim())?.with_names(&names)?)?))
        } else {
            None
        };
        *made = Some((recipe.clone(), features.clone()));
        Ok(features)
    }
}

/// Rows are gathered where they are less than one in so many.
const FEW: usize = 20;

pub(super) fn unreadable(error: &arrow_schema::ArrowError) -> Error {
    Error::table(NAME, error.to_string())
}

fn empty() -> RecordBatch {
    RecordBatch::new_empty(Arc::new(Schema::empty()))
}

/// A column of both, with one type. Where one of them has no values, the type is the other's; whole numbers beside
/// others are numbers; anything else beside texts is text.
fn alike(name: &str, old: &Rows, new: &Rows) -> Result<(ArrayRef, ArrayRef), Error> {
    let own = |rows: &Rows| rows.array(name).filter(|array| array.null_count() < array.len());
    let (mine, theirs) = match (own(old), own(new)) {
        (None, None) => {
            let nothing = |rows: &Rows| new_null_array(&arrow_schema::DataType::Utf8, rows.len());
            return Ok((nothing(old), nothing(new)));
        }
        (Some(mine), None) => return Ok((Arc::clone(&mine), new_null_array(mine.data_type(), new.len()))),
        (None, Some(theirs)) => return Ok((new_null_array(theirs.data_type(), old.len()), theirs)),
        (Some(mine), Some(theirs)) => (mine, theirs),
    };
    if mine.data_type() == theirs.data_type() {
        return Ok((mine, theirs));
    }
    let kinds = [&mine, &theirs].map(|array| ColumnType::of(array.data_type()));
    if kinds == [ColumnType::Number; 2] {
        let numbers = |rows: &Rows| -> Result<ArrayRef, Error> {
            let own = rows.numbers(name)?.into_iter().map(|number| (!number.is_nan()).then_some(number));
            Ok(Arc::new(own.collect::<Float64Array>()))
        };
        return Ok((numbers(old)?, numbers(new)?));
    }
    if kinds.iter().all(|kind| matches!(kind, ColumnType::Number | ColumnType::Text | ColumnType::Flag)) {
        let texts = |rows: &Rows| -> Result<ArrayRef, Error> { Ok(Arc::new(StringArray::from(rows.any_texts(name)?))) };
        return Ok((texts(old)?, texts(new)?));
    }
    let problem = format!(
        "column {name:?} has the type {} in the catalogue and {} in the arms that come",
        mine.data_type(),
        theirs.data_type()
    );
    Err(Error::table(NAME, problem))
}

/// Rows as bytes: an Arrow stream.
pub(super) fn bytes(rows: &RecordBatch) -> Result<Vec<u8>, Error> {
    let write = || {
        let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
        writer.write(rows)?;
        writer.into_inner()
    };
    write().map_err(|error| unreadable(&error))
}

fn read(bytes: &[u8]) -> Result<RecordBatch, Error> {
    let read = || {
        let reader = StreamReader::try_new(bytes, None)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        arrow_select::concat::concat_batches(&schema, &batches)
    };
    read().map_err(|error| unreadable(&error))
}
