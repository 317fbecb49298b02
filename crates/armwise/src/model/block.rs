//! The sums of one block, and how rows are added to them.
//!
//! Every element is added to in the order of the rows, so a batch gives the bits of one row at a time.

use super::Observation;
use crate::kernel::Kernel;
use crate::tasks;
use serde::{Deserialize, Serialize};

/// The sums of one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// How many observations are in the sums.
    pub(crate) count: u64,
    /// sum r x.
    pub(crate) b: Vec<f64>,
    /// sum x x', the lower triangle row by row: (0,0), (1,0), (1,1), (2,0), ...
    pub(crate) g: Vec<f64>,
    /// sum r^2; none if some of the rewards were learned before this sum was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rr: Option<f64>,
}

impl Block {
    /// A block with these sums; they are checked when a model is made of it ([`Model::from_blocks`](crate::Model::from_blocks)).
    #[must_use]
    pub fn from_sums(count: u64, b: Vec<f64>, g: Vec<f64>, rr: Option<f64>) -> Self {
        Self { count, b, g, rr }
    }

    /// How many observations are in the sums.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// b = sum r x.
    #[must_use]
    pub fn b(&self) -> &[f64] {
        &self.b
    }

    /// G = sum x x': the lower triangle row by row.
    #[must_use]
    pub fn g(&self) -> &[f64] {
        &self.g
    }

    /// rr = sum r^2, from which the noise can be estimated. None if it is not known: something was learned by a
    /// version that did not keep it and came here from a file of format 1.
    #[must_use]
    pub fn rr(&self) -> Option<f64> {
        self.rr
    }

    /// A block of the same shape that knows nothing.
    pub(super) fn emptied(&self) -> Self {
        Self { count: 0, b: vec![0.0; self.b.len()], g: vec![0.0; self.g.len()], rr: Some(0.0) }
    }

    /// Adds the sums of another block, with this weight. Where one of the two does not know its sum of squares, the sum
    /// of both is not known either.
    pub(super) fn merge(&mut self, other: &Self, weight: f64) {
        self.count += other.count;
        self.b.iter_mut().zip(&other.b).for_each(|(mine, b)| *mine += weight * b);
        self.g.iter_mut().zip(&other.g).for_each(|(mine, g)| *mine += weight * g);
        self.rr = self.rr.zip(other.rr).map(|(mine, rr)| mine + weight * rr);
    }

    /// Nothing is learned any more, so nothing but rounding is left in the sums.
    pub(super) fn clear(&mut self) {
        self.g.iter_mut().chain(&mut self.b).chain(&mut self.rr).for_each(|sum| *sum = 0.0);
    }

    pub(super) fn scale(&mut self, factor: f64) {
        for sum in self.g.iter_mut().chain(&mut self.b).chain(&mut self.rr) {
            *sum *= factor;
        }
    }

    /// rr += w r^2 for every reward with its weight, in their order.
    pub(super) fn add_squares(&mut self, rewards: impl IntoIterator<Item = (f64, f64)>) {
        if let Some(rr) = &mut self.rr {
            rewards.into_iter().for_each(|(reward, weight)| *rr += weight * reward * reward);
        }
    }

    /// Adds rows in their order, each with this weight: G += w x x', b += w r x, rr += w r^2.
    pub(super) fn add(&mut self, rows: &[&Observation<'_>], weight: f64) {
        // Below this many multiplications threads cost more than they save.
        const PARALLEL: usize = 1 << 22;
        self.add_squares(rows.iter().map(|seen| (seen.reward, weight)));
        let d = self.b.len();
        // The lines of G, to which a row adds x times w x_i; and b as one more line, to which it adds x times w r.
        let (mut lines, mut rest) = (Vec::with_capacity(d + 1), self.g.as_mut_slice());
        for i in 0..d {
            lines.push(rest.split_off_mut(..=i).expect("line i has i + 1 elements"));
        }
        lines.push(&mut self.b);
        let add = |first: usize, lines: &mut [&mut [f64]]| {
            Kernel::get().add_rows(lines, rows.len(), |row, x, factors| {
                x.copy_from_slice(&rows[row].x[..x.len()]);
                let all = rows[row].x.iter().chain(std::iter::once(&rows[row].reward));
                factors.iter_mut().zip(all.skip(first)).for_each(|(factor, of)| *factor = weight * of);
            });
        };
        if rows.len() * d * d <= PARALLEL {
            return add(0, &mut lines);
        }
        let parts = tasks::threads();
        // Lines grow, so parts of equal work end at square roots.
        let end = |part: usize| (d * d * part / parts).isqrt() / 8 * 8;
        let (mut bands, mut rest) = (Vec::with_capacity(parts), lines.as_mut_slice());
        for part in 1..parts {
            bands.push((end(part - 1), rest.split_off_mut(..end(part) - end(part - 1)).unwrap_or_default()));
        }
        bands.push((end(parts - 1), rest));
        tasks::share_parts(bands.into_iter(), || (), |(), _, (first, lines)| add(first, lines));
    }
}
