//! A copy of a campaign that is in use, as of one moment.
//!
//! A plain copy of the file misses what SQLite still has beside it. Here SQLite copies its pages inside one read
//! transaction, so a writer neither waits nor shows; the copy gets its name when it is complete and has been opened.

use super::{Access, New, Sqlite, rows, sql, writing};
use crate::{Campaign, Error, core::Head};
use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
};
use serde::Serialize;
use std::{path::Path, thread::sleep, time::Duration};

/// What a backup has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// The last entry that is in it.
    pub head: Head,
    /// How many rounds are in it.
    pub rounds: u64,
}

/// Copies a campaign's file, beside any writer, into a new file. To check every row of the copy, verify it.
///
/// # Errors
/// [`Error::Exists`] if the new file exists, [`Error::Damaged`] if the copy cannot be opened; [`Error::NotFound`],
/// [`Error::Storage`]. The new file is there only after success.
pub fn backup(from: &Path, to: &Path) -> Result<BackedUp, Error> {
    let source = Sqlite::open(from, None)?;
    let head = source.read(rows::head(&source.db))?;
    let new = New::begin(to, "backup")?;
    let part = new.pending.part();
    copy(&source, part)?;
    // Whoever may only read the source learns here if it changed meanwhile.
    source.read(Ok(()))?;
    // Opened for writing, since only then does SQLite take away its own files beside it again.
    let copied = Campaign::open(Box::new(Sqlite::prepared(part, writing(part)?, Access::Write { _lock: None })?))?;
    if copied.head() != head {
        let problem = "the copy is not the campaign that was copied".to_owned();
        return Err(Error::Damaged { path: to.to_owned(), problem, cause: None });
    }
    let rounds = copied.count_rounds();
    drop(copied);
    new.publish()?;
    Ok(BackedUp { head, rounds })
}

/// Copies all pages in one step, as the source's read transaction shows them.
fn copy(source: &Sqlite, to: &Path) -> Result<(), Error> {
    let copied = Connection::open(to).and_then(|mut db| {
        db.execute_batch("PRAGMA synchronous = FULL")?;
        let backup = Backup::new(&source.db, &mut db)?;
        while !matches!(backup.step(-1)?, StepResult::Done) {
            sleep(Duration::from_millis(5));
        }
        Ok(())
    });
    copied.map_err(|error| sql(to, error))
}
