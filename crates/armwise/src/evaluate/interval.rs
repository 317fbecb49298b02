//! Intervals that hold for logs whose policy learned from its own past.
//!
//! Given the past, a round's term has the target's value as its mean, so the sum of terms less values is a martingale
//! whatever the logging policy did with the answers. Its variance is estimated from squares that are centred by nothing
//! but what is known before the round, which can only make it larger. No interval here resamples rounds as if they
//! were independent.

use super::{Design, Log, LoggedArm};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// An interval around an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether a value lies in it.
    #[must_use]
    pub fn covers(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Its length.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.high - self.low
    }

    pub(super) fn around(value: f64, half: f64) -> Self {
        Self { low: value - half, high: value + half }
    }
}

/// What the variance of an estimate was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// From the arms within the rounds, which had draws of their own.
    Arms,
    /// From the rounds.
    Rounds,
}

/// The variance of a mean over rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Variance {
    pub(super) of: Basis,
    value: f64,
    freedom: f64,
    rounds: f64,
}

/// The terms of a round: what its arms add, and a part that is known before the round.
pub(super) struct Term {
    pub(super) known: f64,
    pub(super) arms: Vec<f64>,
}

impl Term {
    pub(super) fn sum(&self) -> f64 {
        self.known + self.arms.iter().sum::<f64>()
    }
}

impl Variance {
    /// The variance of the mean of these terms; none where nothing tells it. `expected` is a round's value as the model
    /// before the round has it, for terms that do not hold it themselves.
    pub(super) fn of(log: &Log, terms: &[Term], expected: &[f64]) -> Option<Self> {
        let rounds = terms.len() as f64;
        let within = log.design != Design::Shared && log.rounds.iter().all(|round| enough(&round.arms, log.design));
        // Squares, how many they are, how many means were taken from them.
        let (mut squares, mut means) = (Vec::new(), 0.0);
        if within {
            for (round, term) in log.rounds.iter().zip(terms) {
                for (arms, values) in by_block(&round.arms, &term.arms) {
                    let fixed = log.design == Design::FixedCounts && arms > 1.0;
                    let mean = if fixed { values.iter().sum::<f64>() / arms } else { 0.0 };
                    let factor = if fixed { arms / (arms - 1.0) } else { 1.0 };
                    means += if fixed { 1.0 } else { 0.0 };
                    squares.extend(values.iter().map(|value| factor * (value - mean) * (value - mean)));
                }
            }
        } else {
            if terms.len() < 2 {
                return None;
            }
            let off: Vec<f64> = terms.iter().zip(expected).map(|(term, expected)| term.sum() - expected).collect();
            let mean = off.iter().sum::<f64>() / rounds;
            squares.extend(off.iter().map(|off| rounds / (rounds - 1.0) * (off - mean) * (off - mean)));
            means = 1.0;
        }
        let count = squares.len() as f64;
        if count - means < 1.0 {
            return None;
        }
        let sum: f64 = squares.iter().sum();
        // Satterthwaite's degrees of freedom: few large squares tell little about the variance.
        let rest = squares.iter().map(|square| square * square).sum::<f64>() - sum * sum / count;
        let freedom = if rest > 0.0 { (2.0 * sum * sum / rest).min(count - means) } else { count - means };
        let of = if within { Basis::Arms } else { Basis::Rounds };
        Some(Self { of, value: sum / (rounds * rounds), freedom: freedom.max(1.0), rounds })
    }

    /// The standard error.
    pub(super) fn error(&self) -> f64 {
        self.value.sqrt()
    }

    /// Half the length of the interval of this level for a log that is looked at once: Student's quantile times the
    /// standard error, by the martingale central limit theorem.
    pub(super) fn half(&self, level: f64) -> f64 {
        self.value.sqrt() * student(0.5 + level / 2.0, self.freedom)
    }

    /// Half the length of the interval that holds at all times together, however often it is looked at: Robbins' normal
    /// mixture, best at `tuned_for` rounds, with Student's quantile in place of the normal one for short logs.
    ///
    /// ```text
    /// (s / T) sqrt(2 (T rho^2 + 1) / rho^2 log(sqrt(T rho^2 + 1) / (1 - level))),   s^2 = the mean variance of a round
    /// rho^2 = (2 log(1 / a) + log(2 log(1 / a) + 1)) / tuned_for,   a = 1 - level
    /// ```
    pub(super) fn anytime(&self, level: f64, tuned_for: f64) -> f64 {
        let least = 1.0 - level;
        let twice = -2.0 * least.ln();
        let rho = (twice + (twice + 1.0).ln()) / tuned_for;
        let grown = self.rounds * rho + 1.0;
        let round = (self.value * self.rounds).sqrt();
        let half = round / self.rounds * (2.0 * grown / rho * (grown.sqrt() / least).ln()).sqrt();
        let normal = Normal::standard().inverse_cdf(0.5 + level / 2.0);
        half * student(0.5 + level / 2.0, self.freedom) / normal
    }
}

/// Whether the arms of a round tell how much they vary.
fn enough(arms: &[LoggedArm], design: Design) -> bool {
    design != Design::FixedCounts || by_block(arms, &vec![0.0; arms.len()]).iter().all(|(count, _)| *count > 1.0)
}

/// The values of each block's arms, with their number; blocks in ascending order.
fn by_block(arms: &[LoggedArm], values: &[f64]) -> Vec<(f64, Vec<f64>)> {
    let mut blocks: std::collections::BTreeMap<u32, Vec<f64>> = std::collections::BTreeMap::new();
    for (arm, value) in arms.iter().zip(values) {
        blocks.entry(arm.block).or_default().push(*value);
    }
    blocks.into_values().map(|values| (values.len() as f64, values)).collect()
}

fn student(share: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |student| student.inverse_cdf(share))
}
