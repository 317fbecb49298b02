//! Prices at which the limits are nearly met if every row takes its best blocks.
//!
//! Demand is a step function of the prices, so its slope is counted from the rows whose
//! cheapest move costs less than a bandwidth, and the bandwidth follows the imbalance. Nothing here needs to be
//! exact: the solver repairs what is left, and it proves the result.

use super::choice::{Move, choose};
use super::network::{Network, Span};
use super::offers::{Offers, Row};

/// The most demand evaluations; far more than random scores need (about 6).
const EVALUATIONS: usize = 40;
/// Steps in a row without improvement before giving up, as with many exact ties.
const PATIENCE: usize = 3;
/// Rows whose cheapest move loses more than this multiple of the largest price step are skipped for a while. The step
/// itself needs 2; the rest is for the steps after it, which are smaller.
const REACH: f64 = 3.0;

/// How many units a limit should get, in units of a sample; below 0 for a group over all blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    min: f64,
    pub(super) max: f64,
    usual: f64,
}

impl Target {
    /// The limits of a sample with this share of the rows; of all rows, for a share of 1.
    pub(super) fn share(span: &Span, share: f64) -> Self {
        Self { min: span.min as f64 * share, max: span.max as f64 * share, usual: span.usual as f64 * share }
    }

    /// The same for quotas, raised by three standard errors and two units, so that prices come out too low rather than too high.
    pub(super) fn raised(span: &Span, share: f64) -> Self {
        let raise = |count: isize| {
            let mean = count as f64 * share;
            mean + 3.0 * mean.sqrt() + 2.0
        };
        let max = raise(span.max);
        Self { min: if span.min > 0 || span.exact { raise(span.min) } else { 0.0 }, max, usual: max }
    }

    /// Half the standard error of a sample's demand: its prices cannot be more accurate than that.
    pub(super) fn noise(&self) -> f64 {
        0.5 + 0.5 * self.usual.sqrt()
    }

