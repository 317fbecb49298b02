//! The campaign's file: a SQLite database whose event log is the truth.
//!
//! A command appends one event with its rows in one transaction, and every event carries a hash
//! over itself, its rows and the hash before it. What is read is checked against these hashes. The model is not
//! logged: it is a function of which decision has which reward, summed round by round in the order of the decisions,
//! so it does not depend on when or in which order rewards came, and a correction leaves no trace of rounding.

pub(crate) mod clock;
mod event;
mod fail;
mod fate;
mod lock;
mod model;
mod rows;
mod schema;
mod verify;

pub use event::{Event, EventKind};
pub use fate::Fate;
pub use model::model_hash;
pub use rows::{DecisionId, Outcome, Sent};
pub use verify::{Finding, Verified, verify};

pub(crate) use event::hex;
pub(crate) use fail::failpoint;
pub(crate) use rows::Fates;

use crate::{Error, config::Config, recipe::Recipe};
use armwise::Model;
use lock::Lock;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// What `init` froze.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The rules.
    pub config: Config,
    /// The features.
    pub recipe: Recipe,
    /// What was known before the first round, from a learner that was saved elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Model>,
}

/// An open campaign.
#[derive(Debug)]
pub struct Campaign {
    path: PathBuf,
    db: Connection,
    /// Held by writers until they are dropped.
    _lock: Option<Lock>,
    events: Vec<Event>,
    setup: Setup,
}

/// What a campaign knows of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoundInfo {
    /// The round's number.
    pub round: u64,
    /// The seed of its draws.
    pub seed: u64,
    /// How many decisions it has, hold-out ones included.
    pub decisions: u64,
    /// When it was chosen.
    pub at: String,
    /// Whether its response window has ended.
    pub closed: bool,
}

impl Campaign {
    /// Makes a new campaign file.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Storage`] if it cannot be written.
    pub fn create(path: &Path, setup: Setup) -> Result<Self, Error> {
        if path.exists() {
            return Err(Error::Exists { path: path.to_owned() });
        }
        let lock = Lock::take(path, "init")?;
        let body = serde_json::to_string(&setup).map_err(|error| Error::Usage(error.to_string()))?;
        let made = schema::create(path).and_then(|mut db| {
            let model = model_hash(&model::merge(&setup, std::iter::empty())?);
            let transaction = begin(&mut db, path)?;
            let event = event::append(&transaction, None, EventKind::Init, None, &body, event::no_rows(), &model);
            let event = event.map_err(|error| sql(path, error))?;
            failpoint("init-before-commit");
            transaction.commit().map_err(|error| sql(path, error))?;
            Ok((db, event))
        });
        match made {
            Ok((db, event)) => Ok(Self { path: path.to_owned(), db, _lock: Some(lock), events: vec![event], setup }),
            Err(error) => {
                let _ = std::fs::remove_file(path);
                Err(error)
            }
        }
    }

