//! The writer: one thread that appends what the others made, as much as waits in one go, and answers after the commit.
//!
//! It is the only one that has the campaign. Commands that change the same round do not share a commit, since each must
//! see what the one before it did. Whoever is answered is on the disk. Where a commit of several fails, each is tried
//! alone, so that only those fail that must. What is ready to be written, and how it is answered, is in `ready.rs`.

use super::{
    Reply,
    answer::{Decided, Rewarded},
    catalogue::Shelf,
    clockwork::Clockwork,
    flight::Flight,
    options::{Journalling, LiveOptions, Measured},
    published::{Board, Published, Reached},
    ready::{Answer, Ready, Told, decided_before},
    request::RewardsRequest,
    slate::ToChoose,
};
use crate::{
    Campaign, Error,
    core::{ChooseRequest, Command, Draft, Key, Sha, clock, fold, tell},
    round::{Slate, resting},
};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

/// The most commands in one commit.
const MOST: usize = 512;

/// A decision to be written.
pub(super) struct ToDecide {
    pub(super) make: Make,
    /// The key with the digest of what was asked.
    pub(super) request: Option<(Key, Sha)>,
    pub(super) reply: Reply<Decided>,
}

/// Where the choice is made.
pub(super) enum Make {
    /// It is made, with the model of an entry.
    Made(Box<Slate>, u64),
    /// By the writer, since it depends on who was chosen before.
    Later(ToChoose),
}

/// What is called once something is on the disk and published.
pub(super) type Then = Box<dyn FnOnce(u64) + Send>;

/// Something that the writer does, or is told why it cannot.
pub(super) type Task = Box<dyn FnOnce(Result<&mut Writer, Error>) -> Then + Send>;

/// What the writer is told to do.
pub(super) enum Work {
    Decide(Box<ToDecide>),
    Rewards(Box<(RewardsRequest, Reply<Rewarded>)>),
    /// Anything else, alone; or why it is not done.
    Alone(Task),
    /// Somebody waits for what was told to be learned.
    Nudge,
}

/// Work with the key that is under way with it, and when it was given.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) flight: Option<Flight>,
    pub(super) given: Instant,
}

/// What all threads of a campaign share.
pub(super) struct Shared {
    pub(super) board: Board,
    pub(super) options: LiveOptions,
    pub(super) next_round: AtomicU64,
    pub(super) waiting: AtomicUsize,
    /// The last entry that somebody waits for.
    pub(super) wanted: AtomicU64,
}

pub(super) struct Writer {
    pub(super) campaign: Campaign,
    pub(super) shelf: Option<Arc<Shelf>>,
    pub(super) shared: Arc<Shared>,
    /// When the model in force was made, and how long that took.
    learned: (Instant, Duration),
    /// Since when there are rewards that the model in force does not know.
    behind: Option<Instant>,
    /// The model in force.
    in_force: Sha,
    /// What the clock does, and when it did last.
    pub(super) clockwork: Clockwork,
}

impl Writer {
    pub(super) fn new(campaign: Campaign, shelf: Option<Arc<Shelf>>, shared: Arc<Shared>) -> Self {
        let in_force = campaign.model_hash();
        Self {
            campaign,
            shelf,
            shared,
            learned: (Instant::now(), Duration::ZERO),
            behind: None,
            in_force,
            clockwork: Clockwork::default(),
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
                    let more = std::iter::from_fn(|| jobs.try_recv().ok()).take(MOST - 1);
                    let batch: Vec<Job> = std::iter::once(first).chain(more).collect();
                    self.batch(batch);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.until_learning().is_some_and(|pause| pause.is_zero()) {
                self.learn();
            }
            if self.until_tick().is_some_and(|pause| pause.is_zero()) {
                self.tick();
                self.reach();
            }
        }
        if self.behind.is_some() {
            self.learn();
        }
    }

    /// How long it may wait for commands; as long as it takes if nothing else is to be done.
    fn pause(&self) -> Option<Duration> {
        [self.until_learning(), self.until_tick()].into_iter().flatten().min()
    }

