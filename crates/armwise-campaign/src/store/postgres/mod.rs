//! The second store: a journal in a PostgreSQL database, for any number of writers at once.
//!
//! The fence is the row of the campaign: an append locks it, compares its head with the one that the append was made
//! against, and replaces it in the same transaction, so there is one chain however many replicas write. There is no
//! leader, no advisory lock and no sequence. A reader sees one state of the database (REPEATABLE READ).

mod address;
mod append;
mod back;
mod duty;
mod fetch;
mod link;
mod rows;
mod schema;
mod tls;
mod tokens;

pub use address::Address;
pub use tokens::{names, put_token, tokens};

use crate::{
    Error,
    core::{
        Check, EachDecision, EachEntry, Entry, Head, Heard, Journal, Kept, Kind, Named, News, Original, Outcome, Rows,
        Seal, Tag,
    },
};
use link::{Link, Trouble, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
    time::Duration,
};
use tokio_postgres::{Row, types::Type};

/// How often a lost connection is made anew for one statement.
const TRIES: u32 = 3;
/// How many connections of readers are kept for the next one.
const POOL: usize = 4;
/// How many rows of a large table are read at once.
const PART: i64 = 5000;
const ROWS: usize = 5000;

/// A journal in PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    address: Address,
    link: Mutex<Option<Link>>,
    /// A connection for what is no part of an append.
    side: Mutex<Option<Link>>,
    /// 0 while the campaign is not there.
    id: AtomicI32,
    access: Access,
    /// Whether a transaction is open, so that a connection may not be made anew behind its back.
    within: AtomicBool,
    /// Whether that transaction waits for an append.
    turn: AtomicBool,
    duty: duty::Duty,
}

/// How a journal is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Write,
    /// In one transaction, which shows one state.
    Read,
}

static FENCED: AtomicBool = AtomicBool::new(true);

/// Takes the comparison of heads out of every append of this process, and the reading back. It is for one program, which
/// shows that the checker of histories finds what then goes wrong; no command calls it.
#[doc(hidden)]
pub fn take_the_fence_away() {
    FENCED.store(false, Ordering::Relaxed);
}

fn is_fenced() -> bool {
    FENCED.load(Ordering::Relaxed)
}

/// Connections that readers gave back, by database.
static IDLE: Mutex<BTreeMap<PathBuf, Vec<Link>>> = Mutex::new(BTreeMap::new());

impl Postgres {
    fn new(address: &Address, access: Access) -> Self {
        Self {
            address: address.clone(),
            link: Mutex::new(None),
            side: Mutex::new(None),
            id: AtomicI32::new(0),
            access,
            within: AtomicBool::new(false),
            turn: AtomicBool::new(false),
            duty: duty::Duty::default(),
        }
    }

    /// Opens the journal of a campaign for writing, which need not be there yet: its first append makes it. Tables are
    /// made, or brought to this version, if they must be.
    ///
    /// # Errors
    /// [`Error::NewerSchema`], [`Error::Unavailable`].
    pub fn open(address: &Address) -> Result<Self, Error> {
        let own = Self::new(address, Access::Write);
        own.with_link(|link| Ok(schema::prepare(link, address.shown())))??;
        own.find()?;
        Ok(own)
    }

    /// As [`open`](Self::open), of a campaign that is there.
    ///
    /// # Errors
    /// And [`Error::NoCampaign`].
    pub fn write(address: &Address) -> Result<Self, Error> {
        let own = Self::open(address)?;
        own.known()?;
        Ok(own)
    }

    /// The journal of a campaign to be.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::Exists`].
    pub fn create(address: &Address) -> Result<Self, Error> {
        let own = Self::open(address)?;
        if own.id().is_some() {
            return Err(Error::Exists { path: address.shown().to_owned() });
        }
        Ok(own)
    }

