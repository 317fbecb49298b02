//! The posterior of a block within a round, as arms are taken: V + sum of x x', and widths under it.
//!
//! A width can be found in two ways. In full: |W x| with a W that follows every arm taken, d^2 / 2 multiplications, which
//! is what counts. By steps: taking x_s lowers every squared width by (u_s . x)^2 with u_s = V^-1 x_s / sqrt(1 + |x_s|^2),
//! V before x_s, d multiplications for each arm taken since; its rounding is bounded, so it gives an upper end of the
//! width in full, and few arms need that.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::kernel::{self, triangle};
use crate::policy::InTurn;
use crate::score::Scorer;

/// The posterior of a block in the round, with the arms taken so far.
pub(super) struct Shrinking<'s> {
    direction: &'s [f64],
    turn: InTurn,
    /// For V.
    own: Factor,
    /// For lambda I, which measures diversity; none where it does not count.
    apart: Option<Factor>,
    pub(super) taken: usize,
}

/// What is known of an arm of the block: its score is that after `taken` arms, or an upper end of it.
#[derive(Clone, Copy)]
pub(super) struct Known {
    mean: f64,
    /// The squares of its widths in V and in lambda I.
    own: f64,
    apart: f64,
    pub(super) taken: usize,
}

/// How much larger a square in full may be than one by steps, for each arm taken.
#[derive(Clone, Copy)]
pub(super) struct Slack {
    pub(super) own: f64,
    pub(super) apart: f64,
}

impl<'s> Shrinking<'s> {
    pub(super) fn new(scorer: &'s Scorer<'_>, block: usize, turn: InTurn) -> Self {
        let own = Factor::new(scorer.posteriors[block].factor().to_vec(), scorer.dim);
        let root = 1.0 / turn.lambda.sqrt();
        let apart = (turn.diversity > 0.0).then(|| {
            let mut rows = vec![0.0; triangle(scorer.dim)];
            (0..scorer.dim).for_each(|i| rows[triangle(i) + i] = root);
            Factor::new(rows, scorer.dim)
        });
        Self { direction: &scorer.blocks[block].direction, turn, own, apart, taken: 0 }
    }

    /// What is known of an arm in full.
    pub(super) fn know(&self, x: &[f64]) -> Known {
        let apart = self.apart.as_ref().map_or(0.0, |apart| apart.square(x));
        Known { mean: kernel::dot(self.direction, x), own: self.own.square(x), apart, taken: self.taken }
    }

    /// The width and the score of an arm that is known in full.
    pub(super) fn score(&self, known: &Known) -> (f64, f64) {
        let width = known.own.sqrt();
        (width, known.mean + self.turn.alpha * width + self.diversity(known.apart))
    }

    /// Follows the arms that were taken since, and gives an upper end of the score.
    pub(super) fn follow(&self, known: &mut Known, x: &[f64], slack: Slack) -> f64 {
        known.own -= self.own.falls(known.taken, x);
        known.apart -= self.apart.as_ref().map_or(0.0, |apart| apart.falls(known.taken, x));
        known.taken = self.taken;
        let times = 8.0 + self.taken as f64;
        let above = |square: f64, slack: f64| square.max(0.0) + times * slack;
        let diversity = self.apart.as_ref().map_or(0.0, |_| self.diversity(above(known.apart, slack.apart)));
        known.mean + self.turn.alpha * above(known.own, slack.own).sqrt() + diversity
    }

    /// What diversity adds, for a squared width in lambda I + sum of x x'.
    pub(super) fn diversity(&self, square: f64) -> f64 {
        if self.turn.diversity > 0.0 { 0.5 * self.turn.diversity * libm::log1p(square) } else { 0.0 }
    }

    pub(super) fn take(&mut self, x: &[f64]) {
        self.own.add(x);
        self.apart.iter_mut().for_each(|apart| apart.add(x));
        self.taken += 1;
    }
}

/// A lower triangle W, row by row, with W' W = (V + sum of x x')^-1; and u_s of every arm taken.
struct Factor {
    rows: Vec<f64>,
    steps: Vec<f64>,
    dim: usize,
}

impl Factor {
    fn new(rows: Vec<f64>, dim: usize) -> Self {
        Self { rows, steps: Vec::new(), dim }
    }

    /// |W x|^2.
    fn square(&self, x: &[f64]) -> f64 {
        pulp::Arch::new().dispatch(Square { rows: &self.rows, x })
    }

