//! Choosing one arm after another, for a policy whose widths shrink with every arm that is taken in the round.
//!
//! Taking x adds x x' to V for the rest of the round, as if its reward were known. Widths only shrink, so an earlier
//! score, or a bound of it, is an upper end of the present one: a queue by upper ends gives the exact greedy order, and
//! few arms are scored again after each pick. Computed widths may grow by rounding, which a slack covers; where V is so
//! nearly singular that it would not, every arm is scored after every pick.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use super::decide::chosen_arms;
use super::{ChosenArm, Decision};
use crate::kernel::{self, triangle};
use crate::policy::InTurn;
use crate::prune;
use crate::score::Scorer;
use crate::{Arms, Error, Missing, Needs, Oracle, Pick, Posterior, Quality, Scores, Ties};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// About so many arms are put into the queue at first.
const PART: usize = 1024;

/// An arm in the queue.
struct Waiting<'a> {
    /// Its score, or an upper end of it.
    upper: f64,
    /// What orders arms with equal scores.
    tie: (u64, u64, Option<&'a str>, usize),
    place: usize,
    /// How many arms of its block had been taken when its score was computed, and its width; none for an upper end.
    computed: Option<(usize, f64)>,
}

impl Ord for Waiting<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.upper.total_cmp(&other.upper).then_with(|| other.tie.cmp(&self.tie))
    }
}

impl PartialOrd for Waiting<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting<'_> {}

/// The posterior of a block in the round, with the arms taken so far.
struct Shrinking<'s> {
    direction: &'s [f64],
    turn: InTurn,
    /// W with W' W = (V + sum of x x')^-1.
    own: Factor,
    /// The same for lambda I + sum of x x', which measures diversity; none where it does not count.
    apart: Option<Factor>,
    taken: usize,
}

impl<'s> Shrinking<'s> {
    fn new(scorer: &'s Scorer<'_>, block: usize, turn: InTurn) -> Self {
        let w = scorer.posteriors[block].factor();
        let own = Factor::new(scorer.dim, |i, j| w[triangle(i) + j]);
        let root = 1.0 / turn.lambda.sqrt();
        let apart = (turn.diversity > 0.0).then(|| Factor::new(scorer.dim, |i, j| if i == j { root } else { 0.0 }));
        Self { direction: &scorer.blocks[block].direction, turn, own, apart, taken: 0 }
    }

    /// The width of an arm and its score.
    fn score(&mut self, x: &[f64]) -> (f64, f64) {
        let width = self.own.square(x).sqrt();
        let apart = self.apart.as_mut().map_or(0.0, |apart| apart.square(x));
        (width, kernel::dot(self.direction, x) + self.turn.alpha * width + self.diversity(apart))
    }

    /// What diversity adds, for a squared width in lambda I + sum of x x'.
    fn diversity(&self, square: f64) -> f64 {
        0.5 * self.turn.diversity * libm::log1p(square)
    }

    fn take(&mut self, x: &[f64]) {
        self.own.add(x);
        self.apart.iter_mut().for_each(|apart| apart.add(x));
        self.taken += 1;
    }
}

/// A lower triangle W, column by column, so that W x is a sum of columns, which the compiler can do in registers; the
/// sums have one order whatever the registers.
struct Factor {
    columns: Vec<f64>,
    /// W x.
    y: Vec<f64>,
}

impl Factor {
    fn new(d: usize, element: impl Fn(usize, usize) -> f64) -> Self {
        let columns = (0..d).flat_map(|j| (j..d).map(move |i| (i, j))).map(|(i, j)| element(i, j)).collect();
        Self { columns, y: vec![0.0; d] }
    }

    fn multiply(&mut self, x: &[f64]) {
        let Self { columns, y } = self;
        y.fill(0.0);
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let (d, mut rest) = (y.len(), &columns[..]);
                for (j, &x) in x.iter().enumerate().take(d) {
                    let (column, others) = rest.split_at(d - j);
                    y[j..].iter_mut().zip(column).for_each(|(y, w)| *y += x * w);
                    rest = others;
                }
            },
        );
    }

    /// |W x|^2.
    fn square(&mut self, x: &[f64]) -> f64 {
        self.multiply(x);
        let (eights, rest) = self.y.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for y in eights {
            (0..8).for_each(|lane| sums[lane] += y[lane] * y[lane]);
        }
        sums.iter().sum::<f64>() + rest.iter().map(|y| y * y).sum::<f64>()
    }

    /// W of V + x x' from W of V. With y = W x and t_i = 1 + y_1^2 + ... + y_i^2, row i becomes sqrt(t_(i-1) / t_i) W_i
    /// - y_i / sqrt(t_(i-1) t_i) (y_1 W_1 + ... + y_(i-1) W_(i-1)), the inverse Cholesky factor of I + y y' times W.
    fn add(&mut self, x: &[f64]) {
        self.multiply(x);
        let mut before = 1.0_f64;
        let step = |&y: &f64| {
            let after = before + y * y;
            let (keep, take) = ((before / after).sqrt(), y / (before * after).sqrt());
            before = after;
            (keep, take, y)
        };
        let steps: Vec<(f64, f64, f64)> = self.y.iter().map(step).collect();
        let (d, mut rest) = (self.y.len(), &mut self.columns[..]);
        for j in 0..d {
            let (column, others) = rest.split_at_mut(d - j);
            let mut sum = 0.0;
            for (w, &(keep, take, y)) in column.iter_mut().zip(&steps[j..]) {
                let old = *w;
                *w = keep * old - take * sum;
                sum += y * old;
            }
            rest = others;
        }
    }
}

