//! Thompson sampling with round-wise randomization: one draw of theta for all arms.
//!
//! The randomness is in the direction, so arms that look the same still get the same score.

use super::{Context, Description, Parameter, Policy, Randomness, Schedule, Theory, description::LAMBDA, one};
use crate::Error;
use serde::{Deserialize, Serialize};

/// Thompson sampling that draws one parameter per round.
///
/// # Formula
/// ```text
/// score(i) = theta_tilde' x(i),   theta_tilde ~ N(theta_hat, v_t^2 V^-1)     theory: v_t = beta_t(delta / (4T))
/// ```
/// # Reference
/// Algorithm 2, single box, lines 6 and 9; Theorem 2.
///
/// # Example
/// ```
/// use armwise::{Learner, RoundWiseTs};
/// let learner = Learner::new(RoundWiseTs { lambda: 1.0, v: 0.1.into() }, 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundWiseTs {
    /// The ridge lambda > 0.
    #[serde(default = "one")]
    pub lambda: f64,
    /// How wide the draw: v_t >= 0.
    #[serde(default)]
    pub v: Schedule,
}

impl RoundWiseTs {
    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "round-wise-ts",
        title: "Round-wise TS",
        class: "RoundWiseTS",
        about: "Thompson sampling, one draw per round",
        formula: "theta_tilde' x(i), theta_tilde ~ N(theta_hat, v_t^2 V^-1)",
        randomness: Randomness::PerRound,
        uses_width: false,
        parameters: &[LAMBDA, Parameter::schedule("v", "v", true, false)],
    };
}

impl Policy for RoundWiseTs {
    fn ridge(&self) -> f64 {
        self.lambda
    }

    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        let v_t = self.v.at(at, self.lambda, Theory::four_rounds);
        at.posterior.sample(v_t, &at.direction_draws())
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.v])
    }
}
