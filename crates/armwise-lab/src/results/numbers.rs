//! What all figures are made of: means, intervals, comparisons, curves, heat maps.
//!
//! A standard error or a margin is absent, not zero, where there is only one independent unit.

use serde::{Deserialize, Serialize};

use super::Params;

/// An average over trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its standard error; none for a single independent unit.
    pub se: Option<f64>,
    /// Half the width of its 95% confidence interval, by Student's t for the number of independent units (trials, or
    /// means of splits); none for a single unit.
    pub margin: Option<f64>,
}

/// An estimate with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How parameters are chosen and where the numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The best average over the grid, on the very trials it was chosen on, as in the paper.
    Paper,
    /// Chosen on tuning trials, evaluated on others.
    Fresh,
}

/// What one algorithm earned under one protocol, with the parameters that were chosen for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The algorithm.
    pub algorithm: String,
    /// Its chosen parameters; empty for `random`.
    pub params: Params,
    /// The number of settings it was chosen from.
    pub settings: usize,
    /// The trials averaged over.
    pub trials: usize,
    /// The reward of all rounds together.
    pub cumulative_reward: Mean,
    /// The oracle's expected reward less the expected reward of what was chosen.
    pub regret: Mean,
}

/// A paired difference a - b over the same trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The first algorithm.
    pub a: String,
    /// The second algorithm.
    pub b: String,
    /// The mean difference of cumulative rewards and its 95% confidence interval.
    pub difference: Interval,
    /// The ratio of mean cumulative rewards a / b and its 95% confidence interval (delta method on the pairs).
    pub ratio: Interval,
}

/// Results over the same trials: every algorithm, and differences between pairs of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Where parameters and trials come from.
    pub protocol: Protocol,
    /// The seven algorithms in the paper's order, then `random`.
    pub algorithms: Vec<Tuned>,
    /// What the best super arms earn on the same trials.
    pub oracle: Mean,
    /// PC2UCB - C2UCB, arm-wise - round-wise, and the other pairs that verdicts rest on.
    pub paired: Vec<Paired>,
}

/// A number per round, averaged over trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The algorithm.
    pub algorithm: String,
    /// Its parameters.
    pub params: Params,
    /// The tie rule: `by-id` or `random`.
    pub ties: String,
    /// The value in round `t[i]` of the study (in rounds 1, 2, ... if the study has no `t`).
    pub points: Vec<Mean>,
}

/// Figure 7: mean cumulative reward over lambda and alpha or v.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// The algorithm: c2ucb, pc2ucb, round-wise-ts or arm-wise-ts.
    pub algorithm: String,
    /// `alpha` or `v`: the parameter along the columns.
    pub parameter: String,
    /// The values of lambda: one per row.
    pub lambda: Vec<f64>,
    /// The values of alpha or v: one per column.
    pub values: Vec<f64>,
    /// Trials averaged over.
    pub trials: usize,
    /// Mean cumulative reward, `reward[row][column]`.
    pub reward: Vec<Vec<f64>>,
}
