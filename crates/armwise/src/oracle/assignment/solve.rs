//! The exact optimum on the kept rows, with prices that prove it.
//!
//! The decision to know: most rows are far from changing their minds, so the shortest-path solver sees only those
//! near a tie. At the end every other row is checked against the final prices; the rows that would rather move, or
//! might be tied, join the solver and it continues. So the check is the certificate: where it passes, every row
//! and every slot is at its best for one vector of prices, which is to say that primal equals dual.

use super::choice::{choose, slack};
use super::filter::Kept;
use super::flow::Flow;
use super::grid::Grid;
use super::newton::{Target, newton};
use super::quota::Slots;
use crate::oracle::{Pick, Scores};
use std::collections::HashMap;

/// An optimal choice with its proof.
#[derive(Debug)]
pub(super) struct Solution<'a> {
    /// The rows near a tie: their place among the kept rows, and their class in the flow.
    pub(super) near: Vec<(usize, usize)>,
    /// The exact state of those rows, and the prices.
    pub(super) flow: Flow<'a>,
    /// Of each kept row, which blocks it has.
    pub(super) taken: Vec<bool>,
    /// Whether one more unit could be brought to the block from anywhere.
    pub(super) reached: Vec<bool>,
}

impl Solution<'_> {
    /// The chosen arms in the order of a selection, sorted here because the kept scores lie close together.
    pub(super) fn arms(&self, kept: &Kept, scores: &Scores<'_>) -> Vec<Pick> {
        let blocks = self.flow.open.len();
        let mut chosen: Vec<Vec<(f64, usize)>> = vec![Vec::new(); blocks];
        for (place, _) in self.taken.iter().enumerate().filter(|(_, taken)| **taken) {
            chosen[place % blocks].push((kept.scores[place] + 0.0, kept.rows[place / blocks]));
        }
        let mut arms = Vec::with_capacity(chosen.iter().map(Vec::len).sum());
        for (block, mut rows) in chosen.into_iter().enumerate() {
            let tied = |a: usize, b: usize| scores.rank(Pick { row: a, block }, Pick { row: b, block });
            rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| tied(a.1, b.1)));
            arms.extend(rows.into_iter().map(|(_, row)| Pick { row, block }));
        }
        arms
    }

    /// Hands the blocks of each class to its rows.
    fn share_out(&mut self) {
        let blocks = self.flow.open.len();
        let mut left = self.flow.held.clone();
        for &(row, class) in &self.near {
            let mut room = 1i64;
            for block in 0..blocks {
                let left = &mut left[class * blocks + block];
                let take = *left > 0 && (room > 0 || !self.flow.is_shared(class));
                self.taken[row * blocks + block] = take;
                if take {
                    *left -= 1;
                    room -= 1;
                }
            }
        }
    }
}

/// Fills the slots from the kept rows at the largest value, starting from these prices (in scores below 1).
#[expect(clippy::cast_sign_loss, reason = "an imbalance is not negative")]
pub(super) fn solve<'a>(
    kept: &Kept,
    slots: &'a [Slots],
    per_row: usize,
    grid: &Grid,
    mut start: Vec<f64>,
) -> Solution<'a> {
    let blocks = slots.len();
    // Below this every row would take the block: a start for minima that there are not enough rows for.
    let within = |price: f64| if price.is_finite() { price.clamp(-4.0, 4.0) } else { -4.0 };
    start = start.into_iter().map(within).collect();
    let targets: Vec<Target> = slots.iter().map(Target::exactly).collect();
    // Where one more evaluation of all rows costs about as much as mending what is left by paths.
    let goal = kept.rows.len() as f64 / (200 + 6 * blocks) as f64 + 0.5 * blocks as f64;
    let imbalance = newton(&kept.scores, per_row, &targets, goal, &mut start);
    start = start.into_iter().map(within).collect();

    let mut taken = vec![false; kept.scores.len()];
    let mut filled = vec![0; blocks];
    let mut buffer = Vec::new();
    let mut losses: Vec<f64> = (kept.scores.chunks_exact(blocks).zip(taken.chunks_exact_mut(blocks)))
        .map(|(scores, taken)| {
            let change = choose(scores, &start, per_row, &mut buffer, |block| {
                taken[block] = true;
                filled[block] += 1;
            });
            change.loss
        })
        .collect();
    let prices: Vec<i128> = start.iter().map(|&price| grid.price(price)).collect();
    let flow = Flow::new(slots, per_row, grid.bonus, prices, filled);
    let mut solution = Solution { near: Vec::new(), flow, taken, reached: Vec::new() };
    let mut solver = Solver { kept, per_row, grid, is_near: vec![false; kept.rows.len()] };
    solver.add_spare(&mut solution);

    let mut wanted = (8.0 * imbalance) as usize + 8 * blocks + blocks * blocks / 2;
    let mut margin = smallest(&losses, wanted);
    let mut prices = start;
    loop {
        margin = margin.max(tolerance(&prices));
        let near = losses.iter().enumerate().filter(|(_, loss)| **loss <= margin);
        solver.add(&mut solution, near.map(|(row, _)| row));
        let balanced = solution.flow.balance();
        if balanced {
            solution.reached = solution.flow.least_prices();
        }
        prices = solution.flow.prices[..blocks].iter().map(|&price| grid.score(price)).collect();
        solver.losses(&solution, &prices, &mut losses);
        if balanced {
            let worst = losses.iter().copied().fold(f64::INFINITY, f64::min);
            if worst > tolerance(&prices) {
                solution.share_out();
                return solution;
            }
            margin = 0.0;
        } else {
            wanted = wanted.saturating_mul(3);
            margin = smallest(&losses, wanted);
        }
    }
}

