//! Which rows of a part can matter.
//!
//! With at most k arms, an arm matters only if fewer than k rows hold an arm that costs no more and is better (the
//! k-skyband). Otherwise one of those rows has no chosen arm, and exchanging the two arms gains. Equal arms are ordered
//! by the tie rule, so ties do not enlarge the band.

use super::problem::{Arm, Problem};
use crate::{Pick, Scores, oracle::rows_of};
use std::collections::{BTreeMap, HashMap};

/// An arm with its place in the order of arms that compete.
type Ranked<'a> = (usize, &'a Arm);

/// The rows that suffice, ascending.
pub(super) fn rows(problem: &Problem, scores: &Scores<'_>) -> Vec<usize> {
    let Some(k) = problem.k else { return rows_of(problem.arms.iter().map(|arm| &arm.pick)) };
    let mut arms: Vec<&Arm> = problem.arms.iter().collect();
    arms.sort_unstable_by(|a, b| problem.order(a, b, scores));
    let mut arms: Vec<Ranked<'_>> = arms.into_iter().enumerate().collect();
    // Arms of different blocks use different budgets, so each block with a budget has a separate band.
    let by_block = problem.limits.iter().any(|limit| limit.block.is_some());
    let block = |arm: &Ranked<'_>| if by_block { arm.1.pick.block } else { 0 };
    arms.sort_by(|a, b| block(a).cmp(&block(b)).then_with(|| a.1.cost.total_cmp(&b.1.cost)));
    rows_of(arms.chunk_by(|a, b| block(a) == block(b)).flat_map(|arms| band(arms, k)))
}

/// The arms, by rising cost, that fewer than k rows beat.
fn band<'a>(arms: &[Ranked<'a>], k: usize) -> Vec<&'a Pick> {
    // The best arm so far of each of the k best rows.
    let mut best: BTreeMap<usize, usize> = BTreeMap::new();
    let mut best_of: HashMap<usize, usize> = HashMap::new();
    let mut kept = Vec::new();
    for &(rank, arm) in arms {
        if best.len() == k && best.last_key_value().is_some_and(|(&worst, _)| worst < rank) {
            continue;
        }
        kept.push(&arm.pick);
        let row = arm.pick.row;
        match best_of.get(&row) {
            Some(&own) if own < rank => continue,
            Some(own) => best.remove(own),
            None => None,
        };
        best.insert(rank, row);
        best_of.insert(row, rank);
        if best.len() > k
            && let Some((_, worst)) = best.pop_last()
        {
            best_of.remove(&worst);
        }
    }
    kept
}
