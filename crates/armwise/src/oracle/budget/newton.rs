//! Newton steps on the prices of several budgets.
//!
//! The bound is a convex function of the prices; its slope is what the choice at these prices leaves of the limits. It
//! is piecewise linear, but on a larger scale it looks smooth: a row whose second best choice is within h of the best
//! changes its choice somewhere within h, which adds d d' / 2h to the curvature, where d is the change of use. A step
//! is taken only if it lowers the bound.

use super::prices::Prices;
use super::problem::Problem;
use std::ops::Range;

/// More limits than this are only start in turn: a step solves a dense system.
const LIMITS: usize = 200;
/// The largest number of steps, and how many undecided rows per limit the last steps use.
const STEPS: usize = 30;
const ROWS: usize = 20;

/// The cheapest change of a row's choice.
pub(super) struct Turn {
    pub(super) loss: f64,
    out: Option<usize>,
    enter: Option<usize>,
}

/// The choice at some prices.
struct AtPrices {
    prices: Prices,
    /// The upper bound they prove.
    bound: f64,
    /// Use beyond the limit, for each limit, the places last.
    beyond: Vec<f64>,
    turns: Vec<Turn>,
}

/// Prices with a lower bound than the given ones.
pub(super) fn improve(problem: &Problem, prices: Prices) -> Prices {
    let size = problem.limits.len() + usize::from(problem.k.is_some());
    if size > LIMITS {
        return prices;
    }
    let least = ROWS * size;
    let mut width = problem.largest_score;
    let mut now = at_prices(problem, prices, width);
    let mut aim = (now.turns.len() / 8).max(least);
    for _ in 0..STEPS {
        if now.turns.len() > 2 * aim {
            width = now.turns.select_nth_unstable_by(aim, |a, b| a.loss.total_cmp(&b.loss)).1.loss;
            now.turns.truncate(aim);
        }
        let step = now.step(problem, width);
        let next = [1.0, 0.5, 0.25, 0.125, 0.03].iter().map(|part| at_prices(problem, now.moved(&step, *part), width));
        match next.into_iter().find(|next| next.bound < now.bound) {
            Some(next) => now = next,
            None if aim <= least => break,
            None => {}
        }
        aim = (aim / 3).max(least);
    }
    now.prices
}

/// The choice at these prices, with the changes of rows that lose at most this much.
fn at_prices(problem: &Problem, prices: Prices, width: f64) -> AtPrices {
    let values = prices.values(problem);
    let amounts = problem.limits.iter().map(|limit| limit.amount).chain(problem.k.map(|k| k as f64));
    let mut found = AtPrices { bound: 0.0, beyond: amounts.map(|amount| -amount).collect(), turns: Vec::new(), prices };
    let worth = found.prices.limits.iter().copied().chain([found.prices.place]);
    found.bound = found.beyond.iter().zip(worth).map(|(beyond, price)| -beyond * price).sum();
    let mut wanted: Vec<usize> = Vec::new();
    for row in problem.rows() {
        let turn = choose(&values, row, problem.per_row(), &mut wanted);
        for &at in &wanted {
            found.bound += values[at];
            changes(problem, at, |limit, amount| found.beyond[limit] += amount);
        }
        if turn.loss <= width {
            found.turns.push(turn);
        }
    }
    found
}

/// Lists the best arms of a row and gives the cheapest change.
pub(super) fn choose(values: &[f64], row: Range<usize>, per_row: usize, wanted: &mut Vec<usize>) -> Turn {
    let value = |at: &usize| values[*at];
    wanted.clear();
    if per_row == 1 {
        let (mut best, mut second): ((f64, Option<usize>), (f64, Option<usize>)) =
            ((0.0, None), (f64::NEG_INFINITY, None));
        for at in row {
            if values[at] > best.0 {
                (best, second) = ((values[at], Some(at)), best);
            } else if values[at] > second.0 {
                second = (values[at], Some(at));
            }
        }
        wanted.extend(best.1);
        return Turn { loss: best.0 - second.0, out: best.1, enter: second.1 };
    }
    wanted.extend(row.clone().filter(|at| value(at) > 0.0));
    let mut next = row.filter(|at| value(at) <= 0.0).max_by(|a, b| value(a).total_cmp(&value(b)));
    wanted.sort_by(|a, b| value(b).total_cmp(&value(a)));
    let full = wanted.len() >= per_row;
    next = wanted.get(per_row).copied().or(next);
    wanted.truncate(per_row);
    let last = wanted.last().copied();
    let drop = last.map_or(f64::INFINITY, |at| values[at]);
    let add = next.map_or(f64::INFINITY, |at| -values[at]);
    if full && add < 0.0 {
        Turn { loss: drop + add, out: last, enter: next }
    } else if full || drop <= add {
        Turn { loss: drop, out: last, enter: None }
    } else {
        Turn { loss: add, out: None, enter: next }
    }
}

