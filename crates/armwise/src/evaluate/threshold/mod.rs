//! Probabilities by quadrature over the threshold: exact where the best arms of a set are chosen.
//!
//! With independent scores S_i, an arm is among the k best if at most k - 1 of the others score above it:
//!
//! ```text
//! pi_i = integral f_i(t) H_i(t) dt,     H_i(t) = P(at most k - 1 of the others score above t)
//! ```
//! H_i depends on the arm through q_i(t) = P(S_i > t) alone, so what all arms share is kept at a few places t: the law of
//! the threshold. [`range`] finds where it lies, [`quadrature`] the places, [`sums`] adds over all arms, [`count`] makes
//! the law of the count of it, [`law`] gives pi. Arms without width are points: there H has a step, so the range is cut
//! at them, and ties among them follow the tie rule.

mod count;
mod law;
mod quadrature;
mod range;
mod sums;

pub(super) use law::{Part, Rank};
pub(super) use quadrature::nodes;

use super::spread::Shape;
use super::tail;
use count::{Count, Roots};
use law::{Node, Point};
use range::Range;
use sums::{Field, Powers};

/// Arms times places that are looked at, at most: some seconds of work. Sets that need more are left to sampling.
const WORK: usize = 3_000_000_000;
/// Panels at most.
const PANELS: usize = 4_000;
/// An arm is narrow if its scale is below this share of the range: then the range is cut around it.
const NARROW: f64 = 0.03;
/// Where the range is cut around a narrow normal arm, in units of its scale: within its reach.
const AROUND: [f64; 5] = [-5.5, -2.5, 0.0, 2.5, 5.5];

/// One over the scale of an arm; none for an arm without width, or with one that is lost in the rounding of its score.
pub(super) fn inverse(location: f64, scale: f64) -> Option<f64> {
    let inverse = 1.0 / scale;
    (scale > 1e-14 * location.abs() && inverse.is_finite()).then_some(inverse)
}

/// A set of arms that compete with each other and with no others.
pub(super) struct Set {
    field: Field,
    /// Locations of arms without width, the highest first.
    points: Vec<f64>,
}

impl Set {
    /// From location and scale of each arm.
    pub(super) fn new(shape: Shape, arms: impl Iterator<Item = [f64; 2]>) -> Self {
        let (mut locations, mut inverses, mut points) = (Vec::new(), Vec::new(), Vec::new());
        for [location, scale] in arms {
            match inverse(location, scale) {
                Some(inverse) => {
                    locations.push(location);
                    inverses.push(inverse);
                }
                None => points.push(location + 0.0),
            }
        }
        points.sort_unstable_by(|a, b| b.total_cmp(a));
        Self { field: Field { shape, locations, inverses }, points }
    }

    fn len(&self) -> usize {
        self.field.locations.len() + self.points.len()
    }

    /// The law by which the best `min` of the arms are chosen, and up to `max` of those that score above 0. None if it
    /// would take too long.
    pub(super) fn between(&self, min: usize, max: usize) -> Option<Vec<Part>> {
        if min == max {
            return Some(vec![self.part(min, None, None)?]);
        }
        Some(vec![self.part(max, Some(0.0), None)?, self.part(min, None, Some(0.0))?])
    }

    /// The law of the k best, for scores above `from` and not above `to`.
    fn part(&self, k: usize, from: Option<f64>, to: Option<f64>) -> Option<Part> {
        let empty = |top| Part { from, to, top, nodes: Vec::new(), points: Vec::new() };
        if k == 0 {
            return Some(empty(None));
        }
        if k >= self.len() {
            return Some(empty(Some(f64::MIN)));
        }
        let Range { low, high, field, certain } = range::find(&self.field, &self.points, k);
        let (low, high) = (from.map_or(low, |from| low.max(from)), to.map_or(high, |to| high.min(to)));
        if low >= high {
            // Either every score that counts is above the range, or none is.
            return Some(empty(Some(high).filter(|high| from.is_some_and(|from| from >= *high))));
        }
        let inside: Vec<f64> = self.points.iter().copied().filter(|&at| at > low && at <= high).rev().collect();
        let cuts = cuts(&field, &inside, low, high)?;
        let nodes = quadrature::nodes(&cuts.at, |from, to| cuts.fineness(&field, from, to));
        if nodes.len().saturating_mul(field.locations.len()) > WORK {
            return None;
        }
        let mut distinct = inside;
        distinct.dedup();
        let places: Vec<f64> = nodes.iter().map(|node| node[0]).chain(distinct.iter().copied()).collect();
        let counts = self.counts(&field, certain, k, &places);
        let node = |([at, weight], count): (&[f64; 2], &Count)| {
            let [low, high] = count.without_one();
            Node { at: *at, weight: *weight, low, high }
        };
        let point = |(&at, count): (&f64, &Count)| {
            let tied = self.points.iter().filter(|point| point.total_cmp(&at).is_eq()).count();
            Point::new(at, &count.at_most(), tied)
        };
        Some(Part {
            from,
            to,
            top: Some(high.min(to.unwrap_or(high))),
            points: distinct.iter().zip(&counts[nodes.len()..]).map(point).collect(),
            nodes: nodes.iter().zip(&counts).map(node).collect(),
        })
    }

