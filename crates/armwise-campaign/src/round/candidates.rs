//! The rows that a round was chosen from, kept for those who ask later what other rules would have chosen.
//!
//! All rows of a small table; of a large one those who were chosen, which the journal has anyway, and a sample of the
//! others, each drawn by its own number with the same known probability. A sum over everybody is then estimated without
//! bias by counting each sampled row as often as rows it stands for.

use crate::{
    Error,
    config::Config,
    core::{Candidates, Sent, Sha},
    input::{Memory, Source},
    table::Rows,
};
use armwise::{Round, Stream, id_of};
use std::collections::HashSet;

/// So many rows are kept, about; of more, a sample.
const MOST: u64 = 10_000;
/// The stream that draws the sample.
const SAMPLE: Stream = Stream(264);

/// The rows of a round, if the rules keep them.
pub(super) fn keep(
    config: &Config,
    round: Round,
    (table, columns, customers): (&dyn Source, &[String], u64),
    sent: &[Sent],
) -> Result<Option<(Candidates, Vec<u8>)>, Error> {
    if !config.keep_candidates {
        return Ok(None);
    }
    let one_in = customers.div_ceil(MOST).max(1);
    let (draws, share) = (round.draws(0, SAMPLE), 1.0 / one_in as f64);
    let chosen: HashSet<&str> = sent.iter().map(|sent| &*sent.customer).collect();
    let (mut kept, mut decimal) = (Vec::new(), None);
    for rows in table.batches(Some(columns))? {
        let rows = rows?;
        let mut wanted = Vec::with_capacity(rows.len());
        rows.each_text(&config.customer, |_, name| {
            let own = |name: &str| one_in == 1 || chosen.contains(name) || draws.uniform(id_of(name)) < share;
            wanted.push(name.is_some_and(own));
            Ok(())
        })?;
        decimal = rows.decimal();
        kept.push(rows.filtered(&wanted)?);
    }
    let Some(rows) = Rows::joined(&kept)? else { return Ok(None) };
    let bytes = Memory::bytes_of(&rows, table.name())?;
    let digest = Sha::of(&bytes);
    Ok(Some((Candidates { rows: rows.len() as u64, one_in, decimal, digest }, bytes)))
}
