//! Campaign files of schema version 2, read only to be migrated: their chain, their rows and their model, by their
//! rules.
//!
//! This format is frozen. The digests of rows are still those of today; the chain and the hash of the model are not.

use super::{rows, schema, sql};
use crate::{
    Error,
    core::{Kind, Outcome, Sent, Sha, digest_outcomes, digest_sent},
};
use armwise::Model;
use rusqlite::{Connection, Row};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The version of the schema.
pub(super) const VERSION: i32 = 2;

/// An event of the log, as it was called then.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) seq: u64,
    pub(super) at: String,
    pub(super) kind: Kind,
    pub(super) round: Option<u64>,
    pub(super) body: String,
    rows: u64,
    digest: Sha,
    pub(super) model: Sha,
    pub(super) hash: Sha,
}

/// A campaign file of schema version 2 whose chain is good.
#[derive(Debug)]
pub(super) struct Old {
    path: PathBuf,
    db: Connection,
    pub(super) events: Vec<Event>,
}

impl Old {
    /// Reads the log, and checks its chain and that every row belongs to one of its events.
    pub(super) fn new(db: Connection, path: &Path) -> Result<Self, Error> {
        let version = schema::version(&db, path)?;
        if version != VERSION {
            let problem = format!("its schema has version {version}; only version {VERSION} is migrated");
            return Err(Error::Storage { path: path.to_owned(), problem, cause: None });
        }
        let events = all(&db, path, "SELECT * FROM event ORDER BY seq", [], read_event)?;
        let old = Self { path: path.to_owned(), db, events };
        let mut before = String::new();
        for (expected, event) in (1..).zip(&old.events) {
            if event.seq != expected {
                return Err(old.damaged(format!("event {expected} is missing from the log")));
            }
            if event.chained(&before) != event.hash {
                return Err(old.damaged(format!("event {expected} ({}) does not have its hash", event.kind.name())));
            }
            before = event.hash.to_string();
        }
        let rows = |choose: bool| {
            let own = old.events.iter().filter(|event| (event.kind == Kind::Choose) == choose);
            own.map(|event| event.rows).sum::<u64>()
        };
        for (table, expected) in [("decision", rows(true)), ("outcome", rows(false))] {
            let count = format!("SELECT count(*) FROM {table} NOT INDEXED");
            let found = old.db.query_row(&count, [], |row| row.get::<_, i64>(0)).map_err(|error| sql(path, error))?;
            if found.cast_unsigned() != expected {
                return Err(old.damaged(format!("{table} has {found} rows, the log has {expected}")));
            }
        }
        Ok(old)
    }

    pub(super) fn damaged(&self, problem: String) -> Error {
        Error::Damaged { path: self.path.clone(), problem, cause: None }
    }

    /// The decisions of an event, checked.
    pub(super) fn decisions(&self, event: &Event) -> Result<Vec<Sent>, Error> {
        let sent = match (event.kind, event.round) {
            (Kind::Choose, Some(_)) => {
                let own = "SELECT id, seq, customer, promotion, control, segment, mean, width, draw, score, rank, greedy, \
                           features, NULL, NULL, NULL FROM decision WHERE seq = ? ORDER BY id";
                let found = all(&self.db, &self.path, own, [event.seq.cast_signed()], rows::read_decision)?;
                found.into_iter().map(|(_, sent)| sent).collect::<Vec<_>>()
            }
            _ => return Ok(Vec::new()),
        };
        self.check(event, sent.len(), digest_sent(&sent))?;
        Ok(sent)
    }

    /// The outcomes of an event, checked.
    pub(super) fn outcomes(&self, event: &Event) -> Result<Vec<Outcome>, Error> {
        if event.kind == Kind::Choose {
            return Ok(Vec::new());
        }
        let own = "SELECT decision, reward, NULL FROM outcome WHERE seq = ? ORDER BY number";
        let outcomes = all(&self.db, &self.path, own, [event.seq.cast_signed()], rows::read_outcome)?;
        self.check(event, outcomes.len(), digest_outcomes(&outcomes))?;
        Ok(outcomes)
    }

    fn check(&self, event: &Event, rows: usize, digest: Sha) -> Result<(), Error> {
        if (event.rows, event.digest) == (rows as u64, digest) {
            return Ok(());
        }
        Err(self.damaged(format!("the {rows} rows of event {} do not have their digest", event.seq)))
    }
}

fn all<T>(
    db: &Connection,
    path: &Path,
    query: &str,
    parameters: impl rusqlite::Params,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, Error> {
    let rows = db.prepare_cached(query).and_then(|mut statement| statement.query_map(parameters, read)?.collect());
    rows.map_err(|error| sql(path, error))
}

fn read_event(row: &Row<'_>) -> rusqlite::Result<Event> {
    let whole = |name: &str| row.get::<_, i64>(name).map(i64::cast_unsigned);
    Ok(Event {
        seq: whole("seq")?,
        at: row.get("at")?,
        kind: rows::kind(row)?,
        round: row.get::<_, Option<i64>>("round")?.map(i64::cast_unsigned),
        body: row.get("body")?,
        rows: whole("rows")?,
        digest: rows::hash(row, "digest")?,
        model: rows::hash(row, "model")?,
        hash: rows::hash(row, "hash")?,
    })
}

impl Event {
    fn chained(&self, before: &str) -> Sha {
        let mut hash = Sha256::new();
        let round = self.round.map_or(String::new(), |round| round.to_string());
        let (seq, rows) = (self.seq.to_string(), self.rows.to_string());
        let (digest, model) = (self.digest.to_string(), self.model.to_string());
        for part in [before, &seq, &self.at, self.kind.name(), &round, &self.body, &rows, &digest, &model] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Sha::finish(hash)
    }
}

/// The sums as they were written then.
#[derive(Serialize)]
struct OldModel<'a> {
    dim: usize,
    gamma: f64,
    t: u64,
    blocks: Vec<OldBlock<'a>>,
}

#[derive(Serialize)]
struct OldBlock<'a> {
    count: u64,
    b: &'a [f64],
    g: &'a [f64],
}

/// The hash of a model then: SHA-256 of its sums as compact JSON, which has every bit of every number.
pub(super) fn model_hash(model: &Model) -> serde_json::Result<Sha> {
    let block = |block| {
        let block: &armwise::Block = block;
        OldBlock { count: block.count(), b: block.b(), g: block.g() }
    };
    let blocks = model.blocks().iter().map(block).collect();
    let json = serde_json::to_vec(&OldModel {
        dim: model.dim(),
        gamma: if let armwise::Gamma::Value(gamma) = model.gamma() { gamma } else { 1.0 },
        t: model.t(),
        blocks,
    })?;
    Ok(Sha::of(json))
}
