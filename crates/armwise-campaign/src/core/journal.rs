//! The journal: where entries, their rows and the sums are kept. The core knows a store only through this trait.
//!
//! A store keeps what it is given and finds it again. The core checks everything that a store returns against the
//! chain, so a store computes no hashes. Its one duty: an append is all or nothing, and is refused if the head has
//! moved or if what was written does not read back.

use super::{DecisionId, Entry, Head, Heard, Kind, Original, Outcome, Sent};
use crate::Error;
use std::{collections::BTreeMap, fmt, ops::Range, path::Path};

/// The rows that belong to an entry.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rows<'a> {
    /// The entry.
    pub seq: u64,
    /// The decisions of a chosen round.
    pub decisions: &'a [Sent],
    /// What became of decisions.
    pub outcomes: &'a [Outcome],
    /// The columns of the decisions as the table had them.
    pub originals: &'a [Original],
    /// The rows of arms that came, changed or went, as bytes; none if there are no such.
    pub arms: Option<&'a [u8]>,
}

/// An entry with what is kept beside it.
#[derive(Debug, Clone)]
pub struct Record {
    /// The entry.
    pub entry: Entry,
    /// The new sums of segments, as bytes.
    pub sums: Vec<(u64, Vec<u8>)>,
    /// The bytes of a checkpoint; a store may drop all but the newest.
    pub kept: Option<Kept>,
    /// The rounds of segments that are put away, as bytes.
    pub settled: Vec<(u64, Vec<u8>)>,
}

impl Record {
    /// An entry with nothing beside it.
    #[must_use]
    pub fn new(entry: Entry) -> Self {
        Self { entry, sums: Vec::new(), kept: None, settled: Vec::new() }
    }
}

/// The bytes that a checkpoint vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The checkpoint's entry.
    pub seq: u64,
    /// The state, as bytes.
    pub state: Vec<u8>,
    /// The merged model, as bytes.
    pub model: Vec<u8>,
}

/// A decision as far as looking it up needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its id.
    pub id: DecisionId,
    /// The customer.
    pub customer: String,
    /// The promotion.
    pub promotion: String,
}

/// What a journal has after an entry: entries, and as far as they are few enough, their rows and what was summed.
#[derive(Debug, Clone, Default)]
pub struct News {
    /// The entries, in their order.
    pub entries: Vec<Entry>,
    /// The decisions of entries, where they were read along.
    pub decisions: BTreeMap<u64, Vec<Sent>>,
    /// The outcomes of entries, where they were read along.
    pub outcomes: BTreeMap<u64, Vec<Outcome>>,
    /// The newest sums of segments, as bytes.
    pub sums: BTreeMap<u64, Vec<u8>>,
}

/// What commands that wait will ask for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Rounds whose decisions and outcomes are needed.
    pub rounds: Vec<u64>,
    /// Keys that may be those of entries.
    pub keys: Vec<String>,
}

/// What was read ahead for commands that wait.
#[derive(Debug, Clone, Default)]
pub struct Ahead {
    /// The decisions of the rounds that were asked for, in their order, each with its entry.
    pub decisions: BTreeMap<u64, Vec<(u64, Sent)>>,
    /// Their outcomes, as [`Journal::heard`] gives them.
    pub heard: BTreeMap<u64, Vec<Heard>>,
    /// The entries that have one of the keys.
    pub keyed: Vec<Entry>,
}

/// Makes the entries once their rows are written.
pub type Seal<'a> = &'a mut dyn FnMut() -> Result<Vec<Record>, Error>;

/// Reads what was written, before the commit.
pub type Check<'a> = &'a mut dyn FnMut(&dyn Journal) -> Result<(), Error>;

/// Takes an entry.
pub type EachEntry<'a> = &'a mut dyn FnMut(Entry) -> Result<(), Error>;

/// Takes a decision with the entry that it belongs to.
pub type EachDecision<'a> = &'a mut dyn FnMut(u64, Sent) -> Result<(), Error>;

/// A journal. Rounds, entries and rows are returned in ascending order, numbers with every bit. Only the sign of zero
/// may be lost (SQLite has none), so the core never stores a negative zero.
pub trait Journal: fmt::Debug + Send {
    /// Where it is, for messages.
    fn path(&self) -> &Path;

