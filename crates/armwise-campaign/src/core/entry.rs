//! The entries of the journal and the chain of hashes that holds them together.
//!
//! `body` and `changes` are stored and hashed as text, so any program that has SHA-256 can check a journal without
//! parsing them.

use super::{Command, Counts, Kind, Sha};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The last entry of a journal; its hash covers the whole history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Head {
    /// The entry; 0 before the first.
    pub seq: u64,
    /// Its hash.
    pub hash: Sha,
}

impl Head {
    /// Before the first entry.
    #[must_use]
    pub fn none() -> Self {
        Self { seq: 0, hash: Sha::of("") }
    }
}

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// 1, 2, 3, ...
    pub seq: u64,
    /// When, UTC.
    pub at: String,
    /// What.
    pub kind: Kind,
    /// The round that was chosen, closed or revoked.
    pub round: Option<u64>,
    /// The caller's own name for it; no two entries have the same.
    pub key: Option<String>,
    /// The command's payload, JSON.
    #[serde(skip)]
    pub body: String,
    /// What it changed, as JSON: see [`Changes`].
    #[serde(skip)]
    pub changes: String,
    /// How many decisions or outcomes belong to it.
    pub rows: u64,
    /// SHA-256 over them.
    pub digest: Sha,
    /// SHA-256 of the model after it.
    pub model: Sha,
    /// SHA-256 over the hash before and everything above.
    pub hash: Sha,
}

/// What an entry changed, apart from its own rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Changes {
    /// The rounds, as they are after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundChange>,
    /// The segments whose sums are new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<SumsChange>,
}

/// A round after an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundChange {
    /// The round.
    pub round: u64,
    /// What became of its decisions, in numbers.
    pub counts: Counts,
    /// The hash of all its outcomes.
    pub heard: Sha,
}

/// The sums of a segment after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SumsChange {
    /// The segment.
    pub segment: u64,
    /// SHA-256 of its sums as bytes.
    pub hash: Sha,
}

impl Entry {
    /// The command.
    ///
    /// # Errors
    /// If the body does not belong to its kind.
    pub fn command(&self) -> serde_json::Result<Command> {
        Command::parse(self.kind, &self.body)
    }

    /// Where the journal stands after it.
    #[must_use]
    pub fn head(&self) -> Head {
        Head { seq: self.seq, hash: self.hash }
    }

    /// The hash that it must have after the entry with the hash `before`.
    #[must_use]
    pub fn chained(&self, before: &Head) -> Sha {
        let mut hash = Sha256::new();
        let before = if before.seq == 0 { String::new() } else { before.hash.to_string() };
        let round = self.round.map_or(String::new(), |round| round.to_string());
        let key = self.key.as_deref().unwrap_or("");
        let (seq, rows) = (self.seq.to_string(), self.rows.to_string());
        let (digest, model) = (self.digest.to_string(), self.model.to_string());
        let (kind, at, body, changes) = (self.kind.name(), &*self.at, &*self.body, &*self.changes);
        for part in [&*before, &seq, at, kind, &round, key, body, changes, &rows, &digest, &model] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Sha::finish(hash)
    }

    /// Whether it comes after `before`; if not, what is wrong.
    pub(super) fn follows(&self, before: &Head) -> Result<(), String> {
        if self.seq != before.seq + 1 {
            return Err(format!("entry {} is missing from the journal", before.seq + 1));
        }
        if self.chained(before) != self.hash {
            return Err(format!("entry {} ({}) does not have its hash", self.seq, self.kind.name()));
        }
        Ok(())
    }
}
