//! A set of ratings: who rated which movie with how many half stars.
//!
//! Users and movies are numbered from 0 in the order of their ids, so the numbers, and all that
//! is computed from them, depend on what was rated and never on the order of the lines.

use std::{fmt, hash::Hasher, path::Path};

use serde::Serialize;
use twox_hash::XxHash64;

use super::{generated::Generated, movielens, sparse::Sparse};
use crate::Error;

/// Ids below this are looked up in a table; larger ones by bisection.
const LARGEST_TABLE: usize = 1 << 24;

/// Where ratings come from; shown beside every number computed from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A file, by its name.
    File(String),
    /// The generated MovieLens-like set.
    Generated,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File(name) => name,
            Self::Generated => "generated",
        })
    }
}

/// A set of ratings, each user's movies in ascending order.
#[derive(Debug, Clone)]
pub struct Ratings {
    source: Source,
    user_ids: Vec<u32>,
    movie_ids: Vec<u32>,
    matrix: Sparse,
    fingerprint: u64,
}

impl Ratings {
    /// Reads a MovieLens file: `ratings.csv` (ml-20m, 25m, latest), `ratings.dat` (ml-1m, 10m), or the zip of either.
    ///
    /// The format is found from the content.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Archive`], [`Error::Columns`], [`Error::Malformed`], [`Error::RatingRange`],
    /// [`Error::RatedTwice`] or [`Error::NoRatings`], each naming the file and, where there is one, the line.
    pub fn read(path: &Path) -> Result<Self, Error> {
        movielens::read(path)
    }

    /// Generates a MovieLens-like set; a pure function of the parameters and the seed.
    ///
    /// # Errors
    /// [`Error::Parameter`] for sizes that no set can have.
    pub fn generate(parameters: &Generated, seed: u64) -> Result<Self, Error> {
        parameters.ratings(seed)
    }

    /// Takes ids in ascending order and the matrix over them.
    pub(crate) fn new(source: Source, user_ids: Vec<u32>, movie_ids: Vec<u32>, matrix: Sparse) -> Self {
        let fingerprint = fingerprint(&user_ids, &movie_ids, &matrix);
        Self { source, user_ids, movie_ids, matrix, fingerprint }
    }

    /// Where the ratings come from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// How many users there are.
    #[must_use]
    pub fn users(&self) -> usize {
        self.user_ids.len()
    }

    /// How many movies have a rating.
    #[must_use]
    pub fn movies(&self) -> usize {
        self.movie_ids.len()
    }

    /// How many ratings there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.matrix.len()
    }

    /// Whether there is no rating at all; never true of a set that was read or generated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The users' ids in the file, ascending.
    #[must_use]
    pub fn user_ids(&self) -> &[u32] {
        &self.user_ids
    }

    /// The movies' ids in the file, ascending.
    #[must_use]
    pub fn movie_ids(&self) -> &[u32] {
        &self.movie_ids
    }

    /// The rating of a movie by a user (both by number), or 0 where there is none.
    #[must_use]
    pub fn rating(&self, user: usize, movie: usize) -> f64 {
        0.5 * f64::from(self.matrix.get(user, movie as u32))
    }

    /// How many users rated each movie.
    #[must_use]
    pub fn raters(&self) -> Vec<u32> {
        self.matrix.column_counts()
    }

    /// A stable 64-bit hash of the content: the same for the same ratings in any order, format or container.
    ///
    /// XXH64 (seed 0) of user id, movie id (4 bytes each, little endian) and half stars (1 byte), by user, then movie.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(crate) fn matrix(&self) -> &Sparse {
        &self.matrix
    }
}

fn fingerprint(user_ids: &[u32], movie_ids: &[u32], matrix: &Sparse) -> u64 {
    let mut hash = XxHash64::with_seed(0);
    let mut bytes = Vec::new();
    for (user, id) in user_ids.iter().enumerate() {
        bytes.clear();
        let (movies, halves) = matrix.row(user);
        for (&movie, &half) in movies.iter().zip(halves) {
            bytes.extend_from_slice(&id.to_le_bytes());
            bytes.extend_from_slice(&movie_ids[movie as usize].to_le_bytes());
            bytes.push(half);
        }
        hash.write(&bytes);
    }
    hash.finish()
}

/// Replaces ids by their rank; returns the distinct ids, ascending.
pub(crate) fn renumber(column: &mut [u32]) -> Vec<u32> {
    let largest = column.iter().copied().max().unwrap_or(0) as usize;
    if largest >= LARGEST_TABLE {
        let mut ids = column.to_vec();
        ids.sort_unstable();
        ids.dedup();
        ids.shrink_to_fit();
        for id in column {
            *id = ids.partition_point(|other| other < id) as u32;
        }
        return ids;
    }
    let mut rank = vec![0; largest + 1];
    for id in &*column {
        rank[*id as usize] = 1;
    }
    let ids: Vec<u32> = (0u32..).zip(&rank).filter(|(_, seen)| **seen == 1).map(|(id, _)| id).collect();
    for (number, id) in (0u32..).zip(&ids) {
        rank[*id as usize] = number;
    }
    for id in column {
        *id = rank[*id as usize];
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_ids_are_numbered_like_small_ones() {
        let mut small = [5, 3, 9, 3, 5];
        let mut large = small.map(|id| id + 4_294_967_280);
        assert_eq!(renumber(&mut small), [3, 5, 9]);
        assert_eq!(renumber(&mut large), [3, 5, 9].map(|id| id + 4_294_967_280));
        assert_eq!(small, [1, 0, 2, 0, 1]);
        assert_eq!(large, small);
    }
}