    /// Opens the journal of a campaign for reading, as it is now.
    ///
    /// # Errors
    /// [`Error::NoCampaign`], [`Error::NewerSchema`], [`Error::Unavailable`].
    pub fn read(address: &Address) -> Result<Self, Error> {
        let own = Self::new(address, Access::Read);
        *own.link() = IDLE.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&address.path()).and_then(Vec::pop);
        own.with_link(|link| link.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))?;
        own.within.store(true, Ordering::Relaxed);
        own.with_link(|link| Ok(schema::check(link, address.shown())))??;
        own.find()?;
        own.known()?;
        Ok(own)
    }

    /// Does something with the connection, which is made anew where it is lost, unless a transaction is open.
    fn with_link<T>(&self, act: impl Fn(&Link) -> Result<T, Trouble>) -> Result<T, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let done = self.once(&act);
            match done {
                Err(trouble) if trouble.is_lost() => {
                    *self.link() = None;
                    if self.within.load(Ordering::Relaxed) || tries == TRIES {
                        return Err(trouble.error(self.address.shown()));
                    }
                    std::thread::sleep(Duration::from_millis(50) * tries);
                }
                done => return done.map_err(|trouble| trouble.error(self.address.shown())),
            }
        }
    }

    /// Asks beside whatever transaction is open.
    fn ask_beside(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        let mut own = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tries = 0;
        loop {
            tries += 1;
            let done = match own.take().filter(|link| !link.is_closed()) {
                Some(link) => Ok(link),
                None => Link::new(&self.address),
            }
            .and_then(|link| link.ask(sql, values).map(|rows| (link, rows)));
            match done {
                Ok((link, rows)) => {
                    *own = Some(link);
                    return Ok(rows);
                }
                Err(trouble) if trouble.is_lost() && tries < 2 => {}
                Err(trouble) => return Err(trouble.error(self.address.shown())),
            }
        }
    }

    /// Does something with the connection, once.
    fn once<T>(&self, act: impl Fn(&Link) -> Result<T, Trouble>) -> Result<T, Trouble> {
        let mut own = self.link();
        if own.as_ref().is_none_or(Link::is_closed) {
            if self.within.load(Ordering::Relaxed) {
                return Err(Trouble::Lost("the connection was lost".to_owned()));
            }
            *own = None;
            *own = Some(Link::new(&self.address)?);
        }
        match &*own {
            Some(link) => act(link),
            None => Err(Trouble::Lost("there is no connection".to_owned())),
        }
    }

    fn ask(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        self.with_link(|link| link.ask(sql, values))
    }

    /// As [`ask`](Self::ask), each row read.
    fn collect<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: fn(&Row) -> Result<T, rows::Bad>,
    ) -> Result<Vec<T>, Error> {
        self.taken(&self.ask(sql, values)?, read)
    }

    fn taken<T>(&self, rows: &[Row], read: fn(&Row) -> Result<T, rows::Bad>) -> Result<Vec<T>, Error> {
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|problem| self.damaged(problem))
    }

    fn damaged(&self, problem: String) -> Error {
        Error::Damaged { path: self.address.shown().to_owned(), problem, cause: None }
    }

    /// Looks whether the campaign is there.
    fn find(&self) -> Result<(), Error> {
        let name = self.address.campaign();
        let rows = self.ask("SELECT id FROM armwise.campaign WHERE name = $1", &[(&name, Type::TEXT)])?;
        self.set_id(rows.first().map(|row| row.get(0)));
        Ok(())
    }

    fn link(&self) -> MutexGuard<'_, Option<Link>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self) -> Option<i32> {
        Some(self.id.load(Ordering::Relaxed)).filter(|&id| id > 0)
    }

    fn set_id(&self, id: Option<i32>) {
        self.id.store(id.unwrap_or(0), Ordering::Relaxed);
    }

    fn known(&self) -> Result<i32, Error> {
        self.id().ok_or_else(|| Error::NoCampaign { path: self.address.shown().to_owned() })
    }

    /// The campaign's number in the tables; one that no campaign has while it is not there.
    fn number(&self) -> i32 {
        self.id.load(Ordering::Relaxed)
    }

    fn one_entry(&self, condition: &str, values: &[Value<'_>]) -> Result<Option<Entry>, Error> {
        let number = self.number();
        let sql = format!("SELECT {} FROM armwise.entry WHERE campaign = $1 AND {condition}", rows::ENTRY);
        let values: Vec<Value<'_>> = std::iter::once((&number as _, Type::INT4))
            .chain(values.iter().map(|(value, of)| (*value, of.clone())))
            .collect();
        Ok(self.collect(&sql, &values, rows::read_entry)?.into_iter().next())
    }

    fn bytes(&self, table: &str, by: &str, of: u64) -> Result<Option<Vec<u8>>, Error> {
        let sql = format!("SELECT {by}, bytes FROM armwise.{table} WHERE campaign = $1 AND {by} = $2");
        let found =
            self.collect(&sql, &[(&self.number(), Type::INT4), (&of.cast_signed(), Type::INT8)], rows::read_bytes)?;
        Ok(found.into_iter().next().map(|(_, bytes)| bytes))
    }

    fn counted(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Error> {
        let rows = self.with_link(|link| link.ask_slowly(sql, values))?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
    }
}

/// Fills the journal of a new campaign, which gets its name when it is complete. What is left of one that could not be
/// finished has a name that no server takes for a campaign's.
///
/// # Errors
/// [`Error::Exists`], those of `fill`, and [`Error::Unavailable`].
pub(super) fn filled(address: &Address, fill: impl FnOnce(&mut dyn Journal) -> Result<(), Error>) -> Result<(), Error> {
    drop(Postgres::create(address)?);
    let mut part = Postgres::create(&address.with(&format!("{}~{}", address.campaign(), Tag::new())))?;
    fill(&mut part)?;
    let (number, name) = (part.known()?, address.campaign());
    let sql = "UPDATE armwise.campaign SET name = $2 WHERE id = $1 \
               AND NOT EXISTS (SELECT 1 FROM armwise.campaign WHERE name = $2) RETURNING id";
    let named = part.with_link(|link| {
        let named = link.ask(sql, &[(&number, Type::INT4), (&name, Type::TEXT)]);
        // Another one may have taken the name at the same moment, or this one before its connection was lost.
        match named {
            Err(trouble) if trouble.code().is_some_and(|code| code.code() == "23505") => Ok(Vec::new()),
            named => named,
        }
    })?;
    if named.is_empty() {
        part.address = address.clone();
        part.find()?;
        if part.id() != Some(number) {
            return Err(Error::Exists { path: address.shown().to_owned() });
        }
    }
    Ok(())
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Some(link) = self.link().take().filter(|_| self.access == Access::Read) else { return };
        if link.run("ROLLBACK").is_ok() {
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            let own = idle.entry(self.address.path()).or_default();
            if own.len() < POOL {
                own.push(link);
            }
        }
    }
}

