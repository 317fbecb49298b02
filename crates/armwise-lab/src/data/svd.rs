//! The truncated singular value decomposition of the sparse rating matrix, missing ratings as zeros.
//!
//! Block Lanczos on A'A (or AA', whichever is smaller) with full reorthogonalisation. It needs a fraction of the
//! products of a subspace iteration, since the spectrum of ratings falls slowly, and it estimates its residuals, so it
//! stops when the requested triplets are found. A is only used in products and never stored as a dense matrix.

use armwise::Round;
use faer::{Accum, Mat, MatRef, Par, Side, linalg::matmul::matmul};

use super::{
    blocks::{BLOCK, product},
    krylov::{Basis, Coefficients},
    sparse::Sparse,
    split::Split,
};
use crate::{Error, streams};

/// The largest |A'u - sigma v| allowed, as a share of the largest singular value.
const TOLERANCE: f64 = 1e-8;
/// The basis may grow to this many columns.
const LARGEST_BASIS: usize = 2_000;

/// The largest singular values of a matrix A with their vectors: A v = sigma u, A'u = sigma v.
///
/// Of each pair, the entry of v that is largest in size (the first of equals) is positive.
#[derive(Debug, Clone)]
pub struct Svd {
    /// Singular values, descending.
    pub sigma: Vec<f64>,
    /// Left singular vectors (users), one per column.
    pub u: Mat<f64>,
    /// Right singular vectors (movies), one per column.
    pub v: Mat<f64>,
    /// The largest |A'u - sigma v| over the largest sigma, as the method estimates it.
    pub residual: f64,
    /// How many basis columns were needed.
    pub basis: usize,
}

impl Svd {
    /// The `rank` largest triplets of the training ratings; fewer where the matrix is smaller.
    ///
    /// The seed gives the starting vectors; the result depends on it only within the tolerance.
    ///
    /// # Errors
    /// [`Error::Numerical`] when the triplets are not found with the largest basis allowed.
    pub fn new(split: &Split, rank: usize, seed: u64) -> Result<Self, Error> {
        Self::of(split.training(), rank, seed)
    }

    pub(crate) fn of(matrix: &Sparse, rank: usize, seed: u64) -> Result<Self, Error> {
        let transposed = matrix.transposed();
        let wide = matrix.width() > matrix.height();
        let (tall, flat) = if wide { (&transposed, matrix) } else { (matrix, &transposed) };
        let rank = rank.min(tall.width());
        let Ritz { values, vectors, residual, basis } = lanczos(tall, flat, rank, seed)?;
        let sigma: Vec<f64> = values.iter().map(|value| value.max(0.0).sqrt()).collect();
        let far = far_vectors(tall, &vectors, &sigma);
        let (mut u, mut v) = if wide { (vectors, far) } else { (far, vectors) };
        for n in 0..rank {
            let largest = (0..v.nrows())
                .fold(0.0f64, |largest, row| if v[(row, n)].abs() > largest.abs() { v[(row, n)] } else { largest });
            if largest < 0.0 {
                u.col_mut(n).iter_mut().chain(v.col_mut(n).iter_mut()).for_each(|entry| *entry = -*entry);
            }
        }
        Ok(Self { sigma, u, v, residual, basis })
    }
}

/// The largest eigenpairs of `flat * tall`.
struct Ritz {
    values: Vec<f64>,
    vectors: Mat<f64>,
    residual: f64,
    basis: usize,
}

fn lanczos(tall: &Sparse, flat: &Sparse, rank: usize, seed: u64) -> Result<Ritz, Error> {
    let size = tall.width();
    let mut basis = Basis::new(size, Round::new(seed, 0).draws(0, streams::SVD));
    let start = basis.random();
    basis.extend(&start, BLOCK.min(size));
    // The upper triangle of basis' * A'A * basis.
    let mut projected = Mat::<f64>::zeros(0, 0);
    let mut next_check = rank + BLOCK;
    loop {
        let first = projected.ncols();
        let block = basis.block(first);
        let used = basis.len() - first;
        let image = product(flat, &product(tall, &block));
        let Coefficients { inside, outside } = basis.extend(&image, used);
        let known = first + used;
        projected.resize_with(
            known,
            known,
            |row, column| if column < first { 0.0 } else { inside[(row, column - first)] },
        );
        let complete = known == size;
        if !complete && known < next_check {
            continue;
        }
        let eigen = projected
            .self_adjoint_eigen(Side::Upper)
            .map_err(|error| Error::Numerical { method: "svd", what: format!("{error:?}") })?;
        // Eigenvalues ascend: the last ones are wanted, from the last down.
        let values: Vec<f64> = (0..rank).map(|n| eigen.S()[known - 1 - n]).collect();
        let chosen = Mat::from_fn(known, rank, |row, n| eigen.U()[(row, known - 1 - n)]);
        let residual = if complete { 0.0 } else { largest_residual(&outside, chosen.subrows(first, used), &values) };
        if residual <= TOLERANCE {
            let mut vectors = Mat::zeros(size, rank);
            matmul(&mut vectors, Accum::Replace, basis.columns().subcols(0, known), &chosen, 1.0, Par::Seq);
            return Ok(Ritz { values, vectors, residual, basis: known });
        }
        if known >= LARGEST_BASIS {
            let what = format!("residual {residual:.1e} of {TOLERANCE:.0e} after {known} basis vectors");
            return Err(Error::Numerical { method: "svd", what });
        }
        next_check = known + known / 8;
    }
}

