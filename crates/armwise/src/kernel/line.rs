//! Which arms lie above a line in (dot, norm): the tests of pruning, which most arms fail.
//!
//! What is known of the arms that pass is written side by side, since all that follows reads only these. A sum is
//! rounded once where there are fused instructions and twice elsewhere; whoever draws the line leaves room for either.

use super::{Kernel, Path};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _CMP_GE_OQ, _CMP_LE_OQ, _CMP_NLE_UQ, _mm_loadl_epi64, _mm256_add_epi32, _mm256_andnot_ps, _mm256_cmp_ps,
    _mm256_cvtepu8_epi32, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_movemask_ps, _mm256_or_ps,
    _mm256_permutevar8x32_epi32, _mm256_permutevar8x32_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setr_epi32,
    _mm256_setzero_ps, _mm256_storeu_ps, _mm256_storeu_si256, _mm512_abs_ps, _mm512_add_epi32, _mm512_cmp_ps_mask,
    _mm512_fmadd_ps, _mm512_loadu_epi32, _mm512_loadu_ps, _mm512_maskz_compress_epi32, _mm512_maskz_compress_ps,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_setr_epi32, _mm512_storeu_epi32, _mm512_storeu_ps,
};

/// The most numbers that a register writes; there is room for so many past the last arm.
const LANES: usize = 16;

/// A few arms of a part: their places in it, dots and norms.
#[derive(Debug, Default)]
pub(crate) struct Few {
    len: usize,
    places: Vec<u32>,
    dots: Vec<f32>,
    norms: Vec<f32>,
}

impl Few {
    /// Their places in the part, ascending.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places[..self.len]
    }

    /// Their rows in the part.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = usize> + Clone {
        self.places().iter().map(|&place| place as usize)
    }

    /// direction . x, arm by arm.
    pub(crate) fn dots(&self) -> &[f32] {
        &self.dots[..self.len]
    }

    /// |x|, arm by arm.
    pub(crate) fn norms(&self) -> &[f32] {
        &self.norms[..self.len]
    }

    /// Takes these rows of a part, no more than it has.
    pub(crate) fn take(&mut self, rows: impl Iterator<Item = usize>, dots: &[f32], norms: &[f32]) {
        self.make_room(dots.len());
        let Self { len, places, dots: own_dots, norms: own_norms } = self;
        let own = places.iter_mut().zip(own_dots).zip(own_norms).take(dots.len());
        for (((place, dot), norm), row) in own.zip(rows) {
            (*place, *dot, *norm) = (row as u32, dots[row], norms[row]);
            *len += 1;
        }
    }

    /// Keeps the rows that pass a test.
    pub(crate) fn retain(&mut self, test: impl Fn(usize) -> bool) {
        let all = std::mem::take(&mut self.len);
        for place in 0..all {
            let (row, dot, norm) = (self.places[place], self.dots[place], self.norms[place]);
            if test(row as usize) {
                self.push(row, dot, norm);
            }
        }
    }

    fn push(&mut self, place: u32, dot: f32, norm: f32) {
        (self.places[self.len], self.dots[self.len], self.norms[self.len]) = (place, dot, norm);
        self.len += 1;
    }

    /// None are left, and there is room for `most`.
    fn make_room(&mut self, most: usize) {
        self.len = 0;
        if self.places.len() < most + LANES {
            self.places.resize(most + LANES, 0);
            self.dots.resize(most + LANES, 0.0);
            self.norms.resize(most + LANES, 0.0);
        }
    }
}

/// What is compared with a floor: dot + slope norm, where the slope is a, or a + b z with an arm's own z.
#[derive(Clone, Copy)]
struct Line<'a> {
    dots: &'a [f32],
    norms: &'a [f32],
    /// Empty where the place of an arm is its number.
    places: &'a [u32],
    /// z, arm by arm; empty where the slope is a.
    rises: &'a [f32],
    slopes: [f32; 2],
    floor: f32,
}

impl Kernel {
    /// Takes the arms of a part at which dot + slope norm is at least the floor. False if one of these sums is not
    /// finite.
    ///
    /// # Panics
    /// If there are not as many norms as dots, or more than 2^31.
    pub(crate) fn above(self, dots: &[f32], norms: &[f32], (slope, floor): (f32, f32), to: &mut Few) -> bool {
        self.take::<false>(Line { dots, norms, places: &[], rises: &[], slopes: [slope, 0.0], floor }, to)
    }

    /// Takes those of a few arms at which dot + (a + b z) norm is at least the floor, z being an arm's own of `rises`.
    /// False if one of these sums is not finite.
    ///
    /// # Panics
    /// If there are not as many rises as arms.
    pub(crate) fn above_rising(self, few: &Few, rises: &[f32], (slopes, floor): ([f32; 2], f32), to: &mut Few) -> bool {
        let (dots, norms, places) = (few.dots(), few.norms(), few.places());
        self.take::<true>(Line { dots, norms, places, rises, slopes, floor }, to)
    }

