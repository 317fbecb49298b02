//! The limits of an assignment as a flow network: where a unit goes after its row.
//!
//! A row has `per_row` places. Each is a unit in one *column*: a block, or nobody. A limit is a node, and the units that
//! it counts flow through it to the node around it, in the end to the root. Limits of a block (its quota, and groups
//! within the block) form a tree above that column. A group over all blocks counts where its rows are *not*: its tree
//! is above the column of nobody, and a chosen unit counts -1 there. So "at most 300 of the group" is "at least -300
//! through its node", rows that are not at hand count 0, and any nested limits are one network, whose optimum is whole.
//!
//! Rows in the same groups are a *stratum*: their units enter the network at the same nodes. Without groups there is
//! one stratum, one node for each block, and nobody is the root.

use super::quota::{BlockQuotas, Slots};
use super::strata::Strata;
use crate::Error;
use crate::oracle::{Group, Limit, Pick, Scores, quotas};

/// How many units may flow from a node to the one around it: from `least` to `most`, and outside `min` to `max` each
/// unit misses a minimum that the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) least: isize,
    pub(super) min: isize,
    pub(super) max: isize,
    pub(super) most: isize,
    /// The limit is a single number, so that one more unit of it raises both bounds.
    pub(super) exact: bool,
    /// How many units it has if it binds; 0 for a group without limits.
    pub(super) usual: usize,
}

impl Span {
    pub(super) fn of_block(slots: &Slots) -> Self {
        let (min, max) = (slots.min.cast_signed(), slots.max.cast_signed());
        Self { least: 0, min, max, most: max, exact: slots.exact, usual: slots.max }
    }

    /// Of a group over all blocks: bounds change sign and sides.
    pub(super) fn of_nobody(slots: &Slots) -> Self {
        let Self { min, max, exact, usual, .. } = Self::of_block(slots);
        Self { least: -max, min: -max, max: -min, most: 0, exact, usual }
    }
}

/// The nodes and the ways between them.
#[derive(Debug, Clone)]
pub(super) struct Network {
    pub(super) blocks: usize,
    /// Of each node but the root: the blocks first, then the groups.
    pub(super) spans: Vec<Span>,
    /// Of each node but the root, the node around it.
    pub(super) parents: Vec<usize>,
    /// What users call the limits, and the bounds that they gave.
    pub(super) names: Vec<Limit>,
    pub(super) bounds: Vec<(usize, usize)>,
    /// The nodes but the root, each before the one around it.
    pub(super) inside_out: Vec<usize>,
    /// The nodes of each stratum, one for each block and one for nobody.
    pub(super) nodes: Vec<u32>,
    /// The column whose units a node counts.
    pub(super) columns: Vec<usize>,
    /// The stratum of each row; empty if there is only one.
    pub(super) strata: Vec<u32>,
    /// Of each node, the limits that a unit there counts towards, where groups cross and limits are no trees; then no node
    /// is a limit, and there are prices but no flow.
    pub(super) chains: Vec<Vec<u32>>,
    /// Of each limit, whether it is a group over all blocks, so that a chosen unit counts -1.
    pub(super) down: Vec<bool>,
    /// Of each node, the nodes that a unit can move to, ascending, with the number of the pair; once connected.
    pub(super) ways: Vec<Vec<(u32, u32)>>,
    /// How many pairs of nodes have a way.
    pub(super) pairs: usize,
}

/// The limits of a group, as slots.
pub(super) fn slots(min: usize, max: usize, rows: usize) -> Slots {
    Slots { min: min.min(rows + 1), max: max.min(rows + 1), exact: min == max }
}

