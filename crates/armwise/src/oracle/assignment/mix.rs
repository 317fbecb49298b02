//! Between two fillings that are optimal at the same price of cost: as many exchanges as the budget allows.
//!
//! Both meet all limits, so the difference of the two is a circulation in the network and falls apart into cycles: rows
//! that change their column, and limits that get more or less. Each cycle alone leaves all limits met. Neither filling
//! can be improved at the price, so a cycle brings exactly its cost times the price: those that cost most and still fit
//! are taken first.

use super::network::Network;
use crate::oracle::{Pick, Scores};

/// A step of a cycle, from one node to another.
#[derive(Clone, Copy)]
struct Step {
    from: usize,
    to: usize,
    /// The row that changes from one column to another; none for a limit that gets another count.
    change: Option<(usize, usize, usize)>,
}

/// The arms that fit, improved by cycles of the difference to the dearer arms.
pub(super) fn mix(
    network: &Network,
    scores: &Scores<'_>,
    costs: &[f64],
    budget: f64,
    fitting: &[Pick],
    dearer: &[Pick],
) -> Vec<Pick> {
    let (blocks, root) = (network.blocks, network.root());
    let sorted = |arms: &[Pick]| {
        let mut arms = arms.to_vec();
        arms.sort_unstable_by_key(|&arm| (scores.keys().id(arm.row), scores.keys().name(arm.row), arm.block));
        arms
    };
    let (mut chosen, other) = (sorted(fitting), sorted(dearer));
    let steps = steps(scores, network, &chosen, &other);
    let value = |row: usize, block: usize, of: &dyn Fn(usize) -> f64| {
        if block == blocks { 0.0 } else { of(row * blocks + block) }
    };
    let mut cycles: Vec<(f64, Vec<Step>)> = Vec::new();
    for cycle in decompose(steps, root + 1) {
        let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
            let changes = cycle.iter().filter_map(|step| step.change);
            changes.map(|(row, left, entered)| value(row, entered, of) - value(row, left, of)).sum()
        };
        let (gain, cost) = (sum(&|place| scores.values()[place]), sum(&|place| costs[place]));
        if gain > 0.0 {
            cycles.push((cost, cycle));
        }
    }
    cycles.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = budget - fitting.iter().map(|arm| costs[scores.place(*arm)]).sum::<f64>();
    let mut gone = std::collections::HashSet::new();
    let mut come = Vec::new();
    for (cost, cycle) in cycles.into_iter().filter(|(cost, _)| cost.is_finite()) {
        if cost > left {
            continue;
        }
        left -= cost;
        for (row, left, entered) in cycle.into_iter().filter_map(|step| step.change) {
            gone.insert(Pick { row, block: left });
            come.extend(Some(Pick { row, block: entered }).filter(|arm| arm.block < blocks));
        }
    }
    chosen.retain(|arm| !gone.contains(arm));
    chosen.extend(come);
    chosen
}

/// The difference of two fillings as steps from node to node, in an order that does not depend on that of the rows.
fn steps(scores: &Scores<'_>, network: &Network, chosen: &[Pick], other: &[Pick]) -> Vec<Step> {
    let (mut steps, blocks) = (Vec::new(), network.blocks);
    let key = |arm: &Pick| (scores.keys().id(arm.row), scores.keys().name(arm.row));
    let (mut here, mut there) =
        (chosen.chunk_by(|a, b| a.row == b.row).peekable(), other.chunk_by(|a, b| a.row == b.row).peekable());
    loop {
        let order = match (here.peek(), there.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => key(&a[0]).cmp(&key(&b[0])),
        };
        let has = if order.is_le() { here.next().unwrap_or_default() } else { &[] };
        let gets = if order.is_ge() { there.next().unwrap_or_default() } else { &[] };
        let only =
            |of: &[Pick], but: &[Pick]| -> Vec<Pick> { of.iter().filter(|arm| !but.contains(arm)).copied().collect() };
        let (lost, won) = (only(has, gets), only(gets, has));
        for place in 0..lost.len().max(won.len()) {
            let (left, entered) = (lost.get(place), won.get(place));
            let Some(row) = left.or(entered).map(|arm| arm.row) else { continue };
            let column = |arm: Option<&Pick>| arm.map_or(blocks, |arm| arm.block);
            let (left, entered) = (column(left), column(entered));
            let node = |column| network.node(network.stratum(row), column);
            steps.push(Step { from: node(left), to: node(entered), change: Some((row, left, entered)) });
        }
    }
    let (before, after) = (network.counts(chosen), network.counts(other));
    for (limit, &parent) in network.parents.iter().enumerate() {
        let more = after[limit].cast_signed() - before[limit].cast_signed();
        let more = if network.counts_down(limit) { -more } else { more };
        // A unit more through the limit goes from its node to the one around it.
        let (from, to) = if more > 0 { (limit, parent) } else { (parent, limit) };
        steps.extend((0..more.unsigned_abs()).map(|_| Step { from, to, change: None }));
    }
    steps
}

/// Cycles that use every step once: walk on until a node comes again, and cut off what lies between.
fn decompose(steps: Vec<Step>, nodes: usize) -> Vec<Vec<Step>> {
    let mut out: Vec<Vec<Step>> = vec![Vec::new(); nodes];
    steps.into_iter().rev().for_each(|step| out[step.from].push(step));
    let mut cycles = Vec::new();
    for start in 0..nodes {
        let mut walk: Vec<Step> = Vec::new();
        let mut place = vec![None; nodes];
        let mut node = start;
        place[start] = Some(0);
        while let Some(step) = out[node].pop() {
            walk.push(step);
            node = step.to;
            if let Some(first) = place[node] {
                let cycle = walk.split_off(first);
                cycle.iter().for_each(|step| place[step.to] = None);
                place[node] = Some(walk.len());
                cycles.push(cycle);
            } else {
                place[node] = Some(walk.len());
            }
        }
    }
    cycles
}
