//! An open campaign: the state after the journal's last entry, and the checked way to its rows.
//!
//! Opening reads the newest checkpoint and the entries after it. Rows read later are checked against the state:
//! decisions by their digest, outcomes by the hash of all outcomes of their round, sums by the hash in the entry that
//! wrote them. Only [`verify`](Campaign::verify) reads everything.

use super::{
    Command, Entry, Flaw, Head, Heard, Journal, Kept, Kind, Outcome, RoundInfo, Rules, Sent, Setup, Sha, Tag, blocks,
    decision::{DecisionDigest, digest_outcomes, hear_all},
    fold::{Last, Played, segment_of},
    state::State,
    sums,
};
use crate::{Error, config::Config, recipe::Recipe};
use armwise::Model;
use std::{borrow::Cow, collections::BTreeMap, path::Path};

/// An open campaign.
#[derive(Debug)]
pub struct Campaign {
    pub(super) journal: Box<dyn Journal>,
    /// What `init` froze, with the rules now in force.
    pub(super) setup: Setup,
    /// The entry with the rules now in force.
    pub(super) rules_now: u64,
    /// Every promotion that there ever was, in the order of the model's blocks.
    pub(super) blocks: Vec<String>,
    /// How many promotions the first rules had.
    pub(super) first_blocks: usize,
    pub(super) state: State,
    pub(super) head: Head,
    /// The last checkpoint's entry; 0 if there is none.
    pub(super) checkpoint: u64,
    /// The merged sums of the first segments.
    pub(super) prefix: Option<Prefix>,
}

/// The sums of all segments up to `through`, merged.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) through: u64,
    pub(super) model: Model,
}

impl Campaign {
    /// Opens a journal that a campaign was begun in.
    ///
    /// # Errors
    /// [`Error::Damaged`], and those of the store.
    pub fn open(journal: Box<dyn Journal>) -> Result<Self, Error> {
        let damaged = |problem: String| Error::Damaged { path: journal.path().to_owned(), problem, cause: None };
        let (mut state, mut head, mut prefix, mut checkpoint) = (State::new(), Head::none(), None, 0);
        let entries = match journal.kept()? {
            Some(kept) => match from_checkpoint(&*journal, &kept)? {
                Some((entry, good, merged, later)) => {
                    (state, head, prefix, checkpoint) = (good, entry.head(), Some(merged), entry.seq);
                    later
                }
                None => journal.entries(0)?,
            },
            None => journal.entries(0)?,
        };
        for entry in &entries {
            let changed = entry.follows(&head).and_then(|()| state.apply(entry)).map_err(damaged)?;
            head = entry.head();
            prefix = prefix.filter(|prefix: &Prefix| changed.is_none_or(|segment| segment > prefix.through));
            if entry.kind == Kind::Checkpoint {
                // The bytes are missing or damaged, so the model of the checkpoint is unusable too.
                (checkpoint, prefix) = (entry.seq, None);
            }
        }
        let first = match entries.into_iter().next() {
            Some(entry) if entry.seq == 1 => Some(entry),
            _ => journal.entry(1)?,
        };
        let begins = || damaged("the journal does not begin with init".to_owned());
        let first = first.filter(|first| first.kind == Kind::Init).ok_or_else(begins)?;
        if state.rules.first().is_none_or(|rules| rules.body != Sha::of(&first.body)) {
            return Err(damaged("entry 1 (init) is not the one that the journal vouches for".to_owned()));
        }
        let Ok(Command::Init(setup)) = first.command() else { return Err(begins()) };
        let now = state.rules.last().map_or(1, |rules| rules.seq);
        let blocks = blocks::named(&[], &setup.config);
        let (first_blocks, setup) = (blocks.len(), *setup);
        let mut campaign = Self { journal, setup, rules_now: 1, blocks, first_blocks, state, head, checkpoint, prefix };
        if now > 1 {
            campaign.setup.recipe = campaign.recipe_of_entry(u64::MAX)?.into_owned();
            campaign.obey(now, campaign.amended(now)?);
        }
        Ok(campaign)
    }

    pub(super) fn damaged(&self, problem: impl Into<String>) -> Error {
        Error::Damaged { path: self.journal.path().to_owned(), problem: problem.into(), cause: None }
    }

