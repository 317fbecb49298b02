//! The laboratory of armwise: problems, experiments, statistics and the paper's reproduction.
//!
//! The decision to know: everything here is a pure function of its input and a seed. Data, splits and trials draw
//! their randomness from [`armwise::Round`], so the same seed gives the same numbers whatever the thread count.
//!
//! | module | what it holds |
//! |---|---|
//! | [`data`] | ratings, read or generated; the features and rewards of the sending promotion problem |

pub mod data;
mod error;
mod streams;

pub use error::Error;
