//! C2UCB: the upper confidence bound, the same for arms that look the same.
//!
//! It is deterministic, so equal features mean equal scores; in exact clusters the tie rule
//! alone decides who is chosen.

use super::{
    Auto, Bonus, Context, Description, Draw, Lambda, Parameter, Policy, Randomness, Schedule, description::LAMBDA,
};
use crate::Error;
use serde::{Deserialize, Serialize};

/// alpha = "auto" in units of sigma.
const AUTO: f64 = 1.0;

/// The upper confidence bound of Qin, Chen and Zhu.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i) + alpha_t width(i)          theory: alpha_t = beta_t(delta),   auto: sigma_t
/// ```
/// # Reference
/// Algorithm 1, single box, line 7; Theorem 4.
///
/// # Example
/// ```
/// use armwise::{Learner, C2ucb};
/// let learner = Learner::new(C2ucb::new(1.0, 0.1), 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct C2ucb {
    /// The ridge lambda > 0, or `"auto"`.
    #[serde(default)]
    pub lambda: Lambda,
    /// How optimistic: alpha_t >= 0.
    #[serde(default)]
    pub alpha: Schedule,
}

impl C2ucb {
    /// With these parameters.
    #[must_use]
    pub fn new(lambda: impl Into<Lambda>, alpha: impl Into<Schedule>) -> Self {
        Self { lambda: lambda.into(), alpha: alpha.into() }
    }

    pub(super) fn alpha_t(&self, at: &Context<'_>) -> f64 {
        self.alpha.at(at, self.lambda, AUTO, |_| 1.0)
    }

    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "c2ucb",
        title: "C²UCB",
        class: "C2UCB",
        about: "upper confidence bound",
        formula: "theta_hat' x(i) + alpha_t width(i)",
        randomness: Randomness::None,
        uses_width: true,
        in_turn: false,
        parameters: &[LAMBDA, Parameter::schedule("alpha", "α", false, false)],
        switches: &[],
    };
}

impl Policy for C2ucb {
    fn ridge(&self) -> f64 {
        self.lambda.before()
    }

    fn lambda(&self) -> Lambda {
        self.lambda
    }

    fn estimates(&self) -> bool {
        self.alpha == Schedule::Auto
    }

    fn auto(&self, at: &Context<'_>) -> Option<Auto> {
        Some(Auto { alpha: Some(self.alpha_t(at)), ..Auto::of(at)? })
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        let alpha_t = self.alpha_t(at);
        Bonus::width(Draw::None, move |_| alpha_t)
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.alpha])
    }
}
