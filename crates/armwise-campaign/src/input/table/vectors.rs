//! Vectors in a column: lists of numbers, or numbers in a text.
//!
//! All vectors of a column must have one length, so that each of their numbers is a feature.

use super::{
    arrays::numbers_of,
    rules::Decimal,
    values::{ColumnType, LARGEST, Rows},
};
use crate::Error;
use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType;

impl Rows {
    /// What separates the numbers of a vector in text.
    fn between(&self) -> &'static [char] {
        if self.decimal == Some(Decimal::Comma) { &[';', ' '] } else { &[',', ';', ' '] }
    }

    /// The vectors of a column, `dim` numbers to a row, all NaN where missing. In text the numbers are separated by
    /// commas (unless these are decimal marks), semicolons or blanks, with or without brackets around them.
    ///
    /// # Errors
    /// [`Error::Cell`] for a vector of another length, or text that is not a number.
    pub fn vectors(&self, column: &str, dim: usize) -> Result<Vec<f64>, Error> {
        let mut values = Vec::with_capacity(self.len() * dim);
        let mut take = |row: usize, vector: Option<Vec<f64>>| {
            match vector {
                None => values.extend(std::iter::repeat_n(f64::NAN, dim)),
                Some(vector) if vector.len() != dim => {
                    let problem = format!("a vector of {} numbers where {dim} are expected", vector.len());
                    return Err(self.bad(row, column, problem));
                }
                Some(vector) if vector.iter().any(|number| !number.is_finite()) => {
                    return Err(self.bad(row, column, "a number in the vector is missing or not finite"));
                }
                Some(vector) if vector.iter().any(|number| number.abs() > LARGEST) => {
                    let largest = vector.iter().copied().find(|number| number.abs() > LARGEST).unwrap_or_default();
                    return Err(self.too_large(row, column, largest));
                }
                Some(vector) => values.extend(vector),
            }
            Ok(())
        };
        let array = self.column(column)?;
        // The usual form, without a copy for each row; where something is wrong with it, the row is named below.
        if let DataType::FixedSizeList(_, length) = array.data_type()
            && usize::try_from(*length) == Ok(dim)
            && array.null_count() == 0
        {
            let lists = array.as_fixed_size_list();
            let first = lists.value_offset_at(0);
            let numbers = numbers_of(&lists.values().slice(first, self.len() * dim));
            if let Some(numbers) = numbers.filter(|numbers| numbers.iter().all(|number| number.abs() <= LARGEST)) {
                return Ok(numbers);
            }
        }
        let list = |row: usize| -> Option<ArrayRef> {
            match array.data_type() {
                DataType::FixedSizeList(..) => Some(array.as_fixed_size_list().value(row)),
                DataType::List(_) => Some(array.as_list::<i32>().value(row)),
                DataType::LargeList(_) => Some(array.as_list::<i64>().value(row)),
                _ => None,
            }
        };
        if ColumnType::of(array.data_type()) == ColumnType::Vector {
            for row in 0..self.len() {
                let vector = if array.is_null(row) { None } else { list(row) };
                let numbers = vector.map(|vector| {
                    numbers_of(&vector).ok_or_else(|| self.wrong_type(column, array.data_type(), "lists of numbers"))
                });
                take(row, numbers.transpose()?)?;
            }
            return Ok(values);
        }
        self.each_text(column, |row, text| {
            let parse = |text: &str| -> Result<Vec<f64>, Error> {
                let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
                let parts = inner.split(self.between()).filter(|part| !part.is_empty());
                parts.map(|part| self.parse(row, column, part)).collect()
            };
            take(row, text.map(parse).transpose()?)
        })?;
        Ok(values)
    }

    /// The length of the first vector of a column.
    pub(crate) fn vector_length(&self, column: &str) -> Result<usize, Error> {
        let array = self.column(column)?;
        Ok(match array.data_type() {
            DataType::FixedSizeList(_, length) => usize::try_from(*length).unwrap_or(0),
            DataType::List(_) => array.as_list::<i32>().iter().flatten().next().map_or(0, |list| list.len()),
            DataType::LargeList(_) => array.as_list::<i64>().iter().flatten().next().map_or(0, |list| list.len()),
            _ => {
                let mut length = 0;
                self.each_text(column, |_, text| {
                    if let Some(text) = text.filter(|_| length == 0) {
                        length = text.split(self.between()).filter(|part| !part.trim().is_empty()).count();
                    }
                    Ok(())
                })?;
                length
            }
        })
    }
}
