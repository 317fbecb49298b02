//! The assignment oracle against brute force, by its own certificate, in parts, and on any input at all.
//!
//! Brute force here orders super arms by the documented rule (mandatory units, sum, fewer
//! arms, first arm in tie order) and nothing else, so it also decides which of several optima is right.

#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests, on scores whose sums are exact")]

mod brute;
mod certificate;
mod composition;
mod groups;
mod small;
mod values;
mod warm;
mod within_budget;

use armwise::{Arms, Assignment, Column, Error, Oracle, Pick, Quota, Round, Scores, Selection, Stream, Ties};

/// Random numbers of the tests.
pub(crate) struct Rng {
    seed: u64,
    count: u64,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, count: 0 }
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.count += 1;
        (Round::new(self.seed, 1).draws(0, Stream(300)).bits(self.count) % n as u64) as usize
    }

    pub(crate) fn normal(&mut self) -> f64 {
        self.count += 1;
        Round::new(self.seed, 1).draws(0, Stream(301)).normal(self.count)
    }
}

/// A problem that owns its data.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) values: Vec<f64>,
    pub(crate) blocks: usize,
    pub(crate) ids: Vec<u64>,
    pub(crate) ties: Ties,
    /// Columns with one value per row.
    pub(crate) columns: Vec<(&'static str, Vec<f64>)>,
    pub(crate) constraint: Assignment,
}

impl Problem {
    pub(crate) fn rows(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&Scores<'_>) -> T) -> T {
        let features = vec![0.0; self.rows()];
        let columns: Vec<Column<'_>> = self.columns.iter().map(|(name, values)| Column { name, values }).collect();
        let arms = Arms::new(&features, 1).unwrap().with_ids(&self.ids).unwrap().with_columns(&columns).unwrap();
        look(&Scores::new(&self.values, self.blocks, arms, self.ties, Round::new(9, 4)).unwrap())
    }

    pub(crate) fn solve(&self) -> Result<Selection, Error> {
        self.with(|scores| self.constraint.argmax(scores))
    }

    /// The same problem on some of its rows, in this order.
    pub(crate) fn on(&self, rows: &[usize]) -> Self {
        let row = |&row: &usize| &self.values[row * self.blocks..(row + 1) * self.blocks];
        Self {
            values: rows.iter().flat_map(row).copied().collect(),
            ids: rows.iter().map(|&row| self.ids[row]).collect(),
            columns: self.columns.iter().map(|(name, of)| (*name, rows.iter().map(|&row| of[row]).collect())).collect(),
            ..self.clone()
        }
    }

    /// Chosen arms by id, ascending.
    pub(crate) fn named(&self, arms: &[Pick]) -> Vec<(u64, usize)> {
        let mut named: Vec<_> = arms.iter().map(|arm| (self.ids[arm.row], arm.block)).collect();
        named.sort_unstable();
        named
    }
}

/// A random permutation of 0..n.
pub(crate) fn shuffled(n: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).for_each(|i| order.swap(i, rng.below(i + 1)));
    order
}

/// A random problem with few distinct scores: many ties, negative scores, forbidden pairs, all kinds of quotas.
pub(crate) fn random(rng: &mut Rng, rows: usize, blocks: usize, per_row: usize, largest_quota: usize) -> Problem {
    let levels = [2, 4, 8, 4096][rng.below(4)];
    let forbidden = [0, 0, 20, 60][rng.below(4)];
    let shift = rng.below(levels + 1);
    let mut score = || {
        if rng.below(100) < forbidden { f64::NEG_INFINITY } else { (rng.below(levels) as f64 - shift as f64) / 16.0 }
    };
    let values = (0..rows * blocks).map(|_| score()).collect();
    let kind = rng.below(3);
    let quotas = (0..blocks).map(|_| {
        let (a, b) = (rng.below(largest_quota + 1), rng.below(largest_quota + 1));
        match if kind == 2 { rng.below(2) } else { kind } {
            0 => Quota::Exactly(a),
            _ if rng.below(3) == 0 => Quota::at_most(a),
            _ => Quota::between(a.min(b), a.max(b)),
        }
    });
    let quotas: Vec<Quota> = quotas.collect();
    let ids = shuffled(rows, rng).into_iter().map(|i| i as u64 * 7 + 3).collect();
    let ties = [Ties::ById, Ties::Random][rng.below(2)];
    let columns = Vec::new();
    Problem { values, blocks, ids, ties, columns, constraint: Assignment { per_row, ..Assignment::new(quotas) } }
}
