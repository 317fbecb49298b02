//! The state as it was before an append, so that one that fails leaves no trace in memory.
//!
//! A service mostly appends choices and rewards, which change a few rounds of the thousands in the state: of these alone a
//! copy is kept. For everything else, and for a checkpoint, the whole state is copied.

use super::{
    Command, Draft, RoundInfo, Sha,
    aside::Aside,
    fold::segment_of,
    state::{Held, State},
};
use std::collections::BTreeMap;

/// What gives the state back.
#[derive(Debug)]
pub(super) enum Undo {
    /// All of it.
    Whole(Box<State>),
    /// What choices and rewards may change.
    Rounds(Rounds),
}

/// Rounds and their segments as they were.
#[derive(Debug)]
pub(super) struct Rounds {
    model: Sha,
    rounds: BTreeMap<u64, OfRound>,
    /// The last entry that touched a segment, and whether it has something to learn.
    segments: BTreeMap<u64, (Option<u64>, bool)>,
}

/// What the state has of a round.
type OfRound = (Option<RoundInfo>, Option<Aside>, Option<Held>);

impl Undo {
    /// Of a state that these drafts are about to change. `settles` says that there may be a checkpoint among the entries.
    pub(super) fn of(state: &State, drafts: &[Draft<'_>], settles: bool) -> Self {
        let mut kept = Rounds { model: state.model, rounds: BTreeMap::new(), segments: BTreeMap::new() };
        let small = state.length > 1 && !settles && drafts.iter().all(|draft| kept.take(state, draft));
        if small { Self::Rounds(kept) } else { Self::Whole(Box::new(state.clone())) }
    }

    /// Gives it back.
    pub(super) fn restore(self, state: &mut State) {
        match self {
            Self::Whole(before) => *state = *before,
            Self::Rounds(Rounds { model, rounds, segments }) => {
                state.model = model;
                for (round, (info, aside, held)) in rounds {
                    put(&mut state.rounds, round, info);
                    put(&mut state.aside, round, aside);
                    put(&mut state.held, round, held);
                }
                for (segment, (touched, dirty)) in segments {
                    put(&mut state.touched, segment, touched);
                    if dirty {
                        state.dirty.insert(segment)
                    } else {
                        state.dirty.remove(&segment)
                    };
                }
            }
        }
    }
}

fn put<T>(map: &mut BTreeMap<u64, T>, key: u64, value: Option<T>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

impl Rounds {
    /// Keeps what a draft changes; whether that is all it can change.
    fn take(&mut self, state: &State, draft: &Draft<'_>) -> bool {
        match &draft.command {
            Command::Choose(chosen) => self.keep(state, chosen.round),
            Command::Learn(told) | Command::Correct(told) | Command::Undelivered(told) => {
                draft.outcomes.iter().for_each(|outcome| self.keep(state, outcome.decision.round));
                told.aside.iter().for_each(|put| self.keep(state, put.round));
            }
            _ => return false,
        }
        true
    }

    fn keep(&mut self, state: &State, round: u64) {
        self.rounds.entry(round).or_insert_with(|| {
            let (info, aside, held) = (state.rounds.get(&round), state.aside.get(&round), state.held.get(&round));
            (info.cloned(), aside.cloned(), held.cloned())
        });
        let segment = segment_of(round, state.length);
        let own = || (state.touched.get(&segment).copied(), state.dirty.contains(&segment));
        self.segments.entry(segment).or_insert_with(own);
    }
}
