//! What a campaign is told: rows of customers and responses, the rules, and the recipe from columns to features.
//!
//! Nothing here knows the campaign's file. Rows come through [`Source`], so that a table on disk and batches in memory
//! are read by the same code.

pub mod config;
pub mod recipe;
mod source;
pub mod table;

pub use source::{Memory, Source};
