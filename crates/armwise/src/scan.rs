//! A first look in f32 that leaves out arms which cannot be among the k best.
//!
//! The decision to know: the answer is exact. Every arm gets an interval that is certain to hold its f64 score; an arm is
//! left out only if its upper end is below the lower ends of k other arms. What is left is scored in f64 by the usual
//! path, so the choice, ties included, is the one that all scores in f64 would give, to the bit.
//!
//! # The interval
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
    catalogue::{Memory, Part, rounded_up},
    kernel::{Packed, Products},
    policy::Times,
    scoring::{PARALLEL, Scorer, rows_per_task},
};
use rayon::prelude::*;
use std::{
    cmp::Ordering,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// Below this many multiplications all arms are scored in f64 straight away.
const WORTHWHILE: usize = 1 << 22;
/// Once more than one arm in so many is kept, all are scored in f64.
pub(crate) const FEW: usize = 10;

/// The rows that can be among the k best arms, ascending; `None` if it is better, or needed, to score all of them.
pub(crate) fn shortlist(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
    shortlist_from(scorer, arms, k, None)
}

/// As [`shortlist`]; with panels of the same arms, these are read, and what is found is written down.
pub(crate) fn shortlist_from(
    scorer: &Scorer<'_>,
    arms: &Arms<'_>,
    k: usize,
    panels: Option<(&[f32], &Memory)>,
) -> Option<Vec<usize>> {
    let (blocks, d) = (scorer.blocks.len(), scorer.dim);
    let places = arms.len() * blocks;
    let worthwhile = is_worthwhile(scorer, arms) && k > 0 && k.saturating_mul(FEW) <= places;
    if !worthwhile || scorer.check(arms).is_err() {
        return None;
    }
    let scan = Scan::new(scorer, arms, k, panels)?;
    let tasks = arms.len().div_ceil(scan.rows_per_task);
    let states: Vec<State> = if places * d * d < PARALLEL || rayon::current_num_threads() == 1 {
        let mut state = State::new(k);
        (0..tasks).for_each(|task| scan.task(&mut state, task));
        vec![state]
    } else {
        let step = |mut state, task| {
            scan.task(&mut state, task);
            state
        };
        (0..tasks).into_par_iter().fold(|| State::new(k), step).collect()
    };
    if scan.stop.load(Relaxed) {
        return None;
    }
    let mut all = Kept::new(k);
    states.into_iter().for_each(|state| all.arms.extend(state.kept.arms));
    all.cut();
    if all.arms.len() < k || all.arms.len() * FEW > places {
        return None;
    }
    let mut rows: Vec<usize> = all.arms.iter().map(|arm| arm.place / blocks).collect();
    rows.sort_unstable();
    rows.dedup();
    Some(rows)
}

/// Whether a first look costs less than it can save.
pub(crate) fn is_worthwhile(scorer: &Scorer<'_>, arms: &Arms<'_>) -> bool {
    let multiplications = (arms.len() * scorer.blocks.len()).saturating_mul(scorer.dim * scorer.dim);
    scorer.blocks.iter().any(|block| block.bonus.times == Times::Width) && multiplications >= WORTHWHILE
}

/// What all tasks of a scan share.
struct Scan<'a, 'p> {
    scorer: &'a Scorer<'p>,
    arms: &'a Arms<'a>,
    panels: Option<(&'a [f32], &'a Memory)>,
    packed: Vec<Packed<f32>>,
    bands: Vec<Band>,
    rows_per_task: usize,
    /// The largest bar of any task, as [`ordered`] bits.
    bar: AtomicU64,
    /// A number was not finite, or too many arms are kept.
    stop: AtomicBool,
    most: usize,
}

/// How far a block's scan may be off: (slope + slope_g |g|) |x| + 2^-50 |scan| + tiny (1 + |x|) (1 + |g|).
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

    /// How far a width may be off.
    #[inline(always)]
    fn of_width(self, norm: f64) -> f64 {
        self.slope_g * norm + self.tiny * (1.0 + norm)
    }

    /// How far direction . x may be off.
    #[inline(always)]
    pub(crate) fn of_dot(self, norm: f64) -> f64 {
        self.slope * norm + self.tiny * (1.0 + norm)
    }

    #[inline(always)]
    fn of(self, scan: f64, norm: f64, g: f64) -> f64 {
        const ROUNDING: f64 = 1.0 / (1_u64 << 50) as f64;
        let g = g.abs();
        (self.slope + self.slope_g * g) * norm + ROUNDING * scan.abs() + self.tiny * (1.0 + norm) * (1.0 + g)
    }
}

