//! Groups that cross: rows of one group are in and out of another, so limits are no trees and the optimum of their prices
//! need not be whole.
//!
//! Few arms go to the general solver. Otherwise prices of all limits come first ([`newton`]), and with them an upper bound
//! that holds whatever the prices are. What the prices ask for misses some limits by a little. Rows in the same groups and
//! eligible for the same blocks replace each other, so a small program in whole numbers decides how many of each stratum
//! every block gets, near to what the prices ask for; it has an answer whenever there is one. Given these numbers, the
//! assignment is exact again.

use super::choice::choose;
use super::filter::{self, Kept};
use super::network::Network;
use super::newton::{Target, newton, spread};
use super::{Assignment, within_budget};
use crate::Error;
use crate::oracle::columns::Values;
use crate::oracle::linear::{Linear, Written, by_rank, whole_numbers};
use crate::oracle::quotas::Sorter;
use crate::oracle::{Infeasible, Limit, Missing, OnInfeasible, Price, Quality, Scores, Selection};
use std::sync::atomic::AtomicBool;

/// Up to so many arms, the general solver finds the best in no time.
const FEW: usize = 300;
/// How many prices of cost are tried.
const STEPS: usize = 14;
/// What a unit that misses a minimum costs in the program for the numbers, where scores are below 1.
const MISSED: f64 = 64.0;

/// What the prices ask for.
struct Asked {
    /// The price of a unit of cost.
    price: f64,
    /// The prices of the limits, and of the arms of each stratum, as scores.
    limits: Vec<f64>,
    arms: Vec<f64>,
    /// How many rows of each stratum each block gets.
    counts: Vec<usize>,
    /// What moving a row of each stratum costs, about.
    step: Vec<f64>,
    spent: f64,
    bound: f64,
    /// The largest score, which the prices are measured by.
    unit: f64,
}

pub(super) fn argmax(of: &Assignment, scores: &Scores<'_>) -> Result<Selection, Error> {
    let eligible = scores.values().iter().filter(|score| score.is_finite()).count();
    if eligible <= FEW && of.on_infeasible == OnInfeasible::Error {
        match exact(of, scores) {
            Err(Error::TimeLimit { .. } | Error::FeatureMissing(_)) => {}
            Err(Error::Infeasible(reason)) => return Err(Error::Infeasible(explain(of, scores).unwrap_or(reason))),
            found => return found,
        }
    }
    let per_row = of.per_row.min(scores.blocks());
    let network = Network::crossing(&of.quotas, &of.groups, per_row, scores)?;
    let Some((name, budget)) = of.cost.as_ref().zip(of.budget) else {
        let asked = ask(scores, &network, per_row, None, 0.0)?;
        let counts = counts(of, &network, scores, &asked)?;
        let cells = network.with_counts(&counts);
        let arms = of.fill(scores, &cells, None)?.arms;
        return told(of, scores, &network, &asked, Selection::optimal(arms, scores), asked.bound);
    };
    let column = Values::of(scores, name)?;
    let cost = |place: usize| match scores.pick(place) {
        arm if scores.get(arm) == f64::NEG_INFINITY => Ok(0.0),
        arm => column.checked(name, arm, 0.0),
    };
    let costs = (0..scores.values().len()).map(cost).collect::<Result<Vec<f64>, Error>>()?;
    let at = |price: f64| ask(scores, &network, per_row, Some((&costs, budget)), price);
    let mut asked = at(0.0)?;
    let mut dearer = None;
    let mut bound = asked.bound;
    if asked.spent > budget {
        let (mut low, mut high) = (0.0, None);
        let mut price = asked.bound.abs() / asked.spent;
        for _ in 0..STEPS {
            let next = at(price)?;
            bound = bound.min(next.bound);
            if next.spent > budget {
                (low, dearer) = (price, Some(next));
            } else {
                high = Some(price);
                asked = next;
            }
            price = high.map_or(4.0 * price, |high| f64::midpoint(low, high));
        }
    }
    // The numbers do not know the budget exactly: those asked for at a lower price may fit, too, by cheaper rows.
    let fit = |asked: &Asked| {
        let counts = counts(of, &network, scores, asked)?;
        within_budget::argmax(of, scores, network.with_counts(&counts), name, budget)
    };
    let mut best: Option<Selection> = None;
    let mut last = None;
    for tried in dearer.iter().chain([&asked]) {
        match fit(tried) {
            Err(Error::Infeasible(reason)) => last = Some(reason),
            found => {
                let found = found?;
                if best.as_ref().is_none_or(|best| found.objective > best.objective) {
                    best = Some(found);
                }
            }
        }
    }
    for _ in 0..STEPS {
        if let Some(best) = best {
            return told(of, scores, &network, &asked, best, bound);
        }
        asked = at((1.5 * asked.price).max(1e-9 * asked.unit / (1.0 + budget)))?;
        match fit(&asked) {
            Err(Error::Infeasible(reason)) => last = Some(reason),
            found => best = Some(found?),
        }
    }
    let costs = Infeasible::QuotasCost { least: asked.spent, budget };
    Err(Error::Infeasible(last.unwrap_or(costs)))
}

