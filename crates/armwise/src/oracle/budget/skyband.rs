//! Which rows of a part can matter.
//!
//! With at most k arms, an arm matters only if fewer than k rows hold an arm that costs no more and is better (the
//! k-skyband). Otherwise one of those rows has no chosen arm, and exchanging the two arms gains. Equal arms are ordered
//! by the tie rule, so ties do not enlarge the band.

use super::problem::{Arm, Problem};
use crate::Scores;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

/// An arm ordered by the problem's order of competing arms, the worst last.
struct Ranked<'a> {
    arm: Arm,
    problem: &'a Problem,
    scores: &'a Scores<'a>,
}

impl Ord for Ranked<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.problem.order(&self.arm, &other.arm, self.scores)
    }
}

impl PartialOrd for Ranked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked<'_> {}

/// The rows that suffice, ascending.
pub(super) fn rows(problem: &Problem, scores: &Scores<'_>) -> Vec<usize> {
    let mut rows: Vec<usize> = match problem.k {
        None => problem.arms.iter().map(|arm| arm.pick.row).collect(),
        Some(k) => {
            // Arms of different blocks use different budgets, so each block with a budget has a separate band.
            let by_block = problem.limits.iter().any(|limit| limit.block.is_some());
            let mut arms = problem.arms.clone();
            let block = |arm: &Arm| if by_block { arm.pick.block } else { 0 };
            arms.sort_unstable_by(|a, b| {
                let by_cost = || a.cost.total_cmp(&b.cost);
                block(a).cmp(&block(b)).then_with(by_cost).then_with(|| problem.order(a, b, scores))
            });
            arms.chunk_by(|a, b| block(a) == block(b)).flat_map(|arms| band(arms, k, problem, scores)).collect()
        }
    };
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The rows of the arms, by rising cost, that fewer than k rows beat.
fn band(arms: &[Arm], k: usize, problem: &Problem, scores: &Scores<'_>) -> Vec<usize> {
    // The best arm so far of each of the k best rows.
    let mut best: BTreeSet<Ranked<'_>> = BTreeSet::new();
    let mut best_of: HashMap<usize, Arm> = HashMap::new();
    let mut rows = Vec::new();
    for &arm in arms {
        let ranked = |arm: Arm| Ranked { arm, problem, scores };
        if best.len() == k && best.last().is_some_and(|worst| *worst < ranked(arm)) {
            continue;
        }
        rows.push(arm.pick.row);
        let row = arm.pick.row;
        match best_of.get(&row) {
            Some(&own) if ranked(own) < ranked(arm) => continue,
            Some(&own) => best.remove(&ranked(own)),
            None => false,
        };
        best.insert(ranked(arm));
        best_of.insert(row, arm);
        if best.len() > k
            && let Some(worst) = best.pop_last()
        {
            best_of.remove(&worst.arm.pick.row);
        }
    }
    rows
}
