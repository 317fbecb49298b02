//! Intervals that are certain to hold the scores: from a look in f32, or from the means alone.
//!
//! A look at the means costs d operations to an arm in place of d^2. The width is then known only as
//! far as its [span](crate::model::Widths), which is enough to leave out most arms where the spectrum of V is not too wide beside
//! what the means differ by. Both looks give intervals around the score as the f64 path computes it, rounding
//! included, so whatever is left out by them would be left out by the scores in f64.
//!
//! # The intervals of the look in f32
//! Let M = direction . x and Y = W x for the f64 numbers as they are, u = 2^-24, gamma(n) = n u / (1 - n u), F = |W|_F.
//! In f32 the elements of x, of the direction and of W are each rounded once, and a sum of d products, fused or not,
//! rounds each of them at most d + 1 times more, so with Cauchy-Schwarz
//! ```text
//! |dot - M| <= gamma(d + 3) |direction| |x|,    |y - Y| <= gamma(d + 3) F |x|,
//! |width - |Y|| <= gamma(2d + 5) F |x|          (the squares and their root round d + 2 times more)
//! ```
//! The f64 path obeys the same with 2^-53 in place of u, which is less than one more unit in n, and so is the rounding
//! of dot + g width with the coefficient g, which is made in f64 here and there. The norm of x is itself found in f32,
//! at most gamma(d + 4) off. Together, for n = 2d + 8 and n u <= 0.005:
//! ```text
//! |score - scan| <= 1.01 gamma(n) |x| (|direction| + |g| F) + 2^-50 |scan| + tiny
//! ```
//! The second term is for a flat bonus, which may be large beside the rest. The third is for numbers below the range of
//! f32, kept as subnormals or flushed to zero: each operation then loses at most 2^-126, a root of a sum of d squares
//! at most sqrt(d) 2^-62, all of it below 2^-60 d (1 + |x|) (1 + |direction| + F) (1 + |g|). Numbers above the range
//! become infinite; then, as for any number that is not finite, nothing is left out.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::{
    Arms, Features,
    kernel::{Directions, Packed, Products},
    policy::Times,
    score::Scorer,
};

/// A norm found in f32 is at most half a percent off, for any dimension that has a band.
pub(crate) const NORM: f64 = 1.006;

/// A scorer made ready for a first look.
pub(crate) struct Rough<'a, 'p> {
    pub(crate) scorer: &'a Scorer<'p>,
    look: Look,
    pub(crate) bands: Vec<Band>,
}

/// What is looked at.
enum Look {
    Widths(Vec<Packed<f32>>),
    /// The means alone; and of each block the least and the most that a width is of the norm.
    Means(Directions, Vec<(f64, f64)>),
}

/// What a task needs room for.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) products: Products<f32>,
    ids: Vec<u64>,
    coefficients: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

impl<'a, 'p> Rough<'a, 'p> {
    /// The look in f32 at means and widths; none for dimensions beyond what f32 can tell.
    pub(crate) fn new(scorer: &'a Scorer<'p>) -> Option<Self> {
        let packed = scorer.blocks.iter().map(|block| scorer.kernel.pack_single(&block.direction, block.w()));
        let bands = scorer.blocks.iter().map(|block| Band::new(&block.direction, block.w()));
        Some(Self { scorer, look: Look::Widths(packed.collect()), bands: bands.collect::<Option<_>>()? })
    }

    /// The look at the means alone; none for dimensions beyond what f32 can tell, for few features, and for a V too near
    /// to a singular one.
    pub(crate) fn of_means(scorer: &'a Scorer<'p>) -> Option<Self> {
        let bands = scorer.blocks.iter().map(|block| Band::new(&block.direction, None)).collect::<Option<_>>()?;
        let directions: Vec<&[f64]> = scorer.blocks.iter().map(|block| &block.direction[..]).collect();
        let directions = scorer.kernel.directions(&directions)?;
        let spans = scorer.blocks.iter().map(|block| block.posterior.widths());
        let spans = spans.map(|span| (span.eta < 0.01).then_some((span.least, span.most))).collect::<Option<_>>()?;
        Some(Self { scorer, look: Look::Means(directions, spans), bands })
    }

    /// Looks at the arms of a part and calls `see` as [`intervals`](Self::intervals) does.
    pub(crate) fn bounds(&self, part: &Arms<'_>, room: &mut Room, see: impl FnMut(usize, &[f64], &[f64])) -> bool {
        self.look_at(part, &mut room.products);
        self.intervals(part, room, see)
    }