/// The ids of a round's decisions: from the first on, below the second.
fn range(round: u64) -> [i64; 2] {
    [(round << 32).cast_signed(), ((round + 1) << 32).cast_signed()]
}

impl Journal for Postgres {
    fn path(&self) -> &Path {
        self.address.shown()
    }

    fn append(
        &mut self,
        against: &Head,
        rows: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        self.append_all(against, rows, seal, check)
    }

    fn head(&self) -> Result<Head, Error> {
        let sql = "SELECT c.seq, c.head, s.version, s.oldest FROM armwise.campaign c, armwise.schema s WHERE c.id = $1";
        match self.ask(sql, &[(&self.number(), Type::INT4)])?.first() {
            None => Ok(Head::none()),
            Some(row) => {
                schema::usable(self.path(), row.get(2), row.get(3))?;
                self.head_of(row)
            }
        }
    }

    fn news(&self, after: u64) -> Result<News, Error> {
        self.fetch(after, None)
    }

    fn is_shared(&self) -> bool {
        self.access == Access::Write
    }

    fn turn(&mut self, on: bool) -> Result<(), Error> {
        self.take_turn(on)
    }

    fn numbers(&mut self, from: u64, count: u64) -> Result<std::ops::Range<u64>, Error> {
        self.reserve(from, count)
    }

