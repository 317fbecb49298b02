//! Files that get their name only when they are complete and on the disk.
//!
//! A file is written under a temporary name in the same folder, synced and renamed; then the folder is synced, since a
//! power cut may forget a name that is not. Whoever writes a temporary file holds a lock on it (flock), so one that
//! nobody has locked was left behind by a process that died: the next writer in the folder removes it.

pub(crate) mod system;

use crate::Error;
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// What SQLite puts beside a database.
const SATELLITES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A file that must not be written over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// What it is, for the message.
    pub what: &'static str,
    /// Where it is.
    pub path: PathBuf,
}

impl Protected {
    /// A file that is read.
    #[must_use]
    pub fn input(path: &Path) -> Self {
        Self { what: "a file that is read", path: path.to_owned() }
    }

    /// A campaign's file, and what lies beside it while it is written.
    #[must_use]
    pub fn campaign(path: &Path) -> Vec<Self> {
        // SQLite puts its files beside the file itself, not beside a link to it.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let with = |what, end: &str| [path, &real].map(|path| Self { what, path: beside(path, end) });
        let mut files = with("the campaign", "").to_vec();
        files.extend(with("the campaign's lock", ".lock"));
        files.extend(SATELLITES.iter().flat_map(|end| with("a part of the campaign", end)));
        files
    }

    /// Whether a path leads to this file: by its name, through links, or as another name of the same file.
    fn is(&self, path: &Path) -> bool {
        let alike = |a: Option<PathBuf>, b: Option<PathBuf>| a.is_some() && a == b;
        let identities = (system::identity(&self.path), system::identity(path));
        alike(real(&self.path), real(path)) || (identities.0.is_some() && identities.0 == identities.1)
    }
}

/// Where a path leads; for a file that does not exist, where it would be.
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?)))
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A path with something added to the name of the file.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The new file takes its place.
    Replace,
    /// It stays, and the new file is refused.
    Keep,
}

/// A file that is being written and does not have its name yet; dropped, it is removed.
#[derive(Debug)]
#[must_use = "the file has no name until it is published"]
pub struct Pending {
    /// Open and locked for as long as the file has no name.
    file: File,
    /// Opened beforehand, so that what cannot be synced is refused before anything is done.
    folder: File,
    part: PathBuf,
    to: PathBuf,
    existing: Existing,
    published: bool,
}

impl Pending {
    /// Begins a file under a temporary name and removes what dead processes have left in its folder.
    ///
    /// # Errors
    /// [`Error::Output`] for a folder, a device or a protected file; [`Error::Exists`], [`Error::NotFound`] for a
    /// folder that does not exist, [`Error::Storage`].
    pub fn begin(path: &Path, existing: Existing, protected: &[Protected]) -> Result<Self, Error> {
        check(path, existing, protected)?;
        let folder = folder_of(path);
        let opened = File::open(folder).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::NotFound { what: "the folder", name: folder.display().to_string(), hint: String::new() }
            }
            _ => Error::storage(folder, error),
        })?;
        remove_abandoned(folder);
        let (part, file) = temporary(folder).map_err(|error| Error::storage(path, error))?;
        Ok(Self { file, folder: opened, part, to: path.to_owned(), existing, published: false })
    }

    /// The name that the file will have.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.to
    }

    /// The name that it has until then.
    pub(crate) fn part(&self) -> &Path {
        &self.part
    }

    /// The file, to be written to.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Lets nobody but the owner read the file; to be called before anything is written.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn for_owner_only(&self) -> Result<(), Error> {
        system::for_owner_only(&self.file).map_err(|error| Error::storage(&self.to, error))
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|error| Error::storage(&self.to, error))
    }

    /// Puts what was written on the disk, still without its name.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.file.sync_all().map_err(|error| Error::storage(&self.to, error))
    }

    /// Gives the file its name, for good: afterwards it survives a power cut.
    ///
    /// # Errors
    /// [`Error::Exists`] if the name was taken meanwhile and what is there must stay, [`Error::Storage`].
    pub fn publish(mut self) -> Result<(), Error> {
        self.sync()?;
        let renamed = match self.existing {
            Existing::Replace => fs::rename(&self.part, &self.to),
            Existing::Keep => system::rename_new(&self.part, &self.to),
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: self.to.clone() },
            _ => Error::storage(&self.to, error),
        })?;
        self.published = true;
        self.folder.sync_all().map_err(|error| Error::storage(&self.to, error))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.published {
            remove_part(&self.part);
        }
    }
}

/// Refuses what cannot or must not become a file.
fn check(path: &Path, existing: Existing, protected: &[Protected]) -> Result<(), Error> {
    let refuse = |is: &'static str| Err(Error::Output { path: path.to_owned(), is });
    if path.file_name().is_none() {
        return refuse("not the name of a file");
    }
    if let Some(protected) = protected.iter().find(|protected| protected.is(path)) {
        return refuse(protected.what);
    }
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => refuse("a folder"),
        Ok(about) if !about.is_file() => refuse("not a plain file"),
        Ok(_) if existing == Existing::Replace && is_database(path) => refuse("a SQLite database, perhaps a campaign"),
        _ if existing == Existing::Keep && path.symlink_metadata().is_ok() => {
            Err(Error::Exists { path: path.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Whether a file begins as SQLite's do.
fn is_database(path: &Path) -> bool {
    let mut head = [0; 16];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *b"SQLite format 3\0"
}

/// A new file under a temporary name, locked.
fn temporary(folder: &Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let part = folder.join(format!(".armwise-{}-{number}.part", std::process::id()));
        let file = match File::options().read(true).write(true).create_new(true).open(&part) {
            // Another process with this number, in another container, uses the folder too.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        // Before the lock is taken, another process may take the file for an abandoned one.
        if file.try_lock().is_ok() && is_at(&file, &part) {
            return Ok((part, file));
        }
    }
}

/// Whether an open file still has this name.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        file.metadata().is_ok_and(|about| system::identity(path) == Some(system::identity_of(&about)))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Removes temporary files of processes that died; what cannot be removed is left.
fn remove_abandoned(folder: &Path) {
    let ours = |name: &OsString| {
        let middle = name.to_str()?.strip_prefix(".armwise-")?.strip_suffix(".part")?;
        let (process, number) = middle.split_once('-')?;
        (process.parse::<u32>().is_ok() && number.parse::<u32>().is_ok()).then_some(())
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if ours(&entry.file_name()).is_none() || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::options().write(true).open(&path) else { continue };
        if file.try_lock().is_ok() && is_at(&file, &path) {
            remove_part(&path);
        }
    }
}

/// Removes a temporary file, with what SQLite may have put beside it.
fn remove_part(part: &Path) {
    for end in SATELLITES.into_iter().chain([""]) {
        let _ = fs::remove_file(beside(part, end));
    }
}