    fn take<const RISING: bool>(self, line: Line<'_>, to: &mut Few) -> bool {
        let n = line.dots.len();
        assert!(n == line.norms.len() && i32::try_from(n).is_ok(), "a norm for each dot");
        assert!(!RISING || (n == line.places.len() && n == line.rises.len()), "a place and a rise for each dot");
        to.make_room(n);
        let (whole, fine) = match self.0 {
            // SAFETY: the path is one that the processor has; lengths were checked, and there is room for all arms and
            // a register more.
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => unsafe { line.avx512::<RISING>(to) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => unsafe { line.avx2::<RISING>(to) },
            Path::Portable => (0, true),
        };
        line.plain::<RISING>(whole, to) & fine
    }
}

impl Line<'_> {
    /// From this arm on, one by one; whether all sums are finite.
    #[inline(always)]
    fn plain<const RISING: bool>(self, from: usize, to: &mut Few) -> bool {
        let mut fine = true;
        for place in from..self.dots.len() {
            let [a, b] = self.slopes;
            let slope = if RISING { a + b * self.rises[place] } else { a };
            let sum = self.dots[place] + slope * self.norms[place];
            fine &= sum.is_finite();
            if sum >= self.floor {
                let own = if RISING { self.places[place] } else { place as u32 };
                to.push(own, self.dots[place], self.norms[place]);
            }
        }
        fine
    }

    /// Registers as far as they are whole: how many arms that were, and whether all sums are finite.
    ///
    /// # Safety
    /// The processor has AVX-512F; where `RISING`, there are as many places and rises as dots and norms; `to` has room for
    /// all of them and a register more.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512<const RISING: bool>(self, to: &mut Few) -> (usize, bool) {
        let ([a, b], floor) = (self.slopes.map(|slope| _mm512_set1_ps(slope)), _mm512_set1_ps(self.floor));
        let most = _mm512_set1_ps(f32::MAX);
        let numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let (mut fine, mut len) = (u16::MAX, to.len);
        let whole = self.dots.len() / LANES * LANES;
        for first in (0..whole).step_by(LANES) {
            // SAFETY: from each multiple of the lanes below `whole` on there are as many numbers as lanes, in `to` beyond
            // the arms seen so far as well.
            unsafe {
                let (dots, norms) =
                    (_mm512_loadu_ps(self.dots.as_ptr().add(first)), _mm512_loadu_ps(self.norms.as_ptr().add(first)));
                let slope =
                    if RISING { _mm512_fmadd_ps(b, _mm512_loadu_ps(self.rises.as_ptr().add(first)), a) } else { a };
                let sum = _mm512_fmadd_ps(slope, norms, dots);
                let above = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(sum, floor);
                fine &= _mm512_cmp_ps_mask::<_CMP_LE_OQ>(_mm512_abs_ps(sum), most);
                if above == 0 {
                    continue;
                }
                let places = if RISING {
                    _mm512_loadu_epi32(self.places.as_ptr().add(first).cast())
                } else {
                    _mm512_add_epi32(numbers, _mm512_set1_epi32((first as u32).cast_signed()))
                };
                let places = _mm512_maskz_compress_epi32(above, places);
                _mm512_storeu_epi32(to.places.as_mut_ptr().add(len).cast(), places);
                _mm512_storeu_ps(to.dots.as_mut_ptr().add(len), _mm512_maskz_compress_ps(above, dots));
                _mm512_storeu_ps(to.norms.as_mut_ptr().add(len), _mm512_maskz_compress_ps(above, norms));
                len += above.count_ones() as usize;
            }
        }
        to.len = len;
        (whole, fine == u16::MAX)
    }

    /// As [`avx512`](Self::avx512).
    ///
    /// # Safety
    /// As there, with AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<const RISING: bool>(self, to: &mut Few) -> (usize, bool) {
        let ([a, b], floor) = (self.slopes.map(|slope| _mm256_set1_ps(slope)), _mm256_set1_ps(self.floor));
        let (sign, most) = (_mm256_set1_ps(-0.0), _mm256_set1_ps(f32::MAX));
        let numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let (mut bad, mut len) = (_mm256_setzero_ps(), to.len);
        let whole = self.dots.len() / 8 * 8;
        for first in (0..whole).step_by(8) {
            // SAFETY: as with AVX-512.
            unsafe {
                let (dots, norms) =
                    (_mm256_loadu_ps(self.dots.as_ptr().add(first)), _mm256_loadu_ps(self.norms.as_ptr().add(first)));
                let slope =
                    if RISING { _mm256_fmadd_ps(b, _mm256_loadu_ps(self.rises.as_ptr().add(first)), a) } else { a };
                let sum = _mm256_fmadd_ps(slope, norms, dots);
                let above = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(sum, floor)).cast_unsigned() as usize;
                bad = _mm256_or_ps(bad, _mm256_cmp_ps::<_CMP_NLE_UQ>(_mm256_andnot_ps(sign, sum), most));
                if above == 0 {
                    continue;
                }
                let places = if RISING {
                    _mm256_loadu_si256(self.places.as_ptr().add(first).cast())
                } else {
                    _mm256_add_epi32(numbers, _mm256_set1_epi32((first as u32).cast_signed()))
                };
                let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(SET_LANES[above].as_ptr().cast()));
                let places = _mm256_permutevar8x32_epi32(places, order);
                _mm256_storeu_si256(to.places.as_mut_ptr().add(len).cast(), places);
                _mm256_storeu_ps(to.dots.as_mut_ptr().add(len), _mm256_permutevar8x32_ps(dots, order));
                _mm256_storeu_ps(to.norms.as_mut_ptr().add(len), _mm256_permutevar8x32_ps(norms, order));
                len += above.count_ones() as usize;
            }
        }
        to.len = len;
        (whole, _mm256_movemask_ps(bad) == 0)
    }
}

