//! The customers of the sending promotion problem: each with features, and with what each promotion would pay.
//!
//! This is all that an environment needs of the data; a round then draws N of these customers.

use super::{
    features::{Features, Variant},
    ratings::{Ratings, Source},
    split::Split,
};
use crate::Error;

/// Features and rewards of all customers, with the names of what they come from.
#[derive(Debug, Clone)]
pub struct Customers {
    source: Source,
    fingerprint: u64,
    movies: Vec<u32>,
    features: Features,
    rewards: Vec<f32>,
}

impl Customers {
    /// Splits the ratings and makes the features; `number` tells the splits of one seed apart.
    ///
    /// # Errors
    /// [`Error::TooFewMovies`] if the band has fewer movies than promotions, [`Error::Numerical`] if the decomposition
    /// does not converge.
    ///
    /// # Example
    /// ```
    /// use armwise_lab::data::{Customers, Generated, Ratings, Variant};
    /// let ratings = Ratings::generate(&Generated { users: 500, movies: 300, ratings: 10_000 }, 7)?;
    /// let customers = Customers::new(&ratings, Variant::Svd, 10, 7, 0)?;
    /// assert_eq!((customers.users(), customers.promotions()), (500, 10));
    /// assert_eq!(customers.label(), "svd, generated");
    /// # Ok::<(), armwise_lab::Error>(())
    /// ```
    pub fn new(ratings: &Ratings, variant: Variant, promotions: usize, seed: u64, number: u64) -> Result<Self, Error> {
        let split = Split::draw(ratings, promotions, seed, number)?;
        let features = Features::new(&split, variant, seed)?;
        Ok(Self {
            source: ratings.source().clone(),
            fingerprint: ratings.fingerprint(),
            movies: split.movies.iter().map(|movie| ratings.movie_ids()[*movie as usize]).collect(),
            features,
            rewards: split.rewards,
        })
    }

    /// How many customers there are.
    #[must_use]
    pub fn users(&self) -> usize {
        self.features.users()
    }

    /// How many promotions there are, M in the paper.
    #[must_use]
    pub fn promotions(&self) -> usize {
        self.movies.len()
    }

    /// The promotions' movies, by their ids in the file.
    #[must_use]
    pub fn movies(&self) -> &[u32] {
        &self.movies
    }

    /// The features.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Row-major users x promotions: the rating, or 0.
    #[must_use]
    pub fn rewards(&self) -> &[f32] {
        &self.rewards
    }

    /// The reward of a promotion sent to a user.
    #[must_use]
    pub fn reward(&self, user: usize, promotion: usize) -> f64 {
        f64::from(self.rewards[user * self.promotions() + promotion])
    }

    /// Where the ratings come from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The variant and the source, for tables: `svd, generated` or `als, ml-20m.zip`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}, {}", self.features.variant(), self.source)
    }

    /// The fingerprint of the ratings.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}
