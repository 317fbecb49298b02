//! Everything that `results.json` carries: the numbers behind every figure, the table and the verdicts.
//!
//! The decision to know: these types hold numbers and names only, never drawings or experiments, so a report can be
//! drawn again from a stored `results.json`. Algorithms go by their names on every surface (`arm-wise-ts`);
//! `ties` tells two runs of one algorithm apart where a study has both. All lists have the order they are shown in.

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
    /// A look in under a minute: fewer trials, the smallest k, fewer settings. Not evidence.
    Quick,
    /// The evaluation.
    Full,
}

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

/// A number per round, averaged over trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The algorithm.
    pub algorithm: String,
    /// Its parameters.
    pub params: Params,
    /// The tie rule: `by-id` or `random`.
    pub ties: String,
    /// The value in round `t[i]` of the study (rounds 1, 2, ... where the study has no `t` of its own).
    pub points: Vec<Mean>,
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
    /// The model is updated every so many rounds.
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
    /// The ridge, which the theorems want to be at least 1.
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
    /// Where parameters were chosen: `this reading`, or `the independent reading` where the grid was not run for
    /// this one, in which case there is no comparison under the paper's protocol.
    pub tuned_on: String,
    /// One comparison per protocol: `paper` (unless tuned elsewhere), then `fresh`.
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

/// What becomes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The data support it by the stated rule.
    Holds,
    /// The data contradict it by the stated rule.
    DoesNotHold,
    /// The data allow either.
    NotDecided,
}

/// What a verdict can speak about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A claim of the paper, on data like the paper's.
    Paper,
    /// A claim of the paper, tried on generated ratings, which say nothing about its MovieLens numbers.
    Generated,
    /// A reading of ours that the paper does not state.
    Implied,
}

/// A claim of the paper and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The claim in a sentence.
    pub claim: String,
    /// Where the paper makes it.
    pub place: String,
    /// The rule that decides.
    pub rule: String,
    /// What becomes of it.
    pub outcome: Outcome,
    /// What the outcome can speak about.
    pub basis: Basis,
    /// The numbers in words; says so where the data are generated.
    pub numbers: String,
}
