//! Users' vectors as features x of d = 51 numbers: 50 factors and a bias element, with |x| <= 1.
//!
//! The bias element is 0.707, slightly below sqrt(1/2), for every user, and the factors get the rest of the unit ball.
//! In `svd` and `als` one constant scales the vectors of all users, as in the paper: the longest vector gets length
//! 0.707 and all ratios of lengths are kept. In the normalised variants each user's vector gets length 0.707, so only
//! its direction counts. If the bias were scaled by the constant too, the factors of a usual user of ml-20m would be
//! about sqrt(50 / 138,493), a fiftieth of the bias.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{als, als::Als, split::Split, svd::Svd};
use crate::Error;

/// The bias element, and the length given to the factors.
const SHARE: f64 = 0.707;

/// How users' vectors are made from the training ratings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Variant {
    /// Left singular vectors of the rating matrix, missing ratings as zeros; one constant factor.
    #[default]
    Svd,
    /// The same, every user's vector scaled to the same length.
    SvdNormalised,
    /// Factors of the observed ratings only; one constant factor.
    Als,
    /// The same, every user's vector scaled to the same length.
    AlsNormalised,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Svd, Self::SvdNormalised, Self::Als, Self::AlsNormalised];
    const NAMES: [&'static str; 4] = ["svd", "svd-normalised", "als", "als-normalised"];

    /// The name in tables, in TOML and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether every user's vector has the same length.
    #[must_use]
    pub const fn normalised(self) -> bool {
        matches!(self, Self::SvdNormalised | Self::AlsNormalised)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Variant {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownName { what: "features", name: name.to_owned(), known: &Self::NAMES };
        Self::ALL.into_iter().find(|variant| variant.name() == name).ok_or_else(unknown)
    }
}

impl TryFrom<String> for Variant {
    type Error = Error;

    fn try_from(name: String) -> Result<Self, Error> {
        name.parse()
    }
}

impl From<Variant> for &'static str {
    fn from(variant: Variant) -> Self {
        variant.name()
    }
}

/// The features of all users.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    variant: Variant,
    values: Vec<f64>,
}

impl Features {
    /// Factors per user.
    pub const FACTORS: usize = 50;
    /// Numbers per user, d in the paper: the factors, then the bias element.
    pub const DIMENSION: usize = Self::FACTORS + 1;

    /// Makes the features of all users from the training ratings.
    ///
    /// # Errors
    /// [`Error::Numerical`] if the decomposition does not converge.
    pub fn new(split: &Split, variant: Variant, seed: u64) -> Result<Self, Error> {
        Ok(match variant {
            Variant::Svd | Variant::SvdNormalised => {
                let svd = Svd::new(split, Self::FACTORS, seed)?;
                let rows = (0..svd.u.nrows()).map(|user| svd.u.row(user).iter().copied());
                Self::scaled(variant, rows)
            }
            Variant::Als | Variant::AlsNormalised => {
                let als = Als::new(split, Self::FACTORS, als::PENALTY, als::SWEEPS, seed)?;
                Self::scaled(variant, als.users.chunks_exact(als.rank).map(|row| row.iter().copied()))
            }
        })
    }

    /// Scales vectors of up to 50 factors and adds the bias element; missing factors are 0.
    fn scaled(variant: Variant, rows: impl Iterator<Item = impl Iterator<Item = f64>>) -> Self {
        let mut values = Vec::new();
        let mut lengths = Vec::new();
        for row in rows {
            let start = values.len();
            values.extend(row);
            lengths.push(length(&values[start..]));
            values.resize(start + Self::FACTORS, 0.0);
            values.push(SHARE);
        }
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        for (x, &length) in values.chunks_exact_mut(Self::DIMENSION).zip(&lengths) {
            let whole = if variant.normalised() { length } else { longest };
            // A user without training ratings has no direction: only the bias element is left.
            let factor = if whole > 0.0 { SHARE / whole } else { 0.0 };
            x[..Self::FACTORS].iter_mut().for_each(|value| *value *= factor);
        }
        Self { variant, values }
    }

