//! Prices at which the quotas are nearly filled if every row takes its best blocks.
//!
//! Demand is a step function of the prices, so its slope is counted from the rows whose
//! cheapest move costs less than a bandwidth, and the bandwidth follows the imbalance. Nothing here needs to be
//! exact: the solver repairs what is left, and it proves the result.

use super::choice::{Move, choose};
use super::offers::Offers;
use super::quota::Slots;

/// The most demand evaluations; far more than random scores need (about 6).
const EVALUATIONS: usize = 40;
/// Steps in a row without improvement before giving up, as with many exact ties.
const PATIENCE: usize = 3;
/// Rows whose cheapest move loses more than this multiple of the largest price step are skipped for a while. The step
/// itself needs 2; the rest is for the steps after it, which are smaller.
const REACH: f64 = 3.0;

/// How many units a block should get, in units of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    min: f64,
    pub(super) max: f64,
}

impl Target {
    /// The quotas of a sample with this share of the rows; of all rows, for a share of 1.
    pub(super) fn share(slots: &Slots, share: f64) -> Self {
        Self { min: slots.min as f64 * share, max: slots.max as f64 * share }
    }

    /// The same, raised by three standard errors and two units, so that prices come out too low rather than too high.
    pub(super) fn raised(slots: &Slots, share: f64) -> Self {
        let raise = |count: usize| {
            let mean = count as f64 * share;
            mean + 3.0 * mean.sqrt() + 2.0
        };
        Self { min: if slots.min > 0 || slots.exact { raise(slots.min) } else { 0.0 }, max: raise(slots.max) }
    }

    /// Half the standard error of a sample's demand: its prices cannot be more accurate than that.
    pub(super) fn noise(&self) -> f64 {
        0.5 + 0.5 * self.max.sqrt()
    }

    /// By how much a demand exceeds the target at a price; negative if it falls short.
    fn excess(&self, demand: f64, price: f64) -> f64 {
        if demand > self.max || (price > 0.0 && demand >= self.min) {
            demand - self.max
        } else if demand < self.min || price < 0.0 {
            demand - self.min
        } else {
            0.0
        }
    }
}

/// Starting prices: the worst score that each block still gets if all pairs are served in order of score.
#[expect(clippy::cast_sign_loss, reason = "targets are not negative")]
pub(super) fn greedy(offers: &Offers, per_row: usize, targets: &[Target]) -> Vec<f64> {
    let pairs = offers.rows().zip(0u32..).flat_map(|(row, number)| row.pairs().map(move |pair| (number, pair)));
    let mut pairs: Vec<(u32, (usize, f64))> = pairs.collect();
    let mut used = vec![0; offers.len()];
    let mut count = vec![0.0; targets.len()];
    let lowest = offers.scores.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let mut prices: Vec<f64> = targets.iter().map(|target| if target.min > 0.0 { lowest } else { 0.0 }).collect();
    // The targets are usually reached early, so pairs are sorted one part at a time.
    let mut part = 4 * targets.iter().map(|target| target.max as usize + 1).sum::<usize>();
    let mut rest = &mut pairs[..];
    while !rest.is_empty() && count.iter().zip(targets).any(|(count, target)| *count < target.max) {
        let falling = |(_, a): &(u32, (usize, f64)), (_, b): &(u32, (usize, f64))| b.1.total_cmp(&a.1);
        if part < rest.len() {
            rest.select_nth_unstable_by(part, falling);
        }
        let (first, after) = rest.split_at_mut(part.min(rest.len()));
        first.sort_unstable_by(falling);
        for &mut (row, (block, score)) in first {
            let (target, used) = (targets[block], &mut used[row as usize]);
            let wanted = count[block] < if score > 0.0 { target.max } else { target.min };
            if wanted && *used < per_row {
                *used += 1;
                count[block] += 1.0;
                if count[block] >= target.max || (count[block] >= target.min && score <= 0.0) {
                    prices[block] = score;
                }
            }
        }
        (rest, part) = (after, 2 * part);
    }
    prices
}

/// Improves `prices` until the imbalance is at the goal or no longer falls; returns the imbalance.
pub(super) fn newton(offers: &Offers, per_row: usize, targets: &[Target], goal: f64, prices: &mut Vec<f64>) -> f64 {
    let blocks = targets.len();
    let mut rows = Rows::new(offers, per_row);
    let mut at = prices.clone();
    let mut step = vec![0.0; blocks];
    let (mut least, mut failures) = (f64::INFINITY, 0);
    for _ in 0..EVALUATIONS {
        let demand = rows.demand(&at);
        let excess: Vec<f64> = (0..blocks).map(|block| targets[block].excess(demand[block], at[block])).collect();
        let imbalance: f64 = excess.iter().map(|excess| excess.abs()).sum();
        if imbalance < least {
            (least, failures) = (imbalance, 0);
            prices.clone_from(&at);
            if imbalance <= goal {
                break;
            }
            let Some(width) = rows.bandwidth(imbalance, blocks) else { break };
            step = newton_step(&rows.moves, width, &excess);
            rows.narrow(&at, &demand, REACH * step.iter().fold(0.0, |most: f64, step| most.max(step.abs())));
        } else {
            failures += 1;
            if failures == PATIENCE {
                break;
            }
            for step in &mut step {
                *step *= 0.5;
            }
        }
        for block in 0..blocks {
            let (old, new) = (prices[block], prices[block] + step[block]);
            // A range between min and max has its kink at price 0: stop there first.
            at[block] = if old * new < 0.0 && targets[block].min < targets[block].max { 0.0 } else { new };
        }
    }
    least
}

