//! Which rules are refused: those that contradict each other, and those that could never be used.
//!
//! Rules are frozen in the campaign's file, so whatever passes here must work later: numbers are finite and small enough
//! to be added up, counts fit a decision's number, and the model fits in memory.

use super::{Config, FeatureColumn, GroupLimit, Kind, MissingRule, Objective, Promotion, RewardRule};
use crate::{
    Error,
    table::{LARGEST, MOST_COLUMNS},
};
use armwise::{Policy, Quota, oracle::QuotaRange};
use std::collections::BTreeSet;

/// The most promotions, and the most groups. The solver's memory grows with the square of the promotions.
const MOST: usize = 1000;

/// The most sends of a promotion or group: a decision's number has 32 bits.
const MOST_SENDS: usize = u32::MAX as usize;

/// The most numbers in the model, d x d for each promotion: 268 MB, several times over while choosing.
const MOST_NUMBERS: usize = 1 << 25;

/// The most rounds in a segment: all of its decisions are summed at once.
const MOST_ROUNDS: u64 = 1 << 16;

/// The longest name of a promotion, in bytes: each send carries it.
const LONGEST_NAME: usize = 200;

/// Refuses a model that would not fit in memory, before there is one.
pub(crate) fn room(features: usize, promotions: usize) -> Result<(), Error> {
    let numbers = features.saturating_mul(features).saturating_mul(promotions);
    if numbers <= MOST_NUMBERS {
        return Ok(());
    }
    let problem = format!(
        "{features} features and {promotions} promotions make a model of {numbers} numbers (features x features x \
         promotions), and {MOST_NUMBERS} is the most; use fewer columns, a smaller max_levels or fewer promotions"
    );
    Err(Error::Config { place: "features".to_owned(), problem, cause: None })
}

impl Config {
    /// Refuses rules that contradict each other or cannot be used; `place` is where they come from.
    ///
    /// # Errors
    /// [`Error::Config`] with the rule that is wrong.
    pub fn check(&self, place: &str) -> Result<(), Error> {
        let refused = |problem| Error::Config { place: place.to_owned(), problem, cause: None };
        self.rules().map_err(refused)?;
        // Each column makes at least one feature, as far as is known before the table is read.
        room(self.features.column.len(), self.promotion.len()).map_err(|error| match error {
            Error::Config { problem, .. } => refused(problem),
            other => other,
        })
    }

