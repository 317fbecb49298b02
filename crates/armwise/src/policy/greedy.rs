//! Greedy: the estimate alone, and a flat normal draw while nothing is known.
//!
//! The paper's "first round" is read as "nothing has been observed yet, in any block". In the paper's setting that is
//! round 1. With late rewards it lasts until the first of them arrive; otherwise all early choices would go to the
//! smallest ids.

use super::{Bonus, Context, Description, Draw, Lambda, Policy, Randomness, description::LAMBDA};
use crate::Error;
use serde::{Deserialize, Serialize};

/// Takes the arms that look best, without exploring on purpose.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i)           once something is known
/// score(i) = z(i),  z(i) ~ N(0, 1)     before
/// ```
/// # Reference
/// Section VII-B1: "a special case of C2UCB with alpha_t = 0 except for the first round".
///
/// # Example
/// ```
/// use armwise::{Learner, Greedy};
/// let learner = Learner::new(Greedy::new(1.0), 3, 1)?; // 3 features, 1 block
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greedy {
    /// The ridge lambda > 0, or `"auto"`.
    #[serde(default)]
    pub lambda: Lambda,
}

impl Greedy {
    /// With this lambda.
    #[must_use]
    pub fn new(lambda: impl Into<Lambda>) -> Self {
        Self { lambda: lambda.into() }
    }

    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "greedy",
        title: "Greedy",
        class: "Greedy",
        about: "the estimate alone; random in the first round",
        formula: "theta_hat' x(i)",
        randomness: Randomness::None,
        uses_width: false,
        in_turn: false,
        parameters: &[LAMBDA],
        switches: &[],
    };
}

impl Policy for Greedy {
    fn ridge(&self) -> f64 {
        self.lambda.before()
    }

    fn lambda(&self) -> Lambda {
        self.lambda
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        if at.count == 0 { Bonus::flat(Draw::Normal, |z| z).with_line(0.0, 1.0) } else { Bonus::none() }
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into()])
    }
}
