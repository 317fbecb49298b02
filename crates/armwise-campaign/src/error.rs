//! Everything that can go wrong with a campaign, as one enum.
//!
//! An error is raised before anything is committed, so after one the file is what it was. The text of an error includes
//! the text of its cause, so a door prints the error alone; `source()` is for programs that ask what lies behind it.
//! No text here names a flag or a command: each door adds its own.

use crate::core::Refusal;
use std::path::{Path, PathBuf};

/// The error of another library that caused one of ours.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

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
        /// What there is instead, with leading punctuation; may be empty.
        hint: String,
    },
    /// There is no campaign at this path.
    #[error("the campaign {} does not exist", path.display())]
    NoCampaign {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A customer was never chosen, so its features can only come from a table.
    #[error("customer {customer:?} was not chosen in any round; the table of a round is needed to look it up")]
    NeverChosen {
        /// The customer.
        customer: String,
    },
    /// Another policy can be evaluated only with the tables that the rounds were chosen from.
    #[error(
        "{} needed: only {} the features of those who were not chosen",
        tables_of(rounds), if rounds.len() == 1 { "it has" } else { "they have" }
    )]
    NeedsTables {
        /// The rounds whose tables are missing.
        rounds: Vec<u64>,
    },
    /// A table is not the one that a round was chosen from.
    #[error(
        "{table}: round {round} was not chosen from this table: it has other customers, or choosing again gives other sends"
    )]
    OtherTable {
        /// The table.
        table: String,
        /// The round.
        round: u64,
    },
    /// No round tells anything about another policy yet.
    #[error("no round can be evaluated: {why}")]
    NothingToEvaluate {
        /// Why not.
        why: String,
    },
    /// Nothing was answered, so no world can be fitted to answers.
    #[error(
        "nothing was answered yet, so nothing is known about what promotions bring; answers of past sends would do"
    )]
    NoAnswers,
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
        /// What the reader of the format said, if it was the reader.
        #[source]
        cause: Option<Cause>,
    },
    /// A customer appears twice in a table.
    #[error("{table}: customer {customer:?} appears in rows {first} and {second}; each customer may have one row only")]
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
    /// A table of responses has no rewards, and nobody said what a response is worth.
    #[error("{table}: a column \"reward\" is needed, unless the table lists responders that are all worth the same")]
    NoRewards {
        /// The table.
        table: String,
    },
    /// A table names neither decisions nor rounds, and it can be about several rounds or about none.
    #[error("{table}: it names neither decisions nor rounds, so its round must be said; {}", possible(rounds))]
    WhichRound {
        /// The table.
        table: String,
        /// The rounds that it can be about.
        rounds: Vec<u64>,
    },
    /// The name of a file does not tell the format of its table.
    #[error("{}: the extension is not that of a Parquet, CSV, xlsx or Arrow file", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The configuration does not make sense.
    #[error("{place}: {problem}")]
    Config {
        /// The file, with line and column where known.
        place: String,
        /// What is wrong.
        problem: String,
        /// What the parser said, if it was the parser.
        #[source]
        cause: Option<Cause>,
    },
    /// A request that makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A new campaign would overwrite a file.
    #[error("{} exists already; choose another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written there.
    #[error("{} cannot be written to: it is {is}; choose another name", path.display())]
    Output {
        /// The path.
        path: PathBuf,
        /// What it is instead of a file that may be written.
        is: &'static str,
    },
    /// The command is done and on the disk, but the file that tells of it could not be written.
    #[error("{done}, but not written out: {error}")]
    NotWrittenOut {
        /// What was done.
        done: String,
        /// Why the file could not be written.
        #[source]
        error: Box<Error>,
    },
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
    /// An entry of the journal has the same key already, for another request.
    #[error("{}: the key {key:?} was used for another request; give a new request a new key", path.display())]
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
    /// The file has several names, and a writer under each would not see the others.
    #[error("{}: the file has {links} names (hard links); remove all but one, since writers under different names would lose each other's rows", path.display())]
    Linked {
        /// The campaign.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// The file cannot be read or written.
    #[error("{}: {problem}", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// What the system said.
        problem: String,
        /// The system's or the format's own error, if there is one.
        #[source]
        cause: Option<Cause>,
    },
    /// The campaign file is damaged.
    #[error("{}: damaged: {problem}", path.display())]
    Damaged {
        /// The campaign.
        path: PathBuf,
        /// What does not fit.
        problem: String,
        /// What SQLite or the JSON parser said, if it was one of them.
        #[source]
        cause: Option<Cause>,
    },
    /// There is no room left for what would be written; what was acknowledged is there, and writing goes on once there is.
    #[error("{}: no space is left where it is kept; make room and try again", path.display())]
    DiskFull {
        /// The campaign.
        path: PathBuf,
        /// What the store said.
        #[source]
        cause: Option<Cause>,
    },
    /// The database where the campaign is kept cannot be reached, or it is not known whether it has taken what was sent.
    #[error("{}: {problem}; try again a little later", path.display())]
    Unavailable {
        /// The campaign.
        path: PathBuf,
        /// What is known of it.
        problem: String,
    },
    /// The journal is not the one that was seen before: it lacks entries that were there, as after an older backup was
    /// restored.
    #[error("{}: entry {seen} was there before, and is not any more (the last one is {found}): an older copy was restored, or another one took its place; nothing is written to it", path.display())]
    WentBack {
        /// The campaign.
        path: PathBuf,
        /// The last entry that was seen.
        seen: u64,
        /// The last entry that is there.
        found: u64,
    },
    /// The tables of the database need a newer program.
    #[error("{}: its tables have version {version}, which needs a program that knows version {oldest}; this one knows {known}", path.display())]
    NewerSchema {
        /// The campaign.
        path: PathBuf,
        /// The version of the tables.
        version: i32,
        /// The oldest version that a program must know.
        oldest: i32,
        /// The version that this program knows.
        known: i32,
    },
    /// So many commands wait to be written that no more are taken.
    #[error("{waiting} commands wait already; try again a little later")]
    QueueFull {
        /// How many may wait.
        waiting: usize,
    },
    /// A request with the same key is being answered at this moment.
    #[error("a request with the key {key:?} is being answered; try again a little later")]
    InFlight {
        /// The key.
        key: String,
    },
    /// The campaign is not served any more.
    #[error("{}: it takes no more commands, since it is being stopped", path.display())]
    Stopped {
        /// The campaign.
        path: PathBuf,
    },
    /// An entry was to be seen that has not been reached in time.
    #[error("entry {seq} is not there yet; the last one that counts is {now}")]
    NotYet {
        /// The entry.
        seq: u64,
        /// The last entry whose rewards the model knows.
        now: u64,
    },
    /// A request offers more arms than are taken at once.
    #[error(
        "{found} arms are offered, and {most} is the most in one request; offer fewer, or keep them in the catalogue"
    )]
    TooManyArms {
        /// How many there are.
        found: usize,
        /// The most that are taken.
        most: usize,
    },
    /// The library refused.
    #[error(transparent)]
    Library(#[from] armwise::Error),
}