/// The same answer, or if it may not be the best and there are few arms, the best.
pub(super) fn settled(of: &Assignment, scores: &Scores<'_>, found: Selection) -> Selection {
    let few = || scores.values().iter().filter(|score| score.is_finite()).count() <= FEW;
    let open = found.quality == Quality::Gap && !of.groups.is_empty() && found.missing.is_empty();
    match if open && few() { exact(of, scores) } else { Ok(found.clone()) } {
        Ok(best) if best.quality == Quality::Optimal && best.objective > found.objective => {
            Selection { prices: found.prices, ..best }
        }
        Ok(Selection { quality: Quality::Optimal, .. }) => {
            Selection { upper_bound: found.objective, quality: Quality::Optimal, ..found }
        }
        _ => found,
    }
}

/// The answer with what is missing, the bound and the prices.
fn told(
    of: &Assignment,
    scores: &Scores<'_>,
    network: &Network,
    asked: &Asked,
    found: Selection,
    bound: f64,
) -> Result<Selection, Error> {
    let counts = network.counts(&found.arms);
    let short = (0..network.root()).filter(|&limit| counts[limit] < network.bounds[limit].0);
    let missing: Vec<Missing> = short
        .map(|limit| Missing {
            of: network.names[limit].clone(),
            needed: network.bounds[limit].0,
            chosen: counts[limit],
        })
        .collect();
    if !missing.is_empty() && of.on_infeasible == OnInfeasible::Error {
        let reason = explain(of, scores).unwrap_or(Infeasible::Crossing { limits: network.root() });
        return Err(Error::Infeasible(reason));
    }
    // What is filled in place of a minimum that cannot be met has no bound by these prices.
    let upper_bound = if missing.is_empty() { bound.max(found.objective) } else { f64::MAX.min(total(scores)) };
    let quality = if upper_bound - found.objective > 1e-9 * (1.0 + found.objective.abs()) {
        Quality::Gap
    } else {
        Quality::Optimal
    };
    let price = |limit: usize| {
        let value = if network.counts_down(limit) { -asked.limits[limit] } else { asked.limits[limit] };
        Price { of: network.names[limit].clone(), value: value + 0.0 }
    };
    let mut prices: Vec<Price> = (0..network.root()).map(price).collect();
    prices.extend(of.budget.map(|_| Price { of: Limit::Budget, value: asked.price }));
    Ok(Selection { upper_bound, quality, prices, missing, floors: None, ..found })
}

/// The sum of all positive scores, which bounds everything.
fn total(scores: &Scores<'_>) -> f64 {
    scores.values().iter().filter(|score| **score > 0.0).sum()
}

