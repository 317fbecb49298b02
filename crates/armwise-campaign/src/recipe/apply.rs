//! Turns rows of a table into features.
//!
//! The decision to know: columns are read one by one (so errors name their cell), rows are put together in parallel and
//! in tiles that are turned from columns to rows in the cache; each row's arithmetic is its own and in the order of its
//! features, so neither batches nor threads change a bit.

use super::{Fitted, Recipe};
use crate::{Error, config::MissingRule, table::Rows};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// What was unusual in the rows, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Oddities {
    /// Values of categories that the recipe does not know, by column.
    pub unseen: BTreeMap<String, u64>,
    /// Missing values that were filled by the column's rule, by column.
    pub missing: BTreeMap<String, u64>,
    /// Rows that were shortened to |x| = 1.
    pub shortened: u64,
}

impl Oddities {
    /// Adds what another batch had.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [(&mut self.unseen, &other.unseen), (&mut self.missing, &other.missing)] {
            for (column, count) in theirs {
                *mine.entry(column.clone()).or_default() += count;
            }
        }
        self.shortened += other.shortened;
    }
}

/// The values of a column in a batch, ready to be put in rows.
enum Values<'a> {
    /// One number per row, to be standardised by mean and standard deviation.
    Singles(&'a [f32], f64, f64),
    /// As above, with missing ones filled in.
    Numbers(Vec<f64>, f64, f64),
    /// The place among the levels; out of range for none.
    Levels(Vec<u32>, usize),
    /// `dim` numbers per row.
    Vectors(Vec<f64>, usize),
}

/// Rows that are made together: few enough that their features stay in the first cache.
const TILE: usize = 64;
/// Tiles that one task makes.
const TILES_PER_TASK: usize = 16;

impl Recipe {
    /// The features of rows, row by row, and what was unusual about them.
    ///
    /// # Errors
    /// [`Error::Cell`] for a value that cannot be used, [`Error::Table`] for a missing column or a wrong type.
    pub fn apply(&self, rows: &Rows) -> Result<(Vec<f64>, Oddities), Error> {
        let mut features = Vec::new();
        let odd = self.apply_into(rows, &mut features)?;
        Ok((features, odd))
    }

    /// As [`apply`](Self::apply), in a vector that was used before: large ones are costly to ask for.
    pub(crate) fn apply_into(&self, rows: &Rows, features: &mut Vec<f64>) -> Result<Oddities, Error> {
        let mut odd = Oddities::default();
        let columns = self.columns.iter().map(|column| read(column, rows, &mut odd)).collect::<Result<Vec<_>, _>>()?;
        let dim = self.dim();
        // Every place is written to, so what stood there before does not matter.
        features.resize(rows.len() * dim, 0.0);
        odd.shortened = features
            .par_chunks_mut(TILES_PER_TASK * TILE * dim)
            .enumerate()
            .map_init(
                || vec![0.0; dim * TILE],
                |room, (task, chunk)| {
                    let first = task * TILES_PER_TASK * TILE;
                    let tiles = chunk.chunks_mut(TILE * dim).zip((first..).step_by(TILE));
                    tiles.map(|(x, first)| self.put(&columns, first, room, x)).sum::<u64>()
                },
            )
            .sum();
        Ok(odd)
    }

