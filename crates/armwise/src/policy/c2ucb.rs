//! C2UCB: the upper confidence bound, the same for arms that look the same.
//!
//! It is deterministic, so equal features mean equal scores; in exact clusters the tie rule
//! alone decides who is chosen.

use super::{Bonus, Context, Description, Draw, Parameter, Policy, Randomness, Schedule, description::LAMBDA, one};
use crate::Error;
use serde::{Deserialize, Serialize};

/// The upper confidence bound of Qin, Chen and Zhu.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i) + alpha_t width(i)          theory: alpha_t = beta_t(delta)
/// ```
/// # Reference
/// Algorithm 1, single box, line 7; Theorem 4.
///
/// # Example
/// ```
/// use armwise::{Learner, C2ucb};
/// let learner = Learner::new(C2ucb { lambda: 1.0, alpha: 0.1.into() }, 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct C2ucb {
    /// The ridge lambda > 0.
    #[serde(default = "one")]
    pub lambda: f64,
    /// How optimistic: alpha_t >= 0.
    #[serde(default)]
    pub alpha: Schedule,
}

impl C2ucb {
    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "c2ucb",
        title: "C²UCB",
        class: "C2UCB",
        about: "upper confidence bound",
        formula: "theta_hat' x(i) + alpha_t width(i)",
        randomness: Randomness::None,
        uses_width: true,
        parameters: &[LAMBDA, Parameter::schedule("alpha", "α", false, false)],
    };
}

impl Policy for C2ucb {
    fn ridge(&self) -> f64 {
        self.lambda
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        let alpha_t = self.alpha.at(at, self.lambda, |_| 1.0);
        Bonus::width(Draw::None, move |_| alpha_t)
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.alpha])
    }
}
