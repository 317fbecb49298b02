//! The vector registers of x86-64.
//!
//! Rows become lanes by putting pieces of rows side by side as they are loaded and transposing
//! within small parts, which takes fewer shuffles than the textbook transposition.

use super::vector::Vector;
#[allow(clippy::wildcard_imports, reason = "forty names that say where they come from themselves")]
use std::arch::x86_64::*;

/// Every method is one or a few instructions whose requirements are those of the trait's contract.
macro_rules! vector {
    ($V:ty, $T:ty, $LANES:literal, $CHUNK:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $mul:ident, $add:ident, $sqrt:ident, $sum:path, $sums:path, $four:path, $transpose:item $(, $widened:item)?) => {
        impl Vector for $V {
            type T = $T;
            const LANES: usize = $LANES;
            const CHUNK: usize = $CHUNK;

            #[inline(always)]
            unsafe fn splat(value: $T) -> Self {
                // SAFETY: the trait's contract.
                unsafe { $splat(value) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $T) -> Self {
                // SAFETY: the trait's contract; the instruction takes any alignment.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $T) {
                // SAFETY: the trait's contract; the instruction takes any alignment.
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            unsafe fn times_plus(self, b: Self, c: Self) -> Self {
                // SAFETY: the trait's contract.
                unsafe { $fma(self, b, c) }
            }

            #[inline(always)]
            unsafe fn times(self, b: Self) -> Self {
                // SAFETY: the trait's contract.
                unsafe { $mul(self, b) }
            }

            #[inline(always)]
            unsafe fn plus(self, b: Self) -> Self {
                // SAFETY: the trait's contract.
                unsafe { $add(self, b) }
            }

            #[inline(always)]
            unsafe fn sqrt(self) -> Self {
                // SAFETY: the trait's contract.
                unsafe { $sqrt(self) }
            }

            #[inline(always)]
            unsafe fn sum(self) -> $T {
                // SAFETY: the trait's contract.
                unsafe { $sum(self) }
            }

            #[inline(always)]
            unsafe fn sums(of: [Self; 4], to: *mut f32) {
                // SAFETY: the trait's contract.
                unsafe { $sums(of, to) }
            }

            #[inline(always)]
            unsafe fn four(from: *const $T, stride: usize) -> [Self; 4] {
                // SAFETY: the trait's contract.
                unsafe { $four(from, stride) }
            }

            #[inline(always)]
            $transpose

            $(
                #[inline(always)]
                $widened
            )?
        }
    };
}

vector!(
    __m512d,
    f64,
    8,
    2,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_fmadd_pd,
    _mm512_mul_pd,
    _mm512_add_pd,
    _mm512_sqrt_pd,
    _mm512_reduce_add_pd,
    sums_of_eight,
    four_of_eight,
    unsafe fn transpose([even, odd, ..]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { [_mm512_unpacklo_pd(even, odd), _mm512_unpackhi_pd(even, odd), even, odd] }
    },
    unsafe fn four_widened(from: *const f32, stride: usize) -> Option<[Self; 4]> {
        // SAFETY: the trait's contract.
        let rows = |row: usize| unsafe { _mm512_cvtps_pd(two_pieces(from.add(row * stride), 2 * stride)) };
        // SAFETY: the processor has the instructions.
        Some(unsafe { four_of_pairs([0, 1, 4, 5].map(rows)) })
    }
);

vector!(
    __m512,
    f32,
    16,
    4,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_fmadd_ps,
    _mm512_mul_ps,
    _mm512_add_ps,
    _mm512_sqrt_ps,
    _mm512_reduce_add_ps,
    sums_of_sixteen,
    four_of_sixteen,
    unsafe fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let low = (_mm512_castps_pd(_mm512_unpacklo_ps(a, b)), _mm512_castps_pd(_mm512_unpacklo_ps(c, d)));
            let high = (_mm512_castps_pd(_mm512_unpackhi_ps(a, b)), _mm512_castps_pd(_mm512_unpackhi_ps(c, d)));
            let low = [_mm512_unpacklo_pd(low.0, low.1), _mm512_unpackhi_pd(low.0, low.1)];
            let high = [_mm512_unpacklo_pd(high.0, high.1), _mm512_unpackhi_pd(high.0, high.1)];
            [low[0], low[1], high[0], high[1]].map(|column| _mm512_castpd_ps(column))
        }
    }
);

