//! Prices of the limits: at the right prices, the arms worth more than their price just use the limits up.
//!
//! For one budget the use falls as its price rises, so bisection finds the price. The price of a place among the k is
//! the value beyond price of the first arm left out. Arms that are in, or out, over the whole bracket are not evaluated
//! again. Several budgets are start in turn, on a sample, and then improved together. Use is summed in whole units, so
//! the prices do not depend on the order of the arms.

use super::newton::improve;
use super::problem::{Arm, Cap, Problem, mix};
use crate::oracle::{Limit, Price, Scores};

/// What one unit of each limit costs.
#[derive(Debug, Clone)]
pub(super) struct Prices {
    /// Per budget.
    pub(super) limits: Vec<f64>,
    /// Of a place among the k.
    pub(super) place: f64,
}

impl Prices {
    /// Everything is free.
    pub(super) fn none(problem: &Problem) -> Self {
        Self { limits: vec![0.0; problem.limits.len()], place: 0.0 }
    }

    /// The price of each limit, with its name.
    pub(super) fn named(&self, problem: &Problem) -> Vec<Price> {
        let limits = problem.limits.iter().zip(&self.limits).map(|(limit, &value)| Price { of: limit.of(), value });
        limits.chain(problem.k.map(|_| Price { of: Limit::K, value: self.place })).collect()
    }

    /// What each arm is worth beyond the price of what it uses.
    pub(super) fn values(&self, problem: &Problem) -> Vec<f64> {
        let units = self.units(problem);
        problem.arms.iter().map(|arm| arm.score - units[arm.pick.block] * arm.cost - self.place).collect()
    }

    /// What a unit of cost costs in each block.
    pub(super) fn units(&self, problem: &Problem) -> Vec<f64> {
        let unit = |block| problem.limits_of(block).map(|at| self.limits[at]).sum();
        (0..problem.blocks()).map(unit).collect()
    }
}

/// How often several budgets are start in turn.
const TURNS: usize = 12;

/// Several budgets over more arms than this are start on a sample of rows first.
const MANY: usize = 40_000;

pub(super) fn find(problem: &Problem, scores: &Scores<'_>) -> Prices {
    let prices = Prices::none(problem);
    let step = (problem.arms.len() / MANY) as u64;
    if problem.limits.len() == 1 {
        return near_a_guess(problem).unwrap_or_else(|| in_turn(problem, prices, 1));
    }
    if problem.limits.len() > TOGETHER {
        return apart(problem, prices);
    }
    if step < 2 {
        return improve(problem, in_turn(problem, prices, TURNS));
    }
    // Rows are taken by their ids, so that the sample does not depend on their order.
    let sampled = |arm: &&Arm| mix(scores.keys().id(arm.pick.row)).is_multiple_of(step);
    let share = |limit: &Cap| Cap { amount: limit.amount / step as f64, ..limit.clone() };
    let limits = problem.limits.iter().map(share).collect();
    let mut sample = problem.part(problem.arms.iter().filter(sampled).copied(), limits);
    sample.k = problem.k.map(|k| (k / step as usize).max(1));
    improve(problem, in_turn(&sample, prices, TURNS))
}

/// More budgets than this are start each by its own arms only.
const TOGETHER: usize = 500;