    /// Where the journal is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.journal.path()
    }

    /// The tag of its decisions.
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.setup.tag
    }

    /// What `init` froze, with the rules that hold now.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The rules that hold now.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.setup.config
    }

    /// The rules that held when a round was chosen.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn config_of(&self, round: u64) -> Result<Cow<'_, Config>, Error> {
        self.rules(self.info(round)?.rules)
    }

    /// The rules that held after entry `until`.
    pub(super) fn config_after(&self, until: u64) -> Result<Cow<'_, Config>, Error> {
        self.rules(self.state.rules.iter().rev().find(|rules| rules.seq <= until).map_or(1, |rules| rules.seq))
    }

    /// The rules in an entry.
    fn rules(&self, seq: u64) -> Result<Cow<'_, Config>, Error> {
        if seq == self.rules_now {
            return Ok(Cow::Borrowed(&self.setup.config));
        }
        Ok(Cow::Owned(self.amended(seq)?.config))
    }

    /// What an entry says of the rules, checked.
    fn amended(&self, seq: u64) -> Result<Rules, Error> {
        let Some(known) = self.state.rules.iter().find(|rules| rules.seq == seq) else {
            return Err(self.damaged(format!("entry {seq} holds no rules")));
        };
        let entry = self.journal.entry(seq)?.filter(|entry| Sha::of(&entry.body) == known.body);
        match entry.as_ref().map(Entry::command) {
            Some(Ok(Command::Init(setup))) => {
                Ok(Rules { config: setup.config, blocks: Vec::new(), recipe: Some(setup.recipe) })
            }
            Some(Ok(Command::Amend(rules))) => Ok(*rules),
            _ => Err(self.damaged(format!("entry {seq} is not the one that the journal vouches for"))),
        }
    }

    /// Makes the rules of entry `seq` those that hold now.
    pub(super) fn obey(&mut self, seq: u64, rules: Rules) {
        if !rules.blocks.is_empty() {
            self.blocks = rules.blocks;
        }
        if let Some(recipe) = rules.recipe {
            self.setup.recipe = recipe;
        }
        (self.setup.config, self.rules_now) = (rules.config, seq);
    }

    /// The entry whose recipe held after entry `until`.
    fn recipe_seq(&self, until: u64) -> u64 {
        self.state.recipes.iter().rev().copied().find(|&seq| seq <= until).unwrap_or(1)
    }

    /// The recipe that held after entry `until`.
    fn recipe_of_entry(&self, until: u64) -> Result<Cow<'_, Recipe>, Error> {
        let seq = self.recipe_seq(until);
        // While a campaign is opened, `rules_now` is the first entry, whose recipe it has.
        if seq == self.recipe_seq(self.rules_now) {
            return Ok(Cow::Borrowed(&self.setup.recipe));
        }
        match self.amended(seq)?.recipe {
            Some(recipe) => Ok(Cow::Owned(recipe)),
            None => Err(self.damaged(format!("entry {seq} holds no recipe"))),
        }
    }

    /// The recipe that made the features of a round when it was chosen.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn recipe_of(&self, round: u64) -> Result<Cow<'_, Recipe>, Error> {
        self.recipe_of_entry(self.info(round)?.seq)
    }

    /// Rules and recipe as they were after entry `until`.
    pub(super) fn setup_after(&self, until: u64) -> Result<Cow<'_, Setup>, Error> {
        if until >= self.rules_now {
            return Ok(Cow::Borrowed(&self.setup));
        }
        let (config, recipe) = (self.config_after(until)?.into_owned(), self.recipe_of_entry(until)?.into_owned());
        Ok(Cow::Owned(Setup { config, recipe, ..self.setup.clone() }))
    }

    /// A round, or what happened before the first one.
    pub(super) fn info(&self, round: u64) -> Result<&RoundInfo, Error> {
        match &self.state.logged {
            Some(logged) if round == 0 => Ok(logged),
            _ => self.round(round),
        }
    }

    /// The features.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.setup.recipe
    }

    /// The journal's last entry; its hash covers the whole history.
    #[must_use]
    pub fn head(&self) -> Head {
        self.head
    }

    /// The hash of the model after the last entry.
    #[must_use]
    pub fn model_hash(&self) -> Sha {
        self.state.model
    }

    /// The rounds chosen so far, ascending.
    #[must_use]
    pub fn rounds(&self) -> &BTreeMap<u64, RoundInfo> {
        &self.state.rounds
    }

    /// The round that comes next: after the last one, or after what the campaign began with. The number of a revoked
    /// round is not used again.
    #[must_use]
    pub fn next_round(&self) -> u64 {
        self.next_round_after(u64::MAX)
    }

    /// As [`next_round`](Self::next_round), as it was after entry `until`.
    pub(super) fn next_round_after(&self, until: u64) -> u64 {
        let begun = self.setup.start.as_ref().map_or(0, Model::t);
        let last = self.rounds().values().rev().find(|info| info.seq <= until);
        last.map_or(begun, |info| info.round) + 1
    }

    /// A round that must exist.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn round(&self, round: u64) -> Result<&RoundInfo, Error> {
        self.rounds().get(&round).ok_or_else(|| {
            let has: Vec<String> = self.rounds().keys().map(u64::to_string).collect();
            let hint = if has.is_empty() {
                "; none was chosen yet".to_owned()
            } else {
                format!("; there are {}", has.join(", "))
            };
            Error::NotFound { what: "round", name: round.to_string(), hint }
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
        let info = self.info(round)?;
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
    pub(super) fn played(&self, round: u64, until: u64) -> Result<Played, Error> {
        let recipe = if self.recipe_seq(until) > self.recipe_seq(self.info(round)?.seq) {
            Some(self.recipe_of_entry(until)?)
        } else {
            None
        };
        self.played_by(round, until, recipe.as_deref())
    }

    /// As [`played`](Self::played), with the features that a recipe makes; as they were chosen, if none is given.
    pub(super) fn played_by(&self, round: u64, until: u64, recipe: Option<&Recipe>) -> Result<Played, Error> {
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
        Ok(Played {
            round,
            decisions,
            last: Last::of(&heard),
            closed: by(info.closed_by),
            revoked: by(info.revoked_by),
            // No negative zero, since a journal may lose its sign.
            default: self.config_of(round)?.reward.default + 0.0,
            aside: self.aside(round, until),
        })
    }

    /// The decisions of a round that are still pending because the rows about them were put aside, and why, as it was
    /// after entry `until`; by flaw, ascending.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(super) fn still_aside(&self, round: u64, until: u64) -> Result<BTreeMap<Flaw, Vec<u32>>, Error> {
        let mut aside = self.aside(round, until);
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
    pub(super) fn aside(&self, round: u64, until: u64) -> BTreeMap<u32, Flaw> {
        let of_round = self.state.aside.get(&round).into_iter().flatten();
        of_round.filter(|(_, (seq, _))| *seq <= until).map(|(&number, &(_, flaw))| (number, flaw)).collect()
    }

    pub(super) fn segment_of(&self, round: u64) -> u64 {
        segment_of(round, self.setup.rounds_per_segment)
    }

    /// The chosen rounds of a segment, ascending. Segment 0 is what happened before the first round.
    pub(super) fn rounds_in(&self, segment: u64) -> Vec<u64> {
        if segment == 0 {
            return self.state.logged.iter().map(|logged| logged.round).collect();
        }
        let length = self.setup.rounds_per_segment.max(1);
        let first = (segment - 1) * length + 1;
        // A segment is first, first + 1, ..., first + length - 1.
        self.rounds().range(first..first + length).map(|(&round, _)| round).collect()
    }

    /// The segments of all rounds that were chosen up to entry `until`, ascending.
    pub(super) fn segments(&self, until: u64) -> Vec<u64> {
        let all = self.state.logged.iter().chain(self.rounds().values());
        let mut segments: Vec<u64> =
            all.filter(|info| info.seq <= until).map(|info| self.segment_of(info.round)).collect();
        segments.dedup();
        segments
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

/// The state that a checkpoint vouches for, and the entries after it; none if the checkpoint's bytes are damaged.
#[expect(clippy::type_complexity, reason = "a tuple that is taken apart at once")]
fn from_checkpoint(journal: &dyn Journal, kept: &Kept) -> Result<Option<(Entry, State, Prefix, Vec<Entry>)>, Error> {
    let mut entries = journal.entries(kept.seq.saturating_sub(2))?.into_iter();
    let (Some(before), Some(entry)) = (entries.next(), entries.next()) else { return Ok(None) };
    if entry.seq != kept.seq || entry.follows(&before.head()).is_err() {
        return Ok(None);
    }
    let Ok(Command::Checkpoint(vouched)) = entry.command() else { return Ok(None) };
    if Sha::of(&kept.state) != vouched.state || Sha::of(&kept.model) != vouched.model {
        return Ok(None);
    }
    let read = State::decode(&kept.state).zip(sums::decode(&kept.model));
    let Some((state, model)) = read else { return Ok(None) };
    Ok(Some((entry, state, Prefix { through: vouched.through, model }, entries.collect())))
}
