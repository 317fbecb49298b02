//! The fence: the campaign's row, locked for one append.
//!
//! An append locks the row itself, or it comes in a turn, which has locked the row before anything was judged. Either way the
//! head that is found in the row is compared with the one that the append was made against.

use super::{
    Link, Postgres,
    fetch::Asking,
    is_fenced,
    link::{Asked, Trouble},
    schema,
};
use crate::{
    Error,
    core::{Head, Journal, News},
};
use std::sync::{MutexGuard, PoisonError, atomic::Ordering};
use tokio_postgres::{Row, types::Type};

/// Nothing is set beyond the transaction. A replica that stops in the middle must not hold the others up for long, and a
/// commit is on the disk even where the database is told not to wait for it.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '3s'; SET LOCAL idle_in_transaction_session_timeout = '3s'; \
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";
/// The fence: whoever has this row is the only one who appends.
const LOCK: &str = "SELECT c.seq, c.head, s.version, s.oldest FROM armwise.campaign c, armwise.schema s \
    WHERE c.id = $1 FOR UPDATE OF c";

/// A transaction that is taken back unless it is committed.
pub(super) struct Open<'a> {
    of: &'a Postgres,
    /// Whether the campaign is made in it.
    pub(super) new: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.of.within.load(Ordering::Relaxed) {
            let back = self.of.once(|link| link.run("ROLLBACK"));
            self.of.within.store(false, Ordering::Relaxed);
            if back.is_err() {
                *self.of.link() = None;
            }
            if self.new {
                self.of.set_id(None);
            }
        }
    }
}

impl Postgres {
    /// Begins a transaction, locks the campaign's row and compares its head.
    pub(super) fn begin(&self, against: &Head) -> Result<(Open<'_>, i32), Error> {
        if self.id().is_none() {
            self.find()?;
        }
        let Some(number) = self.id() else { return self.make(against) };
        let turn = self.turn().take();
        let open = Open { of: self, new: false };
        let found = if let Some(head) = turn {
            // The row is locked since then.
            head
        } else {
            let lock = [Asked { sql: LOCK, values: vec![(&number, Type::INT4)] }];
            let locked =
                self.with_link(|link| link.run_and_ask(BEGIN, &lock).map_err(|trouble| undone(link, trouble)))?;
            self.within.store(true, Ordering::Relaxed);
            self.locked(&locked)?
        };
        if found != *against && is_fenced() {
            return Err(self.moved(against, found.seq));
        }
        self.on_duty(number)?;
        Ok((open, number))
    }

    /// The head in the campaign's row, which is locked.
    fn locked(&self, found: &[Vec<Row>]) -> Result<Head, Error> {
        let none = || Error::NoCampaign { path: self.path().to_owned() };
        let row = found.first().and_then(|rows| rows.first()).ok_or_else(none)?;
        schema::usable(self.path(), row.get(2), row.get(3))?;
        self.head_of(row)
    }

    /// Locks the campaign's row for the next append, and reads in the same step what came after an entry: each statement
    /// sees what was committed before it began, and the first one waits for the row.
    pub(super) fn take_turn(&self, after: u64) -> Result<Option<(Head, News)>, Error> {
        self.give_turn();
        let Some(number) = self.id() else { return Ok(None) };
        let asking = Asking::of(number, after, None);
        let mut asked = vec![Asked { sql: LOCK, values: vec![(&number, Type::INT4)] }];
        asked.extend(asking.asked());
        let found = self.with_link(|link| link.run_and_ask(BEGIN, &asked).map_err(|trouble| undone(link, trouble)))?;
        self.within.store(true, Ordering::Relaxed);
        let open = Open { of: self, new: false };
        let got = (self.locked(&found)?, self.news_of(&found[1..])?);
        *self.turn() = Some(got.0);
        std::mem::forget(open);
        Ok(Some(got))
    }

    /// Lets the campaign's row go, if it is locked for an append that did not come.
    pub(super) fn give_turn(&self) {
        if self.turn().take().is_some() {
            drop(Open { of: self, new: false });
        }
    }

    fn turn(&self) -> MutexGuard<'_, Option<Head>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn moved(&self, against: &Head, found: u64) -> Error {
        Error::HeadMoved { path: self.path().to_owned(), expected: against.seq, found }
    }

    /// Makes the campaign's row together with its first entries.
    fn make(&self, against: &Head) -> Result<(Open<'_>, i32), Error> {
        if *against != Head::none() {
            return Err(Error::NoCampaign { path: self.path().to_owned() });
        }
        // Two that are made at once must not get one number.
        let begin = format!("{BEGIN}; LOCK TABLE armwise.campaign IN SHARE ROW EXCLUSIVE MODE");
        self.with_link(|link| link.run(&begin).map_err(|trouble| undone(link, trouble)))?;
        self.within.store(true, Ordering::Relaxed);
        let open = Open { of: self, new: true };
        let (name, none) = (self.address.campaign(), Head::none().hash.to_string());
        if name.is_empty() {
            return Err(Error::Usage("a campaign needs a name".to_owned()));
        }
        let sql = "INSERT INTO armwise.campaign (id, name, seq, head) \
                   SELECT coalesce(max(id), 0) + 1, $1, 0, $2 FROM armwise.campaign \
                   ON CONFLICT (name) DO NOTHING RETURNING id";
        let made = self.ask(sql, &[(&name, Type::TEXT), (&none, Type::TEXT)])?;
        let Some(number) = made.first().map(|row| row.get::<_, i32>(0)) else {
            let sql = "SELECT seq FROM armwise.campaign WHERE name = $1";
            let seq = self.ask(sql, &[(&name, Type::TEXT)])?.first().map_or(0, |row| row.get::<_, i64>(0));
            return Err(self.moved(against, seq.cast_unsigned()));
        };
        self.set_id(Some(number));
        Ok((open, number))
    }
}

/// Takes a transaction back; where that cannot be done, the connection is of no use any more.
pub(super) fn undone(link: &Link, trouble: Trouble) -> Trouble {
    if trouble.is_lost() {
        return trouble;
    }
    match link.run("ROLLBACK") {
        Ok(()) => trouble,
        Err(lost) => Trouble::Lost(format!("a transaction could not be taken back: {lost:?}")),
    }
}