vector!(
    __m256d,
    f64,
    4,
    2,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_fmadd_pd,
    _mm256_mul_pd,
    _mm256_add_pd,
    _mm256_sqrt_pd,
    sum_of_four,
    sums_of_four,
    four_of_four,
    unsafe fn transpose([even, odd, ..]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe { [_mm256_unpacklo_pd(even, odd), _mm256_unpackhi_pd(even, odd), even, odd] }
    },
    unsafe fn four_widened(from: *const f32, stride: usize) -> Option<[Self; 4]> {
        // SAFETY: the trait's contract.
        unsafe {
            let [a, b, c, d] = [0, 1, 2, 3].map(|row| _mm_loadu_ps(from.add(row * stride)));
            let low = [_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d)];
            let high = [_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d)];
            let columns = [
                _mm_movelh_ps(low[0], low[1]),
                _mm_movehl_ps(low[1], low[0]),
                _mm_movelh_ps(high[0], high[1]),
                _mm_movehl_ps(high[1], high[0]),
            ];
            Some(columns.map(|column| _mm256_cvtps_pd(column)))
        }
    }
);

vector!(
    __m256,
    f32,
    8,
    4,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    _mm256_mul_ps,
    _mm256_add_ps,
    _mm256_sqrt_ps,
    sum_of_eight,
    sums_of_eight_single,
    four_of_eight_single,
    unsafe fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: the trait's contract.
        unsafe {
            let low = (_mm256_castps_pd(_mm256_unpacklo_ps(a, b)), _mm256_castps_pd(_mm256_unpacklo_ps(c, d)));
            let high = (_mm256_castps_pd(_mm256_unpackhi_ps(a, b)), _mm256_castps_pd(_mm256_unpackhi_ps(c, d)));
            let low = [_mm256_unpacklo_pd(low.0, low.1), _mm256_unpackhi_pd(low.0, low.1)];
            let high = [_mm256_unpacklo_pd(high.0, high.1), _mm256_unpackhi_pd(high.0, high.1)];
            [low[0], low[1], high[0], high[1]].map(|column| _mm256_castpd_ps(column))
        }
    }
);

/// Four columns of eight rows.
///
/// # Safety
/// The processor has AVX-512; four elements can be read at each row.
#[inline(always)]
unsafe fn four_of_eight(from: *const f64, stride: usize) -> [__m512d; 4] {
    // SAFETY: the caller's contract.
    unsafe {
        let rows = |row: usize| {
            let (this, other) = (from.add(row * stride), from.add((row + 2) * stride));
            _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(_mm256_loadu_pd(this)), _mm256_loadu_pd(other))
        };
        four_of_pairs([0, 1, 4, 5].map(rows))
    }
}

/// Four columns of eight rows that come in pairs, (0, 2), (1, 3), (4, 6) and (5, 7): so the last step has whole 16-byte
/// parts to choose.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
unsafe fn four_of_pairs([a, b, c, d]: [__m512d; 4]) -> [__m512d; 4] {
    // SAFETY: the caller's contract.
    unsafe {
        let (even, odd) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
        let (more_even, more_odd) = (_mm512_unpacklo_pd(c, d), _mm512_unpackhi_pd(c, d));
        [
            _mm512_shuffle_f64x2::<0b10_00_10_00>(even, more_even),
            _mm512_shuffle_f64x2::<0b10_00_10_00>(odd, more_odd),
            _mm512_shuffle_f64x2::<0b11_01_11_01>(even, more_even),
            _mm512_shuffle_f64x2::<0b11_01_11_01>(odd, more_odd),
        ]
    }
}

/// Four columns of four rows.
///
/// # Safety
/// The processor has AVX; four elements can be read at each row.
#[inline(always)]
unsafe fn four_of_four(from: *const f64, stride: usize) -> [__m256d; 4] {
    // SAFETY: the caller's contract.
    unsafe {
        let rows = |column: usize, row: usize| {
            let from = from.add(row * stride + column).cast();
            _mm256_castps_pd(two_pieces(from, 4 * stride))
        };
        let (a, b, c, d) = (rows(0, 0), rows(0, 1), rows(2, 0), rows(2, 1));
        [_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b), _mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d)]
    }
}

/// Four columns of sixteen rows.
///
/// # Safety
/// The processor has AVX-512; four elements can be read at each row.
#[inline(always)]
unsafe fn four_of_sixteen(from: *const f32, stride: usize) -> [__m512; 4] {
    // SAFETY: the caller's contract.
    unsafe { Vector::transpose([0, 1, 2, 3].map(|row| four_pieces(from.add(row * stride), 4 * stride))) }
}

/// Four columns of eight rows in f32.
///
/// # Safety
/// The processor has AVX; four elements can be read at each row.
#[inline(always)]
unsafe fn four_of_eight_single(from: *const f32, stride: usize) -> [__m256; 4] {
    // SAFETY: the caller's contract.
    unsafe { Vector::transpose([0, 1, 2, 3].map(|row| two_pieces(from.add(row * stride), 4 * stride))) }
}

