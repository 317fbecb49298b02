//! How entries get into the database: all in one transaction, behind the fence.
//!
//! If the connection is lost while the commit is under way, nobody knows whether it happened. Then the campaign's row is
//! locked on a new connection, which waits until the old transaction is over, and the journal itself is asked.

use super::{
    Postgres,
    back::ReadBack,
    is_fenced,
    link::{Asked, Trouble, Value},
    rows::{self, Insert},
    schema,
};
use crate::{
    Error,
    core::{Check, Entry, Head, Journal, Kind, Record, Rows, Seal, failpoint},
};
use std::{
    collections::HashSet,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};
use tokio_postgres::types::Type;

/// Nothing is set beyond the transaction. A replica that stops in the middle must not hold the others up for long, and a
/// commit is on the disk even where the database is told not to wait for it.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '3s'; SET LOCAL idle_in_transaction_session_timeout = '3s'; \
    DO $$ BEGIN IF current_setting('synchronous_commit') = 'off' THEN SET LOCAL synchronous_commit = on; END IF; END $$";
/// With more rows, it may take longer until everything about them is ready.
const LARGE: usize = 5000;
/// The fence: whoever has this row is the only one who appends.
const LOCK: &str = "SELECT c.seq, c.head, s.version, s.oldest FROM armwise.campaign c, armwise.schema s \
    WHERE c.id = $1 FOR UPDATE OF c";
/// How long it may take to find out whether a commit happened.
const UNKNOWN: Duration = Duration::from_secs(15);

