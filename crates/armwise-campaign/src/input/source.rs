//! Rows that a campaign can read: a table on disk ([`Table`](super::table::Table)) or batches in memory ([`Memory`]).
//!
//! A source must give the same rows every time it is read: choosing reads it once for the rows, and again if it must
//! compare customers or if guessed floors prove too high.

use super::table::{BATCH, Batches, ColumnType, Decimal, Rows, columns_of, places};
use crate::{Error, core::Sha, round::Elsewhere};
use arrow_array::RecordBatch;
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use arrow_schema::SchemaRef;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// Rows with named columns that can be read more than once.
pub trait Source: Sync {
    /// What messages call it.
    fn name(&self) -> &str;

    /// The columns in their order.
    ///
    /// # Errors
    /// [`Error::Table`] if it cannot be read.
    fn columns(&self) -> Result<Vec<(String, ColumnType)>, Error>;

    /// Reads from the start: all columns, or those named.
    ///
    /// # Errors
    /// [`Error::Table`] if it cannot be read or lacks a column.
    fn batches(&self, only: Option<&[String]>) -> Result<Batches, Error>;

    /// A sample: `runs` runs of `run` rows each, evenly over all rows, or as many from the beginning where no other place
    /// can be reached, and how many rows there are in total, or about how many: it is for guesses that are proven later.
    /// None if that is not known before reading, or is less than `large` times the sample. The sample numbers its own rows
    /// from 1.
    ///
    /// # Errors
    /// As [`batches`](Self::batches).
    fn spread(&self, only: &[String], runs: usize, run: usize, large: usize)
    -> Result<Option<(Batches, usize)>, Error>;

    /// SHA-256 of what it holds, by which two requests with one key are compared.
    ///
    /// # Errors
    /// As [`batches`](Self::batches).
    fn digest(&self) -> Result<Sha, Error>;

    /// The rows where they are, if they lie on other machines; a round is then chosen from what these find.
    fn elsewhere(&self) -> Option<&dyn Elsewhere> {
        None
    }
}

/// Arrow batches in memory as a source of rows.
///
/// ```
/// # fn main() -> Result<(), armwise_campaign::Error> {
/// use armwise_campaign::{Memory, Source};
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
/// use std::sync::Arc;
///
/// let names: ArrayRef = Arc::new(StringArray::from(vec!["ann", "bob"]));
/// let ages: ArrayRef = Arc::new(Int64Array::from(vec![31, 47]));
/// let batch = RecordBatch::try_from_iter([("customer", names), ("age", ages)]).expect("two columns of one length");
/// let customers = Memory::new("today's customers", vec![batch])?;
/// assert_eq!(customers.columns()?.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Memory {
    name: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    decimal: Option<Decimal>,
}

impl Memory {
    /// A source of these batches under a name for messages.
    ///
    /// # Errors
    /// [`Error::Table`] for no batches, or for batches whose columns differ.
    pub fn new(name: &str, batches: Vec<RecordBatch>) -> Result<Self, Error> {
        let Some(first) = batches.first() else {
            return Err(Error::table(name, "there are no batches, so the columns are not known"));
        };
        let schema = first.schema();
        let columns = columns_with_types(&schema);
        if let Some(place) = batches.iter().position(|batch| columns_with_types(&batch.schema()) != columns) {
            return Err(Error::table(name, format!("batch {} has other columns than batch 1", place + 1)));
        }
        Ok(Self { name: name.to_owned(), schema, batches, decimal: Some(Decimal::Point) })
    }

    /// Rows as bytes, an Arrow stream.
    pub(crate) fn bytes_of(rows: &Rows, name: &str) -> Result<Vec<u8>, Error> {
        let unreadable = |error| Error::unreadable(name, "", error);
        let batch = rows.batch();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(unreadable)?;
        writer.write(batch).map_err(unreadable)?;
        writer.into_inner().map_err(unreadable)
    }