/// For each byte, the numbers of its bits that are set, ascending.
#[cfg(target_arch = "x86_64")]
static SET_LANES: [[u8; 8]; 256] = {
    let (mut all, mut byte) = ([[0; 8]; 256], 0);
    while byte < 256 {
        let (mut bit, mut found) = (0_u8, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                all[byte][found] = bit;
                found += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(place: usize, step: usize) -> f32 {
        (place * step % 97) as f32 / 97.0 - 0.5
    }

    /// No sum of these numbers lies so close to a floor that rounding once or twice would matter.
    #[test]
    fn every_path_takes_the_arms_of_plain_sums() {
        for (kernel, n) in Kernel::all().into_iter().flat_map(|kernel| [0, 1, 15, 63, 64, 200].map(|n| (kernel, n))) {
            let dots: Vec<f32> = (0..n).map(|place| pick(place, 31)).collect();
            let norms: Vec<f32> = (0..n).map(|place| pick(place, 17).abs()).collect();
            let rises: Vec<f32> = (0..n).map(|place| pick(place, 57).abs()).collect();
            let (mut few, mut fewer) = (Few::default(), Few::default());
            for (slope, floor) in [(0.0, 0.1), (2.0, 0.3), (-1.0, -0.2), (1.0, f32::NEG_INFINITY)] {
                assert!(kernel.above(&dots, &norms, (slope, floor), &mut few));
                let sum = |place: usize, slope: f64| f64::from(dots[place]) + slope * f64::from(norms[place]);
                let reaches = |place: &usize| sum(*place, f64::from(slope)) >= f64::from(floor);
                let expected: Vec<usize> = (0..n).filter(reaches).collect();
                assert_eq!(few.rows().collect::<Vec<_>>(), expected, "{kernel:?} {n} {slope} {floor}");
                let own: Vec<f32> = few.rows().map(|row| rises[row]).collect();
                assert!(kernel.above_rising(&few, &own, ([slope, 0.7], 0.35), &mut fewer));
                let rising = |place: &usize| sum(*place, f64::from(slope) + 0.7 * f64::from(rises[*place])) >= 0.35;
                let expected: Vec<usize> = expected.into_iter().filter(rising).collect();
                assert_eq!(fewer.rows().collect::<Vec<_>>(), expected, "{kernel:?} {n} {slope} {floor}, rising");
                let known = fewer.rows().zip(fewer.dots().iter().zip(fewer.norms()));
                assert!(known.into_iter().all(|(row, found)| found == (&dots[row], &norms[row])));
            }
        }
    }

    #[test]
    fn a_sum_that_is_not_finite_is_told_wherever_it_stands() {
        for (kernel, n) in Kernel::all().into_iter().flat_map(|kernel| [1, 15, 63, 64, 200].map(|n| (kernel, n))) {
            for (bad, place) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY]
                .into_iter()
                .flat_map(|bad| [(bad, 0), (bad, n / 2), (bad, n - 1)])
            {
                let (mut norms, mut few) = (vec![0.25; n], Few::default());
                let (dots, zeros) = (vec![0.5; n], vec![0.0; n]);
                assert!(kernel.above(&dots, &norms, (1.0, 0.0), &mut few), "{kernel:?} {n}");
                let mut rises = zeros.clone();
                rises[place] = bad;
                let rising = ([1.0, 1.0], 0.0);
                assert!(!kernel.above_rising(&few, &rises, rising, &mut Few::default()), "{kernel:?} {n} {bad}");
                norms[place] = bad;
                assert!(!kernel.above(&dots, &norms, (1.0, 0.0), &mut few), "{kernel:?} {n} {bad}");
            }
        }
    }

    #[test]
    fn rows_that_fail_a_test_are_left_out() {
        let numbers: Vec<f32> = (0..40).map(|place| pick(place, 31)).collect();
        let mut few = Few::default();
        few.take(0..40, &numbers, &numbers);
        few.retain(|row| row % 3 == 0);
        assert!(few.rows().eq((0..40).step_by(3)));
        assert!(few.rows().zip(few.dots()).all(|(row, dot)| dot.to_bits() == numbers[row].to_bits()));
    }
}
