//! The commands of a campaign in service.

use super::{
    ArmsChange, ArmsChanged, DecideRequest, Decided, Done, Flight, Job, Live, Reply, Rewarded, RewardsRequest, Work,
    catalogue::{Shelf, bytes},
    options::Measured,
    slate::ToChoose,
    work::{Made, Make, Then, ToDecide},
    writer::Writer,
};
use crate::{
    Error,
    config::Config,
    core::{
        Activated, Amended, ArmsAction, ArmsChange as ArmsEntry, Closed, ClosedThrough, Command, Draft, Feedback, Key,
        LAST_ROUND, LearnOptions, Learned, Refusal, Revoked, Sha, activate, amend, close, close_up_to, learn_with,
        revoke,
    },
    input::Memory,
    table::Sheet,
};
use arrow_array::RecordBatch;
use std::{collections::HashSet, sync::Arc, time::Instant};

impl Live {
    /// Decides: chooses in the caller's thread, with the model in force, and answers once it is on the disk.
    pub fn decide_then(&self, request: DecideRequest, reply: Reply<Decided>) {
        match self.chosen(request) {
            Err(error) => reply(Err(error)),
            Ok((make, request, flight)) => {
                let work = Work::Decide(Box::new(ToDecide { make, request, reply }));
                self.send(Job { work, flight, given: Instant::now() });
            }
        }
    }

    /// Decides, and waits until it is on the disk.
    ///
    /// # Errors
    /// [`Error::QueueFull`], [`Error::InFlight`], [`Error::KeyUsed`], [`Error::TooManyArms`], [`Error::Stopped`],
    /// [`Error::DiskFull`]; [`Error::Usage`] and [`Error::Library`] for what cannot be chosen, [`Error::NotFound`] for
    /// arms that the catalogue does not have, and errors of the rows. Nothing was decided then.
    pub fn decide(&self, request: DecideRequest) -> Result<Decided, Error> {
        self.wait(|reply| self.decide_then(request, reply))
    }

    /// Takes rewards, corrections or sends that did not arrive, and answers line by line once they are on the disk.
    pub fn rewards_then(&self, request: RewardsRequest, reply: Reply<Rewarded>) {
        match self.0.flights.take(request.key.as_ref()) {
            Err(error) => reply(Err(error)),
            Ok(flight) => {
                let work = Work::Rewards(Box::new((request, reply)));
                self.send(Job { work, flight, given: Instant::now() });
            }
        }
    }

    /// Takes rewards, and waits until they are on the disk.
    ///
    /// # Errors
    /// As [`decide`](Self::decide). Lines that do not count are no error: the answer says so.
    pub fn rewards(&self, request: RewardsRequest) -> Result<Rewarded, Error> {
        self.wait(|reply| self.rewards_then(request, reply))
    }

    /// Learns from a table of responses, as a campaign does; rows put aside are returned.
    ///
    /// # Errors
    /// Errors of the table; as [`decide`](Self::decide).
    pub fn learn(
        &self,
        table: Memory,
        feedback: Feedback,
        options: LearnOptions,
    ) -> Result<Done<(Learned, Sheet)>, Error> {
        let key = options.key.clone();
        self.alone(key, move |writer, _| learn_with(&mut writer.campaign, &table, feedback, &options))
    }

    /// Ends the response window of a decision.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Refused`] for one that was revoked; as [`decide`](Self::decide).
    pub fn close(&self, decision: &str, key: Option<Key>) -> Result<Done<Closed>, Error> {
        let round = self.round_of(decision)?;
        self.alone(key, move |writer, key| close(&mut writer.campaign, round, key))
    }

    /// Ends the response windows of all open decisions up to one; those that are held stay open.
    ///
    /// # Errors
    /// [`Error::NotFound`]; as [`decide`](Self::decide).
    pub fn close_up_to(&self, decision: &str, key: Option<Key>) -> Result<Done<ClosedThrough>, Error> {
        let round = self.round_of(decision)?;
        self.alone(key, move |writer, key| close_up_to(&mut writer.campaign, round, key))
    }

    /// Lets a decision go out that was held: from now on its window runs and rewards are learned.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Refused`] for one that was never held or was revoked; as [`decide`](Self::decide).
    pub fn activate(&self, decision: &str, key: Option<Key>) -> Result<Done<Activated>, Error> {
        let round = self.round_of(decision)?;
        self.alone(key, move |writer, key| activate(&mut writer.campaign, round, key))
    }

    /// Takes back a decision that was never shown.
    ///
    /// # Errors
    /// [`Error::NotFound`]; as [`decide`](Self::decide).
    pub fn revoke(&self, decision: &str, key: Option<Key>) -> Result<Done<Revoked>, Error> {
        let round = self.round_of(decision)?;
        self.alone(key, move |writer, key| revoke(&mut writer.campaign, round, key))
    }

    /// Changes the rules from the next decision on.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Refused`] with the field that may not change; as [`decide`](Self::decide).
    pub fn amend(&self, config: Config, key: Option<Key>) -> Result<Done<Amended>, Error> {
        self.alone(key, move |writer, key| amend(&mut writer.campaign, config.clone(), key))
    }

    /// As [`amend`](Self::amend), with the rules that `change` makes of those in force. A request that comes again is made
    /// on the rules that it was made on the first time.
    ///
    /// # Errors
    /// Those of `change`; as [`amend`](Self::amend).
    pub fn amend_with(
        &self,
        mut change: impl FnMut(&Config) -> Result<Config, Error> + Send + 'static,
        key: Option<Key>,
    ) -> Result<Done<Amended>, Error> {
        self.alone(key, move |writer, key| {
            let config = change(&*writer.campaign.rules_before(key)?)?;
            amend(&mut writer.campaign, config, key)
        })
    }

