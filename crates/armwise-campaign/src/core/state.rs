//! Where a campaign stands after an entry: rounds, rules, hashes of the sums. A left fold over the entries.
//!
//! An entry says what it changed, so the state needs no rows. Its size does not grow with the rounds where a segment has
//! several: old segments are put away ([`settled`](super::settled)), and only their rounds that change again come back.
//! How it is written is in `state_bytes.rs`.

use super::{
    Changes, Closing, Command, Counts, Entry, PutAside, Sha, Through,
    aside::Aside,
    fold::segment_of,
    settled::{Settled, Shelf},
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What a campaign knows of a round without reading its decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundInfo {
    /// The round's number.
    pub round: u64,
    /// The entry that chose it.
    pub seq: u64,
    /// When it was chosen.
    pub at: String,
    /// The seed of its draws.
    pub seed: u64,
    /// Whether its hold-out rests and is learned from as its sends are.
    pub hold_out_alike: bool,
    /// The entry with the rules that held.
    pub rules: u64,
    /// How many decisions it has, hold-out ones included.
    pub decisions: u64,
    /// SHA-256 over them.
    pub digest: Sha,
    /// The entry that ended its response window.
    pub closed_by: Option<u64>,
    /// The entry that revoked it.
    pub revoked_by: Option<u64>,
    /// What became of its decisions.
    pub counts: Counts,
    /// The hash of all its outcomes.
    pub heard: Sha,
}

impl RoundInfo {
    /// Whether its response window has ended.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.closed_by.is_some()
    }

    /// Whether it was taken back: it was never sent.
    #[must_use]
    pub fn revoked(&self) -> bool {
        self.revoked_by.is_some()
    }
}

/// The entry that holds rules, and SHA-256 of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RulesAt {
    pub(super) seq: u64,
    pub(super) body: Sha,
}

/// A round that was held back when it was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Held {
    /// The entry that let it go out; 0 as long as there is none.
    pub(super) activated_by: u64,
    /// When that was.
    pub(super) at: String,
}

impl Held {
    /// Whether it is still held back after entry `until`.
    pub(super) fn is_held(&self, until: u64) -> bool {
        self.activated_by == 0 || self.activated_by > until
    }
}

/// Where a campaign stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// Of `init` and of every amendment, ascending; the last holds now.
    pub(super) rules: Vec<RulesAt>,
    /// The entries whose recipe holds from then on, ascending: `init`, and every amendment that has one.
    pub(super) recipes: Vec<u64>,
    /// What happened before the first round, as a round with the number 0.
    pub(super) logged: Option<RoundInfo>,
    /// All rounds but those of segments that are put away; of these, those that changed since.
    pub(super) rounds: BTreeMap<u64, RoundInfo>,
    /// The hashes of the sums of the segments that have outcomes.
    pub(super) sums: BTreeMap<u64, Sha>,
    /// The hash of the model.
    pub(super) model: Sha,
    /// Of the rounds that have some: decisions about which rows were put aside.
    pub(super) aside: BTreeMap<u64, Aside>,
    /// Of the rounds that were held back when they were chosen.
    pub(super) held: BTreeMap<u64, Held>,
    /// How often the catalogue of arms changed, and a hash of all these changes.
    pub(super) arms: (u64, Sha),
    /// How many rounds a segment has. What is below is kept only where it is more than one.
    pub(super) length: u64,
    /// The last entry that learned what was heard; 0 before the first.
    pub(super) fold: u64,
    /// The last round whose single decisions were given up; 0 if there is none.
    pub(super) compacted: u64,
    /// The segments that changed since the last fold.
    pub(super) dirty: BTreeSet<u64>,
    /// The last entry that changed a segment's rounds.
    pub(super) touched: BTreeMap<u64, u64>,
    /// The segments that are put away.
    pub(super) settled: Arc<BTreeMap<u64, Settled>>,
}

impl State {
    /// Before the first entry.
    pub(super) fn new() -> Self {
        Self {
            rules: Vec::new(),
            recipes: Vec::new(),
            logged: None,
            rounds: BTreeMap::new(),
            sums: BTreeMap::new(),
            model: Sha::of(""),
            aside: BTreeMap::new(),
            held: BTreeMap::new(),
            arms: (0, Sha::of("")),
            length: 1,
            fold: 0,
            compacted: 0,
            dirty: BTreeSet::new(),
            touched: BTreeMap::new(),
            settled: Arc::default(),
        }
    }

