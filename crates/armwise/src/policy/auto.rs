//! What a policy chose by itself in a round, by evidence: reported with decisions, in a campaign's status and report.

use super::Context;
use crate::Estimate;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Parameters that were chosen by evidence, or depend on noise that was estimated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auto {
    /// lambda of the round.
    pub lambda: f64,
    /// The noise of the rewards; 1 before the first reward other than 0.
    pub sigma: f64,
    /// v_t, where the algorithm has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v: Option<f64>,
    /// alpha_t, where the algorithm has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// The degrees of freedom of the noise; none before the first reward other than 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freedom: Option<f64>,
    /// The forgetting factor, where it is chosen by evidence: with every round, what was learned before counts so much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
}

impl Auto {
    /// lambda and sigma of the round; none where the policy did not ask for them.
    pub(super) fn of(at: &Context<'_>) -> Option<Self> {
        let Estimate { lambda, sigma, freedom, gamma } = at.posterior.estimate()?;
        Some(Self { lambda, sigma, v: None, alpha: None, freedom, gamma })
    }
}

/// `lambda = 0.3162, v = 0.12, sigma = 0.48`, with four digits each.
impl fmt::Display for Auto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lambda, sigma, v, alpha, gamma, .. } = *self;
        let named = [("lambda", Some(lambda)), ("v", v), ("alpha", alpha), ("sigma", Some(sigma)), ("gamma", gamma)];
        let mut named = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
        named.try_for_each(|(name, value)| {
            let comma = if name == "lambda" { "" } else { ", " };
            // As many decimals as show four digits.
            let decimals = (3 - libm::log10(value.abs().max(1e-300)).floor() as i32).clamp(0, 12);
            #[expect(clippy::cast_sign_loss, reason = "it is clamped")]
            let decimals = decimals as usize;
            write!(f, "{comma}{name} = {value:.decimals$}")
        })
    }
}
