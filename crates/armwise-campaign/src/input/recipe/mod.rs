//! From a customer's columns to the features x: fitted once on a sample, then frozen.
//!
//! x = s (1, standardised numbers, one-hot categories, vectors) with one scale s for all rows, the largest that keeps
//! |x| <= 1 on the sample. A longer row is shortened to |x| = 1, an unseen category is all zeros; both are counted and
//! reported, never silent.

mod apply;
mod extreme;
mod fit;
mod labels;
mod tile;

pub use apply::Oddities;
pub use extreme::Extreme;
pub use fit::{fit, fit_and_look};
pub use labels::Effect;
pub(crate) use tile::Columns;

use crate::config::MissingRule;
use serde::{Deserialize, Serialize};

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
}

/// A column and what was fitted for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fitted {
    /// (value - mean) / sd.
    Numeric {
        /// The column.
        name: String,
        /// What to do where a value is missing.
        missing: MissingRule,
        /// The sample's mean.
        mean: f64,
        /// The sample's standard deviation; 1 for a constant column.
        sd: f64,
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
    /// The vector as it is.
    Vector {
        /// The column.
        name: String,
        /// What to do where a value is missing.
        missing: MissingRule,
        /// Its length.
        dim: usize,
    },
}

impl Fitted {
    /// The column's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Numeric { name, .. } | Self::Categorical { name, .. } | Self::Vector { name, .. } => name,
        }
    }

    /// How many features it makes.
    #[must_use]
    pub fn dim(&self) -> usize {
        match self {
            Self::Numeric { .. } => 1,
            Self::Categorical { levels, .. } => levels.len(),
            Self::Vector { dim, .. } => *dim,
        }
    }
}

impl Recipe {
    /// How many features a customer has, d.
    #[must_use]
    pub fn dim(&self) -> usize {
        usize::from(self.bias) + self.columns.iter().map(Fitted::dim).sum::<usize>()
    }

    /// The columns it reads.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(Fitted::name)
    }
}
