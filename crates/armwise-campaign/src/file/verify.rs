//! Checks everything in a campaign file and says what can be recovered.
//!
//! The log decides. Rows are checked against its digests, the model is summed anew from the rows
//! and compared with the hash that the log names, and only then are indexes and snapshots looked at, which can always
//! be made anew.

use super::{Campaign, EventKind, model_hash};
use crate::Error;
use serde::Serialize;
use std::path::Path;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What is damaged.
    pub damaged: String,
    /// What can be done about it.
    pub recovery: String,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Whether nothing was found.
    pub good: bool,
    /// How many events the log has.
    pub events: u64,
    /// The hash of the log's last event.
    pub head: String,
    /// The hash of the model that the log names.
    pub model: String,
    /// The hash of the model summed anew from the log.
    pub replayed: Option<String>,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Checks a campaign file.
///
/// # Errors
/// [`Error::NotFound`], or [`Error::Storage`] if it cannot be read at all; damage is not an error but a finding.
pub fn verify(path: &Path) -> Result<Verified, Error> {
    let campaign = match Campaign::read(path) {
        Ok(campaign) => campaign,
        Err(Error::Damaged { problem, .. }) => {
            let recovery = "the log cannot be trusted; restore the file from a backup, or read what is left with \
                            `sqlite3 FILE .recover`"
                .to_owned();
            let findings = vec![Finding { damaged: problem, recovery }];
            let (head, model) = (String::new(), String::new());
            return Ok(Verified { good: false, events: 0, head, model, replayed: None, findings });
        }
        Err(error) => return Err(error),
    };
    Ok(campaign.verify())
}

impl Campaign {
    /// Checks rows, model, snapshots and SQLite's own structure.
    #[must_use]
    pub fn verify(&self) -> Verified {
        let mut findings = Vec::new();
        let mut find = |damaged: String, recovery: &str| {
            findings.push(Finding { damaged, recovery: recovery.to_owned() });
        };
        let mut rows_good = true;
        for event in &self.events {
            let checked = match (event.kind, event.round) {
                (EventKind::Choose, Some(round)) => self.sent(round).map(|_| ()),
                (EventKind::Learn | EventKind::Correct | EventKind::Undelivered, _) => {
                    self.outcomes(event.seq).map(|_| ())
                }
                _ => Ok(()),
            };
            if let Err(error) = checked {
                rows_good = false;
                let recovery = match event.kind {
                    EventKind::Choose => {
                        "the other rounds are good; sends.csv of this round and a backup are what is left of this one"
                    }
                    _ => "the other events are good; this one's responses must be learned again, into a backup",
                };
                find(error.to_string(), recovery);
            }
        }
        for (table, sum) in [
            (
                "decision",
                self.events.iter().filter(|event| event.kind == EventKind::Choose).map(|event| event.rows).sum::<u64>(),
            ),
            (
                "outcome",
                self.events
                    .iter()
                    .filter(|event| !matches!(event.kind, EventKind::Choose | EventKind::Init))
                    .map(|event| event.rows)
                    .sum(),
            ),
        ] {
            let found =
                self.db.query_row(&format!("SELECT count(*) FROM {table} NOT INDEXED"), [], |row| row.get::<_, i64>(0));
            match found {
                Ok(found) if found.cast_unsigned() == sum => {}
                Ok(found) => {
                    find(
                        format!("{table} has {found} rows, the log has {sum}"),
                        "the log's own rows are unaffected if nothing else is reported",
                    );
                }
                Err(error) => find(format!("{table}: {error}"), "restore the file from a backup"),
            }
        }
        let expected = self.events.last().map_or(String::new(), |event| event.model.clone());
        let replayed = if rows_good { self.replay(u64::MAX).ok().map(|model| model_hash(&model)) } else { None };
        if rows_good && replayed.as_ref() != Some(&expected) {
            find(
                "the model summed from the log is not the one that the log names".to_owned(),
                "restore the file from a backup",
            );
        }
        let stale = self
            .rounds()
            .into_keys()
            .filter(|&round| self.last_touch(round).is_some_and(|seq| self.snapshot(round, seq).is_none()));
        for round in stale {
            find(format!("the snapshot of round {round} is damaged"), "nothing is lost: it is made anew from the log");
        }
        let integrity = self.db.prepare("PRAGMA integrity_check").and_then(|mut statement| {
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()
        });
        match integrity {
            Ok(lines) if lines == ["ok"] => {}
            Ok(lines) => find(
                format!("SQLite's structure: {}", lines.first().map_or("", String::as_str)),
                if rows_good {
                    "no row is lost: `sqlite3 FILE REINDEX`, or `VACUUM INTO` a new file"
                } else {
                    "restore the file from a backup"
                },
            ),
            Err(error) => find(format!("SQLite's structure: {error}"), "restore the file from a backup"),
        }
        let (good, events) = (findings.is_empty(), self.events.len() as u64);
        Verified { good, events, head: self.head().to_owned(), model: expected, replayed, findings }
    }
}