impl Network {
    /// The network of these quotas and groups.
    ///
    /// # Errors
    /// [`Error::CrossingGroups`] if the groups of a column are not nested, and errors of the groups.
    pub(super) fn new(
        quotas: &BlockQuotas,
        groups: &[Group],
        per_row: usize,
        scores: &Scores<'_>,
    ) -> Result<Self, Error> {
        let blocks = scores.blocks();
        let mut network = Self {
            blocks,
            spans: quotas.slots(blocks, scores.len())?.iter().map(Span::of_block).collect(),
            parents: vec![usize::MAX; blocks],
            names: (0..blocks).map(Limit::Block).collect(),
            bounds: (0..blocks).map(|block| quotas.bounds(block)).collect(),
            inside_out: Vec::new(),
            nodes: Vec::new(),
            columns: (0..blocks).collect(),
            strata: Vec::new(),
            chains: Vec::new(),
            down: vec![false; blocks],
            ways: Vec::new(),
            pairs: 0,
        };
        let Strata { of_rows, sizes, groups, classes } = Strata::find(groups, scores)?;
        // The most units that a group may have: all places of all rows.
        let rows = scores.len().saturating_mul(per_row);
        // Of each column, the innermost group of each stratum.
        let mut innermost: Vec<Vec<Option<usize>>> = Vec::new();
        for column in 0..=blocks {
            let here = |group: &usize| groups[*group].block.unwrap_or(blocks) == column;
            let members: Vec<usize> = (0..groups.len()).filter(here).collect();
            let place = |group: &usize| members.binary_search(group).ok();
            let within: Vec<Vec<usize>> = classes.iter().map(|of| of.iter().filter_map(place).collect()).collect();
            let limits: Vec<quotas::Limits> = members.iter().map(|&group| groups[group].clone()).collect();
            let (order, parents, _) = quotas::nest(&limits, &within, &sizes, scores.len())?;
            let first = network.spans.len();
            for (limits, parent) in limits.iter().zip(parents) {
                let slots = slots(limits.min, limits.max, rows);
                let all = column == blocks;
                let span = if all { Span::of_nobody(&slots) } else { Span::of_block(&slots) };
                let usual = if limits.max > rows { slots.min } else { slots.max };
                network.spans.push(Span { usual, ..span });
                let around = if all { usize::MAX } else { column };
                network.parents.push(parent.map_or(around, |parent| first + parent));
                network.names.push(limits.least().clone());
                network.bounds.push((limits.min, limits.max));
                network.columns.push(column);
                network.down.push(all);
            }
            network.inside_out.extend(order.iter().map(|&group| first + group));
            let first_of =
                |within: &Vec<usize>| order.iter().find(|group| within.contains(group)).map(|&group| first + group);
            innermost.push(within.iter().map(first_of).collect());
        }
        let root = network.spans.len();
        network.inside_out.extend(0..blocks);
        network.columns.push(blocks);
        network.parents.iter_mut().for_each(|parent| *parent = (*parent).min(root));
        for stratum in 0..classes.len() {
            let node = |(column, of): (usize, &Vec<Option<usize>>)| {
                of[stratum].unwrap_or(if column < blocks { column } else { root }) as u32
            };
            network.nodes.extend(innermost.iter().enumerate().map(node));
        }
        network.strata = if network.strata() > 1 { of_rows } else { Vec::new() };
        Ok(network)
    }

    /// Finds the ways: a row's units move between the columns of its stratum, and every node to the one around it.
    pub(super) fn connected(mut self) -> Self {
        let mut ways: Vec<Vec<u32>> = vec![Vec::new(); self.count()];
        for nodes in self.nodes.chunks_exact(self.blocks + 1) {
            for &from in nodes {
                ways[from as usize].extend(nodes.iter().filter(|to| **to != from));
            }
        }
        for (node, &parent) in self.parents.iter().enumerate() {
            ways[node].push(parent as u32);
            ways[parent].push(node as u32);
        }
        for ways in ways {
            let mut ways = ways;
            ways.sort_unstable();
            ways.dedup();
            let numbers = self.pairs as u32..;
            self.pairs += ways.len();
            self.ways.push(ways.into_iter().zip(numbers).collect());
        }
        self
    }

