//! Rounds and sums that a campaign has at hand, so that a service need not read back what it has just written.
//!
//! It is a cache: it may be emptied at any time, and is whenever an append fails. A campaign with one round to a segment
//! uses it only within one append. Rounds in it are as they are after the last entry. An append that others were faster
//! with gives back the rounds that it touched, so that whoever tries again reads nothing twice.

use super::{Draft, Heard, Kind, Outcome, Sha, fold::Played, state::State, undo};
use armwise::Model;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// How many decisions and outcomes are at hand: some 50 MB.
const ROWS: usize = 1 << 16;
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
    /// All outcomes of those rounds, in their order, where they are known. Whoever uses them compares their hash.
    pub(super) heard: BTreeMap<u64, Vec<Heard>>,
    /// How many decisions and outcomes these have.
    rows: usize,
    /// The sums of segments, with their hash.
    pub(super) sums: BTreeMap<u64, (Sha, Arc<Model>)>,
    /// Segments that wait for a fold, summed before it.
    pub(super) summed: BTreeMap<u64, Summed>,
}

/// The sums of a segment as they will be after the next fold, unless an entry touches it before.
#[derive(Debug, Clone)]
pub(super) struct Summed {
    /// The last entry that touched the segment, and the entry with the rules that hold.
    pub(super) at: (u64, u64),
    /// None for a segment without outcomes.
    pub(super) sums: Option<(Sha, Arc<Model>)>,
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
            self.rows += played.decisions.len();
            if let Some(before) = self.rounds.insert(played.round, played) {
                self.rows -= before.decisions.len();
            }
        }
    }

    /// Keeps the sums of a segment; lets the oldest go, down to what may be at hand.
    pub(super) fn keep_sums(&mut self, segment: u64, hash: Sha, sums: Arc<Model>) {
        let size = sums.blocks().len() * sums.dim() * (sums.dim() + 3) / 2;
        self.sums.insert(segment, (hash, sums));
        while self.sums.len() > (NUMBERS / size.max(1)).max(1) {
            self.sums.pop_first();
        }
    }

    /// Keeps all outcomes of a round that is at hand.
    pub(super) fn keep_heard(&mut self, round: u64, heard: Vec<Heard>) {
        if heard.len() <= OUTCOMES && self.rounds.contains_key(&round) {
            self.rows += heard.len();
            if let Some(before) = self.heard.insert(round, heard) {
                self.rows -= before.len();
            }
        }
    }

    /// Adds the outcomes of an entry to those that are at hand.
    pub(super) fn hear<'a>(&mut self, seq: u64, kind: Kind, outcomes: impl IntoIterator<Item = &'a Outcome>) {
        for &outcome in outcomes {
            let round = outcome.decision.round;
            if let Some(heard) = self.heard.get_mut(&round) {
                heard.push(Heard { seq, kind, outcome });
                self.rows += 1;
                if heard.len() > OUTCOMES {
                    self.rows -= heard.len();
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
        let heard = self.heard.remove(&round).map_or(0, |gone| gone.len());
        let decisions = self.rounds.remove(&round).map_or(0, |gone| gone.decisions.len());
        self.rows -= heard + decisions;
    }

    /// Lets rounds go whose decisions were given up.
    pub(super) fn forget_through(&mut self, round: u64) {
        while let Some((&first, _)) = self.rounds.first_key_value().filter(|(first, _)| **first <= round) {
            self.forget(first);
        }
    }

    /// Lets the oldest go, down to what may be at hand.
    pub(super) fn shrink(&mut self) {
        self.shrink_but(&BTreeSet::new());
    }

    /// As [`shrink`](Self::shrink), but lets these rounds go last: somebody is about to need them.
    pub(super) fn shrink_but(&mut self, needed: &BTreeSet<u64>) {
        for spare in [true, false] {
            let mut next = 0;
            while self.rows > ROWS
                && let Some((&round, _)) =
                    self.rounds.range(next..).find(|(round, _)| !(spare && needed.contains(round)))
            {
                self.forget(round);
                next = round + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Answer, Chosen, Command, DecisionId, Sent, fold::Last};

    impl Recent {
        /// Whether as many rows are at hand as it thinks.
        pub(in crate::core) fn is_counted(&self) -> bool {
            let decisions: usize = self.rounds.values().map(|played| played.decisions.len()).sum();
            let heard: usize = self.heard.values().map(Vec::len).sum();
            self.rows == decisions + heard && self.heard.keys().all(|round| self.rounds.contains_key(round))
        }
    }

    fn played(round: u64, decisions: u32) -> Played {
        let sent = |number| Sent {
            id: DecisionId { round, number },
            customer: String::new(),
            promotion: String::new(),
            hold_out: false,
            segment: None,
            mean: 0.0,
            width: 0.0,
            draw: None,
            score: 0.0,
            rank: number,
            greedy: None,
            probability: None,
            features: Vec::new().into(),
        };
        Played {
            round,
            decisions: (1..=decisions).map(sent).collect(),
            last: Last::default(),
            closed: false,
            revoked: false,
            default: 0.0,
            hold_out_alike: false,
            hold_out_default: None,
            aside: BTreeMap::new(),
        }
    }

    fn outcome(round: u64) -> Outcome {
        Outcome { decision: DecisionId { round, number: 1 }, answer: Some(Answer::of(1.0)) }
    }

    /// Rounds that were read ahead stayed for ever on a replica that appended nothing.
    #[test]
    fn decisions_and_outcomes_have_one_bound_and_what_is_needed_goes_last() {
        let mut recent = Recent::default();
        let needed = BTreeSet::from([1, 2]);
        for round in 1..=200 {
            recent.keep_rounds(vec![played(round, 1000)]);
            recent.keep_heard(round, Vec::new());
            (0..900).for_each(|seq| recent.hear(seq, Kind::Learn, &[outcome(round)]));
            recent.shrink_but(&needed);
            assert!(recent.rows <= ROWS && recent.is_counted());
        }
        assert!(needed.iter().all(|round| recent.rounds.contains_key(round)), "{:?}", recent.rounds.keys());
        assert!(recent.rounds.contains_key(&200) && !recent.rounds.contains_key(&3));
        // Too many outcomes of one round are not at hand at all.
        (0..200).for_each(|seq| recent.hear(seq, Kind::Learn, &[outcome(1)]));
        assert!(!recent.heard.contains_key(&1) && recent.is_counted());
        recent.shrink();
        recent.keep_rounds((300..=370).map(|round| played(round, 1000)).collect());
        recent.shrink();
        assert!(!recent.rounds.contains_key(&1) && recent.rows <= ROWS && recent.is_counted());
        recent.forget_through(400);
        assert!(recent.rounds.is_empty() && recent.heard.is_empty() && recent.rows == 0);
    }

    #[test]
    fn an_append_that_came_too_late_leaves_rounds_as_they_were() {
        let mut recent = Recent::default();
        recent.keep_rounds(vec![played(1, 2), played(2, 3), played(3, 1)]);
        recent.keep_heard(1, Vec::new());
        let told = [outcome(1), outcome(2)];
        let responses = crate::core::Responses {
            table: String::new(),
            digest: Sha::of(""),
            rounds: vec![1, 2],
            read: 2,
            repeated: 0,
            rejected: 0,
            aside: Vec::new(),
        };
        let drafts = [
            Draft { outcomes: &told, ..Draft::new(Command::Learn(responses)) },
            Draft::new(Command::Choose(Chosen { round: 4, ..Chosen::default() })),
        ];
        let were = recent.before(&drafts).expect("nothing else changes");
        recent.hear(9, Kind::Learn, &told);
        recent.keep_rounds(vec![Played { closed: true, ..played(1, 2) }, played(4, 5)]);
        recent.keep_heard(4, Vec::new());
        recent.forget(2);
        recent.restore(were);
        assert_eq!(recent.rounds.values().cloned().collect::<Vec<_>>(), [played(1, 2), played(2, 3), played(3, 1)]);
        assert_eq!(recent.heard, BTreeMap::from([(1, Vec::new())]));
        assert!(recent.is_counted());
    }
}
