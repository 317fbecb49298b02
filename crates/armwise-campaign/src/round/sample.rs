//! A sample of a large table, from which the prices of the quotas can be guessed before the table is read.
//!
//! Runs of rows from all over the file, because a table may be in any order; a sample that
//! misleads all the same costs a second pass, never the result.

use super::{part::Part, prepare::Parts};
use crate::{Error, Source};
use rayon::prelude::*;

/// From how many runs of how many rows.
const RUNS: usize = 8;
const RUN: usize = 1 << 14;
/// A table must be so many times as large as the sample.
const LARGE: usize = 4;

/// The customers in a sample who may be chosen, and which share of the table's rows the sample is; none for a small table,
/// or for one that does not tell its size beforehand.
pub(super) fn sample(table: &dyn Source, parts: &Parts<'_>) -> Result<Option<(Part, f64)>, Error> {
    let Some((batches, rows)) = table.spread(&parts.columns(), RUNS, RUN, LARGE)? else { return Ok(None) };
    let batches = batches.collect::<Result<Vec<_>, _>>()?;
    let taken: usize = batches.iter().map(crate::table::Rows::len).sum();
    let prepared: Vec<_> = batches.par_iter().map(|rows| parts.prepare(rows, &[])).collect();
    let mut sample = Part::default();
    for part in prepared {
        if let Some(part) = part?.main {
            sample.extend(&part, &(0..part.len()).collect::<Vec<_>>());
        }
    }
    Ok((sample.len() > 0).then_some((sample, taken as f64 / rows as f64)))
}
