//! CombLinUCB of Wen, Kveton and Ashkan (2015).
//!
//! Its Kalman filter with prior covariance lambda^2 I and noise sigma^2 has
//! Sigma = sigma^2 V^-1 with ridge sigma^2 / lambda^2, so it is C2UCB with alpha = c sigma and that ridge.

use super::description::{LAMBDA2, SIGMA2};
use super::{Bonus, Context, Description, Draw, Parameter, Policy, Randomness, hundredth, one};
use crate::error::{Error, positive};
use serde::{Deserialize, Serialize};

/// The upper confidence bound of a Bayesian linear model.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i) + c sqrt(x(i)' Sigma x(i)) = theta_hat' x(i) + c sigma width(i)
/// ridge = sigma^2 / lambda^2
/// ```
/// # Reference
/// Section VII-B2; Wen, Kveton, Ashkan, "Efficient learning in large-scale combinatorial semi-bandits" (ICML 2015).
///
/// # Example
/// ```
/// use armwise::{Learner, CombLinUcb};
/// let learner = Learner::new(CombLinUcb { lambda2: 1.0, sigma2: 0.25, c: 1.0 }, 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CombLinUcb {
    /// The prior variance lambda^2 > 0.
    #[serde(default = "hundredth")]
    pub lambda2: f64,
    /// The noise variance sigma^2 > 0.
    #[serde(default = "hundredth")]
    pub sigma2: f64,
    /// How optimistic: c >= 0.
    #[serde(default = "one")]
    pub c: f64,
}

impl CombLinUcb {
    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "comblin-ucb",
        title: "CombLinUCB",
        class: "CombLinUCB",
        about: "upper confidence bound of a Bayesian model",
        formula: "theta_hat' x(i) + c sigma width(i), ridge sigma2 / lambda2",
        randomness: Randomness::None,
        uses_width: true,
        in_turn: false,
        parameters: &[LAMBDA2, SIGMA2, Parameter::non_negative("c", "c")],
        switches: &[],
    };
}

impl Policy for CombLinUcb {
    fn ridge(&self) -> f64 {
        self.sigma2 / self.lambda2
    }

    fn bonus(&self, _: &Context<'_>) -> Bonus<'_> {
        let sigma = self.sigma2.sqrt();
        Bonus::width(Draw::None, move |_| self.c * sigma)
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda2.into(), self.sigma2.into(), self.c.into()])?;
        positive("sigma2 / lambda2", self.ridge())
    }
}
