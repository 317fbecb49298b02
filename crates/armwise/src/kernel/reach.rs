//! Which numbers reach their floors, one bit each: the inner loop of pruning by given scores.
//!
//! The answer is a bit per number because few numbers are kept: a caller that walks along the set bits does work only
//! for those.

use super::{Kernel, Path};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _CMP_GE_OQ, _CMP_NLT_UQ, _MM_HINT_T0, _mm_prefetch, _mm256_cmp_pd, _mm256_loadu_pd, _mm256_movemask_pd,
    _mm256_or_pd, _mm256_set1_pd, _mm256_setzero_pd, _mm512_cmp_pd_mask, _mm512_loadu_pd, _mm512_set1_pd,
};

/// How many numbers make a byte of the answer.
pub(crate) const EIGHT: usize = 8;

impl Kernel {
    /// Sets a bit for each number at or above its floor; the first number has the lowest bit of the first byte. The
    /// floors are repeated for as long as there are numbers. Meanwhile `ahead`, which will be read soon, is prefetched.
    /// False if a number is NaN or +infinity.
    ///
    /// # Panics
    /// Unless numbers and floors come in eights and there is a byte for each eight numbers.
    pub(crate) fn reach(self, numbers: &[f64], floors: &[f64], ahead: &[f64], bits: &mut [u8]) -> bool {
        let ((numbers, rest), (floors, more)) = (numbers.as_chunks(), floors.as_chunks());
        let eights = rest.is_empty() && more.is_empty() && !floors.is_empty() && numbers.len() == bits.len();
        assert!(eights, "numbers and floors in eights");
        match self.0 {
            // SAFETY: the path is one that the processor has.
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => unsafe { avx512(numbers, floors, ahead, bits) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => unsafe { avx2(numbers, floors, ahead, bits) },
            Path::Portable => portable(numbers, floors, bits),
        }
    }
}

fn portable(numbers: &[[f64; EIGHT]], floors: &[[f64; EIGHT]], bits: &mut [u8]) -> bool {
    let mut fine = true;
    for (numbers, bits) in numbers.chunks(floors.len()).zip(bits.chunks_mut(floors.len())) {
        for ((numbers, floors), bits) in numbers.iter().zip(floors).zip(bits) {
            *bits = (0..EIGHT).fold(0, |bits, lane| bits | u8::from(numbers[lane] >= floors[lane]) << lane);
            fine &= numbers.iter().all(|&number| number < f64::INFINITY);
        }
    }
    fine
}

/// # Safety
/// The processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(numbers: &[[f64; EIGHT]], floors: &[[f64; EIGHT]], ahead: &[f64], bits: &mut [u8]) -> bool {
    let mut ahead = ahead.iter().step_by(EIGHT);
    let infinity = _mm512_set1_pd(f64::INFINITY);
    let mut bad = 0;
    for (numbers, bits) in numbers.chunks(floors.len()).zip(bits.chunks_mut(floors.len())) {
        for ((numbers, floors), bits) in numbers.iter().zip(floors).zip(bits) {
            // SAFETY: both pointers are to eight numbers.
            let (x, floor) = unsafe { (_mm512_loadu_pd(numbers.as_ptr()), _mm512_loadu_pd(floors.as_ptr())) };
            if let Some(line) = ahead.next() {
                _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
            }
            *bits = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(x, floor);
            bad |= _mm512_cmp_pd_mask::<_CMP_NLT_UQ>(x, infinity);
        }
    }
    bad == 0
}

/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(numbers: &[[f64; EIGHT]], floors: &[[f64; EIGHT]], ahead: &[f64], bits: &mut [u8]) -> bool {
    let mut ahead = ahead.iter().step_by(EIGHT);
    let infinity = _mm256_set1_pd(f64::INFINITY);
    let mut bad = _mm256_setzero_pd();
    for (numbers, bits) in numbers.chunks(floors.len()).zip(bits.chunks_mut(floors.len())) {
        for ((numbers, floors), bits) in numbers.iter().zip(floors).zip(bits) {
            if let Some(line) = ahead.next() {
                _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
            }
            *bits = 0;
            for half in [0, EIGHT / 2] {
                // SAFETY: from either half of the eight numbers on there are four.
                let (x, floor) = unsafe {
                    (_mm256_loadu_pd(numbers.as_ptr().add(half)), _mm256_loadu_pd(floors.as_ptr().add(half)))
                };
                *bits |= (_mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(x, floor)).cast_unsigned() as u8) << half;
                bad = _mm256_or_pd(bad, _mm256_cmp_pd::<_CMP_NLT_UQ>(x, infinity));
            }
        }
    }
    _mm256_movemask_pd(bad) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_sets_the_bits_of_plain_comparisons() {
        let odd = [0.0, -0.0, 1.0, -1.0, f64::MIN, f64::MAX, f64::NEG_INFINITY, f64::MIN_POSITIVE];
        let worse = [f64::NAN, f64::INFINITY];
        let pick = |all: &[f64], count: usize, step: usize| -> Vec<f64> {
            (0..count).map(|place| all[(place * step + place / 7) % all.len()]).collect()
        };
        for (kernel, tile) in Kernel::all().into_iter().flat_map(|kernel| [(kernel, 8), (kernel, 40)]) {
            let floors = pick(&odd[..6], tile, 5);
            for eights in 0..30 {
                let mut numbers = pick(&odd, EIGHT * eights, 3);
                for bad in [None, Some(0), Some(1)] {
                    if let (Some(bad), false) = (bad, numbers.is_empty()) {
                        let place = eights * 5 % numbers.len();
                        numbers[place] = worse[bad];
                    }
                    let mut bits = vec![0xAA; eights];
                    let fine = kernel.reach(&numbers, &floors, &floors, &mut bits);
                    assert_eq!(fine, numbers.iter().all(|number| *number < f64::INFINITY));
                    for (place, number) in numbers.iter().enumerate() {
                        let bit = bits[place / EIGHT] >> (place % EIGHT) & 1 == 1;
                        assert_eq!(bit, *number >= floors[place % tile], "{kernel:?} {place}");
                    }
                }
            }
        }
    }
}
