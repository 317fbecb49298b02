//! A server beside others: it goes on to what they appended, and tries again what they were faster with.
//!
//! Whoever is answered is on the disk, once, whoever wrote in between: what was judged against an older journal is judged
//! anew. After a while it is given up with an error that says so, and a request with a key can be sent again.

use super::{
    catalogue::Shelf,
    options::Measured,
    work::{Job, alike},
    writer::Writer,
};
use crate::{Campaign, Error};
use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, atomic::Ordering, mpsc::Receiver},
    time::{Duration, Instant},
};

/// How long a command is tried.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How often the journal is looked at, where nothing else makes it.
const EVERY: Duration = Duration::from_millis(50);
/// How soon it may be looked at again for somebody who waits.
const SOON: Duration = Duration::from_millis(2);
/// After so many turns that were not needed, none is waited for.
const CALM: u32 = 8;
/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(16);
/// How long a fold may sum while it keeps the others waiting.
const SHORT: Duration = Duration::from_millis(300);
/// How often it is summed ahead for one fold.
const PASSES: u32 = 4;

/// How a server keeps up with others.
#[derive(Debug)]
pub(super) struct Following {
    every: Duration,
    last: Instant,
    /// How many changes of the catalogue are in force.
    pub(super) arms: u64,
    /// Whether what is due by the clock is this server's business.
    pub(super) duty: bool,
    /// Whether others append so often that it is better to wait for a turn than to be refused; and how often in a row a turn
    /// was not needed.
    contended: Option<u32>,
    /// What became of a question that the database did not answer for long, until all that wait are told.
    silent: Option<Error>,
}

impl Following {
    pub(super) fn new(arms: u64) -> Self {
        let own = std::env::var("ARMWISE_FOLLOW_MS").ok().and_then(|text| text.parse().ok());
        Self {
            every: own.map_or(EVERY, Duration::from_millis),
            last: Instant::now(),
            arms,
            duty: false,
            contended: None,
            silent: None,
        }
    }
}

/// Whether it may go better when it is tried again. What looks damaged may be what others have just replaced.
pub(super) fn is_passing(error: &Error) -> bool {
    matches!(error, Error::HeadMoved { .. } | Error::Unavailable { .. } | Error::Damaged { .. })
}

/// Passes on that the journal cannot be reached, and nothing else.
pub(super) fn only_unavailable(error: Error) -> Result<(), Error> {
    if matches!(error, Error::Unavailable { .. }) { Err(error) } else { Ok(()) }
}

impl Writer {
    /// How long until the journal is to be looked at; none where nobody else writes.
    pub(super) fn until_follow(&self) -> Option<Duration> {
        if !self.campaign.is_shared() {
            return None;
        }
        let waited = self.shared.wanted.load(Ordering::Relaxed) > self.campaign.head().seq;
        let pause = if waited { SOON } else { self.following.every };
        Some(pause.saturating_sub(self.following.last.elapsed()))
    }

    /// Looks at the journal. What is wrong is told to whoever asks next.
    pub(super) fn look(&mut self) {
        let trouble = self.catch_up().err();
        let reached = trouble.is_none();
        self.shared.note(trouble);
        self.reach();
        if let Some(count) = self.shared.numbers.wanted().filter(|_| reached) {
            let _ = self.refill(count);
        }
        if let Some(seen) = &mut self.seen {
            seen.note(&self.campaign.head(), false);
        }
    }

    /// Goes on to what others appended.
    pub(super) fn catch_up(&mut self) -> Result<u64, Error> {
        self.catch_up_by(Campaign::follow)
    }

    fn catch_up_by(&mut self, follow: fn(&mut Campaign) -> Result<u64, Error>) -> Result<u64, Error> {
        let begun = Instant::now();
        let followed = follow(&mut self.campaign);
        self.following.last = Instant::now();
        let count = followed.inspect_err(|error| self.note_silence(begun, error))?;
        if count > 0 {
            self.shared.options.measured(Measured::Followed, count as f64);
            self.shared.options.measured(Measured::Follow, begun.elapsed().as_secs_f64());
        }
        self.be_current()?;
        Ok(count)
    }

    /// Has the rules and the catalogue of the journal in force. What could not be read the last time is read now: nobody may
    /// choose by rules that the journal has replaced.
    pub(super) fn be_current(&mut self) -> Result<(), Error> {
        if self.is_current() {
            return Ok(());
        }
        let arms = self.campaign.count_arms_changes();
        if arms != self.following.arms {
            self.shelf = Shelf::of(&self.campaign)?.map(Arc::new);
            self.following.arms = arms;
        }
        self.publish()
    }

    /// Notes that the database took its time and did not answer.
    pub(super) fn note_silence(&mut self, since: Instant, error: &Error) {
        if matches!(error, Error::Unavailable { .. }) && since.elapsed() >= PATIENCE {
            self.following.silent = Some(alike(error));
        }
    }

