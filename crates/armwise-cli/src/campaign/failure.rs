//! What a command says when it fails: the text, a hint in the words of the terminal, and the exit code.
//!
//! The library's messages name no flags and no commands; what helps here is added in [`hint`]. Exit codes: 1 failure, 2
//! usage or bad input, 4 not found, 5 conflict, 6 storage, 75 locked. Cron jobs rely on them.

use std::{fmt::Write, io, path::Path};

use armwise_campaign::{
    Error,
    core::{Frozen, Refusal},
};

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) text: String,
    pub(super) code: u8,
}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const NOT_FOUND: u8 = 4;
const CONFLICT: u8 = 5;
/// A file cannot be read or written, or is damaged.
pub(super) const STORAGE: u8 = 6;
/// As `EX_TEMPFAIL` of sysexits: try again later.
const LOCKED: u8 = 75;

impl Failure {
    /// A request that makes no sense.
    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: USAGE }
    }

    /// A request that contradicts what is there.
    pub(super) fn conflict(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: CONFLICT }
    }

    /// Something that was named does not exist.
    pub(super) fn not_found(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: NOT_FOUND }
    }

    /// A file that the command itself, not the library, could not read or write.
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
            return Self::not_found(format!("the folder {} does not exist", folder.display()));
        }
        if error.kind() == io::ErrorKind::NotFound {
            return Self::not_found(format!("the file {} does not exist", path.display()));
        }
        Self { text: format!("{}: {error}", path.display()), code: STORAGE }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut text = error.to_string();
        if let Some(hint) = hint(&error) {
            let _ = write!(text, "; {hint}");
        }
        Self { text, code: exit_code(&error) }
    }
}

fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Cell { .. }
        | Error::Table { .. }
        | Error::DuplicateCustomer { .. }
        | Error::NoRewards { .. }
        | Error::WhichRound { .. }
        | Error::UnknownFormat { .. }
        | Error::Config { .. }
        | Error::Usage(_)
        | Error::NeedsTables { .. }
        | Error::OtherTable { .. }
        | Error::Output { .. }
        | Error::Refused(
            Refusal::BadRound(_)
            | Refusal::BadKey(_)
            | Refusal::BadWorth(_)
            | Refusal::BadSegment(_)
            | Refusal::TooManyDecisions(_),
        ) => USAGE,
        Error::NotFound { .. } | Error::NoCampaign { .. } | Error::NeverChosen { .. } => NOT_FOUND,
        Error::NothingToEvaluate { .. }
        | Error::NoAnswers
        | Error::Exists { .. }
        | Error::Refused(_)
        | Error::HeadMoved { .. }
        | Error::KeyUsed { .. } => CONFLICT,
        Error::Storage { .. }
        | Error::WentBack { .. }
        | Error::NewerSchema { .. }
        | Error::DiskFull { .. }
        | Error::Damaged { .. }
        | Error::OldSchema { .. }
        | Error::Linked { .. }
        | Error::NotWrittenOut { .. } => STORAGE,
        Error::Locked { .. } | Error::Unavailable { .. } => LOCKED,
        _ => FAILED,
    }
}

/// What to do about an error, in flags and commands.
fn hint(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::NoCampaign { .. } => "`armwise init` makes one",
        Error::NeverChosen { .. } => "give it with --table",
        Error::NeedsTables { .. } => "give the folder that has them with --tables",
        Error::NoAnswers => "`armwise learn --logged` takes them",
        Error::NoRewards { .. } => {
            "say what each is worth with --only-responders, or name the column with --reward-column"
        }
        Error::WhichRound { .. } => "say it with --round",
        Error::UnknownFormat { .. } => "a table that is read may be given --format parquet, csv, tsv, xlsx or arrow",
        Error::OldSchema { .. } => "`armwise migrate OLD NEW` does",
        Error::Refused(Refusal::RoundExists { .. }) => "`armwise export` writes its sends again",
        Error::Refused(Refusal::NothingHeard(_)) => {
            "`armwise learn`, `close` and `revoke` do the first three, and --again the last"
        }
        Error::Refused(Refusal::Frozen(Frozen::Features | Frozen::Gamma)) => "`armwise refit` does",
        Error::Refused(Refusal::Frozen(Frozen::Seed)) => "`armwise choose` takes --seed",
        Error::NotWrittenOut { .. } => "`armwise export` writes the sends of a round",
        Error::Damaged { .. } => "`armwise verify` says what can be recovered",
        _ => return None,
    })
}
