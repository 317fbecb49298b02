//! The sending promotion problem: Table I, figures 3, 4 and half of 7.
//!
//! [`Data`] says where the ratings come from, and everything shown or written says it with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Comparison, Curve, HeatMap, Interval, Mean, Paired};

/// The sending promotion problem (section VII-A2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Promotions {
    /// The ratings.
    pub data: Data,
    /// The number of promotions M.
    pub promotions: usize,
    /// The number of rounds T.
    pub rounds: u64,
    /// The values tried for every tuned parameter.
    pub grid: Vec<f64>,
    /// Figure 3.
    pub cosines: Cosines,
    /// Table I, one per reading: `independent`, then `disjoint`.
    pub tables: Vec<Table>,
    /// Figure 4: one study per reading and k.
    pub average_reward: Vec<AverageReward>,
    /// Figure 7 for this problem, at the k and the reading named there.
    pub sensitivity: Vec<HeatMap>,
    /// Which problem the heat maps are for, for example `independent, k = 50`.
    pub sensitivity_of: String,
}

/// Where the features and rewards come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// The file's name, or a text that begins with `generated`.
    pub label: String,
    /// Whether the ratings are generated, which every table and figure must say.
    pub generated: bool,
    /// A hash of the ratings, 16 hexadecimal digits.
    pub fingerprint: String,
    /// Users in the set.
    pub users: usize,
    /// Movies in the set.
    pub movies: usize,
    /// Ratings in the set.
    pub ratings: usize,
    /// How features are made: `svd`, `svd-normalised`, `als`, `als-normalised`.
    pub features: String,
    /// The dimension d, the bias element included.
    pub d: usize,
    /// How many draws of test movies the trials of tuning and of the paper's protocol are spread over.
    pub tuning_splits: usize,
    /// How many other draws of test movies the fresh trials are spread over.
    pub fresh_splits: usize,
    /// Whether no two draws share a test movie; otherwise the band is too small and some were drawn independently.
    pub disjoint_splits: bool,
    /// How the customers of a round are drawn: `distinct`, or `with replacement` where N exceeds the users.
    pub sampling: String,
}

/// Figure 3: cosine similarities of feature vectors without the bias element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cosines {
    /// Users drawn.
    pub users: usize,
    /// Pairs compared.
    pub pairs: u64,
    /// The edges of the bins, one more than `share`; from -1 to 1.
    pub edges: Vec<f64>,
    /// The share of pairs in each bin.
    pub share: Vec<f64>,
    /// The share of pairs with |cosine| below 0.1.
    pub near_orthogonal: f64,
    /// The share that random directions would have there, in as many dimensions.
    pub near_orthogonal_random: f64,
}

/// Table I: one reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// `independent`: as the formula of S has it; `disjoint`: as the text has it, at most one promotion per customer
    /// and round.
    pub reading: String,
    /// One row per k, ascending.
    pub rows: Vec<TableRow>,
}

/// One k of Table I.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// Customers per promotion.
    pub k: usize,
    /// Customers in a round.
    pub n: usize,
    /// The paper's cumulative rewards by algorithm (ml-20m); absent for a k that the paper does not have.
    pub published: BTreeMap<String, f64>,
    /// One comparison per protocol: `paper`, then `fresh`, with the parameters chosen under `paper`.
    pub comparisons: Vec<Comparison>,
    /// PC2UCB / C2UCB and arm-wise / round-wise.
    pub ratios: Vec<Ratio>,
}

/// A ratio of cumulative rewards in the paper and here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The numerator's algorithm.
    pub a: String,
    /// The denominator's algorithm.
    pub b: String,
    /// The paper's.
    pub published: Option<f64>,
    /// Ours under the paper's protocol; the interval does not know that the best of many settings was taken.
    pub paper: Option<Interval>,
    /// Ours on fresh trials.
    pub fresh: Interval,
}

/// Figure 4: the average reward per round so far, sum over tau <= t of the rewards / t, on fresh trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AverageReward {
    /// The reading.
    pub reading: String,
    /// Customers per promotion.
    pub k: usize,
    /// Trials averaged over.
    pub trials: usize,
    /// One curve per algorithm, `random` last.
    pub curves: Vec<Curve>,
    /// The same for the best super arms.
    pub oracle: Vec<Mean>,
    /// How many rounds count as early.
    pub early_rounds: u64,
    /// Paired comparisons of the reward of the early rounds.
    pub early: Vec<Paired>,
}