    /// Whether the database has just been silent for long, so that nothing more is asked before all that wait are told.
    pub(super) fn is_silent(&self) -> bool {
        self.following.silent.is_some()
    }

    /// Answers all that wait for a database that has just been silent: they would only wait as long again.
    pub(super) fn give_up(&mut self, waiting: &Receiver<Job>) {
        let Some(error) = self.following.silent.take() else { return };
        for Job { work, flight, .. } in waiting.try_iter() {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            drop(flight);
            work.refuse(alike(&error));
        }
        self.following.last = Instant::now();
    }

    /// Sums what the next fold will need while the others may append, as long as that takes long and they touched some of it
    /// meanwhile.
    ///
    /// # Errors
    /// [`Error::Unavailable`]. What else is wrong is told by the fold.
    pub(super) fn sum_ahead(&mut self) -> Result<(), Error> {
        for _ in 0..PASSES {
            let begun = Instant::now();
            self.campaign.sum_dirty().or_else(only_unavailable)?;
            if begun.elapsed() < SHORT {
                break;
            }
            self.catch_up()?;
        }
        Ok(())
    }

    /// Notes that others were faster.
    pub(super) fn lost(&mut self) {
        self.shared.options.measured(Measured::Conflict, 1.0);
        self.following.contended = Some(0);
    }

    /// Where others append often: waits for a turn and goes on to what they appended, so that what is judged now can be
    /// appended. Whoever has lost once is served in the order of coming.
    ///
    /// # Errors
    /// [`Error::Unavailable`]. What else cannot be done here is told by the append.
    pub(super) fn begin_turn(&mut self) -> Result<(), Error> {
        let calm = self.following.contended.filter(|_| self.campaign.is_shared());
        let Some(calm) = calm else { return Ok(()) };
        let turn = self.catch_up_by(Campaign::begin_turn);
        self.following.contended = match turn {
            Ok(0) => Some(calm + 1).filter(|&calm| calm < CALM),
            _ => Some(0),
        };
        turn.map_or_else(only_unavailable, |_| Ok(()))
    }

    /// Lets the others append.
    pub(super) fn end_turn(&mut self) {
        if self.campaign.is_shared() {
            let _ = self.campaign.journal_mut().end_turn();
        }
    }

    /// Gets numbers for rounds.
    pub(super) fn refill(&mut self, count: u64) -> Result<(), Error> {
        let (begun, from) = (Instant::now(), self.campaign.next_round());
        let got = self.campaign.journal_mut().numbers(from, count);
        let got = got.inspect_err(|error| self.note_silence(begun, error))?;
        self.shared.numbers.fill(got);
        Ok(())
    }

    /// A number for a round, which the writer may have to get first.
    pub(super) fn number(&mut self) -> Result<u64, Error> {
        if let Some(number) = self.shared.numbers.take() {
            return Ok(number);
        }
        let count = self.shared.numbers.wanted().unwrap_or(1);
        self.refill(count)?;
        Ok(self.shared.numbers.take().unwrap_or_else(|| self.campaign.next_round()))
    }

    /// Does something; where others were faster, goes on to what they appended and does it again.
    pub(super) fn retried<T>(&mut self, mut act: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let mut tries = Tries::new();
        loop {
            let ready = self.begin_turn().and_then(|()| self.be_current());
            let done = ready.and_then(|()| act(self));
            self.end_turn();
            match done {
                Err(Error::HeadMoved { path, expected, found }) if self.campaign.is_shared() => {
                    self.lost();
                    self.catch_up()?;
                    if !tries.again() {
                        return Err(Error::HeadMoved { path, expected, found });
                    }
                }
                done => return done,
            }
        }
    }
}

/// Tries of one command, with pauses between them that differ from server to server.
#[derive(Debug)]
pub(super) struct Tries {
    begun: Instant,
    count: u32,
}

impl Tries {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), count: 0 }
    }

    /// When it was tried first.
    pub(super) fn begun(&self) -> Instant {
        self.begun
    }

    /// Whether it was tried long enough.
    pub(super) fn are_over(&self) -> bool {
        self.begun.elapsed() >= PATIENCE
    }

    /// Waits a little, unless it was tried long enough.
    pub(super) fn again(&mut self) -> bool {
        if self.are_over() {
            return false;
        }
        self.count += 1;
        // The first try after a conflict comes at once: the others are busy with their own.
        if self.count > 1 {
            let most = PAUSE.min(Duration::from_millis(1) * (1 << self.count.min(5)));
            let share = (RandomState::new().hash_one(self.count) % 1024) as u32;
            std::thread::sleep(most * share / 1024);
        }
        true
    }
}
