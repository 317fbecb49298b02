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
use crate::Error;
use crate::oracle::{Group, Limit, Pick, Scores, columns::Values, quotas};

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
    fn of_block(slots: &Slots) -> Self {
        let (min, max) = (slots.min.cast_signed(), slots.max.cast_signed());
        Self { least: 0, min, max, most: max, exact: slots.exact, usual: slots.max }
    }

    /// Of a group over all blocks: bounds change sign and sides.
    fn of_nobody(slots: &Slots) -> Self {
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
    inside_out: Vec<usize>,
    /// The nodes of each stratum, one for each block and one for nobody.
    nodes: Vec<u32>,
    /// The column whose units a node counts.
    columns: Vec<usize>,
    /// The stratum of each row; empty if there is only one.
    strata: Vec<u32>,
    /// Of each node, the nodes that a unit can move to, ascending, with the number of the pair; once connected.
    pub(super) ways: Vec<Vec<(u32, u32)>>,
    /// How many pairs of nodes have a way.
    pub(super) pairs: usize,
}

/// The limits of a group, as slots.
fn slots(min: usize, max: usize, rows: usize) -> Slots {
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
        let mut ways: Vec<Vec<u32>> = vec![Vec::new(); self.root() + 1];
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
        let mut through = vec![0.0; self.root() + 1];
        for arm in arms {
            let stratum = self.stratum(arm.row);
            through[self.node(stratum, arm.block)] += 1.0;
            through[self.node(stratum, self.blocks)] -= 1.0;
        }
        self.gather(&mut through);
        through[..self.root()].iter().map(|units| units.abs() as usize).collect()
    }

    /// Each stratum alone, with as many rows in each block as its maxima allow, whatever the other strata do: the largest
    /// numbers that a filling can ask of it. None if that is all rows.
    pub(super) fn alone(&self, rows: &[usize]) -> Option<Self> {
        let most = |limit: usize| self.bounds[limit].1;
        let around = |node: usize| {
            std::iter::successors(Some(node), |&node| self.parents.get(node).copied())
                .take_while(|&node| node < self.root())
        };
        let unlimited = Span { least: 0, min: 0, max: isize::MAX >> 8, most: isize::MAX >> 8, exact: false, usual: 0 };
        let mut alone = Self {
            spans: vec![unlimited; self.blocks],
            parents: vec![usize::MAX; self.blocks],
            names: (0..self.blocks).map(Limit::Block).collect(),
            bounds: vec![(0, usize::MAX); self.blocks],
            columns: (0..self.blocks).collect(),
            nodes: Vec::new(),
            ..self.clone()
        };
        let mut all = true;
        for (stratum, &rows) in rows.iter().enumerate() {
            let together = around(self.node(stratum, self.blocks)).map(most).min().unwrap_or(usize::MAX);
            let mut places = 0;
            for block in 0..self.blocks {
                let here = around(self.node(stratum, block)).map(most).min().unwrap_or(usize::MAX);
                let count = here.min(together).min(rows);
                places += count;
                alone.nodes.push(alone.spans.len() as u32);
                alone.spans.push(Span { exact: true, ..Span::of_block(&slots(count, count, rows)) });
                alone.parents.push(block);
                alone.names.push(Limit::Block(block));
                alone.bounds.push((count, count));
                alone.columns.push(block);
            }
            all &= places >= rows;
            alone.nodes.push(u32::MAX);
        }
        let root = alone.spans.len();
        alone.columns.push(self.blocks);
        alone.parents.iter_mut().for_each(|parent| *parent = (*parent).min(root));
        alone.nodes.iter_mut().for_each(|node| *node = (*node).min(root as u32));
        alone.inside_out = (self.blocks..root).chain(0..self.blocks).collect();
        (alone.ways, alone.pairs) = (Vec::new(), 0);
        (!all).then(|| alone.connected())
    }

    /// The same network for a sample of the rows, with its share of every limit.
    pub(super) fn sampled(&self, rows: &[usize], share: f64) -> Self {
        let scale = |count: isize| (count as f64 * share).round() as isize;
        let share_of = |count: usize| {
            if count == usize::MAX {
                count
            } else {
                scale(count.min(isize::MAX.unsigned_abs()).cast_signed()).unsigned_abs()
            }
        };
        let spans = self.spans.iter().map(|span| Span {
            least: scale(span.least),
            min: scale(span.min),
            max: scale(span.max),
            most: scale(span.most),
            ..*span
        });
        let strata = if self.strata.is_empty() { &[] } else { rows };
        Self {
            spans: spans.collect(),
            bounds: self.bounds.iter().map(|&(min, max)| (share_of(min), share_of(max))).collect(),
            strata: strata.iter().map(|&row| self.strata[row]).collect(),
            ..self.clone()
        }
    }

    /// The node where all units end.
    pub(super) fn root(&self) -> usize {
        self.spans.len()
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

    /// The strata of all rows; empty if there is only one.
    pub(super) fn of_rows(&self) -> &[u32] {
        &self.strata
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
        self.columns[limit] == self.blocks
    }

    /// The number of the pair of nodes with this way.
    #[inline]
    pub(super) fn pair(&self, from: usize, to: usize) -> usize {
        let ways = &self.ways[from];
        let place = ways.binary_search_by_key(&(to as u32), |way| way.0);
        ways[place.expect("the nodes of a stratum are connected")].1 as usize
    }

    /// Adds to what enters each node what comes from the nodes inside it: the units through every node but the root.
    pub(super) fn gather(&self, entered: &mut [f64]) {
        for &node in &self.inside_out {
            if self.parents[node] < self.root() {
                entered[self.parents[node]] += entered[node];
            }
        }
    }

    /// What a unit pays from each node to the root, given the price of each limit; the root's own 0 is the last.
    pub(super) fn potentials(&self, prices: &[f64]) -> Vec<f64> {
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

    /// The nodes but the root, each before the one around it.
    pub(super) fn inside_out(&self) -> &[usize] {
        &self.inside_out
    }
}

/// Which rows are in the same groups.
struct Strata {
    /// The stratum of each row.
    of_rows: Vec<u32>,
    /// How many rows each stratum has, those without an eligible arm left out.
    sizes: Vec<usize>,
    groups: Vec<quotas::Limits>,
    /// The groups of each stratum, ascending.
    classes: Vec<Vec<usize>>,
}

impl Strata {
    fn find(given: &[Group], scores: &Scores<'_>) -> Result<Self, Error> {
        if given.is_empty() {
            let (of_rows, groups) = Default::default();
            return Ok(Self { of_rows, sizes: vec![scores.len()], groups, classes: vec![Vec::new()] });
        }
        for Group { column, block, .. } in given {
            if !matches!(Values::of(scores, column)?, Values::PerRow(_)) && scores.blocks() > 1 {
                return Err(Error::Constraint(format!(
                    "group of column {column:?}: groups of an assignment are groups of rows, so the column must have one \
                     value per row; for a group within one block, give the group that block"
                )));
            }
            if let Some(block) = block.filter(|&block| block >= scores.blocks()) {
                let text = format!("group of column {column:?}: there is no block {block}, only {}", scores.blocks());
                return Err(Error::Constraint(text));
            }
        }
        let mut sorter = quotas::Sorter::new(given, scores)?;
        let mut of_rows = vec![0; scores.len()];
        let mut sizes = Vec::new();
        for (row, values) in scores.values().chunks_exact(scores.blocks()).enumerate() {
            // A row without an eligible arm is never looked at, so its groups do not matter.
            if values.iter().all(|&score| score == f64::NEG_INFINITY) {
                continue;
            }
            let class = sorter.class_of_row(given, row)?;
            if class >= sizes.len() {
                sizes.resize(class + 1, 0);
            }
            sizes[class] += 1;
            of_rows[row] = class as u32;
        }
        let mut classes = sorter.classes().to_vec();
        if classes.is_empty() {
            (classes, sizes) = (vec![Vec::new()], vec![0]);
        }
        Ok(Self { of_rows, sizes, groups: sorter.groups, classes })
    }
}
