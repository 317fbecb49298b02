//! Which algorithm should I use: every contender on every problem, with automatic, tuned and default parameters.
//!
//! Parameters are tuned on trials of their own and everything is measured on others. What regret is relative to is chosen on
//! the tuning trials too, so a ratio below 1 can happen and means what it says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Interval, Mean};

/// The study behind "Which algorithm should I use?".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Which {
    /// The values tried for every tuned parameter.
    pub grid: Vec<f64>,
    /// The problems, in the order they are shown in.
    pub problems: Vec<WhichProblem>,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhichProblem {
    /// Its name.
    pub label: String,
    /// Its sizes, in words.
    pub about: String,
    /// Whether it rests on generated ratings.
    pub generated: bool,
    /// Trials that parameters were tuned on.
    pub tuning_trials: usize,
    /// Trials that everything was measured on.
    pub trials: usize,
    /// What the best super arms earn.
    pub oracle: Mean,
    /// What random choice earns.
    pub random: Mean,
    /// The place among the contenders of the one whose tuned setting earned most on the tuning trials.
    pub best: usize,
    /// Everyone who plays.
    pub contenders: Vec<Contender>,
}

/// An algorithm on a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// The algorithm.
    pub algorithm: String,
    /// What sets it apart from the algorithm as it is (a scope of its draws, forgetting); empty for most.
    pub variant: String,
    /// With automatic parameters where it has them, tuned ones, and the defaults; none where it cannot play the problem.
    pub ways: Vec<Way>,
}

/// How parameters are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// By the library, from what was learned.
    Automatic,
    /// The best of the grid on the tuning trials.
    Tuned,
    /// The library's defaults.
    Default,
}

/// An algorithm with parameters set in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// How they are set.
    pub how: How,
    /// The parameters as the algorithm writes them.
    pub params: BTreeMap<String, Value>,
    /// The reward of all rounds together.
    pub reward: Mean,
    /// The regret of all rounds together.
    pub regret: Mean,
    /// Its regret divided by that of the best contender's tuned setting, or by a thousandth of the oracle's reward where that
    /// setting lost less.
    pub relative: Interval,
    /// Its reward divided by that of the same contender's tuned setting.
    pub of_tuned: Interval,
}

impl Contender {
    /// The way with parameters set so.
    #[must_use]
    pub fn way(&self, how: How) -> Option<&Way> {
        self.ways.iter().find(|way| way.how == how)
    }
}
