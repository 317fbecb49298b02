//! A matrix by columns times a row of features, and a square root of V^-1 after a row was added to V.
//!
//! Lanes run along a column, and every element is summed in four sums of every fourth column. Only products with the
//! transpose are summed across lanes. Both orders are written out, so every path gives the same bits.

use super::{
    Kernel, Path,
    vector::{Portable, Vector},
};

/// Eight numbers in a cache line of their own.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [f64; 8]);

/// Columns that are walked along together.
const TOGETHER: usize = 4;

impl Kernel {
    /// The product of some lines of every column with x: those from `first` on, as many as `to` has. A column has `height`
    /// lines, and there is one for each element of x.
    pub(crate) fn times(self, columns: &[Line], height: usize, first: usize, x: &[f64], to: &mut [Line]) {
        assert!(first + to.len() <= height && columns.len() == x.len() * height, "columns of this shape");
        // SAFETY: the columns have the lines, by the assertion; the path is one that the processor has.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => times_avx512(columns, height, first, x, to),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => times_avx2(columns, height, first, x, to),
                Path::Portable => times::<Portable<f64, 8>, 1>(columns, height, first, x, to),
            }
        }
    }

    /// W + factor y z' of the columns of W, for z = W' y, which is left in `z`.
    pub(crate) fn turn(self, columns: &mut [Line], y: &[Line], factor: f64, z: &mut [f64]) {
        assert!(columns.len() == y.len() * z.len(), "columns of this shape");
        // SAFETY: every element of z has a column of as many lines as y, by the assertion; the path is one that the
        // processor has.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => turn_avx512(columns, y, factor, z),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => turn_avx2(columns, y, factor, z),
                Path::Portable => turn::<Portable<f64, 8>>(columns, y, factor, z),
            }
        }
    }
}

/// Sums of eight lanes, in the one order that all paths have.
#[inline(always)]
pub(crate) fn sum_of([a, b, c, d, e, f, g, h]: [f64; 8]) -> f64 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// # Safety
/// As [`times`]; the processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn times_avx512(columns: &[Line], height: usize, first: usize, x: &[f64], to: &mut [Line]) {
    // SAFETY: the caller's contract.
    unsafe { times::<std::arch::x86_64::__m512d, 7>(columns, height, first, x, to) }
}

/// # Safety
/// As [`times`]; the processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn times_avx2(columns: &[Line], height: usize, first: usize, x: &[f64], to: &mut [Line]) {
    // SAFETY: the caller's contract.
    unsafe { times::<std::arch::x86_64::__m256d, 3>(columns, height, first, x, to) }
}

/// # Safety
/// As [`turn`]; the processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn turn_avx512(columns: &mut [Line], y: &[Line], factor: f64, z: &mut [f64]) {
    // SAFETY: the caller's contract.
    unsafe { turn::<std::arch::x86_64::__m512d>(columns, y, factor, z) }
}

/// # Safety
/// As [`turn`]; the processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn turn_avx2(columns: &mut [Line], y: &[Line], factor: f64, z: &mut [f64]) {
    // SAFETY: the caller's contract.
    unsafe { turn::<std::arch::x86_64::__m256d>(columns, y, factor, z) }
}

/// # Safety
/// The processor has V's instructions and registers for four times MOST sums; there are `x.len()` columns of `height` lines,
/// and `first` and the length of `to` together are at most `height`.
#[inline(always)]
unsafe fn times<V: Vector<T = f64>, const MOST: usize>(
    columns: &[Line],
    height: usize,
    first: usize,
    x: &[f64],
    to: &mut [Line],
) {
    let (stride, registers) = (8 * height, 8 * to.len() / V::LANES);
    let mut at = 0;
    while at < registers {
        let width = (registers - at).min(MOST);
        // SAFETY: these registers are among the lines named by the contract.
        unsafe {
            let from = columns.as_ptr().cast::<f64>().add(8 * first + at * V::LANES);
            let to = to.as_mut_ptr().cast::<f64>().add(at * V::LANES);
            match width {
                1 => along::<V, 1>(from, stride, x, to),
                2 => along::<V, 2>(from, stride, x, to),
                3 => along::<V, 3>(from, stride, x, to),
                4 => along::<V, 4>(from, stride, x, to),
                5 => along::<V, 5>(from, stride, x, to),
                6 => along::<V, 6>(from, stride, x, to),
                _ => along::<V, MOST>(from, stride, x, to),
            }
        }
        at += width;
    }
}

