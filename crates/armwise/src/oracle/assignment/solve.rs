//! The exact optimum on the kept rows, with prices that prove it.
//!
//! Most rows are far from changing their choice, so the shortest-path solver gets only those near a tie. At the end
//! every other row is checked against the final prices; rows that would gain by a move, or might be tied, join the
//! solver and it continues. So the check is the certificate: if it passes, every row and every slot is at its best for
//! one vector of prices, that is, primal equals dual.

use super::choice::{choose, slack};
use super::filter::Kept;
use super::flow::Flow;
use super::grid::Grid;
use super::network::Network;
use super::newton::{Target, greedy, newton};
use super::offers::Row;
use crate::oracle::top_k::{Found, in_order};
use crate::oracle::{Pick, Scores};
use std::collections::HashMap;

/// Room for so many rows near a tie is made at once.
const ROWS: usize = 256;

/// An optimal choice with its proof.
#[derive(Debug)]
pub(super) struct Solution<'a> {
    pub(super) kept: &'a Kept,
    pub(super) per_row: usize,
    pub(super) grid: &'a Grid,
    /// The rows near a tie: their place among the kept rows, and their class in the flow.
    pub(super) near: Vec<(usize, usize)>,
    /// Whether a kept row is among them.
    is_near: Vec<bool>,
    /// The exact state of those rows, and the prices.
    pub(super) flow: Flow<'a>,
    /// Of each kept pair, whether it is chosen.
    pub(super) taken: Vec<bool>,
    /// The chosen pairs, kept row and block; of rows near a tie, those that were chosen before they were near.
    served: Vec<(usize, usize)>,
    /// Whether one more unit could be brought to the node from anywhere.
    pub(super) reached: Vec<bool>,
}

impl Solution<'_> {
    /// The chosen arms in the order of a selection.
    pub(super) fn arms(&self, scores: &Scores<'_>) -> Vec<Pick> {
        let (offers, rows) = (&self.kept.offers, &self.kept.rows);
        let room = self.served.len() / scores.blocks();
        let mut chosen: Vec<Vec<Found>> = (0..scores.blocks()).map(|_| Vec::with_capacity(2 * room)).collect();
        let mut choose = |row: usize, block: usize| {
            chosen[block].push(Found::new(scores.place(Pick { row: rows[row], block }), scores));
        };
        self.served.iter().filter(|(row, _)| !self.is_near[*row]).for_each(|&(row, block)| choose(row, block));
        for &(row, _) in &self.near {
            let pairs = offers.row(row).blocks.iter().zip(&self.taken[offers.places(row)]);
            pairs.filter(|(_, taken)| **taken).for_each(|(&block, _)| choose(row, block as usize));
        }
        chosen.into_iter().flat_map(|found| in_order(found, scores)).collect()
    }

    /// Hands the blocks of each class to its rows.
    fn share_out(&mut self) {
        let offers = &self.kept.offers;
        let mut left = self.flow.held.clone();
        for &(row, class) in &self.near {
            let mut room = 1i64;
            for (place, &block) in offers.places(row).zip(offers.row(row).blocks) {
                let left = &mut left[self.flow.place(class, block as usize)];
                let take = *left > 0 && (room > 0 || self.flow.sizes[class] == 1);
                self.taken[place] = take;
                if take {
                    *left -= 1;
                    room -= 1;
                }
            }
        }
    }
}

