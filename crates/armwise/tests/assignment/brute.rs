//! Brute force over all super arms.

use crate::Problem;
use armwise::{
    Pick, Quota,
    oracle::{BlockQuotas, Group, OneOrMany},
};

/// The best filling: mandatory units, sum of scores, chosen arms.
pub(crate) struct Best {
    pub(crate) mandatory: usize,
    pub(crate) sum: f64,
    pub(crate) arms: Vec<Pick>,
}

pub(crate) fn bounds(problem: &Problem) -> Vec<(usize, usize)> {
    let bounds = |quota: &Quota| match *quota {
        Quota::Exactly(count) => (count, count),
        Quota::Between(range) => (range.min, range.max.unwrap_or(usize::MAX)),
    };
    match &problem.constraint.quotas {
        BlockQuotas::All(quota) => vec![bounds(quota); problem.blocks],
        BlockQuotas::Each(each) => each.iter().map(bounds).collect(),
    }
}

/// Whether an arm is in a group that gives its value.
pub(crate) fn is_in(problem: &Problem, group: &Group, arm: Pick) -> bool {
    let (_, of_rows) = problem.columns.iter().find(|column| column.0 == group.column).unwrap();
    let inside = match group.value.as_ref().unwrap() {
        OneOrMany::One(value) => of_rows[arm.row] == *value,
        OneOrMany::Many(values) => values.contains(&of_rows[arm.row]),
    };
    inside && group.block.is_none_or(|block| block == arm.block)
}

/// The bounds of the quotas and the groups, and which of these limits each arm counts towards.
pub(crate) fn limits(problem: &Problem, quotas: &[(usize, usize)]) -> (Vec<(usize, usize)>, Vec<Vec<usize>>) {
    let groups = &problem.constraint.groups;
    let of_group = |group: &Group| match group.exactly {
        Some(exactly) => (exactly, exactly),
        None => (group.min.unwrap_or(0), group.max.unwrap_or(usize::MAX)),
    };
    let bounds = quotas.iter().copied().chain(groups.iter().map(of_group)).collect();
    let of_arm = |place: usize| {
        let arm = Pick { row: place / problem.blocks, block: place % problem.blocks };
        let inside = (0..groups.len()).filter(|&group| is_in(problem, &groups[group], arm));
        std::iter::once(arm.block).chain(inside.map(|group| problem.blocks + group)).collect()
    };
    (bounds, (0..problem.values.len()).map(of_arm).collect())
}

/// Compares every choice of blocks for every row by (mandatory units, sum, fewer arms, first arm in tie order).
pub(crate) fn best(problem: &Problem, quotas: &[(usize, usize)]) -> Best {
    let blocks = problem.blocks;
    let mut order: Vec<Pick> = (0..problem.values.len()).map(|p| Pick { row: p / blocks, block: p % blocks }).collect();
    problem.with(|scores| order.sort_by(|&a, &b| scores.tie_order(a, b)));
    let mut weight = vec![0u32; order.len()];
    for (place, arm) in order.iter().enumerate() {
        weight[arm.row * blocks + arm.block] = 1 << (order.len() - 1 - place);
    }
    let (bounds, limits) = limits(problem, quotas);
    let counts = vec![0; bounds.len()];
    let mut search = Search { problem, bounds, limits, weight, counts, best: None };
    search.visit(0, 0.0, 0, 0);
    let (mandatory, sum, _, set) = search.best.expect("choosing nothing is always possible");
    let arms = (0..search.weight.len()).filter(|&place| search.weight[place] & set != 0);
    Best { mandatory, sum, arms: arms.map(|p| Pick { row: p / blocks, block: p % blocks }).collect() }
}

struct Search<'a> {
    problem: &'a Problem,
    bounds: Vec<(usize, usize)>,
    limits: Vec<Vec<usize>>,
    weight: Vec<u32>,
    counts: Vec<usize>,
    best: Option<(usize, f64, isize, u32)>,
}

impl Search<'_> {
    fn visit(&mut self, row: usize, sum: f64, fewer: isize, set: u32) {
        let blocks = self.problem.blocks;
        if row == self.problem.rows() {
            let mandatory = self.counts.iter().zip(&self.bounds).map(|(&count, bounds)| count.min(bounds.0)).sum();
            let found = (mandatory, sum, fewer, set);
            if self.best.is_none_or(|best| best < found) {
                self.best = Some(found);
            }
            return;
        }
        for subset in 0u32..1 << blocks {
            let held: Vec<usize> = (0..blocks).filter(|block| subset >> block & 1 == 1).collect();
            let score = |block: usize| self.problem.values[row * blocks + block];
            if held.len() > self.problem.constraint.per_row
                || held.iter().any(|&block| score(block) == f64::NEG_INFINITY)
            {
                continue;
            }
            let gain: f64 = held.iter().map(|&block| score(block)).sum();
            let bits: u32 = held.iter().map(|&block| self.weight[row * blocks + block]).sum();
            let touched: Vec<usize> =
                held.iter().flat_map(|block| self.limits[row * blocks + block].iter().copied()).collect();
            touched.iter().for_each(|&limit| self.counts[limit] += 1);
            if touched.iter().all(|&limit| self.counts[limit] <= self.bounds[limit].1) {
                self.visit(row + 1, sum + gain, fewer - held.len().cast_signed(), set | bits);
            }
            touched.iter().for_each(|&limit| self.counts[limit] -= 1);
        }
    }
}