    /// How many arms count towards each limit.
    #[expect(clippy::cast_sign_loss, reason = "the absolute value of a count")]
    pub(super) fn counts(&self, arms: &[Pick]) -> Vec<usize> {
        let mut through = vec![0.0; self.count()];
        // Many arms of the same cell follow each other.
        let cell = |arm: &Pick| (self.stratum(arm.row), arm.block);
        for run in arms.chunk_by(|a, b| cell(a) == cell(b)) {
            let (stratum, block) = cell(&run[0]);
            through[self.node(stratum, block)] += run.len() as f64;
            through[self.node(stratum, self.blocks)] -= run.len() as f64;
        }
        self.gather(through)[..self.root()].iter().map(|units| units.abs() as usize).collect()
    }

    /// How many limits there are; without crossing groups, also the node where all units end.
    pub(super) fn root(&self) -> usize {
        self.spans.len()
    }

    /// How many nodes there are.
    pub(super) fn count(&self) -> usize {
        if self.chains.is_empty() { self.root() + 1 } else { self.chains.len() }
    }

    /// How many strata there are.
    pub(super) fn strata(&self) -> usize {
        self.nodes.len() / (self.blocks + 1)
    }

    /// The stratum of a row of the scores.
    #[inline]
    pub(super) fn stratum(&self, row: usize) -> usize {
        self.strata.get(row).map_or(0, |&stratum| stratum as usize)
    }

    /// The node of a column, which is a block or, as the last, nobody.
    #[inline]
    pub(super) fn node(&self, stratum: usize, column: usize) -> usize {
        self.nodes[stratum * (self.blocks + 1) + column] as usize
    }

    /// The column whose units a node counts.
    #[inline]
    pub(super) fn column(&self, node: usize) -> usize {
        self.columns[node]
    }

    /// Whether a limit is a group over all blocks, so that a chosen unit counts -1.
    pub(super) fn counts_down(&self, limit: usize) -> bool {
        self.down[limit]
    }

    /// Whether the arms of a stratum in a block count towards a limit, where groups may cross.
    pub(super) fn is_in(&self, stratum: usize, block: usize, limit: usize) -> bool {
        let column = if self.down[limit] { self.blocks } else { block };
        self.chains[self.node(stratum, column)].contains(&(limit as u32))
    }

    /// The number of the pair of nodes with this way.
    #[inline]
    pub(super) fn pair(&self, from: usize, to: usize) -> usize {
        let ways = &self.ways[from];
        // Without groups, the ways lead to all other nodes.
        if let Some(way) = ways.get(to - usize::from(to > from)).filter(|way| way.0 == to as u32) {
            return way.1 as usize;
        }
        let place = ways.binary_search_by_key(&(to as u32), |way| way.0);
        ways[place.expect("the nodes of a stratum are connected")].1 as usize
    }

    /// How many units count towards each limit, given how many enter each node.
    pub(super) fn gather(&self, mut entered: Vec<f64>) -> Vec<f64> {
        if !self.chains.is_empty() {
            let mut through = vec![0.0; self.root()];
            for (units, chain) in entered.iter().zip(&self.chains) {
                chain.iter().for_each(|&limit| through[limit as usize] += units);
            }
            return through;
        }
        for &node in &self.inside_out {
            if self.parents[node] < self.root() {
                entered[self.parents[node]] += entered[node];
            }
        }
        entered
    }

    /// What a unit pays at each node, given the price of each limit.
    pub(super) fn potentials(&self, prices: &[f64]) -> Vec<f64> {
        if !self.chains.is_empty() {
            return self.chains.iter().map(|chain| chain.iter().map(|&limit| prices[limit as usize]).sum()).collect();
        }
        let mut sums = prices.to_vec();
        sums.push(0.0);
        for &node in self.inside_out.iter().rev() {
            sums[node] += sums[self.parents[node]];
        }
        sums
    }

    /// What each arm pays, `blocks` numbers for each stratum, given what a unit pays from each node.
    pub(super) fn arm_prices(&self, potentials: &[f64]) -> Vec<f64> {
        let of = |nodes: &[u32]| {
            let nobody = potentials[nodes[self.blocks] as usize];
            nodes[..self.blocks].iter().map(|&node| potentials[node as usize] - nobody).collect::<Vec<f64>>()
        };
        self.nodes.chunks_exact(self.blocks + 1).flat_map(of).collect()
    }
}