/// A transaction that is taken back unless it is committed.
struct Open<'a> {
    of: &'a Postgres,
    /// Whether the campaign is made in it.
    new: bool,
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
    pub(super) fn append_all(
        &self,
        against: &Head,
        own: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        let (open, number) = self.begin(against)?;
        failpoint("begun");
        if own.iter().map(|own| own.decisions.len() + own.outcomes.len()).sum::<usize>() > LARGE {
            self.with_link(|link| link.run("SET LOCAL idle_in_transaction_session_timeout = '2min'"))?;
        }
        self.insert_all(&rows::inserts(number, own).map_err(Error::Usage)?)?;
        failpoint("rows-written");
        let records = seal()?;
        let Some(last) = records.last().map(|record| record.entry.head()) else { return Ok(Vec::new()) };
        self.keys_are_new(&records)?;
        self.insert_all(&written(number, &records)?)?;
        self.give_up(number, &records)?;
        self.go_on(number, against, &last)?;
        failpoint("entry-written");
        if is_fenced() {
            let news = self.fetch(against.seq, Some(last.seq))?;
            check(&ReadBack::of(self, news, own)?)?;
        }
        failpoint(if against.seq == 0 { "init-before-commit" } else { "before-commit" });
        self.commit(open, against, &last)?;
        failpoint("committed");
        Ok(records.into_iter().map(|record| record.entry).collect())
    }

    /// Begins a transaction, locks the campaign's row and compares its head.
    fn begin(&self, against: &Head) -> Result<(Open<'_>, i32), Error> {
        if self.id().is_none() {
            self.find()?;
        }
        let Some(number) = self.id() else { return self.make(against) };
        let values: Vec<Value<'_>> = vec![(&number, Type::INT4)];
        let lock = Asked { sql: LOCK, values };
        let has_turn = self.turn.swap(false, Ordering::Relaxed);
        let open = Open { of: self, new: false };
        let locked = if has_turn {
            self.ask(LOCK, &lock.values)?
        } else {
            self.with_link(|link| link.run_and_ask(BEGIN, &lock).map_err(|trouble| undone(link, trouble)))?
        };
        self.within.store(true, Ordering::Relaxed);
        let row = locked.first().ok_or_else(|| Error::NoCampaign { path: self.path().to_owned() })?;
        schema::usable(self.path(), row.get(2), row.get(3))?;
        let found = self.head_of(row)?;
        if found != *against && is_fenced() {
            return Err(self.moved(against, found.seq));
        }
        self.on_duty(number)?;
        Ok((open, number))
    }

    /// Locks the campaign's row for the next append, or lets it go.
    pub(super) fn take_turn(&self, on: bool) -> Result<(), Error> {
        if self.turn.swap(false, Ordering::Relaxed) {
            drop(Open { of: self, new: false });
        }
        let Some(number) = self.id().filter(|_| on) else { return Ok(()) };
        let lock = Asked { sql: LOCK, values: vec![(&number, Type::INT4)] };
        self.with_link(|link| link.run_and_ask(BEGIN, &lock).map_err(|trouble| undone(link, trouble)))?;
        self.within.store(true, Ordering::Relaxed);
        self.turn.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn moved(&self, against: &Head, found: u64) -> Error {
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

    /// Writes rows, as many statements at once as there are.
    fn insert_all(&self, inserts: &[Insert]) -> Result<(), Error> {
        for part in inserts.chunks(8) {
            let asked: Vec<Asked<'_>> = part.iter().map(Insert::asked).collect();
            self.with_link(|link| link.ask_all(&asked).map(drop))?;
        }
        Ok(())
    }

    fn keys_are_new(&self, records: &[Record]) -> Result<(), Error> {
        let used = |key: &str| Error::KeyUsed { path: self.path().to_owned(), key: key.to_owned() };
        let keys: Vec<&str> = records.iter().filter_map(|record| record.entry.key.as_deref()).collect();
        let mut seen = HashSet::new();
        if let Some(twice) = keys.iter().find(|key| !seen.insert(**key)) {
            return Err(used(twice));
        }
        if keys.is_empty() {
            return Ok(());
        }
        // Nobody else can write one now.
        let sql = "SELECT key FROM armwise.entry WHERE campaign = $1 AND key = ANY($2) LIMIT 1";
        let found = self.ask(sql, &[(&self.number(), Type::INT4), (&keys, Type::TEXT_ARRAY)])?;
        match found.first() {
            Some(row) if is_fenced() => Err(used(row.get(0))),
            _ => Ok(()),
        }
    }

    /// Takes rows out that an entry gives up.
    fn give_up(&self, number: i32, records: &[Record]) -> Result<(), Error> {
        for entry in records.iter().map(|record| &record.entry).filter(|entry| entry.kind == Kind::Compact) {
            let Some(round) = entry.round else { continue };
            let (from, end) = (super::range(1)[0], super::range(round)[1]);
            for (table, id) in [("decision", "id"), ("outcome", "decision"), ("original", "decision")] {
                let sql = format!("DELETE FROM armwise.{table} WHERE campaign = $1 AND {id} >= $2 AND {id} < $3");
                let values: [Value<'_>; 3] = [(&number, Type::INT4), (&from, Type::INT8), (&end, Type::INT8)];
                self.with_link(|link| link.ask_slowly(&sql, &values))?;
            }
        }
        Ok(())
    }

    /// Compares and swaps the head.
    fn go_on(&self, number: i32, against: &Head, last: &Head) -> Result<(), Error> {
        let fence = if is_fenced() { "AND seq = $4 AND head = $5" } else { "AND $4 >= 0 AND $5 <> ''" };
        // Tables that were changed since the row was locked are seen here, and cannot be changed from here on.
        let sql = format!(
            "UPDATE armwise.campaign SET seq = $2, head = $3 WHERE id = $1 {fence} \
             AND (SELECT oldest FROM armwise.schema) <= $6 RETURNING seq"
        );
        let (seq, head) = (last.seq.cast_signed(), last.hash.to_string());
        let (old, hash) = (against.seq.cast_signed(), against.hash.to_string());
        let values: [Value<'_>; 6] = [
            (&number, Type::INT4),
            (&seq, Type::INT8),
            (&head, Type::TEXT),
            (&old, Type::INT8),
            (&hash, Type::TEXT),
            (&schema::VERSION, Type::INT4),
        ];
        if self.ask(&sql, &values)?.len() == 1 { Ok(()) } else { Err(self.moved(against, 0)) }
    }

    fn commit(&self, open: Open<'_>, against: &Head, last: &Head) -> Result<(), Error> {
        let done = self.once(|link| link.run("COMMIT"));
        self.within.store(false, Ordering::Relaxed);
        let new = open.new;
        drop(open);
        let Err(trouble) = done else { return Ok(()) };
        *self.link() = None;
        let found = self.find_out(against, last, trouble);
        if new && found.is_err() {
            self.set_id(None);
        }
        found
    }

    /// Whether a commit happened whose answer was lost.
    fn find_out(&self, against: &Head, last: &Head, mut trouble: Trouble) -> Result<(), Error> {
        let begun = Instant::now();
        while begun.elapsed() < UNKNOWN {
            match self.once(|link| self.look(link, last)) {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    let problem = format!("the connection was lost before entry {} was written", against.seq + 1);
                    return Err(Error::Unavailable { path: self.path().to_owned(), problem });
                }
                Err(again) => trouble = again,
            }
            *self.link() = None;
            std::thread::sleep(Duration::from_millis(200));
        }
        let problem = match trouble.error(self.path()) {
            Error::Unavailable { problem, .. } => problem,
            other => other.to_string(),
        };
        let problem = format!("nobody knows whether entry {} was written: {problem}", against.seq + 1);
        Err(Error::Unavailable { path: self.path().to_owned(), problem })
    }

    /// Whether the last entry of an append is there, once nobody is appending.
    fn look(&self, link: &super::Link, last: &Head) -> Result<bool, Trouble> {
        let name = self.address.campaign();
        let lock = "SELECT id FROM armwise.campaign WHERE name = $1 FOR UPDATE";
        let lock = Asked { sql: lock, values: vec![(&name, Type::TEXT)] };
        let there = link.run_and_ask(BEGIN, &lock).map_err(|trouble| undone(link, trouble))?;
        let sql = "SELECT 1 FROM armwise.entry e JOIN armwise.campaign c ON c.id = e.campaign \
                   WHERE c.name = $1 AND e.seq = $2 AND e.hash = $3";
        let (seq, hash) = (last.seq.cast_signed(), last.hash.to_string());
        let found = link.ask(sql, &[(&name, Type::TEXT), (&seq, Type::INT8), (&hash, Type::TEXT)]);
        link.run("ROLLBACK")?;
        Ok(!there.is_empty() && !found?.is_empty())
    }
}

/// Takes a transaction back; where that cannot be done, the connection is of no use any more.
fn undone(link: &super::Link, trouble: Trouble) -> Trouble {
    if trouble.is_lost() {
        return trouble;
    }
    match link.run("ROLLBACK") {
        Ok(()) => trouble,
        Err(lost) => Trouble::Lost(format!("a transaction could not be taken back: {lost:?}")),
    }
}

/// The statements that write entries and what is kept beside them.
fn written(number: i32, records: &[Record]) -> Result<Vec<Insert>, Error> {
    let entries: Vec<Entry> = records.iter().map(|record| record.entry.clone()).collect();
    if rows::has_nul(entries.iter().flat_map(|entry| [entry.body.as_str(), entry.changes.as_str()])) {
        return Err(Error::Usage(rows::NUL.to_owned()));
    }
    let mut all = vec![rows::insert_entries(number, &entries)];
    let sums: Vec<(u64, Vec<u8>)> = records.iter().flat_map(|record| record.sums.iter().cloned()).collect();
    let settled: Vec<(u64, Vec<u8>)> = records.iter().flat_map(|record| record.settled.iter().cloned()).collect();
    all.extend(rows::replace_bytes(number, "sums", &sums));
    all.extend(rows::replace_bytes(number, "settled", &settled));
    if let Some(kept) = records.iter().rev().find_map(|record| record.kept.as_ref()) {
        let sql = "INSERT INTO armwise.checkpoint VALUES ($1, $2, $3, $4) ON CONFLICT (campaign) \
                   DO UPDATE SET seq = excluded.seq, state = excluded.state, model = excluded.model";
        let insert = Insert::new(sql).with(number, Type::INT4).with(kept.seq.cast_signed(), Type::INT8);
        all.push(insert.with(kept.state.clone(), Type::BYTEA).with(kept.model.clone(), Type::BYTEA));
    }
    Ok(all)
}
