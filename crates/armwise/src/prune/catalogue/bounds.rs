//! Upper bounds of scores from what earlier rounds left behind.
//!
//! A bound holds for the score as the f64 path computes it, rounding included; the derivations are in
//! [`span`](crate::model::Widths) and [`seen`](super::seen) for widths and in [`rough`](crate::prune::bound) for products.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::prune::bound::{Band, NORM};

/// An f32 that is no smaller: the first term covers the rounding of a number of ordinary size, the second that of a tiny
/// one.
#[inline(always)]
pub(crate) fn rounded_up(x: f64) -> f32 {
    const UNIT: f64 = f32::EPSILON as f64;
    const SMALLEST: f64 = f32::from_bits(1) as f64;
    (x + UNIT * x.abs() + SMALLEST) as f32
}

/// What turns a product, a norm, a coefficient and a width of an earlier round into an upper bound.
pub(super) struct Bounds {
    /// How far the remembered products may be off.
    pub(super) band: Band,
    /// What an old width may have grown by.
    pub(super) stretch: f64,
    /// A width is at most so much of the norm,
    pub(super) most: f64,
    /// and at least so much.
    pub(super) least: f64,
    /// What a norm may have lost below the range of f32.
    pub(super) tiny: f64,
}

/// The upper bounds of a part's arms, compiled for the widest registers; false if one is not finite.
pub(super) struct Uppers<'a> {
    pub(super) bounds: &'a Bounds,
    pub(super) dots: &'a [f32],
    pub(super) norms: &'a [f32],
    pub(super) coefficients: &'a [f64],
    pub(super) widths: &'a [f32],
    pub(super) out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Uppers<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let n = self.out.len();
        let (dots, norms, widths) = (&self.dots[..n], &self.norms[..n], &self.widths[..n]);
        let (coefficients, out) = (&self.coefficients[..n], &mut self.out[..n]);
        let Bounds { band, stretch, most, least, tiny } = *self.bounds;
        let mut finite = true;
        for row in 0..n {
            let (dot, norm, g) = (f64::from(dots[row]), f64::from(norms[row]), coefficients[row]);
            let norm_above = norm * NORM + tiny;
            let widest = (f64::from(widths[row]) * stretch).min(most * norm_above);
            let bonus = if g > 0.0 { g * widest } else { g * (least * (norm / NORM - tiny)).max(0.0) };
            let upper = dot + bonus + band.of_dot(norm_above) + 1e-12 * (dot.abs() + bonus.abs());
            out[row] = rounded_up(upper);
            finite &= upper.abs() < f64::from(f32::MAX);
        }
        finite
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_never_rounds_down() {
        let mut x = 1e-46;
        while x < 1e38 {
            assert!([x, -x].into_iter().all(|x| f64::from(rounded_up(x)) >= x), "{x}");
            x *= 1.000_3;
        }
        assert!(f64::from(rounded_up(0.0)) >= 0.0);
    }
}
