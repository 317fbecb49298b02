//! A journal in memory: for tests, and the shortest example of a store.
//!
//! Clones share one journal, as two connections share one file.

use crate::{
    Error,
    core::{
        DecisionId, Entry, Head, Heard, Journal, Kept, Kind, Named, Outcome, Record, Responses, Rows, Seal, Sent, Sha,
    },
};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A journal in memory.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    entries: Vec<Entry>,
    decisions: BTreeMap<DecisionId, Sent>,
    /// By entry.
    outcomes: BTreeMap<u64, Vec<Outcome>>,
    sums: BTreeMap<u64, Vec<u8>>,
    kept: Option<Kept>,
}

impl Memory {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn named(sent: &Sent) -> Named {
    Named { id: sent.id, customer: sent.customer.clone(), promotion: sent.promotion.clone() }
}

impl Journal for Memory {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn append(&mut self, against: &Head, rows: &[Rows<'_>], seal: Seal<'_>) -> Result<Vec<Entry>, Error> {
        let path = self.path().to_owned();
        let mut held = self.held();
        let head = held.entries.last().map_or_else(Head::none, Entry::head);
        if head != *against {
            return Err(Error::HeadMoved { path, expected: against.seq, found: head.seq });
        }
        let records = seal()?;
        let mut keys: Vec<&String> = held
            .entries
            .iter()
            .chain(records.iter().map(|record| &record.entry))
            .filter_map(|e| e.key.as_ref())
            .collect();
        keys.sort_unstable();
        if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::KeyUsed { path, key: twice[0].clone() });
        }
        for Rows { seq, decisions, outcomes } in rows {
            held.decisions.extend(decisions.iter().map(|sent| (sent.id, sent.clone())));
            held.outcomes.insert(*seq, outcomes.to_vec());
        }
        let mut appended = Vec::new();
        for Record { entry, sums, kept } in records {
            held.sums.extend(sums);
            held.kept = kept.or(held.kept.take());
            held.entries.push(entry.clone());
            appended.push(entry);
        }
        Ok(appended)
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        Ok(self.held().entries.iter().find(|entry| entry.seq == seq).cloned())
    }

    fn entries(&self, seq: u64) -> Result<Vec<Entry>, Error> {
        Ok(self.held().entries.iter().filter(|entry| entry.seq > seq).cloned().collect())
    }

    fn kept(&self) -> Result<Option<Kept>, Error> {
        Ok(self.held().kept.clone())
    }

    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.held().sums.get(&segment).cloned())
    }

    fn decisions(&self, round: u64) -> Result<Vec<Sent>, Error> {
        let (first, end) = (DecisionId { round, number: 0 }, DecisionId { round: round + 1, number: 0 });
        Ok(self.held().decisions.range(first..end).map(|(_, sent)| sent.clone()).collect())
    }

    fn decision(&self, id: DecisionId) -> Result<Option<Named>, Error> {
        Ok(self.held().decisions.get(&id).map(named))
    }

    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        Ok(self.held().decisions.values().filter(|sent| sent.customer == customer).map(named).collect())
    }

    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        Ok(self.held().outcomes.get(&seq).cloned().unwrap_or_default())
    }

    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        let held = self.held();
        let mut heard = Vec::new();
        for entry in &held.entries {
            let outcomes = held.outcomes.get(&entry.seq).into_iter().flatten();
            let own = outcomes.filter(|outcome| outcome.decision.round == round);
            heard.extend(own.map(|&outcome| Heard { seq: entry.seq, kind: entry.kind, outcome }));
        }
        Ok(heard)
    }

    fn has_read(&self, kind: Kind, digest: Sha) -> Result<bool, Error> {
        let read =
            |entry: &Entry| serde_json::from_str::<Responses>(&entry.body).is_ok_and(|body| body.digest == digest);
        Ok(self.held().entries.iter().any(|entry| entry.kind == kind && read(entry)))
    }

    fn count(&self) -> Result<(u64, u64), Error> {
        let held = self.held();
        Ok((held.decisions.len() as u64, held.outcomes.values().map(|outcomes| outcomes.len() as u64).sum()))
    }

    fn problems(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}
