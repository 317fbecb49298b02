//! A problem at its prices: the choice they make, and the greedy super arm that fits.
//!
//! If arms come in clusters, very many may be worth exactly their price, and then the prices alone do not say how many
//! of them to take. As many are taken as there are places, neighbours in the order of costs, such that together they
//! come closest to the rest of the budget.

use super::anneal::Shares;
use super::fixed::Grid;
use super::newton::choose;
use super::prices::Prices;
use super::problem::{Cap, Problem, tie};
use super::search::Slack;
use crate::Scores;

/// How many arms worth less than their price the greedy answer tries.
const TRIED: usize = 256;

/// If at most this many arms are worth exactly their price, the search decides about them.
const FEW: usize = 16;

/// A problem at its prices, with a choice to start from that need not fit.
pub(super) struct Start<'a> {
    pub(super) problem: &'a Problem,
    pub(super) scores: &'a Scores<'a>,
    pub(super) score_grid: Grid,
    pub(super) cost_grid: Grid,
    /// What each arm is worth beyond the price of what it uses.
    pub(super) values: Vec<f64>,
    /// Whether each arm is chosen.
    pub(super) chosen: Vec<bool>,
    pub(super) slack: Slack,
    /// How far the choice is below the best one at the prices.
    pub(super) loss: f64,
    /// A bound on the rounding in a sum of losses.
    pub(super) rounding: f64,
    /// Whether classes of rows were shared out, so that the choice nearly fits.
    pub(super) shared: bool,
}

impl<'a> Start<'a> {
    /// The choice at the prices.
    pub(super) fn new(problem: &'a Problem, prices: &Prices, scores: &'a Scores<'a>) -> Self {
        let values = prices.values(problem);
        let mut chosen: Vec<bool> = values.iter().map(|&value| value > 0.0).collect();
        if problem.per_row.is_some() {
            chosen.fill(false);
            let mut wanted = Vec::new();
            for row in problem.rows() {
                choose(&values, row, problem.per_row(), &mut wanted);
                wanted.iter().for_each(|&at| chosen[at] = true);
            }
        }
        let cost_grid = problem.cost_grid();
        let arms = || (0..chosen.len()).filter(|&at| chosen[at]);
        let slack = Slack {
            left: left(problem, cost_grid, arms()),
            price: prices.limits.iter().map(|price| cost_grid.per_unit(*price)).collect(),
            places: problem.k.map_or(i64::MAX / 4, |k| count(k) - count(arms().count())),
            place: problem.k.map(|_| prices.place),
        };
        // The price of an undecided arm is close to its score, so each loss is exact to about 3e-16 of the largest
        // score, and hundreds of losses are summed.
        let rounding = 2e-13 * problem.largest_score;
        let score_grid = problem.score_grid();
        let (loss, shared) = (0.0, false);
        let mut start = Self { problem, scores, score_grid, cost_grid, values, chosen, slack, loss, rounding, shared };
        if problem.per_row.is_none() && problem.limits.len() == 1 {
            start.level();
        }
        start
    }

    /// The cost of an arm in units.
    fn cost(&self, at: usize) -> i128 {
        self.cost_grid.units(self.problem.arms[at].cost)
    }

    /// Decides how many of the arms worth exactly their price to take.
    fn level(&mut self) {
        let is_even = |&at: &usize| self.values[at].abs() <= self.rounding;
        let mut even: Vec<usize> = (0..self.values.len()).filter(is_even).collect();
        if even.len() <= FEW {
            return;
        }
        self.rounding = self.rounding.max(1e-15 * self.problem.largest_score * even.len() as f64);
        for &at in &even {
            if std::mem::take(&mut self.chosen[at]) {
                self.slack.left[0] += self.cost(at);
                self.slack.places += 1;
            }
        }
        even.sort_unstable_by(|&a, &b| {
            let (a, b) = (&self.problem.arms[a], &self.problem.arms[b]);
            a.cost.total_cmp(&b.cost).then_with(|| tie(a.pick, b.pick, self.scores))
        });
        let (left, places) = (self.slack.left[0], usize::try_from(self.slack.places).unwrap_or(0));
        let (mut taken, mut used) = (0..0, 0);
        while taken.end < even.len() && taken.len() < places && used + self.cost(even[taken.end]) <= left {
            used += self.cost(even[taken.end]);
            taken.end += 1;
        }
        while taken.end < even.len() && taken.len() == places && places > 0 {
            let next = used - self.cost(even[taken.start]) + self.cost(even[taken.end]);
            if next > left {
                break;
            }
            used = next;
            taken = taken.start + 1..taken.end + 1;
        }
        self.slack.left[0] -= used;
        self.slack.places -= count(taken.len());
        even[taken].iter().for_each(|&at| self.chosen[at] = true);
        let loss = |&at: &usize| if self.chosen[at] { -self.values[at] } else { self.values[at] };
        self.loss = even.iter().map(loss).filter(|&loss| loss > 0.0).sum();
    }

