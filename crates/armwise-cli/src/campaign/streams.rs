//! Standard input and output, which are `-` on the command line.
//!
//! Standard input is copied to an unnamed temporary file first, because Parquet and Arrow files are read from their end
//! and because a campaign may read its table twice.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    path::Path,
};

use armwise_campaign::{
    output::{Existing, Protected},
    table::{Format, Sheet, SheetFile, Table},
};

use super::failure::Failure;
use crate::visible::visible;

/// Whether a path means standard input or output.
pub(super) fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether a file, by its name, has a format in which a text is never taken for a formula.
pub(super) fn has_typed_cells(path: &Path) -> bool {
    Format::of(path).is_ok_and(|format| matches!(format, Format::Parquet | Format::Xlsx))
}

/// Opens a table: a file, or standard input.
pub(super) fn open(path: &Path, format: Option<Format>) -> Result<Table, Failure> {
    if !is_stream(path) {
        return Ok(Table::open(path, format)?);
    }
    let format =
        format.ok_or_else(|| Failure::usage("standard input needs --format parquet, csv, tsv, xlsx or arrow"))?;
    Ok(Table::from_file("standard input", spool()?, format))
}

/// Where a sheet goes, opened before the work begins.
pub(super) enum Out {
    /// Standard output, as CSV.
    Stream {
        /// Whether texts that a spreadsheet would take for formulas get an apostrophe.
        for_spreadsheets: bool,
    },
    File(SheetFile),
}

impl Out {
    /// Opens a file, or means standard output.
    pub(super) fn begin(
        path: &Path,
        existing: Existing,
        protected: &[Protected],
        for_spreadsheets: bool,
    ) -> Result<Self, Failure> {
        if is_stream(path) {
            return Ok(Self::Stream { for_spreadsheets });
        }
        Ok(Self::File(SheetFile::begin(path, existing, protected)?.for_spreadsheets(for_spreadsheets)))
    }

    /// Writes the sheet; a file gets its name.
    pub(super) fn write(self, sheet: &Sheet) -> Result<(), Failure> {
        let for_spreadsheets = match self {
            Self::File(file) => {
                file.fill(sheet)?;
                return Ok(file.publish()?);
            }
            Self::Stream { for_spreadsheets } => for_spreadsheets,
        };
        let changed = for_spreadsheets.then(|| sheet.for_spreadsheets());
        let (sheet, out) = (changed.as_ref().unwrap_or(sheet), io::stdout().lock());
        let written = if out.is_terminal() {
            let mut text = Vec::new();
            sheet.csv(&mut text).map(|()| print(&String::from_utf8_lossy(&text)))
        } else {
            sheet.csv(BufWriter::new(out))
        };
        match written {
            // The reader has closed the pipe, which is not a failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| Failure::io(Path::new("standard output"), &error)),
        }
    }
}

/// Prints text on standard output; a closed pipe is not a failure.
pub(super) fn print(text: &str) {
    let _ = io::stdout().write_all(visible(text).as_bytes());
}

/// Prints a message on stderr; a closed pipe is not a failure.
pub(super) fn say(text: &str) {
    let _ = io::stderr().write_all(visible(text).as_bytes());
}

/// Copies standard input to a temporary file without a name, which nobody else can open.
fn spool() -> Result<File, Failure> {
    let failed = |error: io::Error| Failure::io(&std::env::temp_dir(), &error);
    let mut file = tempfile::tempfile().map_err(failed)?;
    io::copy(&mut io::stdin().lock(), &mut file).map_err(failed)?;
    Ok(file)
}