    /// Changes the catalogue from the next decision on.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an id to retire that is not there, [`Error::Cell`], [`Error::Table`] and
    /// [`Error::DuplicateCustomer`] for rows that cannot be used; as [`decide`](Self::decide).
    pub fn arms(&self, change: ArmsChange, key: Option<Key>) -> Result<Done<ArmsChanged>, Error> {
        self.alone(key, move |writer, key| writer.arms(&change, key))
    }

    /// Lets the campaign's file have no more than so many bytes from now on, or as many as the disk has.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub fn limit(&self, most_bytes: Option<u64>) -> Result<(), Error> {
        self.alone(None, move |writer, _| writer.campaign.limit(most_bytes)).map(|_| ())
    }

    /// Chooses with the model in force.
    #[expect(clippy::type_complexity, reason = "a tuple that is taken apart at once")]
    fn chosen(&self, request: DecideRequest) -> Result<(Make, Option<(Key, Sha)>, Option<Flight>), Error> {
        self.accepting()?;
        let shared = &self.0.shared;
        let key = request.key.clone();
        let flight = self.0.flights.take(key.as_ref())?;
        let begun = Instant::now();
        let request = ToChoose::new(request, shared.options.most_arms)?;
        let digest = match key {
            Some(key) => Some((key, request.digest()?)),
            None => None,
        };
        let published = shared.board.now();
        if published.chooser.config().limits.rest > 0 {
            return Ok((Make::Later(request), digest, flight));
        }
        // Where there is no number at hand, the writer gets one.
        let Some(t) = shared.numbers.take() else { return Ok((Make::Later(request), digest, flight)) };
        let slate = if t > LAST_ROUND {
            Err(Refusal::BadRound(t).into())
        } else {
            request.choose(&published, t, HashSet::new())
        };
        let slate = match slate {
            Ok(slate) => slate,
            // What cannot be chosen any more may have been answered before: the writer looks the key up first.
            Err(_) if digest.is_some() => return Ok((Make::Later(request), digest, flight)),
            Err(error) => return Err(error),
        };
        shared.options.measured(Measured::Choose, begun.elapsed().as_secs_f64());
        let made = Made { slate, model: published.model, rules: published.rules, at: begun, request };
        Ok((Make::Made(Box::new(made)), digest, flight))
    }

    /// Has the writer do something alone. The answer names the entry with the key, so that it stays the same whatever is
    /// appended later.
    fn alone<T: Send + 'static>(
        &self,
        key: Option<Key>,
        mut work: impl FnMut(&mut Writer, Option<&Key>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Done<T>, Error> {
        let flight = self.0.flights.take(key.as_ref())?;
        self.wait(move |reply: Reply<Done<T>>| {
            let work = move |writer: Result<&mut Writer, Error>| -> Then {
                let done = writer.and_then(|writer| {
                    writer.retried(|writer| {
                        let done = work(writer, key.as_ref())?;
                        let own = writer.campaign.earlier(key.as_ref(), |_| true)?;
                        Ok(Done { seq: own.map_or(writer.campaign.head().seq, |(entry, _)| entry.seq), done })
                    })
                });
                Box::new(move || reply(done))
            };
            self.send(Job { work: Work::Alone(Box::new(work)), flight, given: Instant::now() });
        })
    }
}

impl Writer {
    /// Changes the catalogue.
    pub(super) fn arms(&mut self, change: &ArmsChange, key: Option<&Key>) -> Result<ArmsChanged, Error> {
        let customer = self.campaign.config().customer.clone();
        let now = match &self.shelf {
            Some(shelf) => Arc::clone(shelf),
            None => Arc::new(Shelf::empty(&customer)?),
        };
        let (action, rows) = match change {
            ArmsChange::Replace(rows) => (ArmsAction::Put, rows.clone()),
            ArmsChange::Put(rows) => (ArmsAction::Change, rows.clone()),
            ArmsChange::Retire(ids) => (ArmsAction::Retire, now.ids(ids)?),
        };
        let (own, arms) = (bytes(&rows)?, rows.num_rows() as u64);
        let entry = ArmsEntry { action, arms, digest: Sha::of(&own) };
        if self.campaign.earlier(key, |command| *command == Command::Arms(entry.clone()))?.is_some() {
            return Ok(ArmsChanged { arms });
        }
        let mut changes: Vec<(ArmsEntry, Vec<u8>, RecordBatch)> = Vec::new();
        if let ArmsChange::Replace(rows) = change {
            let others = now.others(rows)?;
            if !others.is_empty() {
                let (rows, arms) = (now.ids(&others)?, others.len() as u64);
                let bytes = bytes(&rows)?;
                changes.push((ArmsEntry { action: ArmsAction::Retire, arms, digest: Sha::of(&bytes) }, bytes, rows));
            }
        }
        changes.push((entry, own, rows));
        // What cannot be used is refused before it is written.
        let mut next = now;
        for (entry, _, rows) in &changes {
            next = Arc::new(next.after(entry.action, rows.clone())?);
        }
        next.features(self.campaign.recipe())?;
        let (head, at, last) = (self.campaign.head(), self.now(), changes.len() - 1);
        let drafts: Vec<Draft<'_>> = changes
            .iter()
            .enumerate()
            .map(|(place, (entry, bytes, _))| Draft {
                key: key.filter(|_| place == last),
                at: Some(at.clone()),
                arms: Some(bytes),
                ..Draft::new(Command::Arms(entry.clone()))
            })
            .collect();
        self.campaign.append_all(&head, &drafts)?;
        self.following.arms = self.campaign.count_arms_changes();
        self.shelf = Some(next);
        Ok(ArmsChanged { arms })
    }
}
