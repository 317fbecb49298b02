//! Which arms lie above a line in (dot, norm): the first test of pruning, which most arms fail.
//!
//! A sum is rounded once where there are fused instructions and twice elsewhere; whoever draws the line leaves room for
//! either.

use super::{Kernel, Path};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _CMP_GE_OQ, _CMP_LE_OQ, _CMP_NLE_UQ, _mm256_andnot_ps, _mm256_cmp_ps, _mm256_fmadd_ps, _mm256_loadu_ps,
    _mm256_movemask_ps, _mm256_or_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm512_abs_ps, _mm512_cmp_ps_mask,
    _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps,
};

/// Sums that are compared before the places of the large ones are written down.
const WORD: usize = 64;

/// Sums of two lists, one of them multiplied, and what they must reach.
#[derive(Clone, Copy)]
struct Line<'a> {
    dots: &'a [f32],
    norms: &'a [f32],
    slope: f32,
    floor: f32,
}

impl Kernel {
    /// Adds the places at which dots + slope norms is at least the floor. False if one of these sums is not finite.
    ///
    /// # Panics
    /// If there are not as many norms as dots.
    pub(crate) fn places_above(
        self,
        dots: &[f32],
        norms: &[f32],
        (slope, floor): (f32, f32),
        places: &mut Vec<usize>,
    ) -> bool {
        assert_eq!(dots.len(), norms.len(), "a norm for each dot");
        let mut fine = true;
        for (word, (dots, norms)) in dots.chunks(WORD).zip(norms.chunks(WORD)).enumerate() {
            let line = Line { dots, norms, slope, floor };
            let (mut bits, finite) = match self.0 {
                // SAFETY: the path is one that the processor has.
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => unsafe { line.avx512() },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => unsafe { line.avx2() },
                Path::Portable => line.plain(),
            };
            fine &= finite;
            while bits != 0 {
                places.push(word * WORD + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        fine
    }
}

impl Line<'_> {
    /// A bit for each of at most 64 sums, and whether all are finite.
    #[inline(always)]
    fn plain(self) -> (u64, bool) {
        let (mut bits, mut fine) = (0, true);
        for (place, (dot, norm)) in self.dots.iter().zip(self.norms).enumerate() {
            let sum = dot + self.slope * norm;
            bits |= u64::from(sum >= self.floor) << place;
            fine &= sum.is_finite();
        }
        (bits, fine)
    }

    /// What is left after registers of so many lanes, added to what these have found.
    #[inline(always)]
    fn with_rest(self, lanes: usize, bits: u64, fine: bool) -> (u64, bool) {
        let whole = self.dots.len() / lanes * lanes;
        if whole == self.dots.len() {
            return (bits, fine);
        }
        let (rest, finite) = Self { dots: &self.dots[whole..], norms: &self.norms[whole..], ..self }.plain();
        (bits | rest << whole, fine & finite)
    }

    /// # Safety
    /// The processor has AVX-512F.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512(self) -> (u64, bool) {
        let (slope, floor) = (_mm512_set1_ps(self.slope), _mm512_set1_ps(self.floor));
        let most = _mm512_set1_ps(f32::MAX);
        let (mut bits, mut fine) = (0, u16::MAX);
        let parts = self.dots.as_chunks::<16>().0.iter().zip(self.norms.as_chunks::<16>().0);
        for (place, (dots, norms)) in parts.enumerate() {
            // SAFETY: both pointers are to sixteen numbers.
            let (dots, norms) = unsafe { (_mm512_loadu_ps(dots.as_ptr()), _mm512_loadu_ps(norms.as_ptr())) };
            let sum = _mm512_fmadd_ps(slope, norms, dots);
            bits |= u64::from(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(sum, floor)) << (16 * place);
            fine &= _mm512_cmp_ps_mask::<_CMP_LE_OQ>(_mm512_abs_ps(sum), most);
        }
        self.with_rest(16, bits, fine == u16::MAX)
    }

    /// # Safety
    /// The processor has AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2(self) -> (u64, bool) {
        let (slope, floor) = (_mm256_set1_ps(self.slope), _mm256_set1_ps(self.floor));
        let (sign, most) = (_mm256_set1_ps(-0.0), _mm256_set1_ps(f32::MAX));
        let (mut bits, mut bad) = (0, _mm256_setzero_ps());
        let parts = self.dots.as_chunks::<8>().0.iter().zip(self.norms.as_chunks::<8>().0);
        for (place, (dots, norms)) in parts.enumerate() {
            // SAFETY: both pointers are to eight numbers.
            let (dots, norms) = unsafe { (_mm256_loadu_ps(dots.as_ptr()), _mm256_loadu_ps(norms.as_ptr())) };
            let sum = _mm256_fmadd_ps(slope, norms, dots);
            let above = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(sum, floor)).cast_unsigned();
            bits |= u64::from(above) << (8 * place);
            bad = _mm256_or_ps(bad, _mm256_cmp_ps::<_CMP_NLE_UQ>(_mm256_andnot_ps(sign, sum), most));
        }
        self.with_rest(8, bits, _mm256_movemask_ps(bad) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_finds_the_places_of_plain_sums() {
        let pick = |place: usize, step: usize| (place * step % 97) as f32 / 97.0 - 0.5;
        for (kernel, n) in Kernel::all().into_iter().flat_map(|kernel| [0, 1, 15, 63, 64, 200].map(|n| (kernel, n))) {
            let dots: Vec<f32> = (0..n).map(|place| pick(place, 31)).collect();
            let mut norms: Vec<f32> = (0..n).map(|place| pick(place, 17).abs()).collect();
            for (slope, floor) in [(0.0, 0.1), (2.0, 0.3), (-1.0, -0.2), (1.0, f32::NEG_INFINITY)] {
                let mut places = Vec::new();
                assert!(kernel.places_above(&dots, &norms, (slope, floor), &mut places));
                // No sum of these numbers lies so close to a floor that rounding once or twice would matter.
                let plain = |place: &usize| f64::from(dots[*place]) + f64::from(slope) * f64::from(norms[*place]);
                let expected: Vec<usize> = (0..n).filter(|place| plain(place) >= f64::from(floor)).collect();
                assert_eq!(places, expected, "{kernel:?} {n} {slope} {floor}");
            }
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                for place in [0, n / 2, n.saturating_sub(1)].into_iter().filter(|_| n > 0) {
                    let fine = std::mem::replace(&mut norms[place], bad);
                    assert!(!kernel.places_above(&dots, &norms, (1.0, 0.0), &mut Vec::new()), "{kernel:?} {n} {bad}");
                    norms[place] = fine;
                }
            }
        }
    }
}
