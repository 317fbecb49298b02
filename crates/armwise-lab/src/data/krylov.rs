//! An orthonormal basis that grows by blocks.
//!
//! Every new block is orthogonalised against the whole basis, twice. That costs little beside
//! the sparse products and keeps the basis orthonormal to rounding, so no singular value ever shows up twice.

use armwise::Draws;
use faer::{Accum, Mat, MatMut, MatRef, Par, linalg::matmul::matmul};

use super::blocks::{BLOCK, Block};

/// A column whose norm falls below this share of the largest norm so far consists of rounding errors only.
const NEGLIGIBLE: f64 = 1e-12;

/// Orthonormal columns.
pub(crate) struct Basis {
    columns: Mat<f64>,
    largest: f64,
    draws: Draws,
    drawn: u64,
}

/// A block as combination of basis columns: `block = basis * inside + new columns * outside`.
pub(crate) struct Coefficients {
    pub(crate) inside: Mat<f64>,
    pub(crate) outside: Mat<f64>,
}

impl Basis {
    /// An empty basis of columns of this height; `draws` gives the directions that nothing else gives.
    pub(crate) fn new(height: usize, draws: Draws) -> Self {
        Self { columns: Mat::zeros(height, 0), largest: 0.0, draws, drawn: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.ncols()
    }

    pub(crate) fn columns(&self) -> MatRef<'_, f64> {
        self.columns.as_ref()
    }

    /// The columns from `first` on, at most a block of them, zeros where there are fewer.
    pub(crate) fn block(&self, first: usize) -> Block {
        let count = (self.len() - first).min(BLOCK);
        let row = |row: usize| std::array::from_fn(|n| if n < count { self.columns[(row, first + n)] } else { 0.0 });
        (0..self.columns.nrows()).map(row).collect()
    }

    /// A block of random directions.
    pub(crate) fn random(&mut self) -> Block {
        (0..self.columns.nrows()).map(|_| std::array::from_fn(|_| self.draw())).collect()
    }

    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        self.draws.normal(self.drawn)
    }

    /// Adds the directions of a block's first `used` columns, as far as there is room for new ones.
    ///
    /// Where a column brings no new direction, a random one takes its place, with coefficient 0.
    pub(crate) fn extend(&mut self, block: &Block, used: usize) -> Coefficients {
        let (height, old) = (self.columns.nrows(), self.len());
        let added = used.min(height - old);
        let mut fresh = Mat::from_fn(height, used, |row, column| block[row][column]);
        let mut inside = project(self.columns.as_ref(), fresh.as_mut());
        inside += project(self.columns.as_ref(), fresh.as_mut());
        let mut outside = Mat::zeros(added, used);
        self.columns.resize_with(height, old + added, |_, _| 0.0);
        for n in 0..added {
            let norm = fresh.col(n).norm_l2();
            self.largest = self.largest.max(norm);
            for _ in 0..2 {
                let own = project(self.columns.subcols(old, n), fresh.subcols_mut(n, 1));
                for m in 0..n {
                    outside[(m, n)] += own[(m, 0)];
                }
            }
            let mut norm = fresh.col(n).norm_l2();
            if norm > NEGLIGIBLE * self.largest {
                outside[(n, n)] = norm;
                // The small remainder may no longer be orthogonal to the old columns.
                project(self.columns.subcols(0, old + n), fresh.subcols_mut(n, 1));
                norm = fresh.col(n).norm_l2();
            } else {
                norm = self.replace(fresh.subcols_mut(n, 1), old + n);
            }
            for row in 0..height {
                self.columns[(row, old + n)] = fresh[(row, n)] / norm;
            }
        }
        Coefficients { inside, outside }
    }

    /// Fills a column with a random direction orthogonal to the first `count` of the basis; returns its norm.
    fn replace(&mut self, mut column: MatMut<'_, f64>, count: usize) -> f64 {
        for row in 0..column.nrows() {
            column[(row, 0)] = self.draw();
        }
        for _ in 0..3 {
            project(self.columns.subcols(0, count), column.as_mut());
        }
        column.as_ref().col(0).norm_l2()
    }
}

/// Subtracts from `block` its part along `basis`; returns the coefficients of that part.
fn project(basis: MatRef<'_, f64>, mut block: MatMut<'_, f64>) -> Mat<f64> {
    let mut inside = Mat::zeros(basis.ncols(), block.ncols());
    matmul(&mut inside, Accum::Replace, basis.transpose(), block.as_ref(), 1.0, Par::Seq);
    matmul(block.as_mut(), Accum::Add, basis, &inside, -1.0, Par::Seq);
    inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use armwise::{Round, Stream};

    fn draws() -> Draws {
        Round::new(1, 0).draws(0, Stream(999))
    }

    #[test]
    fn the_basis_is_orthonormal_and_gives_the_block_back() {
        let mut basis = Basis::new(60, draws());
        let mut first = basis.random();
        for row in &mut first {
            row[5] = row[4];
            row[6] = 0.0;
        }
        basis.extend(&first, BLOCK);
        let second = basis.random();
        let Coefficients { inside, outside } = basis.extend(&second, BLOCK);
        let q = basis.columns();
        let gram = q.transpose() * q;
        let back = q.subcols(0, BLOCK) * &inside + q.subcols(BLOCK, BLOCK) * &outside;
        for row in 0..60 {
            for column in 0..BLOCK {
                assert!((back[(row, column)] - second[row][column]).abs() < 1e-12);
            }
        }
        for i in 0..basis.len() {
            for j in 0..basis.len() {
                assert!((gram[(i, j)] - f64::from(u8::from(i == j))).abs() < 1e-13, "{i} {j}");
            }
        }
    }

    #[test]
    fn the_basis_ends_with_the_space() {
        let mut basis = Basis::new(20, draws());
        for expected in [16, 20, 20] {
            let block = basis.random();
            basis.extend(&block, BLOCK);
            assert_eq!(basis.len(), expected);
        }
        let gram = basis.columns().transpose() * basis.columns();
        assert!((0..20).all(|i| (gram[(i, i)] - 1.0).abs() < 1e-13));
    }
}
