//! A log that another policy is evaluated on: what was chosen with which probability, what it paid, and what the other
//! policy, the *target*, would have chosen.
//!
//! All checks are in [`Log::new`]; estimators take what it accepted and cannot fail. Everything about the target is as
//! of the model *before* the round, so that a round's terms have the right mean given its past, however the past chose.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An arm that was chosen in a logged round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggedArm {
    /// The arm's id.
    pub id: u64,
    /// The block in which it was chosen.
    #[serde(default)]
    pub block: u32,
    /// The number that the caller gave its segment (a value of a column); 0 where there are none.
    #[serde(default)]
    pub segment: u32,
    /// What it paid.
    pub reward: f64,
    /// With which probability the logging policy chose it.
    pub probability: f64,
    /// With which probability the target would have chosen it.
    pub target: f64,
    /// The reward that the model before the round expected of it; 0 is a model, too.
    #[serde(default)]
    pub mean: f64,
}

impl LoggedArm {
    /// How much the arm counts for the target.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.target / self.probability
    }
}

/// What the target wants of one block and one segment in a round.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The block.
    #[serde(default)]
    pub block: u32,
    /// The segment.
    #[serde(default)]
    pub segment: u32,
    /// How many arms it chooses, in expectation: the sum of its probabilities.
    pub count: f64,
    /// The reward that the model before the round expects of them.
    #[serde(default)]
    pub reward: f64,
    /// How many of them the logging policy could not have chosen.
    #[serde(default)]
    pub unsupported: f64,
    /// How many of them none of the fresh rounds chose from which its probabilities were found: rare at least, perhaps
    /// impossible.
    #[serde(default)]
    pub unseen: f64,
    /// How many of them it would have chosen with a probability below [`THIN`].
    #[serde(default)]
    pub thin: f64,
}

/// Probabilities of the logging policy below this are support in name only.
pub const THIN: f64 = 1e-4;

/// A logged round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggedRound {
    /// The round.
    pub t: u64,
    /// What was chosen.
    pub arms: Vec<LoggedArm>,
    /// What the target would have chosen, by block and segment.
    pub wanted: Vec<Wanted>,
}

/// How the arms of one round hang together, which decides what the arms within a round say about chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// An own draw for every arm, and a number of arms for each block that the draws do not change.
    FixedCounts,
    /// An own draw for every arm; how many are chosen depends on the draws, as with a budget.
    Independent,
    /// The arms of a round share draws: only rounds are independent of each other, given their past.
    Shared,
}

/// Logged rounds with a target, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    pub(super) rounds: Vec<LoggedRound>,
    pub(super) design: Design,
}

impl Log {
    /// Checks a log.
    ///
    /// # Errors
    /// [`Error::NoRounds`]; [`Error::Logged`] with the round and the arm for a probability that is missing (not a
    /// number), 0 or above 1, a target's that is not between 0 and 1, a reward or a mean that is not finite, and for
    /// sums of the target that make no sense; [`Error::LoggedTwice`] for an arm or a round that comes twice.
    pub fn new(rounds: Vec<LoggedRound>, design: Design) -> Result<Self, Error> {
        if rounds.is_empty() {
            return Err(Error::NoRounds);
        }
        let mut seen = BTreeSet::new();
        for round in &rounds {
            if !seen.insert(round.t) {
                return Err(Error::LoggedTwice { t: round.t, arm: None });
            }
            check(round)?;
        }
        Ok(Self { rounds, design })
    }

    /// The rounds.
    #[must_use]
    pub fn rounds(&self) -> &[LoggedRound] {
        &self.rounds
    }

    /// What belongs to one block: values are what the block contributes to a round.
    #[must_use]
    pub fn of_block(&self, block: u32) -> Self {
        self.part(|arm| arm.block == block, |wanted| wanted.block == block)
    }

    /// What belongs to one segment.
    #[must_use]
    pub fn of_segment(&self, segment: u32) -> Self {
        let part = self.part(|arm| arm.segment == segment, |wanted| wanted.segment == segment);
        // How many of a segment are chosen depends on the draws, whatever the blocks' numbers are.
        let design = if part.design == Design::FixedCounts { Design::Independent } else { part.design };
        Self { design, ..part }
    }

    fn part(&self, arm: impl Fn(&LoggedArm) -> bool, wanted: impl Fn(&Wanted) -> bool) -> Self {
        let of = |round: &LoggedRound| LoggedRound {
            t: round.t,
            arms: round.arms.iter().filter(|own| arm(own)).copied().collect(),
            wanted: round.wanted.iter().filter(|own| wanted(own)).copied().collect(),
        };
        Self { rounds: self.rounds.iter().map(of).collect(), design: self.design }
    }
}

/// Rounding in sums of probabilities.
const ROUNDING: f64 = 1e-9;

fn check(round: &LoggedRound) -> Result<(), Error> {
    let t = round.t;
    let mut seen = BTreeSet::new();
    for arm in &round.arms {
        let (id, block) = (arm.id, arm.block);
        let bad = |what, value, must| Err(Error::Logged { t, arm: Some((id, block)), what, value, must });
        if !seen.insert((id, block)) {
            return Err(Error::LoggedTwice { t, arm: Some((id, block)) });
        }
        if arm.probability.is_nan() {
            return bad("probability", arm.probability, "there: whoever chose it must say how likely that was");
        }
        if !(arm.probability > 0.0 && arm.probability <= 1.0) {
            return bad("probability", arm.probability, "above 0 and at most 1, since the arm was chosen");
        }
        if !(arm.target >= 0.0 && arm.target <= 1.0 + ROUNDING) {
            return bad("target's probability", arm.target, "between 0 and 1");
        }
        if !arm.reward.is_finite() {
            return bad("reward", arm.reward, "a finite number");
        }
        if !arm.mean.is_finite() {
            return bad("mean", arm.mean, "a finite number");
        }
        if !arm.weight().is_finite() {
            return bad("probability", arm.probability, "so large that the target's can be divided by it");
        }
    }
    for wanted in &round.wanted {
        let bad = |what, value, must| Err(Error::Logged { t, arm: None, what, value, must });
        let counts = [wanted.count, wanted.unsupported, wanted.unseen, wanted.thin];
        if let Some(&count) = counts.iter().find(|count| !(count.is_finite() && **count >= 0.0)) {
            return bad("number of arms that the target wants", count, "a finite number of at least 0");
        }
        if wanted.unsupported > wanted.count * (1.0 + ROUNDING) + ROUNDING {
            return bad("number of arms without support", wanted.unsupported, "at most what the target wants");
        }
        if !wanted.reward.is_finite() {
            return bad("reward that the model expects of the target", wanted.reward, "a finite number");
        }
    }
    Ok(())
}