    /// The rows of such bytes, with the decimal mark of numbers in text.
    pub(crate) fn of_bytes(name: &str, bytes: &[u8], decimal: Option<Decimal>) -> Result<Self, Error> {
        let unreadable = |error| Error::unreadable(name, "", error);
        let reader = StreamReader::try_new(bytes, None).map_err(unreadable)?;
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        Ok(Self { decimal, ..Self::new(name, batches)? })
    }

    /// A copy of another source, all of its rows in one batch.
    ///
    /// # Errors
    /// [`Error::Table`] if it cannot be read or has no rows.
    pub fn copy(source: &dyn Source) -> Result<Self, Error> {
        let parts = source.batches(None)?.collect::<Result<Vec<_>, _>>()?;
        let Some(rows) = Rows::joined(&parts)? else {
            return Err(Error::table(source.name(), "the table has no rows"));
        };
        let columns: Vec<String> = source.columns()?.into_iter().map(|(name, _)| name).collect();
        let places = places(source.name(), &rows.batch().schema(), &columns)?;
        let batch = rows.batch().project(&places).map_err(|error| Error::unreadable(source.name(), "", error))?;
        Self::new(source.name(), vec![batch])
    }

    /// The batches.
    #[must_use]
    pub fn into_batches(self) -> Vec<RecordBatch> {
        self.batches
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The rows in these ranges, of all columns or those named, in batches of at most [`BATCH`] rows. Nothing is
    /// copied.
    fn slices(&self, only: Option<&[String]>, ranges: impl Iterator<Item = Range<usize>>) -> Result<Batches, Error> {
        let places = match only {
            Some(only) => places(&self.name, &self.schema, only)?,
            None => (0..self.schema.fields().len()).collect(),
        };
        let project =
            |batch: &RecordBatch| batch.project(&places).map_err(|error| Error::unreadable(&self.name, "", error));
        let mut slices = Vec::new();
        for range in ranges {
            let mut start = 0;
            for batch in &self.batches {
                let end = start + batch.num_rows();
                let (mut from, to) = (range.start.max(start), range.end.min(end));
                while from < to {
                    let count = (to - from).min(BATCH);
                    slices.push(project(&batch.slice(from - start, count))?);
                    from += count;
                }
                start = end;
            }
        }
        let schema = self.schema.project(&places).map_err(|error| Error::unreadable(&self.name, "", error))?;
        Ok(Batches::new(&self.name, schema.into(), slices.into_iter().map(Ok)).with_decimal(self.decimal))
    }
}

/// What must be alike in all batches; whether a column may have nulls need not be.
fn columns_with_types(schema: &SchemaRef) -> Vec<(String, arrow_schema::DataType)> {
    schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
}

impl Source for Memory {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> Result<Vec<(String, ColumnType)>, Error> {
        Ok(columns_of(&self.schema))
    }

    fn batches(&self, only: Option<&[String]>) -> Result<Batches, Error> {
        self.slices(only, std::iter::once(0..self.rows()))
    }

    fn spread(
        &self,
        only: &[String],
        runs: usize,
        run: usize,
        large: usize,
    ) -> Result<Option<(Batches, usize)>, Error> {
        let rows = self.rows();
        if rows < large * runs * run {
            return Ok(None);
        }
        let starts = (0..runs).map(|index| rows / runs * index);
        Ok(Some((self.slices(Some(only), starts.map(|start| start..start + run))?, rows)))
    }

    /// Of the batches as an Arrow stream.
    fn digest(&self) -> Result<Sha, Error> {
        let unreadable = |error| Error::unreadable(&self.name, "", error);
        let mut writer = StreamWriter::try_new(Sha256::new(), &self.schema).map_err(unreadable)?;
        self.batches.iter().try_for_each(|batch| writer.write(batch)).map_err(unreadable)?;
        Ok(Sha::finish(writer.into_inner().map_err(unreadable)?))
    }
}
