//! The campaign's limits as one of the library's constraints.
//!
//! The cheapest oracle that covers the limits is used: an assignment for quotas, with or without a budget; a budget for
//! a budget alone; quotas for groups with one promotion. Groups together with several promotions or a budget go to the
//! general solver, which is for small tables.

use crate::config::Config;
use armwise::{
    Assignment, Budget, Constraint, Linear, OnInfeasible, Quota, Quotas,
    oracle::{BlockQuotas, Group, LinearRow, OneOrMany, QuotaRange},
};

/// The column of costs, one per customer and promotion.
pub(super) const COST: &str = "cost";

/// The column of segments: the number of the segment's name, from 1; 0 for none.
pub(super) const SEGMENT: &str = "segment";

/// The column that says who is in a group.
pub(super) fn group(place: usize) -> String {
    format!("group {place}")
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
    if !limits.group.is_empty() {
        let ([(min, max)], None) = (&quotas[..], budget) else {
            return Constraint::Linear(linear(config, &quotas, budget, scaled));
        };
        let one = |(place, limit): (usize, &crate::config::GroupLimit)| Group {
            column: group(place),
            value: Some(OneOrMany::One(1.0)),
            min: Some(scaled(limit.min)),
            max: limit.max.map(scaled),
            ..Group::default()
        };
        let groups = limits.group.iter().enumerate().map(one).collect();
        return Constraint::Quotas(Quotas { k: *max, min: *min, groups, on_infeasible });
    }
    if budget.is_some() && quotas.iter().all(|quota| *quota == (0, None)) {
        let (cost, per_row) = (COST.to_owned(), Some(per_row));
        return Constraint::Budget(Budget { cost, budget, budgets: None, k: None, per_row });
    }
    let quota = |&(min, max): &(usize, Option<usize>)| match max {
        Some(max) if max == min => Quota::Exactly(max),
        max => Quota::Between(QuotaRange { min, max }),
    };
    let cost = budget.map(|_| COST.to_owned());
    let quotas = BlockQuotas::Each(quotas.iter().map(quota).collect());
    Constraint::Assignment(Assignment { per_row, on_infeasible, cost, budget, ..Assignment::new(quotas) })
}

fn linear(
    config: &Config,
    quotas: &[(usize, Option<usize>)],
    budget: Option<f64>,
    scaled: impl Fn(usize) -> usize,
) -> Linear {
    let mut rows = Vec::new();
    for (block, (promotion, &(min, max))) in config.promotion.iter().zip(quotas).enumerate() {
        let (lo, hi) = (Some(min as f64), max.map(|max| max as f64));
        let name = Some(promotion.name.clone());
        rows.push(LinearRow { name, lo, hi, every: 1.0, block: Some(block), ..LinearRow::default() });
    }
    let hi = Some(config.limits.per_customer as f64);
    let name = Some("promotions per customer".to_owned());
    rows.push(LinearRow { name, hi, every: 1.0, per_row: true, ..LinearRow::default() });
    for (place, limit) in config.limits.group.iter().enumerate() {
        let (lo, hi) = (Some(scaled(limit.min) as f64), limit.max.map(|max| scaled(max) as f64));
        let name = Some(format!("{} = {}", limit.column, limit.value));
        rows.push(LinearRow { name, lo, hi, column: Some(group(place)), ..LinearRow::default() });
    }
    if budget.is_some() {
        let (name, column) = (Some("budget".to_owned()), Some(COST.to_owned()));
        rows.push(LinearRow { name, hi: budget, column, ..LinearRow::default() });
    }
    Linear { rows, time_limit: 60.0 }
}
