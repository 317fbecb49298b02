//! Sums that do not depend on the order of their terms.
//!
//! Values become whole units of 2^-80 of the largest one. Values down to 2^-27 of the largest are exact; smaller ones
//! are truncated, always in the same way.

/// Whole units of a power of two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    /// Two factors whose product is units per value; one alone may not fit an f64.
    factors: [f64; 2],
}

impl Grid {
    /// The grid for values up to `largest`, which is finite and not negative.
    pub(super) fn for_largest(largest: f64) -> Self {
        let exponent = if largest > 0.0 { 80 - (libm::ilogb(largest) + 1) } else { 0 };
        let half = exponent / 2;
        Self { factors: [libm::ldexp(1.0, half), libm::ldexp(1.0, exponent - half)] }
    }

    #[inline]
    pub(super) fn units(&self, value: f64) -> i128 {
        (value * self.factors[0] * self.factors[1]) as i128
    }

    /// The price of a unit, given the price of 1.
    pub(super) fn per_unit(&self, price: f64) -> f64 {
        price / self.factors[0] / self.factors[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_full_precision_come_back_exactly_at_any_scale() {
        for scale in [1e-300, 1e-12, 1.0, 1e12, 1e300] {
            let grid = Grid::for_largest(scale);
            for value in [0.0, scale, scale / 3.0, scale / 1e7] {
                assert!((grid.per_unit(grid.units(value) as f64) - value).abs() <= 0.0, "{value} of {scale}");
            }
        }
        assert_eq!(Grid::for_largest(5e-324).units(5e-324), 1 << 79);
        assert_eq!(Grid::for_largest(0.0).units(0.0), 0);
        assert_eq!(Grid::for_largest(1.0).units(f64::INFINITY), i128::MAX);
    }
}