    /// How long until something is to be learned; none if there is nothing.
    fn until_learning(&self) -> Option<Duration> {
        self.behind?;
        let (at, took) = self.learned;
        let wanted = self.shared.wanted.load(Ordering::Relaxed) > self.shared.board.reached().learned;
        let least = if wanted { took } else { took.max(self.shared.options.fold_every) };
        Some(least.saturating_sub(at.elapsed()))
    }

    /// Has the model in force know everything. What cannot be written now, as on a full disk, is tried again later.
    fn learn(&mut self) {
        let begun = Instant::now();
        let folded = fold(&mut self.campaign);
        if folded.is_ok() {
            self.publish();
        }
        self.learned = (Instant::now(), begun.elapsed());
        let options = &self.shared.options;
        options.measured(Measured::Learn, begun.elapsed().as_secs_f64());
        if let Some(behind) = self.behind.take_if(|_| folded.is_ok()) {
            options.measured(Measured::Behind, behind.elapsed().as_secs_f64());
        }
        self.reach();
    }

    /// Publishes rules, model and catalogue as they are.
    pub(super) fn publish(&mut self) {
        // What cannot be read is told to whoever asks next; until then the model stays.
        if let Ok(published) = Published::of(&self.campaign, self.shelf.clone()) {
            self.shared.board.publish(published);
            self.in_force = self.campaign.model_hash();
        }
    }

    /// Tells how far the journal has come.
    fn reach(&mut self) {
        let seq = self.campaign.head().seq;
        let behind = self.campaign.is_behind() || self.campaign.model_hash() != self.in_force;
        if behind && self.behind.is_none() {
            self.behind = Some(Instant::now());
        }
        let learned = if self.behind.is_some() { self.shared.board.reached().learned } else { seq };
        self.shared.board.reach(Reached { seq, learned });
    }

    fn batch(&mut self, jobs: Vec<Job>) {
        self.shared.waiting.fetch_sub(jobs.len(), Ordering::Relaxed);
        let (mut ready, mut touched) = (Vec::new(), HashSet::<u64>::new());
        for Job { work, flight, given } in jobs {
            self.shared.options.measured(Measured::Queue, given.elapsed().as_secs_f64());
            match work {
                Work::Nudge => {}
                Work::Alone(work) => {
                    self.commit(std::mem::take(&mut ready));
                    touched.clear();
                    let then = work(Ok(self));
                    self.publish();
                    self.reach();
                    drop(flight);
                    then(self.campaign.head().seq);
                }
                Work::Decide(job) => {
                    if matches!(job.make, Make::Later(_)) {
                        self.commit(std::mem::take(&mut ready));
                        touched.clear();
                    }
                    ready.extend(self.decision(*job, flight));
                }
                Work::Rewards(job) => {
                    let (request, reply) = *job;
                    let new = self.rewards(request, (flight, reply), |writer, rounds| {
                        let again = rounds.iter().any(|round| touched.contains(round));
                        if again {
                            writer.commit(std::mem::take(&mut ready));
                            touched.clear();
                        }
                        touched.extend(rounds);
                        again
                    });
                    ready.extend(new);
                }
            }
        }
        self.commit(ready);
    }

    /// A decision that is ready to be written; none if it was answered.
    fn decision(&mut self, job: ToDecide, flight: Option<Flight>) -> Option<Ready> {
        let ToDecide { make, request, reply } = job;
        let made = match &request {
            Some((key, digest)) if self.is_on() => match decided_before(&self.campaign, key, *digest) {
                Ok(None) => self.made(make),
                Ok(Some(decided)) => {
                    drop(flight);
                    reply(Ok(decided));
                    return None;
                }
                Err(error) => Err(error),
            },
            _ => self.made(make),
        };
        match made {
            Err(error) => {
                drop(flight);
                reply(Err(error));
                None
            }
            Ok((Slate { sent, originals, mut command, .. }, model)) => {
                let (key, digest) = request.unzip();
                command.model = Some(model);
                command.request = digest.map(|digest| Box::new(ChooseRequest { digest, summary: None }));
                let (command, outcomes) = (Command::Choose(command), Vec::new());
                Some(Ready { command, key, sent, originals, outcomes, flight, answer: Answer::Decided(reply) })
            }
        }
    }

