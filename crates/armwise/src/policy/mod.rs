//! How an arm's estimated reward is made: score(i) = direction . x(i) + bonus(i).
//!
//! A policy sees one arm at a time and nothing else of the round. The paper's whole idea is where the randomness
//! enters: in the direction (shared by all arms: round-wise) or in the bonus (a separate draw per arm: arm-wise).

#[macro_use]
mod algorithm;
mod auto;
mod description;
mod law;
mod schedule;
mod scope;

pub use arm_wise_ts::Noise;
pub use auto::Auto;
pub use description::{Description, Kind, Parameter, Randomness, Range, Switch};
pub use law::Law;
pub use schedule::{Lambda, Schedule, Theory};
pub(crate) use scope::Drawn;
pub use scope::{BestOf, ColumnName, Scope};

use crate::{Draws, Error, Posterior, Round, Stream};
use std::fmt;

// The library's algorithms: a file and a line each. Whatever lists algorithms shows them in this order.
algorithms! {
    "greedy" greedy::Greedy,
    "comblin-ucb" comblin_ucb::CombLinUcb,
    "comblin-ts" comblin_ts::CombLinTs,
    "c2ucb" c2ucb::C2ucb,
    "pc2ucb" pc2ucb::Pc2ucb,
    "round-wise-ts" round_wise_ts::RoundWiseTs,
    "arm-wise-ts" arm_wise_ts::ArmWiseTs,
    "random" random::Random,
    "hallucinated-c2ucb" hallucinated_c2ucb::HallucinatedC2ucb,
}

/// What a policy can use when it prepares a round: the clock and a block's posterior.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The round.
    pub round: Round,
    /// The block that is being prepared.
    pub block: u32,
    /// How many blocks there are, M.
    pub blocks: usize,
    /// How many observations all blocks have together.
    pub count: u64,
    /// What is known about the block.
    pub posterior: &'a Posterior,
}

impl Context<'_> {
    /// The dimension of the whole problem: d times the number of blocks.
    #[must_use]
    pub fn total_dim(&self) -> usize {
        self.posterior.dim() * self.blocks
    }

    /// The shared draws of this round and block.
    #[must_use]
    pub fn direction_draws(&self) -> Draws {
        self.round.draws(self.block, Stream::DIRECTION)
    }
}

/// How the estimated reward of an arm is made.
///
/// # Example
/// A custom policy, epsilon-greedy by arm: a small chance of an optimistic bonus.
/// ```
/// use armwise::{Arms, Bonus, Constraint, Context, Draw, Learner, Policy, Round};
///
/// struct EpsilonGreedy { epsilon: f64 }
///
/// impl Policy for EpsilonGreedy {
///     fn ridge(&self) -> f64 { 1.0 }
///     fn bonus(&self, _: &Context<'_>) -> Bonus<'_> {
///         Bonus::flat(Draw::Uniform, |u| if u < self.epsilon { 1.0 } else { 0.0 })
///     }
/// }
///
/// let learner = Learner::new(EpsilonGreedy { epsilon: 0.1 }, 2, 1)?;
/// let arms = Arms::new(&[1.0, 0.0, 0.0, 1.0][..], 2)?;
/// let decision = learner.choose(Round::new(1, 1), &arms, &Constraint::top_k(1))?;
/// assert_eq!(decision.arms.len(), 1);
/// # Ok::<(), armwise::Error>(())
/// ```
pub trait Policy: Send + Sync {
    /// The ridge of V = ridge I + G; of a policy that has it chosen by evidence, the one before the first reward.
    fn ridge(&self) -> f64;

    /// The ridge, or that it is to be chosen by evidence.
    fn lambda(&self) -> Lambda {
        self.ridge().into()
    }

    /// Whether the policy needs [an estimate](Posterior::estimate) of the noise.
    fn estimates(&self) -> bool {
        false
    }

    /// What was chosen by itself in the round of `at`, for whoever looks at a decision; none unless something was.
    fn auto(&self, at: &Context<'_>) -> Option<Auto> {
        Auto::of(at)
    }

    /// What is multiplied with x: theta_hat, unless overridden.
    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        at.posterior.theta_hat().to_vec()
    }

    /// What is added for each arm: nothing, unless overridden.
    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        let _ = at;
        Bonus::none()
    }

    /// How scores change with every arm that is taken in the round of `at`: not at all, unless overridden.
    fn in_turn(&self, at: &Context<'_>) -> Option<InTurn> {
        let _ = at;
        None
    }

    /// Who shares the draws of the bonus: every arm has its own, unless overridden.
    fn scope(&self) -> Scope {
        Scope::Own
    }

    /// Refuses parameters that make no sense; called once, when a learner is made.
    ///
    /// # Errors
    /// [`Error::Parameter`] that names the parameter and its range.
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// How scores change with every arm that is taken: see [`HallucinatedC2ucb`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InTurn {
    /// lambda of the round.
    pub lambda: f64,
    /// What a width is multiplied with.
    pub alpha: f64,
    /// What diversity is worth.
    pub diversity: f64,
}

impl InTurn {
    /// What diversity adds, for a squared width in lambda I + sum of x x'.
    pub(crate) fn diversity(&self, square: f64) -> f64 {
        if self.diversity > 0.0 { 0.5 * self.diversity * libm::log1p(square) } else { 0.0 }
    }

