//! Writes tables: CSV or Parquet, by the extension of the file; CSV to anything that takes bytes.
//!
//! A file appears under its name only when it is complete and on the disk. Until then it has a temporary name in the
//! same folder, so a crash leaves the old file or none.

use super::Format;
use crate::Error;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use parquet::{arrow::ArrowWriter, errors::ParquetError};
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// A value to be written.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Nothing: a null, an empty field.
    Nothing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }
}

/// A small table in memory that can be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Sheet {
    /// A sheet with these columns.
    #[must_use]
    pub fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }

    /// How many rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes to a temporary file that gets its name by [`Pending::publish`].
    ///
    /// # Errors
    /// [`Error::Storage`], or [`Error::Usage`] for an extension that cannot be written.
    pub fn write(&self, path: &Path) -> Result<Pending, Error> {
        let format = Format::of(path)?;
        let (file, pending) = Pending::new(path)?;
        let failed = |error: std::io::Error| Error::io(path, error);
        match format {
            Format::Csv => self.csv(BufWriter::new(&file)).map_err(failed)?,
            Format::Parquet => self.parquet(&file).map_err(|error| Error::storage(path, error))?,
            Format::Arrow => {
                return Err(Error::Usage(format!("{}: only CSV and Parquet can be written", path.display())));
            }
        }
        file.sync_all().map_err(failed)?;
        Ok(pending)
    }

    /// Writes as CSV.
    ///
    /// # Errors
    /// What the writer says.
    pub fn csv(&self, mut out: impl Write) -> std::io::Result<()> {
        let line = |out: &mut dyn Write, cells: &mut dyn Iterator<Item = String>| {
            for (place, cell) in cells.enumerate() {
                if place > 0 {
                    out.write_all(b",")?;
                }
                if cell.contains([',', '"', '\n', '\r']) {
                    write!(out, "\"{}\"", cell.replace('"', "\"\""))?;
                } else {
                    out.write_all(cell.as_bytes())?;
                }
            }
            out.write_all(b"\n")
        };
        line(&mut out, &mut self.columns.iter().cloned())?;
        for row in &self.rows {
            let text = |cell: &Cell| match cell {
                Cell::Text(text) => text.clone(),
                Cell::Whole(number) => number.to_string(),
                Cell::Number(number) => number.to_string(),
                Cell::Nothing => String::new(),
            };
            line(&mut out, &mut row.iter().map(text))?;
        }
        out.flush()
    }

    fn parquet(&self, file: &File) -> Result<(), ParquetError> {
        let batch = self.batch()?;
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close().map(|_| ())
    }

    /// The sheet as one Arrow batch. A column with a text in it is of texts, otherwise of whole numbers or of numbers.
    ///
    /// # Errors
    /// What Arrow says of a sheet without columns.
    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let column = |place: usize| -> ArrayRef {
            let cells = || self.rows.iter().map(move |row| &row[place]);
            if cells().any(|cell| matches!(cell, Cell::Text(_))) {
                Arc::new(
                    cells()
                        .map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None })
                        .collect::<StringArray>(),
                )
            } else if cells().any(|cell| matches!(cell, Cell::Whole(_))) {
                Arc::new(
                    cells()
                        .map(|cell| if let Cell::Whole(whole) = cell { Some(*whole) } else { None })
                        .collect::<Int64Array>(),
                )
            } else {
                Arc::new(
                    cells()
                        .map(|cell| if let Cell::Number(number) = cell { Some(*number) } else { None })
                        .collect::<Float64Array>(),
                )
            }
        };
        let columns = self.columns.iter().enumerate().map(|(place, name)| (name.clone(), column(place), true));
        RecordBatch::try_from_iter_with_nullable(columns)
    }
}

/// Writes a whole file, which appears under its name only when it is complete.
///
/// # Errors
/// [`Error::Storage`], [`Error::NotFound`] for a folder that does not exist.
pub fn publish(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let (mut file, pending) = Pending::new(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| Error::io(path, error))?;
    pending.publish()
}

/// A file that is complete but does not have its name yet; dropped, it is removed.
#[derive(Debug)]
#[must_use = "the file has no name until it is published"]
pub struct Pending {
    from: Option<PathBuf>,
    to: PathBuf,
}

impl Pending {
    fn new(path: &Path) -> Result<(File, Self), Error> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let file = File::create(&part).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                let name = path.parent().unwrap_or(path).display().to_string();
                Error::NotFound { what: "the folder", name, hint: String::new() }
            }
            _ => Error::io(&part, error),
        })?;
        Ok((file, Self { from: Some(part), to: path.to_owned() }))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn publish(mut self) -> Result<(), Error> {
        match self.from.take() {
            Some(from) => std::fs::rename(&from, &self.to).map_err(|error| Error::io(&self.to, error)),
            None => Ok(()),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(from) = &self.from {
            let _ = std::fs::remove_file(from);
        }
    }
}
