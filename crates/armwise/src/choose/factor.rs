//! W of a posterior to which rows are added, and squares |W x|^2 under it.
//!
//! A square in full and the row that is added have one order of sums on every processor: scores are made from them. What
//! is found by steps only bounds a square in full, in any order.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::kernel::triangle;

/// A lower triangle W, row by row, with W' W = (V + sum of x x')^-1; and for every x that was added
/// u = V^-1 x / sqrt(1 + |x|^2), V before it, by which it lowered every square by (u . x)^2.
pub(super) struct Factor {
    /// Eight columns at a time, with zeros above the diagonal.
    rows: Vec<[f64; 8]>,
    /// The u of eight steps at a time: the first elements of all eight, then the second ones.
    steps: Vec<[f64; 8]>,
    taken: usize,
    dim: usize,
    /// W x of the arm that was last squared, and its number.
    y: Vec<f64>,
    squared: Option<usize>,
    room: [Vec<f64>; 3],
}

/// The square of a width after `taken` rows were added, in full or by steps.
#[derive(Clone, Copy)]
pub(super) struct Square {
    pub(super) value: f64,
    pub(super) taken: usize,
    full: bool,
}

impl Square {
    /// What is known before any row was added.
    pub(super) fn at_first(value: f64) -> Self {
        Self { value, taken: 0, full: false }
    }
}

impl Factor {
    /// From the lower triangle row by row.
    pub(super) fn new(packed: &[f64], dim: usize) -> Self {
        let mut rows = vec![[0.0; 8]; start(dim)];
        for i in 0..dim {
            rows[start(i)..start(i + 1)].as_flattened_mut()[..=i]
                .copy_from_slice(&packed[triangle(i)..triangle(i + 1)]);
        }
        let room = || vec![0.0; dim];
        let room = [room(), room(), room()];
        Self { rows, steps: Vec::new(), taken: 0, dim, y: vec![0.0; dim], squared: None, room }
    }

    /// From a diagonal that is the same everywhere.
    pub(super) fn of_diagonal(root: f64, dim: usize) -> Self {
        let mut packed = vec![0.0; triangle(dim)];
        (0..dim).for_each(|i| packed[triangle(i) + i] = root);
        Self::new(&packed, dim)
    }

    /// |W x|^2 in full, for the arm with this number.
    pub(super) fn square(&mut self, number: usize, x: &[f64]) -> Square {
        let value = pulp::Arch::new().dispatch(InFull { rows: &self.rows, x, y: &mut self.y });
        self.squared = Some(number);
        Square { value, taken: self.taken, full: true }
    }

    /// The same from what is known of it.
    pub(super) fn complete(&mut self, square: Square, number: usize, x: &[f64]) -> Square {
        if square.full && square.taken == self.taken { square } else { self.square(number, x) }
    }

    /// Follows the rows that were added since: by steps, or in full where there are so many that this is faster.
    pub(super) fn follow(&mut self, square: Square, number: usize, x: &[f64]) -> Square {
        if self.taken - square.taken > self.dim {
            return self.square(number, x);
        }
        Square { value: square.value - self.falls(square.taken, x), taken: self.taken, full: false }
    }

    /// By how much the square has fallen since `taken` rows were added.
    fn falls(&self, taken: usize, x: &[f64]) -> f64 {
        let steps = &self.steps[taken / 8 * self.dim..];
        pulp::Arch::new().dispatch(Falls { steps, x, but: taken % 8 })
    }

    /// W of V + x x' from W of V. With y = W x and t_i = 1 + y_1^2 + ... + y_i^2, row i becomes sqrt(t_(i-1) / t_i) W_i minus
    /// y_i / sqrt(t_(i-1) t_i) (y_1 W_1 + ... + y_(i-1) W_(i-1)), the inverse Cholesky factor of I + y y' times W. The
    /// last of these sums is V^-1 x.
    pub(super) fn add(&mut self, number: usize, x: &[f64]) {
        if self.squared != Some(number) {
            self.square(number, x);
        }
        self.squared = None;
        let [keep, take, sum] = &mut self.room;
        let root = pulp::Arch::new().dispatch(Add { rows: &mut self.rows, y: &self.y, keep, take, sum }).sqrt();
        let lane = self.taken % 8;
        if lane == 0 {
            self.steps.resize(self.steps.len() + self.dim, [0.0; 8]);
        }
        let last = self.steps.len() - self.dim;
        self.steps[last..].iter_mut().zip(sum).for_each(|(step, sum)| step[lane] = *sum / root);
        self.taken += 1;
    }
}

/// Where row i begins: a row has as many eights as it needs.
const fn start(i: usize) -> usize {
    let eights = i / 8;
    4 * eights * (eights + 1) + i % 8 * (eights + 1)
}

// Types rather than closures, which would not be sure to be compiled inside the dispatch.

struct InFull<'a> {
    rows: &'a [[f64; 8]],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl pulp::NullaryFnOnce for InFull<'_> {
    type Output = f64;

    /// Leaves W x in `y`.
    #[inline(always)]
    fn call(self) -> f64 {
        let (mut sum, mut rest) = (0.0, self.rows);
        for (i, y) in self.y.iter_mut().enumerate() {
            let (row, others) = rest.split_at(i / 8 + 1);
            *y = product(&row.as_flattened()[..=i], &self.x[..=i]);
            sum += *y * *y;
            rest = others;
        }
        sum
    }
}

