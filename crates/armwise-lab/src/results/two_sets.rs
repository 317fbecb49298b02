//! Theorem 1 on two sets that must be taken whole: figure 8.
//!
//! A share is of runs that ever try the better set, with its exact 95% interval (Clopper and Pearson).

use serde::{Deserialize, Serialize};

use super::Interval;

/// The two-set problem: who ever tries the better set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TwoSets {
    /// What an arm of the first set, which is played first, and of the second pays on average.
    pub theta: [f64; 2],
    /// Rounds of a run.
    pub rounds: u64,
    /// Runs at each k.
    pub trials: usize,
    /// The probability with which the theory's bounds may fail.
    pub delta: f64,
    /// One panel per way to set the parameters.
    pub panels: Vec<Tried>,
    /// The same question where super arms have substitutes, at one k.
    pub between: Vec<Between>,
    /// Where Theorem 1's bound, with the constants of its proof, is exceeded.
    pub refutation: Refutation,
}

/// The share of runs that ever try the better set, against k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// How lambda, v and alpha are set.
    pub label: String,
    /// The sizes of the sets.
    pub k: Vec<usize>,
    /// One line per policy.
    pub lines: Vec<TriedLine>,
}

/// One policy in figure 8.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedLine {
    /// The algorithm.
    pub algorithm: String,
    /// The scope of its draws where it is not the algorithm's own; empty otherwise.
    pub scope: String,
    /// The share at each k.
    pub share: Vec<Interval>,
}

/// The share of runs in which arm-wise draws and one shared direction find the better kind, under one constraint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Between {
    /// The constraint: `explicit`, `linear`, `top-k`, `quotas`, `assignment`.
    pub constraint: String,
    /// Arms of each kind beyond k.
    pub spare: usize,
    /// The size k.
    pub k: usize,
    /// One line per policy, each with one share.
    pub lines: Vec<TriedLine>,
}

/// A problem on which the regret exceeds Theorem 1's bound with more than the allowed probability; computed, not simulated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Refutation {
    /// The size of the sets, which is also lambda; there are N = 2k arms.
    pub k: usize,
    /// Rounds T.
    pub rounds: f64,
    /// The regret of a run that never tries the better set.
    pub regret: f64,
    /// Theorem 1's bound with the constants of its proof.
    pub bound: f64,
    /// The probability that the better set is tried in T rounds is at most this.
    pub tried: f64,
    /// The probability with which the theorem lets the bound fail.
    pub delta: f64,
}

impl Refutation {
    /// Whether the theorem's statement is contradicted.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.regret > self.bound && self.tried < 1.0 - self.delta
    }
}
