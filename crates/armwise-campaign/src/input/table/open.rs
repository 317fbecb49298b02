//! A table in a file: opened by its extension or a given format, read in batches.
//!
//! The file must be seekable: Parquet and Arrow files are read from their end, and a campaign may read its table twice.
//! A stream must be copied into a file first, for [`Table::from_file`].

use super::{
    BATCH, MOST_COLUMNS, arrow, arrow_spread,
    batches::{Batches, Inner, places},
    csv::CsvReader,
    guard::guarded,
    rules::{Separator, TableRules},
    spread,
    values::ColumnType,
    xlsx,
};
use crate::{Error, Source, core::Sha, error::Cause};
use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;
use parquet::arrow::{
    ProjectionMask,
    arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection},
};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{BufReader, Seek, SeekFrom},
    path::Path,
    str::FromStr,
};

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Values separated by commas, semicolons or tabs with a header, plain or gzip.
    Csv,
    /// The same, separated by tabs.
    Tsv,
    /// A sheet of a workbook.
    Xlsx,
    /// Arrow IPC, file or stream.
    Arrow,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "parquet" => Ok(Self::Parquet),
            "csv" | "csv.gz" => Ok(Self::Csv),
            "tsv" | "tsv.gz" => Ok(Self::Tsv),
            "xlsx" => Ok(Self::Xlsx),
            "arrow" | "ipc" | "feather" => Ok(Self::Arrow),
            other => Err(format!("{other:?} is none of parquet, csv, csv.gz, tsv, tsv.gz, xlsx, arrow")),
        }
    }
}

impl Format {
    /// The format that a file name tells.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`] for an unknown extension.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends(&[".parquet", ".pq"]) => Ok(Self::Parquet),
            () if ends(&[".csv", ".csv.gz", ".txt", ".txt.gz"]) => Ok(Self::Csv),
            () if ends(&[".tsv", ".tsv.gz", ".tab"]) => Ok(Self::Tsv),
            () if ends(&[".xlsx", ".xlsm"]) => Ok(Self::Xlsx),
            () if ends(&[".arrow", ".ipc", ".feather", ".arrows"]) => Ok(Self::Arrow),
            () => Err(Error::UnknownFormat { path: path.to_owned() }),
        }
    }
}

/// A table in a file.
#[derive(Debug)]
pub struct Table {
    name: String,
    format: Format,
    file: File,
    rules: TableRules,
}

impl Table {
    /// Opens a file; its extension tells the format unless one is given.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Storage`], [`Error::UnknownFormat`].
    pub fn open(path: &Path, format: Option<Format>) -> Result<Self, Error> {
        let format = format.map_or_else(|| Format::of(path), Ok)?;
        // Opening a pipe would wait for somebody who writes to it.
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            return Err(Error::table(
                &path.display().to_string(),
                "it is not a file; what comes from a pipe or a device must be copied into one",
            ));
        }
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        Ok(Self::from_file(&path.display().to_string(), file, format))
    }

    /// A table in a file that is already open, under a name for messages.
    #[must_use]
    pub fn from_file(name: &str, file: File, format: Format) -> Self {
        Self { name: name.to_owned(), format, file, rules: TableRules::default() }
    }

    /// The same table, read by these rules where it does not say by itself how it is to be read.
    #[must_use]
    pub fn with(self, rules: TableRules) -> Self {
        Self { rules, ..self }
    }

    fn refused(&self, error: std::io::Error) -> Error {
        Error::io(Path::new(&self.name), error)
    }

    fn unreadable(&self, error: impl Into<Cause>) -> Error {
        Error::unreadable(&self.name, "", error)
    }

    /// A reader of a Parquet file.
    fn parquet(&self, only: Option<&[String]>) -> Result<ParquetRecordBatchReaderBuilder<File>, Error> {
        // Types are taken as Parquet has them: dictionaries and large strings become plain ones.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let file = self.file.try_clone().map_err(|error| self.refused(error))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
            .map_err(|error| self.unreadable(error))?;
        let mask = match only.map(|only| places(&self.name, builder.schema(), only)).transpose()? {
            Some(places) => ProjectionMask::roots(builder.parquet_schema(), places),
            None => ProjectionMask::all(),
        };
        Ok(builder.with_projection(mask))
    }

    /// The rules of a text table.
    fn text_rules(&self) -> TableRules {
        let separator = if self.format == Format::Tsv { Some(Separator::Tab) } else { self.rules.separator };
        TableRules { separator, ..self.rules.clone() }
    }

    /// A text table. Its reader has counted the columns.
    fn text(&self, file: File, only: Option<&[String]>) -> Result<Batches, Error> {
        let mut reader = CsvReader::open(&self.name, BufReader::with_capacity(1 << 16, file), &self.text_rules())?;
        if let Some(only) = only {
            reader.keep(&places(&self.name, &reader.schema(), only)?);
        }
        let (schema, decimal) = (reader.schema(), reader.decimal);
        Ok(Batches::new(&self.name, schema, reader).with_decimal(decimal))
    }

    fn read(&self, only: Option<&[String]>) -> Result<Batches, Error> {
        let mut file = self.file.try_clone().map_err(|error| self.refused(error))?;
        file.seek(SeekFrom::Start(0)).map_err(|error| self.refused(error))?;
        let places = |schema: &SchemaRef| only.map(|only| places(&self.name, schema, only)).transpose();
        let (schema, batches): (SchemaRef, Box<Inner>) = match self.format {
            Format::Parquet => {
                let reader =
                    self.parquet(only)?.with_batch_size(BATCH).build().map_err(|error| self.unreadable(error))?;
                (reader.schema(), Box::new(reader))
            }
            Format::Arrow => {
                let again = file.try_clone().map_err(|error| self.refused(error))?;
                let (schema, batches) = arrow::open(file, None).map_err(|error| self.unreadable(error))?;
                match places(&schema)? {
                    None => (schema, batches),
                    Some(only) => arrow::open(again, Some(only)).map_err(|error| self.unreadable(error))?,
                }
            }
            Format::Csv | Format::Tsv => return self.text(file, only),
            Format::Xlsx => return xlsx::read(file, &self.name, &self.rules, only),
        };
        if schema.fields().len() > MOST_COLUMNS {
            let problem = format!("it has {} columns; {MOST_COLUMNS} is the most that is read", schema.fields().len());
            return Err(Error::table(&self.name, problem));
        }
        Ok(Batches::new(&self.name, schema, batches))
    }
}

