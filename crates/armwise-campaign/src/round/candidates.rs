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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    use std::{path::Path, sync::Arc};

    /// Over 200 rounds, sums from samples, each row counted as often as rows it stands for, are on average those over
    /// everybody: within 3 of their own standard errors, which are as large as independent draws make them.
    #[test]
    fn sums_from_samples_are_without_bias() {
        let rules = "customer = \"customer\"\nkeep_candidates = true\n[[promotion]]\nname = \"mail\"\nquota = 1\n";
        let config = Config::parse(rules, Path::new("rules.toml")).expect("good rules");
        let count = 2 * MOST as usize + 5_000;
        let value = |row: usize| 1.0 + (row % 10) as f64;
        let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..count).map(|row| format!("c{row}"))));
        let values: ArrayRef = Arc::new(Float64Array::from_iter_values((0..count).map(value)));
        let batch = RecordBatch::try_from_iter([(&*config.customer, names), ("value", values)]).expect("two columns");
        let table = Memory::new("customers", vec![batch]).expect("a table");
        let columns = [config.customer.clone(), "value".to_owned()];
        let total: f64 = (0..count).map(value).sum();
        let mut sums = Vec::new();
        for t in 1..=200 {
            let all = (&table as &dyn Source, &columns[..], count as u64);
            let (kept, bytes) = keep(&config, Round::new(5, t), all, &[]).expect("rows").expect("kept");
            assert_eq!((kept.one_in, kept.digest), (3, Sha::of(&bytes)));
            let own = Memory::of_bytes("kept", &bytes, kept.decimal).expect("rows");
            let mut sum = 0.0;
            for rows in own.batches(None).expect("rows") {
                sum += rows.expect("rows").numbers("value").expect("numbers").iter().sum::<f64>();
            }
            sums.push(kept.one_in as f64 * sum);
        }
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let spread = sums.iter().map(|sum| (sum - mean) * (sum - mean)).sum::<f64>() / (sums.len() - 1) as f64;
        // Of each row with share p the variance is value^2 (1 - p) / p.
        let expected: f64 = (0..count).map(|row| 2.0 * value(row) * value(row)).sum();
        assert!((spread / expected - 1.0).abs() < 5.0 * (2.0_f64 / 200.0).sqrt(), "{spread} against {expected}");
        assert!((mean - total).abs() < 3.0 * (expected / 200.0).sqrt(), "{mean} against {total}");
    }
}
