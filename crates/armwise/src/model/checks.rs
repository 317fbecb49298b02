//! What a model accepts: observations in range, and sums that observations can have.
//!
//! What is accepted here must be usable later: every posterior of an accepted model can be factored. Lengths are compared
//! before anything is allocated by them, since a saved file may say anything.

use super::{Block, Model, Observation, cholesky, memory::Memory};
use crate::{
    Error,
    error::{check, positive},
    kernel::triangle,
};
use serde::Deserialize;

/// The largest feature or reward: sums of squares of such numbers stay finite, and anything near it is a mistake.
const LARGEST: f64 = 1e100;
/// The largest sum. Observations in range would have to be 1e50 to reach it, and models below it can be merged.
const LARGEST_SUM: f64 = 1e250;
/// The largest count: JSON readers elsewhere keep whole numbers up to here.
const LARGEST_COUNT: u64 = 1 << 53;
/// How many numbers G may have in all blocks together.
pub(super) const MOST_NUMBERS: f64 = (1u64 << 31) as f64;
/// How far below 0 an eigenvalue of G may lie, as a share of lambda and of the trace. The first is what unlearning leaves
/// behind, the second what adding up leaves; factoring tolerates ten times as much.
const SHARE_OF_LAMBDA: f64 = 1e-6;
const SHARE_OF_TRACE: f64 = 1e-7;

impl Model {
    /// Refuses an observation that the model cannot learn from; `row` is its place in the batch, for the error.
    ///
    /// # Errors
    /// As [`observe`](Self::observe).
    pub fn check(&self, row: usize, seen: &Observation<'_>) -> Result<(), Error> {
        self.known(seen.block)?;
        if seen.x.len() != self.dim {
            let what = "features of an observation";
            return Err(Error::Dimension { what, expected: self.dim, found: seen.x.len() });
        }
        check_features(row, seen.x)?;
        let (block, value) = (seen.block, seen.reward);
        if !value.is_finite() {
            return Err(Error::ObservedNotFinite { row, block, value });
        }
        check("|reward|", value.abs(), value.abs() <= LARGEST, "at most 1e100: scale the rewards")
    }

    /// Refuses sums that no observations have: each G must be positive semi-definite, up to rounding.
    pub(crate) fn check_sums(&self, ridge: f64) -> Result<(), Error> {
        self.blocks.iter().zip(0..).try_for_each(|(block, number)| check_sums(number, block, ridge))
    }
}

/// Refuses the sums of a block that no observations have.
pub(super) fn check_sums(number: u32, block: &Block, ridge: f64) -> Result<(), Error> {
    positive("lambda", ridge)?;
    let dim = block.b.len();
    let trace: f64 = (0..dim).map(|i| block.g[triangle(i) + i].max(0.0)).sum();
    let shift = SHARE_OF_LAMBDA * ridge + SHARE_OF_TRACE * trace;
    let element = |i, j| block.g[triangle(i) + j] + if i == j { shift } else { 0.0 };
    cholesky(dim, element).map(drop).map_err(|pivot| Error::NotPositiveDefinite { block: number, pivot })
}

/// Refuses features that a model could not learn from.
pub(crate) fn check_features(row: usize, x: &[f64]) -> Result<(), Error> {
    // First without an early exit, so that the compiler can use vector instructions.
    if x.iter().fold(true, |fine, x| fine & (x.abs() <= LARGEST)) {
        return Ok(());
    }
    match x.iter().position(|x| x.is_nan() || x.abs() > LARGEST) {
        None => Ok(()),
        Some(column) if x[column].is_finite() => Err(Error::FeatureTooLarge { row, column, value: x[column] }),
        Some(column) => Err(Error::FeatureNotFinite { row, column, value: x[column] }),
    }
}

/// A model as it was read, before its parts are checked against each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unchecked {
    pub(super) dim: usize,
    pub(super) gamma: f64,
    pub(super) t: u64,
    pub(super) blocks: Vec<Block>,
    #[serde(default)]
    pub(super) memory: Option<Memory>,
}

impl Unchecked {
    /// The model, if its parts fit together. Nothing is allocated: the sums are there already, and `dim` is only
    /// compared with their lengths.
    pub(super) fn checked(self) -> Result<Model, Error> {
        let Self { dim, gamma, t, blocks, memory } = self;
        check("dim", dim as f64, dim > 0, "at least 1")?;
        check("blocks", blocks.len() as f64, !blocks.is_empty(), "at least 1")?;
        let bad = |number: usize, problem: String| Err(Error::BadFormat(format!("block {number}: {problem}")));
        for (number, block) in blocks.iter().enumerate() {
            if block.b.len() != dim {
                return bad(number, format!("b has {} numbers, but dim is {dim}", block.b.len()));
            }
            if block.g.len() != triangle(dim) {
                return bad(
                    number,
                    format!("g has {} numbers, but dim (dim + 1) / 2 is {}", block.g.len(), triangle(dim)),
                );
            }
            let mut sums = block.b.iter().chain(&block.g).chain(&block.rr);
            if let Some(sum) = sums.find(|sum| sum.is_nan() || sum.abs() > LARGEST_SUM) {
                return bad(number, format!("a sum is {sum}; sums must be finite and at most 1e250"));
            }
            if block.count > LARGEST_COUNT {
                return bad(number, format!("count is {}; the most is 2^53", block.count));
            }
        }
        let model = Model { dim, gamma: 1.0, t, blocks, memory: None }.with_gamma(gamma)?;
        match memory {
            Some(_) if gamma < 1.0 => Err(Error::BadFormat("a model with spans of rounds has gamma = 1".into())),
            Some(memory) => model.with_memory(memory),
            None => Ok(model),
        }
    }
}

impl TryFrom<Unchecked> for Model {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self, Error> {
        read.checked()
    }
}