impl Source for Table {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> Result<Vec<(String, ColumnType)>, Error> {
        Ok(self.batches(None)?.columns())
    }

    fn batches(&self, only: Option<&[String]>) -> Result<Batches, Error> {
        guarded(|| self.read(only)).unwrap_or_else(|damage| Err(Error::table(&self.name, damage)))
    }

    /// Parquet and Arrow files tell their number of rows beforehand, a text file nearly; a workbook does not. Of packed
    /// text it is the beginning, since no other place can be reached.
    fn spread(
        &self,
        only: &[String],
        runs: usize,
        run: usize,
        large: usize,
    ) -> Result<Option<(Batches, usize)>, Error> {
        if matches!(self.format, Format::Csv | Format::Tsv) {
            let rules = self.text_rules();
            let places = |reader: &CsvReader| places(&self.name, &reader.schema(), only);
            let lines = spread::lines(&self.file, &rules, runs, run, large).map_err(|error| self.refused(error))?;
            if let Some(lines) = lines {
                let rows = lines.rows;
                return Ok(lines.batches(&self.name, &rules, places)?.map(|batches| (batches, rows)));
            }
            let packed = spread::beginning(&self.file, &self.name, &rules, large * runs * run);
            let Some(packed) = packed.map_err(|error| self.refused(error))? else { return Ok(None) };
            return packed.batches(&self.name, (runs * run, large), places);
        }
        if self.format == Format::Arrow {
            let read = || {
                let places = |schema: &SchemaRef| places(&self.name, schema, only);
                let found = arrow_spread::sample(&self.file, (runs, run, large), places)?;
                Ok(found.map(|(schema, batches, rows)| (Batches::new(&self.name, schema, batches), rows)))
            };
            return guarded(read).unwrap_or_else(|damage| Err(Error::table(&self.name, damage)));
        }
        if self.format != Format::Parquet {
            return Ok(None);
        }
        let read = || {
            let builder = self.parquet(Some(only))?;
            let rows = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
            if rows < large * runs * run {
                return Ok(None);
            }
            // If a row group began since the last run, this run begins with that row group: starting later would mean
            // skipping rows.
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
            let reader = reader.map_err(|error| self.unreadable(error))?;
            Ok(Some((Batches::new(&self.name, reader.schema(), reader), rows)))
        };
        guarded(read).unwrap_or_else(|damage| Err(Error::table(&self.name, damage)))
    }

    /// Of the file's bytes.
    fn digest(&self) -> Result<Sha, Error> {
        let mut hash = Sha256::new();
        let copied = self.file.try_clone().and_then(|mut file| {
            file.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut BufReader::with_capacity(1 << 20, file), &mut hash)
        });
        copied.map_err(|error| self.refused(error))?;
        Ok(Sha::finish(hash))
    }
}
