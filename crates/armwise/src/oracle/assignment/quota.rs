//! How many customers each promotion gets, as data.
//!
//! A plain number means exactly that many, a table gives a range, and one quota can apply to all promotions, so the
//! common cases are short in TOML.

use crate::Error;
use serde::{Deserialize, Serialize};

/// How many customers a promotion gets: `50` is exactly 50, `{ min = 10, max = 50 }` a range.
///
/// In a table either bound may be left out: no `min` means 0, no `max` means as many as there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or a table with `min` and `max`")]
pub enum Quota {
    /// This many, neither more nor fewer.
    Exactly(usize),
    /// Any number from `min` to `max`.
    Between(QuotaRange),
}

/// The bounds of a [`Quota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaRange {
    /// The minimum; 0 if left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min: usize,
    /// The maximum; no limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(min: &usize) -> bool {
    *min == 0
}

impl Quota {
    /// Up to `max`, taken only as far as each raises the objective.
    #[must_use]
    pub const fn at_most(max: usize) -> Self {
        Self::Between(QuotaRange { min: 0, max: Some(max) })
    }

    fn bounds(self) -> (usize, usize) {
        match self {
            Self::Exactly(count) => (count, count),
            Self::Between(QuotaRange { min, max }) => (min, max.unwrap_or(usize::MAX)),
        }
    }

    /// How many rows it takes if enough have positive scores: its maximum, or its minimum if it has no maximum.
    pub(super) fn least_filled(self) -> usize {
        match self.bounds() {
            (min, usize::MAX) => min,
            (_, max) => max,
        }
    }

    /// From `min` to `max`.
    #[must_use]
    pub const fn between(min: usize, max: usize) -> Self {
        Self::Between(QuotaRange { min, max: Some(max) })
    }
}

/// The quotas of all promotions: one for all of them, or one each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a quota, or a list of one quota per promotion")]
pub enum BlockQuotas {
    /// One quota per promotion (block), in order.
    Each(Vec<Quota>),
    /// Every promotion has this quota.
    All(Quota),
}

impl From<Vec<Quota>> for BlockQuotas {
    fn from(each: Vec<Quota>) -> Self {
        Self::Each(each)
    }
}

impl From<Vec<usize>> for BlockQuotas {
    fn from(each: Vec<usize>) -> Self {
        Self::Each(each.into_iter().map(Quota::Exactly).collect())
    }
}

impl From<Quota> for BlockQuotas {
    fn from(all: Quota) -> Self {
        Self::All(all)
    }
}

/// The slots of one block: the first `min` must be filled, the others up to `max` may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slots {
    /// Capped, like `max`, at one more than the number of rows: that changes no answer and keeps sums in range.
    pub(super) min: usize,
    pub(super) max: usize,
    /// The quota is a single number, so that one more unit of it raises both bounds.
    pub(super) exact: bool,
}

impl BlockQuotas {
    /// The slots of each of `blocks` blocks.
    pub(super) fn slots(&self, blocks: usize, rows: usize) -> Result<Vec<Slots>, Error> {
        let each = match self {
            Self::All(quota) => &vec![*quota; blocks],
            Self::Each(each) => each,
        };
        if each.len() != blocks {
            return Err(Error::Dimension { what: "quotas (one per block)", expected: blocks, found: each.len() });
        }
        let slots = each.iter().enumerate().map(|(block, quota)| {
            let (min, max) = quota.bounds();
            if max < min {
                return Err(Error::Constraint(format!("quota of block {block}: min = {min} is more than max = {max}")));
            }
            Ok(Slots { min: min.min(rows + 1), max: max.min(rows + 1), exact: min == max })
        });
        slots.collect()
    }

    /// The minimum and the maximum of a block.
    pub(crate) fn bounds(&self, block: usize) -> (usize, usize) {
        match self {
            Self::All(quota) => quota.bounds(),
            Self::Each(each) => each[block].bounds(),
        }
    }

    /// For how many blocks there are quotas; none for any number of them.
    pub(crate) fn blocks(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Each(each) => Some(each.len()),
        }
    }
}
