//! Writes tables: CSV, plain or gzip, xlsx or Parquet, by the extension of the file; CSV to anything that takes bytes.
//!
//! A file appears under its name only when it is complete and on the disk ([`Pending`]), so a crash leaves the old file
//! or none.

use super::Format;
use crate::{
    Error,
    output::{Existing, Pending, Protected},
};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use flate2::{Compression, write::GzEncoder};
use parquet::{arrow::ArrowWriter, errors::ParquetError};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    sync::Arc,
};

/// The most rows of a sheet in a workbook, the header among them.
const MOST_LINES: usize = 1 << 20;

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

    /// Writes to a file that gets its name by [`SheetFile::publish`], and replaces another of that name then.
    ///
    /// # Errors
    /// As [`SheetFile::begin`] and [`SheetFile::fill`].
    pub fn write(&self, path: &Path) -> Result<SheetFile, Error> {
        let file = SheetFile::begin(path, Existing::Replace, &[])?;
        file.fill(self)?;
        Ok(file)
    }

    /// The sheet with an apostrophe before every text that a spreadsheet would take for a formula. Such texts, ids
    /// among them, do not read back as they were.
    #[must_use]
    pub fn for_spreadsheets(&self) -> Self {
        let safe = |text: &str| if is_formula(text) { format!("'{text}") } else { text.to_owned() };
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => Cell::Text(safe(text)),
            other => other.clone(),
        };
        Self {
            columns: self.columns.iter().map(|name| safe(name)).collect(),
            rows: self.rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
        }
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

    /// Writes as a workbook with one sheet. Texts are cells of text, whatever they begin with, so ids stay as they are
    /// and no spreadsheet takes one for a formula.
    fn xlsx(&self, out: impl Write + Send) -> Result<(), XlsxError> {
        let mut workbook = Workbook::new();
        // The same sheet gives the same bytes, whenever it is written.
        let written = DocProperties::new().set_creation_datetime(&ExcelDateTime::from_ymd(2000, 1, 1)?);
        workbook.set_properties(&written);
        let sheet = workbook.add_worksheet();
        sheet.set_freeze_panes(1, 0)?;
        for (place, name) in (0..).zip(&self.columns) {
            sheet.write_string(0, place, name)?;
        }
        for (line, row) in (1..).zip(&self.rows) {
            for (place, cell) in (0..).zip(row) {
                match cell {
                    Cell::Text(text) => sheet.write_string(line, place, text)?,
                    // A spreadsheet keeps 15 digits of a number.
                    Cell::Whole(number) if number.unsigned_abs() < 1_000_000_000_000_000 => {
                        sheet.write_number(line, place, *number as f64)?
                    }
                    Cell::Whole(number) => sheet.write_string(line, place, number.to_string())?,
                    Cell::Number(number) if number.is_finite() => sheet.write_number(line, place, *number)?,
                    Cell::Number(number) => sheet.write_string(line, place, number.to_string())?,
                    Cell::Nothing => continue,
                };
            }
        }
        workbook.save_to_writer(out)
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

/// Whether a spreadsheet that opens a CSV file would take a text for a formula.
#[must_use]
pub fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// The file of a sheet, begun before there is a sheet, so that a name that cannot be written is refused early.
#[derive(Debug)]
#[must_use = "the file has no name until it is published"]
pub struct SheetFile {
    pending: Pending,
    format: Format,
    for_spreadsheets: bool,
}

impl SheetFile {
    /// Begins the file; the extension tells the format.
    ///
    /// # Errors
    /// As [`Pending::begin`]; [`Error::UnknownFormat`] and [`Error::Usage`] for an extension that cannot be written.
    pub fn begin(path: &Path, existing: Existing, protected: &[Protected]) -> Result<Self, Error> {
        let format = Format::of(path)?;
        if format == Format::Arrow {
            return Err(Error::Usage(format!("{}: only CSV, xlsx and Parquet can be written", path.display())));
        }
        if format == Format::Tsv {
            return Err(Error::Usage(format!("{}: tables are written with commas; name it .csv", path.display())));
        }
        Ok(Self { pending: Pending::begin(path, existing, protected)?, format, for_spreadsheets: false })
    }

    /// Whether texts that a spreadsheet would take for formulas get an apostrophe
    /// ([`Sheet::for_spreadsheets`]); xlsx and Parquet need none.
    pub fn for_spreadsheets(self, for_spreadsheets: bool) -> Self {
        Self { for_spreadsheets, ..self }
    }

    /// The name that the file will have.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.pending.path()
    }

    /// Writes the sheet and puts it on the disk, still without its name.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn fill(&self, sheet: &Sheet) -> Result<(), Error> {
        let (path, file) = (self.path(), self.pending.file());
        let failed = |error: std::io::Error| Error::storage(path, error);
        if self.format == Format::Parquet {
            sheet.parquet(file).map_err(|error| Error::storage(path, error))?;
            return self.pending.sync();
        }
        if self.format == Format::Xlsx {
            if sheet.len() >= MOST_LINES {
                let problem = format!("{} rows are more than a sheet holds; write CSV or Parquet", sheet.len());
                return Err(Error::Usage(format!("{}: {problem}", path.display())));
            }
            sheet.xlsx(BufWriter::new(file)).map_err(|error| Error::storage(path, error))?;
            return self.pending.sync();
        }
        let changed = self.for_spreadsheets.then(|| sheet.for_spreadsheets());
        let (sheet, out) = (changed.as_ref().unwrap_or(sheet), BufWriter::new(file));
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz")) {
            let mut gz = GzEncoder::new(out, Compression::default());
            sheet.csv(&mut gz).map_err(failed)?;
            gz.finish().and_then(|mut rest| rest.flush()).map_err(failed)?;
        } else {
            sheet.csv(out).map_err(failed)?;
        }
        self.pending.sync()
    }

    /// Gives the file its name, as [`Pending::publish`].
    ///
    /// # Errors
    /// As [`Pending::publish`].
    pub fn publish(self) -> Result<(), Error> {
        self.pending.publish()
    }
}