    /// Whether there is room between the bounds.
    fn is_range(&self) -> bool {
        self.min < self.max
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

/// Starting prices of all limits: of a block, the worst score that it still gets if all pairs are served in order of
/// score; of a group, 0.
#[expect(clippy::cast_sign_loss, reason = "targets of blocks are not negative")]
pub(super) fn greedy(network: &Network, offers: &Offers, per_row: usize, targets: &[Target]) -> Vec<f64> {
    let (all, targets) = (targets.len(), &targets[..network.blocks]);
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
    prices.resize(all, 0.0);
    prices
}

/// Improves `prices` until the imbalance is at the goal or no longer falls; returns the imbalance.
pub(super) fn newton(
    network: &Network,
    offers: &Offers,
    per_row: usize,
    targets: &[Target],
    goal: f64,
    prices: &mut Vec<f64>,
) -> f64 {
    let limits = targets.len();
    let mut rows = Rows::new(network, offers, per_row);
    let mut at = prices.clone();
    let mut step = vec![0.0; limits];
    let (mut least, mut failures) = (f64::INFINITY, 0);
    for _ in 0..EVALUATIONS {
        let arm_prices = network.arm_prices(&network.potentials(&at));
        let entered = rows.demand(&arm_prices);
        let demand = network.gather(entered.clone());
        let excess: Vec<f64> = (0..limits).map(|limit| targets[limit].excess(demand[limit], at[limit])).collect();
        let imbalance: f64 = excess.iter().map(|excess| excess.abs()).sum();
        if imbalance < least {
            (least, failures) = (imbalance, 0);
            prices.clone_from(&at);
            if imbalance <= goal {
                break;
            }
            let Some(width) = rows.bandwidth(imbalance, limits) else { break };
            // The price of a range that is met stays 0, whatever the others do.
            let met = |limit: usize| excess[limit] == 0.0 && at[limit] == 0.0 && targets[limit].is_range();
            let fixed: Vec<bool> = (0..limits).map(met).collect();
            step = newton_step(network, &rows.moves, width, &excess, &fixed);
            let moved = network.arm_prices(&network.potentials(&step));
            rows.narrow(&arm_prices, &entered, REACH * moved.iter().fold(0.0, |most: f64, step| most.max(step.abs())));
        } else {
            failures += 1;
            if failures == PATIENCE {
                break;
            }
            for step in &mut step {
                *step *= 0.5;
            }
        }
        for limit in 0..limits {
            let (old, new) = (prices[limit], prices[limit] + step[limit]);
            // A range between min and max has its kink at price 0: stop there first.
            at[limit] = if old * new < 0.0 && targets[limit].is_range() { 0.0 } else { new };
        }
    }
    least
}

/// How far prices may be off if this many units are in the wrong place: the loss that so many cheapest moves stay below.
pub(super) fn spread(network: &Network, offers: &Offers, per_row: usize, prices: &[f64], units: f64) -> f64 {
    let mut rows = Rows::new(network, offers, per_row);
    rows.demand(&network.arm_prices(&network.potentials(prices)));
    rows.bandwidth(units, network.root()).unwrap_or(f64::INFINITY)
}

/// All rows, and those among them whose choice may change soon.
struct Rows<'a> {
    network: &'a Network,
    offers: &'a Offers,
    per_row: usize,
    /// The rows whose choice may change; empty means all rows.
    near: Vec<u32>,
    /// The cheapest moves of the rows that were evaluated last, between nodes.
    moves: Vec<Move>,
    /// What the other rows take, for as long as no arm's price is further than `reach / 2` from `base`: a change trades one
    /// pair for another, so its loss moves by no more than two prices do.
    of_rest: Vec<f64>,
    base: Vec<f64>,
    reach: f64,
    buffer: Vec<(f64, usize)>,
    losses: Vec<f64>,
}

impl<'a> Rows<'a> {
    fn new(network: &'a Network, offers: &'a Offers, per_row: usize) -> Self {
        let moves = Vec::with_capacity(offers.len());
        let (near, of_rest, base, buffer, losses) = Default::default();
        Self { network, offers, per_row, near, moves, of_rest, base, reach: 0.0, buffer, losses }
    }

    /// How many units enter each node at these prices of the arms.
    fn demand(&mut self, prices: &[f64]) -> Vec<f64> {
        let Self { network, offers, per_row, near, moves, of_rest, base, reach, buffer, .. } = self;
        let moved = base.iter().zip(prices).fold(0.0, |moved: f64, (base, now)| moved.max((now - base).abs()));
        moves.clear();
        if 2.0 * moved < *reach {
            let mut demand = of_rest.clone();
            let rows = near.iter().map(|&row| offers.row(row as usize));
            moves.extend(rows.map(|row| enter(network, row, prices, *per_row, buffer, &mut demand, 1.0)));
            return demand;
        }
        near.clear();
        *reach = 0.0;
        let mut demand = vec![0.0; network.count()];
        moves.extend(offers.rows().map(|row| enter(network, row, prices, *per_row, buffer, &mut demand, 1.0)));
        demand
    }

    /// After an evaluation of all rows: limits the next ones to rows whose cheapest move loses at most `reach`, if they
    /// are few.
    fn narrow(&mut self, prices: &[f64], demand: &[f64], reach: f64) {
        let Self { network, offers, per_row, near, moves, of_rest, base, buffer, .. } = self;
        if self.reach > 0.0 || moves.iter().filter(|step| step.loss <= reach).count() > moves.len() / 2 {
            return;
        }
        near.extend((0u32..).zip(&*moves).filter(|(_, step)| step.loss <= reach).map(|(row, _)| row));
        demand.clone_into(of_rest);
        for &row in &*near {
            enter(network, offers.row(row as usize), prices, *per_row, buffer, of_rest, -1.0);
        }
        prices.clone_into(base);
        self.reach = reach;
    }

