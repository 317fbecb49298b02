//! A sample of a large table, from which floors can be guessed before the table is read.
//!
//! It takes runs of rows from all over the file, because a table may be in any order, or its beginning where no other
//! place can be reached without reading all before it (gzip). A misleading sample costs a second pass but never changes the
//! result, and so does a wrong estimate of how many rows a text file has.

use super::{part::Part, prepare::Parts};
use crate::{Error, Source};
use rayon::prelude::*;

/// How many runs a sample has, and how many rows a run has.
const RUNS: usize = 8;
const RUN: usize = 1 << 14;
/// A table is sampled only if it is at least this many times as large as the sample.
const LARGE: usize = 4;

/// The customers in a sample who may be chosen, the sample's share of the table's rows, and about how many rows these are.
/// None for a small table, or for one that gives no sample.
pub(super) fn sample(table: &dyn Source, parts: &Parts<'_>) -> Result<Option<(Part, f64, usize)>, Error> {
    let Some((batches, rows)) = table.spread(&parts.columns(), RUNS, RUN, LARGE)? else { return Ok(None) };
    let batches = batches.collect::<Result<Vec<_>, _>>()?;
    let taken: usize = batches.iter().map(crate::table::Rows::len).sum();
    let prepared: Vec<_> = batches.par_iter().map(|rows| parts.prepare(rows, &[])).collect();
    let mut sample = Part::default();
    for part in prepared {
        // What is wrong with a row is told when the table is read, which knows the row's number.
        let Ok(part) = part else { return Ok(None) };
        if let Some(part) = part.main {
            sample.extend(&part, &(0..part.len()).collect::<Vec<_>>());
        }
    }
    Ok((sample.len() > 0).then_some((sample, taken as f64 / rows as f64, rows)))
}
