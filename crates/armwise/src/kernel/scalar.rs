//! One arm at a time: the same operations in the same order as the tiles, and so the same bits.
//!
//! Unless told that the processor has fused multiply-add, the compiler calls a slow function, so there is a version of
//! each loop compiled for processors that have it.

/// a . b over the shorter length, in ascending order.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the instruction.
        return unsafe { dot_fma(a, b) };
    }
    plain_dot(a, b)
}

/// |W x|^2, with the rows of the triangle W one after the other.
pub(crate) fn square(w: &[f64], x: &[f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the instruction.
        return unsafe { square_fma(w, x) };
    }
    plain_square(w, x)
}

/// # Safety
/// The processor has FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
unsafe fn dot_fma(a: &[f64], b: &[f64]) -> f64 {
    plain_dot(a, b)
}

/// # Safety
/// The processor has FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
unsafe fn square_fma(w: &[f64], x: &[f64]) -> f64 {
    plain_square(w, x)
}

#[inline(always)]
fn plain_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.iter().zip(b) {
        sum = a.mul_add(*b, sum);
    }
    sum
}

#[inline(always)]
fn plain_square(mut w: &[f64], x: &[f64]) -> f64 {
    let mut sum = 0.0_f64;
    for i in 0..x.len() {
        let (row, rest) = w.split_at(i + 1);
        let y = plain_dot(row, x);
        sum = y.mul_add(y, sum);
        w = rest;
    }
    sum
}
