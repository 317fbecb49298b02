//! Means and widths from earlier rounds, and how they become bounds for the present one.
//!
//! *How much V grew* is computed from the matrices, not from the learner's history, so forgetting, correcting, merging
//! or replacing the model needs no bookkeeping: if V_now - c V_then + delta I has a Cholesky factor in floating point,
//! then V_now >= c V_then - rho I with rho = 2 delta for delta = 4 (d + 2) 2^-53 (tr V_now + c tr V_then) (the backward
//! error of Cholesky), and since |W_then|_F^2 = tr V_then^-1, width_now <= width_then / sqrt(c - rho |W_then|_F^2). A few
//! steps of power iteration tell which c to try: above 1 if V grew in every direction, below 1 after forgetting.

use crate::Posterior;
use crate::kernel::triangle;
use crate::model::{UNIT, Widths, cholesky, growth};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is remembered about the arms of a part, as many as a task has; arms past the last have zeros.
#[derive(Debug, Default)]
pub(in crate::prune) struct Part {
    /// Upper bounds of the widths.
    pub(in crate::prune) widths: Vec<f32>,
    /// Upper bounds of direction . x, up to the error of a product in f32.
    pub(in crate::prune) dots: Vec<f32>,
}

/// All parts, each under its own lock. Nobody ever waits for one, since each task uses only its own part.
#[derive(Debug)]
pub(in crate::prune) struct Memory(Vec<Mutex<Part>>);

impl Memory {
    /// Room for this many parts.
    pub(in crate::prune) fn new(parts: usize) -> Self {
        Self((0..parts).map(|_| Mutex::default()).collect())
    }

    /// A part, to read and to write.
    pub(in crate::prune) fn part(&self, part: usize) -> MutexGuard<'_, Part> {
        self.0[part].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Means and widths from earlier rounds.
#[derive(Debug)]
pub(super) struct Remembered {
    /// V as it was in the last round, with tr V and tr V^-1.
    v: Vec<f64>,
    widths: Widths,
    /// The direction of the products in `memory.dots`.
    pub(super) direction: Vec<f64>,
    pub(super) memory: Memory,
    /// The factor by which the widths must be multiplied.
    pub(super) slack: f64,
    /// Room for the upper bounds of a round.
    pub(super) uppers: Vec<f32>,
}

impl Remembered {
    /// An empty memory, or one with the widths of this posterior.
    pub(super) fn new(posterior: &Posterior, memory: Memory) -> Self {
        let (v, widths) = (posterior.v().to_vec(), *posterior.widths());
        Self { v, widths, direction: Vec::new(), memory, slack: 1.0 + 2.0 * widths.eta, uppers: Vec::new() }
    }

    /// The bounds adjusted to the posterior of today; none if they have become too loose to be of use.
    pub(super) fn grown(self, posterior: &Posterior) -> Option<Self> {
        /// If V shrank below this multiple of what it was, the bounds are dropped.
        const LEAST: f64 = 0.5;
        /// How far below the estimate c is tried, the tightest first.
        const BEYOND: [f64; 3] = [1.01, 1.04, 1.15];
        let (v, d, widths) = (posterior.v(), posterior.dim(), *posterior.widths());
        if v == self.v {
            return Some(self);
        }
        if self.v.len() != v.len() {
            return None;
        }
        let delta = |c: f64| 4.0 * (d as f64 + 2.0) * UNIT * (widths.trace + c * self.widths.trace);
        let holds = |c: f64| {
            let shift = |i, j| if i == j { delta(c) } else { 0.0 };
            cholesky(d, |i, j| v[triangle(i) + j] - c * self.v[triangle(i) + j] + shift(i, j)).is_ok()
        };
        let ratio = |i: usize| v[triangle(i + 1) - 1] / self.v[triangle(i + 1) - 1];
        let above = (0..d).map(ratio).fold(f64::INFINITY, f64::min) * (1.0 + 1e-9);
        let estimate = growth(posterior, &self.v);
        let mut tried: Vec<f64> = BEYOND.iter().map(|beyond| estimate / beyond).chain([1.0, LEAST]).collect();
        tried.retain(|c| (LEAST..=above).contains(c));
        tried.sort_unstable_by(|a, b| b.total_cmp(a));
        let c = tried.into_iter().find(|&c| holds(c))?;
        let least = c - 2.0 * delta(c) * self.widths.inverse_trace;
        let slack = self.slack / least.sqrt() * (1.0 + 1e-9);
        (least > 0.9 * c).then(|| Self { slack, v: v.to_vec(), widths, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_v_that_shrank_is_noticed() {
        let rows = |count: usize| {
            let mut model = crate::Model::new(3, 1).expect("shape");
            for i in 0..count {
                let x = [1.0, i as f64, 0.5];
                model.observe(&crate::Observation { t: 1, block: 0, x: &x, reward: 0.0 }).expect("finite");
            }
            model.posterior(0, 1.0).expect("factors")
        };
        let remembered = |posterior: &Posterior| Remembered::new(posterior, Memory::new(0));
        let (few, many) = (rows(3), rows(4));
        assert!(remembered(&few).grown(&many).is_some_and(|remembered| remembered.slack < 1.0 + 1e-8));
        assert!(remembered(&few).grown(&few).is_some());
        let shrunk = remembered(&many).grown(&few);
        // The fourth row is most of V: its loss more than halves V along (0, 1, 0).
        assert!(shrunk.is_none_or(|remembered| remembered.slack > 1.2));
    }
}
