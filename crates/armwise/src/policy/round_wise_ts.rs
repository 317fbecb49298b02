//! Thompson sampling with round-wise randomization: one draw of theta for all arms.
//!
//! The randomness is in the direction, so arms that look the same still get the same score.

use super::{Auto, Context, Description, Lambda, Parameter, Policy, Randomness, Schedule, Theory, description::LAMBDA};
use crate::Error;
use serde::{Deserialize, Serialize};

/// v = "auto" in units of sigma: the posterior itself.
const AUTO: f64 = 1.0;

/// Thompson sampling that draws one parameter per round.
///
/// # Formula
/// ```text
/// score(i) = theta_tilde' x(i),   theta_tilde ~ N(theta_hat, v_t^2 V^-1)     theory: v_t = beta_t(delta / (4T)),   auto: sigma_t
/// ```
/// # Reference
/// Algorithm 2, single box, lines 6 and 9; Theorem 2.
///
/// # Example
/// ```
/// use armwise::{Learner, RoundWiseTs};
/// let learner = Learner::new(RoundWiseTs::new(1.0, 0.1), 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundWiseTs {
    /// The ridge lambda > 0, or `"auto"`.
    #[serde(default)]
    pub lambda: Lambda,
    /// How wide the draw: v_t >= 0.
    #[serde(default)]
    pub v: Schedule,
}

impl RoundWiseTs {
    /// With these parameters.
    #[must_use]
    pub fn new(lambda: impl Into<Lambda>, v: impl Into<Schedule>) -> Self {
        Self { lambda: lambda.into(), v: v.into() }
    }

    fn v_t(&self, at: &Context<'_>) -> f64 {
        self.v.at(at, self.lambda, AUTO, Theory::four_rounds)
    }

    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "round-wise-ts",
        title: "Round-wise TS",
        class: "RoundWiseTS",
        about: "Thompson sampling, one draw per round",
        formula: "theta_tilde' x(i), theta_tilde ~ N(theta_hat, v_t^2 V^-1)",
        randomness: Randomness::PerRound,
        uses_width: false,
        in_turn: false,
        parameters: &[LAMBDA, Parameter::schedule("v", "v", true, false)],
        switches: &[],
    };
}

impl Policy for RoundWiseTs {
    fn ridge(&self) -> f64 {
        self.lambda.before()
    }

    fn lambda(&self) -> Lambda {
        self.lambda
    }

    fn estimates(&self) -> bool {
        self.v == Schedule::Auto
    }

    fn auto(&self, at: &Context<'_>) -> Option<Auto> {
        Some(Auto { v: Some(self.v_t(at)), ..Auto::of(at)? })
    }

    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        at.posterior.sample(self.v_t(at), &at.direction_draws())
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.v])
    }
}