/// Four 16-byte pieces that lie `stride` floats apart, side by side.
///
/// # Safety
/// The processor has AVX-512; the pieces can be read.
#[inline(always)]
unsafe fn four_pieces(from: *const f32, stride: usize) -> __m512 {
    // SAFETY: the caller's contract.
    unsafe {
        let all = _mm512_castps128_ps512(_mm_loadu_ps(from));
        let all = _mm512_insertf32x4::<1>(all, _mm_loadu_ps(from.add(stride)));
        let all = _mm512_insertf32x4::<2>(all, _mm_loadu_ps(from.add(2 * stride)));
        _mm512_insertf32x4::<3>(all, _mm_loadu_ps(from.add(3 * stride)))
    }
}

/// Two 16-byte pieces that lie `stride` floats apart, side by side.
///
/// # Safety
/// The processor has AVX; the pieces can be read.
#[inline(always)]
unsafe fn two_pieces(from: *const f32, stride: usize) -> __m256 {
    // SAFETY: the caller's contract.
    unsafe {
        let all = _mm256_castps128_ps256(_mm_loadu_ps(from));
        _mm256_insertf128_ps::<1>(all, _mm_loadu_ps(from.add(stride)))
    }
}

/// # Safety
/// The processor has AVX.
#[inline(always)]
unsafe fn sum_of_four(all: __m256d) -> f64 {
    // SAFETY: the caller's contract.
    unsafe {
        let two = _mm_add_pd(_mm256_castpd256_pd128(all), _mm256_extractf128_pd::<1>(all));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    }
}

/// # Safety
/// The processor has AVX.
#[inline(always)]
unsafe fn sum_of_eight(all: __m256) -> f32 {
    // SAFETY: the caller's contract.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps::<1>(all));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// The lanes of four registers become one register whose 128-bit parts belong to one each.
macro_rules! parts {
    ($shuffle:ident, $add:ident, $all:expr) => {{
        let [a, b, c, d] = $all;
        let halves = |a, b| $add($shuffle::<0b01_00_01_00>(a, b), $shuffle::<0b11_10_11_10>(a, b));
        let (ab, cd) = (halves(a, b), halves(c, d));
        $add($shuffle::<0b10_00_10_00>(ab, cd), $shuffle::<0b11_01_11_01>(ab, cd))
    }};
}

/// # Safety
/// As [`Vector::sums`], with AVX-512.
#[inline(always)]
unsafe fn sums_of_eight(all: [__m512d; 4], to: *mut f32) {
    // SAFETY: the caller's contract.
    unsafe {
        let parts = parts!(_mm512_shuffle_f64x2, _mm512_add_pd, all);
        let sums = _mm512_add_pd(parts, _mm512_permute_pd::<0b0101_0101>(parts));
        let sums = _mm512_castpd512_pd256(_mm512_maskz_compress_pd(0b0101_0101, sums));
        _mm_storeu_ps(to, _mm256_cvtpd_ps(sums));
    }
}

/// # Safety
/// As [`Vector::sums`], with AVX-512.
#[inline(always)]
unsafe fn sums_of_sixteen(all: [__m512; 4], to: *mut f32) {
    // SAFETY: the caller's contract.
    unsafe {
        let parts = parts!(_mm512_shuffle_f32x4, _mm512_add_ps, all);
        let sums = _mm512_add_ps(parts, _mm512_permute_ps::<0b01_00_11_10>(parts));
        let sums = _mm512_add_ps(sums, _mm512_permute_ps::<0b10_11_00_01>(sums));
        _mm_storeu_ps(to, _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, sums)));
    }
}

/// # Safety
/// As [`Vector::sums`], with AVX.
#[inline(always)]
unsafe fn sums_of_four([a, b, c, d]: [__m256d; 4], to: *mut f32) {
    // SAFETY: the caller's contract.
    unsafe {
        let (ab, cd) = (_mm256_hadd_pd(a, b), _mm256_hadd_pd(c, d));
        let sums = _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x31>(ab, cd));
        _mm_storeu_ps(to, _mm256_cvtpd_ps(sums));
    }
}

/// # Safety
/// As [`Vector::sums`], with AVX.
#[inline(always)]
unsafe fn sums_of_eight_single([a, b, c, d]: [__m256; 4], to: *mut f32) {
    // SAFETY: the caller's contract.
    unsafe {
        let sums = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
        _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums)));
    }
}
