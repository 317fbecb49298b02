//! Upper ends as lines in (dot, norm), for tests in f32 that most arms fail: looser than a bound, and never below it.
//!
//! With widths from norms and a coefficient that all arms have, an upper end is nearly linear in dot and norm.

use super::{Formula, NORM, rounded_up};
use crate::policy::Times;
use crate::random::LARGEST;

impl Formula {
    /// (slope, floor) of a line in f32: dot + slope norm, rounded once or twice, reaches this floor wherever the upper
    /// end reaches the given one, for arms that all have the coefficient g and widths [from norms](super::FromNorm).
    ///
    /// It is [`bound`](Self::bound) with |dot| bounded by the norm: `of_dot` is at least 6e-7 |direction|, so that
    /// 1e-12 |dot| is below 1e-5 `of_dot` above(norm). Rounding to nearest never takes a sum that is at least an f32
    /// below it, so only that of slope norm needs room.
    pub(crate) fn line(self, g: f64, floor: f64) -> (f32, f32) {
        let (slope, offset) = self.slope_and_offset(g);
        (roomy(slope), -rounded_up(offset - floor))
    }

    /// ([a, b], floor), as [`line`](Self::line) with the slope a + b z, for coefficients up to base + factor z where z
    /// is a ceiling of a normal draw. None for coefficients that are not multiplied by a width.
    ///
    /// The slope is linear in the coefficient where that is not negative.
    pub(crate) fn rising(self, (base, factor): (f64, f64), floor: f64) -> Option<([f32; 2], f32)> {
        let ((least, _), (most, offset)) =
            (self.slope_and_offset(base.abs()), self.slope_and_offset(base.abs() + factor * LARGEST));
        let slopes = [roomy(least), roomy((most - least) / LARGEST)];
        (self.times == Times::Width).then(|| (slopes, -rounded_up(offset - floor)))
    }

    /// No upper end is above dot + slope norm + offset.
    fn slope_and_offset(self, g: f64) -> (f64, f64) {
        let (widest, offset) = match self.times {
            Times::Width => ((g * self.least / NORM).max(g * self.most * NORM), g.abs() * self.most * self.tiny_norm),
            Times::One => (0.0, g + 1e-11 * g.abs()),
        };
        let of_width = if self.times == Times::Width { 1e-11 * g.abs() * self.most } else { 0.0 };
        let error = (1.0 + 1e-5) * (self.of_dot + self.tiny) + of_width;
        let of_norm = error + self.beyond[1];
        let slope = widest + 1e-11 * widest.abs() + of_norm * NORM;
        // The last term covers the rounding of numbers below the range of f32.
        (slope, offset + self.beyond[0] + of_norm * self.tiny_norm + 2.0 * self.tiny + 1e-37)
    }
}

/// An f32 so far above a slope that the roundings of what is multiplied with it, each at most 2^-24 of it, do not matter.
fn roomy(slope: f64) -> f32 {
    rounded_up(slope + slope.abs() / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::super::{FromNorm, WidthSource};
    use super::*;

    /// Against the bound itself, with sums that are rounded once and twice.
    #[test]
    fn an_upper_end_at_the_floor_reaches_the_line_and_one_far_below_does_not() {
        let direction = [0.3, -2.0, 1e-3, 0.7];
        let draws = crate::Round::new(3, 1).draws(0, crate::Stream(300));
        for times in [Times::Width, Times::One] {
            let formula = Formula::new(times, &direction, None).expect("few dimensions").with_widths(0.2, 0.3);
            for id in 0..50_000 {
                let size = f64::powi(10.0, (id % 70) as i32 - 45);
                let (norm, g) = ((size * draws.normal(id).abs()) as f32, draws.normal(id + (1 << 20)) * 3.0);
                let dot = (1.5 * f64::from(norm) * draws.normal(id + (2 << 20)).clamp(-1.0, 1.0)) as f32;
                let (wide_dot, wide) = (f64::from(dot), f64::from(norm));
                let upper = formula.bound(wide_dot, wide, g, FromNorm.range(formula, 0, wide)).upper;
                let (slope, floor) = formula.line(g, upper);
                let sums = [dot + slope * norm, slope.mul_add(norm, dot)];
                assert!(sums.iter().all(|sum| *sum >= floor), "{sums:?} below {floor}: {dot} {norm} {g}");
                // The same coefficient as a line in z, of which a part of it is the base.
                let z = 9.0 * draws.uniform(id) as f32;
                let line = (g - g.abs() * f64::from(z), g.abs());
                if let Some((slopes, floor)) = formula.rising(line, upper) {
                    let [a, b] = slopes;
                    let sums = [dot + (a + b * z) * norm, b.mul_add(z, a).mul_add(norm, dot)];
                    assert!(sums.iter().all(|sum| *sum >= floor), "{sums:?} below {floor}: {dot} {norm} {line:?} {z}");
                }
                let above = upper + 0.02 * (g.abs() + 1.0) * (wide + 1e-14) + 1e-5 * upper.abs();
                let (slope, floor) = formula.line(g, above);
                assert!(dot + slope * norm < floor, "{dot} {norm} {g} reaches {above}, which {upper} is far below");
            }
        }
    }
}
