//! The second store: a journal in a PostgreSQL database, for any number of writers at once.
//!
//! The fence is the row of the campaign: an append locks it, compares its head with the one that the append was made
//! against, and replaces it in the same transaction, so there is one chain however many replicas write. There is no
//! leader, no advisory lock and no sequence. A reader sees one state of the database (REPEATABLE READ).

mod address;
mod append;
mod ask;
mod back;
mod duty;
mod fetch;
mod journal;
mod link;
mod rows;
mod schema;
mod tls;
mod tokens;
mod turn;
mod unknown;

pub use address::Address;
#[doc(hidden)]
pub use schema::be_the_next_version;
pub use tokens::{names, put_token, tokens};

use crate::{
    Error,
    core::{Head, Journal, Tag},
};
use link::Link;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
};
use tokio_postgres::types::Type;

/// How many connections of readers are kept for the next one.
const POOL: usize = 4;

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
    /// The head that was found when that transaction locked the campaign's row, while it waits for an append.
    turn: Mutex<Option<Head>>,
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
            turn: Mutex::new(None),
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
