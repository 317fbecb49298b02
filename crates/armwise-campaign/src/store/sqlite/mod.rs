//! The campaign's file: a journal in a SQLite database.
//!
//! An append is one transaction (WAL, synchronous=FULL), so it is on the disk or it is not. A writer holds the kernel
//! lock beside the file until it is dropped; readers need none.

mod backup;
mod lock;
mod migrate;
mod old;
mod reader;
mod rows;
mod same;
mod schema;

pub use super::place::verify;
pub use backup::{BackedUp, backup};
pub use migrate::{MigratedFile, migrate};

use crate::{
    Campaign, Error,
    core::{
        Check, EachDecision, EachEntry, Entry, Head, Heard, Journal, Kept, Kind, Named, Original, Outcome, Rows, Seal,
        Setup, failpoint,
    },
    output::{Existing, Pending},
};
use lock::Lock;
use reader::Watch;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};
use same::Same;
use schema::Version;
use std::path::{Path, PathBuf};

/// How many statements stay prepared: more than an append and a reader have together.
const STATEMENTS: usize = 64;

/// A journal in a SQLite file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    db: Connection,
    access: Access,
    /// The version of the schema.
    version: Version,
    /// Features that may come again.
    same: Same,
}

/// How a file is open.
#[derive(Debug)]
enum Access {
    /// By a writer, who holds the lock; none while the file has no name yet.
    Write { _lock: Option<Lock> },
    /// By a reader, who watches the file where the account may not write to it.
    Read(Option<Watch>),
}

impl Sqlite {
    /// Makes a new file with an empty journal; `writer` is the name in the lock.
    ///
    /// # Errors
    /// [`Error::Exists`] if the file exists, [`Error::Storage`] if it cannot be written.
    pub fn create(path: &Path, writer: &str) -> Result<Self, Error> {
        let new = New::begin(path, writer)?;
        new.journal()?;
        let lock = new.publish()?;
        Self::prepared(path, writing(path)?, Access::Write { _lock: Some(lock) })
    }

    /// Opens a file. `writer` is the name in the lock; without one, the file is only read, as it was when it was
    /// opened.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Damaged`], [`Error::OldSchema`], [`Error::Storage`], [`Error::Locked`].
    pub fn open(path: &Path, writer: Option<&str>) -> Result<Self, Error> {
        let (db, access) = connect(path, writer)?;
        Self::prepared(path, db, access)
    }

    /// A connection to a campaign of this version, ready to read or write.
    fn prepared(path: &Path, db: Connection, access: Access) -> Result<Self, Error> {
        let write = matches!(access, Access::Write { .. });
        // A reader's transaction begins first, so that the version it sees is that of the rows it reads.
        if !write {
            schema::prepare(&db, path, write)?;
        }
        let checked = schema::check(&db, path);
        if let Access::Read(Some(watch)) = &access {
            watch.check()?;
        }
        let mut version = checked?;
        if write {
            schema::prepare(&db, path, write)?;
            if version < Version::NOW {
                schema::upgrade(&db, path, version)?;
                version = Version::NOW;
            }
        }
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(Self { path: path.to_owned(), db, access, version, same: Same::default() })
    }

    /// What was read, unless the file has changed meanwhile.
    fn read<T>(&self, found: rusqlite::Result<T>) -> Result<T, Error> {
        if let Access::Read(Some(watch)) = &self.access {
            watch.check()?;
        }
        found.map_err(|error| sql(&self.path, error))
    }
}

/// A campaign's file in the making. It has a temporary name until it is complete, so that a process that dies leaves
/// nothing in the way, and two that begin the same campaign at once cannot touch each other's file.
struct New {
    pending: Pending,
    lock: Lock,
}

impl New {
    /// Takes the lock of the campaign to be and begins its file.
    fn begin(path: &Path, writer: &str) -> Result<Self, Error> {
        if path.symlink_metadata().is_ok() {
            return Err(Error::Exists { path: path.to_owned() });
        }
        if let Some(name) = path.to_str()
            && [".lock", "-wal", "-shm", "-journal"].iter().any(|end| name.ends_with(end))
        {
            return Err(Error::Output { path: path.to_owned(), is: "a name for what lies beside a campaign" });
        }
        let lock = Lock::take(path, writer)?;
        Ok(Self { pending: Pending::begin(path, Existing::Keep, &[])?, lock })
    }

