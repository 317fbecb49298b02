//! Perturbed C2UCB: C2UCB in which each arm's bonus is stretched by a random factor of its own.
//!
//! With c = 0 it is C2UCB to the bit.

use super::description::{LAMBDA, SCOPE};
use super::{Auto, Bonus, Context, Description, Draw, Lambda, Parameter, Policy, Randomness, Schedule, Scope, one};
use crate::Error;
use serde::{Deserialize, Serialize};

/// alpha = "auto" in units of sigma: with c = 1 bonuses are 1.05 sigma wide on average.
const AUTO: f64 = 0.7;

/// C2UCB with arm-wise randomization.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i) + (1 + c U(i)) alpha_t width(i),   U(i) ~ U[0, 1)     theory: alpha_t = beta_t(delta),   auto: 0.7 sigma_t
/// ```
/// With another [`Scope`] than the paper's, arms share their U(i). Every score stays optimistic, so Theorem 3 holds.
///
/// # Reference
/// Algorithm 1, double box, lines 8 to 10; Theorem 3.
///
/// # Example
/// ```
/// use armwise::{Learner, Pc2ucb};
/// let learner = Learner::new(Pc2ucb::new(1.0, 0.1, 1.0), 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pc2ucb {
    /// The ridge lambda > 0, or `"auto"`.
    #[serde(default)]
    pub lambda: Lambda,
    /// How optimistic: alpha_t >= 0.
    #[serde(default)]
    pub alpha: Schedule,
    /// How much the bonus is stretched at most: c >= 0.
    #[serde(default = "one")]
    pub c: f64,
    /// Who shares the draws.
    #[serde(default, skip_serializing_if = "Scope::is_own")]
    pub scope: Scope,
}

impl Pc2ucb {
    /// With these parameters, and a draw for each arm.
    #[must_use]
    pub fn new(lambda: impl Into<Lambda>, alpha: impl Into<Schedule>, c: f64) -> Self {
        Self { lambda: lambda.into(), alpha: alpha.into(), c, scope: Scope::Own }
    }

    fn alpha_t(&self, at: &Context<'_>) -> f64 {
        self.alpha.at(at, self.lambda, AUTO, |_| 1.0)
    }

    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "pc2ucb",
        title: "PC²UCB",
        class: "PC2UCB",
        about: "upper confidence bound, perturbed arm by arm",
        formula: "theta_hat' x(i) + (1 + c U(i)) alpha_t width(i), U(i) ~ U[0, 1)",
        randomness: Randomness::PerArm,
        uses_width: true,
        in_turn: false,
        parameters: &[
            LAMBDA,
            Parameter::schedule("alpha", "α", false, false),
            Parameter::non_negative("c", "c").untuned(),
        ],
        switches: &[SCOPE],
    };
}

impl Policy for Pc2ucb {
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
        Bonus::width(Draw::Uniform, move |u| (1.0 + self.c * u) * alpha_t)
            .at_most((1.0 + self.c) * alpha_t.abs())
            .with_line(alpha_t, self.c * alpha_t)
            .with_scope(self.scope)
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.alpha, self.c.into()])?;
        self.scope.validate()
    }
}
