//! An open campaign: the state after the journal's last entry, and the checked way to its rows.
//!
//! Opening reads the newest checkpoint and the entries after it. Rows read later are checked against the state:
//! decisions by their digest, outcomes by the hash of all outcomes of their round, sums by the hash in the entry that
//! wrote them. Only [`verify`](Campaign::verify) reads everything.

use super::{
    Command, Counts, DecisionId, Entry, Flaw, Head, Heard, Journal, Kept, Kind, Outcome, Refusal, RoundInfo, Rules,
    Sent, Setup, Sha, Tag, blocks,
    decision::{DecisionDigest, digest_outcomes, hear_all},
    fold::{Last, Played, segment_of},
    recent::{Away, Recent},
    settled::Shelf,
    state::{Held, State},
    sums,
};
use crate::{Error, config::Config, recipe::Recipe};
use armwise::Model;
use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::RangeInclusive,
    path::Path,
    sync::Arc,
};

/// With more rounds, messages do not list them.
const MANY_ROUNDS: u64 = 100;

/// An open campaign.
#[derive(Debug)]
pub struct Campaign {
    pub(super) journal: Box<dyn Journal>,
    /// What `init` froze, with the rules now in force.
    pub(super) setup: Setup,
    /// The entry with the rules now in force.
    pub(super) rules_now: u64,
    /// The names of the model's blocks: every promotion that there ever was, and what happens without a send.
    pub(super) blocks: Vec<String>,
    /// How many promotions the first rules had.
    pub(super) first_blocks: usize,
    pub(super) state: State,
    pub(super) head: Head,
    /// The last checkpoint's entry; 0 if there is none.
    pub(super) checkpoint: u64,
    /// The merged sums of the first segments.
    pub(super) prefix: Option<Prefix>,
    /// Rounds and sums that are at hand.
    pub(super) recent: RefCell<Recent>,
    /// Segments that are put away and at hand.
    pub(super) away: RefCell<Away>,
    /// Keys that were looked up ahead, with their entries; none for a key that no entry has.
    pub(super) keys: RefCell<HashMap<String, Option<Entry>>>,
}

