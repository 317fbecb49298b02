//! What the writer is told to do: a decision, rewards, or anything else, each with whoever waits for the answer.

use super::{
    Reply,
    answer::{Decided, Rewarded},
    flight::Flight,
    request::RewardsRequest,
    slate::ToChoose,
    writer::Writer,
};
use crate::{
    Error,
    core::{Key, Sha},
    round::Slate,
};
use std::time::{Duration, Instant};

/// A number of a round that others may choose beside is used within this time, or another one is taken: rounds are about in
/// the order of their time.
pub(super) const NUMBER: Duration = Duration::from_secs(3);

/// A decision to be written.
pub(super) struct ToDecide {
    pub(super) make: Make,
    /// The key with the digest of what was asked.
    pub(super) request: Option<(Key, Sha)>,
    pub(super) reply: Reply<Decided>,
}

/// Where the choice is made.
pub(super) enum Make {
    /// It is made.
    Made(Box<Made>),
    /// By the writer, since it depends on who was chosen before, or since there is no number for it yet.
    Later(ToChoose),
}

/// A choice that is made.
pub(super) struct Made {
    pub(super) slate: Slate,
    /// The entry whose model chose it.
    pub(super) model: u64,
    /// The entry whose rules held.
    pub(super) rules: u64,
    /// When its number was taken.
    pub(super) at: Instant,
    /// What was asked for, in case it must be chosen anew.
    pub(super) request: ToChoose,
}

/// What is called once something is on the disk and published.
pub(super) type Then = Box<dyn FnOnce() + Send>;

/// Something that the writer does, or is told why it cannot.
pub(super) type Task = Box<dyn FnOnce(Result<&mut Writer, Error>) -> Then + Send>;

/// What the writer is told to do.
pub(super) enum Work {
    Decide(Box<ToDecide>),
    Rewards(Box<(RewardsRequest, Reply<Rewarded>)>),
    /// Anything else, alone; or why it is not done.
    Alone(Task),
    /// Somebody waits for what was told to be learned.
    Nudge,
}

/// Work with the key that is under way with it, and when it was given.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) flight: Option<Flight>,
    pub(super) given: Instant,
}

impl Work {
    /// Answers why it is not done.
    pub(super) fn refuse(self, error: Error) {
        match self {
            Self::Decide(job) => (job.reply)(Err(error)),
            Self::Rewards(job) => (job.1)(Err(error)),
            Self::Alone(work) => work(Err(error))(),
            Self::Nudge => {}
        }
    }
}

/// The same error once more: several commands may meet one.
pub(super) fn alike(error: &Error) -> Error {
    match error {
        Error::HeadMoved { path, expected, found } => {
            Error::HeadMoved { path: path.clone(), expected: *expected, found: *found }
        }
        Error::Unavailable { path, problem } => Error::Unavailable { path: path.clone(), problem: problem.clone() },
        Error::WentBack { path, seen, found } => Error::WentBack { path: path.clone(), seen: *seen, found: *found },
        Error::NewerSchema { path, version, oldest, known } => {
            Error::NewerSchema { path: path.clone(), version: *version, oldest: *oldest, known: *known }
        }
        Error::KeyUsed { path, key } => Error::KeyUsed { path: path.clone(), key: key.clone() },
        Error::DiskFull { path, .. } => Error::DiskFull { path: path.clone(), cause: None },
        Error::Damaged { path, problem, .. } => {
            Error::Damaged { path: path.clone(), problem: problem.clone(), cause: None }
        }
        Error::Storage { path, problem, .. } => {
            Error::Storage { path: path.clone(), problem: problem.clone(), cause: None }
        }
        other => Error::Usage(other.to_string()),
    }
}
