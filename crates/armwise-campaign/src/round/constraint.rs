//! The campaign's limits as one of the library's constraints.
//!
//! The cheapest oracle that covers the limits is used: an assignment for quotas and groups, with or without a budget; a
//! budget for a budget alone; quotas for groups of one column with one promotion.

use crate::config::{Config, GroupLimit};
use armwise::{
    Assignment, Budget, Constraint, OnInfeasible, Quota, Quotas,
    oracle::{BlockQuotas, Group, OneOrMany, QuotaRange},
};

/// The column of costs, one per customer and promotion.
pub(super) const COST: &str = "cost";

/// The column of segments: the number of the segment's name, from 1; 0 for none. The table's own column may be called
/// `segment`, and a scope may name it.
pub(super) const SEGMENT: &str = "number of the segment";

/// The column of the library that holds the values of one of the table's columns, as numbers: the place of the first
/// group with this value, from 1; 0 for a value of no group.
pub(super) fn column_of_groups(column: &str) -> String {
    format!("group {column}")
}

/// The number of a group's value in its column.
pub(super) fn number_of(groups: &[GroupLimit], group: &GroupLimit) -> f64 {
    let same = |other: &GroupLimit| (&other.column, &other.value) == (&group.column, &group.value);
    groups.iter().position(same).map_or(0.0, |place| place as f64 + 1.0)
}

/// A share of a count, to the nearest.
#[expect(clippy::cast_sign_loss, reason = "counts and shares are not negative")]
fn scale(count: usize, share: f64) -> usize {
    (count as f64 * share).round() as usize
}

/// The constraint of a round; for the hold-out, every number is scaled by `share`.
pub(super) fn constraint(config: &Config, share: Option<f64>, on_infeasible: OnInfeasible) -> Constraint {
    let limits = &config.limits;
    let scaled = |count: usize| match share {
        None => count,
        Some(share) => scale(count, share),
    };
    let quotas: Vec<(usize, Option<usize>)> = config
        .promotion
        .iter()
        .map(|promotion| match promotion.quota {
            None => (0, None),
            Some(Quota::Exactly(count)) => (scaled(count), Some(scaled(count))),
            Some(Quota::Between(QuotaRange { min, max })) => (scaled(min), max.map(scaled)),
        })
        .collect();
    let budget = limits.budget.map(|budget| budget * share.unwrap_or(1.0));
    let per_row = limits.per_customer;
    let group = |limit: &GroupLimit| Group {
        column: column_of_groups(&limit.column),
        value: Some(OneOrMany::One(number_of(&limits.group, limit))),
        block: limit.promotion.as_ref().and_then(|promotion| config.block(promotion)),
        min: Some(scaled(limit.min)),
        max: limit.max.map(scaled),
        exactly: None,
    };
    let groups: Vec<Group> = limits.group.iter().map(group).collect();
    // The values of one column never cross.
    let apart = !groups.is_empty() && groups.windows(2).all(|pair| pair[0].column == pair[1].column);
    if let ([(min, max)], None, true) = (&quotas[..], budget, apart) {
        return Constraint::Quotas(Quotas { k: *max, min: *min, groups, on_infeasible });
    }
    if budget.is_some() && groups.is_empty() && quotas.iter().all(|quota| *quota == (0, None)) {
        let (cost, per_row) = (COST.to_owned(), Some(per_row));
        return Constraint::Budget(Budget { cost, budget, budgets: None, k: None, per_row });
    }
    let quota = |&(min, max): &(usize, Option<usize>)| match max {
        Some(max) if max == min => Quota::Exactly(max),
        max => Quota::Between(QuotaRange { min, max }),
    };
    let cost = budget.map(|_| COST.to_owned());
    let quotas = BlockQuotas::Each(quotas.iter().map(quota).collect());
    let time_limit = limits.time_limit;
    Constraint::Assignment(Assignment { quotas, per_row, groups, on_infeasible, cost, budget, time_limit })
}

/// The rules without minima, which can always be met: quotas become the most that is sent.
pub(super) fn without_minima(config: &Config) -> Config {
    let mut config = config.clone();
    for quota in config.promotion.iter_mut().filter_map(|promotion| promotion.quota.as_mut()) {
        let max = match *quota {
            Quota::Exactly(count) => Some(count),
            Quota::Between(QuotaRange { max, .. }) => max,
        };
        *quota = Quota::Between(QuotaRange { min: 0, max });
    }
    config.limits.group.iter_mut().for_each(|group| group.min = 0);
    config
}
