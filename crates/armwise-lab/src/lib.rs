//! The laboratory of armwise: problems, experiments, statistics and the paper's reproduction.
//!
//! The decision to know: everything here is a pure function of its input and a seed. Data, splits and trials draw
//! their randomness from [`armwise::Round`], so the same seed gives the same numbers whatever the thread count.
//!
//! | module | what it holds |
//! |---|---|
//! | [`report`] | the page, the figures and the tables, from results |
//! | [`results`] | the numbers behind every figure, the table and the verdicts |

mod error;
pub mod report;
pub mod results;

pub use error::Error;
