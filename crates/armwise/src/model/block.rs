//! The sums of one block, and how rows are added to them.
//!
//! Every element is added to in the order of the rows, so a batch gives the bits of one row at a time.

use super::Observation;
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
        let d = self.b.len();
        for seen in rows {
            let scaled = weight * seen.reward;
            self.b.iter_mut().zip(seen.x).for_each(|(b, x)| *b += scaled * x);
        }
        self.add_squares(rows.iter().map(|seen| (seen.reward, weight)));
        let mut lines = Vec::with_capacity(d);
        let mut rest = self.g.as_mut_slice();
        for i in 0..d {
            let (line, tail) = rest.split_at_mut(i + 1);
            lines.push(line);
            rest = tail;
        }
        let add_line = |(i, line): (usize, &mut [f64])| {
            for seen in rows {
                let scaled = weight * seen.x[i];
                line.iter_mut().zip(seen.x).for_each(|(g, x)| *g += scaled * x);
            }
        };
        if rows.len() * d * d > PARALLEL {
            tasks::share_parts(lines.into_iter(), || (), |(), i, line| add_line((i, line)));
        } else {
            lines.into_iter().enumerate().for_each(add_line);
        }
    }
}
