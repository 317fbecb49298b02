//! Arms that come back round after round, kept ready: an item list, the same customers next week.
//!
//! The decision to know: V only grows while nothing is forgotten or taken back, so a width seen earlier is an upper bound
//! of today's, and a mean moves by at most |theta_now - theta_then|_V width. Most arms cannot be among the k best
//! even so, and nothing of theirs is computed again. The choice is the one from the same arms without a catalogue, to
//! the bit.
//!
//! # What makes the bounds safe
//! *How much V grew* is found on the matrices, not taken from the learner's history, so a forgotten, corrected, merged or
//! exchanged model needs no bookkeeping: if V_now - c V_then + delta I has a Cholesky factor in floating point, then
//! V_now >= c V_then - rho I with rho = 2 delta for delta = 4 (d + 2) 2^-53 (tr V_now + c tr V_then) (the backward error of
//! Cholesky), and since |W_then|_F^2 = tr V_then^-1, width_now <= width_then / sqrt(c - rho |W_then|_F^2). The largest
//! such c is found by bisection: above 1 where every direction was learned about, below 1 after forgetting.
//! *Computed widths* differ from exact ones by the rounding of the factor, relatively at most
//! 4 (d + 2) 2^-53 tr V |W|_F^2 (the backward errors of Cholesky and of the triangular inverse), and by that of the
//! product, at most (2d + 8) 2^-53 |W|_F |x|, where |x| <= |L|_F width and |L|_F^2 = tr V. Both together are below
//! eta = 16 (d + 2) 2^-53 tr V |W|_F^2 relatively. *From below*, width >= |x| / sqrt(|V|_F).

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::{
    Arms, Error, Features, Names, Posterior,
    arms::Stored,
    kernel::{Kernel, Products},
    model::{check_features, triangle},
    policy::Times,
    posterior::cholesky,
    scan::{Band, FEW, Interval, Kept, Memory, shortlist_from},
    scoring::{Scorer, TILES_PER_TASK},
};
use rayon::prelude::*;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

/// Arms that are chosen from again and again.
///
/// It owns the features, lays them out for speed, and remembers widths between rounds. Its
/// [`arms`](Self::arms) are used as any others; choosing from them is faster, and gives the same decision.
///
/// # Example
/// ```
/// use armwise::{Algorithm, Arms, C2ucb, Catalogue, Constraint, Learner, Round};
/// let algorithm = Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: 0.5.into() });
/// let mut learner = Learner::new(algorithm, 2, 1)?;
/// let items = Catalogue::new(&Arms::new(&[1.0, 0.0, 0.8, 0.6, 0.0, 1.0][..], 2)?)?;
/// for t in 1..=3 {
///     let decision = learner.choose(Round::new(7, t), &items.arms(), &Constraint::top_k(2))?;
///     learner.learn(&decision, &decision.rewards(|arm| arm.features[0]))?;
/// }
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug)]
pub struct Catalogue {
    features: Stored,
    dim: usize,
    keys: OwnedKeys,
    kernel: Kernel,
    panels: (Vec<f32>, usize),
    /// Taken out while a choice is under way; another choice at the same time starts from nothing.
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug)]
enum OwnedKeys {
    Numbers(u64),
    Ids(Vec<u64>),
    Names(Names),
}

/// What earlier rounds leave behind.
#[derive(Debug)]
struct Seen {
    /// V as it was in the last round, with tr V and tr V^-1.
    v: Vec<f64>,
    trace: f64,
    w2: f64,
    /// The direction of the last scan; `memory.dots` are products with it.
    direction: Vec<f64>,
    memory: Memory,
    /// What the widths are to be multiplied with.
    slack: f64,
}

/// Numbers of a posterior that the bounds are made of.
struct Size {
    /// tr V.
    trace: f64,
    /// |W|_F.
    w: f64,
    /// The relative error of a computed width.
    eta: f64,
}

/// Once more than one arm in so many would be visited, a new scan costs less than it saves in the rounds after.
const MOST: usize = 16;

const UNIT: f64 = f64::EPSILON / 2.0;

