//! The greedy up the tree of groups, and the prices of its limits.
//!
//! Every group hands its parent two lists, the arms that minima demand and the further arms
//! by rank; the best n arms of the group are the first list and the head of the second, for every n it allows.

use super::forest::Forest;
use crate::oracle::{Infeasible, OnInfeasible};
use crate::{Error, Pick, Scores};

/// What the greedy found.
pub(super) struct Outcome {
    pub(super) chosen: Vec<Pick>,
    /// Arms that a minimum demands and an outer maximum refused; only where minima contradict maxima.
    pub(super) dropped: Vec<Pick>,
    /// How many were chosen in each node.
    pub(super) counts: Vec<usize>,
    /// The nodes whose limit has a price, in the order of the constraint, the total last.
    pub(super) prices: Vec<(usize, f64)>,
}

/// An arm with its class.
type Entry = (Pick, usize);

/// The lists of a group.
#[derive(Default)]
struct Lists {
    demanded: Vec<Entry>,
    further: Vec<Entry>,
}

pub(super) fn solve(forest: &Forest, scores: &Scores<'_>, on_infeasible: OnInfeasible) -> Result<Outcome, Error> {
    let mut lists: Vec<Lists> = forest.nodes.iter().map(|_| Lists::default()).collect();
    for (class, (node, arms)) in forest.classes.iter().enumerate() {
        lists[*node].further.extend(arms.iter().map(|&arm| (arm, class)));
    }
    let mut dropped = Vec::new();
    let total = forest.nodes.len() - 1;
    for (at, node) in forest.nodes.iter().enumerate() {
        let Lists { mut demanded, mut further } = std::mem::take(&mut lists[at]);
        let (min, max) = (node.limits.min, node.limits.max);
        let by_rank = |a: &Entry, b: &Entry| scores.rank(a.0, b.0);
        // The children's lists are sorted runs, which a stable sort merges.
        further.sort_by(by_rank);
        if demanded.len() > max {
            if on_infeasible == OnInfeasible::Error {
                let (allowed, needed) = (max, demanded.len());
                let group = node.limits.most().to_owned();
                return Err(Error::Infeasible(Infeasible::GroupMaximum { group, allowed, needed }));
            }
            demanded.sort_unstable_by(by_rank);
            dropped.extend(demanded.drain(max..).map(|(arm, _)| arm));
        }
        let choosable = max.min(demanded.len() + further.len());
        if choosable < min && on_infeasible == OnInfeasible::Error {
            let (group, needed, eligible) = (node.limits.least().to_owned(), min, node.eligible);
            return Err(Error::Infeasible(Infeasible::GroupMinimum { group, needed, eligible, choosable }));
        }
        further.truncate(choosable - demanded.len());
        let moved = min.saturating_sub(demanded.len()).min(further.len());
        demanded.extend(further.drain(..moved));
        if at == total {
            further.retain(|entry| scores.get(entry.0) > 0.0);
            lists[at] = Lists { demanded, further };
        } else {
            lists[node.parent].demanded.append(&mut demanded);
            lists[node.parent].further.append(&mut further);
        }
    }
    let Lists { demanded, further } = std::mem::take(&mut lists[total]);
    let chosen: Vec<Entry> = demanded.into_iter().chain(further).collect();
    let mut taken: Vec<usize> = vec![0; forest.classes.len()];
    let mut counts = vec![0; forest.nodes.len()];
    for &(_, class) in &chosen {
        taken[class] += 1;
        counts[forest.classes[class].0] += 1;
    }
    for at in 0..total {
        counts[forest.nodes[at].parent] += counts[at];
    }
    let prices = if dropped.is_empty() { prices(forest, scores, &taken, &counts) } else { Vec::new() };
    Ok(Outcome { chosen: chosen.into_iter().map(|(arm, _)| arm).collect(), dropped, counts, prices })
}

/// What one more unit of each tight limit adds to the objective: the best arm that could enter the group, less what
/// its place costs around the group.
fn prices(forest: &Forest, scores: &Scores<'_>, taken: &[usize], counts: &[usize]) -> Vec<(usize, f64)> {
    let nodes = &forest.nodes;
    let total = nodes.len() - 1;
    // Per node: the best score that can enter and the least that can leave without touching a limit inside.
    let mut enter = vec![f64::NEG_INFINITY; nodes.len()];
    let mut leave = vec![f64::INFINITY; nodes.len()];
    for ((node, arms), &taken) in forest.classes.iter().zip(taken) {
        // Within a class the chosen arms are its first ones by rank.
        if let Some(&next) = arms.get(taken) {
            enter[*node] = enter[*node].max(scores.get(next));
        }
        if taken > 0 {
            leave[*node] = leave[*node].min(scores.get(arms[taken - 1]));
        }
    }
    for at in 0..total {
        let parent = nodes[at].parent;
        if counts[at] < nodes[at].limits.max {
            enter[parent] = enter[parent].max(enter[at]);
        }
        if counts[at] > nodes[at].limits.min {
            leave[parent] = leave[parent].min(leave[at]);
        }
    }
    // What a place costs in the groups around a node, outermost first.
    let mut place = vec![0.0_f64; nodes.len()];
    let mut prices = Vec::new();
    for at in (0..=total).rev() {
        let (limits, parent) = (&nodes[at].limits, nodes[at].parent);
        let around = if at == total { 0.0 } else { place[parent] };
        let full = counts[at] == limits.max;
        place[at] = if full { leave[at] } else { leave[at].min(around) };
        let gain = enter[at] - around;
        let value = match (full, counts[at] <= limits.min && limits.min > 0) {
            (true, true) => gain,
            (true, false) => gain.max(0.0),
            (false, true) => gain.min(0.0),
            (false, false) => 0.0,
        };
        if value.is_finite() && (limits.max < usize::MAX || limits.min > 0) {
            prices.push((at, value));
        }
    }
    prices.sort_by(|a, b| nodes[a.0].limits.by_order(&nodes[b.0].limits));
    prices
}