/// All rows, and those among them whose choice may change soon.
struct Rows<'a> {
    offers: &'a Offers,
    per_row: usize,
    /// The rows whose choice may change; empty means all rows.
    near: Vec<u32>,
    /// The cheapest moves of the rows that were evaluated last.
    moves: Vec<Move>,
    /// What the other rows take, for as long as no price is further than `reach / 2` from `base`: a change trades one
    /// pair for another, so its loss moves by no more than two prices do.
    of_rest: Vec<f64>,
    base: Vec<f64>,
    reach: f64,
    buffer: Vec<(f64, usize)>,
    losses: Vec<f64>,
}

impl<'a> Rows<'a> {
    fn new(offers: &'a Offers, per_row: usize) -> Self {
        let moves = Vec::with_capacity(offers.len());
        let (near, of_rest, base, buffer, losses) = Default::default();
        Self { offers, per_row, near, moves, of_rest, base, reach: 0.0, buffer, losses }
    }

    /// How many rows take each block at these prices.
    fn demand(&mut self, prices: &[f64]) -> Vec<f64> {
        let Self { offers, per_row, near, moves, of_rest, base, reach, buffer, .. } = self;
        let moved = base.iter().zip(prices).fold(0.0, |moved: f64, (base, now)| moved.max((now - base).abs()));
        moves.clear();
        if 2.0 * moved < *reach {
            let mut demand = of_rest.clone();
            let rows = near.iter().map(|&row| offers.row(row as usize));
            moves.extend(rows.map(|row| choose(row, prices, *per_row, buffer, |_, block| demand[block] += 1.0)));
            return demand;
        }
        near.clear();
        *reach = 0.0;
        let mut demand = vec![0.0; prices.len()];
        moves.extend(offers.rows().map(|row| choose(row, prices, *per_row, buffer, |_, block| demand[block] += 1.0)));
        demand
    }

    /// After an evaluation of all rows: limits the next ones to rows whose cheapest move loses at most `reach`, if they
    /// are few.
    fn narrow(&mut self, prices: &[f64], demand: &[f64], reach: f64) {
        let Self { offers, per_row, near, moves, of_rest, base, buffer, .. } = self;
        if self.reach > 0.0 || moves.iter().filter(|step| step.loss <= reach).count() > moves.len() / 2 {
            return;
        }
        near.extend((0u32..).zip(&*moves).filter(|(_, step)| step.loss <= reach).map(|(row, _)| row));
        demand.clone_into(of_rest);
        for &row in &*near {
            choose(offers.row(row as usize), prices, *per_row, buffer, |_, block| of_rest[block] -= 1.0);
        }
        prices.clone_into(base);
        self.reach = reach;
    }

    /// The loss within which there are a few times as many moves as units to be moved; none where ties make it zero.
    #[expect(clippy::cast_sign_loss, reason = "counts are not negative")]
    fn bandwidth(&mut self, imbalance: f64, blocks: usize) -> Option<f64> {
        let losses = &mut self.losses;
        losses.clear();
        losses.extend(self.moves.iter().map(|step| step.loss));
        let near = ((2.0 * imbalance) as usize + 8 * blocks)
            .min((self.offers.len() as f64 * 0.4) as usize)
            .min(losses.len().checked_sub(1)?);
        let (_, width, _) = losses.select_nth_unstable_by(near, f64::total_cmp);
        (*width > 0.0 && width.is_finite()).then_some(*width)
    }
}

/// The solution of L step = excess, where L is the Laplacian of the counted moves between blocks: conjugate
/// gradients with the diagonal as preconditioner.
fn newton_step(moves: &[Move], width: f64, excess: &[f64]) -> Vec<f64> {
    let blocks = excess.len();
    let mut laplacian = vec![0.0; blocks * blocks];
    for step in moves.iter().filter(|step| step.loss <= width) {
        let (from, to) = (step.from as usize, step.to as usize);
        for (a, b) in [(from, to), (to, from)] {
            if a < blocks {
                laplacian[a * blocks + a] += 0.5;
                if b < blocks {
                    laplacian[a * blocks + b] -= 0.5;
                }
            }
        }
    }
    (0..blocks).for_each(|block| laplacian[block * blocks + block] += 0.5);
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let precondition = |r: &[f64]| -> Vec<f64> { (0..blocks).map(|j| r[j] / laplacian[j * blocks + j]).collect() };
    let (mut solution, mut rest) = (vec![0.0; blocks], excess.to_vec());
    let mut direction = precondition(&rest);
    let mut size = dot(&rest, &direction);
    for _ in 0..blocks.min(60) {
        if size <= 1e-12 {
            break;
        }
        let image: Vec<f64> = laplacian.chunks_exact(blocks).map(|row| dot(row, &direction)).collect();
        let length = size / dot(&direction, &image);
        for j in 0..blocks {
            solution[j] += length * direction[j];
            rest[j] -= length * image[j];
        }
        let scaled = precondition(&rest);
        let next = dot(&rest, &scaled);
        for j in 0..blocks {
            direction[j] = scaled[j] + next / size * direction[j];
        }
        size = next;
    }
    // The counts describe the slope only within about the bandwidth.
    solution.iter().map(|step| (step * width).clamp(-2.0 * width, 2.0 * width)).collect()
}
