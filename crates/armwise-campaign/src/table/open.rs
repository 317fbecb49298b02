//! Opens a table by its extension or a given format and hands out batches.
//!
//! Standard input is spooled to an unnamed temporary file first, because Parquet and Arrow files
//! are read from their end and because `init` reads twice.

use super::{
    BATCH, arrow,
    csv::CsvReader,
    guard::guarded,
    values::{ColumnType, Rows},
};
use crate::Error;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::{
    ProjectionMask,
    arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection},
};
use std::{
    fs::File,
    io::{BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header, plain or gzip.
    Csv,
    /// Arrow IPC, file or stream.
    Arrow,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "parquet" => Ok(Self::Parquet),
            "csv" | "csv.gz" => Ok(Self::Csv),
            "arrow" | "ipc" | "feather" => Ok(Self::Arrow),
            other => Err(format!("{other:?} is none of parquet, csv, csv.gz, arrow")),
        }
    }
}

impl Format {
    /// The format that a file name tells.
    ///
    /// # Errors
    /// [`Error::Usage`] for an unknown extension.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends(&[".parquet", ".pq"]) => Ok(Self::Parquet),
            () if ends(&[".csv", ".csv.gz"]) => Ok(Self::Csv),
            () if ends(&[".arrow", ".ipc", ".feather", ".arrows"]) => Ok(Self::Arrow),
            () => Err(Error::Usage(format!(
                "{}: the extension tells no format; give --format parquet, csv or arrow",
                path.display()
            ))),
        }
    }
}

/// A table that can be read, also more than once.
#[derive(Debug)]
pub struct Table {
    name: Arc<str>,
    path: PathBuf,
    format: Format,
    file: File,
}

impl Table {
    /// Opens a table; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Storage`], [`Error::Usage`] where the format is unknown.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Self, Error> {
        let is_stdin = path == Path::new("-");
        let format = match format {
            Some(format) => format,
            None if is_stdin => return Err(Error::Usage("standard input needs --format".to_owned())),
            None => Format::of(path)?,
        };
        let file = if is_stdin { spool()? } else { File::open(path).map_err(|error| Error::io(path, &error))? };
        let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        Ok(Self { name: name.into(), path: path.to_owned(), format, file })
    }

    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns in their order.
    ///
    /// # Errors
    /// [`Error::Table`] if it cannot be read.
    pub fn columns(&self) -> Result<Vec<(String, ColumnType)>, Error> {
        let schema = self.batches(None)?.schema;
        Ok(schema.fields().iter().map(|field| (field.name().clone(), ColumnType::of(field.data_type()))).collect())
    }

    /// Reads from the start: all columns, or those named.
    ///
    /// # Errors
    /// [`Error::Table`] if it cannot be read or lacks a column.
    pub fn batches(&self, only: Option<&[String]>) -> Result<Batches, Error> {
        guarded(|| self.read(only)).unwrap_or_else(|damage| Err(Error::table(&self.name, damage)))
    }

    /// `runs` runs of `run` rows each, evenly over the table, and how many rows the table has; none where it does not
    /// tell beforehand, or has fewer than `large` times as many as that. Rows are not numbered as in the table.
    pub(crate) fn spread(
        &self,
        only: &[String],
        runs: usize,
        run: usize,
        large: usize,
    ) -> Result<Option<(Batches, usize)>, Error> {
        if self.format != Format::Parquet {
            return Ok(None);
        }
        let read = || {
            let builder = self.parquet(Some(only))?;
            let rows = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
            if rows < large * runs * run {
                return Ok(None);
            }
            // A run begins where a row group does, if one began since the run before: what comes before would have to
            // be skipped.
            let mut starts = vec![0];
            for group in builder.metadata().row_groups() {
                starts.push(starts[starts.len() - 1] + usize::try_from(group.num_rows()).unwrap_or(0));
            }
            let mut free = 0;
            let ranges = (0..runs).map(|index| {
                let even = rows / runs * index;
                let group = starts[starts.partition_point(|start| *start <= even) - 1];
                let first = if group >= free { group } else { even };
                free = first + run;
                first..free
            });
            let selection = RowSelection::from_consecutive_ranges(ranges, rows);
            let reader = builder.with_row_selection(selection).with_batch_size(run).build();
            let reader = reader.map_err(|error| Error::table(&self.name, error.to_string()))?;
            let (schema, table) = (reader.schema(), Arc::clone(&self.name));
            Ok(Some((Batches { schema, inner: Some(Box::new(reader)), table, next_row: 1 }, rows)))
        };
        guarded(read).unwrap_or_else(|damage| Err(Error::table(&self.name, damage)))
    }

    /// A reader of a Parquet file.
    fn parquet(&self, only: Option<&[String]>) -> Result<ParquetRecordBatchReaderBuilder<File>, Error> {
        let bad = |error: &dyn std::fmt::Display| Error::table(&self.name, error.to_string());
        // Types are taken as Parquet has them: dictionaries and large strings become plain ones.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let file = self.file.try_clone().map_err(|error| Error::io(&self.path, &error))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).map_err(|e| bad(&e))?;
        let mask = match only.map(|only| places(&self.name, builder.schema(), only)).transpose()? {
            Some(places) => ProjectionMask::roots(builder.parquet_schema(), places),
            None => ProjectionMask::all(),
        };
        Ok(builder.with_projection(mask))
    }

    fn read(&self, only: Option<&[String]>) -> Result<Batches, Error> {
        let mut file = self.file.try_clone().map_err(|error| Error::io(&self.path, &error))?;
        file.seek(SeekFrom::Start(0)).map_err(|error| Error::io(&self.path, &error))?;
        let bad = |error: &dyn std::fmt::Display| Error::table(&self.name, error.to_string());
        let places = |schema: &SchemaRef| only.map(|only| places(&self.name, schema, only)).transpose();
        let (schema, batches): (SchemaRef, Box<Inner>) = match self.format {
            Format::Parquet => {
                let reader = self.parquet(only)?.with_batch_size(BATCH).build().map_err(|e| bad(&e))?;
                (reader.schema(), Box::new(reader))
            }
            Format::Arrow => {
                let again = file.try_clone().map_err(|error| Error::io(&self.path, &error))?;
                let (schema, batches) = arrow::open(file, None).map_err(|e| bad(&e))?;
                match places(&schema)? {
                    None => (schema, batches),
                    Some(only) => arrow::open(again, Some(only)).map_err(|e| bad(&e))?,
                }
            }
            Format::Csv => {
                let mut reader = CsvReader::open(&self.name, BufReader::with_capacity(1 << 16, file))?;
                if let Some(places) = places(&reader.schema())? {
                    reader.keep(&places);
                }
                (reader.schema(), Box::new(reader))
            }
        };
        Ok(Batches { schema, inner: Some(batches), table: Arc::clone(&self.name), next_row: 1 })
    }
}

