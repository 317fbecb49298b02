//! Bounds: an interval that certainly holds a score, from products in f32 and what is known of the width.
//!
//! There is one formula, [`Formula::bound`]: direction . x lies within the error of its product, the width lies within
//! a range, and together they bound the score. The bound holds for the score as the f64 path computes it, rounding
//! included, so an arm whose bound lies below a floor has a score below that floor. A [`WidthSource`] gives the range
//! of the width: from the norm of x and the [range of all widths](crate::model::Widths), from a width computed in f32,
//! or from a width of an earlier round.
//!
//! # The error of products in f32
//! Let M = direction . x and Y = W x for the f64 numbers as they are, u = 2^-24, gamma(n) = n u / (1 - n u), F = |W|_F.
//! In f32 the elements of x, of the direction and of W are each rounded once, and a sum of d products, fused or not,
//! rounds each of them at most d + 1 times more, so with Cauchy-Schwarz
//! ```text
//! |dot - M| <= gamma(d + 3) |direction| |x|,    |y - Y| <= gamma(d + 3) F |x|,
//! |width - |Y|| <= gamma(2d + 5) F |x|          (the squares and their root round d + 2 times more)
//! ```
//! The f64 path obeys the same with 2^-53 in place of u, which is less than one more unit in n. The norm of x is itself
//! found in f32, at most gamma(d + 4) off. Together, for n = 2d + 8 and n u <= 0.005:
//! ```text
//! |dot - M| <= 1.01 gamma(n) |direction| |x| + tiny,    |width - |Y|| <= 1.01 gamma(n) F |x| + tiny
//! ```
//! and the rounding of dot + g width in f64 is far below 1e-12 of its terms. `tiny` is for numbers below the range of
//! f32, kept as subnormals or flushed to zero: each operation then loses at most 2^-126, the root of a sum of d squares
//! at most sqrt(d) 2^-62, all of it below 2^-60 d (1 + |x|) (1 + |direction| + F). Numbers above the range become
//! infinite; then, as for any number that is not finite, nothing is pruned.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

mod line;

use crate::policy::Times;

/// Covers the error of a norm computed in f32, at most half a percent for any dimension that has a formula.
const NORM: f64 = 1.006;

/// An interval that certainly holds a score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) upper: f64,
    pub(crate) lower: f64,
}

/// How the scores of a block are bounded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Formula {
    times: Times,
    /// The error of direction . x and of the width, as multiples of the norm.
    of_dot: f64,
    of_width: f64,
    tiny: f64,
    /// What a norm may have lost below the range of f32.
    tiny_norm: f64,
    /// The range of all widths, as multiples of the norm.
    least: f64,
    most: f64,
    /// What of a width a lower end counts.
    stays: f64,
    /// How much an upper end is higher: by so much, and so much times the norm.
    beyond: [f64; 2],
}

impl Formula {
    /// For a direction and a W, with widths computed in f32; none for dimensions that the derivation does not cover.
    pub(crate) fn new(times: Times, direction: &[f64], w: Option<&[f64]>) -> Option<Self> {
        let norm = |all: &[f64]| all.iter().map(|x| x * x).sum::<f64>().sqrt() * (1.0 + 1e-6);
        let (direction, w, d) = (norm(direction), w.map_or(0.0, norm), direction.len() as f64);
        let n_u = (2.0 * d + 8.0) / f64::from(1 << 24);
        let gamma = 1.01 * n_u / (1.0 - n_u);
        let unit = d / (1_u64 << 60) as f64;
        let tiny = unit * (1.0 + direction + w);
        let (of_dot, of_width) = (gamma * direction, gamma * w);
        let (least, most, stays, beyond) = (0.0, f64::MAX, 1.0, [0.0; 2]);
        (n_u <= 0.005).then_some(Self { times, of_dot, of_width, tiny, tiny_norm: unit, least, most, stays, beyond })
    }

    /// With the range of all widths, as multiples of the norm.
    pub(crate) fn with_widths(self, least: f64, most: f64) -> Self {
        Self { least, most, ..self }
    }

    /// For scores that change with every arm taken: `stays` of a width stays, and they are higher by what is `beyond`.
    pub(crate) fn in_turns(self, stays: f64, beyond: [f64; 2]) -> Self {
        Self { least: stays * self.least, stays, beyond, ..self }
    }

    /// An upper bound of the norm.
    #[inline(always)]
    fn above(self, norm: f64) -> f64 {
        norm * NORM + self.tiny_norm
    }

    /// How far a width in f32 may be off.
    #[inline(always)]
    pub(crate) fn width_error(self, norm: f64) -> f64 {
        let above = self.above(norm);
        self.of_width * above + self.tiny * (1.0 + above)
    }

    /// The bound of dot + g width, for a width in a range.
    #[inline(always)]
    pub(crate) fn bound(self, dot: f64, norm: f64, g: f64, (least, most): (f64, f64)) -> Bound {
        let above = self.above(norm);
        let (narrow, wide) = (self.times.of(g, least), self.times.of(g, most));
        let error = self.of_dot * above + self.tiny * (1.0 + above) + 1e-12 * (dot.abs() + narrow.abs() + wide.abs());
        let beyond = self.beyond[0] + self.beyond[1] * above;
        Bound { upper: dot + narrow.max(wide) + error + beyond, lower: dot + narrow.min(wide) - error }
    }
}

