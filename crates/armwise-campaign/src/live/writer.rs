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
    follow::{Following, Tries, is_passing},
    numbers::Numbers,
    options::{Journalling, LiveOptions, Measured},
    published::{Board, Published, Reached},
    ready::{Answer, Origin, Ready, Told, answer, decided_before},
    request::RewardsRequest,
    seen::Seen,
    slate::ToChoose,
};
use crate::{
    Campaign, Error,
    core::{ChooseRequest, Command, Draft, Key, LAST_ROUND, Refusal, Sha, clock, digest_sent, fold, tell},
    round::{Slate, resting},
};
use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

/// The most commands in one commit.
const MOST: usize = 512;
/// A number of a round that others may choose beside is used within this time, or another one is taken: rounds are about in
/// the order of their time.
pub(super) const NUMBER: Duration = Duration::from_secs(3);

/// A decision to be written.
pub(super) struct ToDecide {
    pub(super) make: Make,
    /// The key with the digest of what was asked.
    pub(super) request: Option<(Key, Sha)>,
    pub(super) reply: Reply<Decided>,
}

/// Where the choice is made.
pub(super) enum Make {
    /// It is made.
    Made(Box<Made>),
    /// By the writer, since it depends on who was chosen before, or since there is no number for it yet.
    Later(ToChoose),
}

/// A choice that is made.
pub(super) struct Made {
    pub(super) slate: Slate,
    /// The entry whose model chose it.
    pub(super) model: u64,
    /// The entry whose rules held.
    pub(super) rules: u64,
    /// When its number was taken.
    pub(super) at: Instant,
    /// What was asked for, in case it must be chosen anew.
    pub(super) request: ToChoose,
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
    /// The model in force.
    in_force: Sha,
    /// What the clock does, and when it did last.
    pub(super) clockwork: Clockwork,
    /// How it keeps up with other servers.
    pub(super) following: Following,
    /// What it has seen of a journal that others may replace.
    pub(super) seen: Option<Seen>,
    /// What others were faster with, to be tried again.
    again: Option<(Vec<Job>, Error)>,
}