    /// (offset, slope): diversity never adds more than offset + slope |x|, and not much less where |x| is about `norm`.
    ///
    /// It is the tangent of f(n) = ln(1 + n^2 / lambda) at n >= 2 sqrt(lambda). From sqrt(lambda) on f is concave and so
    /// below it; up to there f is convex, and below it at both ends: ln(1 + r) >= 2 r / (1 + r) from r = 4 on.
    pub(crate) fn diversity_line(&self, norm: f64) -> [f64; 2] {
        let norm = norm.max(2.0 * self.lambda.sqrt());
        let slope = self.diversity * norm / (self.lambda + norm * norm);
        [(self.diversity(norm * norm / self.lambda) - slope * norm).max(0.0), slope]
    }

    /// How much a computed score may be above an earlier one by rounding alone, though the exact one only falls, after so
    /// many arms were taken, as a multiple of the norm; what the product with the direction is off apart.
    ///
    /// Adding a row takes each element of W off by at most about d roundings of |W|_F, which is at most sqrt(d) times
    /// the largest width of an x of norm 1. That is far less than eta for V; ln(1 + w^2) is off by at most what w is.
    pub(crate) fn rounding(&self, posterior: &Posterior, taken: usize) -> f64 {
        let (widths, d) = (posterior.widths(), posterior.dim() as f64);
        // Where V is nearly singular nothing is known of rounding.
        let eta = if widths.eta < 1e-3 { widths.eta } else { f64::INFINITY };
        let apart = 4.0 * (d + 4.0) * d.sqrt() * f64::EPSILON / self.lambda.sqrt();
        (8.0 + taken as f64) * (self.alpha * eta * widths.most + self.diversity * apart)
    }
}

/// The law of an arm's random number Z(i); the [`Scope`] says who shares it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Draw {
    /// None.
    None,
    /// Uniform in [0, 1).
    Uniform,
    /// Standard normal.
    Normal,
    /// Student's law.
    Student {
        /// The degrees of freedom, at least 1.
        freedom: f64,
    },
}

/// What the coefficient of a bonus is multiplied with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    One,
    Width,
}

/// Turns draws into coefficients, many at a call.
type Coefficients<'p> = Box<dyn Fn(&mut [f64]) + Send + Sync + 'p>;

/// What is added to direction . x: a coefficient, made from the arm's own draw, times the arm's width or times 1.
pub struct Bonus<'p> {
    pub(crate) draw: Draw,
    pub(crate) scope: Scope,
    pub(crate) times: Times,
    coefficients: Coefficients<'p>,
    /// base and factor of coefficient(z) = base + factor z, where the policy tells.
    line: Option<(f64, f64)>,
    /// No coefficient is larger.
    pub(crate) most: f64,
}

impl<'p> Bonus<'p> {
    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::flat(Draw::None, |_| 0.0)
    }

    /// bonus(i) = coefficient(draw(i)).
    pub fn flat(draw: Draw, coefficient: impl Fn(f64) -> f64 + Send + Sync + 'p) -> Self {
        Self::new(draw, Times::One, coefficient)
    }

    /// bonus(i) = coefficient(draw(i)) * width(i).
    pub fn width(draw: Draw, coefficient: impl Fn(f64) -> f64 + Send + Sync + 'p) -> Self {
        Self::new(draw, Times::Width, coefficient)
    }

    fn new(draw: Draw, times: Times, coefficient: impl Fn(f64) -> f64 + Send + Sync + 'p) -> Self {
        let coefficients = move |draws: &mut [f64]| draws.iter_mut().for_each(|draw| *draw = coefficient(*draw));
        let (scope, line, most) = (Scope::Own, None, f64::INFINITY);
        Self { draw, scope, times, coefficients: Box::new(coefficients), line, most }
    }

    /// Says who shares a draw; every arm has its own, unless told otherwise.
    #[must_use]
    pub fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Declares that coefficient(z) is base + factor z up to rounding, so that the [law](Self::law) of scores is known.
    #[must_use]
    pub fn with_line(self, base: f64, factor: f64) -> Self {
        Self { line: Some((base, factor)), ..self }
    }

    /// The law of the scores, given means and widths; none where the policy does not tell.
    #[must_use]
    pub fn law(&self) -> Option<Law> {
        let line = if self.draw == Draw::None { Some((self.constant(0.0), 0.0)) } else { self.line };
        let (base, factor) = line?;
        Some(Law { draw: self.draw, scope: self.scope, base, factor, of_width: self.times == Times::Width })
    }

    /// base and factor > 0 of coefficient(z) = base + factor z up to rounding, where the policy tells.
    pub(crate) fn rising_line(&self) -> Option<(f64, f64)> {
        self.line.filter(|(base, factor)| base.is_finite() && *factor > 0.0 && factor.is_finite())
    }

    /// The coefficient of one draw.
    pub(crate) fn constant(&self, draw: f64) -> f64 {
        let mut one = [draw];
        (self.coefficients)(&mut one);
        one[0]
    }

    /// Declares that all coefficients are finite and none is larger than this, so that most arms can be pruned without
    /// making their draws.
    #[must_use]
    pub(crate) fn at_most(self, most: f64) -> Self {
        Self { most, ..self }
    }

    /// Turns draws into coefficients, in place.
    pub(crate) fn coefficients(&self, draws: &mut [f64]) {
        (self.coefficients)(draws);
    }
}

impl fmt::Debug for Bonus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bonus").field("draw", &self.draw).field("times", &self.times).finish_non_exhaustive()
    }
}

/// Serde's default for a parameter that the caller leaves out.
const fn one() -> f64 {
    1.0
}

/// As [`one`], for the variances of the Bayesian models: with them a fresh score strays by 0.1, as with every schedule.
const fn hundredth() -> f64 {
    0.01
}
