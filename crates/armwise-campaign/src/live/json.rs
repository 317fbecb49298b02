//! Rows written as JSON objects, as one Arrow batch: what a program offers is read as a table is.
//!
//! A column has one type: flags, whole numbers, numbers, vectors of numbers; where they are mixed, texts, with numbers as
//! they are written. A key that a row lacks is a missing value. Nothing is converted that could be read in two ways.

use crate::table::MOST_COLUMNS;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, Int64Array, ListArray, RecordBatch, RecordBatchOptions,
    StringArray, cast::AsArray,
};
use arrow_schema::{DataType, Field, Schema};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

/// The most values of all rows together, missing ones included: a few bytes for a new column in each row must not become a
/// table that fills the memory.
const MOST_VALUES: usize = 1 << 23;

/// Rows as `[{"id": "a", "price": 3.5}, ...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonRows(pub RecordBatch);

/// One row as `{"hour": 9, "device": "phone"}`, such as a context.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonRow(pub RecordBatch);

/// Values by column, one or several: `{"brand": "x", "size": [1, 2]}`. They are compared as texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonFilter(pub BTreeMap<String, Vec<String>>);

/// A value of a row.
#[derive(Debug, Clone)]
enum Cell {
    Nothing,
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    Vector(Vec<f64>),
}