impl Size {
    fn new(posterior: &Posterior) -> Self {
        let d = posterior.dim() as f64;
        let trace: f64 = (0..posterior.dim()).map(|i| posterior.v()[triangle(i + 1) - 1]).sum();
        let w = posterior.factor().iter().map(|w| w * w).sum::<f64>().sqrt() * (1.0 + 1e-6);
        Self { trace, w, eta: 16.0 * (d + 2.0) * UNIT * trace * w * w }
    }
}

impl Catalogue {
    /// Copies arms, with their ids or names; eligible rows and columns are given anew to the
    /// [`arms`](Self::arms) of each round.
    ///
    /// # Errors
    /// [`Error::FeatureNotFinite`], [`Error::FeatureTooLarge`].
    pub fn new(arms: &Arms<'_>) -> Result<Self, Error> {
        (0..arms.len()).try_for_each(|row| check_features(row, &arms.row(row)))?;
        let kernel = Kernel::get();
        let (features, panels) = match arms.features() {
            Features::F32(x) => (Stored::F32(x.to_vec()), kernel.panels(x, arms.dim())),
            Features::F64(x) => (Stored::F64(x.to_vec()), kernel.panels(x, arms.dim())),
        };
        let keys = match arms.numbers() {
            Some(numbers) => OwnedKeys::Numbers(numbers.start),
            None if arms.name(0).is_some() => {
                OwnedKeys::Names(Names::new((0..arms.len()).filter_map(|row| arms.name(row)))?)
            }
            None => OwnedKeys::Ids((0..arms.len()).map(|row| arms.id(row)).collect()),
        };
        Ok(Self { features, dim: arms.dim(), keys, kernel, panels, seen: Mutex::new(None) })
    }