    /// Decides how many rows of each class take which arm: as its shares say, in whole rows by the largest remainders.
    pub(super) fn share_out(&mut self, shares: &Shares) {
        for (class, wanted) in shares.classes.iter().zip(&shares.wanted) {
            let counts = whole(wanted, class.rows.len());
            let arms = counts.iter().enumerate().flat_map(|(arm, &count)| std::iter::repeat_n(Some(arm), count));
            for (row, arm) in class.rows.iter().zip(arms.chain(std::iter::repeat(None))) {
                row.clone().for_each(|at| self.chosen[at] = arm == Some(at - row.start));
            }
            let value = |arm: usize| self.values[class.rows[0].start + arm];
            let best = (0..counts.len()).map(value).fold(0.0, f64::max);
            let none = class.rows.len() - counts.iter().sum::<usize>();
            self.loss += counts.iter().enumerate().map(|(arm, &count)| count as f64 * (best - value(arm))).sum::<f64>();
            self.loss += none as f64 * best;
        }
        let arms = self.arms();
        self.slack.left = left(self.problem, self.cost_grid, arms.iter().copied());
        self.slack.places = self.problem.k.map_or(i64::MAX / 4, |k| count(k) - count(arms.len()));
        // Flips back to the best choice gain as much again, which the search counts as nothing.
        self.rounding = self.rounding.max(2.0 * self.loss);
        self.shared = true;
    }

    /// The chosen arms.
    pub(super) fn arms(&self) -> Vec<usize> {
        (0..self.chosen.len()).filter(|&at| self.chosen[at]).collect()
    }

    /// A super arm that fits: as much of this choice as fits, then any other arms that fit, by falling value beyond
    /// their price. Also returns how far it is below the bound.
    pub(super) fn greedy(&self) -> (Vec<usize>, f64) {
        let (problem, values) = (self.problem, &self.values);
        let by_value = |&a: &usize, &b: &usize| {
            values[b].total_cmp(&values[a]).then_with(|| tie(problem.arms[a].pick, problem.arms[b].pick, self.scores))
        };
        let Slack { left: mut room, mut places, .. } = self.slack.clone();
        let (mut chosen, mut loss) = (self.arms(), self.loss);
        let mut others = self.others();
        others.sort_unstable_by(by_value);
        if self.shared {
            chosen.sort_unstable_by(by_value);
            let mut kept = Vec::with_capacity(chosen.len());
            for at in chosen.into_iter().rev() {
                let over = |limit: usize| room[limit] < 0;
                if places < 0 || problem.limits_of(problem.arms[at].pick.block).any(over) {
                    problem.limits_of(problem.arms[at].pick.block).for_each(|limit| room[limit] += self.cost(at));
                    places += 1;
                    loss += values[at];
                } else {
                    kept.push(at);
                }
            }
            chosen = kept;
        } else if room.iter().any(|&room| room < 0) || places < 0 {
            let mut all = std::mem::take(&mut chosen);
            loss += all.iter().map(|&at| values[at]).sum::<f64>();
            room = left(problem, self.cost_grid, std::iter::empty());
            places += count(all.len());
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
            let (pick, cost) = (problem.arms[at].pick, self.cost(at));
            let limits = || problem.limits_of(pick.block);
            let full = of_row.get(pick.row).is_some_and(|&of_row| of_row >= problem.per_row());
            if places <= 0 || full || limits().any(|limit| cost > room[limit]) {
                continue;
            }
            limits().for_each(|limit| room[limit] -= cost);
            places -= 1;
            loss -= values[at];
            of_row.get_mut(pick.row).into_iter().for_each(|of_row| *of_row += 1);
            chosen.push(at);
        }
        (chosen, (loss + self.slack.unused(&room, places)).max(0.0))
    }

    /// The best arms that were not chosen: some hundreds, and all that are worth exactly their price unless `level` has
    /// decided about them.
    fn others(&self) -> Vec<usize> {
        let (values, largest) = (&self.values, self.problem.largest_score);
        let mut reach = largest * (4 * TRIED) as f64 / values.len() as f64;
        loop {
            let within = |at: &usize| values[*at] >= -reach && !self.chosen[*at];
            let others: Vec<usize> = (0..values.len()).filter(within).collect();
            if others.len() >= TRIED || reach == f64::INFINITY {
                return others;
            }
            reach = if reach > largest { f64::INFINITY } else { reach * 8.0 };
        }
    }
}

/// Whole numbers near these, together at most `all`: rounded down, then up where most is missing.
#[expect(clippy::cast_sign_loss, reason = "shares are not negative")]
fn whole(wanted: &[f64], all: usize) -> Vec<usize> {
    let floors = wanted.iter().map(|&wanted| (wanted as usize).min(all));
    let mut counts: Vec<usize> = floors.collect();
    let none = (all as f64 - wanted.iter().sum::<f64>()).max(0.0);
    let rest = |at: usize| wanted.get(at).map_or(none.fract(), |wanted| wanted.fract());
    let mut order: Vec<usize> = (0..=wanted.len()).collect();
    order.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)));
    let missing = all.saturating_sub(counts.iter().sum::<usize>() + none as usize);
    for &at in order.iter().take(missing).filter(|&&at| at < wanted.len()) {
        counts[at] += 1;
    }
    counts
}

/// What these arms leave of each limit, in units.
pub(super) fn left(problem: &Problem, grid: Grid, arms: impl Iterator<Item = usize>) -> Vec<i128> {
    // A limit far above all costs together is capped, so that no later sum overflows.
    let amount = |limit: &Cap| grid.units(limit.amount).min(i128::MAX / 4);
    let mut left: Vec<i128> = problem.limits.iter().map(amount).collect();
    for arm in arms.map(|at| &problem.arms[at]) {
        problem.limits_of(arm.pick.block).for_each(|limit| left[limit] -= grid.units(arm.cost));
    }
    left
}

/// A number of arms as an integer that can be added and subtracted; huge numbers are capped, still above any round's.
pub(super) fn count(n: usize) -> i64 {
    i64::try_from(n).map_or(i64::MAX / 4, |n| n.min(i64::MAX / 4))
}
