//! Rows with the pairs of theirs that can matter: those whose score reaches the floor of the block.
//!
//! The decision to know: a row is a short list, not M numbers. At prices at or above the floors a pair below its
//! floor is as good as forbidden, so everything after the scan costs by the pairs that are left, and forbidden
//! pairs cost nothing.

#![allow(clippy::inline_always, reason = "compiled for the vectors of this machine only where inlined")]

/// Lists of pairs, row after row.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// Where the pairs of each row end.
    ends: Vec<usize>,
    /// Of each pair, its block; longer than the pairs while rows are added.
    blocks: Vec<u32>,
    /// Of each pair, its score; as long as `blocks`.
    scores: Vec<f64>,
}

/// The pairs of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row<'a> {
    pub(super) blocks: &'a [u32],
    pub(super) scores: &'a [f64],
}

impl Offers {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many pairs there are.
    pub(super) fn pairs(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Where the pairs of a row lie among all pairs.
    pub(super) fn places(&self, row: usize) -> std::ops::Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    pub(super) fn row(&self, row: usize) -> Row<'_> {
        let places = self.places(row);
        Row { blocks: &self.blocks[places.clone()], scores: &self.scores[places] }
    }

    /// The rows in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let places = std::mem::replace(&mut start, end)..end;
            Row { blocks: &self.blocks[places.clone()], scores: &self.scores[places] }
        })
    }

    /// All scores, row after row.
    pub(super) fn scores(&self) -> &[f64] {
        &self.scores[..self.pairs()]
    }

    pub(super) fn scores_mut(&mut self) -> &mut [f64] {
        let pairs = self.pairs();
        &mut self.scores[..pairs]
    }

    /// Takes the pairs of a row that reach the floors, if there are any. The floors must be above -infinity.
    #[inline(always)]
    pub(super) fn push(&mut self, row: &[f64], floors: &[f64]) -> bool {
        let reached = row.iter().zip(floors).fold(0, |any, (score, floor)| any | u8::from(score >= floor));
        if reached == 0 {
            return false;
        }
        let first = self.pairs();
        if self.scores.len() < first + row.len() {
            self.grow(first + row.len());
        }
        let (scores, blocks) = (&mut self.scores[first..], &mut self.blocks[first..]);
        let mut count = 0;
        // Every pair is written and the count decides whether it stays: which pairs do is as good as random.
        for (block, (&score, &floor)) in (0u32..).zip(row.iter().zip(floors)) {
            scores[count] = score;
            blocks[count] = block;
            count += usize::from(score >= floor);
        }
        self.ends.push(first + count);
        true
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        let length = (2 * self.scores.len()).max(2 * least).max(4096);
        self.scores.resize(length, 0.0);
        self.blocks.resize(length, 0);
    }
}

impl<'a> Row<'a> {
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
