//! Rounds and sums that a campaign has at hand, so that a service need not read back what it has just written.
//!
//! It is a cache: it may be emptied at any time, and is whenever an append fails. A campaign with one round to a segment
//! uses it only within one append. Rounds in it are as they are after the last entry. An append that others were faster
//! with gives back the rounds that it touched, so that whoever tries again reads nothing twice.

use super::{Draft, Heard, Kind, Outcome, Sha, fold::Played, state::State, undo};
use armwise::Model;
use std::{collections::BTreeMap, sync::Arc};

/// How many decisions are at hand: some 50 MB.
const DECISIONS: usize = 1 << 16;
/// How many numbers of sums are at hand: 64 MB.
const NUMBERS: usize = 1 << 23;
/// How many segments that are put away are at hand.
const AWAY: usize = 8;
/// The most outcomes of a round that are at hand.
const OUTCOMES: usize = 1000;

/// What is at hand.
#[derive(Debug, Default)]
pub(super) struct Recent {
    pub(super) rounds: BTreeMap<u64, Played>,
    /// How many decisions these have.
    decisions: usize,
    /// All outcomes of those rounds, in their order, where they are known. Whoever uses them compares their hash.
    pub(super) heard: BTreeMap<u64, Vec<Heard>>,
    /// The sums of segments, with their hash.
    pub(super) sums: BTreeMap<u64, (Sha, Arc<Model>)>,
}

/// Rounds as they were at hand before an append.
#[derive(Debug)]
pub(super) struct Were(Vec<(u64, Option<Played>, Option<Vec<Heard>>)>);

/// Segments that are put away, with their hash.
#[derive(Debug, Default)]
pub(super) struct Away(BTreeMap<u64, (Sha, Arc<State>)>);

impl Away {
    /// A segment, if it is at hand as it was put away last.
    pub(super) fn get(&self, segment: u64, hash: Sha) -> Option<Arc<State>> {
        self.0.get(&segment).filter(|(own, _)| *own == hash).map(|(_, own)| Arc::clone(own))
    }

    pub(super) fn keep(&mut self, segment: u64, hash: Sha, own: &Arc<State>) {
        if self.0.len() >= AWAY {
            self.0.pop_first();
        }
        self.0.insert(segment, (hash, Arc::clone(own)));
    }
}

impl Recent {
    /// Keeps rounds as they are now.
    pub(super) fn keep_rounds(&mut self, rounds: Vec<Played>) {
        for played in rounds {
            self.decisions += played.decisions.len();
            if let Some(before) = self.rounds.insert(played.round, played) {
                self.decisions -= before.decisions.len();
            }
        }
    }

    /// Keeps the sums of a segment.
    pub(super) fn keep_sums(&mut self, segment: u64, hash: Sha, sums: Arc<Model>) {
        self.sums.insert(segment, (hash, sums));
    }

    /// Keeps all outcomes of a round that is at hand.
    pub(super) fn keep_heard(&mut self, round: u64, heard: Vec<Heard>) {
        if heard.len() <= OUTCOMES && self.rounds.contains_key(&round) {
            self.heard.insert(round, heard);
        }
    }

    /// Adds the outcomes of an entry to those that are at hand.
    pub(super) fn hear<'a>(&mut self, seq: u64, kind: Kind, outcomes: impl IntoIterator<Item = &'a Outcome>) {
        for &outcome in outcomes {
            let round = outcome.decision.round;
            if let Some(heard) = self.heard.get_mut(&round) {
                heard.push(Heard { seq, kind, outcome });
                if heard.len() > OUTCOMES {
                    self.heard.remove(&round);
                }
            }
        }
    }

    /// The rounds that these drafts may change here; none where they may change others too.
    pub(super) fn before(&self, drafts: &[Draft<'_>]) -> Option<Were> {
        let mut touched = BTreeMap::new();
        for draft in drafts {
            for round in undo::rounds_of(&draft.command, draft.outcomes)? {
                touched.entry(round).or_insert_with(|| (self.rounds.get(&round), self.heard.get(&round)));
            }
        }
        let own = touched.into_iter().map(|(round, (played, heard))| (round, played.cloned(), heard.cloned()));
        Some(Were(own.collect()))
    }

    /// Has rounds at hand as they were.
    pub(super) fn restore(&mut self, Were(rounds): Were) {
        for (round, played, heard) in rounds {
            self.forget(round);
            self.keep_rounds(played.into_iter().collect());
            if let Some(heard) = heard {
                self.keep_heard(round, heard);
            }
        }
    }

    /// Lets a round go.
    pub(super) fn forget(&mut self, round: u64) {
        self.heard.remove(&round);
        if let Some(gone) = self.rounds.remove(&round) {
            self.decisions -= gone.decisions.len();
        }
    }

    /// Lets rounds go whose decisions were given up.
    pub(super) fn forget_through(&mut self, round: u64) {
        self.heard = self.heard.split_off(&(round + 1));
        let later = self.rounds.split_off(&(round + 1));
        let gone = std::mem::replace(&mut self.rounds, later);
        self.decisions -= gone.values().map(|played| played.decisions.len()).sum::<usize>();
    }

    /// Lets the oldest go, down to what may be at hand.
    pub(super) fn shrink(&mut self) {
        while self.decisions > DECISIONS
            && let Some((round, played)) = self.rounds.pop_first()
        {
            self.heard.remove(&round);
            self.decisions -= played.decisions.len();
        }
        let size = |model: &Model| model.blocks().len() * model.dim() * (model.dim() + 3) / 2;
        let most = self.sums.values().next_back().map_or(0, |(_, sums)| NUMBERS / size(sums).max(1));
        while self.sums.len() > most.max(1) {
            self.sums.pop_first();
        }
    }
}
