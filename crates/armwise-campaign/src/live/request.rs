//! What a campaign in service can be asked for.

use crate::{
    core::{Feedback, Key, Line},
    round::Asked,
};
use arrow_array::RecordBatch;
use std::collections::BTreeMap;

/// A decision that is asked for.
#[derive(Debug, Clone)]
pub struct DecideRequest {
    /// The caller's own name for the request: sent again, it gets the same answer, whatever happened since.
    pub key: Option<Key>,
    /// What can be chosen.
    pub arms: Offered,
    /// Columns that are the same for all arms, one row of them; the recipe crosses them with the arms' columns.
    pub context: Option<RecordBatch>,
    /// How much is asked for.
    pub asked: Asked,
    /// Whether it is not shown yet: it is kept out of learning, and its window does not run, until it is activated.
    pub hold: bool,
}

impl DecideRequest {
    /// `k` of these rows, without a key or a context.
    #[must_use]
    pub fn k_of(rows: RecordBatch, k: usize) -> Self {
        Self { key: None, arms: Offered::Rows(rows), context: None, asked: Asked::K(k), hold: false }
    }
}

/// What can be chosen.
#[derive(Debug, Clone)]
pub enum Offered {
    /// These rows; the column that the rules call the customer has their ids. [`JsonRows`](super::JsonRows) reads them
    /// from JSON.
    Rows(RecordBatch),
    /// Rows of the catalogue.
    Catalogue(Among),
}

/// Which rows of the catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Among {
    /// Only rows with one of these values in each of these columns; [`JsonFilter`](super::JsonFilter) reads it.
    pub filter: BTreeMap<String, Vec<String>>,
    /// Only rows with these ids.
    pub eligible: Option<Vec<String>>,
}

/// What became of arms.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardsRequest {
    /// The caller's own name for the request.
    pub key: Option<Key>,
    /// The decision that all lines are about, as a decision's answer names it; lines may name their own instead.
    pub decision: Option<String>,
    /// What is told.
    pub lines: Vec<Line>,
    /// What it is about: first rewards, answers that are all worth the same, corrections, sends that did not arrive.
    pub feedback: Feedback,
}

/// What is done with the catalogue.
#[derive(Debug, Clone)]
pub enum ArmsChange {
    /// These rows are the catalogue: those with other ids go.
    Replace(RecordBatch),
    /// Rows with new ids come, and of those that are there the given columns change.
    Put(RecordBatch),
    /// The rows with these ids are not chosen any more.
    Retire(Vec<String>),
}
