//! The algorithms by name: what every surface (command line, TOML, Python, HTTP) speaks.
//!
//! One flat table, `name` and the parameters side by side; a parameter left out is 1.

use super::{ArmWiseTs, Bonus, C2ucb, CombLinTs, CombLinUcb, Context, Greedy, Pc2ucb, Policy, Random, RoundWiseTs};
use crate::Error;
use serde::{Deserialize, Serialize};

/// An algorithm with its parameters.
///
/// # Example
/// ```
/// use armwise::Algorithm;
/// let algorithm: Algorithm = serde_json::from_str(r#"{"name": "arm-wise-ts", "lambda": 1.0, "v": 0.1}"#)?;
/// assert_eq!(algorithm.name(), "arm-wise-ts");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name")]
#[non_exhaustive]
pub enum Algorithm {
    /// The estimate alone.
    #[serde(rename = "greedy")]
    Greedy(Greedy),
    /// Upper confidence bound of a Bayesian linear model.
    #[serde(rename = "comblin-ucb")]
    CombLinUcb(CombLinUcb),
    /// Thompson sampling from a Bayesian linear model, one draw per round.
    #[serde(rename = "comblin-ts")]
    CombLinTs(CombLinTs),
    /// Upper confidence bound.
    #[serde(rename = "c2ucb")]
    C2ucb(C2ucb),
    /// Upper confidence bound with arm-wise randomization.
    #[serde(rename = "pc2ucb")]
    Pc2ucb(Pc2ucb),
    /// Thompson sampling, one draw per round.
    #[serde(rename = "round-wise-ts")]
    RoundWiseTs(RoundWiseTs),
    /// Thompson sampling, one draw per arm.
    #[serde(rename = "arm-wise-ts")]
    ArmWiseTs(ArmWiseTs),
    /// Uniform choice.
    #[serde(rename = "random")]
    Random(Random),
}

impl Algorithm {
    /// The names of all algorithms, in the paper's order.
    pub const NAMES: [&'static str; 8] =
        ["greedy", "comblin-ucb", "comblin-ts", "c2ucb", "pc2ucb", "round-wise-ts", "arm-wise-ts", "random"];

    /// The algorithm's name on every surface.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Greedy(_) => "greedy",
            Self::CombLinUcb(_) => "comblin-ucb",
            Self::CombLinTs(_) => "comblin-ts",
            Self::C2ucb(_) => "c2ucb",
            Self::Pc2ucb(_) => "pc2ucb",
            Self::RoundWiseTs(_) => "round-wise-ts",
            Self::ArmWiseTs(_) => "arm-wise-ts",
            Self::Random(_) => "random",
        }
    }

    fn policy(&self) -> &dyn Policy {
        match self {
            Self::Greedy(policy) => policy,
            Self::CombLinUcb(policy) => policy,
            Self::CombLinTs(policy) => policy,
            Self::C2ucb(policy) => policy,
            Self::Pc2ucb(policy) => policy,
            Self::RoundWiseTs(policy) => policy,
            Self::ArmWiseTs(policy) => policy,
            Self::Random(policy) => policy,
        }
    }
}

impl Policy for Algorithm {
    fn ridge(&self) -> f64 {
        self.policy().ridge()
    }

    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        self.policy().direction(at)
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        self.policy().bonus(at)
    }

    fn validate(&self) -> Result<(), Error> {
        self.policy().validate()
    }
}
