//! The writer: one thread that appends what the others made, as much as waits in one go, and answers after the commit.
//!
//! It is the only one that has the campaign. Whoever is answered is on the disk. What it is told to do is in `work.rs`, how
//! that is judged in `judge.rs`, how it gets into a commit in `batch.rs`, and how it is answered in `ready.rs`; here is the
//! loop around them, and the model that is published.

use super::{
    catalogue::Shelf,
    clockwork::Clockwork,
    follow::{Following, is_passing},
    numbers::Numbers,
    options::{Journalling, LiveOptions, Measured},
    published::{Board, Published, Reached},
    seen::Seen,
    work::Job,
};
use crate::{
    Campaign, Error,
    core::{Sha, clock, fold},
};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

/// What all threads of a campaign share.
pub(super) struct Shared {
    pub(super) board: Board,
    pub(super) options: LiveOptions,
    pub(super) numbers: Numbers,
    pub(super) waiting: AtomicUsize,
    /// The last entry that somebody waits for.
    pub(super) wanted: AtomicU64,
    /// Why the journal cannot be reached.
    pub(super) trouble: Mutex<Option<String>>,
}

impl Shared {
    /// Notes whether the journal can be reached.
    pub(super) fn note(&self, error: Option<Error>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = error.map(|error| error.to_string());
    }
}

pub(super) struct Writer {
    pub(super) campaign: Campaign,
    pub(super) shelf: Option<Arc<Shelf>>,
    pub(super) shared: Arc<Shared>,
    /// When the model in force was made, and how long that took.
    learned: (Instant, Duration),
    /// Since when there are rewards that the model in force does not know.
    behind: Option<Instant>,
    /// The model in force, the entry with the rules in force, and how many changes the catalogue in force has.
    in_force: (Sha, u64, u64),
    /// What the clock does, and when it did last.
    pub(super) clockwork: Clockwork,
    /// How it keeps up with other servers.
    pub(super) following: Following,
    /// What it has seen of a journal that others may replace.
    pub(super) seen: Option<Seen>,
    /// What others were faster with, to be tried again.
    pub(super) again: Option<(Vec<Job>, Error)>,
}

impl Writer {
    pub(super) fn new(campaign: Campaign, shelf: Option<Arc<Shelf>>, shared: Arc<Shared>, seen: Option<Seen>) -> Self {
        let following = Following::new(campaign.count_arms_changes());
        let in_force = (campaign.model_hash(), campaign.rules_seq(), following.arms);
        Self {
            campaign,
            shelf,
            shared,
            learned: (Instant::now(), Duration::ZERO),
            behind: None,
            in_force,
            clockwork: Clockwork::default(),
            following,
            seen,
            again: None,
        }
    }

    /// Works until nobody is left who could tell it anything, and everything told is done.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            let first = match self.pause() {
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(pause) => jobs.recv_timeout(pause),
            };
            match first {
                Ok(first) => {
                    self.batch(first, jobs);
                    if let Some(count) = self.shared.numbers.wanted().filter(|_| !self.is_silent()) {
                        // Without numbers, choices wait for the writer.
                        let _ = self.refill(count);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !self.is_silent() && self.until_follow().is_some_and(|pause| pause.is_zero()) {
                self.look();
            }
            if !self.is_silent() && self.until_learning().is_some_and(|pause| pause.is_zero()) {
                self.learn();
            }
            if !self.is_silent() && self.until_tick().is_some_and(|pause| pause.is_zero()) {
                self.tick();
                self.reach();
            }
            self.give_up(jobs);
        }
        if self.behind.is_some() && !self.campaign.is_shared() {
            self.learn();
        }
        if let Some(seen) = &mut self.seen {
            seen.note(&self.campaign.head(), true);
        }
    }

    /// How long it may wait for commands; as long as it takes if nothing else is to be done.
    fn pause(&self) -> Option<Duration> {
        [self.until_learning(), self.until_tick(), self.until_follow()].into_iter().flatten().min()
    }

    /// How long until something is to be learned; none if there is nothing.
    fn until_learning(&self) -> Option<Duration> {
        self.behind?;
        let (at, took) = self.learned;
        let wanted = self.shared.wanted.load(Ordering::Relaxed) > self.shared.board.reached().learned;
        let least = if wanted { took } else { took.max(self.shared.options.fold_every) };
        // Where several write, one of them folds for all, unless it is late.
        let others = self.campaign.is_shared() && self.campaign.is_behind() && !self.following.duty && !wanted;
        let least = if others { least * 4 } else { least };
        Some(least.saturating_sub(at.elapsed()))
    }

    /// Has the model in force know everything. What cannot be written now, as on a full disk, is tried again later.
    fn learn(&mut self) {
        let begun = Instant::now();
        let folded = self.sum_ahead().and_then(|()| self.retried(|writer| fold(&mut writer.campaign)));
        let learned = folded.and_then(|_| self.publish());
        self.learned = (Instant::now(), begun.elapsed());
        let options = &self.shared.options;
        options.measured(Measured::Learn, begun.elapsed().as_secs_f64());
        if let Some(behind) = self.behind.take_if(|_| learned.is_ok()) {
            options.measured(Measured::Behind, behind.elapsed().as_secs_f64());
        }
        self.reach();
    }

    /// Publishes rules, model and catalogue as they are. Where they cannot be read, what was published stays, and
    /// [`is_current`](Self::is_current) says so.
    pub(super) fn publish(&mut self) -> Result<(), Error> {
        let published = Published::of(&self.campaign, self.shelf.clone())?;
        self.shared.board.publish(published);
        self.in_force = (self.campaign.model_hash(), self.campaign.rules_seq(), self.following.arms);
        Ok(())
    }

    /// Whether the rules and the catalogue in force are those of the journal.
    pub(super) fn is_current(&self) -> bool {
        (self.in_force.1, self.in_force.2) == (self.campaign.rules_seq(), self.campaign.count_arms_changes())
    }

    /// Tells how far the journal has come.
    pub(super) fn reach(&mut self) {
        let seq = self.campaign.head().seq;
        let behind = self.campaign.is_behind() || self.campaign.model_hash() != self.in_force.0 || !self.is_current();
        if behind && self.behind.is_none() {
            self.behind = Some(Instant::now());
        }
        let learned = if self.behind.is_some() { self.shared.board.reached().learned } else { seq };
        self.shared.board.reach(Reached { seq, learned });
    }

    /// Whether an error comes from others who write to the same journal, so that it may go better next time.
    pub(super) fn is_others(&self, error: &Error) -> bool {
        self.campaign.is_shared() && is_passing(error)
    }

    pub(super) fn is_on(&self) -> bool {
        self.shared.options.journal == Journalling::On
    }

    /// The time, as entries have it.
    pub(super) fn now(&self) -> String {
        clock::at((self.shared.options.clock)())
    }
}
