//! Thompson sampling with arm-wise randomization: a separate draw of theta for every arm.
//!
//! Theta_tilde(i)' x(i) is a one-dimensional normal with mean theta_hat' x(i) and standard
//! deviation v_t width(i), and the draws of different arms are independent. So one normal per arm has exactly the
//! law of the paper's d per arm.

use super::description::{LAMBDA, NOISE, SCOPE};
use super::schedule::sigma;
use super::{Auto, Bonus, Context, Description, Draw, Lambda, Parameter, Policy, Randomness, Schedule, Scope, Theory};
use crate::Error;
use serde::{Deserialize, Serialize};

/// v = "auto" in units of sigma. The best k of many independent draws lie two to three standard deviations up already,
/// so that 1 would explore too much. Whoever takes another scope has arms that must be taken together, where nothing
/// picks the best draws: with 0.25 a set that was never tried would have to draw four standard deviations up.
const AUTO: f64 = 0.25;
const AUTO_TOGETHER: f64 = 1.0;

/// Thompson sampling that draws one parameter per arm.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i) + v_t z(i) width(i),   z(i) ~ N(0, 1)     theory: v_t = beta_t(delta / (4NT)),   auto: sigma_t / 4, in other scopes sigma_t
/// noise = "estimated":  v_t = v sigma_t,   z(i) ~ Student's law with 1 + n degrees of freedom; v = 1 is the law of theta' x(i)
/// ```
/// Independent draws cancel out in a sum of many arms that must be taken together: then use another [`Scope`] than the
/// paper's, in which arms share their z(i) or have the best of several.
///
/// # Reference
/// Algorithm 2, double box, lines 8 and 10; Theorem 1.
///
/// # Example
/// ```
/// use armwise::{Learner, ArmWiseTs};
/// let learner = Learner::new(ArmWiseTs::new(1.0, 0.1), 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmWiseTs {
    /// The ridge lambda > 0, or `"auto"`.
    #[serde(default)]
    pub lambda: Lambda,
    /// How wide the draws: v_t >= 0.
    #[serde(default)]
    pub v: Schedule,
    /// Who shares the draws.
    #[serde(default, skip_serializing_if = "Scope::is_own")]
    pub scope: Scope,
    /// Whether the noise is known, or estimated.
    #[serde(default, skip_serializing_if = "Noise::is_known")]
    pub noise: Noise,
}

/// Whether the standard deviation of the rewards' noise is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// It is in v, which is in the unit of rewards.
    #[default]
    Known,
    /// It is estimated: v is a multiple of sigma_t, and z(i) has Student's law, wider while little is known.
    Estimated,
}

impl Noise {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_known(&self) -> bool {
        *self == Self::Known
    }
}

impl ArmWiseTs {
    /// With these parameters, and a draw for each arm.
    #[must_use]
    pub fn new(lambda: impl Into<Lambda>, v: impl Into<Schedule>) -> Self {
        Self { lambda: lambda.into(), v: v.into(), scope: Scope::Own, noise: Noise::Known }
    }

    fn v_t(&self, at: &Context<'_>) -> f64 {
        let auto = if self.scope.draws_alone() { AUTO } else { AUTO_TOGETHER };
        let v_t = self.v.at(at, self.lambda, auto, Theory::four_arms_rounds);
        if self.noise == Noise::Estimated && self.v != Schedule::Auto { v_t * sigma(at) } else { v_t }
    }

    fn draw(&self, at: &Context<'_>) -> Draw {
        match (self.noise, at.posterior.estimate().and_then(|estimate| estimate.freedom)) {
            (Noise::Estimated, Some(freedom)) => Draw::Student { freedom },
            _ => Draw::Normal,
        }
    }

    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "arm-wise-ts",
        title: "Arm-wise TS",
        class: "ArmWiseTS",
        about: "Thompson sampling, one draw per arm",
        formula: "theta_hat' x(i) + v_t z(i) width(i), z(i) ~ N(0, 1)",
        randomness: Randomness::PerArm,
        uses_width: true,
        in_turn: false,
        parameters: &[LAMBDA, Parameter::schedule("v", "v", true, true)],
        switches: &[SCOPE, NOISE],
    };
}

impl Policy for ArmWiseTs {
    fn ridge(&self) -> f64 {
        self.lambda.before()
    }

    fn lambda(&self) -> Lambda {
        self.lambda
    }

    fn estimates(&self) -> bool {
        self.v == Schedule::Auto || self.noise == Noise::Estimated
    }

    fn auto(&self, at: &Context<'_>) -> Option<Auto> {
        Some(Auto { v: Some(self.v_t(at)), ..Auto::of(at)? })
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        let (v_t, draw) = (self.v_t(at), self.draw(at));
        Bonus::width(draw, move |z| v_t * z)
            .at_most(v_t.abs() * self.scope.largest(draw))
            .with_line(0.0, v_t)
            .with_scope(self.scope)
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.v])?;
        self.scope.validate()
    }
}
