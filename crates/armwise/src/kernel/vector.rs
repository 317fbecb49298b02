//! What the kernel asks of a vector unit, and the portable answer.
//!
//! Multiplication and addition are fused in f64 on every path, so all of them give the same
//! bits. In f32 they need not be: what is found in f32 is always confirmed in f64.

/// A vector register: one arm to a lane.
///
/// Everything here is `unsafe` for two reasons: the processor must have the instructions, and the pointers must be
/// good for the lanes named.
pub(super) trait Vector: Copy {
    /// The element of a lane.
    type T: Copy;
    /// How many lanes.
    const LANES: usize;
    /// How many columns [`transpose`](Self::transpose) takes at once: 16 bytes of them, a piece of a row.
    const CHUNK: usize;

    /// The same number in every lane.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn splat(value: Self::T) -> Self;

    /// Reads `LANES` elements.
    ///
    /// # Safety
    /// The processor has the instructions, and `LANES` elements can be read.
    unsafe fn load(from: *const Self::T) -> Self;

    /// Writes `LANES` elements.
    ///
    /// # Safety
    /// The processor has the instructions, and `LANES` elements can be written.
    unsafe fn store(self, to: *mut Self::T);

    /// self * b + c.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn times_plus(self, b: Self, c: Self) -> Self;

    /// self * b, rounded.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn times(self, b: Self) -> Self;

    /// self + b, rounded.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn plus(self, b: Self) -> Self;

    /// The square root of every lane.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn sqrt(self) -> Self;

    /// The sum of all lanes, in any order.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn sum(self) -> Self::T;

    /// Writes the sums of all lanes of four registers, each in any order.
    ///
    /// # Safety
    /// The processor has the instructions, and four numbers can be written.
    unsafe fn sums(of: [Self; 4], to: *mut f32);

    /// The first four columns of `LANES` rows that lie `stride` apart.
    ///
    /// # Safety
    /// The processor has the instructions; four elements can be read at each of `LANES` rows.
    unsafe fn four(from: *const Self::T, stride: usize) -> [Self; 4];

    /// As [`four`](Self::four), of rows in f32 where the lanes have f64; none where converting the rows first serves as
    /// well.
    ///
    /// # Safety
    /// As [`four`](Self::four).
    #[inline(always)]
    unsafe fn four_widened(from: *const f32, stride: usize) -> Option<[Self; 4]> {
        let _ = (from, stride);
        None
    }

    /// Transposes the first `CHUNK` vectors within their 16-byte parts: pieces of rows become columns.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn transpose(group: [Self; 4]) -> [Self; 4];
}

/// Prefetches a line of memory: with `NEAR` into the first-level cache, otherwise into the second.
#[inline(always)]
pub(super) fn fetch<const NEAR: bool>(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        // SAFETY: every x86-64 has this instruction, and it reads nothing, whatever the address.
        unsafe {
            if NEAR {
                _mm_prefetch::<_MM_HINT_T0>(at.cast());
            } else {
                _mm_prefetch::<_MM_HINT_T1>(at.cast());
            }
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// An element that sums start from.
pub(crate) trait Zero: Copy {
    /// Where a sum starts.
    const ZERO: Self;
}

impl Zero for f64 {
    const ZERO: Self = 0.0;
}

impl Zero for f32 {
    const ZERO: Self = 0.0;
}

/// A vector that the compiler lays out as it can.
#[derive(Clone, Copy)]
pub(super) struct Portable<T, const LANES: usize>([T; LANES]);

macro_rules! portable {
    ($T:ty, $LANES:literal, $CHUNK:literal, $fma:expr) => {
        impl Vector for Portable<$T, $LANES> {
            type T = $T;
            const LANES: usize = $LANES;
            const CHUNK: usize = $CHUNK;

            #[inline(always)]
            unsafe fn splat(value: $T) -> Self {
                Self([value; $LANES])
            }

            #[inline(always)]
            unsafe fn load(from: *const $T) -> Self {
                // SAFETY: the caller vouches for the elements; an array of them needs no more alignment than one.
                Self(unsafe { from.cast::<[$T; $LANES]>().read() })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $T) {
                // SAFETY: as for `load`.
                unsafe { to.cast::<[$T; $LANES]>().write(self.0) }
            }

            #[inline(always)]
            unsafe fn times_plus(self, b: Self, mut c: Self) -> Self {
                for lane in 0..$LANES {
                    c.0[lane] = $fma(self.0[lane], b.0[lane], c.0[lane]);
                }
                c
            }

            #[inline(always)]
            unsafe fn times(mut self, b: Self) -> Self {
                (0..$LANES).for_each(|lane| self.0[lane] *= b.0[lane]);
                self
            }

            #[inline(always)]
            unsafe fn plus(mut self, b: Self) -> Self {
                (0..$LANES).for_each(|lane| self.0[lane] += b.0[lane]);
                self
            }

            #[inline(always)]
            unsafe fn sqrt(mut self) -> Self {
                for lane in &mut self.0 {
                    *lane = lane.sqrt();
                }
                self
            }

            #[inline(always)]
            unsafe fn sum(self) -> $T {
                self.0.iter().sum()
            }

            #[inline(always)]
            unsafe fn sums(of: [Self; 4], to: *mut f32) {
                for (place, one) in of.iter().enumerate() {
                    // SAFETY: the caller vouches for the places.
                    unsafe { *to.add(place) = one.0.iter().sum::<$T>() as f32 };
                }
            }

            #[inline(always)]
            unsafe fn four(from: *const $T, stride: usize) -> [Self; 4] {
                // SAFETY: the caller vouches for these elements.
                let element = |row: usize, column: usize| unsafe { *from.add(row * stride + column) };
                std::array::from_fn(|column| Self(std::array::from_fn(|row| element(row, column))))
            }

            #[inline(always)]
            unsafe fn transpose(group: [Self; 4]) -> [Self; 4] {
                let mut columns = group;
                for part in (0..$LANES).step_by($CHUNK) {
                    for row in 0..$CHUNK {
                        for column in 0..$CHUNK {
                            columns[column].0[part + row] = group[row].0[part + column];
                        }
                    }
                }
                columns
            }
        }
    };
}

portable!(f64, 8, 2, f64::mul_add);
// Without hardware for it, a fused f32 would be a call to a slow function, and the bounds allow either.
portable!(f32, 16, 4, |a: f32, b: f32, c: f32| a * b + c);
