//! Questions to the database over the journal's connection, which is made anew where it is lost.
//!
//! Inside a transaction it is not: what was done there is gone with the connection, and whoever goes on must know.

use super::{
    Postgres,
    link::{Link, Trouble, Value},
    rows,
};
use crate::Error;
use std::{
    sync::{PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio_postgres::Row;

/// How often a lost connection is made anew for one statement.
const TRIES: u32 = 3;
/// After so long it is not tried again: a database that does not answer at all has taken its time already.
const ENOUGH: Duration = Duration::from_secs(3);

impl Postgres {
    /// Does something with the connection, which is made anew where it is lost, unless a transaction is open.
    pub(super) fn with_link<T>(&self, act: impl Fn(&Link) -> Result<T, Trouble>) -> Result<T, Error> {
        let (begun, mut tries) = (Instant::now(), 0);
        loop {
            tries += 1;
            let done = self.once(&act);
            match done {
                Err(trouble) if trouble.is_lost() => {
                    *self.link() = None;
                    if self.within.load(Ordering::Relaxed) || tries == TRIES || begun.elapsed() > ENOUGH {
                        return Err(trouble.error(self.address.shown()));
                    }
                    std::thread::sleep(Duration::from_millis(50) * tries);
                }
                done => return done.map_err(|trouble| trouble.error(self.address.shown())),
            }
        }
    }

    /// Asks beside whatever transaction is open.
    pub(super) fn ask_beside(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        let mut own = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let (begun, mut tries) = (Instant::now(), 0);
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
                Err(trouble) if trouble.is_lost() && tries < 2 && begun.elapsed() < ENOUGH => {}
                Err(trouble) => return Err(trouble.error(self.address.shown())),
            }
        }
    }

    /// Does something with the connection, once.
    pub(super) fn once<T>(&self, act: impl Fn(&Link) -> Result<T, Trouble>) -> Result<T, Trouble> {
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

    pub(super) fn ask(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        self.with_link(|link| link.ask(sql, values))
    }

    /// As [`ask`](Self::ask), each row read.
    pub(super) fn collect<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: fn(&Row) -> Result<T, rows::Bad>,
    ) -> Result<Vec<T>, Error> {
        self.taken(&self.ask(sql, values)?, read)
    }

    pub(super) fn taken<T>(&self, rows: &[Row], read: fn(&Row) -> Result<T, rows::Bad>) -> Result<Vec<T>, Error> {
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|problem| self.damaged(problem))
    }

    pub(super) fn damaged(&self, problem: String) -> Error {
        Error::Damaged { path: self.address.shown().to_owned(), problem, cause: None }
    }
}
