//! alpha_t and v_t: a constant, or the theory's beta_t(delta).
//!
//! Each algorithm's file says which delta it takes (delta, delta/(4T), delta/(4NT)); this file has only the curve.

use crate::Context;
use crate::error::{Error, check, non_negative, positive};
use crate::theory::Problem;
use serde::{Deserialize, Serialize};

/// How alpha_t or v_t depends on t.
///
/// In TOML and JSON a number, a table or a word: `alpha = 0.1`, `v = { r = 1.0, s = 1.0, delta = 0.1, k = 100, n =
/// 2000, rounds = 10 }`, `v = "auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "GivenSchedule", into = "GivenSchedule")]
pub enum Schedule {
    /// The same value in every round.
    Constant(f64),
    /// beta_t of the theory.
    Theory(Theory),
    /// A stated multiple of the noise sigma that the rewards show ([`Estimate`](crate::Estimate)), which each
    /// algorithm's documentation gives. It carries no guarantee of the theory.
    Auto,
}

/// lambda: a number, or `"auto"`, the one with the largest [`Evidence`](crate::Evidence), anew in every round; 1 before
/// the first reward other than 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "GivenLambda", into = "GivenLambda")]
pub enum Lambda {
    /// The same in every round.
    Value(f64),
    /// By evidence.
    Auto,
}

/// As in TOML and JSON.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, or a table with `r`, `s`, `delta` and `k`, and where needed `n` and `rounds`, or \"auto\""
)]
enum GivenSchedule {
    Constant(f64),
    Theory(Theory),
    Auto(Word),
}

/// As in TOML and JSON.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or \"auto\"")]
enum GivenLambda {
    Value(f64),
    Auto(Word),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Auto,
}

impl From<GivenSchedule> for Schedule {
    fn from(given: GivenSchedule) -> Self {
        match given {
            GivenSchedule::Constant(value) => Self::Constant(value),
            GivenSchedule::Theory(theory) => Self::Theory(theory),
            GivenSchedule::Auto(Word::Auto) => Self::Auto,
        }
    }
}

impl From<Schedule> for GivenSchedule {
    fn from(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Constant(value) => Self::Constant(value),
            Schedule::Theory(theory) => Self::Theory(theory),
            Schedule::Auto => Self::Auto(Word::Auto),
        }
    }
}

impl From<GivenLambda> for Lambda {
    fn from(given: GivenLambda) -> Self {
        match given {
            GivenLambda::Value(value) => Self::Value(value),
            GivenLambda::Auto(Word::Auto) => Self::Auto,
        }
    }
}

impl From<Lambda> for GivenLambda {
    fn from(lambda: Lambda) -> Self {
        match lambda {
            Lambda::Value(value) => Self::Value(value),
            Lambda::Auto => Self::Auto(Word::Auto),
        }
    }
}

impl Default for Lambda {
    fn default() -> Self {
        Self::Value(1.0)
    }
}

impl From<f64> for Lambda {
    fn from(value: f64) -> Self {
        Self::Value(value)
    }
}

/// For the checks of ranges, which are written for schedules.
impl From<Lambda> for Schedule {
    fn from(lambda: Lambda) -> Self {
        match lambda {
            Lambda::Value(value) => Self::Constant(value),
            Lambda::Auto => Self::Auto,
        }
    }
}

impl Lambda {
    /// The number, or what it is before the first reward other than 0.
    #[must_use]
    pub fn before(self) -> f64 {
        match self {
            Self::Value(value) => value,
            Self::Auto => 1.0,
        }
    }

    /// The value in the round of `at`.
    pub(super) fn at(self, at: &Context<'_>) -> f64 {
        match (self, at.posterior.estimate()) {
            (Self::Auto, Some(estimate)) => estimate.lambda,
            _ => self.before(),
        }
    }
}

/// sigma in the round of `at`.
pub(super) fn sigma(at: &Context<'_>) -> f64 {
    at.posterior.estimate().map_or(1.0, |estimate| estimate.sigma)
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
    /// The value in the round of `at`; `shrink` divides delta, and `auto` is the multiple of sigma.
    pub(crate) fn at(&self, at: &Context<'_>, lambda: Lambda, auto: f64, shrink: impl Fn(&Theory) -> f64) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Auto => auto * sigma(at),
            Self::Theory(theory) => {
                let Theory { r, s, delta, k, .. } = *theory;
                Problem { d: at.total_dim(), k, lambda: lambda.at(at), r, s }.beta(at.round.t, delta / shrink(theory))
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
