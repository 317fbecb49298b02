//! The clock of a problem and all of its randomness: a draw is a pure function of (seed, round, block, id, stream).

mod best;
mod normal;
mod round;
mod student;

pub(crate) use best::{best_normal, best_uniform};
pub(crate) use normal::{LARGEST, normal_of_tail};
pub use round::{Draws, Round, Stream};
pub(crate) use student::{Student, StudentTails};
