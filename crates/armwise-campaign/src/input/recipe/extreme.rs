//! Columns in which a few values are so extreme that the others can hardly be told apart once they are scaled.
//!
//! The recipe scales by mean and standard deviation, which such values dominate: often they are not measurements but
//! stand for "missing" (999999, -1e9). They are usable, so they are not refused; whoever begins a campaign is told.

use super::fit::{Raw, Sampled};
use crate::config::FeatureColumn;
use serde::Serialize;

/// A value is extreme if it is this many times as far from the median as the central values are spread.
const TIMES: f64 = 1000.0;

/// An extreme value of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Extreme {
    /// The column.
    pub column: String,
    /// The first row of the table that has it, from 1.
    pub row: u64,
    /// The value; of vectors, the length.
    pub value: f64,
    /// The standard deviation of the column's values between the 5 % smallest and the 5 % largest.
    pub spread: f64,
}

/// The extreme values of a sample, at most one for each column: the one that is farthest out.
pub(super) fn extremes(columns: &[FeatureColumn], sample: &[Sampled]) -> Vec<Extreme> {
    let of = |(place, column): (usize, &FeatureColumn)| extreme(&column.name, sample, place);
    columns.iter().enumerate().filter_map(of).collect()
}

fn extreme(column: &str, sample: &[Sampled], place: usize) -> Option<Extreme> {
    let value = |raw: &Raw| match raw {
        Raw::Number(number) => *number,
        Raw::Vector(vector) => vector.iter().map(|x| x * x).sum::<f64>().sqrt(),
        Raw::Text(_) => f64::NAN,
    };
    let mut values: Vec<(f64, u64)> =
        sample.iter().map(|own| (value(&own.values[place]), own.row)).filter(|(value, _)| !value.is_nan()).collect();
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let count = values.len();
    let (median, first, last) = (values.get(count / 2)?.0, values.first()?.0, values.last()?.0);
    let far = if last - median >= median - first { last } else { first };
    let mut spread = deviation(values[count / 20..count - count / 20].iter().map(|(value, _)| *value));
    if spread <= 0.0 {
        // Nearly all values are the same: those that are not are compared with each other.
        let others = values.iter().map(|(value, _)| *value).filter(|value| value.total_cmp(&far).is_ne());
        spread = deviation(others);
    }
    let is_extreme = spread > 0.0 && (far - median).abs() > TIMES * spread;
    let row = values.iter().find(|(value, _)| value.total_cmp(&far).is_eq()).map(|(_, row)| *row)?;
    is_extreme.then(|| Extreme { column: column.to_owned(), row, value: far, spread })
}

fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (values.map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}
