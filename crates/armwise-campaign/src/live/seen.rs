//! The newest head that this server has seen, in a file of its own, so that it notices after a restart too that the database
//! is older than it was.

use crate::{
    Campaign, Error,
    core::{Head, Sha},
    output::{Existing, Pending},
};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How often the file is written.
const EVERY: Duration = Duration::from_secs(1);

/// What was seen.
#[derive(Debug)]
pub(super) struct Seen {
    file: PathBuf,
    written: (Option<Instant>, u64),
}

#[derive(Deserialize)]
struct Written {
    seq: u64,
    hash: Sha,
}

impl Seen {
    /// The file of a campaign in a folder, which is made; refuses a campaign that lacks what was seen.
    pub(super) fn of(folder: &Path, name: &str, campaign: &Campaign) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).map_err(|error| Error::storage(folder, error))?;
        let file = folder.join(format!("{name}.json"));
        match std::fs::read(&file) {
            Ok(bytes) => {
                let bad = |error: serde_json::Error| Error::storage(&file, error);
                let Written { seq, hash } = serde_json::from_slice(&bytes).map_err(bad)?;
                campaign.still_has(&Head { seq, hash })?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::storage(&file, error)),
        }
        Ok(Self { file, written: (None, 0) })
    }

    /// Notes a head; not more often than once in a while, unless it is the `last` time.
    pub(super) fn note(&mut self, head: &Head, last: bool) {
        let (at, seq) = self.written;
        if seq == head.seq || !last && at.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.written = (Some(Instant::now()), head.seq);
        let text = serde_json::json!({ "seq": head.seq, "hash": head.hash }).to_string();
        // It helps against a mistake of an operator, and is no reason to stop serving.
        let _ = Pending::begin(&self.file, Existing::Replace, &[]).and_then(|mut file| {
            file.write(text.as_bytes())?;
            file.publish()
        });
    }
}
