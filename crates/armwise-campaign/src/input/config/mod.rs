//! What a campaign is told in TOML: promotions, limits, features, the algorithm.
//!
//! It is read once, when the campaign begins, and frozen in its file together with what was fitted; names are those of
//! the user's own columns. An amendment changes some of the rules, from the next round on.

mod check;
mod keys;
mod span;
mod template;
mod words;

pub(crate) use check::room;
pub use keys::{Key, SECTIONS, Section, explain, overview, page};
pub use span::Span;
pub use template::{AUTOMATIC, Guess, LeftOut, guess, quoted, template};

use crate::{Error, table::TableRules};
use armwise::{Algorithm, ArmWiseTs, Gamma, OnInfeasible, Quota, Ties};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::Path};

/// The rules of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The column with the customer's id.
    pub customer: String,
    /// The seed of all draws.
    #[serde(default = "one_u64")]
    pub seed: u64,
    /// A column by which summaries and the report split the customers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    /// What is maximised.
    #[serde(default, skip_serializing_if = "Objective::is_response")]
    pub objective: Objective,
    /// How scores are made.
    #[serde(default = "default_algorithm")]
    pub algorithm: Algorithm,
    /// Who wins among equal scores.
    #[serde(default)]
    pub ties: Ties,
    /// The forgetting factor: with every round, what was learned before is multiplied by it.
    #[serde(default)]
    pub gamma: Gamma,
    /// What rewards may be.
    #[serde(default)]
    pub reward: RewardRule,
    /// What the promotions share.
    #[serde(default)]
    pub limits: Limits,
    /// When sends are compared with the hold-out.
    #[serde(default, skip_serializing_if = "UpliftRule::is_default")]
    pub uplift: UpliftRule,
    /// Which columns of a chosen customer's row are kept as they were, so that features can be made of them anew.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep: Keep,
    /// Whether it is found how probable each decision was.
    #[serde(default, skip_serializing_if = "Probabilities::is_default")]
    pub probabilities: Probabilities,
    /// Whether the rows that a round was chosen from are kept, so that other rules can be evaluated without the tables.
    #[serde(default, skip_serializing_if = "is_no")]
    pub keep_candidates: bool,
    /// How many consecutive rounds have their sums together: 1 for a round a week, some hundreds for a decision a
    /// request.
    #[serde(default = "one_u64", skip_serializing_if = "is_one")]
    pub rounds_per_segment: u64,
    /// For how long single decisions are kept once their round is closed; left out, for good. What was learned stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_decisions: Option<Span>,
    /// The promotions.
    pub promotion: Vec<Promotion>,
    /// The features.
    #[serde(default)]
    pub features: FeatureRules,
    /// How tables in files are read.
    #[serde(default, skip_serializing_if = "TableRules::is_empty")]
    pub tables: TableRules,
}

/// What is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The rewards of the sends.
    #[default]
    Response,
    /// What the sends bring beyond what their customers would do anyway, as the hold-out shows it.
    Uplift,
}

impl Objective {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_response(&self) -> bool {
        *self == Self::Response
    }
}

/// A promotion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// Its name.
    pub name: String,
    /// How many customers get it: `500` is exactly 500, `{ max = 500 }` at most; left out, any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// What a send costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What a unit of reward is worth, in the unit of the costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// A column that says who may get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<String>,
}

/// What rewards may be.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardRule {
    /// The reward of a customer who has not answered when the round is closed.
    #[serde(default)]
    pub default: f64,
    /// The least reward that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The largest reward that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// For how long after a decision its rewards are waited for, where rounds are closed by the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,
}

/// What the promotions share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The most promotions for a customer in a round.
    #[serde(default = "one_usize")]
    pub per_customer: usize,
    /// The most that all sends of a round may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// A column with what a send to this customer costs, added to the promotion's own cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// For how many rounds a customer rests after a send.
    #[serde(default)]
    pub rest: u64,
    /// The share of customers that is never contacted.
    #[serde(default)]
    pub hold_out: f64,
    /// What to do where the quotas cannot be met.
    #[serde(default)]
    pub on_infeasible: OnInfeasible,
    /// The most seconds to look for the best sends where groups cross; everything else is found at once.
    #[serde(default = "a_minute", skip_serializing_if = "is_a_minute")]
    pub time_limit: f64,
    /// Least and most sends per group of customers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group: Vec<GroupLimit>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_customer: 1,
            budget: None,
            cost: None,
            rest: 0,
            hold_out: 0.0,
            on_infeasible: OnInfeasible::default(),
            time_limit: a_minute(),
            group: Vec::new(),
        }
    }
}

/// When sends are compared with the hold-out, so that the difference is true.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpliftRule {
    /// What a customer of the hold-out without an outcome has when the round is closed.
    #[serde(default)]
    pub silence: Silence,
    /// The least share of the hold-out that must have an outcome; below, there is no uplift.
    #[serde(default = "most")]
    pub answered_share: f64,
}

impl Default for UpliftRule {
    fn default() -> Self {
        Self { silence: Silence::default(), answered_share: most() }
    }
}

