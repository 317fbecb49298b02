//! Everything that `results.json` carries: the numbers behind every figure, the table and the verdicts.
//!
//! These types hold numbers and names only, never drawings or experiments, so a report can be
//! drawn again from a stored `results.json`. Algorithms go by their names on every surface (`arm-wise-ts`);
//! `ties` tells two runs of one algorithm apart where a study has both. All lists have the order they are shown in.

mod clustered;
mod numbers;
mod promotions;
mod two_sets;
mod verdict;
mod which;

pub use clustered::{Angle, Clustered, Estimated, Panel, RegretLine, RegretStudy, Touched};
pub use numbers::{Comparison, Curve, HeatMap, Interval, Mean, Paired, Protocol, Tuned};
pub use promotions::{AverageReward, Cosines, Data, Promotions, Ratio, Table, TableRow};
pub use two_sets::{Between, Refutation, Tried, TriedLine, TwoSets};
pub use verdict::{Basis, Outcome, Verdict};
pub use which::{Contender, How, Way, Which, WhichProblem};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The parameters of an algorithm by name: `lambda`, `alpha`, `v`, `c`, `lambda2`, `sigma2`.
pub type Params = BTreeMap<String, f64>;

/// A whole run of `armwise reproduce`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// What was run, on what, how fast.
    pub run: Run,
    /// The artificial clustered case; absent if only promotions were asked for.
    pub clustered: Option<Clustered>,
    /// The sending promotion problem; absent if only the clustered case was asked for.
    pub promotions: Option<Promotions>,
    /// Theorem 1 on two sets; absent if other parts were asked for.
    #[serde(default)]
    pub two_sets: Option<TwoSets>,
    /// Which algorithm to use; absent if other parts were asked for.
    #[serde(default)]
    pub which: Option<Which>,
    /// What becomes of each claim of the paper.
    pub verdicts: Vec<Verdict>,
}

/// What was run, on what, how fast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version of armwise.
    pub version: String,
    /// `quick` or `full`.
    pub scale: Scale,
    /// The seed of everything.
    pub seed: u64,
    /// Threads that computed.
    pub threads: usize,
    /// Operating system, processor family and number of logical processors, for example `linux x86_64, 2 processors`.
    pub machine: String,
    /// Seconds from start to finish, of this run only: what an interrupted run had finished is not in it.
    pub wall_seconds: f64,
    /// Rounds that were played in this run.
    pub rounds: u64,
    /// Rounds that an earlier, interrupted run had played and this one took over.
    pub rounds_kept: u64,
    /// Rounds per second of this run, over all threads; the two problems apart, since their rounds differ in size.
    pub rounds_per_second: BTreeMap<String, f64>,
}

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// A demonstration in under a minute: fewer trials, the smallest k, fewer settings. Not evidence.
    Quick,
    /// Enough for a table, in minutes: the paper's grid with a few trials, one k.
    Middle,
    /// The evaluation.
    Full,
}

impl Scale {
    /// Its name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Middle => "middle",
            Self::Full => "full",
        }
    }
}
