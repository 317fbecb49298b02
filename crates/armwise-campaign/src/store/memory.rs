//! A journal in memory: for tests, and the shortest example of a store.
//!
//! Clones share one journal, as two connections share one file.

use crate::{
    Error,
    core::{
        Check, DecisionId, EachDecision, Entry, Head, Heard, Journal, Kept, Named, Original, Outcome, Record, Rows,
        Seal, Sent,
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

#[derive(Debug, Clone, Default)]
struct Held {
    entries: Vec<Entry>,
    /// With the entry that each belongs to.
    decisions: BTreeMap<DecisionId, (u64, Sent)>,
    /// By entry.
    outcomes: BTreeMap<u64, Vec<Outcome>>,
    /// With the entry that each belongs to.
    originals: BTreeMap<DecisionId, (u64, Original)>,
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

    fn append(
        &mut self,
        against: &Head,
        rows: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        let path = self.path().to_owned();
        let mut now = self.held();
        let head = now.entries.last().map_or_else(Head::none, Entry::head);
        if head != *against {
            return Err(Error::HeadMoved { path, expected: against.seq, found: head.seq });
        }
        // A copy takes the place of the journal once everything about it is good.
        let mut held = now.clone();
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
        for Rows { seq, decisions, outcomes, originals } in rows {
            held.originals.extend(originals.iter().map(|original| (original.decision, (*seq, original.clone()))));
            held.decisions.extend(decisions.iter().map(|sent| (sent.id, (*seq, sent.clone()))));
            held.outcomes.insert(*seq, outcomes.to_vec());
        }
        let mut appended = Vec::new();
        for Record { entry, sums, kept } in records {
            held.sums.extend(sums);
            held.kept = kept.or(held.kept.take());
            held.entries.push(entry.clone());
            appended.push(entry);
        }
        check(&Self(Arc::new(Mutex::new(held.clone()))))?;
        *now = held;
        Ok(appended)
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        Ok(self.held().entries.iter().find(|entry| entry.seq == seq).cloned())
    }

    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        Ok(self.held().entries.iter().find(|entry| entry.key.as_deref() == Some(key)).cloned())
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

    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error> {
        let (first, end) = (DecisionId { round, number: 0 }, DecisionId { round: round + 1, number: 0 });
        let own: Vec<(u64, Sent)> = self.held().decisions.range(first..end).map(|(_, own)| own.clone()).collect();
        own.into_iter().try_for_each(|(seq, sent)| take(seq, sent))
    }

    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        Ok(self
            .held()
            .decisions
            .values()
            .map(|(_, sent)| sent)
            .filter(|sent| sent.customer == customer)
            .map(named)
            .collect())
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

    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error> {
        let (first, end) = (DecisionId { round, number: 0 }, DecisionId { round: round + 1, number: 0 });
        Ok(self.held().originals.range(first..end).map(|(_, own)| own.clone()).collect())
    }

    fn count_originals(&self) -> Result<u64, Error> {
        Ok(self.held().originals.len() as u64)
    }

    fn count(&self) -> Result<(u64, u64), Error> {
        let held = self.held();
        Ok((held.decisions.len() as u64, held.outcomes.values().map(|outcomes| outcomes.len() as u64).sum()))
    }

    fn problems(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}
