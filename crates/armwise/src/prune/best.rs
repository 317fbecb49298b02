//! A first look in f32 that leaves out arms which cannot be among the k best.
//!
//! The answer is exact. Every arm gets an interval that is certain to hold its f64 score; an arm is
//! left out only if its upper end is below the lower ends of k other arms. What is left is scored in f64 by the usual
//! path, so the choice, ties included, is the one that all scores in f64 would give, to the bit.

use crate::{
    Arms,
    kernel::{ordered, unordered},
    policy::Times,
    prune::bound::{Room, Rough},
    prune::catalogue::{Memory, Part, rounded_up},
    score::share,
    score::{Scorer, rows_per_task},
};
use std::{
    cmp::Ordering,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// Below this many multiplications all arms are scored in f64 straight away.
const WORTHWHILE: usize = 1 << 22;
/// Once more than one arm in so many is kept, all are scored in f64.
pub(crate) const FEW: usize = 10;
/// With so many arms to a feature, the proof of the [span](crate::model::Widths) costs less than it saves.
const ARMS_TO_A_FEATURE: usize = 32;

/// The rows that can be among the k best arms, ascending; `None` if it is better, or needed, to score all of them.
pub(crate) fn shortlist(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
    let places = arms.len() * scorer.blocks.len();
    let worthwhile = is_worthwhile(scorer, arms) && k > 0 && k.saturating_mul(FEW) <= places;
    if !worthwhile || scorer.check(arms).is_err() {
        return None;
    }
    let glanced = glance(scorer, arms).and_then(|rough| Scan::new(rough, arms, k, None).run());
    glanced.or_else(|| Scan::new(Rough::new(scorer)?, arms, k, None).run())
}

/// As [`shortlist`], with a look at all widths; what is found is written down.
pub(crate) fn shortlist_from(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize, memory: &Memory) -> Option<Vec<usize>> {
    Scan::new(Rough::new(scorer)?, arms, k, Some(memory)).run()
}

/// A look at the means alone, where it can save more than its preparation costs.
pub(crate) fn glance<'a, 'p>(scorer: &'a Scorer<'p>, arms: &Arms<'_>) -> Option<Rough<'a, 'p>> {
    if arms.len() >= ARMS_TO_A_FEATURE * scorer.dim { Rough::of_means(scorer) } else { None }
}

/// Whether a first look costs less than it can save.
pub(crate) fn is_worthwhile(scorer: &Scorer<'_>, arms: &Arms<'_>) -> bool {
    let multiplications = (arms.len() * scorer.blocks.len()).saturating_mul(scorer.dim * scorer.dim);
    scorer.blocks.iter().any(|block| block.bonus.times == Times::Width) && multiplications >= WORTHWHILE
}

/// What all tasks of a scan share.
struct Scan<'a, 'p> {
    rough: Rough<'a, 'p>,
    arms: &'a Arms<'a>,
    k: usize,
    memory: Option<&'a Memory>,
    rows_per_task: usize,
    /// The largest bar of any task, as [`ordered`] bits.
    bar: AtomicU64,
    /// A number was not finite, or too many arms are kept.
    stop: AtomicBool,
}

/// What a task has found, and its room.
struct State {
    kept: Kept,
    /// How many places were looked at.
    seen: usize,
    room: Room,
}

impl<'a, 'p> Scan<'a, 'p> {
    fn new(rough: Rough<'a, 'p>, arms: &'a Arms<'a>, k: usize, memory: Option<&'a Memory>) -> Self {
        let rows_per_task = rows_per_task(rough.scorer.kernel);
        let bar = AtomicU64::new(ordered(f64::NEG_INFINITY));
        Self { rough, arms, k, memory, rows_per_task, bar, stop: AtomicBool::new(false) }
    }

    fn state(&self) -> State {
        State { kept: Kept::new(self.k), seen: 0, room: Room::default() }
    }

    /// The rows that are left; `None` if there are too many of them, or if a number is not finite.
    fn run(&self) -> Option<Vec<usize>> {
        let blocks = self.rough.scorer.blocks.len();
        let places = self.arms.len() * blocks;
        let tasks = self.arms.len().div_ceil(self.rows_per_task);
        let states = share(tasks, || self.state(), |state, task| self.task(state, task));
        if self.stop.load(Relaxed) {
            return None;
        }
        let mut all = Kept::new(self.k);
        states.into_iter().for_each(|state| all.arms.extend(state.kept.arms));
        all.cut();
        if all.arms.len() < self.k || all.arms.len() * FEW > places {
            return None;
        }
        let mut rows: Vec<usize> = all.arms.iter().map(|arm| arm.place / blocks).collect();
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }

    fn task(&self, state: &mut State, task: usize) {
        if self.stop.load(Relaxed) {
            return;
        }
        let State { kept, seen, room } = state;
        let first = task * self.rows_per_task;
        let part = self.arms.slice(first..self.arms.len().min(first + self.rows_per_task));
        let blocks = self.rough.scorer.blocks.len();
        let mut many = false;
        let see = |block: usize, upper: &[f64], lower: &[f64]| {
            kept.raise(unordered(self.bar.load(Relaxed)));
            for (row, (&upper, &lower)) in upper.iter().zip(lower).enumerate() {
                if upper >= kept.bar && part.is_eligible(row, block) {
                    let arm = Interval { upper, lower, place: (first + row) * blocks + block };
                    if kept.push(arm) {
                        self.bar.fetch_max(ordered(kept.bar), Relaxed);
                        many |= kept.arms.len() > 2 * self.k + (*seen + row + 1) / FEW;
                    }
                }
            }
            *seen += upper.len();
        };
        self.rough.look_at(&part, &mut room.products);
        if let Some(memory) = self.memory {
            let (products, band) = (&room.products, self.rough.bands[0]);
            let mut memory = memory.part(task);
            let Part { widths, dots } = &mut *memory;
            let above = |(&width, &norm): (&f32, &f32)| rounded_up(f64::from(width) + band.of_width(f64::from(norm)));
            widths.clear();
            widths.extend(products.widths(0).iter().zip(products.norms()).map(above));
            products.dots(0).clone_into(dots);
        }
        let finite = self.rough.intervals(&part, room, see);
        if many || !finite {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, C2ucb, Model, Observation, Round, Stream};

    /// On ordinary features next to nothing is kept beyond the k best; otherwise the tests of exactness would be idle.
    #[test]
    fn the_shortlist_is_short() {
        const N: usize = 4_000;
        // The last V has seen 300 rows of 128 features: its widths differ too much for a look at the means.
        for (d, alpha, glanced) in [(51, 0.1, Some(120)), (51, 1.0, Some(250)), (128, 1.0, None)] {
            let draws = Round::new(1, 1).draws(0, Stream(300));
            let x: Vec<f64> = (0..(N * d) as u64).map(|id| draws.normal(id)).collect();
            let mut model = Model::new(d, 1).expect("shape");
            for x in x.chunks(d).take(300) {
                model.observe(&Observation { t: 1, block: 0, x, reward: x[0] }).expect("finite");
            }
            let posteriors = [model.posterior(0, 1.0).expect("factors")];
            let policy = Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: alpha.into() });
            let scorer = Scorer::new(&policy, &posteriors, Round::new(1, 2)).expect("direction");
            let arms = Arms::new(&x, d).expect("rows");
            for (rough, most) in [(Rough::new(&scorer), Some(104)), (Rough::of_means(&scorer), glanced)] {
                let rows = Scan::new(rough.expect("ordinary"), &arms, 100, None).run().map(|rows| rows.len());
                let fits = rows.is_some() == most.is_some()
                    && rows.is_none_or(|rows| (100..=most.unwrap_or(0)).contains(&rows));
                assert!(fits, "{rows:?} rows for d = {d}, alpha {alpha}");
            }
        }
    }
}