    /// An empty journal in the file; it must be dropped before the file gets its name.
    fn journal(&self) -> Result<Sqlite, Error> {
        let path = self.pending.path();
        Ok(Sqlite {
            path: path.to_owned(),
            db: schema::create(self.pending.part(), path)?,
            access: Access::Write { _lock: None },
            version: Version::NOW,
            same: Same::default(),
        })
    }

    /// Gives the file its name, and gives back the lock. SQLite has removed its own files beside it by then, since the
    /// last connection is closed.
    fn publish(self) -> Result<Lock, Error> {
        failpoint("init-before-publish");
        self.pending.publish()?;
        Ok(self.lock)
    }
}

/// Opens a database for writing.
fn writing(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(|error| sql(path, error))
}

/// Opens a database that must be there.
fn connect(path: &Path, writer: Option<&str>) -> Result<(Connection, Access), Error> {
    let about = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::NoCampaign { path: path.to_owned() },
        _ => Error::io(path, error),
    })?;
    let Some(writer) = writer else {
        let (db, watch) = reader::open(path)?;
        return Ok((db, Access::Read(watch)));
    };
    if about.permissions().readonly() {
        return Err(Error::Storage { path: path.to_owned(), problem: "the file is read-only".to_owned(), cause: None });
    }
    one_name(path, &about)?;
    let lock = Lock::take(path, writer)?;
    Ok((writing(path)?, Access::Write { _lock: Some(lock) }))
}

/// Refuses a file with several names: SQLite's files and the lock beside one name are not those beside another, so
/// writers under two names would overwrite each other.
fn one_name(path: &Path, about: &std::fs::Metadata) -> Result<(), Error> {
    #[cfg(unix)]
    {
        let links = std::os::unix::fs::MetadataExt::nlink(about);
        if links > 1 {
            return Err(Error::Linked { path: path.to_owned(), links });
        }
    }
    let _ = (path, about);
    Ok(())
}

/// Fills a new file; it is there only after success.
pub(super) fn filled(
    path: &Path,
    writer: &str,
    fill: impl FnOnce(&mut dyn Journal) -> Result<(), Error>,
) -> Result<(), Error> {
    let new = New::begin(path, writer)?;
    fill(&mut new.journal()?)?;
    new.publish().map(drop)
}

/// Makes a campaign in a new file.
pub(super) fn create(path: &Path, setup: Setup) -> Result<Campaign, Error> {
    let new = New::begin(path, "init")?;
    drop(Campaign::begin(Box::new(new.journal()?), setup)?);
    let lock = new.publish()?;
    // What was written must read back before anyone is told of it.
    Campaign::open(Box::new(Sqlite::prepared(path, writing(path)?, Access::Write { _lock: Some(lock) })?))
}

impl Journal for Sqlite {
    fn path(&self) -> &Path {
        &self.path
    }