/// N registers along all columns, four columns at a time, so that a sum does not wait for the one before.
///
/// # Safety
/// The processor has V's instructions; N registers can be read at `x.len()` places `stride` apart, and written.
#[inline(always)]
unsafe fn along<V: Vector<T = f64>, const N: usize>(from: *const f64, stride: usize, x: &[f64], to: *mut f64) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; TOGETHER];
        let add = |sums: &mut [V; N], column: usize, x: f64| {
            let x = V::splat(x);
            for register in 0..N {
                let w = V::load(from.add(column * stride + register * V::LANES));
                sums[register] = w.times_plus(x, sums[register]);
            }
        };
        let (fours, rest) = x.as_chunks::<TOGETHER>();
        for (four, x) in fours.iter().enumerate() {
            for column in 0..TOGETHER {
                add(&mut sums[column], four * TOGETHER + column, x[column]);
            }
        }
        for (column, x) in rest.iter().enumerate() {
            add(&mut sums[column], fours.len() * TOGETHER + column, *x);
        }
        let [a, b, c, d] = sums;
        for register in 0..N {
            let (ab, cd) = (a[register].plus(b[register]), c[register].plus(d[register]));
            ab.plus(cd).store(to.add(register * V::LANES));
        }
    }
}

/// # Safety
/// The processor has V's instructions; there are `z.len()` columns of as many lines as y.
#[inline(always)]
unsafe fn turn<V: Vector<T = f64>>(columns: &mut [Line], y: &[Line], factor: f64, z: &mut [f64]) {
    let stride = 8 * y.len();
    let (from, last) = (columns.as_mut_ptr().cast::<f64>(), z.len() / TOGETHER * TOGETHER);
    // SAFETY: the columns from which these begin are there, by the contract.
    unsafe {
        for column in (0..last).step_by(TOGETHER) {
            turn_some::<V, TOGETHER>(from.add(column * stride), y, factor, &mut z[column..]);
        }
        for column in last..z.len() {
            turn_some::<V, 1>(from.add(column * stride), y, factor, &mut z[column..]);
        }
    }
}

/// N columns.
///
/// # Safety
/// The processor has V's instructions; N columns of as many lines as y begin at `from`, and z has N elements.
#[inline(always)]
unsafe fn turn_some<V: Vector<T = f64>, const N: usize>(from: *mut f64, y: &[Line], factor: f64, z: &mut [f64]) {
    let (stride, y) = (8 * y.len(), y.as_ptr().cast::<f64>());
    // SAFETY: the caller's contract.
    unsafe {
        // A line is one register or two.
        let mut sums = [[V::splat(0.0); 2]; N];
        for line in (0..stride).step_by(8) {
            for half in 0..8 / V::LANES {
                let at = line + half * V::LANES;
                let y = V::load(y.add(at));
                for column in 0..N {
                    sums[column][half] = V::load(from.add(column * stride + at)).times_plus(y, sums[column][half]);
                }
            }
        }
        let mut factors = [V::splat(0.0); N];
        for column in 0..N {
            let mut lanes = Line::default();
            for half in 0..8 / V::LANES {
                sums[column][half].store(lanes.0.as_mut_ptr().add(half * V::LANES));
            }
            z[column] = sum_of(lanes.0);
            factors[column] = V::splat(factor * z[column]);
        }
        for at in (0..stride).step_by(V::LANES) {
            let y = V::load(y.add(at));
            for column in 0..N {
                let w = from.add(column * stride + at);
                y.times_plus(factors[column], V::load(w)).store(w);
            }
        }
    }
}
