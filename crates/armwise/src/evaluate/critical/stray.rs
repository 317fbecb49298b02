//! How far the mean over fresh rounds may stray from the probability.
//!
//! The chances P(S_i > c_i) of a rare arm are very unlike each other: most of the mean comes from the few rounds in which
//! the others leave it little to reach, and where none of those is among the fresh ones, their sample variance says almost
//! nothing. What the arm has to reach is not so: seen from the arm, in units of its own scale, it is nearly normal, and its
//! mean and variance are known from few rounds. So the variance of a chance is computed from these two as well, and the
//! larger of both counts.
//!
//! ```text
//! chance = P(Z > -place),  place ~ N(mu, s^2):   with h = mu / sqrt(1 + s^2), rho = s^2 / (1 + s^2)
//! Var(chance) = P(two normals with correlation rho are both below h) - P(one is)^2
//!             = 1 / 2 pi  integral from 0 to arcsin(rho) of exp(-h^2 / (1 + sin a)) da
//! ```
//!
//! s^2 is not known well from few rounds, and a rare arm's variance may grow with it by powers of ten. So the shape of this
//! law is taken at an upper limit of s^2 (95 %), and its size at s^2 itself: where chances vary little, nothing is added.

use crate::evaluate::spread::Shape;
use crate::evaluate::{Inclusion, tail};
use crate::random::normal_of_tail;
use crate::{Method, tasks};
use std::f64::consts::PI;

/// At this place a normal draw has a chance of 0 or 1, for all that matters.
const FAR: f64 = 38.0;
/// Arms of a task.
const ARMS: usize = 4096;

/// What a fresh round says of an arm.
#[derive(Clone, Copy)]
pub(super) struct Chance {
    /// That it passes what the others leave it to reach.
    pub(super) chance: f64,
    /// How far above that its score lies, in units of its scale. Draws without ends are put to the place at which a normal
    /// draw has the chance.
    pub(super) place: f64,
}

impl Chance {
    /// Of an arm that may not be chosen, or cannot.
    pub(super) const NONE: Self = Self { chance: 0.0, place: -FAR };

    /// Of an arm so far above what it has to reach.
    #[inline]
    pub(super) fn at(shape: Shape, place: f64) -> Self {
        Self::told(shape, tail::above(shape, place).0, place)
    }

    /// The same where the chance is known already.
    #[inline]
    pub(super) fn told(shape: Shape, chance: f64, place: f64) -> Self {
        if shape == Shape::Normal || tail::has_ends(shape) { Self { chance, place } } else { Self::of(chance) }
    }

    /// Of an arm without width: it passes or not.
    pub(super) fn certain(passes: bool) -> Self {
        Self { chance: f64::from(u8::from(passes)), place: if passes { FAR } else { -FAR } }
    }

    /// From the chance alone, of draws without ends.
    #[inline]
    pub(super) fn of(chance: f64) -> Self {
        let place = if chance <= 0.0 {
            -FAR
        } else if chance < 0.5 {
            -normal_of_tail(chance)
        } else {
            normal_of_tail((1.0 - chance).max(1e-17))
        };
        Self { chance, place }
    }
}

/// Means of what each fresh round says about each arm, and how far they may stray.
pub(super) struct Averages {
    shape: Shape,
    /// Of each arm the sums of chance, chance^2, place and place^2.
    sums: Vec<[f64; 4]>,
    count: usize,
}

impl Averages {
    pub(super) fn new(shape: Shape, arms: usize) -> Self {
        Self { shape, sums: vec![[0.0; 4]; arms], count: 0 }
    }

    /// Adds a fresh round, from the chances of all arms in their order.
    pub(super) fn add(&mut self, chances: impl Iterator<Item = Chance>) {
        for (sums, Chance { chance, place }) in self.sums.iter_mut().zip(chances) {
            let new = [chance, chance * chance, place, place * place];
            sums.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
        }
        self.count += 1;
    }

    pub(super) fn inclusion(self) -> Inclusion {
        let n = self.count as f64;
        let variance = |sum: f64, squares: f64| (squares - sum * sum / n).max(0.0) / (n - 1.0);
        let limit = limit(self.count);
        let error = |&[chance, chance_2, place, place_2]: &[f64; 4]| {
            // One round says nothing about how far it strays.
            if self.count < 2 {
                return f64::INFINITY;
            }
            let expected = if tail::has_ends(self.shape) { with_ends } else { without_ends };
            let expected = expected(self.shape, place / n, limit * variance(place, place_2)) / limit;
            (variance(chance, chance_2).max(expected) / n).sqrt()
        };
        let parts: Vec<&[[f64; 4]]> = self.sums.chunks(ARMS).collect();
        let errors = tasks::map(parts.len(), || (), |(), part| parts[part].iter().map(error).collect::<Vec<f64>>());
        Inclusion {
            method: Method::CriticalValue,
            probabilities: self.sums.iter().map(|sums| (sums[0] / n).clamp(0.0, 1.0)).collect(),
            standard_errors: errors.concat(),
            replicates: self.count,
            laws: Vec::new(),
        }
    }
}

/// By how much a variance may exceed that of a sample of so many: one over the 5 % quantile of chi^2 over its degrees of
/// freedom, by Wilson and Hilferty.
fn limit(count: usize) -> f64 {
    let unit = 2.0 / (9.0 * (count.max(2) - 1) as f64);
    (1.0 - unit - 1.644_853_626_951_472_7 * unit.sqrt()).max(0.15).powi(-3)
}

