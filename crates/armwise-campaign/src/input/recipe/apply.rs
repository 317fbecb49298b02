//! Reads the columns of a batch, to make features of them.
//!
//! Each column is read as a whole, so that a bad cell is found and named even where its row is never made into
//! features.

use super::{Columns, Fitted, Recipe};
use crate::{Error, config::MissingRule, table::Rows};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// What was unusual in the rows, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
pub(super) enum Values<'a> {
    /// One number per row, to be standardised by mean and standard deviation.
    Singles(&'a [f32], f64, f64),
    /// As above, with missing ones filled in.
    Numbers(Vec<f64>, f64, f64),
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
    pub fn apply(&self, rows: &Rows) -> Result<(Vec<f32>, Oddities), Error> {
        let mut odd = Oddities::default();
        let mut features = Vec::new();
        odd.shortened = self.read(rows, &mut odd)?.features(None, &mut features);
        Ok((features, odd))
    }

    /// Reads the columns of rows, of which features can be made then.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub(crate) fn read<'a>(&'a self, rows: &'a Rows, odd: &mut Oddities) -> Result<Columns<'a>, Error> {
        let values = self.columns.iter().map(|column| read(column, rows, odd)).collect::<Result<_, _>>()?;
        Ok(Columns { recipe: self, rows: rows.len(), values })
    }
}

fn read<'a>(column: &Fitted, rows: &'a Rows, odd: &mut Oddities) -> Result<Values<'a>, Error> {
    let mut missing = 0;
    let refuse = |row: usize| {
        rows.bad(
            row,
            column.name(),
            "a value is missing, and the campaign began without a rule to fill it; fill it in, or leave the row out",
        )
    };
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
