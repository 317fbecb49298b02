//! Campaigns: choose customers for promotions from a table every round, learn from responses that come late, in one
//! file that never loses a row.
//!
//! | module | what it is |
//! |---|---|
//! | [`Source`] | rows to choose and learn from: a table on disk, or batches in memory |
//! | [`table`] | Parquet, CSV and Arrow tables, read in batches and written |
//! | [`config`] | the rules of a campaign, in TOML |
//! | [`recipe`] | from columns to features, fitted once and frozen |
//! | [`mod@core`] | commands, the journal of entries, the model as a function of it; rewards, each counted once; status, why, verify |
//! | [`store`] | where the journal is kept: a SQLite file, or memory |
//! | [`round`] | choosing a round from a table in parts, limits from columns |
//! | [`live`] | a campaign in service: many threads ask, one writes |
//! | [`mod@evaluate`] | what other policies would have earned in past rounds |
//! | [`mod@advise`] | which algorithm, for these customers and answers |
//! | [`output`] | files that get their name only when they are complete, and never take the place of what is read |
//! | [`report`] | one HTML page: rounds, promotions, segments, effects, calibration, uplift |

#![warn(clippy::print_stderr)]

pub mod advise;
pub mod core;
mod error;
pub mod evaluate;
mod init;
mod input;
pub mod live;
pub mod output;
pub mod report;
pub mod round;
pub mod store;

pub use core::Campaign;
pub use error::{Cause, Error};
pub use init::{Begun, complete, init, init_from};
pub use input::{Memory, Source, config, recipe, table};
