//! What a request brings: JSON with the place of what is wrong in it, or rows as a table of the content type's format.

use crate::problem::Fault;
use armwise_campaign::{
    Error,
    table::{Format, Table, TableRules},
};
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use std::{
    io::{self, Seek, Write},
    path::PathBuf,
};

/// The formats that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// JSON.
    Json,
    /// A JSON value per line.
    JsonLines,
    /// A table.
    Table(Format),
}

impl Media {
    /// JSON lines.
    pub const JSON_LINES: &'static str = "application/x-ndjson";
    /// The content types, each with what it is.
    pub const ALL: [(&'static str, Self); 5] = [
        ("application/json", Self::Json),
        (Self::JSON_LINES, Self::JsonLines),
        ("text/csv", Self::Table(Format::Csv)),
        ("application/vnd.apache.arrow.stream", Self::Table(Format::Arrow)),
        ("application/vnd.apache.parquet", Self::Table(Format::Parquet)),
    ];

    /// What the headers say that the body is; JSON if they say nothing.
    ///
    /// # Errors
    /// [`Fault`] (415) for another format.
    pub fn of(headers: &HeaderMap) -> Result<Self, Fault> {
        let Some(given) = headers.get(header::CONTENT_TYPE) else { return Ok(Self::Json) };
        let text = given.to_str().unwrap_or_default();
        let name = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, media)| *media).ok_or_else(|| unsupported(text))
    }

    /// Refuses everything but JSON.
    ///
    /// # Errors
    /// [`Fault`] (415).
    pub fn json(headers: &HeaderMap) -> Result<(), Fault> {
        match Self::of(headers)? {
            Self::Json => Ok(()),
            _ => Err(Self::refused(headers)),
        }
    }
}

impl Media {
    /// The fault of a body whose type is not read here.
    #[must_use]
    pub fn refused(headers: &HeaderMap) -> Fault {
        unsupported(headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok()).unwrap_or_default())
    }
}

fn unsupported(given: &str) -> Fault {
    Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", "a body of this type is not read here")
        .at("Content-Type")
        .value(given)
        .help("send application/json; where rows are taken also text/csv, application/vnd.apache.arrow.stream or application/vnd.apache.parquet")
}

/// Reads a JSON body; an error says where it is.
///
/// # Errors
/// [`Fault`]: 400 for what is not JSON, 422 for JSON that says something else than it should.
pub fn json<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| {
        // The place costs time, so it is looked for only where there is something to be found.
        let mut reader = serde_json::Deserializer::from_slice(body);
        let place = serde_path_to_error::deserialize::<_, T>(&mut reader).err().map(|error| error.path().to_string());
        let detail = format!("{error}");
        let fault = match error.classify() {
            serde_json::error::Category::Data => Fault::invalid(detail),
            _ => Fault::malformed(detail),
        };
        match place.filter(|place| place != ".") {
            Some(place) => fault.at(place),
            None => fault,
        }
    })
}

/// Takes a JSON value for what it should be; an error says where it is not.
///
/// # Errors
/// [`Fault`] (422).
pub fn value<T: for<'de> Deserialize<'de>>(value: serde_json::Value) -> Result<T, Fault> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = error.path().to_string();
        let fault = Fault::invalid(error.into_inner().to_string());
        if place == "." { fault } else { fault.at(place) }
    })
}

/// A body as a table, read by the rules where it does not say by itself how it is to be read.
///
/// # Errors
/// [`Fault`] if there is no room for a copy of it.
pub fn table(body: &[u8], format: Format, rules: &TableRules) -> Result<Table, Fault> {
    let copy = || -> io::Result<std::fs::File> {
        // The readers seek, and read twice.
        let mut file = tempfile::tempfile()?;
        file.write_all(body)?;
        file.rewind()?;
        Ok(file)
    };
    let file = copy().map_err(|error| not_copied(&error))?;
    Ok(Table::from_file("the body", file, format).with(rules.clone()))
}

/// Why a body could not be copied.
fn not_copied(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Error::DiskFull { path: PathBuf::new(), cause: None }.into()
        }
        _ => Fault::internal(format!("a temporary file: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_finds_no_room_is_told_so() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let (status, kind) = (not_copied(&full).status(), not_copied(&full).kind());
        assert_eq!((status, kind), (StatusCode::INSUFFICIENT_STORAGE, "disk-full"));
        let other = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(not_copied(&other).status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
