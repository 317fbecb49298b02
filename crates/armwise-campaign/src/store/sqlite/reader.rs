//! Readers that may not write leave nothing behind.
//!
//! SQLite makes `-wal` and `-shm` beside a file even for a reader. Made by another account than the owner's, they would
//! lock the owner out; in a folder that cannot be written, they cannot be made and the file could not be read at all. So
//! an account that may not write to the file reads it as it lies there (`immutable`) if all of it is in the main file,
//! and stops with [`Error::Locked`] as soon as that file changes. While a writer's `-wal` is there, it takes the writer's
//! own `-shm` and makes none.

use super::sql;
use crate::{
    Error,
    output::{beside, system},
};
use rusqlite::{Connection, OpenFlags};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// A file that was modified within this time could be modified again without another time of modification.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// What a reader watches who may not write.
#[derive(Debug)]
pub(super) struct Watch {
    path: PathBuf,
    /// When the main file was last modified and its length, where it is read as it lies there.
    still: Option<(SystemTime, u64)>,
    /// The file that SQLite would make if the writer's own went away while it is opened.
    wal: PathBuf,
}

impl Watch {
    /// Refuses what was read if the file has changed meanwhile.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.still {
            Some(still) if modified(&self.path)? != still => {
                let holder = "somebody who writes to it while it is read".to_owned();
                Err(Error::Locked { path: self.path.clone(), holder })
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The writer's own file went away while SQLite opened it, and SQLite made an empty one in this account's name.
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let me = rustix::process::geteuid().as_raw();
            if std::fs::metadata(&self.wal).is_ok_and(|wal| wal.len() == 0 && wal.uid() == me) && me != 0 {
                let _ = std::fs::remove_file(&self.wal);
            }
        }
    }
}

fn modified(path: &Path) -> Result<(SystemTime, u64), Error> {
    let about = std::fs::metadata(path).map_err(|error| Error::io(path, error))?;
    Ok((about.modified().map_err(|error| Error::io(path, error))?, about.len()))
}

/// Opens a database for reading.
pub(super) fn open(path: &Path) -> Result<(Connection, Option<Watch>), Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if system::may_write(path) {
        let db = Connection::open_with_flags(path, flags).map_err(|error| sql(path, error))?;
        return Ok((db, None));
    }
    let real = path.canonicalize().map_err(|error| Error::io(path, error))?;
    let wal = beside(&real, "-wal");
    let mut watch = Watch { path: real, still: None, wal };
    let how = if std::fs::metadata(&watch.wal).is_ok_and(|wal| wal.len() > 0) {
        if !beside(&watch.path, "-shm").exists() {
            let problem =
                "its last writer did not finish, and this account may not finish for it; open it once with an \
                           account that may write to it"
                    .to_owned();
            return Err(Error::Storage { path: path.to_owned(), problem, cause: None });
        }
        "readonly_shm=1"
    } else {
        if SystemTime::now().duration_since(modified(&watch.path)?.0).is_ok_and(|age| age < CLOCK_STEP) {
            std::thread::sleep(CLOCK_STEP);
        }
        watch.still = Some(modified(&watch.path)?);
        "immutable=1"
    };
    let uri = format!("file:{}?{how}", encoded(&watch.path));
    let db = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI).map_err(|error| sql(path, error))?;
    Ok((db, Some(watch)))
}

/// A path as part of a URI.
fn encoded(path: &Path) -> String {
    let mut text = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