    /// The arms, ready to be chosen from; a mask and columns may be added to them.
    ///
    /// # Panics
    /// Never: what was arms once is arms again.
    #[must_use]
    pub fn arms(&self) -> Arms<'_> {
        let arms = Arms::new(self.features.features(), self.dim).expect("these were arms before");
        let arms = match &self.keys {
            OwnedKeys::Numbers(first) => arms.numbered_from(*first),
            OwnedKeys::Ids(ids) => arms.with_unique_ids(ids),
            OwnedKeys::Names(names) => arms.with_names(names).expect("as many as rows before"),
        };
        arms.of_catalogue(self)
    }

    /// As [`shortlist`](crate::scan::shortlist), with what was seen in earlier rounds.
    pub(crate) fn shortlist(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
        let panels = &self.panels.0[self.panels.1..];
        let [block] = &scorer.blocks[..] else {
            return shortlist_from(scorer, arms, k, None);
        };
        if scorer.check(arms).is_err()
            || block.bonus.times != Times::Width
            || k == 0
            || k.saturating_mul(FEW) > arms.len()
        {
            return None;
        }
        let size = Size::new(block.posterior);
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut seen = seen.filter(|_| size.eta < 0.01).and_then(|seen| seen.grown(block.posterior, &size));
        let mut rows = seen.as_ref().and_then(|seen| self.lazy(scorer, arms, k, &size, seen));
        if rows.is_none() {
            let memory = seen.map_or_else(|| Memory::new(arms.len()), |seen| seen.memory);
            rows = shortlist_from(scorer, arms, k, Some((panels, &memory)));
            let (direction, slack) = (block.direction.clone(), 1.0 + 2.0 * size.eta);
            let fresh = Seen { v: Vec::new(), trace: 0.0, w2: 0.0, direction, memory, slack };
            // A scan that stopped early has not seen all arms.
            seen = rows.is_some().then_some(fresh);
        }
        if let Some(seen) = seen {
            let (v, trace, w2) = (block.posterior.v().to_vec(), size.trace, size.w * size.w);
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(Seen { v, trace, w2, ..seen });
        }
        rows
    }

    /// Visits arms in the order of falling upper bounds, as long as they can matter; `None` if these are too many.
    fn lazy(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize, size: &Size, seen: &Seen) -> Option<Vec<usize>> {
        let uppers = self.uppers(scorer, arms, size, seen)?;
        // The 2k best by upper bound come first: they make the bar that the others must reach.
        let mut front = Kept::new(2 * k);
        for (place, &upper) in uppers.iter().enumerate() {
            let upper = f64::from(upper);
            if upper >= front.bar && upper > f64::NEG_INFINITY {
                front.push(Interval { upper, lower: upper, place });
            }
        }
        front.cut();
        let most = arms.len() / MOST;
        let mut best = Kept::new(k);
        let visited = front.arms.len();
        if visited > most {
            return None;
        }
        self.visit(scorer, arms, &front.arms, size, seen, &mut best);
        let mut rest = Vec::new();
        for (place, &upper) in uppers.iter().enumerate() {
            let upper = f64::from(upper);
            if upper >= best.bar && upper < front.bar {
                rest.push(Interval { upper, lower: upper, place });
                if visited + rest.len() > most {
                    return None;
                }
            }
        }
        while !rest.is_empty() {
            // A part of what is left, so that few passes over it are made.
            let next = (2 * k).max(rest.len() / 4).max(1024).min(rest.len());
            if next < rest.len() {
                rest.select_nth_unstable_by(next, |a, b| b.upper.total_cmp(&a.upper));
            }
            let batch: Vec<Interval> = rest.drain(..next).collect();
            self.visit(scorer, arms, &batch, size, seen, &mut best);
            rest.retain(|arm| arm.upper >= best.bar);
        }
        if best.arms.len() < k {
            return None;
        }
        let mut rows: Vec<usize> = best.arms.iter().map(|arm| arm.place).collect();
        rows.sort_unstable();
        Some(rows)
    }

    /// Upper bounds of all scores, -infinity where an arm is not eligible; `None` if a number is not finite.
    fn uppers(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, size: &Size, seen: &Seen) -> Option<Vec<f32>> {
        let block = &scorer.blocks[0];
        let v = block.posterior.v();
        let largest = (2.0 * v.iter().map(|v| v * v).sum::<f64>()).sqrt();
        let moved: Vec<f64> = block.direction.iter().zip(&seen.direction).map(|(now, then)| now - then).collect();
        let bounds = Bounds {
            band: Band::new(&seen.direction, None)?,
            rounding: Band::new(&moved, None)?,
            moved: distance(v, &moved, size.trace),
            stretch: seen.slack * (1.0 + size.eta),
            w: size.w * (1.0 + 2.0 * size.eta),
            least: (1.0 - size.eta - 1e-6) / largest.sqrt(),
            tiny: self.dim as f64 / (1_u64 << 60) as f64,
        };
        let rows_per_task = 8 * TILES_PER_TASK * self.kernel.width();
        let bad = AtomicBool::new(false);
        let mut uppers = vec![0.0; arms.len()];
        let task = |(ids, coefficients): &mut (Vec<u64>, Vec<f64>), (task, out): (usize, &mut [f32])| {
            let rows = task * rows_per_task..task * rows_per_task + out.len();
            let part = arms.slice(rows.clone());
            part.ids_into(ids);
            block.coefficients(ids, coefficients);
            let Memory { widths, dots, norms } = &seen.memory;
            let [widths, dots, norms] = [widths, dots, norms].map(|all| &all[rows.clone()]);
            if !pulp::Arch::new().dispatch(Uppers { bounds: &bounds, dots, norms, coefficients, widths, out }) {
                bad.store(true, Relaxed);
            }
            if arms.eligible_per_row() > 0 {
                let out = out.iter_mut().enumerate().filter(|(row, _)| !part.is_eligible(*row, 0));
                out.for_each(|(_, upper)| *upper = f32::NEG_INFINITY);
            }
        };
        uppers.par_chunks_mut(rows_per_task).enumerate().for_each_init(Default::default, task);
        (!bad.load(Relaxed)).then_some(uppers)
    }

    /// Scores arms in f64, to the bits of all others, and remembers their widths.
    fn visit(
        &self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        batch: &[Interval],
        size: &Size,
        seen: &Seen,
        best: &mut Kept,
    ) {
        let block = &scorer.blocks[0];
        let score = |batch: &[Interval]| -> Vec<Interval> {
            let rows: Vec<usize> = batch.iter().map(|arm| arm.place).collect();
            let gathered = arms.gather(&rows);
            let mut products = Products::default();
            match gathered.features.features() {
                Features::F32(x) => self.kernel.products(x, &scorer.packed, &mut products),
                Features::F64(x) => self.kernel.products(x, &scorer.packed, &mut products),
            }
            let mut coefficients = Vec::new();
            block.coefficients(&gathered.ids, &mut coefficients);
            let arm = |(place, &row): (usize, &usize)| {
                let width = products.widths(0)[place];
                let score = products.dots(0)[place] + block.bonus.times.of(coefficients[place], width);
                let upper = width * (1.0 + 2.0 * size.eta) / seen.slack;
                seen.memory.widths[row].store((upper as f32).next_up().next_up().to_bits(), Relaxed);
                Interval { upper: score, lower: score, place: row }
            };
            rows.iter().enumerate().map(arm).collect()
        };
        let scored: Vec<Vec<Interval>> = batch.par_chunks(TILES_PER_TASK * self.kernel.width()).map(score).collect();
        scored.into_iter().flatten().for_each(|arm| {
            best.push(arm);
        });
        best.cut();
    }
}

