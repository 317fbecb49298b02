//! A disk that forgets: replays a log of the shim and gives the folder as a power cut would leave it.
//!
//! The one thing to know: a file's bytes last once the file is synced, a name (made, moved, removed) once its folder is.
//! Everything else is pending and may survive a cut in part.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// One thing that was done to the folder.
#[derive(Debug)]
pub(crate) enum Event {
    Create {
        path: PathBuf,
        inode: u64,
    },
    Link {
        path: PathBuf,
        inode: u64,
    },
    Write {
        inode: u64,
        offset: usize,
        bytes: Vec<u8>,
    },
    Resize {
        inode: u64,
        size: usize,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    Sync {
        inode: u64,
    },
    SyncFolder {
        path: PathBuf,
    },
    /// What the replay does not know, which no program under test may do.
    Unknown(String),
}

/// The records of a log; the head of `shim.c` has the format.
pub(crate) fn events(log: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut rest = log;
    while let [kind, tail @ ..] = rest {
        let number = |i: usize| u64::from_le_bytes(tail[8 * i..8 * i + 8].try_into().unwrap());
        let (one, two, inode, offset, length) =
            (number(0) as usize, number(1) as usize, number(2), number(3) as usize, number(4) as usize);
        let text = |from: usize, length: usize| String::from_utf8(tail[from..from + length].to_vec()).unwrap();
        let (first, second) = (text(40, one), text(40 + one, two));
        let mut end = 40 + one + two;
        let path = PathBuf::from(&first);
        events.push(match kind {
            b'C' => Event::Create { path, inode },
            b'L' => Event::Link { path, inode },
            b'T' => Event::Resize { inode, size: offset },
            b'R' => Event::Rename { from: path, to: second.into() },
            b'X' => Event::Remove { path },
            b'S' => Event::Sync { inode },
            b'D' => Event::SyncFolder { path },
            b'W' => {
                end += length;
                Event::Write { inode, offset, bytes: tail[end - length..end].to_vec() }
            }
            _ => Event::Unknown(format!("{first} {second}")),
        });
        rest = &tail[end..];
    }
    events
}

/// What is left of what was not synced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    /// Nothing.
    Strict,
    /// Everything up to some moment.
    Prefix,
    /// Any sectors of the writes; names up to some moment, since file systems keep their order.
    Torn,
}

/// The smallest part of a write that reaches a disk as a whole.
const SECTOR: usize = 512;

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Resize(usize),
}

#[derive(Clone)]
enum Naming {
    Put(PathBuf, usize),
    Take(PathBuf),
    Move(PathBuf, PathBuf, usize),
}

#[derive(Default, Clone)]
struct Content {
    lasting: Vec<u8>,
    pending: Vec<(usize, Change)>,
}

/// The folder after some events.
#[derive(Default, Clone)]
pub(crate) struct Disk {
    files: Vec<Content>,
    by_inode: HashMap<u64, usize>,
    names: BTreeMap<PathBuf, usize>,
    lasting: BTreeMap<PathBuf, usize>,
    pending: Vec<(usize, Naming)>,
    events: usize,
    /// Syncs do nothing: what a program that forgets them, or a disk that lies, would do.
    pub(crate) ignores_syncs: bool,
}