    fn made(&mut self, make: Make) -> Result<(Slate, u64), Error> {
        match make {
            Make::Made(slate, model) => Ok((*slate, model)),
            Make::Later(request) => {
                let t = self.shared.next_round.fetch_add(1, Ordering::Relaxed);
                let published = self.shared.board.now();
                let resting = resting(&self.campaign, self.campaign.config(), t, true)?;
                Ok((request.choose(&published, t, resting)?, published.model))
            }
        }
    }

    fn is_on(&self) -> bool {
        self.shared.options.journal == Journalling::On
    }

    /// Rewards that are ready to be written; none if they were answered. `free` is told which rounds they change, and
    /// whether they must be judged once more, after what was ready before.
    fn rewards(
        &mut self,
        request: RewardsRequest,
        (flight, reply): (Option<Flight>, Reply<Rewarded>),
        mut free: impl FnMut(&mut Self, &std::collections::BTreeSet<u64>) -> bool,
    ) -> Option<Ready> {
        let RewardsRequest { key, decision, mut lines, feedback } = request;
        // Lines that name no decision are about the one that is named for all.
        for line in lines.iter_mut().filter(|line| line.decision.is_none()) {
            line.decision.clone_from(&decision);
        }
        let told = |writer: &Self| tell(&writer.campaign, &lines, feedback, key.as_ref(), "lines");
        let told = if self.is_on() {
            told(self).and_then(|first| if free(self, &first.rounds) { told(self) } else { Ok(first) })
        } else {
            Err(Error::Usage("nothing is written down, so nothing can be learned".to_owned()))
        };
        let told = match told {
            Ok(told) => told,
            Err(error) => {
                drop(flight);
                reply(Err(error));
                return None;
            }
        };
        let answer = Told { decision, lines, verdicts: told.lines };
        let Some(command) = told.command else {
            let seq = told.earlier.map_or(self.campaign.head().seq, |entry| entry.seq);
            drop(flight);
            reply(Ok(answer.rewarded(&self.campaign, seq)));
            return None;
        };
        let (sent, originals, outcomes) = (Vec::new(), Vec::new(), told.outcomes);
        Some(Ready { command, key, sent, originals, outcomes, flight, answer: Answer::Rewarded(answer, reply) })
    }

    /// Writes what is ready, and answers.
    fn commit(&mut self, ready: Vec<Ready>) {
        if ready.is_empty() {
            return;
        }
        let begun = Instant::now();
        let done = self.append(&ready);
        let options = &self.shared.options;
        options.measured(Measured::Commit, begun.elapsed().as_secs_f64());
        options.measured(Measured::Batch, ready.len() as f64);
        self.reach();
        match done {
            Ok(entries) => {
                ready.into_iter().zip(entries).for_each(|(ready, seq)| ready.answer(&self.campaign, Ok(seq)));
            }
            Err(error) if ready.len() == 1 => {
                ready
                    .into_iter()
                    .take(1)
                    .zip([error])
                    .for_each(|(ready, error)| ready.answer(&self.campaign, Err(error)));
            }
            Err(_) => ready.into_iter().for_each(|ready| self.commit(vec![ready])),
        }
    }

    /// Appends one entry for each.
    fn append(&mut self, ready: &[Ready]) -> Result<Vec<u64>, Error> {
        if !self.is_on() {
            return Ok(vec![0; ready.len()]);
        }
        let (head, at) = (self.campaign.head(), self.now());
        let drafts: Vec<Draft<'_>> = ready
            .iter()
            .map(|ready| Draft {
                key: ready.key.as_ref(),
                at: Some(at.clone()),
                decisions: &ready.sent,
                outcomes: &ready.outcomes,
                originals: &ready.originals,
                ..Draft::new(ready.command.clone())
            })
            .collect();
        let entries = self.campaign.append_all(&head, &drafts)?;
        Ok(entries.into_iter().map(|entry| entry.seq).collect())
    }

    /// The time, as entries have it.
    pub(super) fn now(&self) -> String {
        clock::at((self.shared.options.clock)())
    }
}

impl Work {
    /// Answers why it is not done.
    pub(super) fn refuse(self, error: Error) {
        match self {
            Self::Decide(job) => (job.reply)(Err(error)),
            Self::Rewards(job) => (job.1)(Err(error)),
            Self::Alone(work) => work(Err(error))(0),
            Self::Nudge => {}
        }
    }
}
