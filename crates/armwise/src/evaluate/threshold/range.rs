//! Where the threshold lies: from where on it is certain that at least k arms score above, to where it is certain that
//! fewer do. Certain means up to 1e-16, by inequalities that hold for every count of independent events (Bernstein;
//! Chernoff for counts with small means, and for those of the arms below).

#![allow(clippy::needless_range_loop, reason = "loops over several arrays at once")]

use super::sums::{Field, Moments};
use crate::evaluate::tail;

/// The logarithm of what is certain.
const CERTAIN: f64 = -37.0;
/// Places that are looked at from either end in a pass.
const SECTIONS: usize = 8;

/// The range of the threshold and the arms that matter in it.
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The arms that may score in the range.
    pub(super) field: Field,
    /// How many others are above it for certain.
    pub(super) certain: usize,
}

/// Finds the range of the k-th best of more than k arms.
pub(super) fn find(field: &Field, points: &[f64], k: usize) -> Range {
    let n = (field.locations.len() + points.len()) as f64;
    let (mut field, mut certain) = (field.clone(), 0);
    let [first, last] = tail::reach(field.shape);
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for (location, inverse) in field.locations.iter().zip(&field.inverses) {
        least = least.min(location + first / inverse);
        most = most.max(location + last / inverse);
    }
    if let (Some(&top), Some(&bottom)) = (points.first(), points.last()) {
        (least, most) = (least.min(bottom), most.max(top));
    }
    let room = 1e-9 * (most - least) + 1e-12 * (most.abs() + least.abs()) + 1e-300;
    // Of each end a place where it is certain and one where it is not.
    let (mut low, mut high) = ([least - room, most + room], [most + room, least - room]);
    let mut width = most - least + 2.0 * room;
    for _ in 0..24 {
        let between =
            |ends: [f64; 2], place: usize| ends[0] + (ends[1] - ends[0]) * (place + 1) as f64 / (SECTIONS + 1) as f64;
        let places: Vec<f64> =
            (0..SECTIONS).map(|p| between(low, p)).chain((0..SECTIONS).map(|p| between(high, p))).collect();
        let mut moments = field.moments(&places);
        for (moments, at) in moments.iter_mut().zip(&places) {
            moments.mean += (certain + points.partition_point(|point| point > at)) as f64;
        }
        low = narrowed(low, &places[..SECTIONS], |place| at_most(&moments[place], n, (k - 1) as f64) <= CERTAIN);
        high =
            narrowed(high, &places[SECTIONS..], |place| at_least(&moments[SECTIONS + place], n, k as f64) <= CERTAIN);
        // What cannot score between what is certain of either end does not change there.
        certain += keep(&mut field, low[0], high[0]);
        width = width.min(high[0] - low[0]);
        if (low[1] - low[0]).max(high[0] - high[1]) <= 0.02 * width {
            break;
        }
    }
    Range { low: low[0], high: high[0], field, certain }
}

/// The ends [certain, not certain] after a look at places in between, from the first to the second.
fn narrowed(ends: [f64; 2], places: &[f64], is_certain: impl Fn(usize) -> bool) -> [f64; 2] {
    match (0..places.len()).take_while(|&place| is_certain(place)).last() {
        None => [ends[0], places[0]],
        Some(last) => [places[last], places.get(last + 1).copied().unwrap_or(ends[1])],
    }
}

/// Keeps the arms that may score between two places, and says how many are above both.
fn keep(field: &mut Field, low: f64, high: f64) -> usize {
    let [first, last] = tail::reach(field.shape);
    let (mut kept, mut above) = (0, 0);
    for place in 0..field.locations.len() {
        let (location, inverse) = (field.locations[place], field.inverses[place]);
        if location + first / inverse >= high {
            above += 1;
        } else if location + last / inverse > low {
            (field.locations[kept], field.inverses[kept]) = (location, inverse);
            kept += 1;
        }
    }
    field.locations.truncate(kept);
    field.inverses.truncate(kept);
    above
}

/// The logarithm of a bound of P(count <= m).
fn at_most(of: &Moments, n: f64, m: f64) -> f64 {
    bernstein(of.mean - m, of.variance).min(fewer(of.mean, m)).min(more(n - of.mean, n - m))
}

/// The logarithm of a bound of P(count >= m).
fn at_least(of: &Moments, n: f64, m: f64) -> f64 {
    bernstein(m - of.mean, of.variance).min(more(of.mean, m)).min(fewer(n - of.mean, n - m))
}

/// A count strays from its mean by `far`.
fn bernstein(far: f64, variance: f64) -> f64 {
    if far <= 0.0 { 0.0 } else { -far * far / (2.0 * (variance + far / 3.0)) }
}

/// A count of this mean is at most m.
fn fewer(mean: f64, m: f64) -> f64 {
    if mean <= m { 0.0 } else { -mean + if m > 0.0 { m + m * libm::log(mean / m) } else { 0.0 } }
}

/// A count of this mean is at least m.
fn more(mean: f64, m: f64) -> f64 {
    if mean >= m {
        0.0
    } else if mean <= 0.0 {
        f64::NEG_INFINITY
    } else {
        -mean + m + m * libm::log(mean / m)
    }
}
