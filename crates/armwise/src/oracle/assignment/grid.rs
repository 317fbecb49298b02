//! Scores as integers, so that optimality is an equation and not a tolerance.
//!
//! Scores are first brought below 1 by one power of two (that of the largest finite |score|)
//! and then mapped to 128-bit integers. The grid has about 117 - 2 log2(4 M) bits below the largest score for M
//! limits (a little fewer with groups); an f64 has 53, so for M <= 100 the map is exact for every score above 2^-45 of the largest, and smaller
//! ones are cut to the grid, at 2^-98 of the largest or finer.
//!
//! One number holds three goals in strict order of priority:
//! ```text
//! value of a selection = bonus * (mandatory units filled) + unit * (sum of scores on the grid) - (number of arms)
//! ```
//! A change of selection along one exchange cycle moves at most M + 1 rows, so `unit` > 2 (M + 1) and
//! `bonus` > 2 (M + 1) * (largest value) make the order lexicographic. The last term is why an optional unit that
//! adds nothing is not taken.

/// The value of a pair that may not be chosen; below anything a sum can reach.
pub(super) const FORBIDDEN: i128 = i128::MIN;

/// The bonus is 2 to this power, less where groups let a path cross many minima; path lengths and prices stay below a
/// small multiple of it.
const BONUS_BITS: u32 = 118;

/// The map between scores below 1 and integer values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    /// 2^(bits of a grid score).
    steps: f64,
    /// log2 of what one step of the grid score is worth in units of "one arm fewer".
    unit_bits: u32,
    /// What filling a mandatory unit is worth.
    pub(super) bonus: i128,
}

impl Grid {
    /// The grid for this many blocks and groups.
    pub(super) fn new(blocks: usize, groups: usize) -> Self {
        let bits = |count: usize| usize::BITS - count.leading_zeros();
        let cycle_bits = bits(4 * (blocks + groups + 2));
        let bonus_bits = BONUS_BITS - bits(groups);
        let score_bits = bonus_bits - 2 * cycle_bits - 1;
        Self { steps: power(score_bits.cast_signed()), unit_bits: cycle_bits, bonus: 1 << bonus_bits }
    }

    /// The value of choosing an arm with this score.
    #[inline]
    pub(super) fn value(&self, score: f64) -> i128 {
        self.price(score) - 1
    }

    /// A price in scores as a price in values.
    #[inline]
    pub(super) fn price(&self, price: f64) -> i128 {
        ((price * self.steps) as i128) << self.unit_bits
    }

    /// A value as a score: exact up to the final rounding to f64.
    pub(super) fn score(&self, value: i128) -> f64 {
        let half = 1 << (self.unit_bits - 1);
        ((value + half) >> self.unit_bits) as f64 / self.steps
    }
}

/// The exponent of the power of two that scales scores below 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale(i32);

impl Scale {
    /// The scale for scores of at most this magnitude.
    pub(super) fn new(largest: f64) -> Self {
        Self(if largest == 0.0 { 0 } else { libm::frexp(largest).1 })
    }

    /// A score as a number below 1; exact but for scores under 2^-1000 of the largest.
    #[inline]
    pub(super) fn down(self, score: f64) -> f64 {
        times_power(score, -self.0)
    }

    /// The inverse of [`down`](Self::down).
    #[inline]
    pub(super) fn up(self, score: f64) -> f64 {
        times_power(score, self.0)
    }
}

/// x * 2^e for any e.
#[inline]
fn times_power(x: f64, e: i32) -> f64 {
    if (-1022..=1023).contains(&e) { x * power(e) } else { x * power(e / 2) * power(e - e / 2) }
}

/// 2^e of a normal number.
#[inline]
fn power(e: i32) -> f64 {
    f64::from_bits(u64::from((e + 1023).unsigned_abs()) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_exact() {
        for largest in [1e-300, 1e-3, 1.0, 7.5, 1e300, f64::MAX, f64::MIN_POSITIVE / 1024.0] {
            let (grid, scale) = (Grid::new(10, 0), Scale::new(largest));
            for part in [1.0, 0.1, 1.0 / 3.0, 1e-9, -0.7] {
                let score = largest * part;
                let back = scale.up(grid.score(grid.value(scale.down(score))));
                assert_eq!(back.to_bits(), score.to_bits(), "{score} of {largest}");
            }
        }
    }

    #[test]
    fn the_parts_of_a_value_are_never_traded() {
        for (blocks, groups) in [(1, 0), (10, 0), (1000, 0), (1 << 20, 0), (2, 1), (10, 200), (10, 20_000)] {
            let (grid, rows) = (Grid::new(blocks, groups), (blocks + groups) as i128 + 1);
            assert!(2 * rows * grid.value(0.999) < grid.bonus, "{blocks} blocks, {groups} groups");
            assert!(8 * (groups as i128 + 2) * grid.bonus > 0, "a path over all minima fits");
            assert!(2 * rows < 1 << grid.unit_bits);
        }
    }
}
