//! Values of a batch's columns as numbers, texts, flags and vectors.
//!
//! A missing number is NaN, whether the table has a null, an empty field or (but not as text) a NaN; the recipe decides
//! what becomes of it. Infinities, numbers above 1e100 and text that is not a number, "nan" and "inf" included, are errors
//! with row and column.

use super::{
    arrays::{all_finite, numbers_of, whole_numbers},
    batches::column_named,
    numbers::{Parsed, flag, parse},
    rules::Decimal,
};
use crate::Error;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array,
    cast::AsArray,
    types::{Float32Type, Int64Type, UInt64Type},
};
use arrow_schema::DataType;
use arrow_select::{concat::concat_batches, filter::filter_record_batch, take::take_record_batch};
use std::{fmt::Write, sync::Arc};

/// The hidden column in which the CSV reader says in which line each row begins; no header can have this name.
pub(super) const LINE: &str = "\0line";

/// The largest number of a table: squares and sums of such numbers are still finite.
pub(crate) const LARGEST: f64 = 1e100;

/// What a column can be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers or floats.
    Number,
    /// Text, which may hold numbers.
    Text,
    /// Yes or no.
    Flag,
    /// A list of numbers.
    Vector,
    /// Anything else.
    Other,
}

impl ColumnType {
    /// The use of an Arrow type.
    #[must_use]
    pub fn of(data: &DataType) -> Self {
        match data {
            DataType::Boolean => Self::Flag,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => Self::Vector,
            data if data.is_integer() || matches!(data, DataType::Float32 | DataType::Float64) => Self::Number,
            _ => Self::Other,
        }
    }
}

/// Some rows of a table.
#[derive(Debug, Clone)]
pub struct Rows {
    batch: RecordBatch,
    table: Arc<str>,
    first: u64,
    /// The decimal mark of numbers in text; none where it is not known.
    pub(super) decimal: Option<Decimal>,
}

impl Rows {
    pub(super) fn new(batch: RecordBatch, table: Arc<str>, first: u64, decimal: Option<Decimal>) -> Self {
        Self { batch, table, first, decimal }
    }

    /// At most `count` of the rows, from `first` on.
    pub(crate) fn piece(&self, first: usize, count: usize) -> Self {
        let batch = self.batch.slice(first, count.min(self.len() - first));
        Self { batch, table: Arc::clone(&self.table), first: self.first + first as u64, decimal: self.decimal }
    }

    /// The decimal mark of numbers in text; none where it is not known.
    pub(crate) fn decimal(&self) -> Option<Decimal> {
        self.decimal
    }

    /// The rows as Arrow has them.
    pub(crate) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// All rows of a batch in memory; messages call it `table`.
    pub(crate) fn of(batch: RecordBatch, table: &Arc<str>) -> Self {
        Self { batch, table: Arc::clone(table), first: 1, decimal: Some(Decimal::Point) }
    }

    /// The rows at these places, in this order; their numbers are lost.
    pub(crate) fn picked(&self, places: &[usize]) -> Result<Self, Error> {
        let places = UInt64Array::from_iter_values(places.iter().map(|&place| place as u64));
        let batch = take_record_batch(&self.batch, &places);
        let batch = batch.map_err(|error| Error::unreadable(&self.table, "", error))?;
        Ok(Self { batch, table: Arc::clone(&self.table), first: 1, decimal: self.decimal })
    }

    /// The rows that are wanted; their numbers are lost.
    pub(crate) fn filtered(&self, wanted: &[bool]) -> Result<Self, Error> {
        let batch = filter_record_batch(&self.batch, &BooleanArray::from(wanted.to_vec()));
        let batch = batch.map_err(|error| Error::unreadable(&self.table, "", error))?;
        Ok(Self { batch, table: Arc::clone(&self.table), first: 1, decimal: self.decimal })
    }

    /// Rows of one table together; none without any.
    pub(crate) fn joined(parts: &[Self]) -> Result<Option<Self>, Error> {
        let Some(first) = parts.first() else { return Ok(None) };
        let batch = concat_batches(&first.batch.schema(), parts.iter().map(|part| &part.batch));
        let batch = batch.map_err(|error| Error::unreadable(&first.table, "", error))?;
        Ok((batch.num_rows() > 0).then(|| Self {
            batch,
            table: Arc::clone(&first.table),
            first: 1,
            decimal: first.decimal,
        }))
    }

