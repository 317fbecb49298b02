//! Standard input and output, which are `-` on the command line.
//!
//! Standard input is copied to an unnamed temporary file first, because Parquet and Arrow files are read from their end
//! and because a campaign may read its table twice.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use armwise_campaign::table::{Format, Sheet, Table};

use super::failure::Failure;

/// Whether a path means standard input or output.
pub(super) fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

/// Opens a table: a file, or standard input.
pub(super) fn open(path: &Path, format: Option<Format>) -> Result<Table, Failure> {
    if !is_stream(path) {
        return Ok(Table::open(path, format)?);
    }
    let format = format.ok_or_else(|| Failure::usage("standard input needs --format parquet, csv or arrow"))?;
    Ok(Table::from_file("standard input", spool()?, format))
}

/// Writes a sheet to a file, or as CSV to standard output. A file gets its name only when it is complete.
pub(super) fn write(sheet: &Sheet, path: &Path) -> Result<(), Failure> {
    if !is_stream(path) {
        return Ok(sheet.write(path)?.publish()?);
    }
    match sheet.csv(BufWriter::new(io::stdout().lock())) {
        // The reader has closed the pipe, which is not a failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::io(Path::new("standard output"), &error)),
    }
}

/// Prints text on standard output; a closed pipe is not a failure.
pub(super) fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Prints a message on stderr; a closed pipe is not a failure.
pub(super) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Copies standard input to an unnamed temporary file.
fn spool() -> Result<File, Failure> {
    let path = std::env::temp_dir().join(format!("armwise-stdin-{}", std::process::id()));
    let failed = |error: io::Error| Failure::io(&path, &error);
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).map_err(failed)?;
    std::fs::remove_file(&path).map_err(failed)?;
    io::copy(&mut io::stdin().lock(), &mut file).map_err(failed)?;
    Ok(file)
}
