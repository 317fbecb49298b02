//! alpha_t and v_t: a constant, or the theory's beta_t(delta).
//!
//! Each algorithm's file says which delta it takes (delta, delta/(4T), delta/(4NT)); this file has only the curve.

use crate::Context;
use crate::error::{Error, check, non_negative, positive};
use crate::theory::Problem;
use serde::{Deserialize, Serialize};

/// How alpha_t or v_t depends on t.
///
/// In TOML and JSON either a number or a table: `alpha = 0.1`, `v = { r = 1.0, s = 1.0, delta = 0.1, k = 100, n = 2000,
/// rounds = 10 }`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, or a table with `r`, `s`, `delta` and `k`, and where needed `n` and `rounds`"
)]
pub enum Schedule {
    /// The same value in every round.
    Constant(f64),
    /// beta_t of the theory.
    Theory(Theory),
}

/// What the theory needs to know about the problem.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theory {
    /// R: the noise is R-sub-Gaussian (rewards in an interval of length 2R).
    pub r: f64,
    /// S: a bound on |theta*|.
    pub s: f64,
    /// The probability with which the bound may fail.
    pub delta: f64,
    /// The most arms that a round chooses.
    pub k: usize,
    /// N: the number of arms; only arm-wise Thompson sampling needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
    /// T: the number of rounds; only Thompson sampling needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
}

impl Default for Schedule {
    fn default() -> Self {
        Self::Constant(0.1)
    }
}

impl From<f64> for Schedule {
    fn from(value: f64) -> Self {
        Self::Constant(value)
    }
}

impl Schedule {
    /// The value in the round of `at`; `shrink` divides delta.
    pub(crate) fn at(&self, at: &Context<'_>, lambda: f64, shrink: impl Fn(&Theory) -> f64) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Theory(theory) => {
                let Theory { r, s, delta, k, .. } = *theory;
                Problem { d: at.total_dim(), k, lambda, r, s }.beta(at.round.t, delta / shrink(theory))
            }
        }
    }
}

impl Theory {
    /// Refuses numbers outside their ranges, and a theory without the rounds or the arms that its algorithm needs.
    pub(crate) fn validate(&self, needs_rounds: bool, needs_n: bool) -> Result<(), Error> {
        non_negative("r", self.r)?;
        non_negative("s", self.s)?;
        check("delta", self.delta, self.delta > 0.0 && self.delta < 1.0, "above 0 and below 1")?;
        check("k", self.k as f64, self.k > 0, "at least 1")?;
        if needs_rounds {
            positive("rounds", self.rounds.unwrap_or(0) as f64)?;
        }
        if needs_n {
            positive("n", self.n.unwrap_or(0) as f64)?;
        }
        Ok(())
    }

    /// 4T.
    pub(crate) fn four_rounds(&self) -> f64 {
        4.0 * self.rounds.unwrap_or(1) as f64
    }

    /// 4NT.
    pub(crate) fn four_arms_rounds(&self) -> f64 {
        self.four_rounds() * self.n.unwrap_or(1) as f64
    }
}
