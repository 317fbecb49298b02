//! The rows of a journal, checked: decisions by their digest, outcomes by the hash of all outcomes of their round.
//!
//! What is at hand ([`Recent`](super::recent::Recent)) was checked when it was read or written.

use super::{
    Campaign, Command, Counts, DecisionId, Entry, Flaw, Head, Heard, Journal, Outcome, RoundInfo, Sent, Sha,
    decision::{DecisionDigest, digest_outcomes, hear_all},
    fold::{Last, Played},
};
use crate::{Error, recipe::Recipe};
use std::collections::BTreeMap;

impl Campaign {
    /// How many customers the table of a round had, and the entry whose model chose it.
    pub(crate) fn chosen_from(&self, round: u64) -> Result<(Option<u64>, u64), Error> {
        let seq = self.round(round)?.seq;
        Ok(match self.journal.entry(seq)?.map(|entry| entry.command()) {
            Some(Ok(Command::Choose(chosen))) => (Some(chosen.customers), chosen.model.unwrap_or(seq)),
            _ => (None, seq),
        })
    }

    /// All entries, their chain checked.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn entries(&self) -> Result<Vec<Entry>, Error> {
        let entries = self.journal.entries(0)?;
        let mut head = Head::none();
        for entry in &entries {
            entry.follows(&head).map_err(|problem| self.damaged(problem))?;
            head = entry.head();
        }
        Ok(entries)
    }

    /// The decisions of a round, checked.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a round that was not chosen, [`Error::Damaged`].
    pub fn sent(&self, round: u64) -> Result<Vec<Sent>, Error> {
        let mut all = Vec::new();
        self.each_sent(round, &mut |sent| all.push(sent))?;
        Ok(all)
    }

    /// The decisions of a round one after the other. They are checked when the last one has been taken, so nothing may
    /// be believed before this returns.
    pub(super) fn each_sent(&self, round: u64, take: &mut dyn FnMut(Sent)) -> Result<(), Error> {
        self.not_compacted(round)?;
        if let Some(played) = self.recent.borrow().rounds.get(&round) {
            played.decisions.iter().cloned().for_each(take);
            return Ok(());
        }
        let info = self.info(round)?;
        let (count, digest) = digest_of(&*self.journal, round, info.seq, take)?;
        self.check(info.seq, (info.decisions, info.digest), (count, digest))
    }

    /// The outcomes of an entry, checked.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        let unknown = || Error::NotFound { what: "entry", name: seq.to_string(), hint: String::new() };
        self.outcomes_of(&self.journal.entry(seq)?.ok_or_else(unknown)?)
    }

    pub(super) fn outcomes_of(&self, entry: &Entry) -> Result<Vec<Outcome>, Error> {
        let outcomes = self.journal.outcomes(entry.seq)?;
        self.check(entry.seq, (entry.rows, entry.digest), (outcomes.len() as u64, digest_outcomes(&outcomes)))?;
        Ok(outcomes)
    }

    fn check(&self, seq: u64, expected: (u64, Sha), found: (u64, Sha)) -> Result<(), Error> {
        if expected == found {
            return Ok(());
        }
        Err(self.damaged(format!("the {} rows of entry {seq} do not have their digest", found.0)))
    }

    /// All outcomes of a round's decisions, checked.
    pub(super) fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        self.not_compacted(round)?;
        let info = self.info(round)?;
        if let Some(known) = self.recent.borrow().heard.get(&round).filter(|known| hear_all(known) == info.heard) {
            return Ok(known.clone());
        }
        let mut heard = self.journal.heard(round)?;
        // A reader does not see what is written meanwhile.
        heard.retain(|heard| heard.seq <= self.head.seq);
        if hear_all(&heard) == info.heard {
            return Ok(heard);
        }
        Err(self.damaged(format!("the {} outcomes of round {round} do not have their hash", heard.len())))
    }

    /// A round with all that was known of it after entry `until`, and with the features that the recipe of that time
    /// makes of its decisions.
    pub(crate) fn played(&self, round: u64, until: u64) -> Result<Played, Error> {
        let recipe = if self.recipe_seq(until) > self.recipe_seq(self.info(round)?.seq) {
            Some(self.recipe_of_entry(until)?)
        } else {
            None
        };
        self.played_by(round, until, recipe.as_deref())
    }

    /// As [`played`](Self::played), with the features that a recipe makes; as they were chosen, if none is given.
    pub(super) fn played_by(&self, round: u64, until: u64, recipe: Option<&Recipe>) -> Result<Played, Error> {
        if let Some(played) = self.recent.borrow().rounds.get(&round).filter(|_| until >= self.head.seq) {
            return Ok(played.clone());
        }
        let info = self.info(round)?;
        let mut heard = self.heard(round)?;
        heard.retain(|heard| heard.seq <= until);
        let by = |seq: Option<u64>| seq.is_some_and(|seq| seq <= until);
        let mut decisions = self.sent(round)?;
        // Of a revoked round nothing is learned, so its features may stay.
        if let Some(recipe) = recipe.filter(|_| !by(info.revoked_by)) {
            let features = self.re_expressed(round, recipe)?;
            decisions.iter_mut().zip(features).for_each(|(sent, features)| sent.features = features.into());
        }
        // No negative zero, since a journal may lose its sign.
        let config = self.config_of(round)?;
        let default = config.reward.default + 0.0;
        Ok(Played {
            round,
            decisions,
            last: Last::of(&heard),
            closed: by(info.closed_by),
            revoked: by(info.revoked_by),
            default,
            hold_out_alike: info.hold_out_alike,
            hold_out_default: config.hold_out_default(),
            aside: self.aside(round, until)?,
        })
    }

    /// What became of a round's decisions, in numbers, the hold-out's included.
    pub(super) fn counts(&self, info: &RoundInfo) -> Result<Counts, Error> {
        if info.counts.hold_out.counted { Ok(info.counts) } else { Ok(self.played(info.round, u64::MAX)?.counts()) }
    }

    /// The decisions of a round that are still pending because the rows about them were put aside, and why, as it was
    /// after entry `until`; by flaw, ascending.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(super) fn still_aside(&self, round: u64, until: u64) -> Result<BTreeMap<Flaw, Vec<u32>>, Error> {
        let mut aside = self.aside(round, until)?;
        if aside.is_empty() || self.round(round)?.revoked_by.is_some_and(|seq| seq <= until) {
            return Ok(BTreeMap::new());
        }
        for heard in self.heard(round)?.into_iter().filter(|heard| heard.seq <= until) {
            aside.remove(&heard.outcome.decision.number);
        }
        let mut by_flaw: BTreeMap<Flaw, Vec<u32>> = BTreeMap::new();
        aside.into_iter().for_each(|(number, flaw)| by_flaw.entry(flaw).or_default().push(number));
        Ok(by_flaw)
    }

    /// The numbers of a round's decisions about which rows were put aside until entry `until`, and why.
    pub(super) fn aside(&self, round: u64, until: u64) -> Result<BTreeMap<u32, Flaw>, Error> {
        let away = self.away_with(round)?;
        let of_round = away.as_deref().unwrap_or(&self.state).aside.get(&round).into_iter().flatten();
        Ok(of_round.filter(|(_, (seq, _))| *seq <= until).map(|(&number, &(_, flaw))| (number, flaw)).collect())
    }

    /// Whether a row about a decision was put aside until entry `until`.
    pub(super) fn is_aside(&self, id: DecisionId, until: u64) -> Result<bool, Error> {
        let away = self.away_with(id.round)?;
        let of_round = away.as_deref().unwrap_or(&self.state).aside.get(&id.round);
        Ok(of_round.and_then(|aside| aside.get(&id.number)).is_some_and(|(seq, _)| *seq <= until))
    }
}

/// How many decisions a journal has for a round and their digest; each must belong to the entry `seq`.
pub(super) fn digest_of(
    journal: &dyn Journal,
    round: u64,
    seq: u64,
    take: &mut dyn FnMut(Sent),
) -> Result<(u64, Sha), Error> {
    let mut digest = DecisionDigest::default();
    journal.each_decision(round, &mut |of, sent| {
        if of != seq {
            let problem = format!("a decision of round {round} belongs to entry {of}, not to {seq}");
            return Err(Error::Damaged { path: journal.path().to_owned(), problem, cause: None });
        }
        digest.add(&sent);
        take(sent);
        Ok(())
    })?;
    Ok(digest.finish())
}