impl Cell {
    /// As text; none for what has no text of its own.
    fn text(self) -> Option<String> {
        match self {
            Self::Nothing | Self::Vector(_) => None,
            Self::Flag(flag) => Some(flag.to_string()),
            Self::Whole(number) => Some(number.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => Some(text),
        }
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, true or false, a number, a text or a list of numbers")
    }

    fn visit_unit<E>(self) -> Result<Cell, E> {
        Ok(Cell::Nothing)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Cell, E> {
        Ok(Cell::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Cell, E> {
        Ok(Cell::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Cell, E> {
        // A whole number that is too large for the type of whole numbers may be an id, which must keep every digit.
        Ok(i64::try_from(number).map_or_else(|_| Cell::Text(number.to_string()), Cell::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Cell, E> {
        Ok(Cell::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cell, E> {
        Ok(Cell::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Cell, E> {
        Ok(Cell::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cell, A::Error> {
        let mut vector = Vec::with_capacity(list.size_hint().unwrap_or(16));
        while let Some(number) = list.next_element::<f64>()? {
            vector.push(number);
        }
        Ok(Cell::Vector(vector))
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

/// The values of a column so far.
#[derive(Debug)]
enum Values {
    /// Only missing ones.
    Nothing(usize),
    Flags(Vec<Option<bool>>),
    Whole(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    /// The numbers one after the other, and where each vector ends; a missing one is empty and not valid.
    Vectors {
        numbers: Vec<f64>,
        ends: Vec<usize>,
        valid: Vec<bool>,
    },
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Nothing(count) => *count,
            Self::Flags(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Vectors { ends, .. } => ends.len(),
        }
    }

    fn push(&mut self, cell: Cell) -> Result<(), &'static str> {
        match (&mut *self, cell) {
            (Self::Nothing(count), Cell::Nothing) => *count += 1,
            (Self::Nothing(count), cell) => {
                *self = Self::missing_as(*count, &cell);
                return self.push(cell);
            }
            (Self::Flags(values), Cell::Flag(flag)) => values.push(Some(flag)),
            (Self::Flags(values), Cell::Nothing) => values.push(None),
            (Self::Whole(values), Cell::Whole(number)) => values.push(Some(number)),
            (Self::Whole(values), Cell::Nothing) => values.push(None),
            (Self::Numbers(values), Cell::Number(number)) => values.push(Some(number)),
            (Self::Numbers(values), Cell::Whole(number)) if is_exact(number) => values.push(Some(number as f64)),
            (Self::Numbers(values), Cell::Nothing) => values.push(None),
            (Self::Whole(values), Cell::Number(number)) if values.iter().flatten().all(|own| is_exact(*own)) => {
                let numbers = values.iter().map(|own| own.map(|own| own as f64));
                *self = Self::Numbers(numbers.chain([Some(number)]).collect());
            }
            (Self::Texts(values), Cell::Text(text)) => values.push(Some(text)),
            (Self::Vectors { numbers, ends, valid }, cell @ (Cell::Vector(_) | Cell::Nothing)) => {
                valid.push(matches!(cell, Cell::Vector(_)));
                if let Cell::Vector(vector) = cell {
                    numbers.extend(vector);
                }
                ends.push(numbers.len());
            }
            (Self::Vectors { .. }, _) | (_, Cell::Vector(_)) => {
                return Err("lists of numbers and single values are mixed");
            }
            (_, cell) => {
                let mut texts = self.texts();
                texts.push(cell.text());
                *self = Self::Texts(texts);
            }
        }
        Ok(())
    }

    /// So many missing values, of the type of a cell.
    fn missing_as(count: usize, cell: &Cell) -> Self {
        match cell {
            Cell::Nothing => Self::Nothing(count),
            Cell::Flag(_) => Self::Flags(vec![None; count]),
            Cell::Whole(_) => Self::Whole(vec![None; count]),
            Cell::Number(_) => Self::Numbers(vec![None; count]),
            Cell::Text(_) => Self::Texts(vec![None; count]),
            Cell::Vector(_) => Self::Vectors { numbers: Vec::new(), ends: vec![0; count], valid: vec![false; count] },
        }
    }

    /// The values as texts.
    fn texts(&mut self) -> Vec<Option<String>> {
        match self {
            Self::Nothing(count) => vec![None; *count],
            Self::Flags(values) => values.iter().map(|own| own.map(|own| own.to_string())).collect(),
            Self::Whole(values) => values.iter().map(|own| own.map(|own| own.to_string())).collect(),
            Self::Numbers(values) => values.iter().map(|own| own.map(|own| own.to_string())).collect(),
            Self::Texts(values) => std::mem::take(values),
            Self::Vectors { .. } => Vec::new(),
        }
    }

    fn array(self) -> ArrayRef {
        match self {
            Self::Nothing(count) => Arc::new(StringArray::new_null(count)),
            Self::Flags(values) => Arc::new(BooleanArray::from(values)),
            Self::Whole(values) => Arc::new(Int64Array::from(values)),
            Self::Numbers(values) => Arc::new(Float64Array::from(values)),
            Self::Texts(values) => Arc::new(StringArray::from(values)),
            Self::Vectors { numbers, ends, valid } => vectors(numbers, &ends, &valid),
        }
    }
}

/// Whether a whole number is a float of its own.
fn is_exact(number: i64) -> bool {
    number.unsigned_abs() <= 1 << 53
}

/// Vectors as a list of one length, or of many lengths, which whoever needs one length refuses with the row.
fn vectors(numbers: Vec<f64>, ends: &[usize], valid: &[bool]) -> ArrayRef {
    let field = Arc::new(Field::new("item", DataType::Float64, false));
    let starts = std::iter::once(&0).chain(ends);
    let lengths: Vec<usize> = ends.iter().zip(starts).map(|(end, start)| end - start).collect();
    let same = lengths.first().copied().unwrap_or(0);
    let values: ArrayRef = Arc::new(Float64Array::from(numbers));
    if lengths.iter().all(|length| *length == same) && valid.iter().all(|valid| *valid) && same > 0 {
        let same = i32::try_from(same).unwrap_or(i32::MAX);
        if let Ok(list) = FixedSizeListArray::try_new(Arc::clone(&field), same, Arc::clone(&values), None) {
            return Arc::new(list);
        }
    }
    let lists = lengths.iter().scan(0, |start, length| {
        let own = values.slice(*start, *length);
        *start += length;
        Some(own)
    });
    let lists = lists.zip(valid).map(|(own, valid)| {
        let numbers = own.as_primitive::<arrow_array::types::Float64Type>().iter().collect::<Vec<_>>();
        valid.then_some(numbers)
    });
    Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>(lists))
}

/// Columns in the making.
#[derive(Default)]
struct Builder {
    columns: Vec<(String, Values)>,
    places: HashMap<String, usize>,
    rows: usize,
}

impl Builder {
    fn row<'de, A: MapAccess<'de>>(&mut self, mut row: A) -> Result<(), A::Error> {
        // Rows mostly have the same keys in the same order.
        let mut next = 0;
        while let Some(name) = row.next_key::<std::borrow::Cow<'de, str>>()? {
            let place = match self.columns.get(next) {
                Some((own, _)) if *own == name => next,
                _ => {
                    if let Some(place) = self.places.get(&*name) {
                        *place
                    } else {
                        self.places.insert(name.clone().into_owned(), self.columns.len());
                        self.columns.push((name.clone().into_owned(), Values::Nothing(self.rows)));
                        self.columns.len() - 1
                    }
                }
            };
            if self.columns.len() > MOST_COLUMNS || self.columns.len() * self.rows > MOST_VALUES {
                let problem =
                    format!("row {}: there may be {MOST_COLUMNS} columns and {MOST_VALUES} values", self.rows + 1);
                return Err(A::Error::custom(problem));
            }
            next = place + 1;
            let cell = row.next_value::<Cell>()?;
            let values = &mut self.columns[place].1;
            let bad = |problem: &str| A::Error::custom(format!("row {}, {name:?}: {problem}", self.rows + 1));
            if values.len() > self.rows {
                return Err(bad("it is given twice"));
            }
            values.push(cell).map_err(bad)?;
        }
        self.rows += 1;
        for (_, values) in self.columns.iter_mut().filter(|(_, values)| values.len() < self.rows) {
            // A missing value fits any type.
            let _ = values.push(Cell::Nothing);
        }
        Ok(())
    }

    fn finish<E: serde::de::Error>(self) -> Result<RecordBatch, E> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = self
            .columns
            .into_iter()
            .map(|(name, values)| {
                let array = values.array();
                (Field::new(name, array.data_type().clone(), true), array)
            })
            .unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).map_err(E::custom)
    }
}

struct RowsVisitor;

/// A row on its own, to be read into a builder.
struct RowSeed<'a>(&'a mut Builder);

impl<'de> serde::de::DeserializeSeed<'de> for RowSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row: an object with a value for each column")
    }

    fn visit_map<A: MapAccess<'de>>(self, row: A) -> Result<(), A::Error> {
        self.0.row(row)
    }
}

impl<'de> Visitor<'de> for RowsVisitor {
    type Value = RecordBatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<RecordBatch, A::Error> {
        let mut builder = Builder::default();
        while rows.next_element_seed(RowSeed(&mut builder))?.is_some() {}
        builder.finish()
    }
}

impl<'de> Deserialize<'de> for JsonRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RowsVisitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for JsonRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut builder = Builder::default();
        serde::de::DeserializeSeed::deserialize(RowSeed(&mut builder), deserializer)?;
        builder.finish().map(Self)
    }
}

impl<'de> Deserialize<'de> for JsonFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a value or a list of values")]
        enum Wanted {
            One(Cell),
            Several(Vec<Cell>),
        }
        let mut wanted = BTreeMap::new();
        for (column, values) in BTreeMap::<String, Wanted>::deserialize(deserializer)? {
            let values = match values {
                // A list of numbers is a list of values here.
                Wanted::One(Cell::Vector(numbers)) => numbers.into_iter().map(Cell::Number).collect(),
                Wanted::One(cell) => vec![cell],
                Wanted::Several(cells) => cells,
            };
            let texts: Option<Vec<String>> = values.into_iter().map(Cell::text).collect();
            let texts =
                texts.ok_or_else(|| D::Error::custom(format!("{column:?}: only single values can be looked for")))?;
            wanted.insert(column, texts);
        }
        Ok(Self(wanted))
    }
}
