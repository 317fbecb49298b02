//! CombLinTS of Wen, Kveton and Ashkan (2015).
//!
//! It is round-wise Thompson sampling with v = sigma and ridge sigma^2 / lambda^2.

use super::description::{LAMBDA2, SIGMA2};
use super::{Context, Description, Policy, Randomness, hundredth};
use crate::error::{Error, positive};
use serde::{Deserialize, Serialize};

/// Thompson sampling from the posterior of a Bayesian linear model, one draw per round.
///
/// # Formula
/// ```text
/// score(i) = theta_tilde' x(i),   theta_tilde ~ N(theta_hat, Sigma),   Sigma = sigma^2 V^-1
/// ridge = sigma^2 / lambda^2
/// ```
/// # Reference
/// Section VII-B2; Wen, Kveton, Ashkan, "Efficient learning in large-scale combinatorial semi-bandits" (ICML 2015).
///
/// # Example
/// ```
/// use armwise::{Learner, CombLinTs};
/// let learner = Learner::new(CombLinTs { lambda2: 1.0, sigma2: 0.25 }, 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CombLinTs {
    /// The prior variance lambda^2 > 0.
    #[serde(default = "hundredth")]
    pub lambda2: f64,
    /// The noise variance sigma^2 > 0.
    #[serde(default = "hundredth")]
    pub sigma2: f64,
}

impl CombLinTs {
    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "comblin-ts",
        title: "CombLinTS",
        class: "CombLinTS",
        about: "Thompson sampling, one draw per round",
        formula: "theta_tilde' x(i), theta_tilde ~ N(theta_hat, sigma2 V^-1), ridge sigma2 / lambda2",
        randomness: Randomness::PerRound,
        uses_width: false,
        in_turn: false,
        parameters: &[LAMBDA2, SIGMA2],
        switches: &[],
    };
}

impl Policy for CombLinTs {
    fn ridge(&self) -> f64 {
        self.sigma2 / self.lambda2
    }

    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        at.posterior.sample(self.sigma2.sqrt(), &at.direction_draws())
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda2.into(), self.sigma2.into()])?;
        positive("sigma2 / lambda2", self.ridge())
    }
}
