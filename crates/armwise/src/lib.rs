#![doc = include_str!("../../../README.md")]
//!
//! # Index
//! The flow goes one way:
//! [`Arms`] -> [`Posterior`] -> [`Policy`] -> [`Scores`] -> [`Oracle`] -> [`Decision`] -> [`Reward`] -> [`Model`].
//! [`Learner`] ties it together; [`Round`] holds the clock and all randomness.
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

mod choose;
mod error;
mod input;
mod kernel;
mod model;
pub mod oracle;
mod policy;
mod prune;
mod random;
mod score;
pub mod theory;

pub use choose::{Choosing, ChosenArm, Decision, Learner, Reward, Settled};
pub use error::{Error, Infeasible, Limit};
pub use input::{Arms, Column, Features, Keys, Names, Pick, Row, id_of};
pub use model::{Block, Model, Observation, Posterior};
pub use oracle::{
    Assignment, Budget, Constraint, Explicit, Linear, Missing, Needs, OnInfeasible, Oracle, Price, Quality, Quota,
    Quotas, Scores, Selection, Ties, TopK,
};
pub use policy::library::*;
pub use policy::{
    Algorithm, Bonus, Context, Description, Draw, Kind, Parameter, Policy, Randomness, Range, Schedule, Theory,
};
pub use prune::{Catalogue, Panels, Screen};
pub use random::{Draws, Round, Stream};
