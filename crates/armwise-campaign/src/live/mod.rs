//! A campaign in service: many threads ask, one writes, and whoever is answered is on the disk.
//!
//! ```text
//! decide:   caller's thread: published model -> slate -> queue -> writer: append, commit -> answer
//! rewards:  queue -> writer: judge, append, commit -> answer; later: learn -> model -> published
//! ```
//!
//! There is no HTTP here and nothing async. A [`Live`] is cheap to clone and can be used from any thread. Decisions and
//! rewards come in two forms: one takes a [`Reply`], which the writer calls after the commit, and one waits for it. A
//! served campaign is a campaign: the same file, which every other program of the project reads.

mod answer;
mod ask;
mod batch;
mod begin;
mod catalogue;
mod clockwork;
mod flight;
mod follow;
mod json;
mod judge;
mod numbers;
mod options;
mod published;
mod ready;
mod replay;
mod request;
mod seen;
mod slate;
#[cfg(test)]
mod tests;
mod work;
mod writer;

pub use answer::{ArmsChanged, Decided, DecidedArm, Done, Load, Rewarded, RewardedArm};
pub use begin::Features;
pub use json::{JsonFilter, JsonRow, JsonRows};
pub use options::{Clock, Journalling, LiveOptions, Measured, Observe};
pub use request::{Among, ArmsChange, DecideRequest, Offered, RewardsRequest};

use crate::{
    Campaign, Error,
    core::{Setup, Tag},
    store::{
        Place, copy, head, is_database,
        sqlite::{BackedUp, backup},
    },
};
use catalogue::Shelf;
use flight::{Flight, Flights};
use numbers::Numbers;
use published::{Board, Published};
use seen::Seen;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{SyncSender, TrySendError, channel, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};
use work::{Job, Work};
use writer::{Shared, Writer};

/// Takes an answer once it is on the disk, in the writer's thread: it must be quick, and must not wait for the campaign.
pub type Reply<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// A campaign in service.
#[derive(Clone)]
pub struct Live(Arc<Inner>);

struct Inner {
    /// For messages.
    path: PathBuf,
    /// As it was given, perhaps with a password.
    place: PathBuf,
    tag: Tag,
    shared: Arc<Shared>,
    flights: Flights,
    stopping: AtomicBool,
    jobs: RwLock<Option<SyncSender<Job>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("path", &self.0.path).finish_non_exhaustive()
    }
}

impl Live {
    /// Serves a campaign's file.
    ///
    /// # Errors
    /// [`Error::NoCampaign`], [`Error::Damaged`], [`Error::Locked`] by another writer.
    pub fn open(path: &Path, options: LiveOptions) -> Result<Self, Error> {
        let mut campaign = Campaign::write(path, "serve")?;
        campaign.limit(options.most_bytes)?;
        let shelf = Shelf::of(&campaign)?.map(Arc::new);
        let (tag, numbers) = (campaign.tag(), Numbers::new(campaign.next_round(), campaign.is_shared()));
        let place = Place::of(path)?;
        let seen = seen(&place, &options, &campaign)?;
        let board = Board::new(Published::of(&campaign, shelf.clone())?, campaign.head().seq);
        let (jobs, taken) = sync_channel(options.queue.max(1));
        let (waiting, wanted) = (AtomicUsize::new(0), AtomicU64::new(0));
        let shared = Arc::new(Shared { board, options, numbers, waiting, wanted, trouble: Mutex::default() });
        let writer = Writer::new(campaign, shelf, Arc::clone(&shared), seen);
        let thread = std::thread::Builder::new().name("armwise-writer".to_owned()).spawn(move || writer.run(&taken));
        let thread = thread.map_err(|error| Error::io(place.shown(), error))?;
        Ok(Self(Arc::new(Inner {
            path: place.shown().to_owned(),
            place: path.to_owned(),
            tag,
            shared,
            flights: Flights::default(),
            stopping: AtomicBool::new(false),
            jobs: RwLock::new(Some(jobs)),
            writer: Mutex::new(Some(thread)),
        })))
    }