/// The sums of all segments up to `through`, merged.
#[derive(Debug, Clone)]
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
        let Opened { state, head, prefix, checkpoint } = newest(&*journal)?;
        let begins = || damaged("the journal does not begin with init".to_owned());
        let first = journal.entry(1)?.filter(|first| first.kind == Kind::Init).ok_or_else(begins)?;
        if state.rules.first().is_none_or(|rules| rules.body != Sha::of(&first.body)) {
            return Err(damaged("entry 1 (init) is not the one that the journal vouches for".to_owned()));
        }
        let Ok(Command::Init(setup)) = first.command() else { return Err(begins()) };
        let now = state.rules.last().map_or(1, |rules| rules.seq);
        let blocks = blocks::named(&[], &setup.config);
        let (first_blocks, setup) = (setup.config.promotion.len(), *setup);
        let (recent, away, keys) = (RefCell::default(), RefCell::default(), RefCell::default());
        let rules_now = 1;
        let mut campaign = Self {
            journal,
            setup,
            rules_now,
            blocks,
            first_blocks,
            state,
            head,
            checkpoint,
            prefix,
            recent,
            away,
            keys,
        };
        if now > 1 {
            campaign.setup.recipe = campaign.recipe_of_entry(u64::MAX)?.into_owned();
            campaign.obey(now, campaign.amended(now)?);
        }
        Ok(campaign)
    }

    pub(super) fn damaged(&self, problem: impl Into<String>) -> Error {
        Error::Damaged { path: self.journal.path().to_owned(), problem: problem.into(), cause: None }
    }

    /// The journal, as the campaign sees it.
    pub(crate) fn journal(&self) -> &dyn Journal {
        &*self.journal
    }

    /// The same, to write what is no entry.
    pub(crate) fn journal_mut(&mut self) -> &mut dyn Journal {
        &mut *self.journal
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

    /// Lets the journal take up no more than so many bytes from now on, or as many as there are.
    ///
    /// # Errors
    /// Of the store.
    pub fn limit(&mut self, bytes: Option<u64>) -> Result<(), Error> {
        self.journal.limit(bytes)
    }

    /// The entry with the rules that hold now.
    pub(crate) fn rules_seq(&self) -> u64 {
        self.rules_now
    }

    /// How often the catalogue of arms changed.
    pub(crate) fn count_arms_changes(&self) -> u64 {
        self.state.arms.0
    }

    /// What `init` froze, without what later entries changed.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn first_setup(&self) -> Result<Setup, Error> {
        let first = self.amended(1)?;
        let (config, recipe) = (first.config, first.recipe.unwrap_or_else(|| self.setup.recipe.clone()));
        Ok(Setup { config, recipe, ..self.setup.clone() })
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
    pub(super) fn rules(&self, seq: u64) -> Result<Cow<'_, Config>, Error> {
        if seq == self.rules_now {
            return Ok(Cow::Borrowed(&self.setup.config));
        }
        Ok(Cow::Owned(self.amended(seq)?.config))
    }

    /// What an entry says of the rules, checked.
    pub(super) fn amended(&self, seq: u64) -> Result<Rules, Error> {
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
    pub(super) fn recipe_seq(&self, until: u64) -> u64 {
        self.state.recipes.iter().rev().copied().find(|&seq| seq <= until).unwrap_or(1)
    }

    /// The recipe that held after entry `until`.
    pub(super) fn recipe_of_entry(&self, until: u64) -> Result<Cow<'_, Recipe>, Error> {
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
    pub(super) fn info(&self, round: u64) -> Result<Cow<'_, RoundInfo>, Error> {
        match &self.state.logged {
            Some(logged) if round == 0 => Ok(Cow::Borrowed(logged)),
            _ => self.round(round),
        }
    }

    /// How many customers the table of a round had, and the entry whose model chose it.
    pub(crate) fn chosen_from(&self, round: u64) -> Result<(Option<u64>, u64), Error> {
        let seq = self.round(round)?.seq;
        Ok(match self.journal.entry(seq)?.map(|entry| entry.command()) {
            Some(Ok(Command::Choose(chosen))) => (Some(chosen.customers), chosen.model.unwrap_or(seq)),
            _ => (None, seq),
        })
    }

    /// Whether past sends were learned before the first round.
    pub(crate) fn has_logged(&self) -> bool {
        self.state.logged.is_some()
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

    /// The rounds chosen so far, ascending. Of a campaign with several rounds to a segment only those that are not put
    /// away: see [`each_round`](Self::each_round).
    #[must_use]
    pub fn rounds(&self) -> &BTreeMap<u64, RoundInfo> {
        &self.state.rounds
    }

    /// How many rounds were chosen so far.
    #[must_use]
    pub fn count_rounds(&self) -> u64 {
        let settled: u64 = self.state.settled.values().map(|settled| settled.rounds).sum();
        let back = |round: &&u64| self.state.settled.contains_key(&self.segment_of(**round));
        settled + (self.rounds().len() - self.rounds().keys().filter(back).count()) as u64
    }

    /// Takes the rounds in a range, ascending.
    ///
    /// # Errors
    /// [`Error::Damaged`], and those of `take`.
    pub fn each_round(
        &self,
        range: RangeInclusive<u64>,
        take: &mut dyn FnMut(&RoundInfo) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if range.is_empty() {
            return Ok(());
        }
        if self.state.settled.is_empty() {
            return self.rounds().range(range).try_for_each(|(_, info)| take(info));
        }
        for segment in self.segments(u64::MAX).into_iter().filter(|&segment| segment > 0) {
            let (first, last) = self.span(segment);
            if last < *range.start() || first > *range.end() {
                continue;
            }
            let (first, last) = (first.max(*range.start()), last.min(*range.end()));
            let mut all: BTreeMap<u64, Cow<'_, RoundInfo>> = BTreeMap::new();
            let away = self.put_away(segment)?;
            let away = away.iter().flat_map(|away| away.rounds.range(first..=last));
            all.extend(away.map(|(&round, info)| (round, Cow::Owned(info.clone()))));
            all.extend(self.rounds().range(first..=last).map(|(&round, info)| (round, Cow::Borrowed(info))));
            all.into_values().try_for_each(|info| take(&info))?;
        }
        Ok(())
    }

    /// The first and the last number that a round of a segment can have.
    pub(super) fn span(&self, segment: u64) -> (u64, u64) {
        let length = self.state.length;
        ((segment - 1) * length + 1, segment * length)
    }

    /// The rounds of a segment that is put away, as they were then.
    pub(super) fn put_away(&self, segment: u64) -> Result<Option<Arc<State>>, Error> {
        let Some(settled) = self.state.settled.get(&segment) else { return Ok(None) };
        if let Some(known) = self.away.borrow().get(segment, settled.bytes) {
            return Ok(Some(known));
        }
        let shelf = Shelf::of(&*self.journal);
        let own = Arc::new(shelf.take(segment, settled).map_err(|problem| shelf.error(self.path(), problem))?);
        self.away.borrow_mut().keep(segment, settled.bytes, &own);
        Ok(Some(own))
    }

    /// A round, if it was chosen.
    pub(super) fn find_round(&self, round: u64) -> Result<Option<Cow<'_, RoundInfo>>, Error> {
        if let Some(info) = self.rounds().get(&round) {
            return Ok(Some(Cow::Borrowed(info)));
        }
        Ok(self.away_with(round)?.and_then(|away| away.rounds.get(&round).cloned()).map(Cow::Owned))
    }

    /// Refuses a round whose single decisions were given up.
    pub(super) fn not_compacted(&self, round: u64) -> Result<(), Error> {
        if (1..=self.state.compacted).contains(&round) {
            return Err(Refusal::Compacted { round, through: self.state.compacted }.into());
        }
        Ok(())
    }

    /// The last round whose single decisions were given up; 0 if there is none.
    #[must_use]
    pub fn compacted(&self) -> u64 {
        self.state.compacted
    }

    /// Whether a round is held back after entry `until`.
    pub(super) fn is_held(&self, round: u64, until: u64) -> Result<bool, Error> {
        Ok(self.held(round)?.is_some_and(|held| held.is_held(until)))
    }

    /// Whether and since when a round goes out that was held back when it was chosen; none for all others.
    pub(super) fn held(&self, round: u64) -> Result<Option<Held>, Error> {
        Ok(self.away_with(round)?.as_deref().unwrap_or(&self.state).held.get(&round).cloned())
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
        if until >= self.head.seq {
            return self.rounds().keys().next_back().copied().unwrap_or(begun).max(begun) + 1;
        }
        let mut last = begun;
        // Only an answer that is given again asks for the past.
        let _ = self.each_round(1..=u64::MAX, &mut |info| {
            if info.seq <= until {
                last = info.round;
            }
            Ok(())
        });
        last + 1
    }

    /// A round that must exist.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn round(&self, round: u64) -> Result<Cow<'_, RoundInfo>, Error> {
        self.find_round(round)?.ok_or_else(|| {
            let known = self.rounds();
            let hint = match (known.keys().next_back(), self.count_rounds()) {
                (None, _) => "; none was chosen yet".to_owned(),
                (Some(last), count) if count > MANY_ROUNDS => format!("; there are {count}, the last is {last}"),
                _ => format!("; there are {}", known.keys().map(u64::to_string).collect::<Vec<_>>().join(", ")),
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

    /// The segment that is put away and has a round that has not come back.
    fn away_with(&self, round: u64) -> Result<Option<Arc<State>>, Error> {
        if round == 0 || self.rounds().contains_key(&round) {
            return Ok(None);
        }
        self.put_away(self.segment_of(round))
    }

    pub(super) fn segment_of(&self, round: u64) -> u64 {
        segment_of(round, self.setup.rounds_per_segment)
    }

    /// The chosen rounds of a segment, ascending. Segment 0 is what happened before the first round.
    pub(super) fn rounds_in(&self, segment: u64) -> Result<Vec<u64>, Error> {
        if segment == 0 {
            return Ok(self.state.logged.iter().map(|logged| logged.round).collect());
        }
        let (first, last) = self.span(segment);
        let mut rounds: Vec<u64> = self.rounds().range(first..=last).map(|(&round, _)| round).collect();
        if let Some(away) = self.put_away(segment)? {
            rounds.extend(away.rounds.keys());
            rounds.sort_unstable();
            rounds.dedup();
        }
        Ok(rounds)
    }

    /// The segments of all rounds that were chosen up to entry `until`, ascending.
    pub(super) fn segments(&self, until: u64) -> Vec<u64> {
        let logged = self.state.logged.iter().filter(|info| info.seq <= until).map(|_| 0);
        let settled =
            self.state.settled.iter().filter(|(_, settled)| settled.seq <= until).map(|(&segment, _)| segment);
        let rounds = self.rounds().values().filter(|info| info.seq <= until).map(|info| self.segment_of(info.round));
        let all: BTreeSet<u64> = logged.chain(settled).chain(rounds).collect();
        all.into_iter().collect()
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

/// What opening finds.
pub(super) struct Opened {
    pub(super) state: State,
    pub(super) head: Head,
    pub(super) prefix: Option<Prefix>,
    pub(super) checkpoint: u64,
}

/// Where a journal stands: from its newest checkpoint on, or from its first entry.
pub(super) fn newest(journal: &dyn Journal) -> Result<Opened, Error> {
    let kept = match journal.kept()? {
        Some(kept) => from_checkpoint(journal, &kept)?,
        None => None,
    };
    kept.map_or_else(|| Ok(walk(journal)?.0), Ok)
}

/// The state that a checkpoint vouches for, led on by the entries after it; none if what is stored is damaged.
fn from_checkpoint(journal: &dyn Journal, kept: &Kept) -> Result<Option<Opened>, Error> {
    let mut entries = journal.entries(kept.seq.saturating_sub(2))?.into_iter();
    let (Some(before), Some(entry)) = (entries.next(), entries.next()) else { return Ok(None) };
    if entry.seq != kept.seq || entry.follows(&before.head()).is_err() {
        return Ok(None);
    }
    let Ok(Command::Checkpoint(vouched)) = entry.command() else { return Ok(None) };
    if Sha::of(&kept.state) != vouched.state || Sha::of(&kept.model) != vouched.model {
        return Ok(None);
    }
    let read = State::decode(&kept.state, vouched.format).zip(sums::decode(&kept.model));
    let Some((state, model)) = read else { return Ok(None) };
    let prefix = Some(Prefix { through: vouched.through, model });
    let mut opened = Opened { state, head: entry.head(), prefix, checkpoint: entry.seq };
    let mut shelf = Shelf::of(journal);
    for entry in entries {
        opened.follow(&entry, &mut shelf).map_err(|problem| shelf.error(journal.path(), problem))?;
    }
    Ok(Some(opened))
}

/// The state that all entries lead to, and the rounds that they put away.
pub(super) fn walk(journal: &dyn Journal) -> Result<(Opened, Shelf<'static>), Error> {
    let mut opened = Opened { state: State::new(), head: Head::none(), prefix: None, checkpoint: 0 };
    let mut shelf = Shelf::default();
    journal.each_entry(0, &mut |entry| {
        let damaged = |problem| Error::Damaged { path: journal.path().to_owned(), problem, cause: None };
        opened.follow(&entry, &mut shelf).map_err(damaged)
    })?;
    Ok((opened, shelf))
}

impl Opened {
    fn follow(&mut self, entry: &Entry, shelf: &mut Shelf<'_>) -> Result<(), String> {
        entry.follows(&self.head)?;
        let changed = self.state.apply(entry, shelf)?;
        self.head = entry.head();
        self.prefix.take_if(|prefix| changed.is_some_and(|segment| segment <= prefix.through));
        if entry.kind == Kind::Checkpoint {
            // The bytes are missing or damaged, so the model of the checkpoint is unusable too.
            (self.checkpoint, self.prefix) = (entry.seq, None);
        }
        Ok(())
    }
}