    /// Fills in the features of some rows; how many had to be shortened. In `room` they stand column by column.
    fn put(&self, columns: &[Values<'_>], first: usize, room: &mut [f64], x: &mut [f64]) -> u64 {
        let dim = self.dim();
        let count = x.len() / dim;
        let rows = first..first + count;
        let mut features = room.chunks_exact_mut(TILE).map(|column| &mut column[..count]);
        let mut next = || features.next().expect("a place for each feature");
        if self.bias {
            next().fill(1.0);
        }
        for values in columns {
            match values {
                Values::Singles(numbers, mean, sd) => {
                    let numbers = numbers[rows.clone()].iter();
                    next().iter_mut().zip(numbers).for_each(|(x, &number)| *x = (f64::from(number) - mean) / sd);
                }
                Values::Numbers(numbers, mean, sd) => {
                    let numbers = numbers[rows.clone()].iter();
                    next().iter_mut().zip(numbers).for_each(|(x, number)| *x = (number - mean) / sd);
                }
                Values::Levels(levels, count) => {
                    let mut places: Vec<&mut [f64]> = (0..*count).map(|_| next()).collect();
                    places.iter_mut().for_each(|place| place.fill(0.0));
                    for (row, &level) in levels[rows.clone()].iter().enumerate() {
                        if let Some(place) = places.get_mut(level as usize) {
                            place[row] = 1.0;
                        }
                    }
                }
                Values::Vectors(vectors, dim) => {
                    for place in 0..*dim {
                        let vectors = vectors[rows.start * dim..rows.end * dim].chunks_exact(*dim);
                        next().iter_mut().zip(vectors).for_each(|(x, vector)| *x = vector[place]);
                    }
                }
            }
        }
        let mut scales = [0.0; TILE];
        for column in room.chunks_exact(TILE) {
            scales.iter_mut().zip(column).for_each(|(sum, x)| *sum += x * x);
        }
        let mut shortened = 0;
        for scale in &mut scales[..count] {
            let length = scale.sqrt() * self.scale;
            let too_long = length > 1.0 + 1e-12;
            shortened += u64::from(too_long);
            *scale = if too_long { self.scale / length } else { self.scale };
        }
        for (row, x) in x.chunks_exact_mut(dim).enumerate() {
            let scale = scales[row];
            x.iter_mut().zip(room[row..].iter().step_by(TILE)).for_each(|(x, unscaled)| *x = unscaled * scale);
        }
        shortened
    }
}

fn read<'a>(column: &Fitted, rows: &'a Rows, odd: &mut Oddities) -> Result<Values<'a>, Error> {
    let mut missing = 0;
    let refuse = |row: usize| rows.bad(row, column.name(), "a value is missing; say in `missing` how to fill it");
    let values = match column {
        Fitted::Numeric { name, missing: rule, mean, sd } => {
            if let Some(singles) = rows.singles(name) {
                return Ok(Values::Singles(singles, *mean, *sd));
            }
            let mut numbers = rows.numbers(name)?;
            for (row, number) in numbers.iter_mut().enumerate() {
                if number.is_nan() {
                    missing += 1;
                    *number = match rule {
                        MissingRule::Mean => *mean,
                        MissingRule::Zero => 0.0,
                        MissingRule::Error => return Err(refuse(row)),
                    };
                }
            }
            Values::Numbers(numbers, *mean, *sd)
        }
        Fitted::Categorical { name, missing: rule, levels, .. } => {
            let place_of: HashMap<&str, u32> = levels.iter().map(String::as_str).zip(0..).collect();
            let mut places = Vec::with_capacity(rows.len());
            let mut unseen = 0;
            rows.each_text(name, |row, text| {
                places.push(match text {
                    Some(text) => place_of.get(text).copied().unwrap_or_else(|| {
                        unseen += 1;
                        u32::MAX
                    }),
                    None if *rule == MissingRule::Error => return Err(refuse(row)),
                    None => {
                        missing += 1;
                        u32::MAX
                    }
                });
                Ok(())
            })?;
            if unseen > 0 {
                *odd.unseen.entry(name.clone()).or_default() += unseen;
            }
            Values::Levels(places, levels.len())
        }
        Fitted::Vector { name, missing: rule, dim } => {
            let mut vectors = rows.vectors(name, *dim)?;
            for (row, vector) in vectors.chunks_exact_mut(*dim).enumerate().filter(|(_, vector)| vector[0].is_nan()) {
                if *rule == MissingRule::Error {
                    return Err(refuse(row));
                }
                missing += 1;
                vector.fill(0.0);
            }
            Values::Vectors(vectors, *dim)
        }
    };
    if missing > 0 {
        *odd.missing.entry(column.name().to_owned()).or_default() += missing;
    }
    Ok(values)
}