/// Prices each block's budget as if nothing else limited its arms, then the budget of all, then the places: one pass
/// over the arms, where pricing in turn would take one for each budget.
fn apart(problem: &Problem, mut prices: Prices) -> Prices {
    let per_cost = per_cost(problem);
    let amount = |at: usize| (problem.limits[at].amount * per_cost) as i64;
    let mut by_block: Vec<&Arm> = problem.arms.iter().collect();
    by_block.sort_unstable_by_key(|arm| arm.pick.block);
    for arms in by_block.chunk_by(|a, b| a.pick.block == b.pick.block) {
        let block = arms[0].pick.block;
        let Some(at) = problem.limits_of(block).find(|&at| problem.limits[at].block.is_some()) else { continue };
        let lines = arms.iter().map(|arm| Line::new(arm.score, arm.cost, per_cost, arm.pick.row)).collect();
        prices.limits[at] = Bracket::new(lines, None, usize::MAX, amount(at)).price(true, 0.0).0;
    }
    let units = prices.units(problem);
    let k = problem.k.unwrap_or(usize::MAX);
    let of_all = problem.limits.iter().position(|limit| limit.block.is_none());
    let worth = |arm: &Arm| arm.score - units[arm.pick.block] * arm.cost;
    let uses = |arm: &Arm| if of_all.is_some() { arm.cost } else { 0.0 };
    let lines = problem.arms.iter().map(|arm| Line::new(worth(arm), uses(arm), per_cost, arm.pick.row));
    let lines = lines.filter(|line| line.worth > 0.0).collect();
    let (price, place) = Bracket::new(lines, problem.per_row, k, of_all.map_or(i64::MAX, amount)).price(true, 0.0);
    of_all.into_iter().for_each(|at| prices.limits[at] = price);
    Prices { place, ..prices }
}

/// How many arms, or rows, a first guess samples.
const SAMPLE: usize = 1024;
const SAMPLED_ROWS: usize = 128;

/// The prices of one budget over many arms, found among the arms that matter near a guess; none if it was wrong.
fn near_a_guess(problem: &Problem) -> Option<Prices> {
    if problem.arms.len() < 8 * SAMPLE || problem.per_row.is_some() {
        return None;
    }
    let per_cost = per_cost(problem);
    let left = problem.limits[0].amount * per_cost;
    let line = |arm: &Arm| Line::new(arm.score, arm.cost, per_cost, arm.pick.row);
    let step = problem.arms.len() / SAMPLE;
    let lines: Vec<Line> = problem.arms.iter().step_by(step).map(line).collect();
    let k = problem.k.map_or(usize::MAX, |k| k / step);
    let (guess, _) = Bracket::new(lines.clone(), None, k, (left / step as f64) as i64).price(true, 0.0);
    // The sample's error counts against what a place and the budget of an arm cost together.
    let cost = lines.iter().map(|line| line.uses).sum::<f64>() / lines.len() as f64;
    let place = bar(lines.iter().map(|line| line.at(guess)).collect(), k);
    let low = (0.9 * guess - 0.1 * place / cost.max(f64::MIN_POSITIVE)).max(0.0);
    let cut = 0.97 * bar(lines.iter().map(|line| line.at(low)).collect(), k);
    // Arms worth less than the cut at the low price are out at higher ones, if a place turns out to cost as much.
    let near = problem.arms.iter().filter(|arm| arm.score - low * arm.cost > cut).map(line).collect();
    let mut bracket = Bracket::new(near, None, problem.k.unwrap_or(usize::MAX), left as i64);
    let (price, place) = bracket.price(false, guess);
    (price >= low && place >= cut).then(|| Prices { limits: vec![price], place })
}

/// A bar that most probably all of the best arms pass. The sample holds about k of them, and the bar is the sample's
/// value at a somewhat larger rank; 0 if the sample is too small.
pub(super) fn bar(mut sample: Vec<f64>, k: usize) -> f64 {
    let likely = k.saturating_add(k / 2).saturating_add(8);
    if likely >= sample.len() {
        return 0.0;
    }
    sample.select_nth_unstable_by(likely, |a, b| b.total_cmp(a)).1.max(0.0)
}

/// Units per cost such that no sum overflows. Costs near the smallest f64 have no such scale; their prices stay
/// inaccurate.
fn per_cost(problem: &Problem) -> f64 {
    let largest = problem.largest_cost;
    let units = if largest > 0.0 { (1_u64 << 62) as f64 / largest / (problem.arms.len() + 1) as f64 } else { 0.0 };
    units.min(f64::MAX)
}