    /// Opens a campaign to look at it; several may at once, also beside a writer.
    ///
    /// # Errors
    /// [`Error::NoCampaign`], [`Error::Damaged`], [`Error::Storage`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::open(path, None)
    }

    /// Opens a campaign to write to it; `command` is who the lock names.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`Error::Locked`].
    pub fn write(path: &Path, command: &str) -> Result<Self, Error> {
        Self::open(path, Some(command))
    }

    fn open(path: &Path, command: Option<&str>) -> Result<Self, Error> {
        let about = std::fs::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoCampaign { path: path.to_owned() },
            _ => Error::io(path, error),
        })?;
        if command.is_some() && about.permissions().readonly() {
            let problem = "the file is read-only".to_owned();
            return Err(Error::Storage { path: path.to_owned(), problem, cause: None });
        }
        let lock = command.map(|command| Lock::take(path, command)).transpose()?;
        let flags =
            if command.is_some() { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
        let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| sql(path, error))?;
        schema::check(&db, path, command.is_some())?;
        let events = event::load(&db, path)?;
        let damaged = |problem: String| Error::Damaged { path: path.to_owned(), problem, cause: None };
        let first = events.first().filter(|event| event.kind == EventKind::Init);
        let first = first.ok_or_else(|| damaged("the log does not begin with init".to_owned()))?;
        let setup = serde_json::from_str(&first.body).map_err(|error| Error::Damaged {
            path: path.to_owned(),
            problem: format!("event 1: {error}"),
            cause: Some(error.into()),
        })?;
        Ok(Self { path: path.to_owned(), db, _lock: lock, events, setup })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `init` froze.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The rules.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.setup.config
    }

    /// The features.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.setup.recipe
    }

    /// The log.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The hash of the log's last event: it stands for the whole history.
    #[must_use]
    pub fn head(&self) -> &str {
        self.events.last().map_or("", |event| &event.hash)
    }

    /// The rounds chosen so far, ascending.
    #[must_use]
    pub fn rounds(&self) -> BTreeMap<u64, RoundInfo> {
        let mut rounds = BTreeMap::new();
        for event in &self.events {
            match (event.kind, event.round) {
                (EventKind::Choose, Some(round)) => {
                    let (at, decisions) = (event.at.clone(), event.rows);
                    rounds.insert(round, RoundInfo { round, seed: event.seed(), decisions, at, closed: false });
                }
                (EventKind::Close, Some(round)) => {
                    rounds.entry(round).and_modify(|info: &mut RoundInfo| info.closed = true);
                }
                _ => {}
            }
        }
        rounds
    }

    /// The round that comes next: after the last one, or after what the campaign began with.
    #[must_use]
    pub fn next_round(&self) -> u64 {
        let begun = self.setup.start.as_ref().map_or(0, Model::t);
        self.rounds().keys().next_back().copied().unwrap_or(begun) + 1
    }

    /// A round that must exist.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn round(&self, round: u64) -> Result<RoundInfo, Error> {
        self.rounds().remove(&round).ok_or_else(|| {
            let has: Vec<String> = self.rounds().keys().map(u64::to_string).collect();
            let hint = if has.is_empty() {
                "; none was chosen yet".to_owned()
            } else {
                format!("; there are {}", has.join(", "))
            };
            Error::NotFound { what: "round", name: round.to_string(), hint }
        })
    }

    pub(crate) fn sql(&self, error: rusqlite::Error) -> Error {
        sql(&self.path, error)
    }

    pub(crate) fn db(&self) -> &Connection {
        &self.db
    }

    /// Appends an event with its rows and the new sums of the rounds it touches, all or nothing. `ready` is asked last:
    /// its error undoes all.
    pub(crate) fn append(&mut self, entry: &Entry<'_>, ready: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let &Entry { kind, round, ref body, sent, outcomes, touched } = entry;
        let closing = (kind == EventKind::Close).then_some(round).flatten();
        let mut models = self.round_models()?;
        for &round in touched {
            let mut fates = self.fates(round)?;
            fates.apply(kind, outcomes);
            let closed = closing == Some(round) || self.round(round)?.closed;
            models.insert(round, self.sum_round(round, &fates, closed)?);
        }
        let model = model_hash(&model::merge(&self.setup, models.values())?);
        let path = self.path.clone();
        let last = self.events.last().cloned();
        let seq = last.as_ref().map_or(0, |last| last.seq) + 1;
        let transaction = begin(&mut self.db, &path)?;
        let done = std::thread::scope(|scope| {
            failpoint("begun");
            // A large round is hashed while it is written.
            let digest = scope.spawn(|| {
                if kind == EventKind::Choose { rows::digest_sent(sent) } else { rows::digest_outcomes(outcomes) }
            });
            rows::insert_sent(&transaction, seq, sent)?;
            rows::insert_outcomes(&transaction, seq, outcomes)?;
            failpoint("rows-written");
            let rows = (sent.len().max(outcomes.len()) as u64, digest.join().expect("hashing does not panic"));
            let event = event::append(&transaction, last.as_ref(), kind, round, body, rows, &model)?;
            failpoint("event-written");
            let stale = touched.iter().filter_map(|round| Some((*round, models.get(round)?)));
            stale.into_iter().try_for_each(|(round, sums)| model::store(&transaction, round, seq, sums))?;
            Ok(event)
        });
        let event = done.map_err(|error: rusqlite::Error| sql(&path, error))?;
        ready()?;
        failpoint("before-commit");
        transaction.commit().map_err(|error| sql(&path, error))?;
        failpoint("committed");
        self.events.push(event);
        Ok(())
    }
}

/// An event to be appended.
pub(crate) struct Entry<'a> {
    pub(crate) kind: EventKind,
    pub(crate) round: Option<u64>,
    pub(crate) body: String,
    pub(crate) sent: &'a [Sent],
    /// What becomes of decisions.
    pub(crate) outcomes: &'a [Outcome],
    /// The rounds whose sums are made anew.
    pub(crate) touched: &'a BTreeSet<u64>,
}

fn begin<'a>(db: &'a mut Connection, path: &Path) -> Result<Transaction<'a>, Error> {
    db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|error| sql(path, error))
}

/// What SQLite's errors mean for a campaign.
pub(crate) fn sql(path: &Path, error: rusqlite::Error) -> Error {
    let owned = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            let problem = "it is not an armwise campaign, or its first bytes are destroyed".to_owned();
            Error::Damaged { path: owned, problem, cause: Some(error.into()) }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Locked { path: owned, holder: "another program that has it open with SQLite".to_owned() }
        }
        Some(code) if code != ErrorCode::DatabaseCorrupt => Error::storage(path, error),
        // Damage; or a value of another type than the schema says, a missing table: not what was written.
        _ => Error::Damaged { path: owned, problem: error.to_string(), cause: Some(error.into()) },
    }
}