impl Writer {
    pub(super) fn new(campaign: Campaign, shelf: Option<Arc<Shelf>>, shared: Arc<Shared>, seen: Option<Seen>) -> Self {
        let (in_force, following) = (campaign.model_hash(), Following::new(campaign.count_arms_changes()));
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
                    let more = std::iter::from_fn(|| jobs.try_recv().ok()).take(MOST - 1);
                    let batch: Vec<Job> = std::iter::once(first).chain(more).collect();
                    self.batch(batch);
                    if let Some(count) = self.shared.numbers.wanted() {
                        // Without numbers, choices wait for the writer.
                        let _ = self.refill(count);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.until_follow().is_some_and(|pause| pause.is_zero()) {
                self.look();
            }
            if self.until_learning().is_some_and(|pause| pause.is_zero()) {
                self.learn();
            }
            if self.until_tick().is_some_and(|pause| pause.is_zero()) {
                self.tick();
                self.reach();
            }
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
        let folded = self.retried(|writer| fold(&mut writer.campaign));
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
    pub(super) fn reach(&mut self) {
        let seq = self.campaign.head().seq;
        let behind = self.campaign.is_behind() || self.campaign.model_hash() != self.in_force;
        if behind && self.behind.is_none() {
            self.behind = Some(Instant::now());
        }
        let learned = if self.behind.is_some() { self.shared.board.reached().learned } else { seq };
        self.shared.board.reach(Reached { seq, learned });
    }

    fn batch(&mut self, mut jobs: Vec<Job>) {
        self.shared.waiting.fetch_sub(jobs.len(), Ordering::Relaxed);
        for job in &jobs {
            self.shared.options.measured(Measured::Queue, job.given.elapsed().as_secs_f64());
        }
        let mut tries = Tries::new();
        while !jobs.is_empty() {
            if jobs.iter().any(|job| !matches!(job.work, Work::Nudge)) {
                self.begin_turn();
            }
            self.pass(std::mem::take(&mut jobs));
            self.end_turn();
            let Some((again, error)) = self.again.take() else { return };
            // What was judged before others appended is judged after.
            let followed = self.catch_up();
            self.reach();
            let error = match followed {
                Err(error) if !is_passing(&error) => error,
                followed => {
                    if tries.again() {
                        jobs = again;
                        continue;
                    }
                    followed.err().unwrap_or(error)
                }
            };
            for Job { work, flight, .. } in again {
                drop(flight);
                work.refuse(alike(&error));
            }
            if !matches!(error, Error::HeadMoved { .. }) {
                self.shared.note(Some(error));
            }
        }
    }

    /// Puts what others were faster with aside, to be tried again.
    fn try_again(&mut self, jobs: impl IntoIterator<Item = Job>, error: Error) {
        match &mut self.again {
            Some((all, _)) => all.extend(jobs),
            None => self.again = Some((jobs.into_iter().collect(), error)),
        }
    }

    /// Does what it was told, once.
    fn pass(&mut self, jobs: Vec<Job>) {
        let (mut ready, mut touched) = (Vec::new(), HashSet::<u64>::new());
        for Job { work, flight, given } in jobs {
            if self.again.is_some() {
                // Nothing can be written before what others wrote is known.
                self.try_again([Job { work, flight, given }], Error::Usage(String::new()));
                continue;
            }
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
                    ready.extend(self.decision(*job, flight, given));
                }
                Work::Rewards(job) => {
                    let (request, reply) = *job;
                    let new = self.rewards(request, (flight, reply, given), |writer, rounds| {
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
        match &self.again {
            Some(_) => self.try_again(ready.into_iter().map(Ready::again), Error::Usage(String::new())),
            None => self.commit(ready),
        }
    }

    /// A decision that is ready to be written; none if it was answered.
    fn decision(&mut self, job: ToDecide, flight: Option<Flight>, given: Instant) -> Option<Ready> {
        let ToDecide { make, request, reply } = job;
        let before = match &request {
            Some((key, digest)) if self.is_on() => decided_before(&self.campaign, key, *digest),
            _ => Ok(None),
        };
        let before = match before {
            Ok(None) => self.written_before(&make),
            before => before,
        };
        match before {
            Ok(Some(decided)) => {
                drop(flight);
                reply(Ok(decided));
                return None;
            }
            Err(error) if self.is_others(&error) => {
                let work = Work::Decide(Box::new(ToDecide { make, request, reply }));
                self.try_again([Job { work, flight, given }], error);
                return None;
            }
            Err(error) => {
                drop(flight);
                reply(Err(error));
                return None;
            }
            Ok(None) => {}
        }
        match self.made(make) {
            Err(failed) if self.is_others(&failed.1) => {
                let (make, error) = *failed;
                let work = Work::Decide(Box::new(ToDecide { make, request, reply }));
                self.try_again([Job { work, flight, given }], error);
                None
            }
            Err(failed) => {
                drop(flight);
                reply(Err(failed.1));
                None
            }
            Ok((
                Made { slate: Slate { sent, originals, mut command, .. }, model, rules, at, request: asked },
                later,
            )) => {
                let (key, digest) = request.unzip();
                command.model = Some(model);
                command.request = digest.map(|digest| Box::new(ChooseRequest { digest, summary: None }));
                let (command, outcomes) = (Command::Choose(command), Vec::new());
                let answer = Answer::Decided(reply, Origin { rules, at, request: asked, later });
                Some(Ready { command, key, sent, originals, outcomes, flight, given, answer })
            }
        }
    }

    /// Whether an error comes from others who write to the same journal, so that it may go better next time.
    fn is_others(&self, error: &Error) -> bool {
        self.campaign.is_shared() && is_passing(error)
    }

    /// The answer to a choice that was written though its writer was told otherwise, or nothing: a number has one choice.
    fn written_before(&self, make: &Make) -> Result<Option<Decided>, Error> {
        let Make::Made(made) = make else { return Ok(None) };
        if !self.campaign.is_shared() {
            return Ok(None);
        }
        let round = made.slate.command.round;
        match self.campaign.round(round) {
            Ok(info) if info.digest == digest_sent(&made.slate.sent) => {
                let mut chosen = made.slate.command.clone();
                chosen.model = Some(made.model);
                Ok(Some(answer(&self.campaign, info.seq, &chosen, made.slate.sent.clone())))
            }
            Ok(_) | Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The choice; made here if it was not made, or if it was made for rules that hold no more, for a number that another
    /// one has, or too long ago. Whether it depends on who was chosen before is said too.
    fn made(&mut self, make: Make) -> Result<(Made, bool), Box<(Make, Error)>> {
        let request = match make {
            Make::Made(made) => {
                let is_late = self.campaign.is_shared() && made.at.elapsed() > NUMBER;
                let is_taken = self.campaign.is_shared() && self.campaign.round(made.slate.command.round).is_ok();
                if made.rules == self.campaign.rules_seq() && !is_late && !is_taken {
                    return Ok((*made, false));
                }
                made.request
            }
            Make::Later(request) => request,
        };
        let (at, rest) = (Instant::now(), self.campaign.config().limits.rest > 0);
        let mut choose = || {
            let t = self.number()?;
            if t > LAST_ROUND {
                return Err(Refusal::BadRound(t).into());
            }
            let published = self.shared.board.now();
            let resting = if rest { resting(&self.campaign, self.campaign.config(), t, true)? } else { HashSet::new() };
            Ok((request.choose(&published, t, resting)?, published.model, published.rules))
        };
        match choose() {
            Ok((slate, model, rules)) => Ok((Made { slate, model, rules, at, request }, rest)),
            Err(error) => Err(Box::new((Make::Later(request), error))),
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
        (flight, reply, given): (Option<Flight>, Reply<Rewarded>, Instant),
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
            Err(error) if self.is_others(&error) => {
                let work = Work::Rewards(Box::new((RewardsRequest { key, decision, lines, feedback }, reply)));
                self.try_again([Job { work, flight, given }], error);
                return None;
            }
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
        let answer = Answer::Rewarded(answer, feedback, reply);
        Some(Ready { command, key, sent, originals, outcomes, flight, given, answer })
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
            Err(error) if self.is_others(&error) => {
                if matches!(error, Error::HeadMoved { .. }) {
                    self.lost();
                }
                self.try_again(ready.into_iter().map(Ready::again), error);
            }
            Err(error) if ready.len() == 1 || is_final(&error) => {
                ready.into_iter().for_each(|ready| ready.answer(&self.campaign, Err(alike(&error))));
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

/// Whether an error is one of the store, which each of several commands would meet again.
fn is_final(error: &Error) -> bool {
    matches!(error, Error::WentBack { .. } | Error::NewerSchema { .. } | Error::Unavailable { .. })
}

/// The same error once more: several commands may meet one.
fn alike(error: &Error) -> Error {
    match error {
        Error::HeadMoved { path, expected, found } => {
            Error::HeadMoved { path: path.clone(), expected: *expected, found: *found }
        }
        Error::Unavailable { path, problem } => Error::Unavailable { path: path.clone(), problem: problem.clone() },
        Error::WentBack { path, seen, found } => Error::WentBack { path: path.clone(), seen: *seen, found: *found },
        Error::NewerSchema { path, version, oldest, known } => {
            Error::NewerSchema { path: path.clone(), version: *version, oldest: *oldest, known: *known }
        }
        Error::KeyUsed { path, key } => Error::KeyUsed { path: path.clone(), key: key.clone() },
        Error::DiskFull { path, .. } => Error::DiskFull { path: path.clone(), cause: None },
        Error::Damaged { path, problem, .. } => {
            Error::Damaged { path: path.clone(), problem: problem.clone(), cause: None }
        }
        Error::Storage { path, problem, .. } => {
            Error::Storage { path: path.clone(), problem: problem.clone(), cause: None }
        }
        other => Error::Usage(other.to_string()),
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