/// The tables of some rounds, in words.
fn tables_of(rounds: &[u64]) -> String {
    let all: Vec<String> = rounds.iter().map(u64::to_string).collect();
    match &all[..] {
        [one] => format!("the table of round {one} is"),
        all => format!("the tables of rounds {} are", all.join(", ")),
    }
}

/// The rounds that a table can be about, in words.
fn possible(rounds: &[u64]) -> String {
    let names: Vec<String> = rounds.iter().map(u64::to_string).collect();
    if names.is_empty() { "no round is open".to_owned() } else { format!("it can be {}", names.join(", ")) }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Error {
    /// An input or output error of a file.
    pub(crate) fn io(path: &Path, error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::NotFound {
            return Self::NotFound { what: "the file", name: path.display().to_string(), hint: String::new() };
        }
        Self::storage(path, error)
    }

    /// A file that cannot be read or written, for what another library said.
    pub(crate) fn storage(path: &Path, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        Self::Storage { path: path.to_owned(), problem: cause.to_string(), cause: Some(cause) }
    }

    /// A table that is not what it should be.
    #[must_use]
    pub fn table(table: &str, problem: impl Into<String>) -> Self {
        Self::Table { table: table.to_owned(), problem: problem.into(), cause: None }
    }

    /// A table that another library could not read; `place` comes before what it said.
    pub(crate) fn unreadable(table: &str, place: &str, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        Self::Table { table: table.to_owned(), problem: format!("{place}{cause}"), cause: Some(cause) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{error::Error as _, io};

    #[test]
    fn the_cause_can_be_asked_for() {
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        for error in [Error::io(Path::new("x"), refused()), Error::unreadable("x", "row 1: ", refused())] {
            let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
            assert_eq!(cause.map(io::Error::kind), Some(io::ErrorKind::PermissionDenied), "{error}");
            assert!(error.to_string().contains(&refused().to_string()), "{error}");
        }
        assert!(Error::table("x", "no rows").source().is_none());
    }
}
