//! Campaigns: choose customers for promotions from a table every round, learn from responses that come late, in one
//! file that never loses a row.
//!
//! | module | what it is |
//! |---|---|
//! | [`Source`] | rows to choose and learn from: a table on disk, or batches in memory |
//! | [`table`] | Parquet, CSV and Arrow tables, read in batches and written |
//! | [`config`] | the rules of a campaign, in TOML |
//! | [`recipe`] | from columns to features, fitted once and frozen |
//! | [`mod@file`] | the SQLite file: event log, lock, model as a replay of the log, verify |
//! | [`round`] | choosing a round from a table in parts, limits from columns |
//! | [`learn`] | responses, corrections and bounces, each counted once; closing a round |
//! | [`look`] | sends, results, status, and why a customer was chosen |
//! | [`report`] | one HTML page: rounds, promotions, segments, effects, calibration, uplift |

#![warn(clippy::print_stderr)]

mod error;
pub mod file;
mod init;
mod input;
pub mod learn;
pub mod look;
pub mod report;
pub mod round;

pub use error::{Cause, Error};
pub use file::Campaign;
pub use init::{Begun, complete, init, init_from};
pub use input::{Memory, Source, config, recipe, table};
