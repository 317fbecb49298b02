//! The batches of a source, one after the other, with their rows numbered.
//!
//! A panic of a reader ends the batches with an error; the reader is not asked again, for it may be in any state.

use super::{
    guard::guarded,
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
}

impl Batches {
    /// What a reader gives; `name` is what messages call the source.
    #[must_use]
    pub fn new(
        name: &str,
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    ) -> Self {
        Self { schema, inner: Some(Box::new(batches)), table: name.into(), next_row: 1 }
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
                    Ok(Rows::new(batch, Arc::clone(&self.table), first))
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

/// The places of the named columns, in the table's order.
pub(crate) fn places(table: &str, schema: &SchemaRef, only: &[String]) -> Result<Vec<usize>, Error> {
    let mut places = Vec::with_capacity(only.len());
    for name in only {
        let mut at = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name).map(|(at, _)| at);
        match (at.next(), at.next()) {
            (Some(place), None) => places.push(place),
            (None, _) => {
                let has: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                return Err(Error::table(table, format!("column {name:?} is missing; there are {}", has.join(", "))));
            }
            (Some(_), Some(_)) => return Err(Error::table(table, format!("two columns have the name {name:?}"))),
        }
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}