    /// Appends entries with their rows, all or nothing, and gives them back once they are on the disk.
    ///
    /// An entry of the kind [`Kind::Compact`] takes the decisions, outcomes and originals of all rounds from 1 up to its
    /// own out of the journal; nothing else ever does.
    ///
    /// `seal` is called after the rows are written, so that they can be hashed meanwhile. `check` is called once the
    /// entries are written too, with a journal that shows them as they will be read after the commit. If one of the two
    /// fails, nothing is appended.
    ///
    /// # Errors
    /// [`Error::HeadMoved`] unless `against` is the head, [`Error::KeyUsed`] for a key that an entry has already, the
    /// errors of `seal` and `check`, [`Error::Storage`]. Nothing has changed then.
    fn append(
        &mut self,
        against: &Head,
        rows: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error>;

    /// Takes up no more than so many bytes from now on, or as many as there are: an append beyond fails with
    /// [`Error::DiskFull`]. A store that cannot be limited takes up what it needs.
    ///
    /// # Errors
    /// Of the store.
    fn limit(&mut self, _bytes: Option<u64>) -> Result<(), Error> {
        Ok(())
    }

    /// The last entry.
    ///
    /// # Errors
    /// Of the store; so for all below.
    fn head(&self) -> Result<Head, Error>;

    /// Whether others may append while this one is open. Where only one writer is let in, nobody can.
    fn is_shared(&self) -> bool {
        false
    }

    /// What came after an entry.
    ///
    /// # Errors
    /// Of the store.
    fn news(&self, after: u64) -> Result<News, Error> {
        Ok(News { entries: self.entries(after)?, ..News::default() })
    }

    /// What commands that wait will ask for, in one step; nothing where single steps cost nothing.
    ///
    /// # Errors
    /// Of the store.
    fn ahead(&self, _wanted: &Wanted) -> Result<Option<Ahead>, Error> {
        Ok(None)
    }

    /// Waits until nobody else appends, and keeps the others waiting until the next append is done, or until this is ended.
    /// What is read meanwhile is what that append is made against. Gives the head and what came after an entry; nothing
    /// where nobody else can append.
    ///
    /// # Errors
    /// Of the store.
    fn begin_turn(&mut self, _after: u64) -> Result<Option<(Head, News)>, Error> {
        Ok(None)
    }

    /// Lets the others append, if nothing was.
    ///
    /// # Errors
    /// Of the store.
    fn end_turn(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Numbers for rounds that no other writer gets: this many, from this one on or later.
    ///
    /// # Errors
    /// Of the store.
    fn numbers(&mut self, from: u64, count: u64) -> Result<Range<u64>, Error> {
        Ok(from..from + count)
    }

    /// Begins or ends what is done by the clock; false if another writer does it at this time. Meanwhile appends are
    /// refused with [`Error::Locked`] as soon as it is another's.
    ///
    /// # Errors
    /// Of the store.
    fn duty(&mut self, _on: bool) -> Result<bool, Error> {
        Ok(true)
    }

    /// One entry.
    ///
    /// # Errors
    /// Of the store.
    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error>;

    /// The entry with this key.
    ///
    /// # Errors
    /// Of the store.
    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error>;

    /// The entries after `seq`, one after the other, so that a long journal need not be in memory.
    ///
    /// # Errors
    /// Of the store, and of `take`.
    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error>;

    /// The entries after `seq`.
    ///
    /// # Errors
    /// Of the store.
    fn entries(&self, seq: u64) -> Result<Vec<Entry>, Error> {
        let mut all = Vec::new();
        self.each_entry(seq, &mut |entry| {
            all.push(entry);
            Ok(())
        })?;
        Ok(all)
    }

    /// The entries of a kind, which is none that a service writes all the time (choose, learn).
    ///
    /// # Errors
    /// Of the store.
    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error>;

    /// The last entry of such a kind up to `until`.
    ///
    /// # Errors
    /// Of the store.
    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error>;

    /// What the newest checkpoint keeps.
    ///
    /// # Errors
    /// Of the store.
    fn kept(&self) -> Result<Option<Kept>, Error>;

    /// The newest sums of a segment.
    ///
    /// # Errors
    /// Of the store.
    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error>;

    /// The rounds of a segment that was put away, as bytes, as they were put away last.
    ///
    /// # Errors
    /// Of the store.
    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error>;

    /// The rows of arms that belong to an entry, as bytes.
    ///
    /// # Errors
    /// Of the store.
    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error>;

    /// The decisions of a round, one after the other, so that a large round need not be in memory.
    ///
    /// # Errors
    /// Of the store, and of `take`.
    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error>;

    /// The decisions of a round.
    ///
    /// # Errors
    /// Of the store.
    fn decisions(&self, round: u64) -> Result<Vec<Sent>, Error> {
        let mut all = Vec::new();
        self.each_decision(round, &mut |_, sent| {
            all.push(sent);
            Ok(())
        })?;
        Ok(all)
    }

    /// The decisions about a customer.
    ///
    /// # Errors
    /// Of the store.
    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error>;

    /// The outcomes that belong to an entry.
    ///
    /// # Errors
    /// Of the store.
    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error>;

    /// All outcomes of a round's decisions, by entry, within an entry in its order.
    ///
    /// # Errors
    /// Of the store.
    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error>;

    /// The columns kept of a round's decisions, each with its entry.
    ///
    /// # Errors
    /// Of the store.
    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error>;

    /// Of how many decisions there are columns.
    ///
    /// # Errors
    /// Of the store.
    fn count_originals(&self) -> Result<u64, Error>;

    /// How many decisions and how many outcomes there are.
    ///
    /// # Errors
    /// Of the store.
    fn count(&self) -> Result<(u64, u64), Error>;

    /// How many decisions, outcomes and originals there are of the rounds from 1 to this one.
    ///
    /// # Errors
    /// Of the store.
    fn count_through(&self, round: u64) -> Result<(u64, u64, u64), Error>;

    /// What is wrong with the store's own structure, in its own words.
    ///
    /// # Errors
    /// Of the store.
    fn problems(&self) -> Result<Vec<String>, Error>;
}
