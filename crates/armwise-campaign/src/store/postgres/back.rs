//! What an append wrote, as the database shows it before the commit: read in one go, since it is asked for entry by entry.

use super::{Postgres, link::Value, rows};
use crate::{
    Error,
    core::{
        Check, EachDecision, EachEntry, Entry, Head, Heard, Journal, Kept, Kind, Named, News, Original, Outcome, Rows,
        Seal, Sent,
    },
};
use std::{collections::BTreeMap, path::Path};
use tokio_postgres::types::Type;

/// A journal that has what was just written at hand; everything else it asks the database for.
#[derive(Debug)]
pub(super) struct ReadBack<'a> {
    journal: &'a Postgres,
    entries: BTreeMap<u64, Entry>,
    outcomes: BTreeMap<u64, Vec<Outcome>>,
    /// By round; only of rounds that were read along.
    decisions: BTreeMap<u64, Vec<(u64, Sent)>>,
    originals: BTreeMap<u64, Vec<(u64, Original)>>,
    /// Whether the outcomes of all entries are at hand.
    whole: bool,
}

impl<'a> ReadBack<'a> {
    pub(super) fn of(journal: &'a Postgres, news: News, written: &[Rows<'_>]) -> Result<Self, Error> {
        let whole = !news.outcomes.is_empty() || written.iter().all(|own| own.outcomes.is_empty());
        let mut decisions: BTreeMap<u64, Vec<(u64, Sent)>> = BTreeMap::new();
        for (seq, own) in news.decisions {
            for sent in own {
                decisions.entry(sent.id.round).or_default().push((seq, sent));
            }
        }
        let mut originals: BTreeMap<u64, Vec<(u64, Original)>> = BTreeMap::new();
        let small = written.iter().map(|own| own.originals.len()).sum::<usize>();
        if let Some(first) = written.iter().map(|own| own.seq).min().filter(|_| (1..20_000).contains(&small)) {
            let sql = "SELECT decision, seq, columns, probability FROM armwise.original \
                       WHERE campaign = $1 AND seq >= $2 ORDER BY decision";
            let values: [Value<'_>; 2] = [(&journal.number(), Type::INT4), (&first.cast_signed(), Type::INT8)];
            for (seq, own) in journal.collect(sql, &values, rows::read_original)? {
                originals.entry(own.decision.round).or_default().push((seq, own));
            }
        }
        let entries = news.entries.into_iter().map(|entry| (entry.seq, entry)).collect();
        Ok(Self { journal, entries, outcomes: news.outcomes, decisions, originals, whole })
    }
}

impl Journal for ReadBack<'_> {
    fn path(&self) -> &Path {
        self.journal.path()
    }
    fn append(&mut self, against: &Head, _: &[Rows<'_>], _: Seal<'_>, _: Check<'_>) -> Result<Vec<Entry>, Error> {
        // It is given to a check, which cannot write.
        Err(Error::HeadMoved { path: self.path().to_owned(), expected: against.seq, found: against.seq })
    }
    fn head(&self) -> Result<Head, Error> {
        self.journal.head()
    }
    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        match self.entries.get(&seq) {
            Some(entry) => Ok(Some(entry.clone())),
            None => self.journal.entry(seq),
        }
    }
    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        self.journal.keyed(key)
    }
    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error> {
        self.journal.each_entry(seq, take)
    }
    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error> {
        self.journal.of_kind(kind)
    }
    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error> {
        self.journal.last_of_kind(kind, until)
    }
    fn kept(&self) -> Result<Option<Kept>, Error> {
        self.journal.kept()
    }
    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.journal.sums(segment)
    }
    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.journal.settled(segment)
    }
    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error> {
        self.journal.arms(seq)
    }
    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error> {
        match self.decisions.get(&round) {
            Some(own) => own.iter().cloned().try_for_each(|(seq, sent)| take(seq, sent)),
            None => self.journal.each_decision(round, take),
        }
    }
    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        self.journal.decisions_of(customer)
    }
    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        match self.outcomes.get(&seq) {
            Some(own) => Ok(own.clone()),
            None if self.whole && self.entries.contains_key(&seq) => Ok(Vec::new()),
            None => self.journal.outcomes(seq),
        }
    }
    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        self.journal.heard(round)
    }
    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error> {
        match self.originals.get(&round) {
            Some(own) => Ok(own.clone()),
            None => self.journal.originals(round),
        }
    }
    fn count_originals(&self) -> Result<u64, Error> {
        self.journal.count_originals()
    }
    fn count(&self) -> Result<(u64, u64), Error> {
        self.journal.count()
    }
    fn count_through(&self, round: u64) -> Result<(u64, u64, u64), Error> {
        self.journal.count_through(round)
    }
    fn problems(&self) -> Result<Vec<String>, Error> {
        self.journal.problems()
    }
}
