//! From a customer's columns to the features x: fitted once on a sample, then frozen.
//!
//! x = s (1, standardised numbers, one-hot categories and bins, vectors, crosses) with one scale s for all rows, the
//! largest that keeps |x| <= 1 on the sample. A number beyond what the sample makes plausible is clipped, a longer row
//! is shortened to |x| = 1, an unseen category is all zeros; each is counted and reported, never silent.

mod apply;
mod extreme;
mod fit;
mod labels;
mod own;
mod tile;

pub use apply::Oddities;
pub use extreme::Extreme;
pub use fit::{fit, fit_and_look};
pub use labels::Effect;
pub(crate) use tile::Columns;

use crate::config::MissingRule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The frozen recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Whether the first feature is a constant.
    pub bias: bool,
    /// The columns in their order.
    pub columns: Vec<Fitted>,
    /// The scale of all features.
    pub scale: f64,
    /// On how many rows it was fitted.
    pub sample: usize,
    /// Whether features are taken as they are given: nothing is scaled, and no row is shortened.
    #[serde(default, skip_serializing_if = "is_false")]
    pub as_given: bool,
}

/// A column and what was fitted for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fitted {
    /// (value - mean) / sd, of the value or of its logarithm.
    Numeric {
        /// The column.
        name: String,
        /// What to do where a value is missing.
        missing: MissingRule,
        /// The sample's mean.
        mean: f64,
        /// The sample's standard deviation; 1 for a constant column.
        sd: f64,
        /// Whether the value is log(1 + value), with the sign of the value.
        #[serde(default, skip_serializing_if = "is_false")]
        log: bool,
        /// What values beyond are taken for; everything is taken as it is if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clip: Option<Clip>,
    },
    /// One feature for each level.
    Categorical {
        /// The column.
        name: String,
        /// What to do where a value is missing.
        missing: MissingRule,
        /// The values seen, in alphabetical order.
        levels: Vec<String>,
        /// The most common of them, with which reports compare the others.
        common: usize,
    },
    /// One feature for each range of numbers.
    Bins {
        /// The column.
        name: String,
        /// What to do where a value is missing.
        missing: MissingRule,
        /// Where one bin ends and the next begins, ascending: the next one's least value.
        edges: Vec<f64>,
        /// The most common bin, with which reports compare the others.
        common: usize,
    },
    /// The vector as it is.
    Vector {
        /// The column.
        name: String,
        /// What to do where a value is missing.
        missing: MissingRule,
        /// Its length.
        dim: usize,
    },
    /// The products of every feature of one column with every feature of another one.
    Cross {
        /// Both names.
        name: String,
        /// The place of the first column.
        left: usize,
        /// The place of the second one.
        right: usize,
        /// How many features.
        dim: usize,
    },
}

/// The least and the largest value that is believed; of the logarithm, where that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// The least value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// log(1 + |x|) with the sign of x: defined for all numbers, monotone, and nearly x for small ones. The logarithm is the
/// same to the bit on every machine.
fn log(x: f64) -> f64 {
    libm::log1p(x.abs()).copysign(x)
}

/// The inverse of [`log`].
fn unlog(y: f64) -> f64 {
    libm::expm1(y.abs()).copysign(y)
}

/// Into which bin a number falls.
fn bin(edges: &[f64], number: f64) -> usize {
    edges.partition_point(|edge| *edge <= number)
}

impl Fitted {
    /// The column's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Numeric { name, .. }
            | Self::Categorical { name, .. }
            | Self::Bins { name, .. }
            | Self::Vector { name, .. }
            | Self::Cross { name, .. } => name,
        }
    }

    /// How many features it makes.
    #[must_use]
    pub fn dim(&self) -> usize {
        match self {
            Self::Numeric { .. } => 1,
            Self::Categorical { levels, .. } => levels.len(),
            Self::Bins { edges, .. } => edges.len() + 1,
            Self::Vector { dim, .. } | Self::Cross { dim, .. } => *dim,
        }
    }
}

impl Recipe {
    /// The name of the column that [`of_dim`](Self::of_dim) reads.
    pub const FEATURES: &str = "features";

    /// Features that the caller makes: one column of vectors with this many numbers, taken as they are given.
    #[must_use]
    pub fn of_dim(dim: usize) -> Self {
        let column = Fitted::Vector { name: Self::FEATURES.to_owned(), missing: MissingRule::Error, dim };
        Self { bias: false, columns: vec![column], scale: 1.0, sample: 0, as_given: true }
    }

    /// How many features a customer has, d.
    #[must_use]
    pub fn dim(&self) -> usize {
        usize::from(self.bias) + self.columns.iter().map(Fitted::dim).sum::<usize>()
    }

    /// The columns it reads, each once.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let read = self.columns.iter().filter(|column| !matches!(column, Fitted::Cross { .. }));
        read.map(Fitted::name).collect::<BTreeSet<_>>().into_iter()
    }

    /// Where the features of a column begin.
    fn first(&self, place: usize) -> usize {
        usize::from(self.bias) + self.columns[..place].iter().map(Fitted::dim).sum::<usize>()
    }
}
