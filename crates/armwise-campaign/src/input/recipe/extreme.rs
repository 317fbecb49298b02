//! Which numbers of a column are plausible, and which are so extreme that the others could hardly be told apart if they
//! were scaled together.
//!
//! Mean and standard deviation follow a single wrong value (999999, -1e9, a history of 50,000), and so does the scale
//! of all features. So numbers are clipped to bounds that a few values cannot move, and whoever begins a campaign is
//! told which value of which row was. Vectors are taken as they are, with a warning.

use super::{
    Clip, Fitted, bin,
    fit::{Raw, Sampled},
    log, unlog,
};
use serde::Serialize;

/// A vector is extreme if its length is this many times as far from the median as the central ones are spread.
const TIMES: f64 = 1000.0;

/// Below this many values there is no saying what is plausible.
const FEW: usize = 20;

/// An extreme value of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Extreme {
    /// The column.
    pub column: String,
    /// The first row of the table that has it, from 1.
    pub row: u64,
    /// The value; of vectors, the length.
    pub value: f64,
    /// How much the column's central values spread.
    pub spread: f64,
    /// What the value is taken for; none where it is taken as it is.
    pub clipped_to: Option<f64>,
    /// How many values of the sample are clipped.
    pub count: u64,
}

/// The bounds within which the numbers of a column are plausible: the median and to either side eight standard deviations
/// of the central 99 %, or three times the distance to where these end, whichever is wider. None if there are too few
/// numbers, or nothing that spreads.
pub(super) fn plausible(numbers: &[f64]) -> Option<Clip> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    if count < FEW {
        return None;
    }
    // Neither end is among the central ones, so a single wrong value is not, however few there are.
    let last = (0.995 * (count - 1) as f64).floor();
    #[expect(clippy::cast_sign_loss, reason = "a place in the list")]
    let last = (last as usize).min(count - 2);
    let first = count - 1 - last;
    let (low, median, high) = (sorted[first], sorted[count / 2], sorted[last]);
    let spread = deviation(sorted[first..=last].iter().copied());
    let reach = |end: f64| (8.0 * spread).max(3.0 * (end - median).abs());
    (spread > 0.0).then(|| Clip { min: median - reach(low), max: median + reach(high) })
}

/// The extreme values of a sample, at most one for each column: the one that is farthest out.
pub(super) fn extremes(columns: &[Fitted], sample: &[Sampled]) -> Vec<Extreme> {
    columns.iter().enumerate().filter_map(|(place, column)| extreme(column, sample, place)).collect()
}

fn extreme(column: &Fitted, sample: &[Sampled], place: usize) -> Option<Extreme> {
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
    let spread = deviation(values[count / 20..count - count / 20].iter().map(|(value, _)| *value));
    match column {
        Fitted::Numeric { name, log: by_log, clip: Some(clip), .. } => {
            let scaled = |value: f64| if *by_log { log(value) } else { value };
            let back = |bound: f64| if *by_log { unlog(bound) } else { bound };
            let beyond = |value: f64| (clip.min - scaled(value)).max(scaled(value) - clip.max);
            let far = if beyond(last) >= beyond(first) { last } else { first };
            let row = values.iter().find(|(value, _)| value.total_cmp(&far).is_eq()).map(|(_, row)| *row)?;
            let clipped_to = Some(back(if scaled(far) > clip.max { clip.max } else { clip.min }));
            let count = values.iter().filter(|(value, _)| beyond(*value) > 0.0).count() as u64;
            (count > 0).then(|| Extreme { column: name.clone(), row, value: far, spread, clipped_to, count })
        }
        Fitted::Vector { name, .. } => {
            let far = if last - median >= median - first { last } else { first };
            let row = values.iter().find(|(value, _)| value.total_cmp(&far).is_eq()).map(|(_, row)| *row)?;
            let is_extreme = spread > 0.0 && (far - median).abs() > TIMES * spread;
            is_extreme.then(|| Extreme { column: name.clone(), row, value: far, spread, clipped_to: None, count: 0 })
        }
        _ => None,
    }
}

pub(super) fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    (values.map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Where to divide numbers so that about as many fall into each of `bins`; fewer where values repeat.
pub(super) fn quantiles(numbers: &[f64], bins: usize) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(&least) = sorted.first() else { return Vec::new() };
    let mut edges: Vec<f64> = (1..bins).map(|place| sorted[sorted.len() * place / bins]).collect();
    edges.dedup();
    // Nothing would be below an edge at the least value.
    edges.retain(|edge| bin(&[*edge], least) == 0);
    edges
}
