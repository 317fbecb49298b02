//! Thompson sampling with arm-wise randomization: a separate draw of theta for every arm.
//!
//! Theta_tilde(i)' x(i) is a one-dimensional normal with mean theta_hat' x(i) and standard
//! deviation v_t width(i), and the draws of different arms are independent. So one normal per arm has exactly the
//! law of the paper's d per arm.

use super::description::LAMBDA;
use super::{Bonus, Context, Description, Draw, Parameter, Policy, Randomness, Schedule, Theory, one};
use crate::{Error, random::LARGEST};
use serde::{Deserialize, Serialize};

/// Thompson sampling that draws one parameter per arm.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i) + v_t z(i) width(i),   z(i) ~ N(0, 1)     theory: v_t = beta_t(delta / (4NT))
/// ```
/// # Reference
/// Algorithm 2, double box, lines 8 and 10; Theorem 1.
///
/// # Example
/// ```
/// use armwise::{Learner, ArmWiseTs};
/// let learner = Learner::new(ArmWiseTs { lambda: 1.0, v: 0.1.into() }, 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmWiseTs {
    /// The ridge lambda > 0.
    #[serde(default = "one")]
    pub lambda: f64,
    /// How wide the draws: v_t >= 0.
    #[serde(default)]
    pub v: Schedule,
}

impl ArmWiseTs {
    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "arm-wise-ts",
        title: "Arm-wise TS",
        class: "ArmWiseTS",
        about: "Thompson sampling, one draw per arm",
        formula: "theta_hat' x(i) + v_t z(i) width(i), z(i) ~ N(0, 1)",
        randomness: Randomness::PerArm,
        uses_width: true,
        parameters: &[LAMBDA, Parameter::schedule("v", "v", true, true)],
    };
}

impl Policy for ArmWiseTs {
    fn ridge(&self) -> f64 {
        self.lambda
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        let v_t = self.v.at(at, self.lambda, Theory::four_arms_rounds);
        Bonus::width(Draw::Normal, move |z| v_t * z).at_most(v_t.abs() * LARGEST)
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.v])
    }
}