/// What the rows ask for at the best prices of the limits, at this price of cost.
fn ask(
    scores: &Scores<'_>,
    network: &Network,
    per_row: usize,
    costs: Option<(&[f64], f64)>,
    price: f64,
) -> Result<Asked, Error> {
    let worth: Vec<f64> = match costs {
        Some((costs, _)) => scores.values().iter().zip(costs).map(|(score, cost)| score - price * cost).collect(),
        None => scores.values().to_vec(),
    };
    let Kept { rows, offers, scale, .. } =
        filter::keep(&scores.with_values(&worth), network, &filter::no_floors(network))?;
    let targets: Vec<Target> = network.spans.iter().map(|span| Target::share(span, 1.0)).collect();
    // Of a block, the score that so many others are above; nothing here depends on the order of the rows.
    let mut of_blocks: Vec<Vec<f64>> = vec![Vec::new(); network.blocks];
    offers.rows().for_each(|row| row.pairs().for_each(|(block, score)| of_blocks[block].push(score)));
    let first = |(block, mut scores): (usize, Vec<f64>)| match network.spans[block].usual {
        usual if usual < scores.len() => scores.select_nth_unstable_by(usual, |a, b| b.total_cmp(a)).1.max(0.0),
        _ => 0.0,
    };
    let mut limits: Vec<f64> = of_blocks.into_iter().enumerate().map(first).collect();
    limits.resize(network.root(), 0.0);
    let left = newton(network, &offers, per_row, &targets, 0.5 * network.root() as f64, &mut limits);
    let width = spread(network, &offers, per_row, &limits, left + network.root() as f64);
    let width = if width.is_finite() { width } else { 1e-6 };
    let blocks = network.blocks;
    let arms = network.arm_prices(&network.potentials(&limits));
    let mut counts = vec![0; network.strata() * blocks];
    let mut near = vec![1.0; network.strata()];
    let (mut surplus, mut spent, mut buffer) = (0.0, 0.0, Vec::new());
    for (row, &place) in offers.rows().zip(&rows) {
        let prices = row.own(&arms, blocks);
        let change = choose(row, prices, per_row, &mut buffer, |at, block| {
            counts[row.stratum * blocks + block] += 1;
            surplus += row.scores[at] - prices[block];
            spent += costs.map_or(0.0, |(costs, _)| costs[place * blocks + block]);
        });
        near[row.stratum] += f64::from(u8::from(change.loss <= width));
    }
    // Each limit sells its units at its price: all that it has if the price is above 0, as few as it may if below.
    for (price, span) in limits.iter().zip(&network.spans) {
        let units = if *price > 0.0 { span.max } else { span.min };
        surplus += if *price == 0.0 { 0.0 } else { price * units as f64 };
    }
    let bound = scale.up(surplus) + costs.map_or(0.0, |(_, budget)| price * budget);
    let unit = scale.up(1.0);
    let limits = limits.into_iter().map(|price| scale.up(price)).collect();
    let step = near.into_iter().map(|near| width / near).collect();
    Ok(Asked { price, limits, arms, counts, step, spent, bound, unit })
}

/// How many rows of each stratum each block gets: whole numbers near to what is asked for that meet all limits, or miss as
/// few units of minima as possible.
fn counts(of: &Assignment, network: &Network, scores: &Scores<'_>, asked: &Asked) -> Result<Vec<usize>, Error> {
    let (blocks, cells) = (network.blocks, asked.counts.len());
    let per_row = of.per_row.min(blocks);
    let mut sizes = vec![0; network.strata()];
    let mut eligible = vec![false; cells];
    for (row, values) in scores.values().chunks_exact(blocks).enumerate() {
        let stratum = network.stratum(row);
        sizes[stratum] += 1;
        for (block, score) in values.iter().enumerate() {
            eligible[stratum * blocks + block] = score.is_finite();
        }
    }
    // First the units more of each cell, then the units fewer, then the units that minima lack.
    let (mut gains, mut most) = (Vec::new(), Vec::new());
    for sign in [1.0, -1.0] {
        for cell in 0..cells {
            gains.push(sign * asked.arms[cell] - asked.step[cell / blocks]);
            let room = if eligible[cell] { sizes[cell / blocks] - asked.counts[cell] } else { 0 };
            most.push(if sign > 0.0 { room } else { asked.counts[cell] } as f64);
        }
    }
    let changes = |cells_of: &dyn Fn(usize) -> bool| -> Vec<(usize, f64)> {
        let of = |(offset, sign): (usize, f64)| {
            (0..cells).filter(|&cell| cells_of(cell)).map(move |cell| (offset + cell, sign))
        };
        [(0, 1.0), (cells, -1.0)].into_iter().flat_map(of).collect()
    };
    let mut rows = Vec::new();
    for limit in 0..network.root() {
        let inside = |cell: usize| network.is_in(cell / blocks, cell % blocks, limit);
        let now: usize = (0..cells).filter(|&cell| inside(cell)).map(|cell| asked.counts[cell]).sum();
        let (min, max) = network.bounds[limit];
        let mut terms = changes(&inside);
        let name = network.names[limit].to_string();
        if max < usize::MAX {
            let hi = max as f64 - now as f64;
            rows.push(Written { name: name.clone(), lo: f64::NEG_INFINITY, hi, terms: terms.clone() });
        }
        if min > 0 {
            terms.push((gains.len(), 1.0));
            gains.push(-MISSED);
            most.push(min as f64);
            rows.push(Written { name, lo: min as f64 - now as f64, hi: f64::INFINITY, terms });
        }
    }
    for (stratum, &size) in sizes.iter().enumerate() {
        let now: usize = asked.counts[stratum * blocks..][..blocks].iter().sum();
        let terms = changes(&|cell| cell / blocks == stratum);
        let hi = (size * per_row) as f64 - now as f64;
        rows.push(Written { name: "per_row".to_owned(), lo: f64::NEG_INFINITY, hi, terms });
    }
    let changed = whole_numbers(gains, most, rows, of.time_limit)?;
    let count = |cell: usize| asked.counts[cell] as f64 + changed[cell] - changed[cells + cell];
    #[expect(clippy::cast_sign_loss, reason = "no more are taken away than there are")]
    Ok((0..cells).map(|cell| count(cell).max(0.0) as usize).collect())
}

