//! Super arms straight from the prices: the choice they make, and the greedy one that fits.
//!
//! If arms come in clusters, very many may be worth exactly their price, and then the prices alone do not say how many
//! of them to take. As many are taken as there are places, neighbours in the order of costs, such that together they
//! come closest to the rest of the budget.

use super::items::Grids;
use super::prices::Prices;
use super::problem::{Cap, Problem, tie};
use super::search::Slack;
use crate::Scores;
use std::ops::Range;

/// How many arms worth less than their price the greedy answer tries.
const TRIED: usize = 256;

/// If at most this many arms are worth exactly their price, the search decides about them.
const FEW: usize = 16;

/// A choice to start from; it need not fit.
pub(super) struct Base {
    /// Whether each arm is chosen.
    pub(super) chosen: Vec<bool>,
    pub(super) slack: Slack,
    /// How far it is below the best choice at the prices.
    pub(super) loss: f64,
    /// A bound on the rounding in a sum of losses.
    pub(super) rounding: f64,
}

impl Base {
    /// The choice at the prices.
    pub(super) fn new(problem: &Problem, prices: &Prices, values: &[f64], grids: &Grids, scores: &Scores<'_>) -> Self {
        let mut chosen: Vec<bool> = values.iter().map(|&value| value > 0.0).collect();
        if problem.per_row.is_some() {
            for row in problem.rows() {
                keep_best(&mut chosen, values, row, problem.per_row());
            }
        }
        let slack = slack(problem, prices, grids, &chosen);
        // The price of an undecided arm is close to its score, so each loss is exact to about 3e-16 of the largest
        // score, and hundreds of losses are summed.
        let mut base = Self { chosen, slack, loss: 0.0, rounding: 2e-13 * problem.largest_score };
        if problem.per_row.is_none() && problem.limits.len() == 1 {
            base.level(problem, values, grids, scores);
        }
        base
    }

    /// Decides how many of the arms worth exactly their price to take.
    fn level(&mut self, problem: &Problem, values: &[f64], grids: &Grids, scores: &Scores<'_>) {
        let mut even: Vec<usize> = (0..values.len()).filter(|&at| values[at].abs() <= self.rounding).collect();
        if even.len() <= FEW {
            return;
        }
        self.rounding = self.rounding.max(1e-15 * problem.largest_score * even.len() as f64);
        let cost = |at: usize| grids.cost.units(problem.arms[at].cost);
        let slack = &mut self.slack;
        for &at in &even {
            if !std::mem::take(&mut self.chosen[at]) {
                continue;
            }
            slack.left[0] += cost(at);
            slack.places = slack.places.map(|(places, price)| (places + 1, price));
        }
        even.sort_unstable_by(|&a, &b| {
            let (a, b) = (&problem.arms[a], &problem.arms[b]);
            a.cost.total_cmp(&b.cost).then_with(|| tie(a.pick, b.pick, scores))
        });
        let places = slack.places.map_or(usize::MAX, |(places, _)| usize::try_from(places).unwrap_or(0));
        let (mut taken, mut used) = (0..0, 0);
        while taken.end < even.len() && taken.len() < places && used + cost(even[taken.end]) <= slack.left[0] {
            used += cost(even[taken.end]);
            taken.end += 1;
        }
        while taken.end < even.len() && taken.len() == places && places > 0 {
            let next = used - cost(even[taken.start]) + cost(even[taken.end]);
            if next > slack.left[0] {
                break;
            }
            used = next;
            taken = taken.start + 1..taken.end + 1;
        }
        slack.left[0] -= used;
        slack.places = slack.places.map(|(places, price)| (places - count(taken.len()), price));
        even[taken].iter().for_each(|&at| self.chosen[at] = true);
        let loss = |&at: &usize| if self.chosen[at] { -values[at] } else { values[at] };
        self.loss = even.iter().map(loss).filter(|&loss| loss > 0.0).sum();
    }

    /// The chosen arms.
    pub(super) fn arms(&self) -> Vec<usize> {
        (0..self.chosen.len()).filter(|&at| self.chosen[at]).collect()
    }