    fn rules(&self) -> Result<(), String> {
        ensure(!self.customer.is_empty(), || "customer must name a column".to_owned())?;
        promotions(&self.promotion)?;
        let limits = &self.limits;
        ensure(limits.per_customer > 0, || "limits.per_customer must be at least 1".to_owned())?;
        ensure((0.0..0.9).contains(&limits.hold_out), || {
            "limits.hold_out must be at least 0 and below 0.9".to_owned()
        })?;
        ensure(self.uplift.answered_share > 0.0 && self.uplift.answered_share <= 1.0, || {
            "uplift.answered_share must be above 0 and at most 1".to_owned()
        })?;
        ensure(self.objective == Objective::Response || limits.hold_out > 0.0, || {
            "objective = \"uplift\" needs a hold-out, which shows what happens without a send: set limits.hold_out"
                .to_owned()
        })?;
        let paid = self.promotion.iter().any(|promotion| promotion.cost.is_some_and(|cost| cost > 0.0));
        ensure(!(self.is_profit() && paid) || self.features.bias, || {
            "a cost beside a value needs features.bias = true, since it is subtracted on the constant".to_owned()
        })?;
        if let Some(budget) = limits.budget {
            number("limits.budget", budget, 0.0)?;
        }
        let costs = limits.cost.is_some() || self.promotion.iter().any(|promotion| promotion.cost.is_some());
        ensure(limits.budget.is_none() || costs, || {
            "limits.budget needs a cost: of a promotion, or limits.cost".to_owned()
        })?;
        groups(&limits.group, &self.promotion)?;
        ensure(!self.algorithm.description().in_turn, || {
            let name = self.algorithm.name();
            format!("algorithm {name:?} takes one customer after another, which the limits of a campaign do not allow")
        })?;
        let scope = self.algorithm.scope();
        ensure(scope.column().is_none_or(|column| self.segment.as_deref() == Some(column)), || {
            let column = scope.column().unwrap_or_default();
            format!(
                "algorithm.scope groups customers by {column:?}: set segment = {column:?}, since each send keeps its segment"
            )
        })?;
        ensure(scope.column() != Some("cost") || limits.budget.is_none(), || {
            "algorithm.scope groups customers by \"cost\", which is the column of costs here: call it otherwise"
                .to_owned()
        })?;
        ensure(limits.time_limit > 0.0 && limits.time_limit <= 86_400.0, || {
            "limits.time_limit must be above 0 and at most 86400 seconds".to_owned()
        })?;
        let bounded = !limits.group.is_empty()
            || limits.budget.is_some()
            || self.promotion.iter().all(|promotion| promotion.quota.is_some())
            // Requests to a service say how much they ask for.
            || self.rounds_per_segment > 1;
        ensure(bounded, || "a promotion without a quota needs limits.budget or limits.group".to_owned())?;
        rewards(self.reward)?;
        ensure((1..=MOST_ROUNDS).contains(&self.rounds_per_segment), || {
            format!("rounds_per_segment must be from 1 to {MOST_ROUNDS}")
        })?;
        let columns = &self.features.column;
        ensure(columns.len() <= MOST_COLUMNS, || {
            format!("{} columns are listed under features; {MOST_COLUMNS} is the most", columns.len())
        })?;
        let mut names = BTreeSet::new();
        for column in columns {
            let (name, kind, with) = (&column.name, column.kind.name(), column.with.as_ref());
            ensure(names.insert((name, kind, with)), || format!("the column {name:?} is listed twice under features"))?;
            feature(column).map_err(|problem| format!("feature {name:?}: {problem}"))?;
            if let Some(with) = with {
                crossed(columns, name, with).map_err(|problem| format!("feature {name:?}: {problem}"))?;
            }
        }
        ensure(self.gamma.check().is_ok(), || "gamma must be above 0 and at most 1, or \"auto\"".to_owned())
    }
}

/// What a column may say of itself, by its kind.
fn feature(column: &FeatureColumn) -> Result<(), String> {
    let FeatureColumn { kind, missing, max_levels, clip, bins, edges, with, .. } = column;
    let only = |good: bool, what: &str, kinds: &str| ensure(good, || format!("{what} works for {kinds} columns only"));
    let number = matches!(kind, Kind::Numeric | Kind::Log);
    only(*missing != MissingRule::Mean || number, "missing = \"mean\"", "numeric and log")?;
    only(*clip || number, "clip", "numeric and log")?;
    only(bins.is_none() || *kind == Kind::Bins, "bins", "bins")?;
    only(edges.is_none() || *kind == Kind::Bins, "edges", "bins")?;
    only(with.is_none() || *kind == Kind::Cross, "with", "cross")?;
    only(*missing == MissingRule::Error || *kind != Kind::Cross, "missing", "other")?;
    ensure(*max_levels > 0, || "max_levels must be at least 1".to_owned())?;
    ensure(with.is_some() || *kind != Kind::Cross, || {
        "a cross needs its other column, as in with = \"plan\"".to_owned()
    })?;
    ensure(bins.is_none_or(|bins| (2..=MOST).contains(&bins)), || format!("bins must be from 2 to {MOST}"))?;
    ensure(bins.is_none() || edges.is_none(), || "give bins or edges, not both".to_owned())?;
    let Some(edges) = edges else { return Ok(()) };
    let good = edges.iter().all(|edge| edge.abs() <= LARGEST) && edges.windows(2).all(|pair| pair[0] < pair[1]);
    ensure(good && (1..=MOST).contains(&edges.len()), || {
        format!("edges must be 1 to {MOST} numbers, each larger than the one before")
    })
}

