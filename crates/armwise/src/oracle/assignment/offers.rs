//! The pairs of each row that can matter: those whose score reaches the floor of the block.
//!
//! A row is a short list, not M numbers. At prices at or above the floors, a pair below its floor is never taken. So
//! after the first pass, the work depends only on the number of kept pairs, and forbidden pairs cost nothing.

/// Lists of pairs, row after row.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// Where the pairs of each row end.
    ends: Vec<usize>,
    /// Of each pair, its block.
    blocks: Vec<u32>,
    /// Of each pair, its score.
    pub(super) scores: Vec<f64>,
    /// Of each row, its stratum; empty if there is only one.
    strata: Vec<u32>,
}

/// The pairs of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row<'a> {
    pub(super) stratum: usize,
    pub(super) blocks: &'a [u32],
    pub(super) scores: &'a [f64],
}

impl Offers {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Where the pairs of a row lie among all pairs.
    pub(super) fn places(&self, row: usize) -> std::ops::Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    pub(super) fn row(&self, row: usize) -> Row<'_> {
        let places = self.places(row);
        Row { stratum: self.stratum(row), blocks: &self.blocks[places.clone()], scores: &self.scores[places] }
    }

    /// The rows in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let mut start = 0;
        self.ends.iter().enumerate().map(move |(row, &end)| {
            let places = std::mem::replace(&mut start, end)..end;
            Row { stratum: self.stratum(row), blocks: &self.blocks[places.clone()], scores: &self.scores[places] }
        })
    }

    #[inline]
    fn stratum(&self, row: usize) -> usize {
        self.strata.get(row).map_or(0, |&stratum| stratum as usize)
    }

    /// Says of which strata the rows are, one by one.
    pub(super) fn of_strata(&mut self, strata: impl Iterator<Item = u32>) {
        self.strata = strata.collect();
    }

    /// Adds rows: where the pairs of each end among these pairs, blocks and scores row by row.
    pub(super) fn extend(
        &mut self,
        ends: impl Iterator<Item = usize>,
        pairs: impl ExactSizeIterator<Item = (u32, f64)> + Clone,
    ) {
        let before = self.scores.len();
        self.ends.extend(ends.map(|end| before + end));
        self.blocks.extend(pairs.clone().map(|(block, _)| block));
        self.scores.extend(pairs.map(|(_, score)| score));
    }
}

impl<'a> Row<'a> {
    /// The prices of its stratum, among those of all arms.
    #[inline]
    pub(super) fn own(self, arm_prices: &[f64], blocks: usize) -> &[f64] {
        &arm_prices[self.stratum * blocks..][..blocks]
    }

    /// Blocks and scores of the pairs.
    pub(super) fn pairs(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.blocks.iter().map(|&block| block as usize).zip(self.scores.iter().copied())
    }

    /// Blocks and surpluses (score less price) of the pairs.
    #[inline]
    pub(super) fn surpluses(self, prices: &'a [f64]) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.pairs().map(|(block, score)| (block, score - prices[block]))
    }
}