    /// The law of how many arms score above each place; points at the place itself do not count.
    fn counts(&self, field: &Field, certain: usize, k: usize, places: &[f64]) -> Vec<Count> {
        /// The largest product of a probability and e^{iu} - 1 for which the power series is taken.
        const SMALL: f64 = 0.08;
        let few = field.locations.len() < 4_096;
        let samples: Vec<f64> = places.iter().step_by(places.len().div_ceil(8)).copied().collect();
        let variance = |of: &sums::Moments| of.variance;
        let least = if few { 0.0 } else { field.moments(&samples).iter().map(variance).fold(f64::MAX, f64::min) };
        let small = (SMALL / count::reach(0.7 * least)).min(0.5);
        let mut powers = field.powers(places, small);
        // Where the variance turns out to be smaller, more frequencies count and fewer probabilities are small.
        let bad = |powers: &Powers| small * count::reach(powers.variance()) > 1.4 * SMALL;
        let again: Vec<usize> = (0..places.len()).filter(|&place| bad(&powers[place])).collect();
        let again_at: Vec<f64> = again.iter().map(|&place| places[place]).collect();
        for (place, found) in again.into_iter().zip(field.powers(&again_at, 0.5 * SMALL)) {
            powers[place] = found;
        }
        let above = |at: f64| self.points.partition_point(|point| *point > at);
        let shift = |at: f64| (certain + above(at)).cast_signed() - k.cast_signed();
        // The window must hold the mass of every count, and k.
        let far = |(powers, &at): (&Powers, &f64)| {
            let sums = powers.above[0] - powers.below[0] + powers.others.iter().sum::<f64>();
            let mean = sums + powers.nearly_all as f64 + shift(at) as f64;
            mean.abs() + 9.0 * powers.variance().sqrt() + 40.0
        };
        let far = powers.iter().zip(places).map(far).fold(0.0, f64::max);
        #[expect(clippy::cast_sign_loss, reason = "a count of arms")]
        let half = (far as usize).min(self.len()) + 2;
        let roots = Roots::new(half);
        crate::tasks::map(places.len(), || (), |(), place| Count::new(&powers[place], shift(places[place]), &roots))
    }
}

/// Where the range is cut, and what is as narrow as a single arm.
struct Cuts {
    at: Vec<f64>,
    /// The narrow arms: where they begin and end, and the length within which they vary.
    narrow: Vec<[f64; 3]>,
    /// The smallest scale of the other arms in the range.
    wide: f64,
}

fn cuts(field: &Field, points: &[f64], low: f64, high: f64) -> Option<Cuts> {
    let [first, last] = tail::core(field.shape);
    let mut cuts = Cuts { at: vec![low, high], narrow: Vec::new(), wide: f64::INFINITY };
    cuts.at.extend(points);
    for (location, inverse) in field.locations.iter().zip(&field.inverses) {
        let scale = 1.0 / inverse;
        let (begin, end) = (location + first * scale, location + last * scale);
        if end <= low || begin >= high {
            continue;
        }
        let fine = scale * tail::fineness(field.shape);
        let narrow = fine < NARROW * (high - low);
        if tail::has_ends(field.shape) || narrow {
            cuts.at.extend([begin, end].iter().filter(|&&at| at > low && at < high));
        }
        if narrow {
            let around = AROUND.iter().filter(|_| !tail::has_ends(field.shape)).map(|z| location + z * scale);
            cuts.at.extend(around.filter(|&at| at > low && at < high));
            cuts.narrow.push([begin, end, fine]);
        } else {
            cuts.wide = cuts.wide.min(fine);
        }
        if cuts.at.len() > PANELS {
            return None;
        }
    }
    cuts.at.sort_unstable_by(f64::total_cmp);
    cuts.at.dedup();
    Some(cuts)
}

impl Cuts {
    /// The length within which everything between two cuts varies: the scales of the arms there, and the standard
    /// deviation of the count over the rate at which its mean falls.
    fn fineness(&self, field: &Field, from: f64, to: f64) -> f64 {
        let narrow = self.narrow.iter().filter(|[begin, end, _]| *end > from && *begin < to).map(|of| of[2]);
        let scale = narrow.fold(self.wide, f64::min);
        let places: Vec<f64> = (0..5).map(|place| from + (to - from) * (f64::from(place) + 0.5) / 5.0).collect();
        let places = if self.at.len() > 100 { &places[2..3] } else { &places[..] };
        let ratio = |of: sums::Moments| of.variance.sqrt().max(0.7) / of.slope.max(1e-300);
        let threshold = field.moments(places).into_iter().map(ratio).fold(f64::INFINITY, f64::min);
        let squares = 1.0 / (scale * scale) + 1.0 / (threshold * threshold);
        (1.0 / squares.sqrt()).min(to - from)
    }
}