/// Where the range of an arm's width comes from.
pub(crate) trait WidthSource: Copy {
    /// The source of the first `count` arms; the known length lets the compiler drop bounds checks.
    fn cut(self, count: usize) -> Self;
    /// The least and the most that the width of an arm can be.
    fn range(self, formula: Formula, row: usize, norm: f64) -> (f64, f64);
}

/// From the norm alone.
#[derive(Clone, Copy)]
pub(crate) struct FromNorm;

impl WidthSource for FromNorm {
    #[inline(always)]
    fn cut(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn range(self, formula: Formula, _: usize, norm: f64) -> (f64, f64) {
        let below = (norm * (1.0 / NORM) - formula.tiny_norm).max(0.0);
        (formula.least * below, formula.most * formula.above(norm))
    }
}

/// Widths computed in f32.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a>(pub(crate) &'a [f32]);

impl WidthSource for Found<'_> {
    #[inline(always)]
    fn cut(self, count: usize) -> Self {
        Self(&self.0[..count])
    }

    #[inline(always)]
    fn range(self, formula: Formula, row: usize, norm: f64) -> (f64, f64) {
        let (width, error) = (f64::from(self.0[row]), formula.width_error(norm));
        (formula.stays * (width - error).max(0.0), width + error)
    }
}

/// Widths of an earlier round, none of which has grown by more than this factor.
#[derive(Clone, Copy)]
pub(crate) struct Earlier<'a>(pub(crate) &'a [f32], pub(crate) f64);

impl WidthSource for Earlier<'_> {
    #[inline(always)]
    fn cut(self, count: usize) -> Self {
        Self(&self.0[..count], self.1)
    }

    #[inline(always)]
    fn range(self, formula: Formula, row: usize, norm: f64) -> (f64, f64) {
        let (least, most) = FromNorm.range(formula, row, norm);
        (least, (f64::from(self.0[row]) * self.1).min(most))
    }
}

/// Receives the bounds of many arms.
pub(crate) trait Ends {
    /// How many arms it has room for.
    fn len(&self) -> usize;
    /// Writes a bound; returns whether it is finite.
    fn put(&mut self, row: usize, bound: Bound) -> bool;
}

/// Both ends.
pub(crate) struct Both<'a> {
    pub(crate) upper: &'a mut [f64],
    pub(crate) lower: &'a mut [f64],
}

impl Ends for Both<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.upper.len().min(self.lower.len())
    }

    #[inline(always)]
    fn put(&mut self, row: usize, bound: Bound) -> bool {
        (self.upper[row], self.lower[row]) = (bound.upper, bound.lower);
        bound.upper.is_finite() & bound.lower.is_finite()
    }
}

/// Upper ends.
pub(crate) struct Upper<'a>(pub(crate) &'a mut [f64]);

impl Ends for Upper<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn put(&mut self, row: usize, bound: Bound) -> bool {
        self.0[row] = bound.upper;
        bound.upper.is_finite()
    }
}

/// Upper ends, rounded up to f32.
pub(crate) struct Uppers<'a>(pub(crate) &'a mut [f32]);

impl Ends for Uppers<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn put(&mut self, row: usize, bound: Bound) -> bool {
        self.0[row] = rounded_up(bound.upper);
        bound.upper.abs() < f64::from(f32::MAX)
    }
}

/// An f32 that is at least x: the first term covers the rounding of a number of ordinary size, the second that of a
/// tiny one.
#[inline(always)]
pub(crate) fn rounded_up(x: f64) -> f32 {
    const UNIT: f64 = f32::EPSILON as f64;
    const SMALLEST: f64 = f32::from_bits(1) as f64;
    (x + UNIT * x.abs() + SMALLEST) as f32
}

/// The coefficients of some arms.
pub(crate) trait Coefficients: Copy {
    /// Those of the first `count` arms.
    fn cut(self, count: usize) -> Self;
    /// That of an arm.
    fn of(self, row: usize) -> f64;
}

impl Coefficients for &[f64] {
    #[inline(always)]
    fn cut(self, count: usize) -> Self {
        &self[..count]
    }

    #[inline(always)]
    fn of(self, row: usize) -> f64 {
        self[row]
    }
}

/// The same for all arms.
impl Coefficients for f64 {
    #[inline(always)]
    fn cut(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn of(self, _: usize) -> f64 {
        self
    }
}

/// The bounds of many arms in a block, compiled for the registers of a path; false if one is not finite.
pub(crate) struct Fill<'a, C, W, E> {
    pub(crate) formula: Formula,
    pub(crate) dots: &'a [f32],
    pub(crate) norms: &'a [f32],
    pub(crate) coefficients: C,
    pub(crate) widths: W,
    pub(crate) ends: E,
}

impl<C: Coefficients, W: WidthSource, E: Ends> pulp::NullaryFnOnce for Fill<'_, C, W, E> {
    type Output = bool;

    #[inline(always)]
    fn call(mut self) -> bool {
        let n = self.ends.len();
        let (dots, norms, coefficients) = (&self.dots[..n], &self.norms[..n], self.coefficients.cut(n));
        let (formula, widths) = (self.formula, self.widths.cut(n));
        let mut finite = true;
        for row in 0..n {
            let (dot, norm) = (f64::from(dots[row]), f64::from(norms[row]));
            let bound = formula.bound(dot, norm, coefficients.of(row), widths.range(formula, row, norm));
            finite &= self.ends.put(row, bound);
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
