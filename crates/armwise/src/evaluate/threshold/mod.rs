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
mod few;
mod law;
mod panel;
mod quadrature;
mod range;
mod sums;

pub(super) use law::{KEPT, Part, Rank};
pub(super) use quadrature::nodes;

use super::spread::Shape;
use super::tail;
use crate::tasks;
use count::{Count, Roots};
use law::{Node, Point};
use panel::{Digits, Panel, Places, condensed};
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
        let empty = |top| Part { from, to, top, nodes: Vec::new(), points: Vec::new(), panels: Vec::new() };
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
        let mut panels = Vec::with_capacity(cuts.at.len() - 1);
        for pair in cuts.at.windows(2) {
            let (from, to, scale) = (pair[0], pair[1], cuts.scale(pair[0], pair[1]));
            let (fine, variance) = cuts.fineness(&field, scale, from, to);
            let nodes = quadrature::nodes(pair, 10, |_, _| fine);
            panels.push((Panel { from, to, scale, fine, variance, nodes: nodes.len(), plain: true }, nodes));
        }
        let looks = |(panel, nodes): &(Panel, Vec<[f64; 2]>)| {
            panel.places(Digits::All).map_or(nodes.len(), |count| nodes.len().min(count))
        };
        if panels.iter().map(looks).sum::<usize>().saturating_mul(field.locations.len()) > WORK {
            return None;
        }
        let mut distinct = inside;
        distinct.dedup();
        let sums = Sums { set: self, field: &field, certain, k };
        let mut all = sums.at(&distinct);
        let at: Vec<Option<Places>> = panels.iter().map(|(panel, nodes)| Sums::places(panel, nodes.len())).collect();
        for ((panel, nodes), places) in panels.iter().zip(&at) {
            let nodes: Vec<f64> = nodes.iter().map(|node| node[0]).collect();
            all.extend(match places {
                Some(places) => sums.between(panel, places, &nodes),
                None => sums.at(&nodes),
            });
        }
        let shifts: Vec<f64> = distinct
            .iter()
            .copied()
            .chain(panels.iter().flat_map(|(_, nodes)| nodes.iter().map(|node| node[0])))
            .collect();
        let made = sums.counts(&all, &shifts, distinct.len());
        let points = distinct.iter().zip(&made).map(|(&at, made)| {
            let tied = self.points.iter().filter(|point| point.total_cmp(&at).is_eq()).count();
            Point::new(at, &made[0], tied)
        });
        let points = points.collect();
        let mut made = made.into_iter().skip(distinct.len());
        let (mut nodes, mut kept) = (Vec::new(), Vec::with_capacity(panels.len()));
        for ((mut panel, own), places) in panels.into_iter().zip(&at) {
            let own = own.iter().zip(&mut made).map(|([at, weight], [low, high])| {
                let (at, weight) = (*at, *weight);
                Node { at, weight, low, high }
            });
            let own: Vec<Node> = own.collect();
            let own = places.as_ref().map_or_else(|| own.clone(), |places| condensed(&own, places));
            (panel.nodes, panel.plain) = (own.len(), places.is_none());
            nodes.extend(own);
            kept.push(panel);
        }
        Some(Part { from, to, top: Some(high.min(to.unwrap_or(high))), points, nodes, panels: kept })
    }
}

/// The sums over a set's arms from which the law of the count is made.
struct Sums<'a> {
    set: &'a Set,
    field: &'a Field,
    certain: usize,
    k: usize,
}

/// The largest product of a probability and e^{iu} - 1 for which the power series is taken.
const SMALL: f64 = 0.08;
/// From this variance of the count on, the power series serves for all arms: where |e^{iu} - 1| is so large that its 17th
/// power matters, the characteristic function itself is below 1e-15.
const LARGE: f64 = 300.0;