    /// Looks at the arms of a part.
    pub(crate) fn look_at(&self, part: &Arms<'_>, products: &mut Products<f32>) {
        let kernel = self.scorer.kernel;
        match (&self.look, part.features()) {
            (Look::Widths(packed), Features::F32(x)) => kernel.approximate(x, packed, products),
            (Look::Widths(packed), Features::F64(x)) => kernel.approximate(x, packed, products),
            (Look::Means(directions, _), Features::F32(x)) => kernel.means(x, directions, products),
            (Look::Means(directions, _), Features::F64(x)) => kernel.means(x, directions, products),
        }
    }

    /// Calls `see` for each block with the upper and the lower ends for the arms of a part, eligible or not, whose
    /// products are in the room. False if a number is beyond f32; then what was seen so far means nothing.
    pub(crate) fn intervals(
        &self,
        part: &Arms<'_>,
        room: &mut Room,
        mut see: impl FnMut(usize, &[f64], &[f64]),
    ) -> bool {
        let Room { products, ids, coefficients, upper, lower } = room;
        upper.resize(part.len(), 0.0);
        lower.resize(part.len(), 0.0);
        for (block, scorer) in self.scorer.blocks.iter().enumerate() {
            scorer.coefficients_of(part, ids, coefficients);
            let (dots, norms) = (products.dots(block), products.norms());
            let (times, band) = (scorer.bonus.times, self.bands[block]);
            let finite = match &self.look {
                Look::Widths(_) => {
                    let widths = products.widths(block);
                    pulp::Arch::new().dispatch(Seen { times, band, dots, widths, norms, coefficients, upper, lower })
                }
                Look::Means(_, spans) => {
                    let (span, tiny) = (spans[block], self.scorer.dim as f64 / (1_u64 << 60) as f64);
                    let spanned = Spanned { times, band, span, tiny, dots, norms, coefficients, upper, lower };
                    pulp::Arch::new().dispatch(spanned)
                }
            };
            if !finite {
                return false;
            }
            see(block, upper, lower);
        }
        true
    }
}

/// How far a block's look may be off: (slope + slope_g |g|) |x| + 2^-50 |scan| + tiny (1 + |x|) (1 + |g|).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Band {
    slope: f64,
    slope_g: f64,
    tiny: f64,
}

impl Band {
    /// The band for a direction and a W (see the head of this file); `None` for dimensions beyond its derivation.
    pub(crate) fn new(direction: &[f64], w: Option<&[f64]>) -> Option<Self> {
        let norm = |all: &[f64]| all.iter().map(|x| x * x).sum::<f64>().sqrt() * (1.0 + 1e-6);
        let (direction, w, d) = (norm(direction), w.map_or(0.0, norm), direction.len() as f64);
        let n_u = (2.0 * d + 8.0) / f64::from(1 << 24);
        let gamma = 1.01 * n_u / (1.0 - n_u);
        let tiny = d * (1.0 + direction + w) / (1_u64 << 60) as f64;
        (n_u <= 0.005).then_some(Self { slope: gamma * direction, slope_g: gamma * w, tiny })
    }

    /// The band for means of features that may each be off by a part of themselves.
    pub(crate) fn coarse(direction: &[f64], off: f64) -> Option<Self> {
        let Self { slope, slope_g, tiny } = Self::new(direction, None)?;
        let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt() * (1.0 + 1e-6);
        // Twice rounded: the product of both errors is far below a hundredth.
        Some(Self { slope: slope + 1.01 * off * norm, slope_g, tiny })
    }

    /// How far a width may be off.
    #[inline(always)]
    pub(crate) fn of_width(self, norm: f64) -> f64 {
        self.slope_g * norm + self.tiny * (1.0 + norm)
    }

    /// How far direction . x may be off.
    #[inline(always)]
    pub(crate) fn of_dot(self, norm: f64) -> f64 {
        self.slope * norm + self.tiny * (1.0 + norm)
    }

    /// How far a score may be off.
    #[inline(always)]
    pub(crate) fn of(self, scan: f64, norm: f64, g: f64) -> f64 {
        const ROUNDING: f64 = 1.0 / (1_u64 << 50) as f64;
        let g = g.abs();
        (self.slope + self.slope_g * g) * norm + ROUNDING * scan.abs() + self.tiny * (1.0 + norm) * (1.0 + g)
    }
}

