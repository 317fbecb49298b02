//! Which words are small, by their places: how the few draws in the tails are found among many.
//!
//! A word is compared without its last bit, so that the comparison of signed numbers, which is all that AVX2 has, serves.

use super::{Kernel, Path};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm256_castsi256_pd, _mm256_cmpgt_epi64, _mm256_loadu_si256, _mm256_movemask_pd, _mm256_set1_epi64x,
    _mm256_srli_epi64, _mm512_cmplt_epu64_mask, _mm512_loadu_epi64, _mm512_set1_epi64, _mm512_srli_epi64,
};

/// Words that are compared before the places of the small ones are written down.
const PART: usize = 64;

impl Kernel {
    /// Writes down the places of the words with word / 2 < `limit`, ascending; how many there are.
    ///
    /// # Panics
    /// If there are more than 2^16 words, fewer places than words, or if the limit is 2^63 or more.
    pub(crate) fn places_below(self, words: &[u64], limit: u64, places: &mut [u16]) -> usize {
        assert!(words.len() <= 1 << 16 && words.len() <= places.len() && limit < 1 << 63, "a place for each word");
        let mut count = 0;
        for (first, part) in (0_u16..).step_by(PART).zip(words.chunks(PART)) {
            let mut bits = match self.0 {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the path is one that the processor has.
                Path::Avx512 => unsafe { avx512(part, limit) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Path::Avx2 => unsafe { avx2(part, limit) },
                Path::Portable => plain(part, limit),
            };
            while bits != 0 {
                places[count] = first + bits.trailing_zeros() as u16;
                count += 1;
                bits &= bits - 1;
            }
        }
        count
    }
}

/// A bit for each of at most 64 words.
fn plain(words: &[u64], limit: u64) -> u64 {
    words.iter().rev().fold(0, |bits, word| bits << 1 | u64::from(word >> 1 < limit))
}

/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(words: &[u64], limit: u64) -> u64 {
    let (fours, rest) = words.as_chunks::<4>();
    let wide = _mm256_set1_epi64x(limit.cast_signed());
    let mut bits = if rest.is_empty() { 0 } else { plain(rest, limit) << (4 * fours.len()) };
    for (place, four) in fours.iter().enumerate() {
        // SAFETY: there are four words.
        let words = _mm256_srli_epi64::<1>(unsafe { _mm256_loadu_si256(four.as_ptr().cast()) });
        let below = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(wide, words)));
        bits |= u64::from(below.cast_unsigned()) << (4 * place);
    }
    bits
}

/// # Safety
/// The processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(words: &[u64], limit: u64) -> u64 {
    let (eights, rest) = words.as_chunks::<8>();
    let wide = _mm512_set1_epi64(limit.cast_signed());
    let mut bits = if rest.is_empty() { 0 } else { plain(rest, limit) << (8 * eights.len()) };
    for (place, eight) in eights.iter().enumerate() {
        // SAFETY: there are eight words.
        let words = _mm512_srli_epi64::<1>(unsafe { _mm512_loadu_epi64(eight.as_ptr().cast()) });
        bits |= u64::from(_mm512_cmplt_epu64_mask(words, wide)) << (8 * place);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_finds_the_places_of_plain_comparisons() {
        let limit = 0x1333_3333_3333_3333;
        let odd = [0, 1, u64::MAX, 2 * limit - 1, 2 * limit, 2 * limit + 1, 1 << 63, limit, 3 * limit];
        for (kernel, count) in Kernel::all().into_iter().flat_map(|kernel| (0..200).map(move |count| (kernel, count))) {
            let words: Vec<u64> = (0..count).map(|place| odd[(place * 5 + place / 7) % odd.len()]).collect();
            let expected: Vec<u16> =
                (0..).zip(&words).filter(|(_, word)| **word >> 1 < limit).map(|(p, _)| p).collect();
            let mut places = vec![0; count];
            let found = kernel.places_below(&words, limit, &mut places);
            assert_eq!(places[..found], expected, "{kernel:?}, {count}");
        }
    }
}
