//! The vector registers of x86-64.
//!
//! The decision to know: rows become lanes by putting 16-byte pieces of rows side by side and transposing within
//! each 16-byte part, which is half the shuffles of the textbook transposition.

use super::vector::Vector;
#[allow(clippy::wildcard_imports, reason = "forty names that say where they come from themselves")]
use std::arch::x86_64::*;

/// Every method is one or a few instructions whose requirements are those of the trait's contract.
macro_rules! vector {
    ($V:ty, $T:ty, $LANES:literal, $CHUNK:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $sqrt:ident, $sum:path, $transpose:item) => {
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
            $transpose
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
    _mm512_sqrt_pd,
    _mm512_reduce_add_pd,
    unsafe fn transpose(from: *const f64, stride: usize, to: *mut f64, to_stride: usize) {
        // SAFETY: the trait's contract.
        unsafe {
            let even = _mm512_castps_pd(four_pieces(from.cast(), 4 * stride));
            let odd = _mm512_castps_pd(four_pieces(from.add(stride).cast(), 4 * stride));
            _mm512_storeu_pd(to, _mm512_unpacklo_pd(even, odd));
            _mm512_storeu_pd(to.add(to_stride), _mm512_unpackhi_pd(even, odd));
        }
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
    _mm512_sqrt_ps,
    _mm512_reduce_add_ps,
    unsafe fn transpose(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
        // SAFETY: the trait's contract.
        unsafe {
            let a = four_pieces(from, 4 * stride);
            let b = four_pieces(from.add(stride), 4 * stride);
            let c = four_pieces(from.add(2 * stride), 4 * stride);
            let d = four_pieces(from.add(3 * stride), 4 * stride);
            let low = (_mm512_castps_pd(_mm512_unpacklo_ps(a, b)), _mm512_castps_pd(_mm512_unpacklo_ps(c, d)));
            let high = (_mm512_castps_pd(_mm512_unpackhi_ps(a, b)), _mm512_castps_pd(_mm512_unpackhi_ps(c, d)));
            _mm512_storeu_ps(to, _mm512_castpd_ps(_mm512_unpacklo_pd(low.0, low.1)));
            _mm512_storeu_ps(to.add(to_stride), _mm512_castpd_ps(_mm512_unpackhi_pd(low.0, low.1)));
            _mm512_storeu_ps(to.add(2 * to_stride), _mm512_castpd_ps(_mm512_unpacklo_pd(high.0, high.1)));
            _mm512_storeu_ps(to.add(3 * to_stride), _mm512_castpd_ps(_mm512_unpackhi_pd(high.0, high.1)));
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
    _mm256_sqrt_pd,
    sum_of_four,
    unsafe fn transpose(from: *const f64, stride: usize, to: *mut f64, to_stride: usize) {
        // SAFETY: the trait's contract.
        unsafe {
            let even = _mm256_castps_pd(two_pieces(from.cast(), 4 * stride));
            let odd = _mm256_castps_pd(two_pieces(from.add(stride).cast(), 4 * stride));
            _mm256_storeu_pd(to, _mm256_unpacklo_pd(even, odd));
            _mm256_storeu_pd(to.add(to_stride), _mm256_unpackhi_pd(even, odd));
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
    _mm256_sqrt_ps,
    sum_of_eight,
    unsafe fn transpose(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
        // SAFETY: the trait's contract.
        unsafe {
            let a = two_pieces(from, 4 * stride);
            let b = two_pieces(from.add(stride), 4 * stride);
            let c = two_pieces(from.add(2 * stride), 4 * stride);
            let d = two_pieces(from.add(3 * stride), 4 * stride);
            let low = (_mm256_castps_pd(_mm256_unpacklo_ps(a, b)), _mm256_castps_pd(_mm256_unpacklo_ps(c, d)));
            let high = (_mm256_castps_pd(_mm256_unpackhi_ps(a, b)), _mm256_castps_pd(_mm256_unpackhi_ps(c, d)));
            _mm256_storeu_ps(to, _mm256_castpd_ps(_mm256_unpacklo_pd(low.0, low.1)));
            _mm256_storeu_ps(to.add(to_stride), _mm256_castpd_ps(_mm256_unpackhi_pd(low.0, low.1)));
            _mm256_storeu_ps(to.add(2 * to_stride), _mm256_castpd_ps(_mm256_unpacklo_pd(high.0, high.1)));
            _mm256_storeu_ps(to.add(3 * to_stride), _mm256_castpd_ps(_mm256_unpackhi_pd(high.0, high.1)));
        }
    }
);

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