    /// Applies the next entry and returns the first segment whose sums are new. The error says why the entry cannot
    /// follow.
    pub(super) fn apply(&mut self, entry: &Entry, shelf: &mut Shelf<'_>) -> Result<Option<u64>, String> {
        let bad = |problem: &dyn std::fmt::Display| format!("entry {} ({}): {problem}", entry.seq, entry.kind.name());
        let command = entry.command().map_err(|error| bad(&error))?;
        let changes: Changes = serde_json::from_str(&entry.changes).map_err(|error| bad(&error))?;
        self.advance(entry, &command, &changes, shelf)
    }

    /// As [`apply`](Self::apply), with the command and the changes that the entry's texts say.
    pub(super) fn advance(
        &mut self,
        entry: &Entry,
        command: &Command,
        changes: &Changes,
        shelf: &mut Shelf<'_>,
    ) -> Result<Option<u64>, String> {
        let seq = entry.seq;
        let bad = |problem: &dyn std::fmt::Display| format!("entry {seq} ({}): {problem}", entry.kind.name());
        if command.round() != entry.round {
            return Err(bad(&"its round is not the one of its body"));
        }
        match command {
            Command::Init(setup) => {
                self.rules.push(RulesAt { seq, body: Sha::of(&entry.body) });
                self.recipes.push(seq);
                self.length = setup.rounds_per_segment.max(1);
            }
            Command::Amend(rules) => {
                self.rules.push(RulesAt { seq, body: Sha::of(&entry.body) });
                self.recipes.extend(rules.recipe.as_ref().map(|_| seq));
                if rules.recipe.is_some() {
                    self.folded(seq);
                }
            }
            Command::Choose(chosen) => {
                let info = self.begun(entry, chosen.round, chosen.seed, chosen.hold_out_alike);
                if self.bring(chosen.round, shelf).map_err(|problem| bad(&problem))? {
                    return Err(bad(&"the round was chosen before"));
                }
                self.rounds.insert(chosen.round, info);
                if chosen.hold {
                    self.held.insert(chosen.round, Held::default());
                }
            }
            Command::Logged(_) => {
                let info = self.begun(entry, 0, 0, false);
                if self.logged.replace(info).is_some() || !self.rounds.is_empty() {
                    return Err(bad(&"it comes once, before the first round"));
                }
                self.folded(seq);
            }
            Command::Close(Closing::Round(of)) => {
                self.known(of.round, shelf).map_err(|problem| bad(&problem))?.closed_by = Some(seq);
            }
            Command::Close(Closing::Through(range)) => {
                self.close_through(seq, range, shelf).map_err(|problem| bad(&problem))?;
            }
            Command::Revoke(of) => {
                self.known(of.round, shelf).map_err(|problem| bad(&problem))?.revoked_by = Some(seq);
            }
            Command::Activate(of) => {
                self.known(of.round, shelf).map_err(|problem| bad(&problem))?;
                let held = self.held.get_mut(&of.round).filter(|held| held.activated_by == 0);
                let held = held.ok_or_else(|| bad(&"the round is not held back"))?;
                *held = Held { activated_by: seq, at: entry.at.clone() };
            }
            Command::Learn(told) => {
                for PutAside { round, flaw, decisions } in &told.aside {
                    self.known(*round, shelf).map_err(|problem| bad(&problem))?;
                    let aside = self.aside.entry(*round).or_default();
                    decisions.iter().for_each(|&number| {
                        aside.entry(number).or_insert((seq, *flaw));
                    });
                }
            }
            Command::Arms(change) => self.arms = (self.arms.0 + 1, changed_arms(self.arms.1, seq, change.digest)),
            Command::Compact(compacted) => {
                let vouched = self.given_up(compacted.round).map_err(|problem| bad(&problem))?;
                if vouched != (compacted.rounds, compacted.sums) {
                    return Err(bad(&"it vouches for other rounds or sums than there are"));
                }
                self.compacted = compacted.round;
            }
            Command::Correct(_) | Command::Undelivered(_) => {}
            Command::Fold(_) => self.folded(seq),
            Command::Checkpoint(_) => self.settle(shelf).map_err(|problem| bad(&problem))?,
        }
        for change in &changes.rounds {
            let info = self.known(change.round, shelf).map_err(|problem| bad(&problem))?;
            (info.counts, info.heard) = (change.counts, change.heard);
            if entry.kind != super::Kind::Logged {
                self.touch(change.round, seq, entry.kind != super::Kind::Choose);
            }
        }
        self.sums.extend(changes.sums.iter().map(|change| (change.segment, change.hash)));
        self.model = entry.model;
        Ok(changes.sums.iter().map(|change| change.segment).min())
    }

