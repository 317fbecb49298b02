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

mod adjust;
mod arms;
mod catalogue;
mod choosing;
mod decision;
mod error;
mod id;
mod kernel;
mod learner;
mod ledger;
mod look;
mod model;
mod normal;
pub mod oracle;
mod policy;
mod posterior;
mod priced;
mod rough;
mod round;
mod row;
mod saved;
mod scan;
mod scoring;
mod sift;
mod span;
mod tasks;
pub mod theory;

pub use arms::{Arms, Column, Features};
pub use catalogue::Catalogue;
pub use choosing::Choosing;
pub use decision::{ChosenArm, Decision, Reward};
pub use error::Error;
pub use id::{Names, id_of};
pub use learner::Learner;
pub use look::{Look, Panels};
pub use model::{Block, Model, Observation};
pub use oracle::{
    Assignment, Budget, Constraint, Explicit, Infeasible, Linear, Missing, Needs, OnInfeasible, Oracle, Pick, Price,
    Quality, Quota, Quotas, Scores, Selection, Ties, TopK,
};
pub use policy::{
    Algorithm, ArmWiseTs, Bonus, C2ucb, CombLinTs, CombLinUcb, Context, Draw, Greedy, Pc2ucb, Policy, Random,
    RoundWiseTs, Schedule, Theory,
};
pub use posterior::Posterior;
pub use round::{Draws, Round, Stream};
pub use row::Row;