/// The intervals of a part's arms from means and widths, compiled for the widest registers of the machine; false if
/// one is not finite.
struct Seen<'a> {
    times: Times,
    band: Band,
    dots: &'a [f32],
    widths: &'a [f32],
    norms: &'a [f32],
    coefficients: &'a [f64],
    upper: &'a mut [f64],
    lower: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Seen<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let n = self.upper.len();
        let (dots, widths, norms) = (&self.dots[..n], &self.widths[..n], &self.norms[..n]);
        let (coefficients, lower) = (&self.coefficients[..n], &mut self.lower[..n]);
        let mut finite = true;
        for row in 0..n {
            let g = coefficients[row];
            let scan = f64::from(dots[row]) + self.times.of(g, f64::from(widths[row]));
            let band = self.band.of(scan, f64::from(norms[row]), g);
            (self.upper[row], lower[row]) = (scan + band, scan - band);
            finite &= (scan + band).is_finite();
        }
        finite
    }
}

/// The same from the means alone, with widths anywhere in their span.
struct Spanned<'a> {
    times: Times,
    band: Band,
    span: (f64, f64),
    /// What a norm may have lost below the range of f32.
    tiny: f64,
    dots: &'a [f32],
    norms: &'a [f32],
    coefficients: &'a [f64],
    upper: &'a mut [f64],
    lower: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Spanned<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let n = self.upper.len();
        let (dots, norms) = (&self.dots[..n], &self.norms[..n]);
        let (coefficients, lower) = (&self.coefficients[..n], &mut self.lower[..n]);
        let (least, most) = self.span;
        let mut finite = true;
        for row in 0..n {
            let (dot, norm, g) = (f64::from(dots[row]), f64::from(norms[row]), coefficients[row]);
            let above = norm * NORM + self.tiny;
            let narrow = self.times.of(g, least * (norm * (1.0 / NORM) - self.tiny).max(0.0));
            let wide = self.times.of(g, most * above);
            let (up, down) = (narrow.max(wide), narrow.min(wide));
            let band = self.band.of_dot(above) + 1e-12 * (dot.abs() + narrow.abs() + wide.abs());
            (self.upper[row], lower[row]) = (dot + up + band, dot + down - band);
            finite &= (dot + up + band).is_finite() & (dot + down - band).is_finite();
        }
        finite
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, ArmWiseTs, C2ucb, Model, Observation, Pc2ucb, Posterior, Round, Stream};

    /// Whatever the spectrum, the size of the numbers and the storage, no score is outside of its interval.
    #[test]
    fn the_intervals_hold_the_scores() {
        const N: usize = 300;
        for (d, decay, scale) in [(16, 1.0, 1.0), (17, 0.6, 1.0), (30, 1.0, 1e-25), (51, 0.9, 1e4), (64, 1.0, 1e-3)] {
            let draws = Round::new(5, 1).draws(0, Stream(300));
            let feature = |id: u64| scale * draws.normal(id) * f64::powi(decay, (id % d as u64) as i32);
            let wide: Vec<f64> = (0..(N * d) as u64).map(feature).collect();
            let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
            let mut model = Model::new(d, 2).expect("shape");
            for (place, x) in wide.chunks(d).enumerate().take(2 * d) {
                let block = (place % 2) as u32;
                model.observe(&Observation { t: 1, block, x, reward: x[0] + x[d - 1] }).expect("finite");
            }
            let posteriors: Vec<Posterior> =
                (0..2).map(|block| model.posterior(block, 0.5).expect("factors")).collect();
            let algorithms = [
                Algorithm::C2ucb(C2ucb { lambda: 0.5, alpha: 3.0.into() }),
                Algorithm::Pc2ucb(Pc2ucb { lambda: 0.5, alpha: 0.3.into(), c: 1.0 }),
                Algorithm::ArmWiseTs(ArmWiseTs { lambda: 0.5, v: 30.0.into() }),
            ];
            for (algorithm, features) in algorithms
                .iter()
                .flat_map(|algorithm| [(algorithm, Features::F64(&wide)), (algorithm, Features::F32(&narrow))])
            {
                let scorer = Scorer::new(algorithm, &posteriors, Round::new(1, 2)).expect("direction");
                let arms = Arms::new(features, d).expect("rows");
                let scores = scorer.score(&arms).expect("finite");
                for rough in [Rough::new(&scorer), Rough::of_means(&scorer)] {
                    let finite = rough.expect("ordinary").bounds(&arms, &mut Room::default(), |block, upper, lower| {
                        for row in 0..N {
                            let (score, range) = (scores[2 * row + block], lower[row]..=upper[row]);
                            assert!(range.contains(&score), "d = {d}, scale {scale:e}: {score} in {range:?}");
                        }
                    });
                    assert!(finite, "d = {d}, scale {scale:e}");
                }
            }
        }
    }
}