/// The loss that so many others are below; infinite if there are not so many.
fn smallest(losses: &[f64], count: usize) -> f64 {
    if count >= losses.len() {
        return f64::INFINITY;
    }
    *losses.to_vec().select_nth_unstable_by(count, f64::total_cmp).1
}

/// Rounding of scores, prices and their differences in f64 is far below this, for scores below 1.
fn tolerance(prices: &[f64]) -> f64 {
    const UNIT: f64 = 1.0 / (1u64 << 48) as f64;
    UNIT * prices.iter().fold(1.0, |sum, price| sum + price.abs())
}

struct Solver<'k> {
    kept: &'k Kept,
    per_row: usize,
    grid: &'k Grid,
    /// Whether a kept row is in the flow.
    is_near: Vec<bool>,
}

impl Solver<'_> {
    /// Takes kept rows into the flow, each once; rows with the same scores become one class.
    fn add(&mut self, solution: &mut Solution<'_>, rows: impl Iterator<Item = usize>) {
        let blocks = solution.flow.open.len();
        let scores = |row: usize| &self.kept.scores[row * blocks..(row + 1) * blocks];
        let first_class = solution.flow.classes();
        let mut classes: Vec<(usize, usize)> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        for row in rows {
            if std::mem::replace(&mut self.is_near[row], true) {
                continue;
            }
            for (block, taken) in solution.taken[row * blocks..(row + 1) * blocks].iter().enumerate() {
                solution.flow.filled[block] -= usize::from(*taken);
            }
            let mut class = classes.len();
            if self.per_row == 1 {
                let found = *known.entry(hash(scores(row))).or_insert(class);
                // Another row with the same hash but other scores is a class of its own.
                if found < class && scores(classes[found].0) == scores(row) {
                    class = found;
                }
            }
            if class == classes.len() {
                classes.push((row, 0));
            }
            classes[class].1 += 1;
            solution.near.push((row, first_class + class));
        }
        for (row, size) in classes {
            solution.flow.add(scores(row).iter().map(|&score| self.grid.value(score)), size);
        }
    }

    /// Takes the best row with room for each block into the flow, so that one more unit of any quota has a price.
    fn add_spare(&mut self, solution: &mut Solution<'_>) {
        let blocks = solution.flow.open.len();
        let mut best = vec![(f64::NEG_INFINITY, usize::MAX); blocks];
        let rows = self.kept.scores.chunks_exact(blocks).zip(solution.taken.chunks_exact(blocks));
        for (row, (scores, taken)) in rows.enumerate() {
            if has_room(taken, self.per_row) {
                for (best, (&score, &taken)) in best.iter_mut().zip(scores.iter().zip(taken)) {
                    if !taken && score > best.0 {
                        *best = (score, row);
                    }
                }
            }
        }
        self.add(solution, best.into_iter().map(|(_, row)| row).filter(|&row| row < usize::MAX));
    }

    /// What each row outside the flow would lose by its cheapest change; infinite for rows inside.
    fn losses(&self, solution: &Solution<'_>, prices: &[f64], losses: &mut [f64]) {
        let blocks = prices.len();
        let rows = self.kept.scores.chunks_exact(blocks).zip(solution.taken.chunks_exact(blocks));
        for (row, (scores, taken)) in rows.enumerate() {
            losses[row] = if self.is_near[row] {
                f64::INFINITY
            } else {
                slack(scores, prices, taken, has_room(taken, self.per_row))
            };
        }
    }
}

/// FNV-1a over the bits of the scores, eight bytes at a time.
fn hash(scores: &[f64]) -> u64 {
    scores.iter().fold(0xcbf2_9ce4_8422_2325, |hash, score| {
        let mixed = (hash ^ score.to_bits()).wrapping_mul(0x0000_0100_0000_01b3);
        mixed ^ mixed >> 29
    })
}

fn has_room(taken: &[bool], per_row: usize) -> bool {
    taken.iter().filter(|&&taken| taken).count() < per_row
}