    /// By how much the square has fallen since `taken` arms were taken.
    fn falls(&self, taken: usize, x: &[f64]) -> f64 {
        pulp::Arch::new().dispatch(Falls { steps: &self.steps[taken * self.dim..], x })
    }

    /// W of V + x x' from W of V. With y = W x and t_i = 1 + y_1^2 + ... + y_i^2, row i becomes sqrt(t_(i-1) / t_i) W_i minus
    /// y_i / sqrt(t_(i-1) t_i) (y_1 W_1 + ... + y_(i-1) W_(i-1)), the inverse Cholesky factor of I + y y' times W. The
    /// last of these sums is V^-1 x.
    fn add(&mut self, x: &[f64]) {
        let mut sum = vec![0.0; self.dim];
        let root = pulp::Arch::new().dispatch(Add { rows: &mut self.rows, x, sum: &mut sum }).sqrt();
        self.steps.extend(sum.iter().map(|sum| sum / root));
    }
}

// Types rather than closures, which would not be sure to be compiled inside the dispatch.

struct Square<'a> {
    rows: &'a [f64],
    x: &'a [f64],
}

impl pulp::NullaryFnOnce for Square<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let (mut sum, mut rest) = (0.0, self.rows);
        for i in 0..self.x.len() {
            let (row, others) = rest.split_at(i + 1);
            let y = product(row, &self.x[..=i]);
            sum += y * y;
            rest = others;
        }
        sum
    }
}

struct Falls<'a> {
    steps: &'a [f64],
    x: &'a [f64],
}

impl pulp::NullaryFnOnce for Falls<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let mut sum = 0.0;
        for step in self.steps.chunks_exact(self.x.len()) {
            let along = product(step, self.x);
            sum += along * along;
        }
        sum
    }
}

struct Add<'a> {
    rows: &'a mut [f64],
    x: &'a [f64],
    sum: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Add<'_> {
    type Output = f64;

    /// Leaves V^-1 x in `sum` and gives 1 + |x|^2 in V^-1.
    #[inline(always)]
    fn call(self) -> f64 {
        let (mut before, mut rest) = (1.0_f64, self.rows);
        for i in 0..self.x.len() {
            let (row, others) = rest.split_at_mut(i + 1);
            let y = product(row, &self.x[..=i]);
            let after = before + y * y;
            let (keep, take) = ((before / after).sqrt(), y / (before * after).sqrt());
            for (w, sum) in row.iter_mut().zip(self.sum.iter_mut()) {
                let old = *w;
                *w = keep * old - take * *sum;
                *sum += y * old;
            }
            (before, rest) = (after, others);
        }
        before
    }
}

/// a . b with eight sums side by side, which the compiler keeps in registers; their order does not depend on these.
#[inline(always)]
fn product(a: &[f64], b: &[f64]) -> f64 {
    let ((a8, a), (b8, b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a8.iter().zip(b8) {
        (0..8).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
    let eights = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7));
    a.iter().zip(b).fold(eights, |sum, (a, b)| sum + a * b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, Observation, Round, Stream};

    /// Against factoring V + x x' anew, after many picks; and squares by steps against those in full.
    #[test]
    fn adding_a_row_to_w_is_factoring_anew() {
        const D: usize = 12;
        let draws = Round::new(4, 1).draws(0, Stream(300));
        let row = |id: u64| -> Vec<f64> { (0..D as u64).map(|j| draws.normal(id << 8 | j)).collect() };
        let mut model = Model::new(D, 1).expect("a shape");
        let factor = |model: &Model| {
            let posterior = model.posterior(0, 0.3).expect("factors");
            Factor::new(posterior.factor().to_vec(), D)
        };
        let mut shrinking = factor(&model);
        let before = shrinking.square(&row(500));
        for id in 0..100 {
            model.observe(&Observation { t: 1, block: 0, x: &row(id), reward: 0.0 }).expect("finite");
            shrinking.add(&row(id));
        }
        for (found, expected) in shrinking.rows.iter().zip(&factor(&model).rows) {
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(0.1), "{found}, not {expected}");
        }
        let posterior = model.posterior(0, 0.3).expect("factors");
        let (found, expected) = (shrinking.square(&row(500)).sqrt(), posterior.width(&row(500)));
        assert!((found - expected).abs() < 1e-13, "{found}, not {expected}");
        let by_steps = before - shrinking.falls(0, &row(500));
        assert!((by_steps - expected * expected).abs() < 1e-13 * before, "{by_steps}, not {}", expected * expected);
    }
}
