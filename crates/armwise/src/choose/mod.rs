//! The loop of Algorithms 1 and 2: choose a super arm, learn from the rewards of its arms.
//!
//! Choosing takes `&self` and all randomness from the round, so any number of threads can choose at once and every choice
//! can be replayed; learning checks everything before it changes anything.

mod decide;
mod decision;
mod factor;
mod frozen;
mod learn;
mod learner;
mod ledger;
mod parts;
mod raise;
mod saved;
mod shrinking;
mod slate;
mod turns;

pub use decision::{ChosenArm, Decision, Method, Reward};
pub use frozen::Frozen;
pub use learner::Learner;
pub use parts::{Choosing, Proof};