pub(super) type Inner = dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send;

/// The batches of a table, in order.
pub struct Batches {
    schema: SchemaRef,
    /// None after a panic inside, which leaves the reader in no state to go on.
    inner: Option<Box<Inner>>,
    table: Arc<str>,
    next_row: u64,
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
                    return Some(Err(Error::table(&self.table, format!("rows from {}: {damage}", self.next_row))));
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
                    Err(error) => Err(Error::table(&self.table, error.to_string())),
                },
                Err(error) => Err(Error::table(&self.table, format!("rows from {}: {error}", self.next_row))),
            });
        }
    }
}

/// Where the named columns stand, in the table's order.
fn places(table: &str, schema: &SchemaRef, only: &[String]) -> Result<Vec<usize>, Error> {
    let mut places = Vec::with_capacity(only.len());
    for name in only {
        let mut at = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name).map(|(at, _)| at);
        match (at.next(), at.next()) {
            (Some(place), None) => places.push(place),
            (None, _) => {
                let has: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                return Err(Error::table(table, format!("column {name:?} is missing; it has {}", has.join(", "))));
            }
            (Some(_), Some(_)) => return Err(Error::table(table, format!("two columns have the name {name:?}"))),
        }
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// Copies standard input to a temporary file that has no name any more.
fn spool() -> Result<File, Error> {
    let path = std::env::temp_dir().join(format!("armwise-stdin-{}", std::process::id()));
    let failed = |error: &std::io::Error| Error::io(&path, error);
    let mut options = File::options();
    let mut file =
        options.read(true).write(true).create(true).truncate(true).open(&path).map_err(|error| failed(&error))?;
    std::fs::remove_file(&path).map_err(|error| failed(&error))?;
    std::io::copy(&mut std::io::stdin().lock(), &mut file).map_err(|error| failed(&error))?;
    Ok(file)
}
