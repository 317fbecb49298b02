//! Reads the columns of a batch, to make features of them.
//!
//! Each column is read as a whole, so that a bad cell is found and named even where its row is never made into
//! features.

use super::{Columns, Fitted, Recipe, bin, log};
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
    /// Values beyond what the recipe takes for plausible, which were clipped, by column.
    #[serde(default)]
    pub clipped: BTreeMap<String, u64>,
    /// Rows that were shortened to |x| = 1.
    pub shortened: u64,
}

impl Oddities {
    /// Adds what another batch had.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.unseen, &other.unseen),
            (&mut self.missing, &other.missing),
            (&mut self.clipped, &other.clipped),
        ] {
            for (column, count) in theirs {
                *mine.entry(column.clone()).or_default() += count;
            }
        }
        self.shortened += other.shortened;
    }
}

/// The values of a column in a batch, ready to be put in rows.
pub(super) enum Values<'a> {
    /// One number per row, to be standardised.
    Singles(&'a [f32], Standard),
    /// As above, with missing ones filled in.
    Numbers(Vec<f64>, Standard),
    /// The place among the levels; out of range for none.
    Levels(Vec<u32>, usize),
    /// `dim` numbers per row.
    Vectors(Vec<f64>, usize),
    /// The products of the features of two other columns: where these begin, and how many they are.
    Products([(usize, usize); 2]),
}

impl Values<'_> {
    /// How many features they make.
    pub(super) fn dim(&self) -> usize {
        match self {
            Self::Singles(..) | Self::Numbers(..) => 1,
            Self::Levels(_, dim) | Self::Vectors(_, dim) => *dim,
            Self::Products([(_, left), (_, right)]) => left * right,
        }
    }
}

/// How a number is standardised: clipped, then by mean and standard deviation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standard {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Standard {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]
    pub(super) fn clip(&self, number: f64) -> f64 {
        // Comparisons, not `clamp`, which would panic; a number that is none does not get here.
        let number = if number < self.min { self.min } else { number };
        if number > self.max { self.max } else { number }
    }

    /// How many numbers are clipped.
    fn clips<T: Copy + Into<f64>>(&self, numbers: &[T]) -> u64 {
        if self.min == f64::NEG_INFINITY && self.max == f64::INFINITY {
            return 0;
        }
        let beyond = |number: f64| u32::from(number < self.min) + u32::from(number > self.max);
        numbers.iter().map(|&number| u64::from(beyond(number.into()))).sum()
    }
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
        let values = self.columns.iter().map(|column| self.read_column(column, rows, odd)).collect::<Result<_, _>>()?;
        Ok(Columns { recipe: self, rows: rows.len(), values })
    }

    fn read_column<'a>(&self, column: &Fitted, rows: &'a Rows, odd: &mut Oddities) -> Result<Values<'a>, Error> {
        let Fitted::Cross { left, right, .. } = column else { return read(column, rows, odd) };
        Ok(Values::Products([*left, *right].map(|place| (self.first(place), self.columns[place].dim()))))
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
        Fitted::Numeric { name, missing: rule, mean, sd, log: by_log, clip } => {
            let (min, max) = clip.map_or((f64::NEG_INFINITY, f64::INFINITY), |clip| (clip.min, clip.max));
            let standard = Standard { mean: *mean, sd: *sd, min, max };
            let (values, clipped) = if let Some(singles) = rows.singles(name).filter(|_| !by_log) {
                (Values::Singles(singles, standard), standard.clips(singles))
            } else {
                let mut numbers = rows.numbers(name)?;
                for (row, number) in numbers.iter_mut().enumerate() {
                    if number.is_nan() {
                        missing += 1;
                        *number = match rule {
                            MissingRule::Mean => *mean,
                            MissingRule::Zero => 0.0,
                            MissingRule::Error => return Err(refuse(row)),
                        };
                    } else if *by_log {
                        *number = log(*number);
                    }
                }
                let clipped = standard.clips(&numbers);
                (Values::Numbers(numbers, standard), clipped)
            };
            if clipped > 0 {
                *odd.clipped.entry(name.clone()).or_default() += clipped;
            }
            values
        }
        Fitted::Bins { name, missing: rule, edges, .. } => {
            let mut places = Vec::with_capacity(rows.len());
            for (row, number) in rows.numbers(name)?.into_iter().enumerate() {
                places.push(match number {
                    number if !number.is_nan() => bin(edges, number) as u32,
                    _ if *rule == MissingRule::Error => return Err(refuse(row)),
                    _ => {
                        missing += 1;
                        u32::MAX
                    }
                });
            }
            Values::Levels(places, edges.len() + 1)
        }
        Fitted::Cross { .. } => Values::Products([(0, 0); 2]),
        Fitted::Categorical { name, missing: rule, levels, .. } => {
            let place_of: HashMap<&str, u32> = levels.iter().map(String::as_str).zip(0..).collect();
            let mut places = Vec::with_capacity(rows.len());
            let mut unseen = 0;
            rows.each_level(name, |row, text| {
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
