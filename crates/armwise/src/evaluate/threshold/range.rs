//! Where the threshold lies: from where on it is certain that at least k arms score above, to where it is certain that
//! fewer do. Certain means up to 1e-16, by inequalities that hold for every count of independent events (Bennett's;
//! Chernoff's for counts with small means, and for those of the arms below).

use super::sums::{Field, Moments};

/// The logarithm of what is certain.
const CERTAIN: f64 = -37.0;
/// Places that are looked at from either end in a pass.
const SECTIONS: usize = 6;

/// The range of the threshold and the arms that matter in it.
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The arms that may score in the range.
    pub(super) field: Field,
    /// How many others are above it for certain.
    pub(super) certain: usize,
}

/// From so many arms on, a sample says where to look.
const MANY: usize = 1 << 16;
/// One arm of so many is in the sample.
const SAMPLE: usize = 16;

/// Finds the range of the k-th best of more than k arms.
pub(super) fn find(field: &Field, points: &[f64], k: usize) -> Range {
    if field.locations.len() >= MANY {
        let (sample, times) = (field.sample(SAMPLE), SAMPLE as f64);
        let every: Vec<f64> = points.iter().copied().step_by(SAMPLE).collect();
        let rough = Search { points: &every, k: k as f64, times, fine: 0.2 }.run(&sample, None);
        // Four times what a sample is off, where the range is as wide as 18 standard deviations of the count.
        let room = (4.0 * times.sqrt() / 18.0) * (rough.high - rough.low);
        let around = |at: f64| [at - room, at + room];
        let search = Search { points, k: k as f64, times: 1.0, fine: 0.05 };
        let found = search.run(field, Some([around(rough.low), around(rough.high)]));
        if found.low > f64::NEG_INFINITY {
            return found;
        }
    }
    Search { points, k: k as f64, times: 1.0, fine: 0.02 }.run(field, None)
}

/// A search for the range.
struct Search<'a> {
    points: &'a [f64],
    k: f64,
    /// How many arms each one stands for.
    times: f64,
    /// The share of the range that its ends may be off.
    fine: f64,
}

impl Search<'_> {
    /// Searches, between given places for either end or between all. The range begins at -infinity if the given places
    /// turn out not to hold the ends.
    fn run(&self, field: &Field, around: Option<[[f64; 2]; 2]>) -> Range {
        let n = (field.locations.len() + self.points.len()) as f64 * self.times;
        let whole = || {
            let [mut least, mut most] = field.ends();
            if let (Some(&top), Some(&bottom)) = (self.points.first(), self.points.last()) {
                (least, most) = (least.min(bottom), most.max(top));
            }
            let room = 1e-9 * (most - least) + 1e-12 * (most.abs() + least.abs()) + 1e-300;
            [[least - room, most + room], [least - room, most + room]]
        };
        // Of each end a place where it is certain and one where it is not.
        let [mut low, high] = around.unwrap_or_else(whole);
        let mut high = [high[1], high[0]];
        let mut checked = around.is_none();
        let (mut field, mut certain) = field.between(low[0], high[0]);
        let mut width = high[0] - low[0];
        for _ in 0..24 {
            // Both ends themselves are looked at first, if nobody has.
            let steps = if checked { 1..SECTIONS + 1 } else { 0..SECTIONS };
            let between =
                |ends: [f64; 2], step: usize| ends[0] + (ends[1] - ends[0]) * step as f64 / (SECTIONS + 1) as f64;
            let places: Vec<f64> =
                [low, high].iter().flat_map(|ends| steps.clone().map(|step| between(*ends, step))).collect();
            let mut moments = field.moments(&places);
            for (moments, at) in moments.iter_mut().zip(&places) {
                let above = (certain + self.points.partition_point(|point| point > at)) as f64;
                moments.mean = self.times * (moments.mean + above);
                moments.variance *= self.times;
            }
            let k = self.k;
            let low_is = |place: usize| at_most(&moments[place], n, k - 1.0) <= CERTAIN;
            let high_is = |place: usize| at_least(&moments[SECTIONS + place], n, k) <= CERTAIN;
            if !(checked || low_is(0) && high_is(0)) {
                return Range { low: f64::NEG_INFINITY, high: f64::INFINITY, field, certain };
            }
            checked = true;
            low = narrowed(low, &places[..SECTIONS], low_is);
            high = narrowed(high, &places[SECTIONS..], high_is);
            // What cannot score between what is certain of either end does not change there.
            let (kept, above) = field.between(low[0], high[0]);
            (field, certain) = (kept, certain + above);
            width = width.min(high[0] - low[0]);
            if (low[1] - low[0]).max(high[0] - high[1]) <= self.fine * width {
                break;
            }
        }
        Range { low: low[0], high: high[0], field, certain }
    }
}

/// The ends [certain, not certain] after a look at places in between, from the first to the second.
fn narrowed(ends: [f64; 2], places: &[f64], is_certain: impl Fn(usize) -> bool) -> [f64; 2] {
    match (0..places.len()).take_while(|&place| is_certain(place)).last() {
        None => [ends[0], places[0]],
        Some(last) => [places[last], places.get(last + 1).copied().unwrap_or(ends[1])],
    }
}

/// The logarithm of a bound of P(count <= m).
fn at_most(of: &Moments, n: f64, m: f64) -> f64 {
    bennett(of.mean - m, of.variance).min(fewer(of.mean, m)).min(more(n - of.mean, n - m))
}

/// The logarithm of a bound of P(count >= m).
fn at_least(of: &Moments, n: f64, m: f64) -> f64 {
    bennett(m - of.mean, of.variance).min(more(of.mean, m)).min(fewer(n - of.mean, n - m))
}

/// A count strays from its mean by `far`, with Bennett's inequality.
fn bennett(far: f64, variance: f64) -> f64 {
    if far <= 0.0 {
        return 0.0;
    }
    let variance = variance.max(1e-300);
    let u = far / variance;
    -variance * ((1.0 + u) * libm::log1p(u) - u)
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
