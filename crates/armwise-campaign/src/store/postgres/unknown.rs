//! The commit, and what is done where nobody knows whether it happened.
//!
//! If the connection is lost while the commit is under way, the campaign's row is locked on a new connection, which waits
//! until the old transaction is over, and the journal itself is asked.

use super::{
    Link, Postgres,
    link::{Asked, Trouble},
    turn::{BEGIN, Open, undone},
};
use crate::{
    Error,
    core::{Head, Journal},
};
use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};
use tokio_postgres::types::Type;

/// How long it may take to find out whether a commit happened.
const UNKNOWN: Duration = Duration::from_secs(15);

impl Postgres {
    pub(super) fn commit(&self, open: Open<'_>, against: &Head, last: &Head) -> Result<(), Error> {
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

    /// Whether the last entry of an append is there, once nobody is appending. A campaign that is made by the append has no
    /// row that could be waited for: if its commit comes after this look, it is made though its maker was told otherwise, and
    /// whoever asks for the same campaign again gets it.
    fn look(&self, link: &Link, last: &Head) -> Result<bool, Trouble> {
        let name = self.address.campaign();
        let lock = "SELECT id FROM armwise.campaign WHERE name = $1 FOR UPDATE";
        let lock = [Asked { sql: lock, values: vec![(&name, Type::TEXT)] }];
        let there = link.run_and_ask(BEGIN, &lock).map_err(|trouble| undone(link, trouble))?.concat();
        let sql = "SELECT 1 FROM armwise.entry e JOIN armwise.campaign c ON c.id = e.campaign \
                   WHERE c.name = $1 AND e.seq = $2 AND e.hash = $3";
        let (seq, hash) = (last.seq.cast_signed(), last.hash.to_string());
        let found = link.ask(sql, &[(&name, Type::TEXT), (&seq, Type::INT8), (&hash, Type::TEXT)]);
        link.run("ROLLBACK")?;
        Ok(!there.is_empty() && !found?.is_empty())
    }
}
