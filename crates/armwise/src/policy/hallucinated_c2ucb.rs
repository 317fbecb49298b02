//! C2UCB that takes one arm after another: each arm taken shrinks the widths of those like it.
//!
//! It leaves a cluster by itself, without randomness: the deterministic rival of arm-wise draws. It is the one policy
//! that sees more than an arm at a time, so [`choose/turns.rs`](crate::Learner::choose) makes its choice;
//! [`Learner::scores`](crate::Learner::scores) gives those of the first pick.

use super::description::LAMBDA;
use super::{Auto, Bonus, C2ucb, Context, Description, Draw, InTurn, Lambda, Parameter, Policy, Randomness, Schedule};
use crate::Error;
use serde::{Deserialize, Serialize};

/// C2UCB with widths that shrink within the round, and diverse super arms by the same loop.
///
/// # Formula
/// ```text
/// score(i) = theta_hat' x(i) + alpha_t |x(i)|_(V + X X')^-1 + diversity / 2 ln(1 + |x(i)|^2_(lambda I + X X')^-1)
/// ```
/// for the rows X that were taken before in this round, in the same block. With `alpha = 0` and a diversity it is the
/// greedy choice of a set whose determinant counts beside its rewards.
///
/// It chooses for `top-k` and `quotas`. The decision has each arm's width and score as they were when it was taken.
///
/// # Reference
/// Desautels, Krause and Burdick, "Parallelizing exploration-exploitation tradeoffs in Gaussian process bandit
/// optimization" (JMLR 2014).
///
/// # Example
/// ```
/// use armwise::{Arms, Constraint, HallucinatedC2ucb, Learner, Round};
/// let learner = Learner::new(HallucinatedC2ucb::new(1.0, 1.0), 2, 1)?; // 2 features, 1 block
/// let x = [1.0, 0.0, 1.0, 0.0, 0.0, 0.9]; // two arms are alike
/// let decision = learner.choose(Round::new(1, 1), &Arms::new(&x[..], 2)?, &Constraint::top_k(2))?;
/// assert_eq!(decision.arms.iter().map(|arm| arm.id).collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HallucinatedC2ucb {
    /// The ridge lambda > 0, or `"auto"`.
    #[serde(default)]
    pub lambda: Lambda,
    /// How optimistic: alpha_t >= 0.
    #[serde(default)]
    pub alpha: Schedule,
    /// What unlike arms are worth: at least 0.
    #[serde(default)]
    pub diversity: f64,
}

impl HallucinatedC2ucb {
    /// With these parameters, and no reward for diversity.
    #[must_use]
    pub fn new(lambda: impl Into<Lambda>, alpha: impl Into<Schedule>) -> Self {
        Self { lambda: lambda.into(), alpha: alpha.into(), diversity: 0.0 }
    }

    /// What it is until an arm is taken.
    fn at_first(&self) -> C2ucb {
        C2ucb { lambda: self.lambda, alpha: self.alpha }
    }

    /// What it says about itself.
    pub const DESCRIPTION: Description = Description {
        name: "hallucinated-c2ucb",
        title: "Hallucinated C²UCB",
        class: "HallucinatedC2UCB",
        about: "upper confidence bound, one arm after another, with widths that shrink",
        formula: "theta_hat' x(i) + alpha_t width(i) + diversity / 2 ln(1 + length(i)^2), both under the rows taken before",
        randomness: Randomness::None,
        uses_width: true,
        in_turn: true,
        parameters: &[
            LAMBDA,
            Parameter::schedule("alpha", "α", false, false),
            Parameter { default: 0.0, ..Parameter::non_negative("diversity", "ρ").untuned() },
        ],
        switches: &[],
    };
}

impl Policy for HallucinatedC2ucb {
    fn ridge(&self) -> f64 {
        self.lambda.before()
    }

    fn lambda(&self) -> Lambda {
        self.lambda
    }

    fn estimates(&self) -> bool {
        self.at_first().estimates()
    }

    fn auto(&self, at: &Context<'_>) -> Option<Auto> {
        self.at_first().auto(at)
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        let alpha_t = self.at_first().alpha_t(at);
        Bonus::width(Draw::None, move |_| alpha_t)
    }

    fn in_turn(&self, at: &Context<'_>) -> Option<InTurn> {
        Some(InTurn { lambda: self.lambda.at(at), alpha: self.at_first().alpha_t(at), diversity: self.diversity })
    }

    fn validate(&self) -> Result<(), Error> {
        Self::DESCRIPTION.check(&[self.lambda.into(), self.alpha, self.diversity.into()])
    }
}
