//! Choose the best set of arms under constraints, learn from the reward of each chosen arm, choose better next round.
//!
//! This is the library for *combinatorial linear semi-bandits* of Takemura and Ito, "An Arm-Wise Randomization Approach to
//! Combinatorial Linear Semi-Bandits". It reads no files, has no clock and keeps no random state. Everything flows one way:
//!
//! ```text
//! Arms -> Posterior -> Policy -> Scores -> Oracle -> Decision -> Reward -> Model -> (next round) Posterior
//! ```
//!
//! The rest of this page explains these nouns one by one. [`Learner`] ties them together.
//!
//! # Arms
//! A *row* is a line of your table: a customer, an item. A *block* is what has a model of its own: a promotion. An *arm*
//! is a pair of both: what can be chosen. [`Arms`] lends the library the feature rows of a round, with ids or names that
//! stay the same from round to round ([`Keys`]), perhaps a mask of what may be chosen and columns that a constraint reads.
//! Nothing is copied; f32 and f64 give the same bits.
//! ```
//! use armwise::{Arms, Column};
//! let x = [1.0, 0.0, 0.6, 0.8, 0.0, 1.0]; // three rows of two features
//! let cost = [Column { name: "cost", values: &[3.0, 1.0, 2.0] }];
//! let arms = Arms::new(&x[..], 2)?.with_ids(&[17, 4, 99])?.with_columns(&cost)?.with_eligible(&[true, true, false])?;
//! assert_eq!((arms.len(), arms.id(1), arms.is_eligible(2, 0)), (3, 4, false));
//! # Ok::<(), armwise::Error>(())
//! ```
//!
//! # Round
//! All randomness is a pure function of ([`Round`]: seed and t; block; id; stream). The same request gives the same bits
//! on any number of threads, in parts, in another row order, today or in a replay.
//! ```
//! use armwise::{Round, Stream};
//! let draws = || Round::new(7, 1).draws(0, Stream::BONUS);
//! assert_eq!(draws().normal(17), draws().normal(17)); // nothing was used up
//! ```
//!
//! # Model and Posterior
//! [`Model`] holds sums, G = sum x x', b = sum r x and sum r^2 for each block, so models merge by addition and rewards may
//! come in any order. [`Posterior`] is a block frozen for a round, with the policy's ridge: theta_hat, and widths
//! |x|_{V^-1}.
//! ```
//! use armwise::{Model, Observation};
//! let mut model = Model::new(2, 1)?; // two features, one block
//! model.observe(&Observation { t: 1, block: 0, x: &[1.0, 0.0], reward: 1.0 })?;
//! let posterior = model.posterior(0, 3.0)?; // lambda = 3
//! assert_eq!((posterior.mean(&[1.0, 0.0]), posterior.width(&[1.0, 0.0])), (0.25, 0.5));
//! # Ok::<(), armwise::Error>(())
//! ```
//!
//! # Policy
//! A [`Policy`] makes a *score* of each arm: `score(i) = direction . x(i) + bonus(i)`. The paper's idea is where the
//! randomness enters: in the direction, which all arms share, or in the bonus, with a draw for each arm.
//! [`Algorithm`] has those of the paper by name; [`Algorithm::ALL`] describes them. Your own is a few lines.
//! ```
//! use armwise::Algorithm;
//! let algorithm: Algorithm = serde_json::from_str(r#"{"name": "arm-wise-ts", "v": 0.1}"#)?;
//! assert_eq!(algorithm.description().title, "Arm-wise TS");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! | algorithm | paper | file |
//! |---|---|---|
//! | [`Greedy`] | section VII-B1 | `policy/greedy.rs` |
//! | [`CombLinUcb`] | section VII-B2, Wen et al. 2015 | `policy/comblin_ucb.rs` |
//! | [`CombLinTs`] | section VII-B2, Wen et al. 2015 | `policy/comblin_ts.rs` |
//! | [`C2ucb`] | Algorithm 1, single box | `policy/c2ucb.rs` |
//! | [`Pc2ucb`] | Algorithm 1, double box | `policy/pc2ucb.rs` |
//! | [`RoundWiseTs`] | Algorithm 2, single box | `policy/round_wise_ts.rs` |
//! | [`ArmWiseTs`] | Algorithm 2, double box | `policy/arm_wise_ts.rs` |
//! | [`Random`] | the baseline | `policy/random.rs` |
//!
//! # Scores and Oracle
//! An [`Oracle`] turns [`Scores`] into the best *super arm* under a constraint and says how good it is. It sees scores,
//! keys and columns, never features. [`Constraint`] has the constraints that can be written as data; your own implements
//! the trait. What it says beyond the answer ([`Oracle::needs`]) lets arms be left out before they are scored exactly.
//! ```
//! use armwise::{Assignment, Keys, Oracle, Round, Scores, Ties};
//! // Three customers, two promotions, one customer for each.
//! let scores = [0.9, 0.8, 0.7, 0.1, 0.2, 0.1];
//! let scores = Scores::new(&scores, 2, Keys::numbers(3)?, Ties::ById, Round::new(1, 1))?;
//! let best = Assignment::new(vec![1, 1]).argmax(&scores)?;
//! assert_eq!(best.arms.iter().map(|arm| (arm.row, arm.block)).collect::<Vec<_>>(), [(1, 0), (0, 1)]);
//! # Ok::<(), armwise::Error>(())
//! ```
//!
//! # Learner, Decision and Reward
//! A [`Learner`] is a policy with what it has learned. [`Learner::choose`] gives a [`Decision`]: the chosen arms with
//! mean, width, draw, score and features, which can be stored as JSON and learned from a week later. Each [`Reward`] is
//! learned once; a second one for the same arm of the same round is an error.
//! ```
//! use armwise::{Algorithm, ArmWiseTs, Arms, Constraint, Learner, Round};
//! let mut learner = Learner::new(Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1)), 2, 1)?;
//! let arms = Arms::new(&[1.0, 0.0, 0.6, 0.8, 0.0, 1.0][..], 2)?;
//! let decision = learner.choose(Round::new(7, 1), &arms, &Constraint::top_k(2))?;
//! let rewards = decision.rewards(|arm| arm.features[0]); // what the world pays
//! learner.learn(&decision, &rewards)?;
//! assert!(learner.learn(&decision, &rewards).is_err(), "each reward counts once");
//! # Ok::<(), armwise::Error>(())
//! ```
//!
//! # Many arms
//! Arms that come back every round are faster in a [`Catalogue`] ([`Learner::choose_from`]). Arms that do not fit in
//! memory come in parts ([`Choosing`]), perhaps on several machines ([`Frozen`]). All give the decision of
//! [`Learner::choose`], to the bit.

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod choose;
mod error;
pub mod evaluate;
mod input;
mod kernel;
mod model;
pub mod oracle;
mod policy;
mod prune;
mod random;
mod score;
pub mod tasks;
pub mod theory;

pub use choose::{Choosing, ChosenArm, Decision, Frozen, Learner, Method, Proof, Reward};
pub use error::{Error, Infeasible, Limit};
pub use evaluate::{Including, Inclusion, ThresholdLaw};
pub use input::{Arms, Column, Features, Keys, Names, Pick, Row, id_of, number_of};
pub use model::{Block, Drift, Estimate, Evidence, Model, Observation, Posterior};
pub use oracle::{
    Assignment, Budget, Constraint, Explicit, Linear, Missing, Needs, OnInfeasible, Oracle, Price, Quality, Quota,
    Quotas, Scores, Selection, Ties, TopK, Warm,
};
pub use policy::library::*;
pub use policy::{
    Algorithm, Auto, BestOf, Bonus, ColumnName, Context, Description, Draw, InTurn, Kind, Lambda, Law, Noise,
    Parameter, Policy, Randomness, Range, Schedule, Scope, Switch, Theory,
};
pub use prune::{Catalogue, Panels, Screen};
pub use random::{Draws, Round, Stream};
