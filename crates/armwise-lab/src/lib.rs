//! The laboratory of armwise: problems, experiments, statistics and the paper's reproduction.
//!
//! Everything here is a pure function of its input and a seed. Data, splits and trials draw
//! their randomness from [`armwise::Round`], so the same seed gives the same numbers whatever the thread count.
//!
//! | module | what it holds |
//! |---|---|
//! | [`data`] | ratings, read or generated; the features and rewards of the sending promotion problem |
//! | [`world`] | the two problems as environments: what the arms are, what they pay |
//! | [`play`] | algorithms playing trials of a world, with late or batched rewards |
//! | [`off_policy`] | how good off-policy evaluation is: estimates beside the truth, coverage |
//! | [`grid`] | the paper's grids of parameters, each distinct setting once |
//! | [`stats`] | means, standard errors, paired differences and ratios |
//! | [`session`] | many trials on many threads, what was finished kept on disk |
//! | [`reproduce`] | the paper's evaluation |
//! | [`simulate`] | a user's own study, from TOML |
//! | [`report`] | the page, the figures and the tables, from results |
//! | [`results`] | the numbers behind every figure, the table and the verdicts |

#![forbid(unsafe_code)]

pub mod data;
mod error;
pub mod grid;
pub mod off_policy;
pub mod play;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod session;
pub mod simulate;
pub mod stats;
mod streams;
pub mod world;

pub use error::Error;
