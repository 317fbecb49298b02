//! All that waits, in one commit, and once more where others were faster.
//!
//! Commands that change the same round do not share a commit, since each must see what the one before it did. Where a
//! commit of several fails, each is tried alone, so that only those fail that must.

use super::{
    follow::{Tries, is_passing, only_unavailable},
    options::Measured,
    ready::Ready,
    request::RewardsRequest,
    work::{Job, Make, Work, alike},
    writer::Writer,
};
use crate::{
    Error,
    core::{Draft, Key},
};
use std::{
    collections::{BTreeSet, HashSet},
    sync::{atomic::Ordering, mpsc::Receiver},
    time::Instant,
};

/// The most commands in one commit.
const MOST: usize = 512;

impl Writer {
    /// Does what it was told, with all that waits by the time it has its turn.
    pub(super) fn batch(&mut self, first: Job, waiting: &Receiver<Job>) {
        let (mut jobs, mut tries, mut taken) = (vec![first], Tries::new(), 0);
        while !jobs.is_empty() {
            jobs.extend(waiting.try_iter().take(MOST.saturating_sub(jobs.len())));
            let mut begun = Ok(());
            if jobs.iter().any(|job| !matches!(job.work, Work::Nudge)) {
                begun = self.begin_turn();
                jobs.extend(waiting.try_iter().take(MOST.saturating_sub(jobs.len())));
                begun = begun.and_then(|()| self.read_ahead(&jobs));
            }
            for job in jobs.iter().skip(taken) {
                self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
                self.shared.options.measured(Measured::Queue, job.given.elapsed().as_secs_f64());
            }
            let all = std::mem::take(&mut jobs);
            match begun {
                Ok(()) => self.pass(all),
                Err(error) => self.try_again(all, error),
            }
            self.end_turn();
            let Some((again, error)) = self.again.take() else { return };
            // What was judged before others appended is judged after, unless a silent database has taken all the time.
            let followed = if tries.are_over() { Ok(0) } else { self.catch_up() };
            self.reach();
            let error = match followed {
                Err(error) if !is_passing(&error) => error,
                followed => {
                    if tries.again() {
                        (taken, jobs) = (again.len(), again);
                        continue;
                    }
                    followed.err().unwrap_or(error)
                }
            };
            self.note_silence(tries.begun(), &error);
            for Job { work, flight, .. } in again {
                drop(flight);
                work.refuse(alike(&error));
            }
            if !matches!(error, Error::HeadMoved { .. }) {
                self.shared.note(Some(error));
            }
        }
    }

    /// Reads in one step what these will need of a journal that is far away.
    fn read_ahead(&mut self, jobs: &[Job]) -> Result<(), Error> {
        if !self.campaign.is_shared() || !self.is_on() {
            return Ok(());
        }
        let (mut rounds, mut keys) = (BTreeSet::new(), Vec::new());
        for job in jobs {
            match &job.work {
                Work::Decide(job) => keys.extend(job.request.iter().map(|(key, _)| key.to_string())),
                Work::Rewards(job) => {
                    let RewardsRequest { key, decision, lines, .. } = &job.0;
                    keys.extend(key.iter().map(Key::to_string));
                    let named = decision.iter().chain(lines.iter().filter_map(|line| line.decision.as_ref()));
                    rounds.extend(named.filter_map(|decision| self.campaign.round_named(decision)));
                }
                Work::Alone(_) | Work::Nudge => {}
            }
        }
        // What else is wrong is told to whoever needs it.
        self.campaign.read_ahead(&rounds, keys).or_else(only_unavailable)
    }

    /// Puts what others were faster with aside, to be tried again.
    pub(super) fn try_again(&mut self, jobs: impl IntoIterator<Item = Job>, error: Error) {
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
                    // What cannot be read now is published before the next choice.
                    let _ = self.publish();
                    self.reach();
                    drop(flight);
                    then();
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
}

/// Whether an error is one of the store, which each of several commands would meet again.
fn is_final(error: &Error) -> bool {
    matches!(error, Error::WentBack { .. } | Error::NewerSchema { .. } | Error::Unavailable { .. })
}