/// Meets the limits from the kept rows at the largest value, starting from these prices (in scores below 1), or from a
/// greedy filling.
#[expect(clippy::cast_sign_loss, reason = "an imbalance is not negative")]
pub(super) fn solve<'a>(
    kept: &'a Kept,
    network: &'a Network,
    per_row: usize,
    grid: &'a Grid,
    start: Option<Vec<f64>>,
) -> Solution<'a> {
    let (blocks, limits) = (network.blocks, network.root());
    // At -4 every row would take the block: a start for minima that the rows cannot fill.
    let within = |price: f64| if price.is_finite() { price.clamp(-4.0, 4.0) } else { -4.0 };
    let targets: Vec<Target> = network.spans.iter().map(|span| Target::share(span, 1.0)).collect();
    let mut start = start.unwrap_or_else(|| greedy(network, &kept.offers, per_row, &targets));
    start.iter_mut().for_each(|price| *price = within(*price));
    // At this imbalance, one more evaluation of all rows costs about as much as correcting the rest by paths.
    let goal = kept.rows.len() as f64 / (300 + 20 * limits) as f64 + 0.5 * limits as f64;
    let imbalance = newton(network, &kept.offers, per_row, &targets, goal, &mut start);
    start.iter_mut().for_each(|price| *price = within(*price));

    let mut taken = vec![false; kept.offers.scores.len()];
    let mut filled = vec![0; limits + 1];
    let potentials = network.potentials(&start);
    let mut arm_prices = network.arm_prices(&potentials);
    let (mut buffer, mut rest) = (Vec::new(), &mut taken[..]);
    let mut losses = Vec::with_capacity(kept.rows.len());
    let mut served = Vec::with_capacity(kept.rows.len());
    let mut spare = Spare::new(network);
    for (number, row) in kept.offers.rows().enumerate() {
        let (taken, after) = rest.split_at_mut(row.blocks.len());
        rest = after;
        let before = served.len();
        let change = choose(row, row.own(&arm_prices, blocks), per_row, &mut buffer, |place, block| {
            taken[place] = true;
            served.push((number, block));
            filled[network.node(row.stratum, block)] += 1;
            filled[network.node(row.stratum, blocks)] -= 1;
        });
        if served.len() - before < per_row {
            let free = row.pairs().zip(&*taken).filter(|(_, taken)| !**taken).map(|(pair, _)| pair);
            spare.see(number, row.stratum, free);
        }
        losses.push(change.loss);
    }
    let prices: Vec<i128> = potentials.iter().map(|&price| grid.price(price)).collect();
    let flow = Flow::new(network, per_row, grid.bonus, prices, filled);
    let (near, reached) = Default::default();
    let is_near = vec![false; kept.rows.len()];
    let mut solution = Solution { kept, per_row, grid, near, is_near, flow, taken, served, reached };
    solution.add(spare.rows());

    let mut spared = false;
    let mut wanted = (6.0 * imbalance) as usize + 4 * limits + limits * blocks / 4;
    let mut margin = smallest(&losses, wanted);
    let mut prices = potentials;
    loop {
        margin = margin.max(tolerance(&prices));
        let near = losses.iter().enumerate().filter(|(_, loss)| **loss <= margin);
        solution.add(near.map(|(row, _)| row));
        let balanced = solution.flow.balance();
        if balanced {
            solution.reached = solution.flow.least_prices();
        }
        prices = solution.flow.prices.iter().map(|&price| grid.score(price)).collect();
        let before = std::mem::replace(&mut arm_prices, network.arm_prices(&prices));
        solution.losses(&before, &arm_prices, tolerance(&prices), &mut losses);
        if balanced {
            let worst = losses.iter().copied().fold(f64::INFINITY, f64::min);
            if worst > tolerance(&prices) {
                let more = if spared { Vec::new() } else { solution.spare() };
                if more.is_empty() {
                    solution.share_out();
                    return solution;
                }
                spared = true;
                solution.add(more.into_iter());
            }
            margin = 0.0;
        } else {
            wanted = wanted.saturating_mul(2);
            margin = smallest(&losses, wanted);
        }
    }
}

/// The best row for each stratum and block, of those seen: the flow gets rows with room, so that one more unit of any limit has
/// a price.
struct Spare {
    blocks: usize,
    /// Its score and its place among the kept rows.
    best: Vec<(f64, usize)>,
}

impl Spare {
    fn new(network: &Network) -> Self {
        let best = vec![(f64::NEG_INFINITY, usize::MAX); network.strata() * network.blocks];
        Self { blocks: network.blocks, best }
    }

    /// Sees pairs of a row.
    fn see(&mut self, number: usize, stratum: usize, pairs: impl Iterator<Item = (usize, f64)>) {
        for (block, score) in pairs {
            let best = &mut self.best[stratum * self.blocks + block];
            if score > best.0 {
                *best = (score, number);
            }
        }
    }

    fn rows(self) -> impl Iterator<Item = usize> {
        self.best.into_iter().map(|(_, row)| row).filter(|&row| row < usize::MAX)
    }
}

/// The loss that `count` others are below; infinite if there are too few.
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