/// Calls `change` with what an arm takes of each limit, the places last.
pub(super) fn changes(problem: &Problem, at: usize, mut change: impl FnMut(usize, f64)) {
    let arm = &problem.arms[at];
    problem.limits_of(arm.pick.block).for_each(|limit| change(limit, arm.cost));
    if problem.k.is_some() {
        change(problem.limits.len(), 1.0);
    }
}

impl AtPrices {
    /// The change of prices after which the limits would be used up, if the bound were as smooth as it looks.
    fn step(&self, problem: &Problem, width: f64) -> Vec<f64> {
        let size = self.beyond.len();
        let prices: Vec<f64> = self.prices.limits.iter().copied().chain([self.prices.place]).take(size).collect();
        // A limit that is not reached and has no price keeps price 0.
        let active: Vec<bool> = (0..size).map(|at| prices[at] > 0.0 || self.beyond[at] > 0.0).collect();
        let mut bend = vec![vec![0.0; size]; size];
        let mut turn = Vec::new();
        for it in &self.turns {
            turn.clear();
            let mut add = |limit: usize, amount: f64| match turn.iter_mut().find(|(known, _)| *known == limit) {
                Some((_, sum)) => *sum += amount,
                None => turn.push((limit, amount)),
            };
            it.out.into_iter().for_each(|at| changes(problem, at, |limit, amount| add(limit, -amount)));
            it.enter.into_iter().for_each(|at| changes(problem, at, &mut add));
            for &(a, x) in &turn {
                for &(b, y) in &turn {
                    bend[a][b] += x * y / (2.0 * width);
                }
            }
        }
        for (at, row) in bend.iter_mut().enumerate() {
            if active[at] {
                (0..size).filter(|&other| !active[other]).for_each(|other| row[other] = 0.0);
                row[at] = row[at] * (1.0 + 1e-9) + f64::MIN_POSITIVE;
            } else {
                row.fill(0.0);
                row[at] = 1.0;
            }
        }
        let beyond = (0..size).map(|at| if active[at] { self.beyond[at] } else { 0.0 }).collect();
        solve(bend, beyond)
    }

    fn moved(&self, step: &[f64], part: f64) -> Prices {
        let moved = |price: f64, step: f64| {
            let price = price + part * step;
            if price.is_finite() { price.max(0.0) } else { 0.0 }
        };
        let limits = self.prices.limits.iter().zip(step).map(|(&price, &step)| moved(price, step)).collect();
        let place = step.get(self.prices.limits.len()).map_or(0.0, |&step| moved(self.prices.place, step));
        Prices { limits, place }
    }
}

/// Solves a positive definite system by elimination, without pivots.
pub(super) fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for at in 0..size {
        let pivot = matrix[at].clone();
        let value = right[at];
        for row in at + 1..size {
            let factor = matrix[row][at] / pivot[at];
            if factor != 0.0 {
                matrix[row].iter_mut().zip(&pivot).skip(at).for_each(|(x, pivot)| *x -= factor * pivot);
                right[row] -= factor * value;
            }
        }
    }
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size).map(|other| matrix[at][other] * right[other]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::solve;

    #[test]
    fn a_system_by_hand() {
        // 4x + y = 9, x + 3y = 5.
        let found = solve(vec![vec![4.0, 1.0], vec![1.0, 3.0]], vec![9.0, 5.0]);
        assert!((found[0] - 2.0).abs() < 1e-15 && (found[1] - 1.0).abs() < 1e-15);
    }
}