/// Prices one budget after the other, with the others' prices held.
fn in_turn(problem: &Problem, mut prices: Prices, turns: usize) -> Prices {
    let per_cost = per_cost(problem);
    let several = problem.limits.len() > 1;
    for _ in 0..turns {
        let before = prices.limits.clone();
        for (at, &near) in before.iter().enumerate() {
            prices.limits[at] = 0.0;
            let (limit, units) = (&problem.limits[at], prices.units(problem));
            let line = |arm: &Arm| {
                let uses = if limit.concerns(arm) { arm.cost } else { 0.0 };
                let worth = if several { arm.score - units[arm.pick.block] * arm.cost } else { arm.score };
                Line::new(worth, uses, per_cost, arm.pick.row)
            };
            // A price only rises from here, so an arm below its price already stays out.
            let lines = problem.arms.iter().map(line).filter(|line| line.worth > 0.0).collect();
            let k = problem.k.unwrap_or(usize::MAX);
            let mut bracket = Bracket::new(lines, problem.per_row, k, (limit.amount * per_cost) as i64);
            (prices.limits[at], prices.place) = bracket.price(several, near);
        }
        if before.iter().zip(&prices.limits).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs()) {
            break;
        }
    }
    prices
}

/// An arm's value as a linear function of the price: worth - price * uses.
#[derive(Debug, Clone, Copy)]
struct Line {
    worth: f64,
    uses: f64,
    units: i64,
    row: usize,
}

impl Line {
    #[inline]
    fn new(worth: f64, uses: f64, per_cost: f64, row: usize) -> Self {
        Self { worth, uses, units: (uses * per_cost) as i64, row }
    }

    #[inline]
    fn at(&self, price: f64) -> f64 {
        self.worth - price * self.uses
    }
}

/// The use at a price, and the price of a place there.
#[derive(Debug, Clone, Copy)]
struct Point {
    price: f64,
    place: f64,
    fits: bool,
}

/// The arms that are still open in a bracket of prices.
struct Bracket {
    lines: Vec<Line>,
    per_row: Option<usize>,
    k: usize,
    left: i64,
    wanted: Vec<(f64, i64)>,
}

impl Bracket {
    fn new(lines: Vec<Line>, per_row: Option<usize>, k: usize, left: i64) -> Self {
        Self { lines, per_row, k, left, wanted: Vec::new() }
    }

    /// The lowest price at which the limit is kept, and the price of a place there. It may be 0 only if `free`. `near`
    /// is a guess of it, or 0.
    fn price(&mut self, free: bool, near: f64) -> (f64, f64) {
        let mut low = Point { price: 0.0, place: f64::INFINITY, fits: false };
        if free {
            low = self.point(0.0);
            if low.fits {
                return (0.0, low.place);
            }
        }
        // Above zero, since worth over cost may underflow and doubling 0 would change nothing.
        let guess = if near > 0.0 { near } else { self.guess() }.max(f64::MIN_POSITIVE);
        // Steps away from the guess grow, on either side.
        let mut high = self.point(guess * 1.03);
        let mut factors = [1.07, 1.2, 1.5].into_iter();
        while !high.fits && high.price < f64::MAX / 4.0 {
            low = high;
            high = self.point(high.price * factors.next().unwrap_or(2.0));
        }
        let mut below = [0.97, 0.9, 0.75, 0.5].into_iter().map(|part| guess * part);
        while !self.lines.is_empty() {
            let inside = |price: &f64| *price > low.price && *price < high.price;
            let probe = below.next().filter(|_| low.price <= 0.0).filter(inside);
            let Some(price) = probe.or_else(|| Some(middle(low.price, high.price)).filter(inside)) else {
                break;
            };
            let point = self.point(price);
            *(if point.fits { &mut high } else { &mut low }) = point;
            self.shrink(low, high);
        }
        (high.price, high.place)
    }

    /// A price near the right one, from a regular sample of rows; without a sample, a price that no arm is worth.
    fn guess(&self) -> f64 {
        let rows = || self.lines.chunk_by(|a, b| a.row == b.row);
        let step = if self.per_row.is_some() { rows().count() / SAMPLED_ROWS } else { 0 };
        if step >= 8 {
            let lines: Vec<Line> = rows().step_by(step).flatten().copied().collect();
            let k = if self.k == usize::MAX { self.k } else { self.k / step };
            let left = (self.left as f64 / step as f64) as i64;
            let (price, _) = Self::new(lines, self.per_row, k, left).price(true, 0.0);
            if price > 0.0 {
                return price;
            }
        }
        let ratio = |line: &Line| if line.uses > 0.0 { (line.worth / line.uses).min(f64::MAX / 8.0) } else { 0.0 };
        self.lines.iter().map(ratio).fold(0.0, f64::max)
    }

