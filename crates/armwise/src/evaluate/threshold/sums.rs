//! Sums over all arms at several places t of the threshold: the only loops whose length is the number of arms.
//!
//! Arms are taken in tasks of fixed size and the tasks' sums are added in their order, so the bits do not depend on
//! threads.

#![allow(clippy::needless_range_loop, reason = "loops over several arrays at once, for registers")]
#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::evaluate::spread::Shape;
use crate::evaluate::tail::{Of, Standard, run};
use crate::tasks;

/// Arms of a task.
const TASK: usize = 8192;
/// Sums that are kept apart, whatever the registers hold.
const LANES: usize = 8;
/// Powers that are summed.
pub(super) const POWERS: usize = 16;

/// Arms with a spread: their locations, and one over their scales.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) shape: Shape,
    pub(super) locations: Vec<f64>,
    pub(super) inverses: Vec<f64>,
}

/// What the count of arms above t is like: its mean and variance, and how fast the mean falls with t.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub(super) mean: f64,
    pub(super) variance: f64,
    pub(super) slope: f64,
}

/// The sums from which the law of the count at t is made.
#[derive(Debug, Clone)]
pub(super) struct Powers {
    /// The sums of powers of small probabilities to be above, from the first power on.
    pub(super) above: [f64; POWERS],
    /// The same of small probabilities to be below.
    pub(super) below: [f64; POWERS],
    /// How many arms the latter are.
    pub(super) nearly_all: usize,
    /// The probabilities to be above of all other arms.
    pub(super) others: Vec<f64>,
}

impl Powers {
    fn none() -> Self {
        Self { above: [0.0; POWERS], below: [0.0; POWERS], nearly_all: 0, others: Vec::new() }
    }
}

impl Field {
    /// Moments at each place.
    pub(super) fn moments(&self, places: &[f64]) -> Vec<Moments> {
        let parts = self.parts(|locations, inverses| run(self.shape, MomentsOf { locations, inverses, places }));
        let mut all = vec![Moments::default(); places.len()];
        for (sum, part) in parts.iter().flat_map(|part| part.iter().enumerate()) {
            all[sum].mean += part.mean;
            all[sum].variance += part.variance;
            all[sum].slope += part.slope;
        }
        all
    }

    /// The sums of powers at each place; probabilities count as small up to `small`.
    pub(super) fn powers(&self, places: &[f64], small: f64) -> Vec<Powers> {
        let parts = self.parts(|locations, inverses| run(self.shape, PowersOf { locations, inverses, places, small }));
        let mut all = vec![Powers::none(); places.len()];
        for part in parts {
            for (sum, part) in all.iter_mut().zip(part) {
                for power in 0..POWERS {
                    sum.above[power] += part.above[power];
                    sum.below[power] += part.below[power];
                }
                sum.nearly_all += part.nearly_all;
                sum.others.extend(part.others);
            }
        }
        all
    }

    fn parts<R: Send>(&self, task: impl Fn(&[f64], &[f64]) -> R + Sync) -> Vec<R> {
        let count = self.locations.len().div_ceil(TASK);
        tasks::map(
            count,
            || (),
            |(), part| {
                let cut = part * TASK..((part + 1) * TASK).min(self.locations.len());
                task(&self.locations[cut.clone()], &self.inverses[cut])
            },
        )
    }
}

struct MomentsOf<'a> {
    locations: &'a [f64],
    inverses: &'a [f64],
    places: &'a [f64],
}

