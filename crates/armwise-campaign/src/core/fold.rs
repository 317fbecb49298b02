//! The model as a function of which decision has which reward: decisions and outcomes of a segment become its sums,
//! segments are merged in their order.
//!
//! Every sum is added to in one fixed order (rounds ascending, decisions ascending, segments ascending, what the
//! campaign began with first), so the order, splitting and repetition of responses leave no trace, not even in the last
//! bit. The cost: a segment is summed again for every batch of its responses. Nothing here reads a file.

use super::{DecisionId, Fate, Flaw, Heard, Outcome, Sent};
use armwise::{Model, Observation};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The last outcome of each decision that has one: a reward, or none for an undelivered send.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Last(HashMap<DecisionId, Option<f64>>);

impl Last {
    /// From these outcomes, in order.
    #[must_use]
    pub fn of(heard: &[Heard]) -> Self {
        Self(heard.iter().map(|heard| (heard.outcome.decision, heard.outcome.reward)).collect())
    }

    /// After one more.
    pub fn hear(&mut self, outcome: &Outcome) {
        self.0.insert(outcome.decision, outcome.reward);
    }

    /// Whether there are no outcomes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A round with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// The round.
    pub round: u64,
    /// Its decisions, in their order.
    pub decisions: Vec<Sent>,
    /// Their outcomes.
    pub last: Last,
    /// Whether its response window has ended.
    pub closed: bool,
    /// Whether it was never sent.
    pub revoked: bool,
    /// What silence is worth, by the rules that held when it was chosen.
    pub default: f64,
    /// The numbers of the decisions whose answer came but was put aside: they are not silent.
    pub aside: BTreeMap<u32, Flaw>,
}

impl Played {
    /// What became of a decision.
    #[must_use]
    pub fn fate(&self, decision: DecisionId) -> Fate {
        match self.last.0.get(&decision) {
            _ if self.revoked => Fate::Revoked,
            Some(None) => Fate::Undelivered,
            Some(Some(reward)) => Fate::Answered(*reward),
            None if self.closed && !self.aside.contains_key(&decision.number) => Fate::Silent(self.default),
            None => Fate::Pending,
        }
    }

    /// The decisions that are learned from, with their rewards.
    pub fn learned(&self) -> impl Iterator<Item = (&Sent, f64)> {
        let sent = self.decisions.iter().filter(|row| !row.hold_out);
        sent.filter_map(|row| Some((row, self.fate(row.id).reward()?)))
    }

    /// What became of the decisions, in numbers.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for row in self.decisions.iter().filter(|_| !self.revoked) {
            if row.hold_out {
                counts.hold_out += 1;
                continue;
            }
            counts.sends += 1;
            let fate = self.fate(row.id);
            counts.rewards += fate.reward().unwrap_or(0.0);
            match fate {
                Fate::Pending => {
                    counts.pending += 1;
                    counts.aside += u64::from(self.aside.contains_key(&row.id.number));
                }
                Fate::Silent(_) => counts.silent += 1,
                Fate::Answered(_) => counts.answered += 1,
                Fate::Undelivered => counts.undelivered += 1,
                Fate::Revoked => {}
            }
        }
        counts
    }
}

/// What became of a round's decisions, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// How many sends there were.
    pub sends: u64,
    /// How many answered.
    pub answered: u64,
    /// How many were silent when the window ended.
    pub silent: u64,
    /// How many may still answer.
    pub pending: u64,
    /// How many did not arrive.
    pub undelivered: u64,
    /// How many customers of the hold-out would have been chosen.
    #[serde(alias = "controls")]
    pub hold_out: u64,
    /// The sum of the rewards, in the order of the decisions.
    pub rewards: f64,
    /// How many of the pending ones answered, but the answer was put aside.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub aside: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// The segment of a round, if each segment has `length` consecutive rounds; segments count from 1, and round 0, which is
/// what happened before the first one, is a segment of its own.
#[must_use]
pub fn segment_of(round: u64, rounds_per_segment: u64) -> u64 {
    if round == 0 { 0 } else { (round - 1) / rounds_per_segment.max(1) + 1 }
}

/// The sums of a segment: `empty` plus the rewards of its rounds, which must be ascending. `block_of` gives the block
/// of a promotion.
///
/// # Errors
/// The library's, for features or rewards that a model cannot learn from, and for an unknown promotion.
pub fn sum(empty: Model, rounds: &[Played], block_of: impl Fn(&str) -> Option<usize>) -> Result<Model, armwise::Error> {
    let mut model = empty;
    for round in rounds {
        let mut seen = Vec::with_capacity(round.decisions.len());
        for (row, reward) in round.learned() {
            // The model refuses a block that does not exist.
            let block = block_of(&row.promotion).map_or(u32::MAX, |block| block as u32);
            seen.push(Observation { t: round.round, block, x: &row.features, reward });
        }
        model.observe_batch(&seen)?;
    }
    Ok(model)
}