    /// The loss within which there are a few times as many moves as units to be moved; none where ties make it zero.
    #[expect(clippy::cast_sign_loss, reason = "counts are not negative")]
    fn bandwidth(&mut self, imbalance: f64, limits: usize) -> Option<f64> {
        let losses = &mut self.losses;
        losses.clear();
        losses.extend(self.moves.iter().map(|step| step.loss));
        let near = ((2.0 * imbalance) as usize + 8 * limits)
            .min((self.offers.len() as f64 * 0.4) as usize)
            .min(losses.len().checked_sub(1)?);
        let (_, width, _) = losses.select_nth_unstable_by(near, f64::total_cmp);
        (*width > 0.0 && width.is_finite()).then_some(*width)
    }
}

/// Lets a row take its best blocks, and returns its cheapest move as one between nodes.
#[inline]
fn enter(
    network: &Network,
    row: Row<'_>,
    prices: &[f64],
    per_row: usize,
    buffer: &mut Vec<(f64, usize)>,
    entered: &mut [f64],
    weight: f64,
) -> Move {
    let nobody = network.node(row.stratum, network.blocks);
    let node = |column: usize| network.node(row.stratum, column);
    let change = choose(row, row.own(prices, network.blocks), per_row, buffer, |_, block| {
        entered[node(block)] += weight;
        entered[nobody] -= weight;
    });
    Move { from: node(change.from as usize) as u32, to: node(change.to as usize) as u32, ..change }
}

/// The solution of J step = excess, where J counts the moves that change the units through both of two limits:
/// conjugate gradients with the diagonal as preconditioner. Prices of limits become prices of nodes, the Laplacian of the
/// counted moves makes changes of units from these, and what enters the nodes adds up to what flows through the limits.
fn newton_step(network: &Network, moves: &[Move], width: f64, excess: &[f64], fixed: &[bool]) -> Vec<f64> {
    let limits = excess.len();
    let mut counts = vec![0.0; network.pairs];
    for step in moves.iter().filter(|step| step.loss <= width && step.from != step.to) {
        counts[network.pair(step.from as usize, step.to as usize)] += 0.5;
    }
    let ways = network.ways.iter().enumerate();
    let ways = ways.flat_map(|(from, ways)| ways.iter().map(move |&(to, pair)| (from, to as usize, pair as usize)));
    let arcs: Vec<(usize, usize, f64)> =
        ways.map(|(from, to, pair)| (from, to, counts[pair])).filter(|arc| arc.2 > 0.0).collect();
    let laplacian = |prices: &[f64]| {
        let potentials = network.potentials(prices);
        let mut change = vec![0.0; network.count()];
        for &(from, to, count) in &arcs {
            let flow = count * (potentials[from] - potentials[to]);
            change[from] += flow;
            change[to] -= flow;
        }
        let change = network.gather(change);
        let image = |limit: usize| if fixed[limit] { 0.0 } else { change[limit] + 0.5 * prices[limit] };
        (0..limits).map(image).collect::<Vec<f64>>()
    };
    let mut diagonal = vec![0.0; network.count()];
    for &(from, to, count) in &arcs {
        diagonal[from] += count;
        diagonal[to] += count;
    }
    let diagonal = network.gather(diagonal);
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let precondition =
        |r: &[f64]| -> Vec<f64> { (0..limits).map(|limit| r[limit] / (diagonal[limit] + 0.5)).collect() };
    let (mut solution, mut rest) = (vec![0.0; limits], excess.to_vec());
    let mut direction = precondition(&rest);
    let mut size = dot(&rest, &direction);
    for _ in 0..limits.min(60) {
        if size <= 1e-12 {
            break;
        }
        let image = laplacian(&direction);
        let length = size / dot(&direction, &image);
        for limit in 0..limits {
            solution[limit] += length * direction[limit];
            rest[limit] -= length * image[limit];
        }
        let scaled = precondition(&rest);
        let next = dot(&rest, &scaled);
        for limit in 0..limits {
            direction[limit] = scaled[limit] + next / size * direction[limit];
        }
        size = next;
    }
    // The counts describe the slope only within about the bandwidth.
    solution.iter().map(|step| (step * width).clamp(-2.0 * width, 2.0 * width)).collect()
}
