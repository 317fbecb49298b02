//! Fits the recipe on a sample of the table.
//!
//! The seed and the customer's id alone decide who is in the sample, and sums run in the order of the ids' hashes, so
//! the recipe does not depend on the order of the rows or on where they come from.

use super::{
    Fitted, Recipe, bin,
    extreme::{Extreme, deviation, extremes, plausible, quantiles},
    log,
};
use crate::{
    Error,
    config::{Config, FeatureColumn, Kind, MissingRule, room},
    input::Source,
    table::Rows,
};
use armwise::{Round, Stream, id_of};
use std::collections::{BTreeMap, BTreeSet};

/// The sample holds this many rows, or the whole table if that is less than twice as large.
const SAMPLE: usize = 50_000;

/// The most values in the sample of a wide table, which has fewer rows then.
const VALUES: usize = 1 << 24;

/// The longest id or category, in bytes; more is a text of another kind.
const LONGEST: usize = 1 << 12;

/// How many rows are looked at together.
const PIECE: usize = 1 << 12;

/// No number of the sample is more than this many standard deviations from the mean; where one would be, they are longer.
const SPAN: f64 = 20.0;

/// How many bins there are if the rules do not say.
const BINS: usize = 4;

/// What draws who is in the sample.
const SAMPLING: Stream = Stream(257);

/// The raw values of a sampled customer, column by column.
pub(super) struct Sampled {
    key: u64,
    customer: String,
    /// In the table, from 1.
    pub(super) row: u64,
    pub(super) values: Vec<Raw>,
}

#[derive(Clone)]
pub(super) enum Raw {
    Number(f64),
    Text(Option<String>),
    Vector(Vec<f64>),
}

/// Reads the rows once and fits the recipe for the features that the configuration lists.
///
/// # Errors
/// [`Error::Cell`], [`Error::Table`] for values that cannot be used, [`Error::Config`] where no feature is left.
pub fn fit(config: &Config, table: &dyn Source) -> Result<Recipe, Error> {
    fit_and_look(config, table).map(|(recipe, _)| recipe)
}

/// As [`fit`], and says which columns have extreme values.
///
/// # Errors
/// As [`fit`].
pub fn fit_and_look(config: &Config, table: &dyn Source) -> Result<(Recipe, Vec<Extreme>), Error> {
    let rules = &config.features;
    let read = rules.column.iter().filter(|column| column.kind != Kind::Cross).map(|column| &column.name);
    let names: BTreeSet<String> = std::iter::once(&config.customer).chain(read).cloned().collect();
    let names: Vec<String> = names.into_iter().collect();
    let mut lengths: Vec<usize> = vec![0; rules.column.len()];
    let mut sample: Vec<Sampled> = Vec::new();
    let draws = Round::new(config.seed, 0).draws(0, SAMPLING);
    let mut bar = u64::MAX;
    let (mut seen, mut most) = (0, SAMPLE);
    for rows in table.batches(Some(&names))? {
        let rows = rows?;
        seen += rows.len();
        for (length, column) in lengths.iter_mut().zip(&rules.column) {
            if column.kind == Kind::Vector && *length == 0 {
                *length = rows.vector_length(&column.name)?;
            }
        }
        room(lengths.iter().map(|&length| length.max(1)).sum(), config.promotion.len())?;
        most = (VALUES / lengths.iter().map(|&length| length.max(1)).sum::<usize>().max(1)).min(SAMPLE);
        // In pieces, so that the sample of a wide table stays small while a batch is read.
        for first in (0..rows.len()).step_by(PIECE) {
            take(config, &rows.piece(first, PIECE), &lengths, |id| draws.bits(id), bar, &mut sample)?;
            if sample.len() > 2 * most {
                bar = thin(&mut sample, most);
            }
        }
    }
    if seen > 2 * most {
        // Thinned out once more, since how many are left until here depends on the order of the rows.
        thin(&mut sample, most);
    }
    if seen == 0 {
        return Err(Error::table(table.name(), "the table has no rows"));
    }
    for (column, &length) in rules.column.iter().zip(&lengths) {
        if column.kind == Kind::Vector && length == 0 {
            let problem = format!("column {:?} has only empty vectors", column.name);
            return Err(Error::table(table.name(), problem));
        }
    }
    sample.sort_unstable_by(|a, b| (a.key, &a.customer).cmp(&(b.key, &b.customer)));
    let fitted =
        rules.column.iter().enumerate().map(|(place, column)| {
            fit_column(column, lengths[place], sample.iter().map(|sampled| &sampled.values[place]))
        });
    let mut columns = fitted.collect::<Vec<_>>();
    cross(&rules.column, &mut columns);
    let mut recipe = Recipe { bias: rules.bias, columns, scale: 1.0, sample: sample.len(), as_given: false };
    room(recipe.dim(), config.promotion.len())?;
    if recipe.dim() == 0 {
        let problem = "there are no features: list columns under [features], or set bias = true".to_owned();
        return Err(Error::Config { place: "features".to_owned(), problem, cause: None });
    }
    let longest = sample.iter().map(|sampled| recipe.square(&sampled.values)).fold(0.0, f64::max).sqrt();
    recipe.scale = if longest > 0.0 { 1.0 / longest } else { 1.0 };
    let extremes = extremes(&recipe.columns, &sample);
    Ok((recipe, extremes))
}

