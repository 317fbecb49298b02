//! The largest of M random numbers, from 64 random bits: one uniform number stands for all M of them.
//!
//! The largest of M uniform numbers is U^(1/M). With e = -ln U its place is exp(-e / M) from below and 1 - exp(-e / M)
//! from above, and both are computed as they stand, so no digits are lost in either tail. Logarithm and exponential are
//! libm's, the same on every platform.

use super::normal::normal_of_tail;

/// -ln U of a uniform number in (0, 1), which is close to 1 where the bits are small.
fn minus_log(bits: u64) -> f64 {
    const UNIT: f64 = 1.0 / (1u64 << 63) as f64;
    let of = |bits: u64| ((bits >> 1).cast_signed() as f64 + 0.5) * UNIT;
    if bits >> 63 == 0 { -libm::log1p(-of(bits)) } else { -libm::log(of(!bits)) }
}

/// The largest of M uniform numbers.
pub(crate) fn best_uniform(bits: u64, of: u32) -> f64 {
    libm::exp(-minus_log(bits) / f64::from(of))
}

/// The largest of M standard normal numbers; no bits give a larger one than 0.
pub(crate) fn best_normal(bits: u64, of: u32) -> f64 {
    let log = minus_log(bits) / f64::from(of);
    let above = -libm::expm1(-log);
    if above <= 0.5 { normal_of_tail(above) } else { -normal_of_tail(libm::exp(-log)) }
}
