//! The batches of a source, one after the other, with their rows numbered.
//!
//! A panic of a reader ends the batches with an error; the reader is not asked again, for it may be in any state.

use super::{
    guard::guarded,
    rules::Decimal,
    values::{ColumnType, Rows},
};
use crate::Error;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use std::sync::Arc;

pub(super) type Inner = dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send;

/// The batches of a table, in order.
pub struct Batches {
    schema: SchemaRef,
    /// None after a panic inside.
    inner: Option<Box<Inner>>,
    table: Arc<str>,
    next_row: u64,
    /// Of numbers in text; none where it is not known.
    decimal: Option<Decimal>,
}

impl Batches {
    /// What a reader gives; `name` is what messages call the source.
    #[must_use]
    pub fn new(
        name: &str,
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    ) -> Self {
        Self { schema, inner: Some(Box::new(batches)), table: name.into(), next_row: 1, decimal: Some(Decimal::Point) }
    }

    /// The same with another decimal mark of numbers in text, or an unknown one.
    pub(crate) fn with_decimal(self, decimal: Option<Decimal>) -> Self {
        Self { decimal, ..self }
    }

    /// The columns in their order.
    #[must_use]
    pub fn columns(&self) -> Vec<(String, ColumnType)> {
        columns_of(&self.schema)
    }
}

impl Iterator for Batches {
    type Item = Result<Rows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let inner = self.inner.as_mut()?;
            let next = match guarded(|| inner.next()) {
                Ok(next) => next?,
                Err(damage) => {
                    self.inner = None;
                    return Some(Err(Error::table(&self.table, format!("from row {} on: {damage}", self.next_row))));
                }
            };
            return Some(match next {
                Ok(batch) if batch.num_rows() == 0 => continue,
                Ok(batch) => {
                    let first = self.next_row;
                    self.next_row += batch.num_rows() as u64;
                    Ok(Rows::new(batch, Arc::clone(&self.table), first, self.decimal))
                }
                Err(ArrowError::ExternalError(error)) => match error.downcast::<Error>() {
                    Ok(error) => Err(*error),
                    Err(error) => Err(Error::unreadable(&self.table, "", error)),
                },
                Err(error) => Err(Error::unreadable(&self.table, &format!("from row {} on: ", self.next_row), error)),
            });
        }
    }
}

/// The columns of a schema, and what each can be used for.
pub(crate) fn columns_of(schema: &SchemaRef) -> Vec<(String, ColumnType)> {
    schema.fields().iter().map(|field| (field.name().clone(), ColumnType::of(field.data_type()))).collect()
}

/// The place of a column: the one with exactly this name, or else the only one whose name differs in case or in blanks
/// around it. None if there is none; an error if it could be two.
pub(crate) fn column_named<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    name: &str,
) -> Result<Option<usize>, String> {
    let alike = |own: &str| own.trim().to_lowercase() == name.trim().to_lowercase();
    let exact = names.clone().enumerate().filter(|(_, own)| *own == name).map(|(place, _)| place);
    let similar = names.enumerate().filter(|(_, own)| alike(own)).map(|(place, _)| place);
    for mut places in [Box::new(exact) as Box<dyn Iterator<Item = usize>>, Box::new(similar)] {
        match (places.next(), places.next()) {
            (Some(place), None) => return Ok(Some(place)),
            (Some(_), Some(_)) => return Err(format!("two columns have the name {name:?}")),
            (None, _) => {}
        }
    }
    Ok(None)
}

/// The places of the named columns, in the table's order.
pub(crate) fn places(table: &str, schema: &SchemaRef, only: &[String]) -> Result<Vec<usize>, Error> {
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    let mut places = Vec::with_capacity(only.len());
    for name in only {
        let place = column_named(names(), name).map_err(|problem| Error::table(table, problem))?;
        places.push(place.ok_or_else(|| {
            let has = names().collect::<Vec<_>>().join(", ");
            Error::table(table, format!("column {name:?} is missing; there are {has}"))
        })?);
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}