impl Sums<'_> {
    /// The sums at each place; points at the place itself do not count.
    fn at(&self, places: &[f64]) -> Vec<Powers> {
        if places.is_empty() {
            return Vec::new();
        }
        let few = self.field.locations.len() < 4_096;
        let samples: Vec<f64> = places.iter().step_by(places.len().div_ceil(8)).copied().collect();
        let least = if few { 0.0 } else { self.variance(&samples) };
        let small = (SMALL / count::reach(0.7 * least)).min(0.5);
        let mut powers = self.field.powers(places, small);
        // Where the variance turns out to be smaller, more frequencies count and fewer probabilities are small.
        let bad = |powers: &Powers| small * count::reach(powers.variance()) > 1.4 * SMALL;
        let again: Vec<usize> = (0..places.len()).filter(|&place| bad(&powers[place])).collect();
        let again_at: Vec<f64> = again.iter().map(|&place| places[place]).collect();
        for (place, found) in again.into_iter().zip(self.field.powers(&again_at, 0.5 * SMALL)) {
            powers[place] = found;
        }
        powers
    }

    /// The least variance of the count at some places.
    fn variance(&self, places: &[f64]) -> f64 {
        self.field.moments(places).iter().map(|of| of.variance).fold(f64::MAX, f64::min)
    }

    /// The places of a panel between which sums are interpolated, if that saves work.
    fn places(panel: &Panel, nodes: usize) -> Option<Places> {
        let count = panel.places(Digits::All).filter(|count| 4 * count <= 3 * nodes)?;
        Some(Places::new(panel.from, panel.to, count))
    }

    /// The sums at the nodes of a panel, interpolated between places.
    fn between(&self, panel: &Panel, places: &Places, nodes: &[f64]) -> Vec<Powers> {
        let least = self.variance(&[panel.from, 0.5 * (panel.from + panel.to), panel.to]);
        let small = if least >= LARGE { None } else { Some((SMALL / count::reach(0.7 * least)).min(0.5)) };
        let shares: Vec<Vec<f64>> = nodes.iter().map(|t| places.shares(*t)).collect();
        self.field.classes(panel.from, panel.to, small).powers(&places.at, nodes, &shares)
    }

    /// What is kept of the law of the count at each place: of the first `points` how many are at most above, of the
    /// others the chances without one.
    fn counts(&self, powers: &[Powers], places: &[f64], points: usize) -> Vec<[Vec<f64>; 2]> {
        let above = |at: f64| self.set.points.partition_point(|point| *point > at);
        let shift = |at: f64| (self.certain + above(at)).cast_signed() - self.k.cast_signed();
        // The window must hold the mass of every count, and k.
        let far = |(powers, &at): (&Powers, &f64)| {
            let sums = powers.above[0] - powers.below[0] + powers.others.iter().sum::<f64>();
            let mean = sums + powers.nearly_all as f64 + shift(at) as f64;
            mean.abs() + 9.0 * powers.variance().sqrt() + 40.0
        };
        let far = powers.iter().zip(places).map(far).fold(0.0, f64::max);
        #[expect(clippy::cast_sign_loss, reason = "a count of arms")]
        let half = (far as usize).min(self.set.len()) + 2;
        let roots = Roots::new(half);
        let count = |place: usize| {
            let count = Count::new(&powers[place], shift(places[place]), &roots);
            if place < points { [count.at_most(), Vec::new()] } else { count.without_one() }
        };
        tasks::map(places.len(), || (), |(), place| count(place))
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
    /// The smallest scale of an arm between two cuts.
    fn scale(&self, from: f64, to: f64) -> f64 {
        let narrow = self.narrow.iter().filter(|[begin, end, _]| *end > from && *begin < to).map(|of| of[2]);
        narrow.fold(self.wide, f64::min)
    }

    /// The length within which everything between two cuts varies: the scales of the arms there, and the standard
    /// deviation of the count over the rate at which its mean falls.
    /// Also the least variance of the count.
    fn fineness(&self, field: &Field, scale: f64, from: f64, to: f64) -> (f64, f64) {
        let places: Vec<f64> = (0..5).map(|place| from + (to - from) * (f64::from(place) + 0.5) / 5.0).collect();
        let places = if self.at.len() > 100 { &places[2..3] } else { &places[..] };
        let ratio = |of: sums::Moments| of.variance.sqrt().max(0.7) / of.slope.max(1e-300);
        let moments = field.moments(places);
        let variance = moments.iter().map(|of| of.variance).fold(f64::INFINITY, f64::min);
        let threshold = moments.into_iter().map(ratio).fold(f64::INFINITY, f64::min);
        let squares = 1.0 / (scale * scale) + 1.0 / (threshold * threshold);
        ((1.0 / squares.sqrt()).min(to - from), variance)
    }
}
