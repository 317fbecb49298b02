//! A journal in memory: for tests, and the shortest example of a store.
//!
//! Clones share one journal, as two connections share one file.

use crate::{
    Error,
    core::{
        Check, DecisionId, EachDecision, EachEntry, Entry, Head, Heard, Journal, Kept, Kind, Named, Original, Outcome,
        Record, Rows, Seal, Sent,
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
    settled: BTreeMap<u64, Vec<u8>>,
    /// By entry.
    arms: BTreeMap<u64, Vec<u8>>,
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
        for Rows { seq, decisions, outcomes, originals, arms } in rows {
            held.arms.extend(arms.map(|arms| (*seq, arms.to_vec())));
            held.originals.extend(originals.iter().map(|original| (original.decision, (*seq, original.clone()))));
            held.decisions.extend(decisions.iter().map(|sent| (sent.id, (*seq, sent.clone()))));
            held.outcomes.insert(*seq, outcomes.to_vec());
        }
        let mut appended = Vec::new();
        for Record { entry, sums, kept, settled } in records {
            held.sums.extend(sums);
            held.settled.extend(settled);
            if let (Kind::Compact, Some(round)) = (entry.kind, entry.round) {
                let given_up = |id: &DecisionId| (1..=round).contains(&id.round);
                held.decisions.retain(|id, _| !given_up(id));
                held.originals.retain(|id, _| !given_up(id));
                held.outcomes.values_mut().for_each(|own| own.retain(|outcome| !given_up(&outcome.decision)));
            }
            held.kept = kept.or(held.kept.take());
            held.entries.push(entry.clone());
            appended.push(entry);
        }
        check(&Self(Arc::new(Mutex::new(held.clone()))))?;
        *now = held;
        Ok(appended)
    }

    fn head(&self) -> Result<Head, Error> {
        Ok(self.held().entries.last().map_or_else(Head::none, Entry::head))
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        Ok(self.held().entries.iter().find(|entry| entry.seq == seq).cloned())
    }

    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        Ok(self.held().entries.iter().find(|entry| entry.key.as_deref() == Some(key)).cloned())
    }

    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error> {
        let later: Vec<Entry> = self.held().entries.iter().filter(|entry| entry.seq > seq).cloned().collect();
        later.into_iter().try_for_each(take)
    }

    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error> {
        Ok(self.held().entries.iter().filter(|entry| entry.kind == kind).cloned().collect())
    }

    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error> {
        let held = self.held();
        Ok(held.entries.iter().rev().find(|entry| entry.kind == kind && entry.seq <= until).cloned())
    }

    fn kept(&self) -> Result<Option<Kept>, Error> {
        Ok(self.held().kept.clone())
    }

    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.held().sums.get(&segment).cloned())
    }

    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.held().settled.get(&segment).cloned())
    }

    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.held().arms.get(&seq).cloned())
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

    fn count_through(&self, round: u64) -> Result<(u64, u64, u64), Error> {
        let held = self.held();
        let own = |id: &&DecisionId| (1..=round).contains(&id.round);
        let outcomes = held.outcomes.values().flatten().filter(|outcome| own(&&outcome.decision));
        let (decisions, originals) = (held.decisions.keys().filter(own), held.originals.keys().filter(own));
        Ok((decisions.count() as u64, outcomes.count() as u64, originals.count() as u64))
    }

    fn problems(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}