impl UpliftRule {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a customer of the hold-out without an outcome has when the round is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Silence {
    /// Nothing is known of it: its outcome may still come.
    #[default]
    Unknown,
    /// The default reward, as a send that is not answered: the answers come from a source that sees the hold-out too.
    Default,
}

/// How many sends go to the customers with this value in a column, over all promotions or of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupLimit {
    /// The column.
    pub column: String,
    /// The value, as text.
    pub value: String,
    /// The promotion whose sends count; left out, those of all promotions together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<String>,
    /// The least number of sends.
    #[serde(default)]
    pub min: usize,
    /// The most sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<usize>,
}

/// Which columns become features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureRules {
    /// Whether a constant is among them.
    #[serde(default = "yes")]
    pub bias: bool,
    /// The columns; left out, all that are of use.
    #[serde(default)]
    pub column: Vec<FeatureColumn>,
}

/// Whether it is found how probable each decision was, before its draws: what evaluating other rules needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probabilities {
    /// Where it takes little more than choosing.
    #[default]
    Cheap,
    /// Wherever it can be found.
    Always,
    /// Never.
    Never,
}

impl Probabilities {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Which columns of a chosen customer's row are kept as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Those of which features are made.
    #[default]
    Used,
    /// All of them.
    All,
    /// None.
    None,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_default(keep: &Keep) -> bool {
    *keep == Keep::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_no(flag: &bool) -> bool {
    !*flag
}

impl Default for FeatureRules {
    fn default() -> Self {
        Self { bias: true, column: Vec::new() }
    }
}

/// A column that becomes one or several features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureColumn {
    /// The column's name.
    pub name: String,
    /// How it becomes features.
    pub kind: Kind,
    /// What to do where a value is missing.
    #[serde(default)]
    pub missing: MissingRule,
    /// The most categories; the rarest beyond these are treated as unseen.
    #[serde(default = "fifty")]
    pub max_levels: usize,
    /// Whether numbers beyond what the sample makes plausible are clipped.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub clip: bool,
    /// Into how many bins numbers are divided, about as many customers in each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<usize>,
    /// Where bins begin, instead of how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<Vec<f64>>,
    /// The other column of a cross.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

impl FeatureColumn {
    /// A column of this kind, with everything else as it is if it is left out.
    #[must_use]
    pub fn new(name: &str, kind: Kind) -> Self {
        let (missing, max_levels) = (MissingRule::default(), fifty());
        let name = name.to_owned();
        Self { name, kind, missing, max_levels, clip: true, bins: None, edges: None, with: None }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

/// How a column becomes features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A number, standardised.
    Numeric,
    /// The logarithm of a number, standardised.
    Log,
    /// A number, one feature for each range of values.
    Bins,
    /// A category, one feature for each value.
    Categorical,
    /// A vector, each number a feature.
    Vector,
    /// Two columns together: the products of their features.
    Cross,
}

impl Kind {
    /// Its name in the rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Numeric => "numeric",
            Self::Log => "log",
            Self::Bins => "bins",
            Self::Categorical => "categorical",
            Self::Vector => "vector",
            Self::Cross => "cross",
        }
    }
}

/// What to do where a value is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingRule {
    /// Refuse the table.
    #[default]
    Error,
    /// Take the sample's mean; numbers and their logarithms only.
    Mean,
    /// Take 0; a category counts as none of the known ones.
    Zero,
}

fn one_u64() -> u64 {
    1
}
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(value: &u64) -> bool {
    *value == 1
}
fn one_usize() -> usize {
    1
}
fn most() -> f64 {
    0.9
}
fn a_minute() -> f64 {
    60.0
}
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_a_minute(seconds: &f64) -> bool {
    seconds.total_cmp(&a_minute()).is_eq()
}
fn fifty() -> usize {
    50
}
fn yes() -> bool {
    true
}
fn default_algorithm() -> Algorithm {
    Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1))
}

impl Config {
    /// Reads the rules from TOML.
    ///
    /// # Errors
    /// [`Error::Config`] with line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let config: Self = toml::from_str(text).map_err(|error| {
            let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
            let place = format!("{}:{line}:{column}", path.display());
            Error::Config { place, problem: words::plain(error.message()), cause: Some(error.into()) }
        })?;
        config.check(&path.display().to_string())?;
        Ok(config)
    }

    /// Whether scores are profit: what rewards are worth, less what sends cost.
    #[must_use]
    pub fn is_profit(&self) -> bool {
        self.promotion.iter().any(|promotion| promotion.value.is_some())
    }

    /// What silence of the hold-out is worth, if it is worth anything; no negative zero, since a journal may lose its
    /// sign.
    #[must_use]
    pub fn hold_out_default(&self) -> Option<f64> {
        (self.uplift.silence == Silence::Default).then_some(self.reward.default + 0.0)
    }

    /// The place of a promotion among the blocks.
    #[must_use]
    pub fn block(&self, promotion: &str) -> Option<usize> {
        self.promotion.iter().position(|p| p.name == promotion)
    }

    /// The columns that choosing reads beside the features.
    #[must_use]
    pub fn own_columns(&self) -> BTreeSet<String> {
        let mut columns = BTreeSet::from([self.customer.clone()]);
        columns.extend(self.segment.clone());
        columns.extend(self.limits.cost.clone());
        columns.extend(self.promotion.iter().filter_map(|promotion| promotion.eligible.clone()));
        columns.extend(self.limits.group.iter().map(|group| group.column.clone()));
        columns
    }
}
