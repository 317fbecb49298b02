//! Scores as an oracle sees them, and the order of arms with equal scores.
//!
//! The order of two arms is a pure function of (score, tie key, id, name, block), never of
//! the row number or of what a sort did.

use super::Pick;
use crate::{Draws, Error, Keys, Round, Stream};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Who wins among arms with exactly equal scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The smaller id.
    #[default]
    ById,
    /// The smaller keyed hash of (seed, round, block, id): a fair draw, new in every round.
    Random,
}

/// The scores of a round: one per row and block, row-major; -infinity marks an arm that may not be chosen.
///
/// # Example
/// ```
/// use armwise::{Constraint, Keys, Oracle, Round, Scores, Ties};
/// let scores = Scores::new(&[0.3, 0.9, 0.9], 1, Keys::numbers(3)?, Ties::ById, Round::new(1, 1))?;
/// let best = Constraint::top_k(1).argmax(&scores)?;
/// assert_eq!(best.arms[0].row, 1);
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scores<'a> {
    values: &'a [f64],
    blocks: usize,
    keys: Keys<'a>,
    /// The tie draws of each block; none for ties by id.
    ties: Vec<Draws>,
}

impl<'a> Scores<'a> {
    /// Takes row-major scores, `blocks` to a row, of the rows with these keys (which [`Arms`](crate::Arms) have).
    ///
    /// # Errors
    /// [`Error::Dimension`] if there are not `blocks` scores for every row.
    pub fn new(
        values: &'a [f64],
        blocks: usize,
        keys: impl Into<Keys<'a>>,
        ties: Ties,
        round: Round,
    ) -> Result<Self, Error> {
        let keys = keys.into();
        if blocks == 0 || values.len() != keys.len() * blocks {
            return Err(Error::Dimension { what: "scores", expected: keys.len() * blocks, found: values.len() });
        }
        let ties = match ties {
            Ties::ById => Vec::new(),
            Ties::Random => (0..blocks).map(|block| round.draws(block as u32, Stream::TIES)).collect(),
        };
        Ok(Self { values, blocks, keys, ties })
    }

    /// The same arms with other scores, one for each arm.
    pub(crate) fn with_values<'b>(&'b self, values: &'b [f64]) -> Scores<'b> {
        Scores { values, blocks: self.blocks, keys: self.keys, ties: self.ties.clone() }
    }

    /// The number of rows.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "arms are never empty")]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of blocks, M.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The keys of the rows.
    #[must_use]
    pub fn keys(&self) -> Keys<'a> {
        self.keys
    }

    /// All scores, row-major.
    #[must_use]
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// The score of an arm; -0 counts as 0.
    #[must_use]
    #[inline]
    pub fn get(&self, arm: Pick) -> f64 {
        self.values[self.place(arm)] + 0.0
    }

    /// The arm at a place of [`values`](Self::values).
    #[must_use]
    #[inline]
    pub fn pick(&self, place: usize) -> Pick {
        Pick { row: place / self.blocks, block: place % self.blocks }
    }

    /// The place of an arm in [`values`](Self::values).
    #[inline]
    pub(crate) fn place(&self, arm: Pick) -> usize {
        arm.row * self.blocks + arm.block
    }

    /// The error for a NaN or +infinity at this arm.
    #[must_use]
    pub fn not_finite(&self, arm: Pick) -> Error {
        Error::ScoreNotFinite { row: arm.row, block: arm.block, value: self.get(arm) }
    }

    /// The key that orders arms with equal scores: the smaller one wins.
    #[must_use]
    #[inline]
    pub fn tie_key(&self, arm: Pick) -> u64 {
        let id = self.keys.id(arm.row);
        self.ties.get(arm.block).map_or(id, |draws| draws.bits(id))
    }

    /// The order of two arms, the better one first: the larger score, then the smaller tie key, id, name, block.
    #[must_use]
    pub fn rank(&self, a: Pick, b: Pick) -> Ordering {
        self.get(b).total_cmp(&self.get(a)).then_with(|| self.tie_order(a, b))
    }

    /// The order of two arms with equal scores, the better one first.
    #[must_use]
    pub fn tie_order(&self, a: Pick, b: Pick) -> Ordering {
        self.tie_keys(a).cmp(&self.tie_keys(b))
    }

    /// What [`tie_order`](Self::tie_order) compares.
    #[inline]
    pub(crate) fn tie_keys(&self, arm: Pick) -> (u64, u64, Option<&'a str>, usize) {
        (self.tie_key(arm), self.keys.id(arm.row), self.keys.name(arm.row), arm.block)
    }
}