/// Keeps those with the smallest draws, and returns the largest of these.
fn thin(sample: &mut Vec<Sampled>, most: usize) -> u64 {
    if sample.len() <= most {
        return u64::MAX;
    }
    let mut keys: Vec<u64> = sample.iter().map(|sampled| sampled.key).collect();
    let bar = *keys.select_nth_unstable(most).1;
    sample.retain(|sampled| sampled.key <= bar);
    bar
}

/// Adds the rows of a batch whose draw is not above the bar.
fn take(
    config: &Config,
    rows: &Rows,
    lengths: &[usize],
    draw: impl Fn(u64) -> u64,
    bar: u64,
    sample: &mut Vec<Sampled>,
) -> Result<(), Error> {
    let first = sample.len();
    let mut taken = Vec::new();
    rows.each_text(&config.customer, |row, customer| {
        let customer = customer.ok_or_else(|| rows.bad(row, &config.customer, "the customer's id is missing"))?;
        if customer.len() > LONGEST {
            return Err(rows.bad(row, &config.customer, format!("an id has at most {LONGEST} bytes")));
        }
        let key = draw(id_of(customer));
        if key <= bar {
            taken.push(row);
            let (customer, row) = (customer.to_owned(), rows.number(row));
            sample.push(Sampled { key, customer, row, values: Vec::new() });
        }
        Ok(())
    })?;
    for (column, &length) in config.features.column.iter().zip(lengths) {
        let strict = column.missing == MissingRule::Error;
        let refuse = |row: usize| {
            let fills = if column.kind == Kind::Numeric { "\"mean\" or \"zero\"" } else { "\"zero\"" };
            let problem = format!("a value is missing; fill it in, or say under features how to: missing = {fills}");
            rows.bad(row, &column.name, problem)
        };
        let mut put = |place: usize, raw: Raw| sample[first + place].values.push(raw);
        match column.kind {
            // Made of other columns.
            Kind::Cross => (0..taken.len()).for_each(|place| put(place, Raw::Text(None))),
            Kind::Numeric | Kind::Log | Kind::Bins => {
                let numbers = rows.numbers(&column.name)?;
                if let Some(row) = numbers.iter().position(|number| strict && number.is_nan()) {
                    return Err(refuse(row));
                }
                taken.iter().enumerate().for_each(|(place, &row)| put(place, Raw::Number(numbers[row])));
            }
            Kind::Categorical => {
                let mut next = 0;
                rows.each_level(&column.name, |row, text| {
                    if strict && text.is_none() {
                        return Err(refuse(row));
                    }
                    if text.is_some_and(|text| text.len() > LONGEST) {
                        return Err(rows.bad(row, &column.name, format!("a category has at most {LONGEST} bytes")));
                    }
                    if taken.get(next) == Some(&row) {
                        put(next, Raw::Text(text.map(str::to_owned)));
                        next += 1;
                    }
                    Ok(())
                })?;
            }
            Kind::Vector => {
                let vectors = rows.vectors(&column.name, length)?;
                let missing = |row: &usize| strict && length > 0 && vectors[row * length].is_nan();
                if let Some(row) = (0..rows.len()).find(missing) {
                    return Err(refuse(row));
                }
                let vector = |row: usize| vectors[row * length..(row + 1) * length].to_vec();
                taken.iter().enumerate().for_each(|(place, &row)| put(place, Raw::Vector(vector(row))));
            }
        }
    }
    Ok(())
}