/// An arm with the width and the score by which it was taken.
struct Turn {
    arm: Pick,
    width: f64,
    score: f64,
}

/// Chooses for a policy that takes one arm after another.
pub(super) fn choose(
    scorer: &Scorer<'_>,
    turn: InTurn,
    (arms, ties): (&Arms<'_>, Ties),
    oracle: &dyn Oracle,
) -> Result<Decision, Error> {
    let (turns, missing) = turns(scorer, turn, arms, ties, oracle)?;
    let picks: Vec<Pick> = turns.iter().map(|turn| turn.arm).collect();
    let explained = chosen_arms(scorer, arms, &picks)?;
    let told = |(arm, turn): (ChosenArm, &Turn)| ChosenArm { width: turn.width, score: turn.score, ..arm };
    let chosen: Vec<ChosenArm> = explained.into_iter().zip(&turns).map(told).collect();
    let objective = chosen.iter().fold(0.0, |sum, arm| sum + arm.score);
    // No arm has a larger score than the first has, at any time.
    let largest = chosen.iter().map(|arm| arm.score).fold(0.0, f64::max);
    Ok(Decision {
        round: scorer.round,
        upper_bound: objective.max(largest * chosen.len() as f64),
        objective,
        arms: chosen,
        quality: Quality::Unknown,
        prices: Vec::new(),
        missing,
        auto: scorer.auto,
        method: None,
    })
}

/// The arms in the order of a decision, by block, then by falling score; and what could not be filled.
fn turns(
    scorer: &Scorer<'_>,
    turn: InTurn,
    arms: &Arms<'_>,
    ties: Ties,
    oracle: &dyn Oracle,
) -> Result<(Vec<Turn>, Vec<Missing>), Error> {
    scorer.check(arms)?;
    let blocks = scorer.blocks.len();
    let mut shrinking: Vec<Shrinking<'_>> = (0..blocks).map(|block| Shrinking::new(scorer, block, turn)).collect();
    // Bounds of all scores, where that pays and the constraint asks for nothing but the best arms.
    let best = matches!(oracle.needs(), Needs::Best(_));
    let (mut uppers, norm) = match if best { prune::upper_ends(scorer, arms) } else { None } {
        Some(bounded) => bounded,
        None => (scorer.score(arms)?, longest(arms)),
    };
    let mut x = Vec::with_capacity(scorer.dim);
    if turn.diversity > 0.0 {
        for (row, uppers) in uppers.chunks_exact_mut(blocks).enumerate() {
            read(arms, row, &mut x);
            let diversity = shrinking[0].diversity(kernel::dot(&x, &x) / turn.lambda);
            uppers.iter_mut().for_each(|upper| *upper += diversity);
        }
    }
    let scores = Scores::new(&uppers, blocks, *arms, ties, scorer.round)?;
    let mut taking = oracle.taking(&scores)?.ok_or_else(|| {
        Error::Constraint("this algorithm takes one arm after another, which only top-k and quotas allow".into())
    })?;
    let waiting = |(place, upper): (usize, &f64)| Waiting {
        upper: upper + 0.0,
        tie: scores.tie_keys(scores.pick(place)),
        place,
        computed: None,
    };
    // The arms that are not in the queue, and an upper end of all of them.
    let mut others: Vec<usize> = (0..uppers.len()).filter(|&place| uppers[place] > f64::NEG_INFINITY).collect();
    let (mut queue, mut bar, mut wanted) = (BinaryHeap::new(), f64::INFINITY, PART);
    let largest = others.iter().map(|&place| uppers[place].abs()).fold(0.0, f64::max);
    let rounding = Rounding::new(scorer, norm, turn, largest);
    let mut turns: Vec<Turn> = Vec::new();
    while !taking.is_full() {
        let slack = rounding.slack(turns.len());
        while !others.is_empty() && queue.peek().is_none_or(|best: &Waiting<'_>| best.upper <= bar + slack) {
            bar = quantile(&uppers, &others, wanted);
            let (now, later): (Vec<usize>, Vec<usize>) = others.into_iter().partition(|&place| uppers[place] >= bar);
            queue.extend(now.into_iter().map(|place| waiting((place, &uppers[place]))));
            (others, wanted) = (later, 4 * wanted);
        }
        let Some(mut best) = queue.pop() else { break };
        let arm = scores.pick(best.place);
        let Some(demanded) = taking.may(arm) else { continue };
        let block = &mut shrinking[arm.block];
        let Some((_, width)) = best.computed.filter(|(taken, _)| *taken == block.taken) else {
            read(arms, arm.row, &mut x);
            let (width, score) = block.score(&x);
            if !score.is_finite() {
                return Err(Error::ScoreOverflow { row: arm.row, block: arm.block, value: score });
            }
            (best.upper, best.computed) = (score + 0.0, Some((block.taken, width)));
            queue.push(best);
            continue;
        };
        // Whoever was scored before the last pick and may have grown by rounding is scored again first.
        let (rest, is_present) = (queue.peek(), |other: &Waiting<'_>| {
            let block = &shrinking[scores.pick(other.place).block];
            other.computed.is_some_and(|(taken, _)| taken == block.taken)
        });
        if rest.is_some_and(|other| !is_present(other) && other.upper + slack >= best.upper) {
            let mut other = queue.pop().expect("it was seen");
            // First in the queue, and not of the present, so that the loop above computes it.
            other.upper = f64::INFINITY;
            other.computed = None;
            queue.push(other);
            queue.push(best);
            continue;
        }
        if best.upper <= 0.0 && !demanded {
            continue;
        }
        read(arms, arm.row, &mut x);
        shrinking[arm.block].take(&x);
        taking.take(arm);
        turns.push(Turn { arm, width, score: best.upper });
    }
    turns.sort_by(|a, b| a.arm.block.cmp(&b.arm.block).then_with(|| b.score.total_cmp(&a.score)));
    Ok((turns, taking.missing()))
}

