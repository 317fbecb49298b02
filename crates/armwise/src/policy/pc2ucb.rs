//! Perturbed C2UCB: C2UCB in which each arm's bonus is stretched by a random factor of its own.
//!
//! With c = 0 it is C2UCB to the bit.

use super::{Bonus, Context, Description, Draw, Parameter, Policy, Randomness, Schedule, description::LAMBDA, one};
use crate::Error;
use serde::{Deserialize, Serialize};

/// C2UCB with arm-wise randomization.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i) + (1 + c U(i)) alpha_t width(i),   U(i) ~ U[0, 1)     theory: alpha_t = beta_t(delta)
/// ```
/// # Reference
/// Algorithm 1, double box, lines 8 to 10; Theorem 3.
///
/// # Example
/// ```
/// use armwise::{Learner, Pc2ucb};
/// let learner = Learner::new(Pc2ucb { lambda: 1.0, alpha: 0.1.into(), c: 1.0 }, 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pc2ucb {
    /// The ridge lambda > 0.
    #[serde(default = "one")]
    pub lambda: f64,
    /// How optimistic: alpha_t >= 0.
    #[serde(default)]
    pub alpha: Schedule,
    /// How much the bonus is stretched at most: c >= 0.
    #[serde(default = "one")]
    pub c: f64,
}

impl Pc2ucb {
    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "pc2ucb",
        title: "PC²UCB",
        class: "PC2UCB",
        about: "upper confidence bound, perturbed arm by arm",
        formula: "theta_hat' x(i) + (1 + c U(i)) alpha_t width(i), U(i) ~ U[0, 1)",
        randomness: Randomness::PerArm,
        uses_width: true,
        parameters: &[
            LAMBDA,
            Parameter::schedule("alpha", "α", false, false),
            Parameter::non_negative("c", "c").untuned(),
        ],
    };
}

impl Policy for Pc2ucb {
    fn ridge(&self) -> f64 {
        self.lambda
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        let alpha_t = self.alpha.at(at, self.lambda, |_| 1.0);
        Bonus::width(Draw::Uniform, move |u| (1.0 + self.c * u) * alpha_t).at_most((1.0 + self.c) * alpha_t.abs())
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.alpha, self.c.into()])
    }
}