/// |x|_V for a V of this trace, rounded up.
fn distance(v: &[f64], x: &[f64], trace: f64) -> f64 {
    let mut sum = 0.0;
    for (i, x_i) in x.iter().enumerate() {
        let row = &v[triangle(i)..triangle(i + 1)];
        let product: f64 = row.iter().zip(x).map(|(v, x)| v * x).sum();
        sum += x_i * (2.0 * product - row[i] * x_i);
    }
    let squares: f64 = x.iter().map(|x| x * x).sum();
    (sum.max(0.0) + 1e-12 * trace * squares).sqrt() * (1.0 + 1e-9)
}

/// What turns a product, a norm, a coefficient and a width of earlier rounds into an upper bound.
struct Bounds {
    /// How far the remembered products may be off.
    band: Band,
    /// More than what the rounding of today's f64 product can differ from the remembered one's.
    rounding: Band,
    /// |direction now - direction then|_V.
    moved: f64,
    /// What an old width may have grown by.
    stretch: f64,
    w: f64,
    /// A width is at least so much of the norm.
    least: f64,
    /// What a norm may have lost below the range of f32.
    tiny: f64,
}

/// The upper bounds of a part's arms, compiled for the widest registers; false if one is not finite.
struct Uppers<'a> {
    bounds: &'a Bounds,
    dots: &'a [AtomicU32],
    norms: &'a [AtomicU32],
    coefficients: &'a [f64],
    widths: &'a [AtomicU32],
    out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Uppers<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        /// The norm in f32 is at most half a percent off, for any dimension that has a band.
        const NORM: f64 = 1.006;
        let n = self.out.len();
        let (dots, norms, coefficients, widths) =
            (&self.dots[..n], &self.norms[..n], &self.coefficients[..n], &self.widths[..n]);
        let Bounds { band, rounding, moved, stretch, w, least, tiny } = *self.bounds;
        let number = |bits: &AtomicU32| f64::from(f32::from_bits(bits.load(Relaxed)));
        let mut finite = true;
        for row in 0..n {
            let (dot, norm, g) = (number(&dots[row]), number(&norms[row]), coefficients[row]);
            let norm_above = norm * NORM + tiny;
            let most = (number(&widths[row]) * stretch).min(w * norm_above);
            let bonus = if g > 0.0 { g * most } else { g * (least * (norm / NORM - tiny)).max(0.0) };
            let change = moved * most + band.of_dot(norm_above) + rounding.of_dot(norm_above);
            let upper = dot + bonus + change + 1e-12 * (dot.abs() + bonus.abs());
            self.out[row] = (upper as f32).next_up();
            finite &= upper.abs() < f64::from(f32::MAX);
        }
        finite
    }
}