impl Solution<'_> {
    /// Takes kept rows into the flow, each once; rows with the same offers become one class.
    fn add(&mut self, rows: impl Iterator<Item = usize>) {
        let (offers, network) = (&self.kept.offers, self.flow.network);
        let first_class = self.flow.sizes.len();
        let mut classes: Vec<(usize, usize)> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::with_capacity(ROWS);
        for row in rows {
            if std::mem::replace(&mut self.is_near[row], true) {
                continue;
            }
            let stratum = offers.row(row).stratum;
            for (place, &block) in offers.places(row).zip(offers.row(row).blocks) {
                let taken = isize::from(self.taken[place]);
                self.flow.filled[network.node(stratum, block as usize)] -= taken;
                self.flow.filled[network.node(stratum, network.blocks)] += taken;
            }
            let mut class = classes.len();
            if self.per_row == 1 {
                let found = *known.entry(hash(offers.row(row))).or_insert(class);
                // A row with the same hash but other offers makes a separate class.
                if found < class && offers.row(classes[found].0) == offers.row(row) {
                    class = found;
                }
            }
            if class == classes.len() {
                classes.push((row, 0));
            }
            classes[class].1 += 1;
            self.near.push((row, first_class + class));
        }
        for (row, size) in classes {
            let grid = self.grid;
            let values = offers.row(row).pairs().map(|(block, score)| (block, grid.value(score)));
            self.flow.add(offers.row(row).stratum, values, size);
        }
    }

    /// Rows outside the flow that could bring one more unit to a node that nothing in the flow can: the best with room where
    /// it is a block's, since those of the beginning may have been taken; where it is nobody's, the worst that are taken.
    fn spare(&self) -> Vec<usize> {
        let (offers, network) = (&self.kept.offers, self.flow.network);
        if self.reached.iter().all(|reached| *reached) {
            return Vec::new();
        }
        let (mut entering, mut leaving) = (Spare::new(network), Spare::new(network));
        for (number, row) in offers.rows().enumerate().filter(|(number, _)| !self.is_near[*number]) {
            let taken = &self.taken[offers.places(number)];
            let misses = |column| self.reached.get(network.node(row.stratum, column)).is_some_and(|reached| !reached);
            let pairs =
                |held: bool| row.pairs().zip(taken).filter(move |(_, taken)| **taken == held).map(|(pair, _)| pair);
            if has_room(taken, self.per_row) && (0..network.blocks).any(misses) {
                entering.see(number, row.stratum, pairs(false));
            }
            if misses(network.blocks) {
                leaving.see(number, row.stratum, pairs(true).map(|(block, score)| (block, -score)));
            }
        }
        entering.rows().chain(leaving.rows()).collect()
    }

    /// A lower bound of what each row outside the flow loses by its cheapest change, updated from the bound at the
    /// prices before; infinite for rows inside. A change trades one pair for another, so its loss changes by no more
    /// than two prices do, and most rows need not be evaluated again.
    fn losses(&self, before: &[f64], prices: &[f64], tolerance: f64, losses: &mut [f64]) {
        let moved = before.iter().zip(prices).fold(0.0, |moved: f64, (before, now)| moved.max((now - before).abs()));
        let (moved, blocks) = (2.0 * (moved + tolerance), self.flow.network.blocks);
        for (row, loss) in losses.iter_mut().enumerate() {
            *loss = if self.is_near[row] {
                f64::INFINITY
            } else if *loss > 2.0 * moved {
                *loss - moved
            } else {
                let taken = &self.taken[self.kept.offers.places(row)];
                let row = self.kept.offers.row(row);
                slack(row, row.own(prices, blocks), taken, has_room(taken, self.per_row))
            };
        }
    }
}

/// FNV-1a over the bits of the scores and the blocks, a word at a time.
fn hash(row: Row<'_>) -> u64 {
    row.pairs().fold(0xcbf2_9ce4_8422_2325 ^ row.stratum as u64, |hash, (block, score)| {
        let mixed = (hash ^ score.to_bits()).wrapping_mul(0x0000_0100_0000_01b3);
        (mixed ^ mixed >> 29 ^ block as u64).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn has_room(taken: &[bool], per_row: usize) -> bool {
    taken.iter().filter(|&&taken| taken).count() < per_row
}
