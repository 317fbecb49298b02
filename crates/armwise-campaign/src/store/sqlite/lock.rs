//! One writer at a time: a kernel lock on a file next to the campaign's, with the holder's name in it.
//!
//! The kernel (flock) releases the lock when the process ends, however it ends. The text in the file is only for the
//! error message, and means nothing while nobody holds the lock. The campaign's file itself is not locked this way,
//! because closing a second handle of it would drop SQLite's own locks.

use crate::{Error, core::clock, output::beside};
use std::{
    fs::{File, TryLockError},
    io::{Read, Write},
    path::Path,
};

/// The lock, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock or says who has it.
    pub(super) fn take(campaign: &Path, command: &str) -> Result<Self, Error> {
        // A link to the campaign and the campaign itself have one lock.
        let path = beside(&campaign.canonicalize().unwrap_or_else(|_| campaign.to_owned()), ".lock");
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                let name = campaign.parent().unwrap_or(campaign).display().to_string();
                Error::NotFound { what: "the folder", name, hint: String::new() }
            }
            _ => Error::storage(&path, error),
        };
        let mut options = File::options();
        let opened = options.read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = if holder.trim().is_empty() { "another process".to_owned() } else { holder };
                return Err(Error::Locked { path: campaign.to_owned(), holder: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let holder = format!("armwise {command}, process {}, since {}", std::process::id(), clock::now());
        // The lock works without a name in the file, so a full disk is no reason to fail here.
        let _ = file.set_len(0).and_then(|()| file.write_all(holder.as_bytes()));
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}
