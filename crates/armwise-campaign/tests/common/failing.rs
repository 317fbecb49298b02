//! A store that fails where a disk or a process can: before, in or after the commit.

use armwise_campaign::{
    Error,
    core::{
        Check, EachDecision, EachEntry, Entry, Head, Heard, Journal, Kept, Kind, Named, Original, Outcome, Rows, Seal,
    },
};
use std::path::Path;

/// Where an append fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before anything is written.
    Begin,
    /// Once the rows are written.
    Seal,
    /// Once everything is written, before the commit.
    Check,
    /// After the commit: it is done, but nobody hears of it.
    Committed,
}

impl Stage {
    pub(crate) const ALL: [Self; 4] = [Self::Begin, Self::Seal, Self::Check, Self::Committed];
}

/// A journal whose next append fails; afterwards it is as good as any.
#[derive(Debug)]
pub(crate) struct Failing<J> {
    journal: J,
    fail: Option<Stage>,
}

impl<J: Journal> Failing<J> {
    pub(crate) const PROBLEM: &str = "the store failed, as the test wanted";

    pub(crate) fn new(journal: J, fail: Option<Stage>) -> Self {
        Self { journal, fail }
    }
}

impl<J: Journal> Journal for Failing<J> {
    fn path(&self) -> &Path {
        self.journal.path()
    }
    fn append(
        &mut self,
        against: &Head,
        rows: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        let path = self.journal.path().to_owned();
        let failed = || Error::Storage { path: path.clone(), problem: Self::PROBLEM.to_owned(), cause: None };
        match self.fail.take() {
            None => self.journal.append(against, rows, seal, check),
            Some(Stage::Begin) => Err(failed()),
            Some(Stage::Seal) => self.journal.append(against, rows, &mut || Err(failed()), check),
            Some(Stage::Check) => self.journal.append(against, rows, seal, &mut |_| Err(failed())),
            Some(Stage::Committed) => self.journal.append(against, rows, seal, check).and_then(|_| Err(failed())),
        }
    }
    fn head(&self) -> Result<Head, Error> {
        self.journal.head()
    }
    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        self.journal.entry(seq)
    }
    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        self.journal.keyed(key)
    }
    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error> {
        self.journal.each_entry(seq, take)
    }
    fn kept(&self) -> Result<Option<Kept>, Error> {
        self.journal.kept()
    }
    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.journal.sums(segment)
    }
    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error> {
        self.journal.each_decision(round, take)
    }
    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        self.journal.decisions_of(customer)
    }
    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        self.journal.outcomes(seq)
    }
    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        self.journal.heard(round)
    }
    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error> {
        self.journal.originals(round)
    }
    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error> {
        self.journal.of_kind(kind)
    }
    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error> {
        self.journal.last_of_kind(kind, until)
    }
    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.journal.settled(segment)
    }
    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error> {
        self.journal.arms(seq)
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