/// Whether both columns of a cross are there, each in one form.
fn crossed(columns: &[FeatureColumn], name: &str, with: &str) -> Result<(), String> {
    ensure(name != with, || "a column cannot be crossed with itself; use bins or log".to_owned())?;
    for side in [name, with] {
        let count = columns.iter().filter(|column| column.name == side && column.kind != Kind::Cross).count();
        ensure(count == 1, || {
            format!(
                "a cross is of columns that are features themselves, each in one form; {side:?} is listed {count} times"
            )
        })?;
    }
    Ok(())
}

fn ensure(good: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(problem()) }
}

/// A number from `least` to 1e100.
fn number(what: &str, number: f64, least: f64) -> Result<(), String> {
    ensure((least..=LARGEST).contains(&number), || {
        format!("{what} is {number}, but must be a number from {least} to {LARGEST:e}")
    })
}

/// Bounds on how many sends.
fn counts(of: &str, min: usize, max: Option<usize>) -> Result<(), String> {
    ensure(max.is_none_or(|max| min <= max), || format!("{of}: min = {min} is more than max = {}", max.unwrap_or(0)))?;
    let largest = min.max(max.unwrap_or(0));
    ensure(largest <= MOST_SENDS, || format!("{of}: {largest} is more than a round can have, which is {MOST_SENDS}"))
}

fn promotions(promotions: &[Promotion]) -> Result<(), String> {
    ensure(!promotions.is_empty(), || "at least one [[promotion]] is needed".to_owned())?;
    let count = promotions.len();
    ensure(count <= MOST, || format!("there are {count} promotions; {MOST} is the most"))?;
    let (mut names, mut needed) = (BTreeSet::new(), 0);
    for Promotion { name, quota, cost, value, .. } in promotions {
        ensure(!name.is_empty(), || "a promotion must have a name".to_owned())?;
        ensure(name.len() <= LONGEST_NAME, || {
            let begin: String = name.chars().take(20).collect();
            format!("promotion {begin:?}...: its name has more than {LONGEST_NAME} bytes")
        })?;
        ensure(names.insert(name), || format!("two promotions have the name {name:?}"))?;
        if let Some(cost) = cost {
            number(&format!("promotion {name:?}: cost"), *cost, 0.0)?;
        }
        if let Some(value) = value {
            ensure((1e-9..=1e9).contains(value), || {
                format!("promotion {name:?}: value is {value}, but must be a number from 1e-9 to 1e9")
            })?;
        }
        let (min, max) = match *quota {
            Some(Quota::Exactly(count)) => (count, Some(count)),
            Some(Quota::Between(QuotaRange { min, max })) => (min, max),
            None => (0, None),
        };
        counts(&format!("promotion {name:?}: quota"), min, max)?;
        needed += min;
    }
    ensure(needed <= MOST_SENDS, || {
        format!("the quotas need {needed} sends together; {MOST_SENDS} is the most in a round")
    })
}

fn groups(groups: &[GroupLimit], promotions: &[Promotion]) -> Result<(), String> {
    ensure(groups.len() <= MOST, || format!("there are {} groups in limits.group; {MOST} is the most", groups.len()))?;
    let bounds = |group: &GroupLimit| {
        counts(&format!("limits.group {:?} = {:?}", group.column, group.value), group.min, group.max)
    };
    for GroupLimit { column, value, promotion, .. } in groups {
        let known = |name: &String| promotions.iter().any(|promotion| promotion.name == *name);
        ensure(promotion.as_ref().is_none_or(known), || {
            let named = promotion.as_deref().unwrap_or_default();
            format!("limits.group {column:?} = {value:?}: there is no promotion {named:?}")
        })?;
    }
    groups.iter().try_for_each(bounds)
}

fn rewards(RewardRule { default, min, max, .. }: RewardRule) -> Result<(), String> {
    for (what, bound) in [("min", min), ("default", Some(default)), ("max", max)] {
        if let Some(bound) = bound {
            number(&format!("reward.{what}"), bound, -LARGEST)?;
        }
    }
    let within = min.is_none_or(|min| min <= default) && max.is_none_or(|max| default <= max);
    ensure(within, || "reward.default must lie between reward.min and reward.max".to_owned())
}