fn fit_column<'a>(column: &FeatureColumn, dim: usize, values: impl Iterator<Item = &'a Raw>) -> Fitted {
    let FeatureColumn { name, missing, .. } = column.clone();
    let number = |raw: &Raw| match raw {
        Raw::Number(number) if !number.is_nan() => Some(*number),
        _ => None,
    };
    match column.kind {
        Kind::Numeric | Kind::Log => {
            let by_log = column.kind == Kind::Log;
            let scaled = |raw: &Raw| match number(raw) {
                Some(number) if by_log => Some(log(number)),
                None if missing == MissingRule::Zero => Some(0.0),
                number => number,
            };
            let mut numbers: Vec<f64> = values.filter_map(scaled).collect();
            let clip = if column.clip { plausible(&numbers) } else { None };
            if let Some(clip) = clip {
                numbers.iter_mut().for_each(|number| *number = number.clamp(clip.min, clip.max));
            }
            let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
            // A value that hardly anybody has must not make all other features small.
            let farthest = numbers.iter().map(|number| (number - mean).abs()).fold(0.0, f64::max);
            let sd = deviation(numbers.iter().copied()).max(if column.clip { farthest / SPAN } else { 0.0 });
            let sd = if sd > 1e-9 * mean.abs().max(1e-9) { sd } else { 1.0 };
            Fitted::Numeric { name, missing, mean, sd, log: by_log, clip }
        }
        Kind::Bins => {
            let numbers: Vec<f64> = values.filter_map(number).collect();
            let edges = match &column.edges {
                Some(edges) => edges.clone(),
                None => quantiles(&numbers, column.bins.unwrap_or(BINS)),
            };
            let mut counts = vec![0_usize; edges.len() + 1];
            numbers.iter().for_each(|number| counts[bin(&edges, *number)] += 1);
            let common = (0..counts.len()).max_by_key(|place| (counts[*place], usize::MAX - place)).unwrap_or(0);
            Fitted::Bins { name, missing, edges, common }
        }
        Kind::Cross => Fitted::Cross { name, left: 0, right: 0, dim: 0 },
        Kind::Categorical => {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for raw in values {
                if let Raw::Text(Some(text)) = raw {
                    *counts.entry(text).or_default() += 1;
                }
            }
            let mut by_count: Vec<(&str, usize)> = counts.into_iter().collect();
            by_count.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            by_count.truncate(column.max_levels);
            let most = by_count.first().map(|(level, _)| (*level).to_owned());
            let mut levels: Vec<String> = by_count.into_iter().map(|(level, _)| level.to_owned()).collect();
            levels.sort();
            let common = levels.iter().position(|level| Some(level) == most.as_ref()).unwrap_or(0);
            Fitted::Categorical { name, missing, levels, common }
        }
        Kind::Vector => Fitted::Vector { name, missing, dim },
    }
}

/// Finds the columns of every cross, which the rules have checked to be there.
fn cross(rules: &[FeatureColumn], columns: &mut [Fitted]) {
    let place = |name: &str| rules.iter().position(|other| other.name == name && other.kind != Kind::Cross);
    for (own, rule) in rules.iter().enumerate() {
        let sides = rule.with.as_deref().and_then(|with| place(&rule.name).zip(place(with)));
        let Some((left, right)) = sides.filter(|_| rule.kind == Kind::Cross) else { continue };
        let name = format!("{} x {}", rules[left].name, rules[right].name);
        let dim = columns[left].dim().saturating_mul(columns[right].dim());
        columns[own] = Fitted::Cross { name, left, right, dim };
    }
}

impl Recipe {
    /// The squared length of a sampled customer's features before scaling.
    fn square(&self, values: &[Raw]) -> f64 {
        let of = |place: usize| square(&self.columns[place], &values[place]);
        let columns = self.columns.iter().zip(values).map(|(column, raw)| match column {
            // All products of two vectors.
            Fitted::Cross { left, right, .. } => of(*left) * of(*right),
            column => square(column, raw),
        });
        columns.fold(if self.bias { 1.0 } else { 0.0 }, |sum, square| sum + square)
    }
}

/// The squared length of a column's features before scaling.
fn square(column: &Fitted, raw: &Raw) -> f64 {
    match (column, raw) {
        (Fitted::Numeric { mean, sd, missing, log: by_log, clip, .. }, Raw::Number(number)) => {
            let fill = if *missing == MissingRule::Zero { 0.0 } else { *mean };
            let number = match number {
                number if number.is_nan() => fill,
                number if *by_log => log(*number),
                number => *number,
            };
            let number = clip.map_or(number, |clip| number.clamp(clip.min, clip.max));
            ((number - mean) / sd).powi(2)
        }
        (Fitted::Bins { .. }, Raw::Number(number)) => f64::from(u8::from(!number.is_nan())),
        (Fitted::Categorical { levels, .. }, Raw::Text(Some(text))) if levels.binary_search(text).is_ok() => 1.0,
        (_, Raw::Vector(vector)) => vector.iter().filter(|x| !x.is_nan()).map(|x| x * x).sum(),
        _ => 0.0,
    }
}
