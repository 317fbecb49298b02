//! Why limits cannot be met, in numbers that a user can check: a minimum cut.
//!
//! It is read off the best filling there is. Start from the nodes that lack a unit and add every node that could give
//! one, by a row that moves or by a limit with room. No unit can come in from outside: limits that lead in are at their
//! maximum, limits that lead out are at their minimum or below, and no row can move in. So the minima ask for more than
//! the maxima and the rows allow. Without groups it is a Hall set: blocks that need more than their rows can fill.

use super::network::Network;
use crate::oracle::{Infeasible, Limit, Pick, Scores};

/// The smallest set of limits that explains the shortfall, given a filling that leaves as few units open as possible.
pub(super) fn explain(scores: &Scores<'_>, per_row: usize, network: &Network, arms: &[Pick]) -> Infeasible {
    let inside = reach(scores, per_row, network, arms);
    let (mut minima, mut maxima) = (Vec::new(), Vec::new());
    let (mut needed, mut allowed) = (0usize, 0usize);
    for (limit, &parent) in network.parents.iter().enumerate() {
        if inside[limit] == inside[parent] {
            continue;
        }
        let (min, max) = network.bounds[limit];
        if inside[limit] == network.counts_down(limit) {
            maxima.push(limit);
            allowed = allowed.saturating_add(max);
        } else {
            minima.push(limit);
            needed = needed.saturating_add(min);
        }
    }
    let (rows, places) = capacity(scores, per_row, network, &inside);
    if maxima.is_empty() && minima.iter().all(|&limit| limit < network.blocks) {
        return Infeasible::TooFewRows { blocks: minima, needed, rows, places };
    }
    let named =
        |limits: Vec<usize>| limits.into_iter().map(|limit| network.names[limit].clone()).collect::<Vec<Limit>>();
    Infeasible::Contradiction { minima: named(minima), needed, maxima: named(maxima), allowed, rows, places }
}

/// The nodes from which a unit could come to one that lacks it.
fn reach(scores: &Scores<'_>, per_row: usize, network: &Network, arms: &[Pick]) -> Vec<bool> {
    let (blocks, root) = (network.blocks, network.root());
    let counts = network.counts(arms);
    let mut chosen = vec![Vec::new(); scores.len()];
    arms.iter().for_each(|arm| chosen[arm.row].push(arm.block));
    let mut inside = vec![false; root + 1];
    for limit in (0..root).filter(|&limit| counts[limit] < network.bounds[limit].0) {
        // One more arm of a group over all blocks is one unit fewer through its node.
        inside[if network.counts_down(limit) { network.parents[limit] } else { limit }] = true;
    }
    loop {
        let before = inside.iter().filter(|inside| **inside).count();
        for (limit, &parent) in network.parents.iter().enumerate() {
            let ((min, max), count) = (network.bounds[limit], counts[limit]);
            let (more, fewer) = (count < max, count > min);
            let (up, down) = if network.counts_down(limit) { (fewer, more) } else { (more, fewer) };
            inside[limit] |= inside[parent] && up;
            inside[parent] |= inside[limit] && down;
        }
        for (row, held) in chosen.iter().enumerate() {
            let stratum = network.stratum(row);
            let node = |column: usize| network.node(stratum, column);
            let spare = held.len() < per_row;
            let eligible = |block: usize| scores.values()[row * blocks + block] > f64::NEG_INFINITY;
            let enters = (!held.is_empty() && inside[node(blocks)])
                || (0..blocks).any(|block| inside[node(block)] && !held.contains(&block) && eligible(block));
            if enters {
                let left = held.iter().copied().chain(spare.then_some(blocks));
                left.for_each(|column| inside[node(column)] = true);
            }
        }
        if inside.iter().filter(|inside| **inside).count() == before {
            return inside;
        }
    }
}

/// How many rows have eligible arms that count towards the minima, and how many places these can fill.
fn capacity(scores: &Scores<'_>, per_row: usize, network: &Network, inside: &[bool]) -> (usize, usize) {
    let (mut rows, mut places) = (0, 0);
    for (row, values) in scores.values().chunks_exact(scores.blocks()).enumerate() {
        let stratum = network.stratum(row);
        if inside[network.node(stratum, network.blocks)] {
            continue;
        }
        let counts =
            |&(block, score): &(usize, &f64)| *score > f64::NEG_INFINITY && inside[network.node(stratum, block)];
        let eligible = values.iter().enumerate().filter(counts).count();
        rows += usize::from(eligible > 0);
        places += eligible.min(per_row);
    }
    (rows, places)
}
