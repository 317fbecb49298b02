//! Products of the sparse rating matrix with a block of 16 dense columns: where the decomposition spends its time.
//!
//! Each row of the product is one sum in the order of the row's entries, made by one thread.
//! So the bits are the same on any number of threads, and the transposed product is a product with the transpose.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::sparse::Sparse;

/// Columns of a block: two cache lines for each gathered row.
pub(crate) const BLOCK: usize = 16;
/// Rows per task.
const CHUNK: usize = 64;

/// A dense matrix of 16 columns, by rows.
pub(crate) type Block = Vec<[f64; BLOCK]>;

/// `matrix * dense`, ratings in stars.
pub(crate) fn product(matrix: &Sparse, dense: &[[f64; BLOCK]]) -> Block {
    assert_eq!(matrix.width(), dense.len(), "the inner dimensions of a product are equal");
    let arch = Arch::new();
    let mut out = vec![[0.0; BLOCK]; matrix.height()];
    out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
        arch.dispatch(Task { matrix, dense, first: chunk * CHUNK, out });
    });
    out
}

/// Rows of a product. This is a type and not a closure, because a closure given to `dispatch` might not be inlined, and
/// its body would then be compiled for the smallest instruction set.
struct Task<'t> {
    matrix: &'t Sparse,
    dense: &'t [[f64; BLOCK]],
    first: usize,
    out: &'t mut [[f64; BLOCK]],
}

impl WithSimd for Task<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "must be compiled for the vector width that was found")]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, out) in self.out.iter_mut().enumerate() {
            let (columns, halves) = self.matrix.row(self.first + row);
            *out = row_product(columns, halves, self.dense);
        }
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled for the vector width chosen by the caller")]
fn row_product(columns: &[u32], halves: &[u8], dense: &[[f64; BLOCK]]) -> [f64; BLOCK] {
    let mut sum = [0.0; BLOCK];
    for (&column, &half) in columns.iter().zip(halves) {
        let stars = 0.5 * f64::from(half);
        for (sum, value) in sum.iter_mut().zip(&dense[column as usize]) {
            *sum += stars * value;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sparse::tests::of_table;

    #[test]
    fn agrees_with_the_dense_product() {
        let table: Vec<Vec<u8>> = (0..150)
            .map(|row| (0..20).map(|column| ((row * 7 + column * 5) % 13u32).min(10) as u8).collect())
            .collect();
        let dense: Block =
            (0..20).map(|row| std::array::from_fn(|column| f64::from(row * 3) - column as f64)).collect();
        for (row, product) in product(&of_table(&table), &dense).iter().enumerate() {
            for (column, found) in product.iter().enumerate() {
                let expected: f64 = (0..20).map(|n| f64::from(table[row][n]) / 2.0 * dense[n][column]).sum();
                assert!((found - expected).abs() < 1e-9, "row {row}, column {column}: {found} for {expected}");
            }
        }
    }
}
