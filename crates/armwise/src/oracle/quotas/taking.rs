//! Quotas filled one arm after another.
//!
//! A group needs max(what its groups need, its minimum less its count) further arms; an arm may be taken if in every
//! group around it the count with it, and what is then still needed, stay within the maximum and within the arms there
//! are. Only the groups around the arm change, so that is a walk up the tree.

use super::forest::Forest;
use super::sort::Sorter;
use super::{Limits, Missing, Quotas, greedy};
use crate::oracle::{Taking, columns::each_eligible};
use crate::{Error, OnInfeasible, Pick, Scores};

/// Where a group stands.
struct Node {
    parent: usize,
    min: usize,
    max: usize,
    eligible: usize,
    count: usize,
    /// What the groups inside need together.
    inside: usize,
    limits: Limits,
}

impl Node {
    fn needs(&self) -> usize {
        self.inside.max(self.min.saturating_sub(self.count))
    }
}

/// The arms taken so far.
pub(super) struct Filling {
    /// Every group before the groups around it; the total is last.
    nodes: Vec<Node>,
    /// The innermost group of each arm, by its place in the scores.
    innermost: Vec<u32>,
    blocks: usize,
}

impl Filling {
    /// Nothing taken yet; the minima are those that can be met, which is an error unless the constraint says `fill`.
    pub(super) fn new(quotas: &Quotas, scores: &Scores<'_>) -> Result<Self, Error> {
        let forest = Forest::build(quotas, scores)?;
        let outcome = greedy::solve(&forest, scores, quotas.on_infeasible)?;
        let node = |(node, &count): (&super::forest::Node, &usize)| {
            let fill = quotas.on_infeasible == OnInfeasible::Fill;
            let min = if fill { node.limits.min.min(count) } else { node.limits.min };
            Node {
                parent: node.parent,
                min,
                max: node.limits.max,
                eligible: node.eligible,
                count: 0,
                inside: 0,
                limits: node.limits.clone(),
            }
        };
        let mut nodes: Vec<Node> = forest.nodes.iter().zip(&outcome.counts).map(node).collect();
        for at in 0..nodes.len() - 1 {
            let (needs, parent) = (nodes[at].needs(), nodes[at].parent);
            nodes[parent].inside += needs;
        }
        let mut innermost = vec![0; scores.values().len()];
        let mut sorter = Sorter::new(&quotas.groups, scores)?;
        each_eligible(scores, |arm, _| {
            innermost[scores.place(arm)] = forest.classes[sorter.class(&quotas.groups, arm)?].0 as u32;
            Ok(())
        })?;
        Ok(Self { nodes, innermost, blocks: scores.blocks() })
    }

    /// Visits the groups around an arm from the innermost on, with what each would need inside if it were taken.
    fn walk(&self, arm: Pick, mut visit: impl FnMut(usize, usize) -> bool) -> Option<bool> {
        let mut at = self.innermost[arm.row * self.blocks + arm.block] as usize;
        let mut less = 0;
        loop {
            let node = &self.nodes[at];
            let inside = node.inside - less;
            let (count, needs) = (node.count + 1, inside.max(node.min.saturating_sub(node.count + 1)));
            if count.saturating_add(needs) > node.max || count + needs > node.eligible || !visit(at, inside) {
                return None;
            }
            less = node.needs() - needs;
            if at == self.nodes.len() - 1 {
                return Some(less > 0);
            }
            at = node.parent;
        }
    }
}

impl Taking for Filling {
    fn may(&self, arm: Pick) -> Option<bool> {
        self.walk(arm, |_, _| true)
    }

    fn take(&mut self, arm: Pick) {
        let mut around = Vec::new();
        self.walk(arm, |at, inside| {
            around.push((at, inside));
            true
        });
        for (at, inside) in around {
            (self.nodes[at].count, self.nodes[at].inside) = (self.nodes[at].count + 1, inside);
        }
    }

    fn is_full(&self) -> bool {
        let total = &self.nodes[self.nodes.len() - 1];
        total.count >= total.max.min(total.eligible)
    }

    fn missing(&self) -> Vec<Missing> {
        let mut short: Vec<&Node> = self.nodes.iter().filter(|node| node.count < node.limits.min).collect();
        short.sort_by(|a, b| a.limits.by_order(&b.limits));
        let missing =
            |node: &&Node| Missing { of: node.limits.least().to_owned(), needed: node.limits.min, chosen: node.count };
        short.iter().map(missing).collect()
    }
}