/// The intervals of a part's arms, compiled for the widest registers of the machine; false if one is not finite.
pub(crate) struct Intervals<'a> {
    pub(crate) times: Times,
    pub(crate) band: Band,
    pub(crate) dots: &'a [f32],
    pub(crate) widths: &'a [f32],
    pub(crate) norms: &'a [f32],
    pub(crate) coefficients: &'a [f64],
    pub(crate) upper: &'a mut [f64],
    pub(crate) lower: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Intervals<'_> {
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

/// What a task has found, and its room.
struct State {
    kept: Kept,
    products: Products<f32>,
    ids: Vec<u64>,
    coefficients: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

impl State {
    fn new(k: usize) -> Self {
        Self {
            kept: Kept::new(k),
            products: Products::default(),
            ids: Vec::new(),
            coefficients: Vec::new(),
            upper: Vec::new(),
            lower: Vec::new(),
        }
    }
}

impl<'a, 'p> Scan<'a, 'p> {
    fn new(
        scorer: &'a Scorer<'p>,
        arms: &'a Arms<'a>,
        k: usize,
        panels: Option<(&'a [f32], &'a Memory)>,
    ) -> Option<Self> {
        let places = arms.len() * scorer.blocks.len();
        Some(Self {
            scorer,
            arms,
            panels,
            packed: scorer.blocks.iter().map(|block| scorer.kernel.pack_single(&block.direction, block.w())).collect(),
            bands: scorer.blocks.iter().map(|block| Band::new(&block.direction, block.w())).collect::<Option<_>>()?,
            rows_per_task: rows_per_task(scorer.kernel),
            bar: AtomicU64::new(ordered(f64::NEG_INFINITY)),
            stop: AtomicBool::new(false),
            most: (places / FEW).max(4 * k),
        })
    }

    fn task(&self, state: &mut State, task: usize) {
        if self.stop.load(Relaxed) {
            return;
        }
        let State { kept, products, ids, coefficients, upper, lower } = state;
        let first = task * self.rows_per_task;
        let part = self.arms.slice(first..self.arms.len().min(first + self.rows_per_task));
        let kernel = self.scorer.kernel;
        match (self.panels, part.features()) {
            (Some((panels, memory)), _) => {
                kernel.approximate_panels(&panels[first * self.scorer.dim..], part.len(), &self.packed, products);
                let (mut memory, band) = (memory.part(task), self.bands[0]);
                let Part { widths, dots, norms } = &mut *memory;
                let above =
                    |(&width, &norm): (&f32, &f32)| rounded_up(f64::from(width) + band.of_width(f64::from(norm)));
                widths.clear();
                widths.extend(products.widths(0).iter().zip(products.norms()).map(above));
                products.dots(0).clone_into(dots);
                products.norms().clone_into(norms);
            }
            (None, Features::F32(x)) => kernel.approximate(x, &self.packed, products),
            (None, Features::F64(x)) => kernel.approximate(x, &self.packed, products),
        }
        part.ids_into(ids);
        let (n, blocks) = (part.len(), self.scorer.blocks.len());
        upper.resize(n, 0.0);
        lower.resize(n, 0.0);
        for (block, scorer) in self.scorer.blocks.iter().enumerate() {
            scorer.coefficients(ids, coefficients);
            let intervals = Intervals {
                times: scorer.bonus.times,
                band: self.bands[block],
                dots: products.dots(block),
                widths: products.widths(block),
                norms: products.norms(),
                coefficients,
                upper,
                lower,
            };
            if !pulp::Arch::new().dispatch(intervals) {
                self.stop.store(true, Relaxed);
                return;
            }
            kept.raise(unordered(self.bar.load(Relaxed)));
            for row in 0..n {
                if upper[row] >= kept.bar && part.is_eligible(row, block) {
                    let arm = Interval { upper: upper[row], lower: lower[row], place: (first + row) * blocks + block };
                    if kept.push(arm) {
                        self.bar.fetch_max(ordered(kept.bar), Relaxed);
                    }
                }
            }
        }
        if kept.arms.len() > self.most {
            self.stop.store(true, Relaxed);
        }
    }
}

/// An arm's place and an interval that holds its score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) upper: f64,
    pub(crate) lower: f64,
    pub(crate) place: usize,
}