    /// Everything that was heard is learned.
    fn folded(&mut self, seq: u64) {
        if self.length > 1 {
            self.fold = seq;
            self.dirty.clear();
        }
    }

    /// Notes that an entry changed a round; `heard` says whether there may be something to learn.
    fn touch(&mut self, round: u64, seq: u64, heard: bool) {
        if self.length > 1 {
            let segment = segment_of(round, self.length);
            self.touched.insert(segment, seq);
            if heard {
                self.dirty.insert(segment);
            }
        }
    }

    /// Closes all open rounds up to one.
    fn close_through(&mut self, seq: u64, range: &Through, shelf: &mut Shelf<'_>) -> Result<(), String> {
        for round in self.open_through(range, shelf)? {
            // The counts of rounds about which rows were put aside are among the entry's changes.
            let simple = !self.aside.contains_key(&round);
            let info = self.known(round, shelf)?;
            info.closed_by = Some(seq);
            if simple {
                let rules = info.rules;
                let worth = range.silence.iter().find(|worth| worth.rules == rules);
                let worth = worth.ok_or_else(|| format!("it does not say what silence of round {round} is worth"))?;
                info.counts.close(worth.default, worth.hold_out);
            }
            self.touch(round, seq, true);
        }
        Ok(())
    }

    /// The rounds that such an entry closes, ascending. Those of segments that are put away come back for it.
    pub(super) fn open_through(&mut self, range: &Through, shelf: &mut Shelf<'_>) -> Result<Vec<u64>, String> {
        let last = segment_of(range.through, self.length);
        let waiting = self.settled.range(..=last).filter(|(_, settled)| settled.open > settled.held);
        for segment in waiting.map(|(&segment, _)| segment).collect::<Vec<_>>() {
            self.bring_open(segment, range.through, shelf)?;
        }
        let is_open = |(round, info): &(&u64, &RoundInfo)| {
            let out = self.held.get(round).is_none_or(|held| {
                !held.is_held(u64::MAX) && range.activated_before.as_ref().is_none_or(|before| held.at <= *before)
            });
            !info.closed() && !info.revoked() && out
        };
        Ok(self.rounds.range(..=range.through).filter(is_open).map(|(&round, _)| round).collect())
    }

    /// A round of which nothing is known yet but the entry that chose it.
    fn begun(&self, entry: &Entry, round: u64, seed: u64, hold_out_alike: bool) -> RoundInfo {
        RoundInfo {
            round,
            seq: entry.seq,
            at: entry.at.clone(),
            seed,
            hold_out_alike,
            rules: self.rules.last().map_or(0, |rules| rules.seq),
            decisions: entry.rows,
            digest: entry.digest,
            closed_by: None,
            revoked_by: None,
            counts: Counts::default(),
            heard: Sha::of(""),
        }
    }

    /// A round that must be known.
    fn known(&mut self, round: u64, shelf: &Shelf<'_>) -> Result<&mut RoundInfo, String> {
        let unknown = || format!("it is about round {round}, which is unknown");
        if round == 0 {
            return self.logged.as_mut().ok_or_else(unknown);
        }
        self.bring(round, shelf)?;
        self.rounds.get_mut(&round).ok_or_else(unknown)
    }
}

/// The hash of all changes of the catalogue after one more.
pub(super) fn changed_arms(before: Sha, seq: u64, digest: Sha) -> Sha {
    Sha::of([&before.0[..], &seq.to_le_bytes(), &digest.0].concat())
}