    /// The campaign's file, or the database and the name of the campaign, without a password.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The tag of its decisions.
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.0.tag
    }

    /// The rules and features that hold now.
    #[must_use]
    pub fn setup(&self) -> Setup {
        self.0.shared.board.now().chooser.setup().clone()
    }

    /// The last entry of the journal.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.0.shared.board.reached().seq
    }

    /// The last entry of the journal, whoever wrote it: on the disk, not as far as this server has come.
    ///
    /// # Errors
    /// Of the store.
    pub fn newest(&self) -> Result<u64, Error> {
        Ok(head(&self.0.place)?.seq)
    }

    /// Waits until whatever was acknowledged with this entry, or before it, counts in decisions.
    ///
    /// # Errors
    /// [`Error::NotYet`] if it takes longer than `most`.
    pub fn wait_for(&self, seq: u64, most: Duration) -> Result<(), Error> {
        let shared = &self.0.shared;
        if shared.board.reached().learned < seq {
            shared.wanted.fetch_max(seq, Ordering::Relaxed);
            self.send(Job { work: Work::Nudge, flight: None, given: Instant::now() });
        }
        shared.board.wait_for(seq, most)
    }

    /// How busy it is.
    #[must_use]
    pub fn load(&self) -> Load {
        let shared = &self.0.shared;
        let (reached, now) = (shared.board.reached(), shared.board.now());
        Load {
            waiting: shared.waiting.load(Ordering::Relaxed),
            queue: shared.options.queue,
            seq: reached.seq,
            learned: reached.learned,
            model: now.model,
            model_hash: now.hash,
            next_round: shared.numbers.next(),
            catalogue: now.shelf.as_ref().map_or(0, |shelf| shelf.len()),
        }
    }

    /// Looks at the campaign as it is on the disk: every entry that was acknowledged before is there. It neither waits
    /// for the writer nor delays it.
    ///
    /// # Errors
    /// Those of `look`, and of opening the file.
    pub fn read<T>(&self, look: impl FnOnce(&Campaign) -> Result<T, Error>) -> Result<T, Error> {
        // Asked before the journal is: it may go on meanwhile.
        let seen = self.seq();
        let campaign = Campaign::read(&self.0.place)?;
        if campaign.head().seq < seen {
            return Err(Error::WentBack { path: self.0.path.clone(), seen, found: campaign.head().seq });
        }
        look(&campaign)
    }

    /// Copies the campaign into a new file while it is served.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Storage`].
    pub fn backup(&self, to: &Path) -> Result<BackedUp, Error> {
        if is_database(&self.0.place) {
            return copy(&self.0.place, to).map(|copied| BackedUp { head: copied.head, rounds: copied.rounds });
        }
        backup(&self.0.place, to)
    }

    /// Why the journal cannot be reached at this moment, if it cannot.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.0.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops: takes no more commands, finishes all that were accepted, and closes the file.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// The round that a decision's id names: of the whole decision, or of one of its arms.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a text that names no decision of this campaign.
    pub fn round_of(&self, decision: &str) -> Result<u64, Error> {
        let named = Tag::read_round(decision).or_else(|| Tag::read(decision).map(|(id, tag)| (id.round, tag)));
        match named {
            Some((round, tag)) if tag.is_none_or(|tag| tag == self.0.tag) => Ok(round),
            _ => {
                let hint = format!("; the decisions of this campaign are called as r17-{}", self.0.tag);
                Err(Error::NotFound { what: "decision", name: decision.to_owned(), hint })
            }
        }
    }

    fn accepting(&self) -> Result<(), Error> {
        if self.0.stopping.load(Ordering::Acquire) {
            return Err(Error::Stopped { path: self.0.path.clone() });
        }
        Ok(())
    }

    /// Gives work to the writer, or answers why not.
    fn send(&self, job: Job) {
        let waiting = &self.0.shared.waiting;
        let stopped = || Error::Stopped { path: self.0.path.clone() };
        let refused = match &*self.0.jobs.read().unwrap_or_else(PoisonError::into_inner) {
            None => Some((job, stopped())),
            Some(jobs) => {
                waiting.fetch_add(1, Ordering::Relaxed);
                match jobs.try_send(job) {
                    Ok(()) => None,
                    Err(TrySendError::Full(job)) => {
                        Some((job, Error::QueueFull { waiting: self.0.shared.options.queue }))
                    }
                    Err(TrySendError::Disconnected(job)) => Some((job, stopped())),
                }
                .inspect(|_| {
                    waiting.fetch_sub(1, Ordering::Relaxed);
                })
            }
        };
        if let Some((Job { work, flight, .. }, error)) = refused {
            drop(flight);
            work.refuse(error);
        }
    }

    /// Waits for a reply.
    fn wait<T: Send + 'static>(&self, ask: impl FnOnce(Reply<T>)) -> Result<T, Error> {
        let (give, take) = channel();
        ask(Box::new(move |answer| {
            // Whoever asked may have gone.
            let _ = give.send(answer);
        }));
        // Without an answer the writer is gone.
        take.recv().unwrap_or_else(|_| Err(Error::Stopped { path: self.0.path.clone() }))
    }
}

/// What was seen of a campaign in a database before.
fn seen(place: &Place, options: &LiveOptions, campaign: &Campaign) -> Result<Option<Seen>, Error> {
    let (Some(folder), true) = (&options.seen, campaign.is_shared()) else { return Ok(None) };
    let shown = place.shown().to_string_lossy();
    let name = shown.rsplit('#').next().unwrap_or_default();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if name.is_empty() || !name.chars().all(plain) {
        return Ok(None);
    }
    Seen::of(folder, name, campaign).map(Some)
}

impl Inner {
    fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        // The writer ends when nobody is left to send, and takes everything out of the queue before.
        drop(self.jobs.write().unwrap_or_else(PoisonError::into_inner).take());
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A reply may be the last to hold the campaign, and the writer cannot wait for itself.
        if let Some(writer) = writer.filter(|writer| writer.thread().id() != std::thread::current().id()) {
            let _ = writer.join();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}