/// The largest |A'u - sigma v| over the largest sigma: the part of A'A v outside the basis, over sigma.
fn largest_residual(outside: &Mat<f64>, last: MatRef<'_, f64>, values: &[f64]) -> f64 {
    let left = outside * last;
    let top = values[0].max(f64::MIN_POSITIVE);
    let residual = |n: usize| left.col(n).norm_l2() / (values[n].max(f64::EPSILON * top) * top).sqrt();
    (0..values.len()).map(residual).fold(0.0, f64::max)
}

/// The vectors of the other side: A v / sigma, or zero if sigma is a rounding error.
fn far_vectors(tall: &Sparse, vectors: &Mat<f64>, sigma: &[f64]) -> Mat<f64> {
    let rank = sigma.len();
    let mut far = Mat::zeros(tall.height(), rank);
    let least = sigma.first().copied().unwrap_or(0.0) * 1e-7;
    for first in (0..rank).step_by(BLOCK) {
        let count = (rank - first).min(BLOCK);
        let entry = |row: usize, n: usize| if n < count { vectors[(row, first + n)] } else { 0.0 };
        let block: Vec<_> = (0..vectors.nrows()).map(|row| std::array::from_fn(|n| entry(row, n))).collect();
        for (row, image) in product(tall, &block).iter().enumerate() {
            for (n, value) in image[..count].iter().enumerate().filter(|(n, _)| sigma[first + n] > least) {
                far[(row, first + n)] = value / sigma[first + n];
            }
        }
    }
    far
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Generated, sparse::tests::of_table};
    use armwise::Stream;

    fn table(height: usize, width: usize, share: f64) -> Vec<Vec<u8>> {
        let draws = Round::new(11, 0).draws(0, Stream(999));
        let entry = |n: usize| if draws.uniform(n as u64) < share { 1 + (draws.bits(n as u64) % 10) as u8 } else { 0 };
        (0..height).map(|row| (0..width).map(|column| entry(row * width + column)).collect()).collect()
    }

    fn dense(table: &[Vec<u8>]) -> Mat<f64> {
        Mat::from_fn(table.len(), table[0].len(), |row, column| 0.5 * f64::from(table[row][column]))
    }

    /// Tall and wide matrices, one smaller than a block, and one so large that the basis does not fill the whole space.
    #[test]
    fn agrees_with_the_dense_decomposition() {
        for (height, width, rank) in [(300, 200, 10), (200, 300, 10), (60, 40, 40), (9, 5, 5), (5, 9, 50), (1, 1, 1)] {
            let table = table(height, width, 0.2);
            let svd = Svd::of(&of_table(&table), rank, 1).unwrap();
            let a = dense(&table);
            let exact = a.thin_svd().unwrap();
            let rank = rank.min(height.min(width));
            assert_eq!(svd.sigma.len(), rank);
            let top = svd.sigma[0].max(1.0);
            for n in 0..rank {
                assert!((svd.sigma[n] - exact.S()[n]).abs() < 1e-7 * top, "{n}: {} {}", svd.sigma[n], exact.S()[n]);
                let to_left = &a * svd.v.col(n) - faer::Scale(svd.sigma[n]) * svd.u.col(n);
                let to_right = a.transpose() * svd.u.col(n) - faer::Scale(svd.sigma[n]) * svd.v.col(n);
                assert!(to_left.norm_l2() < 1e-6 * top, "{n}: |Av - su| = {}", to_left.norm_l2());
                assert!(to_right.norm_l2() < 1e-6 * top, "{n}: |A'u - sv| = {}", to_right.norm_l2());
            }
        }
    }

    /// Repeated rows make a matrix of rank 3: the basis runs out of directions on the way.
    #[test]
    fn a_matrix_of_low_rank_has_zeros_after_it() {
        let rows = table(3, 40, 0.5);
        let table: Vec<Vec<u8>> = (0..50).map(|row| rows[row % 3].clone()).collect();
        let svd = Svd::of(&of_table(&table), 6, 1).unwrap();
        let exact = dense(&table).thin_svd().unwrap();
        for n in 0..6 {
            assert!((svd.sigma[n] - exact.S()[n]).abs() < 1e-6 * svd.sigma[0]);
            assert!(svd.u.col(n).iter().chain(svd.v.col(n).iter()).all(|entry| entry.is_finite()));
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_threads_and_the_vectors_not_on_the_start() {
        let ratings = Generated { users: 1_000, movies: 400, ratings: 20_000 }.ratings(2).unwrap();
        let run = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Svd::of(ratings.matrix(), 10, seed)).unwrap()
        };
        let (one, three, other) = (run(1, 5), run(3, 5), run(2, 6));
        assert!(one.basis < 400, "found before the basis fills the space");
        assert!(one.u == three.u && one.v == three.v && one.sigma == three.sigma);
        let apart = &one.u - &other.u;
        assert!(apart.norm_max() < 1e-5, "{}", apart.norm_max());
    }

    #[test]
    fn an_empty_matrix_has_zero_singular_values() {
        let svd = Svd::of(&of_table(&vec![vec![0; 20]; 30]), 5, 1).unwrap();
        assert!(svd.sigma.iter().all(|sigma| *sigma < 1e-12));
        assert!(svd.u.norm_max() < 1e-12);
    }
}