struct Falls<'a> {
    steps: &'a [[f64; 8]],
    x: &'a [f64],
    /// The first steps, which do not count.
    but: usize,
}

impl pulp::NullaryFnOnce for Falls<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let (mut sum, mut but) = (0.0, self.but);
        for steps in self.steps.chunks_exact(self.x.len()) {
            let mut along = [0.0; 8];
            for (step, x) in steps.iter().zip(self.x) {
                (0..8).for_each(|lane| along[lane] += step[lane] * x);
            }
            sum += along[but..].iter().map(|along| along * along).sum::<f64>();
            but = 0;
        }
        sum
    }
}

struct Add<'a> {
    rows: &'a mut [[f64; 8]],
    y: &'a [f64],
    keep: &'a mut [f64],
    take: &'a mut [f64],
    sum: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Add<'_> {
    type Output = f64;

    /// Leaves V^-1 x in `sum` and gives 1 + |x|^2 in V^-1. All roots and quotients come before the rows, and these eight
    /// columns at a time, so that nothing waits for another row.
    #[inline(always)]
    fn call(self) -> f64 {
        let (rows, d) = (self.rows, self.y.len());
        let (y, keep, take) = (&self.y[..d], &mut self.keep[..d], &mut self.take[..d]);
        let mut after = 1.0_f64;
        for i in 0..d {
            keep[i] = after;
            after += y[i] * y[i];
            take[i] = after;
        }
        for i in 0..d {
            let (before, after) = (keep[i], take[i]);
            (keep[i], take[i]) = ((before / after).sqrt(), y[i] / (before * after).sqrt());
        }
        for (eight, to) in self.sum.chunks_mut(8).enumerate() {
            let mut sums = [0.0; 8];
            for i in 8 * eight..d {
                let (y, keep, take) = (y[i], keep[i], take[i]);
                // What lies above the diagonal stays zero, in the sums too.
                for (w, sum) in rows[start(i) + eight].iter_mut().zip(&mut sums) {
                    let old = *w;
                    *w = keep * old - take * *sum;
                    *sum += y * old;
                }
            }
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
        }
        after
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

    const D: usize = 12;

    fn row(id: u64) -> Vec<f64> {
        let draws = Round::new(4, 1).draws(0, Stream(300));
        (0..D as u64).map(|j| draws.normal(id << 8 | j)).collect()
    }

    /// Against factoring V + x x' anew, after many picks; and squares by steps against those in full.
    #[test]
    fn adding_a_row_to_w_is_factoring_anew() {
        let mut model = Model::new(D, 1).expect("a shape");
        let factor = |model: &Model| {
            let posterior = model.posterior(0, 0.3).expect("factors");
            Factor::new(posterior.factor(), D)
        };
        let mut shrinking = factor(&model);
        let mut before = Vec::new();
        for id in 0..100 {
            before.push(shrinking.square(0, &row(500)).value);
            model.observe(&Observation { t: 1, block: 0, x: &row(id), reward: 0.0 }).expect("finite");
            shrinking.add(1, &row(id));
        }
        for (found, expected) in shrinking.rows.as_flattened().iter().zip(factor(&model).rows.as_flattened()) {
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(0.1), "{found}, not {expected}");
        }
        let posterior = model.posterior(0, 0.3).expect("factors");
        let (found, expected) = (shrinking.square(0, &row(500)).value.sqrt(), posterior.width(&row(500)));
        assert!((found - expected).abs() < 1e-13, "{found}, not {expected}");
        for (taken, then) in before.iter().enumerate() {
            let by_steps = then - shrinking.falls(taken, &row(500));
            let close = (by_steps - expected * expected).abs() < 1e-13 * before[0];
            assert!(close, "since {taken}: {by_steps}, not {}", expected * expected);
        }
    }

    /// Row after row, each with its product, its roots and its sums, as the formula of `add` is written.
    #[test]
    fn the_order_of_the_work_changes_no_bit() {
        for d in [1, 7, 8, 9, 12] {
            let mut plain = vec![0.0; triangle(d)];
            (0..d).for_each(|i| plain[triangle(i) + i] = 1.5);
            let mut factor = Factor::of_diagonal(1.5, d);
            for id in 0..30 {
                let x = &row(id)[..d];
                let (mut before, mut sum) = (1.0_f64, vec![0.0; d]);
                for i in 0..d {
                    let line = &mut plain[triangle(i)..triangle(i + 1)];
                    let y = product(line, &x[..=i]);
                    let after = before + y * y;
                    let turned = ((before / after).sqrt(), y / (before * after).sqrt());
                    for (w, sum) in line.iter_mut().zip(&mut sum) {
                        (*w, *sum) = (turned.0 * *w - turned.1 * *sum, *sum + y * *w);
                    }
                    before = after;
                }
                factor.add(0, x);
            }
            let bits = |rows: &[[f64; 8]]| rows.as_flattened().iter().map(|w| w.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&factor.rows), bits(&Factor::new(&plain, d).rows), "{d} features");
        }
    }
}