    fn duty(&mut self, on: bool) -> Result<bool, Error> {
        self.take_duty(on)
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        self.one_entry("seq = $2", &[(&seq.cast_signed(), Type::INT8)])
    }

    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        self.one_entry("key = $2", &[(&key, Type::TEXT)])
    }

    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error> {
        let sql =
            format!("SELECT {} FROM armwise.entry WHERE campaign = $1 AND seq > $2 ORDER BY seq LIMIT $3", rows::ENTRY);
        let mut after = i64::try_from(seq).unwrap_or(i64::MAX);
        loop {
            let values: [Value<'_>; 3] = [(&self.number(), Type::INT4), (&after, Type::INT8), (&PART, Type::INT8)];
            let found = self.collect(&sql, &values, rows::read_entry)?;
            let is_last = found.len() < ROWS;
            for entry in found {
                after = entry.seq.cast_signed();
                take(entry)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error> {
        let sql = format!(
            "SELECT {} FROM armwise.entry WHERE campaign = $1 AND kind = $2 AND kind NOT IN ('choose', 'learn') ORDER BY seq",
            rows::ENTRY
        );
        self.collect(&sql, &[(&self.number(), Type::INT4), (&kind.name(), Type::TEXT)], rows::read_entry)
    }

    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error> {
        let until = i64::try_from(until).unwrap_or(i64::MAX);
        let condition = "kind = $2 AND kind NOT IN ('choose', 'learn') AND seq <= $3 ORDER BY seq DESC LIMIT 1";
        self.one_entry(condition, &[(&kind.name(), Type::TEXT), (&until, Type::INT8)])
    }

    fn kept(&self) -> Result<Option<Kept>, Error> {
        let sql = "SELECT seq, state, model FROM armwise.checkpoint WHERE campaign = $1";
        let rows = self.ask(sql, &[(&self.number(), Type::INT4)])?;
        Ok(rows.first().map(|row| Kept {
            seq: row.get::<_, i64>(0).cast_unsigned(),
            state: row.get(1),
            model: row.get(2),
        }))
    }

    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.bytes("sums", "segment", segment)
    }

    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.bytes("settled", "segment", segment)
    }

    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error> {
        self.bytes("arms", "seq", seq)
    }

    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error> {
        let sql = format!(
            "SELECT {} FROM armwise.decision WHERE campaign = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4",
            rows::DECISION
        );
        let [mut from, end] = range(round);
        loop {
            let values: [Value<'_>; 4] =
                [(&self.number(), Type::INT4), (&from, Type::INT8), (&end, Type::INT8), (&PART, Type::INT8)];
            let found = self.collect(&sql, &values, rows::read_decision)?;
            let is_last = found.len() < ROWS;
            for (seq, sent) in found {
                from = sent.id.key() + 1;
                take(seq, sent)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        if rows::has_nul(std::iter::once(customer)) {
            return Ok(Vec::new());
        }
        let sql = "SELECT id, customer, promotion FROM armwise.decision WHERE campaign = $1 \
                   AND hashtextextended(customer, 0) = hashtextextended($2, 0) AND customer = $2 ORDER BY id";
        self.collect(sql, &[(&self.number(), Type::INT4), (&customer, Type::TEXT)], rows::read_named)
    }

    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        let sql = "SELECT seq, number, decision, reward FROM armwise.outcome WHERE campaign = $1 AND seq = $2 \
                   ORDER BY number";
        let values: [Value<'_>; 2] = [(&self.number(), Type::INT4), (&seq.cast_signed(), Type::INT8)];
        self.numbered(self.collect(sql, &values, rows::read_outcome)?)
    }

    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        let sql = "SELECT o.seq, e.kind, o.decision, o.reward FROM armwise.outcome o \
                   JOIN armwise.entry e ON e.campaign = o.campaign AND e.seq = o.seq \
                   WHERE o.campaign = $1 AND o.decision >= $2 AND o.decision < $3 ORDER BY o.seq, o.number";
        let [from, end] = range(round);
        let values: [Value<'_>; 3] = [(&self.number(), Type::INT4), (&from, Type::INT8), (&end, Type::INT8)];
        self.collect(sql, &values, rows::read_heard)
    }

    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error> {
        let sql = "SELECT decision, seq, columns, probability FROM armwise.original \
                   WHERE campaign = $1 AND decision >= $2 AND decision < $3 ORDER BY decision";
        let [from, end] = range(round);
        let values: [Value<'_>; 3] = [(&self.number(), Type::INT4), (&from, Type::INT8), (&end, Type::INT8)];
        self.collect(sql, &values, rows::read_original)
    }

    fn count_originals(&self) -> Result<u64, Error> {
        self.counted("SELECT count(*) FROM armwise.original WHERE campaign = $1", &[(&self.number(), Type::INT4)])
    }

    fn count(&self) -> Result<(u64, u64), Error> {
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM armwise.{table} WHERE campaign = $1");
            self.counted(&sql, &[(&self.number(), Type::INT4)])
        };
        Ok((count("decision")?, count("outcome")?))
    }

    fn count_through(&self, round: u64) -> Result<(u64, u64, u64), Error> {
        let (from, end) = (range(1)[0], range(round)[1]);
        let count = |table: &str, id: &str| {
            let sql = format!("SELECT count(*) FROM armwise.{table} WHERE campaign = $1 AND {id} >= $2 AND {id} < $3");
            self.counted(&sql, &[(&self.number(), Type::INT4), (&from, Type::INT8), (&end, Type::INT8)])
        };
        Ok((count("decision", "id")?, count("outcome", "decision")?, count("original", "decision")?))
    }

    fn problems(&self) -> Result<Vec<String>, Error> {
        let mut problems = Vec::new();
        // The row that appends are fenced by must be that of the last entry.
        let head = self.head()?;
        let last = self.one_entry("seq = (SELECT max(seq) FROM armwise.entry WHERE campaign = $1)", &[])?;
        if last.map_or_else(Head::none, |entry| entry.head()) != head {
            problems.push(format!("the campaign's row says that entry {} is the last one, and it is not", head.seq));
        }
        Ok(problems)
    }
}

impl Postgres {
    /// The outcomes of an entry, whose numbers must be 1, 2, 3, ...
    fn numbered(&self, found: Vec<(u64, i64, Outcome)>) -> Result<Vec<Outcome>, Error> {
        if let Some((place, (seq, number, _))) = (1_i64..).zip(&found).find(|(place, (_, number, _))| place != number) {
            return Err(self.damaged(format!("outcome {place} of entry {seq} has the number {number}")));
        }
        Ok(found.into_iter().map(|(_, _, outcome)| outcome).collect())
    }

    /// The head in the two first columns of a row.
    fn head_of(&self, row: &Row) -> Result<Head, Error> {
        let hash = rows::hash(row.get(1)).map_err(|problem| self.damaged(problem))?;
        Ok(Head { seq: row.get::<_, i64>(0).cast_unsigned(), hash })
    }
}
