//! Sums of products of rows of bytes with numbers of 16 bits: the inner loop of coarse features.
//!
//! All arithmetic is in whole numbers, so every path gives the same sums. The caller sees to it that none overflows.

use super::{Kernel, LINE, Path};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _MM_HINT_T0, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_prefetch, _mm_shuffle_epi32, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_setzero_si256,
};

/// How many rows a caller should say `ahead`: about as many as are multiplied while memory answers.
pub(crate) const AHEAD: usize = 32;
/// Bytes that are multiplied at a time: the length of a row is a multiple of it.
pub(crate) const BYTES: usize = 32;
const HALF: usize = BYTES / 2;

impl Kernel {
    /// Writes the sum of products of each of these rows, in their order. With each row one of those `ahead`, which will
    /// be read soon, is prefetched.
    ///
    /// # Panics
    /// If a row is not there, or if there is no whole number of [`BYTES`] factors.
    pub(crate) fn byte_sums(
        self,
        bytes: &[i8],
        factors: &[i16],
        rows: impl ExactSizeIterator<Item = usize>,
        ahead: impl Iterator<Item = usize>,
        sums: &mut Vec<i32>,
    ) {
        let (factors, rest) = factors.as_chunks();
        assert!(rest.is_empty(), "whole registers");
        sums.resize(rows.len(), 0);
        match self.0 {
            // SAFETY: the path is one that the processor has, and processors with AVX-512 have AVX2.
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 | Path::Avx2 => unsafe { avx2(bytes, factors, rows, ahead, sums) },
            Path::Portable => portable(bytes, factors, rows, sums),
        }
    }
}

fn row_of(bytes: &[i8], row: usize, length: usize) -> &[[i8; BYTES]] {
    bytes[row * length * BYTES..(row + 1) * length * BYTES].as_chunks().0
}

fn portable(bytes: &[i8], factors: &[[i16; BYTES]], rows: impl Iterator<Item = usize>, sums: &mut [i32]) {
    for (row, sum) in rows.zip(sums) {
        let row = row_of(bytes, row, factors.len()).iter().flatten();
        *sum = row.zip(factors.iter().flatten()).map(|(&byte, &factor)| i32::from(byte) * i32::from(factor)).sum();
    }
}

/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(
    bytes: &[i8],
    factors: &[[i16; BYTES]],
    rows: impl Iterator<Item = usize>,
    mut ahead: impl Iterator<Item = usize>,
    sums: &mut [i32],
) {
    let length = factors.len() * BYTES;
    for (row, to) in rows.zip(sums) {
        if let Some(soon) = ahead.next().and_then(|row| bytes.get(row * length..(row + 1) * length)) {
            for line in soon.chunks(LINE) {
                _mm_prefetch::<_MM_HINT_T0>(line.as_ptr());
            }
        }
        let mut sums = [_mm256_setzero_si256(); 2];
        for (bytes, factors) in row_of(bytes, row, factors.len()).iter().zip(factors) {
            for half in 0..2 {
                let (bytes, factors) = (&bytes[half * HALF..][..HALF], &factors[half * HALF..][..HALF]);
                // SAFETY: the pointers are to sixteen numbers.
                let (bytes, factors) =
                    unsafe { (_mm_loadu_si128(bytes.as_ptr().cast()), _mm256_loadu_si256(factors.as_ptr().cast())) };
                let products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), factors);
                sums[half] = _mm256_add_epi32(sums[half], products);
            }
        }
        let eight = _mm256_add_epi32(sums[0], sums[1]);
        let four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
        *to = _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b01>(two)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_gives_the_same_sums() {
        for (kernel, length) in Kernel::all().into_iter().flat_map(|kernel| [32, 64, 160].map(|n| (kernel, n))) {
            let bytes: Vec<i8> = (0..5 * length).map(|place| (place * 89 % 255) as i8).collect();
            let factors: Vec<i16> = (0..length).map(|place| ((place * 31_337 % 65_536) as u16).cast_signed()).collect();
            let rows = [4, 0, 1, 1, 3];
            let mut found = vec![7; 9];
            kernel.byte_sums(&bytes, &factors, rows.into_iter(), 3..9, &mut found);
            let product = |row: usize, place: usize| i64::from(bytes[row * length + place]) * i64::from(factors[place]);
            let expected = rows.map(|row| (0..length).map(|place| product(row, place)).sum::<i64>());
            assert_eq!(found.iter().map(|&sum| i64::from(sum)).collect::<Vec<_>>(), expected, "{kernel:?} {length}");
        }
    }
}