    fn append(
        &mut self,
        against: &Head,
        rows: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        let path = self.path.clone();
        let failed = |error: rusqlite::Error| sql(&path, error);
        // It comes back with the commit: what is not committed cannot be referred to.
        let mut same = std::mem::take(&mut self.same);
        // The connection is only borrowed, because `check` reads through it what is not committed yet. Nothing else
        // begins a transaction on it: a writer has no other.
        let begun = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate);
        let transaction = begun.map_err(failed)?;
        let head = rows::head(&transaction).map_err(failed)?;
        if head != *against {
            return Err(Error::HeadMoved { path, expected: against.seq, found: head.seq });
        }
        failpoint("begun");
        for Rows { seq, decisions, outcomes, originals, arms } in rows {
            rows::insert_decisions(&transaction, *seq, decisions, &mut same).map_err(failed)?;
            rows::insert_outcomes(&transaction, *seq, outcomes).map_err(failed)?;
            rows::insert_originals(&transaction, *seq, originals).map_err(failed)?;
            rows::insert_arms(&transaction, *seq, *arms).map_err(failed)?;
        }
        failpoint("rows-written");
        let mut appended = Vec::new();
        for record in seal()? {
            if let Some(key) = &record.entry.key
                && rows::has_key(&transaction, key).map_err(failed)?
            {
                return Err(Error::KeyUsed { path, key: key.clone() });
            }
            rows::insert_record(&transaction, &record).map_err(failed)?;
            appended.push(record.entry);
        }
        failpoint("entry-written");
        check(self)?;
        failpoint(if against.seq == 0 { "init-before-commit" } else { "before-commit" });
        transaction.commit().map_err(failed)?;
        failpoint("committed");
        self.same = same;
        Ok(appended)
    }

    fn head(&self) -> Result<Head, Error> {
        self.read(rows::head(&self.db))
    }

    fn limit(&mut self, bytes: Option<u64>) -> Result<(), Error> {
        let pages = bytes.map_or(i64::from(u32::MAX) - 1, |bytes| (bytes / 4096).max(1).cast_signed());
        let set = self.db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| row.get::<_, i64>(0));
        self.read(set.map(drop))
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        let mut statement = self.read(self.db.prepare_cached("SELECT * FROM entry WHERE seq = ?"))?;
        self.read(statement.query_row([seq.cast_signed()], rows::read_entry).optional())
    }

    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        let mut statement = self.read(self.db.prepare_cached("SELECT * FROM entry WHERE key = ?"))?;
        self.read(statement.query_row([key], rows::read_entry).optional())
    }

    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error> {
        let query = "SELECT * FROM entry WHERE seq > ? ORDER BY seq";
        let mut statement = self.read(self.db.prepare_cached(query))?;
        let mut found = self.read(statement.query([seq.cast_signed()]))?;
        let failed = |error: rusqlite::Error| sql(&self.path, error);
        while let Some(row) = found.next().map_err(failed)? {
            take(rows::read_entry(row).map_err(failed)?)?;
        }
        self.read(Ok(()))
    }

    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error> {
        let sql = format!("SELECT * FROM entry WHERE kind = ? AND {} ORDER BY seq", schema::RARE);
        self.collect(&sql, [kind.name()], rows::read_entry)
    }

    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error> {
        let sql =
            format!("SELECT * FROM entry WHERE kind = ? AND {} AND seq <= ? ORDER BY seq DESC LIMIT 1", schema::RARE);
        let mut statement = self.read(self.db.prepare_cached(&sql))?;
        let until = i64::try_from(until).unwrap_or(i64::MAX);
        self.read(statement.query_row(rusqlite::params![kind.name(), until], rows::read_entry).optional())
    }

    fn kept(&self) -> Result<Option<Kept>, Error> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Kept { seq: row.get::<_, i64>(0)?.cast_unsigned(), state: row.get(1)?, model: row.get(2)? })
        };
        let sql = "SELECT seq, state, model FROM checkpoint ORDER BY seq DESC LIMIT 1";
        self.read(self.db.query_row(sql, [], read).optional())
    }

    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        let mut statement = self.read(self.db.prepare_cached("SELECT bytes FROM sums WHERE segment = ?"))?;
        self.read(statement.query_row([segment.cast_signed()], |row| row.get(0)).optional())
    }

    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        if self.version < Version::SIX {
            return Ok(None);
        }
        let mut statement = self.read(self.db.prepare_cached("SELECT bytes FROM settled WHERE segment = ?"))?;
        self.read(statement.query_row([segment.cast_signed()], |row| row.get(0)).optional())
    }

    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error> {
        if self.version < Version::SIX {
            return Ok(None);
        }
        let mut statement = self.read(self.db.prepare_cached("SELECT bytes FROM arms WHERE seq = ?"))?;
        self.read(statement.query_row([seq.cast_signed()], |row| row.get(0)).optional())
    }

    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error> {
        let mut statement = self.read(self.db.prepare_cached(self.version.decisions()))?;
        let mut found = self.read(statement.query(range(round)))?;
        // Whether the file has changed meanwhile is asked once, not for every row.
        let failed = |error: rusqlite::Error| sql(&self.path, error);
        while let Some(row) = found.next().map_err(failed)? {
            let (seq, sent) = rows::read_decision(row).map_err(failed)?;
            take(seq, sent)?;
        }
        self.read(Ok(()))
    }

    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        self.collect(self.version.decisions_of(), [customer], rows::read_named)
    }

    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        let examined = self.version.examined();
        let sql = format!("SELECT number, decision, reward, {examined} FROM outcome o WHERE seq = ? ORDER BY number");
        let numbered = self.collect(&sql, [seq.cast_signed()], rows::read_numbered)?;
        if let Some(place) = (1_i64..).zip(&numbered).position(|(place, &(number, _))| place != number) {
            let problem = format!("outcome {} of entry {seq} has the number {}", place + 1, numbered[place].0);
            return Err(Error::Damaged { path: self.path.clone(), problem, cause: None });
        }
        Ok(numbered.into_iter().map(|(_, outcome)| outcome).collect())
    }

    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        let sql = format!(
            "SELECT o.decision, o.reward, {}, o.seq, e.kind FROM outcome o JOIN entry e ON e.seq = o.seq \
             WHERE o.decision >= ? AND o.decision < ? ORDER BY o.seq, o.number",
            self.version.examined()
        );
        self.collect(&sql, range(round), rows::read_heard)
    }

    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error> {
        if self.version == Version::FOUR {
            return Ok(Vec::new());
        }
        let sql = "SELECT decision, seq, columns, probability FROM original \
                   WHERE decision >= ? AND decision < ? ORDER BY decision";
        self.collect(sql, range(round), rows::read_original)
    }

    fn count_originals(&self) -> Result<u64, Error> {
        if self.version == Version::FOUR {
            return Ok(0);
        }
        let count = self.db.query_row("SELECT count(*) FROM original", [], |row| row.get::<_, i64>(0));
        self.read(count.map(i64::cast_unsigned))
    }

    fn count(&self) -> Result<(u64, u64), Error> {
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table} NOT INDEXED");
            self.db.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
        };
        let both = count("decision").and_then(|decisions| Ok((decisions, count("outcome")?)));
        self.read(both)
    }

    fn count_through(&self, round: u64) -> Result<(u64, u64, u64), Error> {
        let count = |table: &str, id: &str| {
            let sql = format!("SELECT count(*) FROM {table} WHERE {id} >= ? AND {id} < ?");
            self.db.query_row(&sql, [range(1)[0], range(round)[1]], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
        };
        let all = count("decision", "id")
            .and_then(|decisions| Ok((decisions, count("outcome", "decision")?, count("original", "decision")?)));
        self.read(all)
    }

    fn problems(&self) -> Result<Vec<String>, Error> {
        let lines = self.db.prepare("PRAGMA integrity_check").and_then(|mut statement| {
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()
        });
        let lines = self.read(Ok(lines))?;
        Ok(match lines {
            Ok(lines) if lines == ["ok"] => Vec::new(),
            Ok(lines) => vec![format!("SQLite's structure: {}", lines.first().map_or("", String::as_str))],
            Err(error) => vec![format!("SQLite's structure: {error}")],
        })
    }
}

impl Sqlite {
    fn collect<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        read: fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.read(self.db.prepare_cached(sql))?;
        self.read(statement.query_map(parameters, read).and_then(Iterator::collect))
    }
}

/// The ids of a round's decisions: from the first on, below the second.
fn range(round: u64) -> [i64; 2] {
    [(round << 32).cast_signed(), ((round + 1) << 32).cast_signed()]
}

/// What SQLite's errors mean for a campaign.
fn sql(path: &Path, error: rusqlite::Error) -> Error {
    let (path, problem) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            let problem = "it is not an armwise campaign, or its first bytes are destroyed".to_owned();
            Error::Damaged { path, problem, cause: Some(Box::new(error)) }
        }
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { path, problem, cause: Some(Box::new(error)) },
        Some(ErrorCode::DiskFull) => Error::DiskFull { path, cause: Some(Box::new(error)) },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Locked { path, holder: "another program that has it open with SQLite".to_owned() }
        }
        // A value of the wrong type or a missing table: the file is not as it was written.
        _ if !matches!(error, rusqlite::Error::SqliteFailure(..)) => {
            Error::Damaged { path, problem, cause: Some(Box::new(error)) }
        }
        _ => Error::Storage { path, problem, cause: Some(Box::new(error)) },
    }
}