/// A reason from groups that are nested, if these alone cannot be met.
fn explain(of: &Assignment, scores: &Scores<'_>) -> Option<Infeasible> {
    let mut nested = Assignment { groups: Vec::new(), cost: None, budget: None, ..of.clone() };
    for group in &of.groups {
        nested.groups.push(group.clone());
        if nested.network(scores).is_err() {
            nested.groups.pop();
        }
    }
    match nested.best(scores) {
        Err(Error::Infeasible(reason)) => Some(reason),
        _ => None,
    }
}

/// The best of all, by the general solver.
fn exact(of: &Assignment, scores: &Scores<'_>) -> Result<Selection, Error> {
    let arms = by_rank(scores)?;
    let mut rows = Vec::new();
    let row = |name: String, min: usize, max: usize, terms: Vec<(usize, f64)>| {
        let hi = if max == usize::MAX { f64::INFINITY } else { max as f64 };
        Written { name, lo: min as f64, hi, terms }
    };
    for block in 0..scores.blocks() {
        let (min, max) = of.quotas.bounds(block);
        let terms = arms.iter().enumerate().filter(|(_, arm)| arm.block == block).map(|(place, _)| (place, 1.0));
        rows.push(row(format!("block = {block}"), min, max, terms.collect()));
    }
    let mut sorter = Sorter::new(&of.groups, scores)?;
    let classes = arms.iter().map(|arm| sorter.class(&of.groups, *arm)).collect::<Result<Vec<usize>, Error>>()?;
    for (group, limits) in sorter.groups.iter().enumerate() {
        let inside = |place: &usize| sorter.classes()[classes[*place]].contains(&group);
        let terms = (0..arms.len()).filter(inside).map(|place| (place, 1.0)).collect();
        rows.push(row(limits.least().to_string(), limits.min, limits.max, terms));
    }
    let mut by_row: Vec<(usize, usize)> = arms.iter().enumerate().map(|(place, arm)| (arm.row, place)).collect();
    by_row.sort_unstable();
    let mut of_rows: Vec<Vec<(usize, f64)>> =
        by_row.chunk_by(|a, b| a.0 == b.0).map(|arms| arms.iter().map(|&(_, place)| (place, 1.0)).collect()).collect();
    // Rows are ordered by their best arm, which does not depend on the order of the scores.
    of_rows.sort_by_key(|terms| terms[0].0);
    rows.extend(of_rows.into_iter().map(|terms| row("per_row".to_owned(), 0, of.per_row, terms)));
    if let (Some(cost), Some(budget)) = (&of.cost, of.budget) {
        let costs = Values::of(scores, cost)?;
        let mut terms = Vec::new();
        for (place, &arm) in arms.iter().enumerate() {
            terms.push((place, costs.checked(cost, arm, 0.0)?));
        }
        terms.retain(|term| term.1 != 0.0);
        rows.push(Written { name: "budget".to_owned(), lo: f64::NEG_INFINITY, hi: budget, terms });
    }
    let solver = Linear { rows: Vec::new(), time_limit: of.time_limit };
    solver.solve_written(scores, &arms, rows, &AtomicBool::new(false))
}
