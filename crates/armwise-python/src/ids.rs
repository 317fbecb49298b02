//! Ids in a column of an Arrow table: integers of any size, strings, UUIDs; dictionary-encoded or not.
//!
//! A UUID becomes its usual text, since a name keeps all of its 128 bits and an id has 64.

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use numpy::PyArray1;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::{errors::raise, gate, given::Names, table::texts};

/// The ids of a column, part by part.
pub(crate) struct Ids<'a> {
    column: &'a str,
    uuid: bool,
    numbers: Vec<u64>,
    names: Vec<String>,
}

impl<'a> Ids<'a> {
    /// No ids yet; `uuid` says that sixteen bytes are a UUID.
    pub(crate) fn new(column: &'a str, uuid: bool) -> Self {
        Self { column, uuid, numbers: Vec::new(), names: Vec::new() }
    }

    fn rows(&self) -> usize {
        self.numbers.len() + self.names.len()
    }

    pub(crate) fn add(&mut self, part: &ArrayRef) -> PyResult<()> {
        let nulls = part.logical_nulls();
        if let Some(row) = nulls.and_then(|nulls| (0..part.len()).find(|&row| nulls.is_null(row))) {
            let (column, row) = (self.column, self.rows() + row);
            return Err(PyValueError::new_err(format!("id at row {row} of column {column:?} is missing")));
        }
        if let Some(texts) = texts(part) {
            self.names.extend(texts.flatten().map(str::to_owned));
            return Ok(());
        }
        match part.data_type() {
            DataType::UInt64 => self.whole::<UInt64Type>(part),
            DataType::UInt32 => self.whole::<UInt32Type>(part),
            DataType::UInt16 => self.whole::<UInt16Type>(part),
            DataType::UInt8 => self.whole::<UInt8Type>(part),
            DataType::Int64 => self.whole::<Int64Type>(part),
            DataType::Int32 => self.whole::<Int32Type>(part),
            DataType::Int16 => self.whole::<Int16Type>(part),
            DataType::Int8 => self.whole::<Int8Type>(part),
            DataType::FixedSizeBinary(16) if self.uuid => {
                self.names.extend(part.as_fixed_size_binary().iter().flatten().map(uuid));
                Ok(())
            }
            DataType::Dictionary(..) => {
                let dictionary = part.as_any_dictionary();
                let mut values = Self::new(self.column, self.uuid);
                values.add(dictionary.values())?;
                let keys = dictionary.normalized_keys();
                if values.names.is_empty() {
                    self.numbers.extend(keys.iter().map(|&key| values.numbers[key]));
                } else {
                    self.names.extend(keys.iter().map(|&key| values.names[key].clone()));
                }
                Ok(())
            }
            other => {
                let column = self.column;
                let text = format!("column {column:?} is of type {other}: ids must be integers or strings; cast it");
                Err(PyTypeError::new_err(text))
            }
        }
    }

    fn whole<P: ArrowPrimitiveType>(&mut self, part: &ArrayRef) -> PyResult<()>
    where
        u64: TryFrom<P::Native>,
        P::Native: std::fmt::Display,
    {
        for &value in part.as_primitive::<P>().values() {
            let (column, row) = (self.column, self.numbers.len());
            let negative = |_| {
                PyValueError::new_err(format!(
                    "id at row {row} of column {column:?} is {value}: must not be negative; give such ids as strings"
                ))
            };
            self.numbers.push(u64::try_from(value).map_err(negative)?);
        }
        Ok(())
    }

    /// An array of numbers, or names.
    pub(crate) fn finish(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        if self.names.is_empty() {
            return Ok(PyArray1::from_vec(py, self.numbers).into_any());
        }
        let names = gate::detach(py, || armwise::Names::new(self.names)).map_err(|error| raise(py, &error))?;
        Ok(Bound::new(py, Names { names })?.into_any())
    }
}

/// The text of a UUID, as in 12345678-1234-5678-1234-567812345678.
fn uuid(bytes: &[u8]) -> String {
    let pair = |(place, byte): (usize, &u8)| {
        let dash = if [4, 6, 8, 10].contains(&place) { "-" } else { "" };
        format!("{dash}{byte:02x}")
    };
    bytes.iter().enumerate().map(pair).collect()
}
