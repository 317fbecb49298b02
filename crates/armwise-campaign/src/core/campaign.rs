//! An open campaign: the state after the journal's last entry, its rounds and its segments.
//!
//! Opening reads the newest checkpoint and the entries after it (`opening.rs`). Rows read later are checked against the
//! state (`rows.rs`), as are rules of before (`in_force.rs`). Only [`verify`](Campaign::verify) reads everything.

use super::{
    Command, Entry, Head, Journal, Kind, Refusal, RoundInfo, Setup, Sha, Tag, blocks,
    fold::segment_of,
    opening::{Opened, newest},
    recent::{Away, Recent},
    settled::Shelf,
    state::{Held, State},
};
use crate::Error;
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

    /// Lets the journal take up no more than so many bytes from now on, or as many as there are.
    ///
    /// # Errors
    /// Of the store.
    pub fn limit(&mut self, bytes: Option<u64>) -> Result<(), Error> {
        self.journal.limit(bytes)
    }

    /// How often the catalogue of arms changed.
    pub(crate) fn count_arms_changes(&self) -> u64 {
        self.state.arms.0
    }

    /// A round, or what happened before the first one.
    pub(super) fn info(&self, round: u64) -> Result<Cow<'_, RoundInfo>, Error> {
        match &self.state.logged {
            Some(logged) if round == 0 => Ok(Cow::Borrowed(logged)),
            _ => self.round(round),
        }
    }

    /// Whether past sends were learned before the first round.
    pub(crate) fn has_logged(&self) -> bool {
        self.state.logged.is_some()
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

    /// The segment that is put away and has a round that has not come back.
    pub(super) fn away_with(&self, round: u64) -> Result<Option<Arc<State>>, Error> {
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