    fn point(&mut self, price: f64) -> Point {
        if self.k == usize::MAX && self.per_row.is_none() {
            let units = |line: &Line| if line.at(price) > 0.0 { line.units } else { 0 };
            let used: i64 = self.lines.iter().map(units).sum();
            return Point { price, place: 0.0, fits: used <= self.left };
        }
        self.wanted.clear();
        match self.per_row {
            None => {
                let values = self.lines.iter().map(|line| (line.at(price), line.units));
                self.wanted.extend(values.filter(|&(value, _)| value > 0.0));
            }
            Some(per_row) => {
                for row in self.lines.chunk_by(|a, b| a.row == b.row) {
                    let start = self.wanted.len();
                    let values = row.iter().map(|line| (line.at(price), line.units));
                    if per_row == 1 {
                        let best = values.min_by(better);
                        self.wanted.extend(best.filter(|&(value, _)| value > 0.0));
                        continue;
                    }
                    self.wanted.extend(values.filter(|&(value, _)| value > 0.0));
                    if self.wanted.len() - start > per_row {
                        self.wanted[start..].sort_unstable_by(better);
                        self.wanted.truncate(start + per_row);
                    }
                }
            }
        }
        let mut place = 0.0;
        if self.wanted.len() > self.k {
            place = self.wanted.select_nth_unstable_by(self.k, better).1.0;
            self.wanted.truncate(self.k);
        }
        let used: i64 = self.wanted.iter().map(|&(_, units)| units).sum();
        Point { price, place, fits: used <= self.left }
    }

    /// Removes the arms that are in, or out, at every price of the bracket.
    fn shrink(&mut self, low: Point, high: Point) {
        let out = |line: &Line| line.at(low.price) < high.place.max(f64::MIN_POSITIVE);
        if self.per_row.is_some() {
            self.lines.retain(|line| !out(line));
            self.take_in_rows(low, high);
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.retain(|line| {
            let is_in = line.at(high.price) > low.place;
            if is_in {
                self.take_in(line);
            }
            !is_in && !out(line)
        });
        self.lines = lines;
    }

    fn take_in(&mut self, line: &Line) {
        self.left -= line.units;
        self.k = if self.k == usize::MAX { self.k } else { self.k.saturating_sub(1) };
    }

    /// Removes the rows that want the same arm at both ends of the bracket. They want it in between too, since values
    /// are linear in the price.
    fn take_in_rows(&mut self, low: Point, high: Point) {
        if self.per_row != Some(1) {
            return;
        }
        let lines = std::mem::take(&mut self.lines);
        let mut open = Vec::with_capacity(lines.len());
        for row in lines.chunk_by(|a, b| a.row == b.row) {
            let best = |price: f64| {
                let worth = |line: &Line| (line.at(price), line.units);
                row.iter().enumerate().min_by(|a, b| better(&worth(a.1), &worth(b.1))).map(|best| best.0)
            };
            let wanted = best(low.price).filter(|&at| best(high.price) == Some(at));
            match wanted.map(|at| &row[at]).filter(|line| line.at(high.price) > low.place.max(f64::MIN_POSITIVE)) {
                Some(line) => self.take_in(line),
                None => open.extend_from_slice(row),
            }
        }
        self.lines = open;
    }
}

/// A price between two, by ratio while they are far apart.
fn middle(low: f64, high: f64) -> f64 {
    if high > 2.0 * low { low.max(f64::MIN_POSITIVE).sqrt() * high.sqrt() } else { low + (high - low) / 2.0 }
}

fn better(a: &(f64, i64), b: &(f64, i64)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
