//! Uniform choice: the baseline of every comparison.
//!
//! The draw takes the place of the score, so any constraint works; it still learns, so its
//! decisions carry a mean and a width.

use super::{Bonus, Context, Description, Draw, Lambda, Policy, Randomness, description::LAMBDA};
use crate::Error;
use serde::{Deserialize, Serialize};

/// Ranks the arms by a uniform draw.
///
/// # Formula
/// ```text
/// score(i) = U(i),   U(i) ~ U[0, 1)
/// ```
/// # Reference
/// Not in the paper; the baseline of the lab.
///
/// # Example
/// ```
/// use armwise::{Learner, Random};
/// let learner = Learner::new(Random::new(1.0), 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// The ridge lambda > 0, or `"auto"`, of the estimates that are shown beside the choice.
    #[serde(default)]
    pub lambda: Lambda,
}

impl Random {
    /// With this lambda.
    #[must_use]
    pub fn new(lambda: impl Into<Lambda>) -> Self {
        Self { lambda: lambda.into() }
    }

    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "random",
        title: "Random",
        class: "Random",
        about: "uniform choice, the floor under every comparison",
        formula: "U(i), U(i) ~ U[0, 1)",
        randomness: Randomness::PerArm,
        uses_width: false,
        in_turn: false,
        parameters: &[LAMBDA.untuned()],
        switches: &[],
    };
}

impl Policy for Random {
    fn ridge(&self) -> f64 {
        self.lambda.before()
    }

    fn lambda(&self) -> Lambda {
        self.lambda
    }

    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        vec![0.0; at.posterior.dim()]
    }

    fn bonus(&self, _: &Context<'_>) -> Bonus<'_> {
        Bonus::flat(Draw::Uniform, |u| u).with_line(0.0, 1.0)
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into()])
    }
}
