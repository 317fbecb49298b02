//! Everything that can go wrong with a campaign, as one enum, and the exit code each kind has.
//!
//! An error is raised before anything is committed, so after one the file is what it was.

use crate::core::Refusal;
use std::path::{Path, PathBuf};

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something that the caller named does not exist.
    #[error("{what} {name} does not exist{hint}")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
        /// What to do, with leading punctuation; may be empty.
        hint: String,
    },
    /// A cell of a table cannot be used.
    #[error("{table}: row {row}, column {column:?}: {problem}")]
    Cell {
        /// The table.
        table: String,
        /// The row, from 1, the header not counted.
        row: u64,
        /// The column's name.
        column: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A table cannot be read as what it should be.
    #[error("{table}: {problem}")]
    Table {
        /// The table.
        table: String,
        /// What is wrong, with the place.
        problem: String,
    },
    /// A customer stands twice in a table.
    #[error("{table}: customer {customer:?} stands in row {first} and in row {second}; one row per customer is needed")]
    DuplicateCustomer {
        /// The table.
        table: String,
        /// The customer.
        customer: String,
        /// The first row, from 1.
        first: u64,
        /// The second row, from 1.
        second: u64,
    },
    /// The configuration does not make sense.
    #[error("{place}: {problem}")]
    Config {
        /// The file, with line and column where known.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// A request that makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The request contradicts what the campaign already holds.
    #[error("{0}")]
    Conflict(String),
    /// The campaign refuses the command.
    #[error("{0}")]
    Refused(Refusal),
    /// Something was appended to the journal since the command was made.
    #[error("{}: it has gone on to entry {found} since the command was made after entry {expected}; try again", path.display())]
    HeadMoved {
        /// The journal.
        path: PathBuf,
        /// The entry that the command was made after.
        expected: u64,
        /// The last entry.
        found: u64,
    },
    /// An entry of the journal has the same key already.
    #[error("{}: an entry has the key {key:?} already", path.display())]
    KeyUsed {
        /// The journal.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// The campaign's file has an older schema.
    #[error("{}: it has schema version {version}; migrate it first", path.display())]
    OldSchema {
        /// The file.
        path: PathBuf,
        /// The schema's version.
        version: u32,
    },
    /// Another process is writing to the campaign.
    #[error("{} is locked by {holder}; try again when it is done", path.display())]
    Locked {
        /// The campaign.
        path: PathBuf,
        /// Who holds the lock.
        holder: String,
    },
    /// The file cannot be read or written.
    #[error("{}: {problem}", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The campaign file is damaged.
    #[error("{}: damaged: {problem}; `armwise verify` says what can be recovered", path.display())]
    Damaged {
        /// The campaign.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// The library refused.
    #[error("{0}")]
    Library(#[from] armwise::Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Error {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Cell { .. }
            | Self::Table { .. }
            | Self::DuplicateCustomer { .. }
            | Self::Config { .. }
            | Self::Usage(_)
            | Self::Refused(Refusal::BadRound(_)) => 2,
            Self::NotFound { .. } => 4,
            Self::Conflict(_) | Self::Refused(_) | Self::HeadMoved { .. } | Self::KeyUsed { .. } => 5,
            Self::Storage { .. } | Self::Damaged { .. } | Self::OldSchema { .. } => 6,
            Self::Locked { .. } => 75,
            Self::Library(_) => 1,
        }
    }

    /// An input or output error of a file.
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::NotFound {
            return Self::NotFound { what: "the file", name: path.display().to_string(), hint: String::new() };
        }
        Self::Storage { path: path.to_owned(), problem: error.to_string() }
    }

    /// A table that is not what it should be.
    pub(crate) fn table(table: &str, problem: impl Into<String>) -> Self {
        Self::Table { table: table.to_owned(), problem: problem.into() }
    }
}
