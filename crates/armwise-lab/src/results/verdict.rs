//! What becomes of each claim of the paper.
//!
//! The rule that decides, with its thresholds, is part of the verdict.

use serde::{Deserialize, Serialize};

/// What becomes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The data support it by the stated rule.
    Holds,
    /// The data contradict it by the stated rule.
    DoesNotHold,
    /// The data allow either.
    NotDecided,
}

/// What a verdict can speak about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A claim of the paper, on data like the paper's.
    Paper,
    /// A claim of the paper, tried on generated ratings, which say nothing about its MovieLens numbers.
    Generated,
    /// A reading of ours that the paper does not state.
    Implied,
}

/// A claim of the paper and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The claim in a sentence.
    pub claim: String,
    /// Where the paper makes it.
    pub place: String,
    /// The rule that decides.
    pub rule: String,
    /// What becomes of it.
    pub outcome: Outcome,
    /// What the outcome can speak about.
    pub basis: Basis,
    /// The numbers in words; says so where the data are generated.
    pub numbers: String,
}