    /// How they were made.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// How many users there are.
    #[must_use]
    pub fn users(&self) -> usize {
        self.values.len() / Self::DIMENSION
    }

    /// Row-major users x 51.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The features of a user.
    #[must_use]
    pub fn of(&self, user: usize) -> &[f64] {
        &self.values[user * Self::DIMENSION..][..Self::DIMENSION]
    }

    /// The features of a user without the bias element.
    #[must_use]
    pub fn factors(&self, user: usize) -> &[f64] {
        &self.of(user)[..Self::FACTORS]
    }
}

pub(crate) fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Generated;

    #[test]
    fn features_stay_in_the_unit_ball_and_keep_what_they_promise() {
        let ratings = Generated { users: 3_000, movies: 1_500, ratings: 100_000 }.ratings(3).unwrap();
        let split = Split::draw(&ratings, 10, 1, 0).unwrap();
        for variant in Variant::ALL {
            let features = Features::new(&split, variant, 1).unwrap();
            assert_eq!((features.users(), features.values().len()), (3_000, 3_000 * 51));
            let lengths: Vec<f64> = (0..3_000).map(|user| length(features.factors(user))).collect();
            for (user, factors) in lengths.iter().enumerate() {
                let x = features.of(user);
                assert!(length(x) <= 1.0, "{variant}, user {user}: {}", length(x));
                assert!((x[50] - SHARE).abs() < f64::EPSILON);
                assert!(!variant.normalised() || (factors - SHARE).abs() < 1e-12, "{variant}, user {user}: {factors}");
            }
            let longest = lengths.iter().copied().fold(0.0, f64::max);
            assert!((longest - SHARE).abs() < 1e-12, "{variant}: {longest}");
        }
    }

    /// The features are the left singular vectors up to one constant: their Gram matrix is a multiple of the identity.
    #[test]
    fn svd_features_are_orthogonal_columns_of_equal_length() {
        let ratings = Generated { users: 3_000, movies: 1_500, ratings: 100_000 }.ratings(3).unwrap();
        let split = Split::draw(&ratings, 10, 1, 0).unwrap();
        let features = Features::new(&split, Variant::Svd, 1).unwrap();
        let gram = |i: usize, j: usize| (0..3_000).map(|user| features.of(user)[i] * features.of(user)[j]).sum::<f64>();
        let first = gram(0, 0);
        for i in 0..50 {
            for j in 0..50 {
                let expected = if i == j { first } else { 0.0 };
                assert!((gram(i, j) - expected).abs() < 1e-5 * first, "{i}, {j}: {} of {first}", gram(i, j));
            }
        }
    }

    #[test]
    fn users_without_ratings_have_the_bias_only_and_missing_factors_are_zero() {
        for variant in [Variant::Svd, Variant::SvdNormalised] {
            let features = Features::scaled(variant, [[0.0, 0.0], [3.0, 4.0]].into_iter().map(IntoIterator::into_iter));
            assert!(features.factors(0).iter().chain(&features.factors(1)[2..]).all(|x| x.abs() < f64::MIN_POSITIVE));
            assert!((features.of(0)[50] - SHARE).abs() < f64::EPSILON);
            assert!((features.of(1)[1] - 0.8 * SHARE).abs() < 1e-15);
        }
    }

    #[test]
    fn names_are_read_and_written() {
        for variant in Variant::ALL {
            assert_eq!(variant.to_string().parse::<Variant>().unwrap(), variant);
            let json = serde_json::to_string(&variant).unwrap();
            assert_eq!(json, format!("\"{variant}\""));
            assert_eq!(serde_json::from_str::<Variant>(&json).unwrap(), variant);
        }
        let message = "pca".parse::<Variant>().unwrap_err().to_string();
        assert_eq!(message, "features \"pca\" is unknown; it must be one of svd, svd-normalised, als, als-normalised");
    }
}