impl Seen {
    /// What is left of it for a posterior: bounds that hold for today's widths, if they are of any use.
    fn grown(self, posterior: &Posterior, size: &Size) -> Option<Self> {
        /// A V that shrank by more is another model.
        const LEAST: f64 = 0.5;
        let (v, d) = (posterior.v(), posterior.dim());
        if v == self.v {
            return Some(self);
        }
        if self.v.len() != v.len() {
            return None;
        }
        let delta = |c: f64| 4.0 * (d as f64 + 2.0) * UNIT * (size.trace + c * self.trace);
        let holds = |c: f64| {
            let shift = |i, j| if i == j { delta(c) } else { 0.0 };
            cholesky(d, |i, j| v[triangle(i) + j] - c * self.v[triangle(i) + j] + shift(i, j)).is_ok()
        };
        let ratio = |i: usize| v[triangle(i + 1) - 1] / self.v[triangle(i + 1) - 1];
        let mut above = (0..d).map(ratio).fold(f64::INFINITY, f64::min);
        let mut c = [1.0, LEAST].into_iter().find(|&c| c <= above * (1.0 + 1e-9) && holds(c))?;
        // Each step costs a factor: few where that is dear.
        for _ in 0..if d > 200 { 3 } else { 6 } {
            let middle = 0.5 * (c + above);
            if middle <= c {
                break;
            }
            *(if holds(middle) { &mut c } else { &mut above }) = middle;
        }
        let least = c - 2.0 * delta(c) * self.w2;
        (least > 0.9 * c).then(|| Self { slack: self.slack / least.sqrt() * (1.0 + 1e-9), ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, C2ucb, Constraint, Learner, Round, Stream};

    /// On ordinary features the later rounds are lazy; otherwise the tests of exactness would be idle.
    #[test]
    fn later_rounds_visit_few_arms() {
        const N: usize = 6_000;
        const D: usize = 40;
        let draws = Round::new(1, 1).draws(0, Stream(300));
        let x: Vec<f64> = (0..(N * D) as u64).map(|id| draws.normal(id) / 6.0).collect();
        let catalogue = Catalogue::new(&Arms::new(&x, D).expect("rows")).expect("finite");
        let algorithm = Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: 0.2.into() });
        let mut learner = Learner::new(algorithm, D, 1).expect("parameters");
        let mut lazy = 0;
        for t in 1..=20 {
            let decision = learner.choose(Round::new(1, t), &catalogue.arms(), &Constraint::top_k(60)).expect("arms");
            learner.learn(&decision, &decision.rewards(|arm| arm.features[0])).expect("fresh");
            let posteriors = [learner.posterior(0).expect("factors")];
            let scorer = Scorer::new(learner.policy(), &posteriors, Round::new(1, t + 1)).expect("direction");
            let size = Size::new(&posteriors[0]);
            let seen = catalogue.seen.lock().expect("no panic").take().expect("a round before");
            let seen = seen.grown(&posteriors[0], &size).expect("V grew");
            let rows = catalogue.lazy(&scorer, &catalogue.arms(), 60, &size, &seen);
            lazy += usize::from(rows.is_some_and(|rows| rows.len() < 100));
            let Size { trace, w, .. } = size;
            let seen = Seen { v: posteriors[0].v().to_vec(), trace, w2: w * w, ..seen };
            *catalogue.seen.lock().expect("no panic") = Some(seen);
        }
        assert!(lazy >= 15, "{lazy} of 20 rounds");
    }

    #[test]
    fn a_v_that_shrank_is_noticed() {
        let rows = |count: usize| {
            let mut model = crate::Model::new(3, 1).expect("shape");
            for i in 0..count {
                let x = [1.0, i as f64, 0.5];
                model.observe(&crate::Observation { t: 1, block: 0, x: &x, reward: 0.0 }).expect("finite");
            }
            model.posterior(0, 1.0).expect("factors")
        };
        let seen = |posterior: &Posterior| {
            let Size { trace, w, .. } = Size::new(posterior);
            Seen {
                v: posterior.v().to_vec(),
                trace,
                w2: w * w,
                direction: Vec::new(),
                memory: Memory::new(0),
                slack: 1.0,
            }
        };
        let (few, many) = (rows(3), rows(4));
        assert!(seen(&few).grown(&many, &Size::new(&many)).is_some_and(|seen| seen.slack < 1.0 + 1e-8));
        assert!(seen(&few).grown(&few, &Size::new(&few)).is_some());
        let shrunk = seen(&many).grown(&few, &Size::new(&few));
        // The fourth row is most of V: its loss more than halves V along (0, 1, 0).
        assert!(shrunk.is_none_or(|seen| seen.slack > 1.2));
    }
}
