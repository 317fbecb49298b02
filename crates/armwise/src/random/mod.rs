//! The clock of a problem and all of its randomness: a draw is a pure function of (seed, round, block, id, stream).

mod normal;
mod round;

pub(crate) use normal::LARGEST;
pub use round::{Draws, Round, Stream};
