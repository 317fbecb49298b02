//! A copy of a campaign that is in use, as of one moment.
//!
//! A plain copy of the file misses what SQLite still has beside it. Here SQLite copies its pages inside one read
//! transaction, so a writer neither waits nor shows; the copy gets its name when it is complete, on the disk, and has
//! been opened.

use super::{Sqlite, lock::Lock, rows, sql};
use crate::{Campaign, Error, core::Head};
use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
};
use serde::Serialize;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

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
    let head = rows::head(&source.db).map_err(|error| sql(from, error))?;
    let exists = || Error::Exists { path: to.to_owned() };
    if to.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let _lock = Lock::take(to, "backup")?;
    let unfinished = beside(to, ".unfinished");
    let clean = || {
        for end in ["", "-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(beside(&unfinished, end));
        }
    };
    // Removes what a killed backup left behind.
    clean();
    let made = copy(&source, &unfinished).and_then(|()| {
        let copy = Campaign::read(&unfinished)?;
        if copy.head() != head {
            return Err(copy_differs(to));
        }
        Ok(BackedUp { head, rounds: copy.rounds().len() as u64 })
    });
    let named = made.and_then(|made| {
        let failed = |error| Error::io(to, error);
        File::open(&unfinished).and_then(|file| file.sync_all()).map_err(failed)?;
        if to.symlink_metadata().is_ok() {
            return Err(exists());
        }
        fs::rename(&unfinished, to).map_err(failed)?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(made)
    });
    clean();
    named
}

fn copy_differs(to: &Path) -> Error {
    let problem = "the copy is not the campaign that was copied".to_owned();
    Error::Damaged { path: to.to_owned(), problem, cause: None }
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

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