    /// A super arm that fits: as much of this choice as fits, then any other arms that fit, by falling value beyond
    /// their price. Also returns how far it is below the bound.
    pub(super) fn greedy(
        &self,
        problem: &Problem,
        values: &[f64],
        grids: &Grids,
        scores: &Scores<'_>,
    ) -> (Vec<usize>, f64) {
        let by_value = |&a: &usize, &b: &usize| {
            values[b].total_cmp(&values[a]).then_with(|| tie(problem.arms[a].pick, problem.arms[b].pick, scores))
        };
        let mut left = self.slack.left.clone();
        let mut places = self.slack.places.map_or(i64::MAX, |(places, _)| places);
        let mut others = self.others(problem, values);
        others.sort_unstable_by(by_value);
        let mut chosen = self.arms();
        let mut loss = self.loss;
        if left.iter().any(|&left| left < 0) || places < 0 {
            let mut all = std::mem::take(&mut chosen);
            loss += all.iter().map(|&at| values[at]).sum::<f64>();
            for &at in &all {
                let arm = &problem.arms[at];
                problem.limits_of(arm.pick.block).for_each(|limit| left[limit] += grids.cost.units(arm.cost));
            }
            places = places.saturating_add(count(all.len()));
            all.sort_unstable_by(by_value);
            all.append(&mut others);
            others = all;
        }
        let rows = problem.arms.last().map_or(0, |arm| arm.pick.row + 1);
        let mut of_row = vec![0_usize; if problem.per_row.is_some() { rows } else { 0 }];
        if problem.per_row.is_some() {
            chosen.iter().for_each(|&at| of_row[problem.arms[at].pick.row] += 1);
        }
        for at in others {
            let arm = &problem.arms[at];
            let cost = grids.cost.units(arm.cost);
            let limits = || problem.limits_of(arm.pick.block);
            let full = of_row.get(arm.pick.row).is_some_and(|&of_row| of_row >= problem.per_row());
            if places <= 0 || full || limits().any(|limit| cost > left[limit]) {
                continue;
            }
            limits().for_each(|limit| left[limit] -= cost);
            places -= 1;
            loss -= values[at];
            of_row.get_mut(arm.pick.row).into_iter().for_each(|of_row| *of_row += 1);
            chosen.push(at);
        }
        (chosen, (loss + self.slack.unused(&left, places)).max(0.0))
    }

    /// The best arms that were not chosen: some hundreds, and all that are worth exactly their price unless `level` has
    /// decided about them.
    fn others(&self, problem: &Problem, values: &[f64]) -> Vec<usize> {
        let mut reach = problem.largest_score * (4 * TRIED) as f64 / values.len() as f64;
        loop {
            let within = |at: &usize| values[*at] >= -reach && !self.chosen[*at];
            let others: Vec<usize> = (0..values.len()).filter(within).collect();
            if others.len() >= TRIED || reach == f64::INFINITY {
                return others;
            }
            reach = if reach > problem.largest_score { f64::INFINITY } else { reach * 8.0 };
        }
    }
}

/// Keeps the best arms of a row.
fn keep_best(chosen: &mut [bool], values: &[f64], row: Range<usize>, per_row: usize) {
    let mut wanted: Vec<usize> = row.clone().filter(|&at| chosen[at]).collect();
    if wanted.len() > per_row {
        wanted.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        wanted[per_row..].iter().for_each(|&at| chosen[at] = false);
    }
}

fn slack(problem: &Problem, prices: &Prices, grids: &Grids, chosen: &[bool]) -> Slack {
    // A limit far above all costs together is capped, so that no later sum overflows.
    let amount = |limit: &Cap| grids.cost.units(limit.amount).min(i128::MAX / 4);
    let mut left: Vec<i128> = problem.limits.iter().map(amount).collect();
    let mut taken = 0;
    for (arm, _) in problem.arms.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
        taken += 1;
        problem.limits_of(arm.pick.block).for_each(|at| left[at] -= grids.cost.units(arm.cost));
    }
    Slack {
        left,
        price: prices.limits.iter().map(|price| grids.cost.per_unit(*price)).collect(),
        places: problem.k.map(|k| (count(k) - taken, prices.place)),
    }
}

/// A number of arms as an integer that can be added and subtracted; huge numbers are capped, still above any round's.
pub(super) fn count(n: usize) -> i64 {
    i64::try_from(n).map_or(i64::MAX / 2, |n| n.min(i64::MAX / 2))
}
