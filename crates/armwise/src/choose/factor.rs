//! W of a posterior to which rows are added, and squares |W x|^2 under it.
//!
//! A square in full and the row that is added have one order of sums on every processor: scores are made from them. What
//! is found by steps only bounds a square in full.

use crate::kernel::{Kernel, Line, sum_of, triangle};

/// Lines of a column of steps: so many times eight steps are kept together.
const LINES: usize = 8;

/// A square matrix W with W' W = (V + sum of x x')^-1, by columns; and for every x that was added
/// u = V^-1 x / sqrt(1 + |x|^2), V before it, by which it lowered every square by (u . x)^2.
pub(super) struct Factor {
    kernel: Kernel,
    columns: Vec<Line>,
    /// The u of 64 steps at a time: the first elements of all of them, then the second ones.
    steps: Vec<Line>,
    taken: usize,
    /// W x of the arm that was last squared, and its number and square.
    y: Vec<Line>,
    squared: Option<(usize, f64)>,
    /// V^-1 x of the arm that was last added.
    z: Vec<f64>,
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
    pub(super) fn new(kernel: Kernel, packed: &[f64], dim: usize) -> Self {
        let mut factor = Self::of_diagonal(kernel, 0.0, dim);
        for i in 0..dim {
            let row = &packed[triangle(i)..triangle(i + 1)];
            row.iter().enumerate().for_each(|(j, w)| *factor.element(i, j) = *w);
        }
        factor
    }

    /// From a diagonal that is the same everywhere.
    pub(super) fn of_diagonal(kernel: Kernel, root: f64, dim: usize) -> Self {
        let y = vec![Line::default(); dim.div_ceil(8)];
        let columns = vec![Line::default(); y.len() * dim];
        let mut factor = Self { kernel, columns, steps: Vec::new(), taken: 0, y, squared: None, z: vec![0.0; dim] };
        (0..dim).for_each(|i| *factor.element(i, i) = root);
        factor
    }

    fn element(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.columns[j * self.y.len() + i / 8].0[i % 8]
    }

    /// |W x|^2 in full, for the arm with this number.
    pub(super) fn square(&mut self, number: usize, x: &[f64]) -> Square {
        self.kernel.times(&self.columns, self.y.len(), 0, x, &mut self.y);
        let value = squares(&self.y);
        self.squared = Some((number, value));
        Square { value, taken: self.taken, full: true }
    }

    /// The same from what is known of it.
    pub(super) fn complete(&mut self, square: Square, number: usize, x: &[f64]) -> Square {
        if square.full && square.taken == self.taken { square } else { self.square(number, x) }
    }

    /// Follows the rows that were added since: by steps, or in full where there are so many that this is faster.
    pub(super) fn follow(&mut self, square: Square, number: usize, x: &[f64]) -> Square {
        if self.taken - square.taken > x.len() {
            return self.square(number, x);
        }
        Square { value: square.value - self.falls(square.taken, x), taken: self.taken, full: false }
    }

    /// By how much the square has fallen since `taken` rows were added.
    fn falls(&self, taken: usize, x: &[f64]) -> f64 {
        let (mut at, mut along, mut fallen) = (taken, [Line::default(); LINES], 0.0);
        while at < self.taken {
            let block = at / (8 * LINES);
            let (begin, end) = (block * 8 * LINES, self.taken.min((block + 1) * 8 * LINES));
            let steps = &self.steps[block * LINES * x.len()..(block + 1) * LINES * x.len()];
            let lines = (at - begin) / 8..(end - begin).div_ceil(8);
            let along = &mut along[lines.clone()];
            self.kernel.times(steps, LINES, lines.start, x, along);
            // What came before does not count.
            along[0].0[..at % 8].fill(0.0);
            fallen += squares(along);
            at = end;
        }
        fallen
    }

    /// W of V + x x' from W of V: with y = W x, z = W' y = V^-1 x and t = 1 + |y|^2, that is W - y z' / (t + sqrt(t)), the
    /// inverse of the symmetric root of I + y y' times W (Potter's form of the update).
    pub(super) fn add(&mut self, number: usize, x: &[f64]) {
        let square = match self.squared.take() {
            Some((squared, square)) if squared == number => square,
            _ => self.square(number, x).value,
        };
        self.squared = None;
        let (t, d) = (1.0 + square, x.len());
        let root = t.sqrt();
        self.kernel.turn(&mut self.columns, &self.y, -1.0 / (t + root), &mut self.z);
        let (block, lane) = (self.taken / (8 * LINES), self.taken % (8 * LINES));
        self.steps.resize((block + 1) * LINES * d, Line::default());
        let lines = self.steps[block * LINES * d..].iter_mut().skip(lane / 8).step_by(LINES);
        lines.zip(&self.z).for_each(|(line, z)| line.0[lane % 8] = z / root);
        self.taken += 1;
    }
}

/// The sum of the squares, in the one order that there is.
fn squares(y: &[Line]) -> f64 {
    let mut sums = [0.0; 8];
    for line in y {
        (0..8).for_each(|lane| sums[lane] += line.0[lane] * line.0[lane]);
    }
    sum_of(sums)
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
            Factor::new(Kernel::get(), posterior.factor(), D)
        };
        let mut shrinking = factor(&model);
        let mut before = Vec::new();
        for id in 0..100 {
            before.push(shrinking.square(0, &row(500)).value);
            model.observe(&Observation { t: 1, block: 0, x: &row(id), reward: 0.0 }).expect("finite");
            shrinking.add(1, &row(id));
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
}
