//! The events of the log and the chain of hashes that holds them together.
//!
//! `body` is stored and hashed as the text it is, so a log can be checked without understanding
//! it, by any program that has SHA-256.

use super::{clock, sql};
use crate::Error;
use rusqlite::{Connection, Row, Transaction, params};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::Path;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The campaign begins.
    Init,
    /// A round was chosen.
    Choose,
    /// Rewards came.
    Learn,
    /// Rewards were changed.
    Correct,
    /// Sends did not arrive.
    Undelivered,
    /// A round's response window ended.
    Close,
}

impl EventKind {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Init, "init"),
        (Self::Choose, "choose"),
        (Self::Learn, "learn"),
        (Self::Correct, "correct"),
        (Self::Undelivered, "undelivered"),
        (Self::Close, "close"),
    ];

    /// Its name in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// 1, 2, 3, ...
    pub seq: u64,
    /// When, UTC.
    pub at: String,
    /// What.
    pub kind: EventKind,
    /// The round that was chosen or closed.
    pub round: Option<u64>,
    /// JSON.
    #[serde(skip)]
    pub body: String,
    /// How many decisions or outcomes belong to it.
    pub rows: u64,
    /// SHA-256 over them.
    pub digest: String,
    /// SHA-256 of the model after it.
    pub model: String,
    /// SHA-256 over the hash before and everything above.
    pub hash: String,
}

impl Event {
    /// The seed of a chosen round.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.value("seed").as_u64().unwrap_or(0)
    }

    /// The rounds whose sums it changes.
    #[must_use]
    pub fn touched(&self) -> Vec<u64> {
        match self.kind {
            EventKind::Close => self.round.into_iter().collect(),
            EventKind::Init | EventKind::Choose => Vec::new(),
            _ => self.value("rounds").as_array().into_iter().flatten().filter_map(Value::as_u64).collect(),
        }
    }

    /// A value of the body.
    #[must_use]
    pub fn value(&self, name: &str) -> Value {
        serde_json::from_str::<Value>(&self.body)
            .ok()
            .and_then(|mut body| Some(body.get_mut(name)?.take()))
            .unwrap_or_default()
    }

    fn chained(&self, before: &str) -> String {
        let mut hash = Sha256::new();
        let round = self.round.map_or(String::new(), |round| round.to_string());
        let (seq, rows) = (self.seq.to_string(), self.rows.to_string());
        let kind = self.kind.name();
        for part in [before, &seq, &self.at, kind, &round, &self.body, &rows, &self.digest, &self.model] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex(hash)
    }
}

/// A finished hash as text.
pub(crate) fn hex(hash: Sha256) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The count and digest of an event without rows.
pub(super) fn no_rows() -> (u64, String) {
    (0, hex(Sha256::new()))
}

/// Appends an event.
pub(super) fn append(
    transaction: &Transaction<'_>,
    last: Option<&Event>,
    kind: EventKind,
    round: Option<u64>,
    body: &str,
    (rows, digest): (u64, String),
    model: &str,
) -> rusqlite::Result<Event> {
    let seq = last.map_or(0, |last| last.seq) + 1;
    let (at, body, model) = (clock::now(), body.to_owned(), model.to_owned());
    let mut event = Event { seq, at, kind, round, body, rows, digest, model, hash: String::new() };
    event.hash = event.chained(last.map_or("", |last| &last.hash));
    transaction.execute(
        "INSERT INTO event (seq, at, kind, round, body, rows, digest, model, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            event.seq.cast_signed(),
            event.at,
            kind.name(),
            round.map(u64::cast_signed),
            event.body,
            rows.cast_signed(),
            event.digest,
            event.model,
            event.hash
        ],
    )?;
    Ok(event)
}

/// Reads the log and checks its chain.
pub(super) fn load(db: &Connection, path: &Path) -> Result<Vec<Event>, Error> {
    let damaged = |problem: String| Error::Damaged { path: path.to_owned(), problem, cause: None };
    let read = |row: &Row<'_>| -> rusqlite::Result<(Option<EventKind>, Event)> {
        let name: String = row.get("kind")?;
        let kind = EventKind::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind);
        let whole = |name: &str| row.get::<_, i64>(name).map(i64::cast_unsigned);
        let event = Event {
            seq: whole("seq")?,
            at: row.get("at")?,
            kind: kind.unwrap_or(EventKind::Init),
            round: row.get::<_, Option<i64>>("round")?.map(i64::cast_unsigned),
            body: row.get("body")?,
            rows: whole("rows")?,
            digest: row.get("digest")?,
            model: row.get("model")?,
            hash: row.get("hash")?,
        };
        Ok((kind, event))
    };
    let mut statement = db.prepare("SELECT * FROM event ORDER BY seq").map_err(|error| sql(path, error))?;
    let rows = statement.query_map([], read).map_err(|error| sql(path, error))?;
    let mut events: Vec<Event> = Vec::new();
    for row in rows {
        let (kind, event) = row.map_err(|error| sql(path, error))?;
        let (expected, before) = events.last().map_or((1, ""), |last: &Event| (last.seq + 1, last.hash.as_str()));
        if event.seq != expected {
            return Err(damaged(format!("event {expected} is missing from the log")));
        }
        if kind.is_none() || event.chained(before) != event.hash {
            return Err(damaged(format!("event {expected} ({}) does not have its hash", event.kind.name())));
        }
        events.push(event);
    }
    Ok(events)
}
