//! The artificial clustered case: figures 1, 2, 5, 6 and half of 7.
//!
//! Figure 2 has tuned parameters, figures 1, 5 and 6 have fixed ones; each says which.

use serde::{Deserialize, Serialize};

use super::{Comparison, Curve, HeatMap, Mean, Paired, Params};

/// The artificial clustered case (section VII-A1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clustered {
    /// The dimension d.
    pub d: usize,
    /// The number of arms N.
    pub n: usize,
    /// The number of arms chosen in a round.
    pub k: usize,
    /// The number of rounds T.
    pub rounds: u64,
    /// `by-cluster` or `shuffled`.
    pub order: String,
    /// The tie rule of figure 2: `by-id`.
    pub ties: String,
    /// The values tried for every tuned parameter.
    pub grid: Vec<f64>,
    /// Figure 2: one entry per angle, ascending.
    pub angles: Vec<Angle>,
    /// Figure 1.
    pub estimated: Estimated,
    /// Figure 5: one study per way that feedback arrives; the first is immediate feedback.
    pub touched: Vec<Touched>,
    /// Figure 6.
    pub regret: RegretStudy,
    /// Figure 7 for this problem, at the angle pi/2.
    pub sensitivity: Vec<HeatMap>,
}

/// Figure 2 at one angle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Angle {
    /// The angle in radians.
    pub angle: f64,
    /// For axes: `pi/8`.
    pub label: String,
    /// One comparison per protocol: `paper`, then `fresh`.
    pub comparisons: Vec<Comparison>,
}

/// Figure 1: the estimated rewards of a deterministic and an arm-wise policy on clusters, from one and the same
/// posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// The angle of the clusters.
    pub angle: f64,
    /// The round that is shown, from 1.
    pub round: u64,
    /// How many arms are chosen.
    pub k: usize,
    /// The cluster of each arm, counted from 0; arms are in the order of their ids.
    pub cluster: Vec<usize>,
    /// The expected reward of each arm, which no policy sees.
    pub expected: Vec<f64>,
    /// One panel per policy: `c2ucb`, then `arm-wise-ts`.
    pub panels: Vec<Panel>,
}

/// One policy in figure 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// The algorithm.
    pub algorithm: String,
    /// Its parameters.
    pub params: Params,
    /// The estimated reward of each arm.
    pub estimate: Vec<f64>,
    /// Whether the arm is in the super arm.
    pub chosen: Vec<bool>,
}

/// Figure 5: clusters touched in each round, and what it is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Touched {
    /// What is shown, for example `rewards at once` or `batched: the model is updated every 10 rounds`.
    pub label: String,
    /// The angle of the clusters.
    pub angle: f64,
    /// How many clusters there are.
    pub clusters: usize,
    /// Arms chosen in a round.
    pub k: usize,
    /// Rewards arrive that many rounds late.
    pub delay: u64,
    /// How many rounds lie between updates of the model.
    pub batch: u64,
    /// Trials averaged over.
    pub trials: usize,
    /// Clusters touched in each round.
    pub clusters_per_round: Vec<Curve>,
    /// Average reward per round so far, sum over tau <= t of the rewards / t, for the same algorithms in the same
    /// order.
    pub average_reward: Vec<Curve>,
    /// What the best super arms earn in a round on average.
    pub oracle_per_round: f64,
    /// Paired differences of cumulative reward over these trials; `c2ucb, ties random` is C2UCB with that rule.
    pub paired: Vec<Paired>,
}

/// Figure 6: the measured regret of the algorithms with the theory's schedules against the bounds of Theorems 1 to 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegretStudy {
    /// The angle of the clusters.
    pub angle: f64,
    /// The ridge, which the theorems require to be at least 1.
    pub lambda: f64,
    /// The probability with which a bound may fail.
    pub delta: f64,
    /// R and S of the assumptions.
    pub r: f64,
    /// A bound on |theta*|.
    pub s: f64,
    /// Trials averaged over.
    pub trials: usize,
    /// The rounds at which the lines have points.
    pub t: Vec<u64>,
    /// The most regret there can be by round `t`: that of the worst super arms; the trivial bound 2 k t.
    pub trivial: Vec<f64>,
    /// One line per algorithm: c2ucb, pc2ucb, round-wise-ts, arm-wise-ts.
    pub lines: Vec<RegretLine>,
}

/// One algorithm in figure 6.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegretLine {
    /// The algorithm, with alpha_t or v_t as its theorem sets it.
    pub algorithm: String,
    /// The theorem, for example `Theorem 1`.
    pub theorem: String,
    /// Measured regret up to round `t[i]`.
    pub measured: Vec<Mean>,
    /// The largest measured regret of all trials up to round `t[i]`.
    pub worst: Vec<f64>,
    /// The bound for round `t[i]`.
    pub bound: Vec<f64>,
}

impl RegretLine {
    /// Whether the bound is at no point below the trivial one, so that no run could exceed it.
    #[must_use]
    pub fn vacuous(&self, trivial: &[f64]) -> bool {
        self.bound.iter().zip(trivial).all(|(bound, trivial)| bound >= trivial)
    }
}