impl Of for MomentsOf<'_> {
    type Output = Vec<Moments>;

    #[inline(always)]
    fn call<S: Standard>(self, standard: S) -> Vec<Moments> {
        let mut all = Vec::with_capacity(self.places.len());
        for &t in self.places {
            let (mut mean, mut variance, mut slope) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            let (locations, rest) = self.locations.as_chunks::<LANES>();
            let (inverses, last) = self.inverses.as_chunks::<LANES>();
            for (location, inverse) in locations.iter().zip(inverses) {
                for lane in 0..LANES {
                    let (small, low, density) = standard.tail((location[lane] - t) * inverse[lane]);
                    mean[lane] += if low { small } else { 1.0 - small };
                    variance[lane] += small * (1.0 - small);
                    slope[lane] += density * inverse[lane];
                }
            }
            let mut sum = Moments { mean: total(&mean), variance: total(&variance), slope: total(&slope) };
            for (location, inverse) in rest.iter().zip(last) {
                let (small, low, density) = standard.tail((location - t) * inverse);
                sum.mean += if low { small } else { 1.0 - small };
                sum.variance += small * (1.0 - small);
                sum.slope += density * inverse;
            }
            all.push(sum);
        }
        all
    }
}

struct PowersOf<'a> {
    locations: &'a [f64],
    inverses: &'a [f64],
    places: &'a [f64],
    small: f64,
}

impl Of for PowersOf<'_> {
    type Output = Vec<Powers>;

    #[inline(always)]
    fn call<S: Standard>(self, standard: S) -> Vec<Powers> {
        let mut all = Vec::with_capacity(self.places.len());
        let length = self.locations.len();
        let (mut smalls, mut lows) = (vec![0.0; length], vec![0.0; length]);
        // Slices of one length, so that no bound is checked inside the loops.
        let (locations, inverses) = (&self.locations[..length], &self.inverses[..length]);
        let (smalls, lows) = (&mut smalls[..length], &mut lows[..length]);
        for &t in self.places {
            let mut powers = Powers::none();
            for place in 0..length {
                let (small, low, _) = standard.tail((locations[place] - t) * inverses[place]);
                smalls[place] = small;
                lows[place] = if low { 1.0 } else { 0.0 };
            }
            // Counted in whole numbers: sums of floats have an order, which keeps them out of registers.
            let (mut high, mut middle) = (0_u64, 0_u64);
            for place in 0..length {
                let is_small = smalls[place] <= self.small;
                middle += u64::from(!is_small);
                high += u64::from(is_small && (lows[place] < 0.5));
            }
            if middle > 0 {
                for place in 0..length {
                    if smalls[place] > self.small {
                        powers.others.push(if lows[place] > 0.5 { smalls[place] } else { 1.0 - smalls[place] });
                        smalls[place] = 0.0;
                    }
                }
            }
            powers.nearly_all = high as usize;
            powers.above = sum_powers(smalls, lows, 1.0);
            if high > 0 {
                powers.below = sum_powers(smalls, lows, 0.0);
            }
            all.push(powers);
        }
        all
    }
}

/// The sums of powers of the numbers whose flag is `flag`.
#[inline(always)]
fn sum_powers(numbers: &[f64], flags: &[f64], flag: f64) -> [f64; POWERS] {
    let mut sums = [[0.0; LANES]; POWERS];
    let ((numbers, rest), (flags, last)) = (numbers.as_chunks::<LANES>(), flags.as_chunks::<LANES>());
    for (number, flags) in numbers.iter().zip(flags) {
        let mut power = [1.0; LANES];
        let mut base = [0.0; LANES];
        for lane in 0..LANES {
            base[lane] = number[lane] * (1.0 - (flags[lane] - flag).abs());
        }
        for sum in &mut sums {
            for lane in 0..LANES {
                power[lane] *= base[lane];
                sum[lane] += power[lane];
            }
        }
    }
    let mut totals = [0.0; POWERS];
    totals.iter_mut().zip(&sums).for_each(|(to, sum)| *to = total(sum));
    for (number, of) in rest.iter().zip(last) {
        let (base, mut power) = (number * (1.0 - (of - flag).abs()), 1.0);
        for to in &mut totals {
            power *= base;
            *to += power;
        }
    }
    totals
}

#[inline(always)]
fn total(lanes: &[f64; LANES]) -> f64 {
    lanes.iter().fold(0.0, |sum, lane| sum + lane)
}