/// The variance of P(Z > -place) where the place is normal with this mean and variance.
fn without_ends(_: Shape, mean: f64, variance: f64) -> f64 {
    /// Gauss's places and weights on [-1, 1].
    const GAUSS: [[f64; 2]; 4] = [
        [0.183_434_642_495_649_8, 0.362_683_783_378_362],
        [0.525_532_409_916_329, 0.313_706_645_877_887_3],
        [0.796_666_477_413_626_7, 0.222_381_034_453_374_48],
        [0.960_289_856_497_536_3, 0.101_228_536_290_376_26],
    ];
    let square = mean * mean / (1.0 + variance);
    let half = 0.5 * libm::asin(variance / (1.0 + variance));
    let at = |angle: f64| libm::exp(-square / (1.0 + libm::sin(angle)));
    let sum = GAUSS.iter().fold(0.0, |sum, [x, w]| sum + w * (at(half * (1.0 - x)) + at(half * (1.0 + x))));
    sum * half / (2.0 * PI)
}

/// The same for draws that have ends, by the trapezoidal rule over the place.
fn with_ends(shape: Shape, mean: f64, variance: f64) -> f64 {
    const STEPS: i32 = 24;
    let (deviation, mut sums) = (variance.sqrt(), [0.0; 3]);
    for step in -STEPS..=STEPS {
        let z = 5.0 * f64::from(step) / f64::from(STEPS);
        let (weight, chance) = (libm::exp(-0.5 * z * z), tail::above(shape, mean + z * deviation).0);
        let new = [weight, weight * chance, weight * chance * chance];
        sums.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
    }
    let [weight, first, second] = sums;
    (second / weight - (first / weight).powi(2)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the trapezoidal rule over the place, from certain arms to rare ones.
    #[test]
    fn the_variance_of_a_chance_is_that_of_integration() {
        for (mean, deviation) in
            [(0.0, 0.1), (1.0, 0.5), (-3.0, 0.3), (-6.0, 1.2), (-9.0, 2.0), (4.0, 1.0), (-2.0, 5.0)]
        {
            let (mut sums, step) = ([0.0; 2], 0.001);
            for number in -12_000..=12_000 {
                let z = step * f64::from(number);
                let weight = libm::exp(-0.5 * z * z) * step / (2.0 * PI).sqrt();
                let chance = 0.5 * libm::erfc(-(mean + deviation * z) / std::f64::consts::SQRT_2);
                sums[0] += weight * chance;
                sums[1] += weight * chance * chance;
            }
            let expected = sums[1] - sums[0] * sums[0];
            let found = without_ends(Shape::Normal, mean, deviation * deviation);
            assert!((found / expected - 1.0).abs() < 0.01, "{mean}, {deviation}: {found:e}, not {expected:e}");
        }
    }

    /// Against a table of chi^2.
    #[test]
    fn a_variance_from_few_rounds_may_be_larger() {
        for (count, quantile) in [(11, 3.940), (16, 7.261), (101, 77.929)] {
            let expected = (count - 1) as f64 / quantile;
            assert!((limit(count) / expected - 1.0).abs() < 0.01, "{count}: {}, not {expected}", limit(count));
        }
    }

    /// Rare arms whose chances are as different as powers of ten: the plain standard error is far too small in many of
    /// 2,000 samples of 16 rounds, this one hardly ever; and where chances vary little, it is the plain one.
    #[test]
    fn rare_arms_are_believed_though_16_rounds_hold_none_of_their_chances() {
        let draws = crate::Round::new(5, 1).draws(0, crate::Stream(300));
        for (mean, deviation, rare) in [(-5.0, 1.0, true), (-4.0, 0.7, true), (0.3, 0.1, false)] {
            let truth = 0.5 * libm::erfc(-mean / f64::sqrt(2.0 * (1.0 + deviation * deviation)));
            let (mut plain, mut far, mut errors, mut squares) = (0, 0, 0.0, 0.0);
            for sample in 0..2_000 {
                let places = (0..16).map(|number| mean + deviation * draws.normal(sample << 4 | number));
                let chances: Vec<Chance> = places.map(|place| Chance::at(Shape::Normal, place)).collect();
                let mut averages = Averages::new(Shape::Normal, 1);
                chances.iter().for_each(|&chance| averages.add(std::iter::once(chance)));
                let found = averages.inclusion();
                let (off, error) = (found.probabilities[0] - truth, found.standard_errors[0]);
                let spread: f64 = chances.iter().map(|of| (of.chance - found.probabilities[0]).powi(2)).sum();
                plain += usize::from(off.abs() > 4.0 * (spread / 240.0).sqrt());
                far += usize::from(off.abs() > 4.0 * error);
                errors += error * error;
                squares += off * off;
            }
            assert!(far <= 10, "{mean}, {deviation}: {far} of 2,000 beyond 4 standard errors");
            if rare {
                assert!(plain > 200, "{mean}, {deviation}: the plain one fails in {plain} only");
            } else {
                let ratio = f64::sqrt(errors / squares);
                assert!((0.95..1.2).contains(&ratio), "{mean}, {deviation}: {ratio} times what it strays");
            }
        }
    }

    /// A uniform draw whose bar is around its upper end: by hand, E max(0, X)^p of a normal X of small variance.
    #[test]
    fn draws_with_ends_stray_by_what_is_above_the_end() {
        let deviation = 0.01;
        let found = with_ends(Shape::Uniform, -1.0, deviation * deviation);
        let expected = deviation * deviation * (0.5 - 0.5 / PI);
        assert!((found / expected - 1.0).abs() < 0.01, "{found:e}, not {expected:e}");
        // None of the rounds at hand need have shown a chance above 0.
        assert!(with_ends(Shape::Uniform, -1.02, deviation * deviation) > 0.0);
    }
}
