//! Networks made from others: for each stratum alone, for given numbers, for groups that cross, for a sample.

use super::network::{Network, Span, slots};
use super::quota::{BlockQuotas, Slots};
use super::strata::Strata;
use crate::Error;
use crate::oracle::{Group, Limit, Scores};

impl Network {
    /// Each stratum alone, with as many rows in each block as its maxima allow, whatever the other strata do: the largest
    /// numbers that a filling can ask of it. None if that is all rows.
    pub(super) fn alone(&self, rows: &[usize]) -> Option<Self> {
        let most = |limit: usize| self.bounds[limit].1;
        let around = |node: usize| {
            std::iter::successors(Some(node), |&node| self.parents.get(node).copied())
                .take_while(|&node| node < self.root())
        };
        let mut counts = Vec::new();
        for (stratum, &rows) in rows.iter().enumerate() {
            let together = around(self.node(stratum, self.blocks)).map(most).min().unwrap_or(usize::MAX);
            let of = |block: usize| around(self.node(stratum, block)).map(most).min().unwrap_or(usize::MAX);
            counts.extend((0..self.blocks).map(|block| of(block).min(together).min(rows)));
        }
        let all =
            counts.chunks_exact(self.blocks).zip(rows).all(|(counts, rows)| counts.iter().sum::<usize>() >= *rows);
        (!all).then(|| self.with_counts(&counts))
    }

    /// The network in which each stratum has exactly these numbers of rows in the blocks.
    pub(super) fn with_counts(&self, counts: &[usize]) -> Self {
        let blocks = self.blocks;
        let unlimited = Span { least: 0, min: 0, max: isize::MAX >> 8, most: isize::MAX >> 8, exact: false, usual: 0 };
        let root = blocks + counts.len();
        let mut spans = vec![unlimited; blocks];
        spans.extend(counts.iter().map(|&count| Span::of_block(&Slots { min: count, max: count, exact: true })));
        let numbers = || counts.iter().enumerate().map(|(place, _)| place % blocks);
        let nodes = (0..counts.len() / blocks).flat_map(|stratum| {
            (0..=blocks).map(move |column| if column < blocks { blocks + stratum * blocks + column } else { root })
        });
        Self {
            blocks,
            spans,
            parents: std::iter::repeat_n(root, blocks).chain(numbers()).collect(),
            names: (0..blocks).chain(numbers()).map(Limit::Block).collect(),
            bounds: std::iter::repeat_n((0, usize::MAX), blocks).chain(counts.iter().map(|&n| (n, n))).collect(),
            inside_out: (blocks..root).chain(0..blocks).collect(),
            nodes: nodes.map(|node| node as u32).collect(),
            columns: (0..blocks).chain(numbers()).chain([blocks]).collect(),
            strata: self.strata.clone(),
            chains: Vec::new(),
            down: vec![false; root],
            ways: Vec::new(),
            pairs: 0,
        }
        .connected()
    }

    /// The network of prices for groups that may cross, in which rows of a stratum are also eligible for the same blocks.
    pub(super) fn crossing(
        quotas: &BlockQuotas,
        given: &[Group],
        per_row: usize,
        scores: &Scores<'_>,
    ) -> Result<Self, Error> {
        let network = Self::new(quotas, &[], per_row, scores)?;
        let blocks = network.blocks;
        let Strata { of_rows, groups, classes, .. } = Strata::find(given, scores)?.by_eligibility(scores);
        let rows = scores.len().saturating_mul(per_row);
        let Self { mut spans, mut names, mut bounds, mut down, .. } = network;
        for limits in &groups {
            let slots = slots(limits.min, limits.max, rows);
            let all = limits.block.is_none();
            let span = if all { Span::of_nobody(&slots) } else { Span::of_block(&slots) };
            spans.push(Span { usual: if limits.max > rows { slots.min } else { slots.max }, ..span });
            names.push(limits.least().clone());
            bounds.push((limits.min, limits.max));
            down.push(all);
        }
        let chain = |class: &Vec<usize>, column: usize| {
            let own = (column < blocks).then_some(column);
            let inside = class.iter().filter(|&&group| groups[group].block.unwrap_or(blocks) == column);
            own.into_iter().chain(inside.map(|group| blocks + group)).map(|limit| limit as u32).collect()
        };
        let columns = || (0..classes.len()).flat_map(|_| 0..=blocks);
        Ok(Self {
            blocks,
            spans,
            parents: Vec::new(),
            names,
            bounds,
            inside_out: Vec::new(),
            nodes: (0..(classes.len() * (blocks + 1)) as u32).collect(),
            columns: columns().collect(),
            strata: of_rows,
            chains: classes.iter().flat_map(|class| (0..=blocks).map(|column| chain(class, column))).collect(),
            down,
            ways: Vec::new(),
            pairs: 0,
        }
        .connected())
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
}