impl Disk {
    /// The folder as it is now, all of it lasting.
    pub(crate) fn of(folder: &Path) -> Self {
        let mut disk = Self::default();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            disk.by_inode.insert(fs::metadata(&path).unwrap().ino(), disk.files.len());
            disk.lasting.insert(path.clone(), disk.files.len());
            disk.files.push(Content { lasting: fs::read(&path).unwrap(), pending: Vec::new() });
        }
        disk.names = disk.lasting.clone();
        disk
    }

    /// Takes the present bytes of a file that was there from the start, for tables that are filled in by and by.
    pub(crate) fn rewrite(&mut self, path: &Path) {
        let file = self.lasting[path];
        self.files[file].lasting = fs::read(path).unwrap();
    }

    /// Lets one more event happen.
    pub(crate) fn apply(&mut self, event: &Event) {
        let at = self.events;
        self.events += 1;
        match event {
            Event::Create { path, inode } => {
                self.by_inode.insert(*inode, self.files.len());
                self.put(path, self.files.len());
                self.files.push(Content::default());
            }
            Event::Link { path, inode } => self.put(path, self.by_inode[inode]),
            Event::Write { inode, offset, bytes } => {
                let change = Change::Write(*offset, bytes.clone());
                self.files[self.by_inode[inode]].pending.push((at, change));
            }
            Event::Resize { inode, size } => {
                self.files[self.by_inode[inode]].pending.push((at, Change::Resize(*size)));
            }
            Event::Rename { from, to } => {
                let file = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), file);
                if from.parent() == to.parent() {
                    self.pending.push((at, Naming::Move(from.clone(), to.clone(), file)));
                } else {
                    self.pending.push((at, Naming::Put(to.clone(), file)));
                    self.pending.push((at, Naming::Take(from.clone())));
                }
            }
            Event::Remove { path } => {
                self.names.remove(path);
                self.pending.push((at, Naming::Take(path.clone())));
            }
            Event::Sync { inode } if !self.ignores_syncs => {
                let file = &mut self.files[self.by_inode[inode]];
                for (_, change) in std::mem::take(&mut file.pending) {
                    change.apply(&mut file.lasting, |_| true);
                }
            }
            Event::SyncFolder { path } if !self.ignores_syncs => {
                let (done, pending) = std::mem::take(&mut self.pending)
                    .into_iter()
                    .partition(|(_, naming)| naming.folder() == Some(path));
                self.pending = pending;
                for (_, naming) in done {
                    naming.apply(&mut self.lasting);
                }
            }
            Event::Sync { .. } | Event::SyncFolder { .. } => {}
            Event::Unknown(what) => panic!("a call that the replay does not know: {what}"),
        }
    }

    fn put(&mut self, path: &Path, file: usize) {
        self.names.insert(path.to_owned(), file);
        self.pending.push((self.events - 1, Naming::Put(path.to_owned(), file)));
    }

    /// Writes what is left after a cut at this moment into a folder; `draw` gives random numbers.
    pub(crate) fn after(&self, cut: Cut, into: &Path, mut draw: impl FnMut() -> u64) {
        let mut moment = || if matches!(cut, Cut::Strict) { 0 } else { draw() as usize % (self.events + 1) };
        let (last_name, last_write) = (moment(), moment());
        let last_write = if matches!(cut, Cut::Prefix) { last_name } else { last_write };
        let mut names = self.lasting.clone();
        for (_, naming) in self.pending.iter().filter(|(at, _)| *at < last_name) {
            naming.clone().apply(&mut names);
        }
        for (path, file) in names {
            let to = into.join(path.file_name().unwrap());
            // SQLite's shared memory is written through a map. After a crash it may hold anything.
            if path.to_string_lossy().ends_with("-shm") {
                if matches!(cut, Cut::Torn) {
                    fs::write(to, (0..4096).flat_map(|_| draw().to_le_bytes()).collect::<Vec<u8>>()).unwrap();
                }
                continue;
            }
            let file = &self.files[file];
            let mut bytes = file.lasting.clone();
            for (at, change) in &file.pending {
                match cut {
                    Cut::Strict => {}
                    Cut::Prefix if *at >= last_write => {}
                    Cut::Prefix => change.clone().apply(&mut bytes, |_| true),
                    Cut::Torn => change.clone().apply(&mut bytes, |_| draw() & 1 == 0),
                }
            }
            fs::write(to, bytes).unwrap();
        }
    }
}

impl Change {
    /// Makes the change, as far as `survives` says for each sector of it.
    fn apply(self, bytes: &mut Vec<u8>, mut survives: impl FnMut(usize) -> bool) {
        match self {
            Self::Resize(size) => {
                if survives(0) {
                    bytes.resize(size, 0);
                }
            }
            Self::Write(offset, written) => {
                let mut from = 0;
                while from < written.len() {
                    let to = (((offset + from) / SECTOR + 1) * SECTOR - offset).min(written.len());
                    if survives(from) {
                        bytes.resize(bytes.len().max(offset + to), 0);
                        bytes[offset + from..offset + to].copy_from_slice(&written[from..to]);
                    }
                    from = to;
                }
            }
        }
    }
}

impl Naming {
    fn folder(&self) -> Option<&Path> {
        let (Self::Put(path, _) | Self::Take(path) | Self::Move(path, ..)) = self;
        path.parent()
    }

    fn apply(self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Self::Put(path, file) => drop(names.insert(path, file)),
            Self::Take(path) => drop(names.remove(&path)),
            Self::Move(from, to, file) => {
                names.remove(&from);
                names.insert(to, file);
            }
        }
    }
}
