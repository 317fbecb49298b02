//! A journal in memory that several replicas share and that cannot be reached when a test says so.
//!
//! Every question to a handle is counted, and the one that a test names is answered with [`Error::Unavailable`]. Handles
//! share the journal, not the faults.

use super::memory::Memory;
use crate::{
    Error,
    core::{
        Ahead, Check, EachDecision, EachEntry, Entry, Head, Heard, Journal, Kept, Kind, Named, News, Original, Outcome,
        Rows, Seal, Wanted,
    },
};
use std::{
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// One replica's way to the journal.
#[derive(Debug, Default)]
pub(crate) struct Flaky {
    memory: Memory,
    /// The number of the round that comes next.
    next: Arc<AtomicU64>,
    pub(crate) faults: Arc<Faults>,
}

/// What goes wrong.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// How many questions there were.
    pub(crate) asked: AtomicU64,
    /// The question that fails, counted from 1; 0 for none.
    fails: AtomicU64,
    /// Whether nobody hears that the next append was carried out.
    unheard: AtomicBool,
    /// Whether what is new comes without its rows and sums.
    pub(crate) bare: AtomicBool,
}

impl Faults {
    /// Has the question fail that comes after so many others.
    pub(crate) fn fail_after(&self, others: u64) {
        self.fails.store(self.asked.load(Ordering::Relaxed) + others + 1, Ordering::Relaxed);
    }

    /// Has nobody hear that the next append was carried out.
    pub(crate) fn hide_append(&self) {
        self.unheard.store(true, Ordering::Relaxed);
    }

    /// Has everything go well from now on.
    pub(crate) fn heal(&self) {
        self.fails.store(0, Ordering::Relaxed);
        self.unheard.store(false, Ordering::Relaxed);
        self.bare.store(false, Ordering::Relaxed);
    }
}

impl Flaky {
    /// Another replica of the same journal.
    pub(crate) fn beside(&self) -> Self {
        Self { memory: self.memory.clone(), next: Arc::clone(&self.next), faults: Arc::default() }
    }

    fn lost() -> Error {
        Error::Unavailable { path: "memory".into(), problem: "the connection was lost, as the test wanted".to_owned() }
    }

    fn asked(&self) -> Result<&Memory, Error> {
        let number = self.faults.asked.fetch_add(1, Ordering::Relaxed) + 1;
        if number == self.faults.fails.load(Ordering::Relaxed) { Err(Self::lost()) } else { Ok(&self.memory) }
    }
}

impl Journal for Flaky {
    fn path(&self) -> &Path {
        self.memory.path()
    }

    fn append(
        &mut self,
        against: &Head,
        rows: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        self.asked()?;
        let done = self.memory.append(against, rows, seal, check)?;
        if self.faults.unheard.swap(false, Ordering::Relaxed) { Err(Self::lost()) } else { Ok(done) }
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn news(&self, after: u64) -> Result<News, Error> {
        let memory = self.asked()?;
        let mut news = News { entries: memory.entries(after)?, ..News::default() };
        if self.faults.bare.load(Ordering::Relaxed) {
            return Ok(news);
        }
        for entry in &news.entries {
            if let (Kind::Choose, Some(round)) = (entry.kind, entry.round) {
                news.decisions.insert(entry.seq, memory.decisions(round)?);
            }
            news.outcomes.insert(entry.seq, memory.outcomes(entry.seq)?);
        }
        for segment in 0..100 {
            news.sums.extend(memory.sums(segment)?.map(|bytes| (segment, bytes)));
        }
        Ok(news)
    }

    fn ahead(&self, wanted: &Wanted) -> Result<Option<Ahead>, Error> {
        let (memory, mut ahead) = (self.asked()?, Ahead::default());
        for &round in &wanted.rounds {
            let own = ahead.decisions.entry(round).or_default();
            memory.each_decision(round, &mut |seq, sent| {
                own.push((seq, sent));
                Ok(())
            })?;
            ahead.heard.insert(round, memory.heard(round)?);
        }
        for key in &wanted.keys {
            ahead.keyed.extend(memory.keyed(key)?);
        }
        Ok(Some(ahead))
    }

    fn begin_turn(&mut self, after: u64) -> Result<Option<(Head, News)>, Error> {
        let head = self.asked()?.head()?;
        Ok(Some((head, self.news(after)?)))
    }

    fn numbers(&mut self, from: u64, count: u64) -> Result<Range<u64>, Error> {
        self.asked()?;
        self.next.fetch_max(from, Ordering::Relaxed);
        let first = self.next.fetch_add(count, Ordering::Relaxed);
        Ok(first..first + count)
    }

    fn head(&self) -> Result<Head, Error> {
        self.asked()?.head()
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        self.asked()?.entry(seq)
    }

    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        self.asked()?.keyed(key)
    }

    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error> {
        self.asked()?.each_entry(seq, take)
    }

    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error> {
        self.asked()?.of_kind(kind)
    }

    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error> {
        self.asked()?.last_of_kind(kind, until)
    }

    fn kept(&self) -> Result<Option<Kept>, Error> {
        self.asked()?.kept()
    }

    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.asked()?.sums(segment)
    }

    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.asked()?.settled(segment)
    }

    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error> {
        self.asked()?.arms(seq)
    }

    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error> {
        self.asked()?.each_decision(round, take)
    }

    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        self.asked()?.decisions_of(customer)
    }

    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        self.asked()?.outcomes(seq)
    }

    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        self.asked()?.heard(round)
    }

    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error> {
        self.asked()?.originals(round)
    }

    fn count_originals(&self) -> Result<u64, Error> {
        self.asked()?.count_originals()
    }

    fn count(&self) -> Result<(u64, u64), Error> {
        self.asked()?.count()
    }

    fn count_through(&self, round: u64) -> Result<(u64, u64, u64), Error> {
        self.asked()?.count_through(round)
    }

    fn problems(&self) -> Result<Vec<String>, Error> {
        self.asked()?.problems()
    }
}
