//! Finished work on disk, so that an interrupted run continues where it stopped.
//!
//! One file per unit, named by a hash of its key and holding the key itself, written under a temporary name and
//! renamed. A file that is damaged, or has another key, is ignored. Every key begins with a hash of the program, so
//! that a rebuilt program uses no work of an older one.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Serialize, de::DeserializeOwned};
use twox_hash::XxHash64;

use crate::Error;

const FOLDER: &str = ".unfinished";

/// Where finished units are kept, or nowhere.
#[derive(Debug, Default)]
pub struct Store {
    folder: Option<PathBuf>,
    prefix: String,
    written: AtomicU64,
}

impl Store {
    /// Keeps nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Keeps work in a hidden folder inside `out`, made when the first work is finished; `prefix` goes into every
    /// key.
    #[must_use]
    pub fn in_folder(out: &Path, prefix: &str) -> Self {
        Self { folder: Some(out.join(FOLDER)), prefix: prefix.to_owned(), written: AtomicU64::new(0) }
    }

    /// Keeps work in a hidden folder beside a file and named after it: `.study.toml.unfinished` for `study.toml`.
    #[must_use]
    pub fn beside(file: &Path, prefix: &str) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let folder = file.with_file_name(format!(".{name}{FOLDER}"));
        Self { folder: Some(folder), prefix: prefix.to_owned(), written: AtomicU64::new(0) }
    }

    /// What identifies the work of a run, beside the units' own keys: the version, the program's own bytes and the
    /// seed.
    #[must_use]
    pub fn prefix(seed: u64) -> String {
        let bytes = std::env::current_exe().and_then(fs::read).unwrap_or_default();
        let program = XxHash64::oneshot(0, &bytes);
        format!("armwise {} program {program:016x} seed {seed}", env!("CARGO_PKG_VERSION"))
    }

    /// Makes the folder, to learn before the work whether it can be kept.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be made.
    pub fn prepare(&self) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.clone(), source })
    }

    /// The full key of a unit.
    #[must_use]
    pub fn key(&self, unit: &str) -> String {
        format!("{} {unit}", self.prefix)
    }

    /// What was kept under a key.
    #[must_use]
    pub fn get<R: DeserializeOwned>(&self, key: &str) -> Option<R> {
        let text = fs::read(self.path(key)?).ok()?;
        let (found, value): (String, R) = serde_json::from_slice(&text).ok()?;
        (found == key).then_some(value)
    }

    /// Keeps a value.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be written.
    pub fn put<R: Serialize>(&self, key: &str, value: &R) -> Result<(), Error> {
        let (Some(folder), Some(path)) = (&self.folder, self.path(key)) else { return Ok(()) };
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let written = path.with_extension(format!("{}-{number}.part", std::process::id()));
        let io = |source| Error::Io { path: path.clone(), source };
        let text = serde_json::to_vec(&(key, value)).map_err(|error| io(error.into()))?;
        fs::create_dir_all(folder).map_err(io)?;
        fs::write(&written, text).and_then(|()| fs::rename(&written, &path)).map_err(io)
    }

    /// Removes everything kept: the run is finished.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be removed.
    pub fn clear(&self) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if !folder.exists() {
            return Ok(());
        }
        fs::remove_dir_all(folder).map_err(|source| Error::Io { path: folder.clone(), source })
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        let name = format!("{:016x}.json", armwise::id_of(key));
        self.folder.as_ref().map(|folder| folder.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_and_foreign_files_count_as_missing() {
        let out = std::env::temp_dir().join(format!("armwise-store-{}", std::process::id()));
        let store = Store::in_folder(&out, "v");
        let key = store.key("unit");
        store.put(&key, &vec![0.1, 1.0 / 3.0]).unwrap();
        assert_eq!(store.get::<Vec<f64>>(&key), Some(vec![0.1, 1.0 / 3.0]));
        let path = store.path(&key).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert_eq!(store.get::<Vec<f64>>(&key), None);
        fs::write(&path, text.replace("unit", "other")).unwrap();
        assert_eq!(store.get::<Vec<f64>>(&key), None);
        fs::remove_dir_all(out).unwrap();
    }
}
