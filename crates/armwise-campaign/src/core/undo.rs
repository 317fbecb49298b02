//! The state as it was before an append, so that one that fails leaves no trace in memory.
//!
//! A service mostly appends choices and rewards, which change a few rounds of the thousands in the state: of these alone a
//! copy is kept. For everything else, and for a checkpoint, the whole state is copied.

use super::{
    Changes, Command, Draft, Outcome, RoundInfo, Sha,
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
    Rounds(Touched),
}

/// Rounds and their segments as they were.
#[derive(Debug)]
pub(super) struct Touched {
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
        let mut kept = Touched { model: state.model, rounds: BTreeMap::new(), segments: BTreeMap::new() };
        let small = state.length > 1 && !settles && drafts.iter().all(|draft| kept.take(state, draft));
        if small { Self::Rounds(kept) } else { Self::Whole(Box::new(state.clone())) }
    }

    /// Of a state that these entries of others are about to change.
    pub(super) fn of_news<'a>(state: &State, news: impl Iterator<Item = (&'a Command, &'a Changes)>) -> Self {
        let mut kept = Touched { model: state.model, rounds: BTreeMap::new(), segments: BTreeMap::new() };
        let mut take = |(command, changes): (&Command, &Changes)| match rounds_of(command, &[]) {
            Some(own) if !matches!(command, Command::Fold(_)) => {
                own.into_iter().for_each(|round| kept.keep(state, round));
                changes.rounds.iter().for_each(|change| kept.keep(state, change.round));
                changes.sums.is_empty()
            }
            _ => false,
        };
        let small = state.length > 1 && news.into_iter().all(&mut take);
        if small { Self::Rounds(kept) } else { Self::Whole(Box::new(state.clone())) }
    }

    /// Gives it back.
    pub(super) fn restore(self, state: &mut State) {
        match self {
            Self::Whole(before) => *state = *before,
            Self::Rounds(Touched { model, rounds, segments }) => {
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

/// The rounds that a command changes, which is none where it only learns what was heard; nothing where it may change any.
pub(super) fn rounds_of(command: &Command, outcomes: &[Outcome]) -> Option<Vec<u64>> {
    match command {
        Command::Choose(chosen) => Some(vec![chosen.round]),
        Command::Learn(told) | Command::Correct(told) | Command::Undelivered(told) => {
            let own = outcomes.iter().map(|outcome| outcome.decision.round);
            Some(own.chain(told.aside.iter().map(|put| put.round)).collect())
        }
        Command::Fold(_) => Some(Vec::new()),
        _ => None,
    }
}

fn put<T>(map: &mut BTreeMap<u64, T>, key: u64, value: Option<T>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

impl Touched {
    /// Keeps what a draft changes; whether that is all it can change.
    fn take(&mut self, state: &State, draft: &Draft<'_>) -> bool {
        match rounds_of(&draft.command, draft.outcomes) {
            Some(rounds) if !matches!(draft.command, Command::Fold(_)) => {
                rounds.into_iter().for_each(|round| self.keep(state, round));
                true
            }
            _ => false,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Answer, Chosen, Counts, DecisionId, Flaw, Outcome, PutAside, Responses};

    fn info(round: u64) -> RoundInfo {
        RoundInfo {
            round,
            seq: round,
            at: "2026-01-01T00:00:00Z".to_owned(),
            seed: 1,
            hold_out_alike: true,
            rules: 1,
            decisions: 3,
            digest: Sha::of("rows"),
            closed_by: None,
            revoked_by: None,
            counts: Counts::default(),
            heard: Sha::of(""),
        }
    }

    fn told(round: u64) -> Responses {
        Responses {
            table: "lines".to_owned(),
            digest: Sha::of("lines"),
            rounds: vec![round],
            read: 1,
            repeated: 0,
            rejected: 1,
            aside: vec![PutAside { round, flaw: Flaw::BadReward, decisions: vec![2] }],
        }
    }

    #[test]
    fn whatever_choices_and_rewards_change_is_given_back() {
        let mut state = State { length: 4, ..State::new() };
        state.rounds = (1..=9).map(|round| (round, info(round))).collect();
        state.held.insert(3, Held::default());
        state.aside.insert(2, BTreeMap::from([(1, (2, Flaw::BadReward))]));
        state.touched = BTreeMap::from([(1, 4), (2, 9)]);
        state.dirty.insert(1);
        let outcomes =
            [3, 7].map(|round| Outcome { decision: DecisionId { round, number: 1 }, answer: Some(Answer::of(1.0)) });
        let drafts = [
            Draft { outcomes: &outcomes, ..Draft::new(Command::Learn(told(2))) },
            Draft::new(Command::Choose(Chosen { round: 14, hold: true, ..Chosen::default() })),
        ];
        for settles in [false, true] {
            let before = state.clone();
            let undo = Undo::of(&state, &drafts, settles);
            assert_eq!(matches!(undo, Undo::Whole(_)), settles);
            state.model = Sha::of("another");
            for round in [2, 3, 7, 14] {
                state.rounds.insert(round, RoundInfo { heard: Sha::of("more"), ..info(round) });
                state.aside.insert(round, BTreeMap::from([(2, (10, Flaw::BadReward))]));
                state.held.insert(round, Held { activated_by: 10, ..Held::default() });
                state.touched.insert(segment_of(round, 4), 10);
                state.dirty.insert(segment_of(round, 4));
            }
            state.dirty.remove(&1);
            undo.restore(&mut state);
            assert_eq!(state, before);
        }
        // Anything else may change anything.
        let other = [Draft::new(Command::Fold(crate::core::Folded {}))];
        assert!(matches!(Undo::of(&state, &other, false), Undo::Whole(_)));
    }

    #[test]
    fn whatever_entries_of_others_change_is_given_back() {
        let mut state = State { length: 4, ..State::new() };
        state.rounds = (1..=9).map(|round| (round, info(round))).collect();
        state.touched = BTreeMap::from([(1, 4), (2, 9)]);
        state.dirty.insert(1);
        let change = |round| crate::core::RoundChange { round, counts: Counts::default(), heard: Sha::of("more") };
        // The rounds of outcomes are among the changes of an entry, not in its command.
        let learn = (Command::Learn(told(2)), Changes { rounds: vec![change(2), change(7)], sums: Vec::new() });
        let choose = (Command::Choose(Chosen { round: 14, ..Chosen::default() }), Changes::default());
        let before = state.clone();
        let undo = Undo::of_news(&state, [&learn, &choose].into_iter().map(|(command, changes)| (command, changes)));
        assert!(matches!(undo, Undo::Rounds(_)));
        state.model = Sha::of("another");
        for round in [2, 7, 14] {
            state.rounds.insert(round, RoundInfo { heard: Sha::of("more"), ..info(round) });
            state.touched.insert(segment_of(round, 4), 10);
            state.dirty.insert(segment_of(round, 4));
        }
        undo.restore(&mut state);
        assert_eq!(state, before);
        // Sums, folds and whatever else may change more than rounds.
        let sums = crate::core::SumsChange { segment: 1, hash: Sha::of("sums") };
        let summed = (Command::Learn(told(2)), Changes { rounds: Vec::new(), sums: vec![sums] });
        let fold = (Command::Fold(crate::core::Folded {}), Changes::default());
        for other in [&summed, &fold] {
            let undo = Undo::of_news(&state, std::iter::once((&other.0, &other.1)));
            assert!(matches!(undo, Undo::Whole(_)));
        }
    }
}