    /// How many rows.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "batches without rows are skipped")]
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// The number of a row in the table, from 1.
    #[must_use]
    pub fn number(&self, row: usize) -> u64 {
        self.first + row as u64
    }

    /// The line of a text file in which a row begins, from 1; the number of the row where there are no lines.
    #[must_use]
    pub fn line(&self, row: usize) -> u64 {
        let lines = self.batch.column_by_name(LINE).and_then(|lines| lines.as_primitive_opt::<UInt64Type>());
        lines.map_or(self.number(row), |lines| lines.value(row))
    }

    /// What messages call the table.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Whether there is such a column.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.find(column).is_some()
    }

    /// The column with this name, which may differ in case.
    fn find(&self, name: &str) -> Option<&ArrayRef> {
        self.batch.column_by_name(name).or_else(|| {
            let schema = self.batch.schema_ref();
            let place = column_named(schema.fields().iter().map(|field| field.name().as_str()), name);
            place.ok().flatten().map(|place| self.batch.column(place))
        })
    }

    /// An error about a cell.
    #[must_use]
    pub fn bad(&self, row: usize, column: &str, problem: impl Into<String>) -> Error {
        let (table, row) = (self.table.to_string(), self.number(row));
        Error::Cell { table, row, column: column.to_owned(), problem: problem.into() }
    }

    pub(super) fn column(&self, name: &str) -> Result<&ArrayRef, Error> {
        self.find(name).ok_or_else(|| Error::table(&self.table, format!("column {name:?} is missing")))
    }

    pub(super) fn wrong_type(&self, column: &str, data: &DataType, must: &str) -> Error {
        Error::table(&self.table, format!("column {column:?} has type {data}, but {must} are needed"))
    }

    /// A column as Arrow has it, if there is one of this name.
    pub(crate) fn array(&self, column: &str) -> Option<ArrayRef> {
        self.find(column).cloned()
    }

    /// Whether a column holds texts.
    pub(crate) fn is_text(&self, column: &str) -> Result<bool, Error> {
        Ok(ColumnType::of(self.column(column)?.data_type()) == ColumnType::Text)
    }

    /// The numbers of a column, NaN where missing.
    ///
    /// # Errors
    /// [`Error::Cell`] for an infinity or for text that is not a number, [`Error::Table`] for another type.
    pub fn numbers(&self, column: &str) -> Result<Vec<f64>, Error> {
        let array = self.column(column)?;
        let numbers = match numbers_of(array) {
            Some(numbers) => numbers,
            None if ColumnType::of(array.data_type()) == ColumnType::Text => {
                let mut numbers = Vec::with_capacity(self.len());
                self.each_text(column, |row, text| {
                    numbers.push(text.map_or(Ok(f64::NAN), |text| self.parse(row, column, text))?);
                    Ok(())
                })?;
                numbers
            }
            None => return Err(self.wrong_type(column, array.data_type(), "numbers")),
        };
        match numbers.iter().position(|number| number.abs() > LARGEST) {
            None => Ok(numbers),
            Some(row) => Err(self.too_large(row, column, numbers[row])),
        }
    }

    pub(super) fn too_large(&self, row: usize, column: &str, number: f64) -> Error {
        let problem = if number.is_infinite() {
            format!("{number} is not a finite number")
        } else {
            format!(
                "{number:e} is too large: numbers are at most {LARGEST:e}; if it stands for a missing value, leave it empty"
            )
        };
        self.bad(row, column, problem)
    }

    /// The numbers of a column that stores them in single precision, if none is missing or infinite.
    pub(crate) fn singles(&self, column: &str) -> Option<&[f32]> {
        let singles = self.find(column)?.as_primitive_opt::<Float32Type>()?;
        let finite = all_finite(singles.values());
        (singles.null_count() == 0 && finite).then(|| &singles.values()[..])
    }

    /// The values of a column as text, whatever its type: for tables whose bad rows are put aside, not refused.
    ///
    /// # Errors
    /// [`Error::Table`] for a type that has no text.
    pub fn any_texts(&self, column: &str) -> Result<Vec<Option<String>>, Error> {
        let array = self.column(column)?;
        if matches!(array.data_type(), DataType::Float32 | DataType::Float64) {
            let numbers = numbers_of(array).unwrap_or_default();
            return Ok(numbers.iter().map(|number| (!number.is_nan()).then(|| number.to_string())).collect());
        }
        let mut texts = Vec::with_capacity(self.len());
        self.each_text(column, |_, text| {
            texts.push(text.map(str::to_owned));
            Ok(())
        })?;
        Ok(texts)
    }

    /// The values of a column as texts from which the same values are read again.
    ///
    /// # Errors
    /// [`Error::Table`] for a type that has no text, [`Error::Cell`] for a value that cannot be used.
    pub(crate) fn originals(&self, column: &str) -> Result<Vec<Option<String>>, Error> {
        let array = self.column(column)?;
        if ColumnType::of(array.data_type()) != ColumnType::Vector {
            let texts = self.any_texts(column)?;
            return Ok(texts.into_iter().map(|text| text.map(|text| self.with_point(text))).collect());
        }
        let mut texts = Vec::with_capacity(self.len());
        for row in 0..self.len() {
            let own = self.piece(row, 1);
            let length = own.vector_length(column)?;
            let numbers = own.vectors(column, length)?;
            let text = || numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
            texts.push((!array.is_null(row)).then(text));
        }
        Ok(texts)
    }

    /// A text with a decimal point, if it is a number with the decimal comma of these rows.
    pub(crate) fn with_point(&self, text: String) -> String {
        let comma = self.decimal == Some(Decimal::Comma) && matches!(self.parsed(&text), Parsed::Number(_));
        if comma { text.replacen(',', ".", 1) } else { text }
    }

    /// What a text of these rows is as a number.
    pub(crate) fn parsed(&self, text: &str) -> Parsed {
        parse(text, self.decimal)
    }

    pub(super) fn parse(&self, row: usize, column: &str, text: &str) -> Result<f64, Error> {
        let parsed = self.parsed(text);
        // Before anything is made for a message, since there are millions of cells.
        if let Parsed::Number(number) = parsed {
            return Ok(number);
        }
        let shown = short(text);
        let problem = match parsed {
            Parsed::NotFinite => {
                format!("{shown:?} is not a finite number; leave the field empty where one is missing")
            }
            Parsed::OtherMark if self.decimal == Some(Decimal::Comma) => format!(
                "{shown:?} has a decimal point where numbers have a decimal comma; write it with a comma, or give \
                 decimal = \".\" if all numbers have a point"
            ),
            Parsed::OtherMark => {
                format!("{shown:?} is not a number; if the comma is a decimal comma, give decimal = \",\"")
            }
            Parsed::Ambiguous => format!(
                "{shown:?} may have a decimal mark or one between thousands, and no number before it tells; give \
                 decimal = \".\" or \",\""
            ),
            Parsed::Not | Parsed::Number(_) => format!("{shown:?} is not a number"),
        };
        Err(self.bad(row, column, problem))
    }

    /// Names and ids as text. Whole numbers may have been stored as floats, as they are where some are missing, but only
    /// up to where every whole number has a float of its own: beyond, the id may be that of a neighbour.
    ///
    /// # Errors
    /// [`Error::Cell`] for a float that is not an exact id, [`Error::Table`] for a type that has no text.
    pub fn ids(&self, column: &str) -> Result<Vec<Option<String>>, Error> {
        let array = self.column(column)?;
        let exact: f64 = match array.data_type() {
            DataType::Float32 => 16_777_216.0,
            DataType::Float64 => 9_007_199_254_740_992.0,
            _ => return self.any_texts(column),
        };
        let id = |(row, number): (usize, f64)| match number {
            number if number.is_nan() => Ok(None),
            number if number.abs() < exact && number.fract() == 0.0 => Ok(Some(format!("{}", number as i64))),
            number => {
                let problem = format!("{number} may not be the id that was meant: store ids as text or whole numbers");
                Err(self.bad(row, column, problem))
            }
        };
        numbers_of(array).unwrap_or_default().into_iter().enumerate().map(id).collect()
    }

    /// As [`each_text`](Self::each_text), for categories: whole numbers may have been stored as floats, as they are where
    /// some are missing, and are written without a point.
    ///
    /// # Errors
    /// As [`each_text`](Self::each_text), and [`Error::Cell`] for a float that is not a whole number.
    pub(crate) fn each_level(
        &self,
        column: &str,
        mut visit: impl FnMut(usize, Option<&str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !matches!(self.column(column)?.data_type(), DataType::Float32 | DataType::Float64) {
            return self.each_text(column, visit);
        }
        for (row, number) in self.numbers(column)?.into_iter().enumerate() {
            if number.fract() != 0.0 && !number.is_nan() {
                let problem = format!("{number} is not a category: categories are texts, whole numbers or flags");
                return Err(self.bad(row, column, problem));
            }
            // No negative zero: it is the same category.
            visit(row, (!number.is_nan()).then(|| (number + 0.0).to_string()).as_deref())?;
        }
        Ok(())
    }

    /// Calls `visit` with every text of a column; whole numbers and flags are written out.
    ///
    /// # Errors
    /// The errors of `visit`, and [`Error::Table`] for a type that cannot be written as text.
    pub fn each_text(
        &self,
        column: &str,
        mut visit: impl FnMut(usize, Option<&str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let array = self.column(column)?;
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().enumerate().try_for_each(|(row, text)| visit(row, text)),
            DataType::LargeUtf8 => {
                array.as_string::<i64>().iter().enumerate().try_for_each(|(row, text)| visit(row, text))
            }
            DataType::Utf8View => {
                array.as_string_view().iter().enumerate().try_for_each(|(row, text)| visit(row, text))
            }
            DataType::Boolean => {
                let word = |flag: Option<bool>| flag.map(|flag| if flag { "true" } else { "false" });
                array.as_boolean().iter().enumerate().try_for_each(|(row, flag)| visit(row, word(flag)))
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = self.dictionary_texts(column, dictionary.values())?;
                let keys = dictionary.normalized_keys();
                keys.into_iter().enumerate().try_for_each(|(row, key)| {
                    visit(row, if array.is_null(row) { None } else { values.get(key).and_then(|text| text.as_deref()) })
                })
            }
            DataType::Int64 => {
                // The usual type of ids: written into one buffer.
                let mut buffer = String::new();
                array.as_primitive::<Int64Type>().iter().enumerate().try_for_each(|(row, number)| {
                    buffer.clear();
                    let text = number.map(|number| write!(buffer, "{number}"));
                    visit(row, text.map(|_| buffer.as_str()))
                })
            }
            _ => {
                let Some(whole) = whole_numbers(array) else {
                    return Err(self.wrong_type(column, array.data_type(), "texts, whole numbers or flags"));
                };
                whole.iter().enumerate().try_for_each(|(row, text)| visit(row, text.as_deref()))
            }
        }
    }

    fn dictionary_texts(&self, column: &str, values: &ArrayRef) -> Result<Vec<Option<String>>, Error> {
        let texts = match values.data_type() {
            DataType::Utf8 => values.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect(),
            DataType::LargeUtf8 => values.as_string::<i64>().iter().map(|text| text.map(str::to_owned)).collect(),
            _ => whole_numbers(values)
                .ok_or_else(|| self.wrong_type(column, values.data_type(), "texts or whole numbers"))?,
        };
        Ok(texts)
    }

    /// The flags of a column: true and false, 1 and 0, yes and no, y and n, in any case.
    ///
    /// # Errors
    /// [`Error::Cell`] for anything else, including a missing flag.
    pub fn flags(&self, column: &str) -> Result<Vec<bool>, Error> {
        let mut flags = Vec::with_capacity(self.len());
        let mut take = |row: usize, text: Option<&str>| {
            let problem = match text.map(|text| (text, flag(text))) {
                Some((_, Some(flag))) => {
                    flags.push(flag);
                    return Ok(());
                }
                Some((text, None)) => {
                    format!("{:?} is neither yes nor no; write true or false, yes or no, 1 or 0", short(text))
                }
                None => "yes or no is needed, but the value is missing".to_owned(),
            };
            Err(self.bad(row, column, problem))
        };
        match numbers_of(self.column(column)?) {
            Some(numbers) => numbers
                .iter()
                .enumerate()
                .try_for_each(|(row, number)| take(row, (!number.is_nan()).then(|| number.to_string()).as_deref()))?,
            None => self.each_text(column, take)?,
        }
        Ok(flags)
    }
}

/// The beginning of a text, for messages.
pub(crate) fn short(text: &str) -> String {
    if text.chars().count() <= 40 { text.to_owned() } else { text.chars().take(40).chain(['.', '.', '.']).collect() }
}