/// Arms that can be among the k best of those seen.
pub(crate) struct Kept {
    k: usize,
    /// At least k scores are known to be no lower than this.
    pub(crate) bar: f64,
    pub(crate) arms: Vec<Interval>,
    /// How many arms are collected before the bar is raised.
    full: usize,
}

impl Kept {
    pub(crate) fn new(k: usize) -> Self {
        Self { k, bar: f64::NEG_INFINITY, arms: Vec::new(), full: (2 * k).max(64) }
    }

    fn raise(&mut self, bar: f64) {
        self.bar = self.bar.max(bar);
    }

    /// Adds an arm; true if the bar was raised.
    pub(crate) fn push(&mut self, arm: Interval) -> bool {
        self.arms.push(arm);
        if self.arms.len() < self.full {
            return false;
        }
        self.cut();
        self.full = (2 * self.arms.len()).max(self.full);
        true
    }

    /// Raises the bar to the k-th best lower end and drops what is below it.
    pub(crate) fn cut(&mut self) {
        if self.arms.len() >= self.k {
            let falling = |a: &Interval, b: &Interval| -> Ordering { b.lower.total_cmp(&a.lower) };
            let (_, worst, _) = self.arms.select_nth_unstable_by(self.k - 1, falling);
            self.bar = self.bar.max(worst.lower);
        }
        let bar = self.bar;
        self.arms.retain(|arm| arm.upper >= bar);
    }
}

/// Bits that are ordered as the numbers are.
fn ordered(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn unordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, C2ucb, Model, Observation, Round, Stream};

    /// On ordinary features next to nothing is kept beyond the k best; otherwise the tests of exactness would be idle.
    #[test]
    fn the_shortlist_is_short() {
        const N: usize = 4_000;
        for (d, alpha) in [(51, 0.1), (51, 1.0), (128, 1.0)] {
            let draws = Round::new(1, 1).draws(0, Stream(300));
            let x: Vec<f64> = (0..(N * d) as u64).map(|id| draws.normal(id)).collect();
            let mut model = Model::new(d, 1).expect("shape");
            for x in x.chunks(d).take(300) {
                model.observe(&Observation { t: 1, block: 0, x, reward: x[0] }).expect("finite");
            }
            let posteriors = [model.posterior(0, 1.0).expect("factors")];
            let policy = Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: alpha.into() });
            let scorer = Scorer::new(&policy, &posteriors, Round::new(1, 2)).expect("direction");
            let rows = shortlist(&scorer, &Arms::new(&x, d).expect("rows"), 100).expect("worthwhile");
            assert!((100..=104).contains(&rows.len()), "{} rows for d = {d}", rows.len());
        }
    }

    #[test]
    fn ordered_bits_keep_the_order_and_the_number() {
        let numbers = [f64::NEG_INFINITY, -1e300, -1.0, -1e-300, -0.0, 0.0, 1e-300, 1.0, 1e300, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert!(numbers.iter().all(|x| unordered(ordered(*x)).to_bits() == x.to_bits()));
    }
}
