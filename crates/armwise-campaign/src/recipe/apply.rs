//! Turns rows of a table into features.
//!
//! The decision to know: columns are read one by one (so errors name their cell), rows are put together in parallel;
//! each row's arithmetic is its own, so neither batches nor threads change a bit.

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
enum Values {
    /// One number per row, already standardised.
    Numbers(Vec<f64>),
    /// The place among the levels; out of range for none.
    Levels(Vec<u32>, usize),
    /// `dim` numbers per row.
    Vectors(Vec<f64>, usize),
}

impl Recipe {
    /// The features of rows, row by row, and what was unusual about them.
    ///
    /// # Errors
    /// [`Error::Cell`] for a value that cannot be used, [`Error::Table`] for a missing column or a wrong type.
    pub fn apply(&self, rows: &Rows) -> Result<(Vec<f64>, Oddities), Error> {
        let mut odd = Oddities::default();
        let columns = self.columns.iter().map(|column| read(column, rows, &mut odd)).collect::<Result<Vec<_>, _>>()?;
        let dim = self.dim();
        let mut features = vec![0.0; rows.len() * dim];
        let rows_per_task = 1024;
        let shortened: u64 = features
            .par_chunks_mut(rows_per_task * dim)
            .enumerate()
            .map(|(task, chunk)| {
                let first = task * rows_per_task;
                chunk.chunks_exact_mut(dim).zip(first..).map(|(x, row)| self.put(&columns, row, x)).sum::<u64>()
            })
            .sum();
        odd.shortened = shortened;
        Ok((features, odd))
    }

    /// Fills in x; 1 if it had to be shortened.
    fn put(&self, columns: &[Values], row: usize, x: &mut [f64]) -> u64 {
        let mut place = 0;
        if self.bias {
            x[0] = 1.0;
            place = 1;
        }
        for values in columns {
            match values {
                Values::Numbers(numbers) => {
                    x[place] = numbers[row];
                    place += 1;
                }
                Values::Levels(levels, count) => {
                    let level = levels[row] as usize;
                    if level < *count {
                        x[place + level] = 1.0;
                    }
                    place += count;
                }
                Values::Vectors(vectors, dim) => {
                    x[place..place + dim].copy_from_slice(&vectors[row * dim..(row + 1) * dim]);
                    place += dim;
                }
            }
        }
        let length = x.iter().fold(0.0, |sum, x| sum + x * x).sqrt() * self.scale;
        let too_long = length > 1.0 + 1e-12;
        let scale = if too_long { self.scale / length } else { self.scale };
        x.iter_mut().for_each(|x| *x *= scale);
        u64::from(too_long)
    }
}

fn read(column: &Fitted, rows: &Rows, odd: &mut Oddities) -> Result<Values, Error> {
    let mut missing = 0;
    let refuse = |row: usize| rows.bad(row, column.name(), "a value is missing; say in `missing` how to fill it");
    let values = match column {
        Fitted::Numeric { name, missing: rule, mean, sd } => {
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
                *number = (*number - mean) / sd;
            }
            Values::Numbers(numbers)
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
