//! Which rules are refused: those that contradict each other, and those that could never be used.
//!
//! Rules are frozen in the campaign's file, so whatever passes here must work later: numbers are finite and small enough
//! to be added up, counts fit a decision's number, and the model fits in memory.

use super::{Config, GroupLimit, Kind, MissingRule, Promotion, RewardRule};
use crate::{
    Error,
    table::{LARGEST, MOST_COLUMNS},
};
use armwise::{Quota, oracle::QuotaRange};
use std::collections::BTreeSet;

/// The most promotions, and the most groups. The solver's memory grows with the square of the promotions.
const MOST: usize = 1000;

/// The most sends of a promotion or group: a decision's number has 32 bits.
const MOST_SENDS: usize = u32::MAX as usize;

/// The most numbers in the model, d x d for each promotion: 268 MB, several times over while choosing.
const MOST_NUMBERS: usize = 1 << 25;

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
        if let Some(budget) = limits.budget {
            number("limits.budget", budget, 0.0)?;
        }
        let costs = limits.cost.is_some() || self.promotion.iter().any(|promotion| promotion.cost.is_some());
        ensure(limits.budget.is_none() || costs, || {
            "limits.budget needs a cost: of a promotion, or limits.cost".to_owned()
        })?;
        groups(&limits.group)?;
        let bounded = !limits.group.is_empty()
            || limits.budget.is_some()
            || self.promotion.iter().all(|promotion| promotion.quota.is_some());
        ensure(bounded, || "a promotion without a quota needs limits.budget or limits.group".to_owned())?;
        rewards(self.reward)?;
        let columns = &self.features.column;
        ensure(columns.len() <= MOST_COLUMNS, || {
            format!("{} columns are listed under features; {MOST_COLUMNS} is the most", columns.len())
        })?;
        let mut names = BTreeSet::new();
        for column in columns {
            let name = &column.name;
            ensure(names.insert(name), || format!("the column {name:?} is listed twice under features"))?;
            let mean = column.missing == MissingRule::Mean && column.kind != Kind::Numeric;
            ensure(!mean, || format!("feature {name:?}: missing = \"mean\" works for numeric columns only"))?;
            ensure(column.max_levels > 0, || format!("feature {name:?}: max_levels must be at least 1"))?;
        }
        ensure(self.gamma > 0.0 && self.gamma <= 1.0, || "gamma must be above 0 and at most 1".to_owned())
    }
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
    for Promotion { name, quota, cost, .. } in promotions {
        ensure(!name.is_empty(), || "a promotion must have a name".to_owned())?;
        ensure(name.len() <= LONGEST_NAME, || {
            let begin: String = name.chars().take(20).collect();
            format!("promotion {begin:?}...: its name has more than {LONGEST_NAME} bytes")
        })?;
        ensure(names.insert(name), || format!("two promotions have the name {name:?}"))?;
        if let Some(cost) = cost {
            number(&format!("promotion {name:?}: cost"), *cost, 0.0)?;
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

fn groups(groups: &[GroupLimit]) -> Result<(), String> {
    ensure(groups.len() <= MOST, || format!("there are {} groups in limits.group; {MOST} is the most", groups.len()))?;
    let bounds = |group: &GroupLimit| {
        counts(&format!("limits.group {:?} = {:?}", group.column, group.value), group.min, group.max)
    };
    groups.iter().try_for_each(bounds)
}

fn rewards(RewardRule { default, min, max }: RewardRule) -> Result<(), String> {
    for (what, bound) in [("min", min), ("default", Some(default)), ("max", max)] {
        if let Some(bound) = bound {
            number(&format!("reward.{what}"), bound, -LARGEST)?;
        }
    }
    let within = min.is_none_or(|min| min <= default) && max.is_none_or(|max| default <= max);
    ensure(within, || "reward.default must lie between reward.min and reward.max".to_owned())
}