/// A number that about `wanted` of these upper ends reach, by a sample; all do where there are not many more.
fn quantile(uppers: &[f64], of: &[usize], wanted: usize) -> f64 {
    const SAMPLE: usize = 512;
    if of.len() <= 2 * wanted.max(SAMPLE) {
        return f64::NEG_INFINITY;
    }
    let mut sample: Vec<f64> = of.iter().step_by(of.len() / SAMPLE).map(|&place| uppers[place]).collect();
    let rank = wanted * sample.len() / of.len();
    *sample.select_nth_unstable_by(rank, |a, b| b.total_cmp(a)).1
}

/// How much a computed score may grow through rounding alone, though the exact one only falls.
struct Rounding {
    /// For each pick, relative to the largest bonus.
    eta: f64,
    bonus: f64,
    largest: f64,
}

impl Rounding {
    fn new(scorer: &Scorer<'_>, norm: f64, turn: InTurn, largest: f64) -> Self {
        let widths = scorer.posteriors.iter().map(Posterior::widths);
        let (eta, most) = widths.fold((0.0_f64, 0.0_f64), |(eta, most), own| (eta.max(own.eta), most.max(own.most)));
        let bonus = turn.alpha * most * norm + turn.diversity;
        // Where V is nearly singular nothing is known of rounding, and every arm is scored after every pick.
        Self { eta: if eta < 1e-3 { eta } else { f64::INFINITY }, bonus, largest: largest.abs() + bonus }
    }

    fn slack(&self, taken: usize) -> f64 {
        let slack = (8.0 + taken as f64) * self.eta * self.bonus + 1e-11 * self.largest;
        if slack.is_nan() { f64::INFINITY } else { slack }
    }
}

/// The largest norm of a row.
fn longest(arms: &Arms<'_>) -> f64 {
    let mut x = Vec::with_capacity(arms.dim());
    let square = |row: usize| {
        read(arms, row, &mut x);
        kernel::dot(&x, &x)
    };
    (0..arms.len()).map(square).fold(0.0, f64::max).sqrt()
}

fn read(arms: &Arms<'_>, row: usize, x: &mut Vec<f64>) {
    x.clear();
    arms.row_onto(row, x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, Observation, Round, Stream};

    /// Against factoring V + x x' anew, after many picks.
    #[test]
    fn adding_a_row_to_w_is_factoring_anew() {
        const D: usize = 12;
        let draws = Round::new(4, 1).draws(0, Stream(300));
        let row = |id: u64| -> Vec<f64> { (0..D as u64).map(|j| draws.normal(id << 8 | j)).collect() };
        let mut model = Model::new(D, 1).expect("a shape");
        let factor = |model: &Model| {
            let posterior = model.posterior(0, 0.3).expect("factors");
            Factor::new(D, |i, j| posterior.factor()[triangle(i) + j])
        };
        let mut shrinking = factor(&model);
        for id in 0..100 {
            model.observe(&Observation { t: 1, block: 0, x: &row(id), reward: 0.0 }).expect("finite");
            shrinking.add(&row(id));
        }
        for (found, expected) in shrinking.columns.iter().zip(&factor(&model).columns) {
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(0.1), "{found}, not {expected}");
        }
        let posterior = model.posterior(0, 0.3).expect("factors");
        let (found, expected) = (shrinking.square(&row(500)).sqrt(), posterior.width(&row(500)));
        assert!((found - expected).abs() < 1e-13, "{found}, not {expected}");
    }
}
