//! The distribution of the cosine similarity of users' features without the bias element (Figure 3).
//!
//! All pairs of the sampled users are counted, by blocked products, and counts are whole
//! numbers, so the histogram is the same on any number of threads.

use armwise::Round;
use faer::{Accum, Mat, MatRef, Par, linalg::matmul::matmul};
use rayon::prelude::*;
use serde::Serialize;

use super::features::{Features, length};
use crate::streams;

/// Users per block of the product.
const TILE: usize = 256;

/// A histogram of cosines over [-1, 1].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cosines {
    /// Pairs per bin; the bins have equal width and cover [-1, 1].
    pub bins: Vec<u64>,
    /// Users compared.
    pub users: usize,
    /// Sampled users left out because their vector is zero: they have no direction.
    pub without_direction: usize,
}

impl Cosines {
    /// Compares every two of `sample` users drawn at random, or of all where there are fewer.
    ///
    /// # Panics
    /// If `bins` is 0.
    #[must_use]
    pub fn new(features: &Features, sample: usize, bins: usize, seed: u64) -> Self {
        assert!(bins > 0, "a histogram has at least one bin");
        let draws = Round::new(seed, 0).draws(0, streams::COSINES);
        let mut users: Vec<usize> = (0..features.users()).collect();
        users.sort_by_key(|user| (draws.bits(*user as u64), *user));
        users.truncate(sample);
        let sampled = users.len();
        let mut units: Vec<f64> = Vec::with_capacity(sampled * Features::FACTORS);
        for factors in users.into_iter().map(|user| features.factors(user)) {
            let length = length(factors);
            if length > 0.0 {
                units.extend(factors.iter().map(|factor| factor / length));
            }
        }
        let users = units.len() / Features::FACTORS;
        let tiles: Vec<&[f64]> = units.chunks(TILE * Features::FACTORS).collect();
        let bins = (0..tiles.len())
            .into_par_iter()
            .map(|a| {
                let mut counts = vec![0; bins];
                for b in 0..=a {
                    count(tiles[a], tiles[b], a == b, &mut counts);
                }
                counts
            })
            .reduce(|| vec![0; bins], |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect());
        Self { bins, users, without_direction: sampled - users }
    }

    /// Pairs compared.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The lower edge of a bin; that of the bin after the last is 1.
    #[must_use]
    pub fn edge(&self, bin: usize) -> f64 {
        2.0 * bin as f64 / self.bins.len() as f64 - 1.0
    }
}

/// Counts the pairs of two tiles; of a tile with itself, each pair once.
fn count(a: &[f64], b: &[f64], same: bool, bins: &mut [u64]) {
    let rows = |tile: &[f64]| tile.len() / Features::FACTORS;
    let a = MatRef::from_row_major_slice(a, rows(a), Features::FACTORS);
    let b = MatRef::from_row_major_slice(b, rows(b), Features::FACTORS);
    let mut cosines = Mat::zeros(b.nrows(), a.nrows());
    matmul(&mut cosines, Accum::Replace, b, a.transpose(), 1.0, Par::Seq);
    let scale = 0.5 * bins.len() as f64;
    for i in 0..a.nrows() {
        let others = if same { i } else { b.nrows() };
        for cosine in cosines.col(i).iter().take(others) {
            // Rounding may go past the ends; casting a negative number gives 0.
            #[expect(clippy::cast_sign_loss, reason = "negative numbers saturate to 0")]
            let bin = ((cosine + 1.0) * scale) as usize;
            bins[bin.min(bins.len() - 1)] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Generated, Split, Variant};

    fn features() -> Features {
        let ratings = Generated { users: 900, movies: 500, ratings: 20_000 }.ratings(3).unwrap();
        Features::new(&Split::draw(&ratings, 2, 1, 0).unwrap(), Variant::Svd, 1).unwrap()
    }

    #[test]
    fn counts_agree_with_all_pairs_taken_one_by_one() {
        let features = features();
        let cosines = Cosines::new(&features, 10_000, 40, 1);
        let mut expected = vec![0u64; 40];
        for i in 0..900 {
            for j in 0..i {
                let (x, y) = (features.factors(i), features.factors(j));
                let dot: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                let edge = 20.0 * (dot / (length(x) * length(y)) + 1.0);
                expected[(0..40).rev().find(|bin| *bin as f64 <= edge).unwrap_or(0)] += 1;
            }
        }
        assert_eq!((cosines.users, cosines.without_direction, cosines.pairs()), (900, 0, 900 * 899 / 2));
        assert_eq!(cosines.bins, expected);
        assert!(cosines.edge(0) <= -1.0 && cosines.edge(40) >= 1.0 && cosines.edge(20).abs() < f64::EPSILON);
    }

    #[test]
    fn a_sample_is_seeded_and_the_same_on_any_threads() {
        let features = features();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let a = one.install(|| Cosines::new(&features, 300, 40, 1));
        assert_eq!(a, Cosines::new(&features, 300, 40, 1));
        assert_ne!(a, Cosines::new(&features, 300, 40, 2));
        assert_eq!(a.pairs(), 300 * 299 / 2);
    }
}
