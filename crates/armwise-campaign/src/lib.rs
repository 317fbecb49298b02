//! Campaigns: choose customers for promotions from a table every round, learn from responses that come late, in one
//! file that never loses a row.
//!
//! | module | what it is |
//! |---|---|
//! | [`table`] | Parquet, CSV and Arrow tables, read in batches and written |
//! | [`config`] | the rules of a campaign, in TOML |
//! | [`recipe`] | from columns to features, fitted once and frozen |
//! | [`mod@core`] | commands, the journal of entries, the model as a function of it; rewards, each counted once; status, why, verify |
//! | [`store`] | where the journal is kept: a SQLite file, or memory |
//! | [`round`] | choosing a round from a table in parts, limits from columns |
//! | [`report`] | one HTML page: rounds, promotions, segments, effects, calibration, uplift |

pub mod config;
pub mod core;
mod error;
mod init;
pub mod recipe;
pub mod report;
pub mod round;
pub mod store;
pub mod table;

pub use core::Campaign;
pub use error::Error;
pub use init::{Begun, complete, init, init_from};
