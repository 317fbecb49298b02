//! Candidates for the k best arms: those whose upper end reaches the floor that k lower ends set.

use super::bound::{Bound, rounded_up};
use super::catalogue::{Memory, Part};
use super::source::{Bounds, Room};
use super::{is_few, means_for, pays};
use crate::Arms;
use crate::kernel::{ordered, unordered};
use crate::score::{Scorer, rank_of_guess, rows_per_task};
use crate::tasks::share;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The first floor is guessed from at most so many arms, and at most from one in so many.
const SAMPLE: usize = 256;
const SHARE: usize = 32;

/// The rows that can be among the k best arms, ascending. None if scoring all arms is cheaper, or if the bounds fail.
pub(crate) fn best(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
    if k == 0 || !is_few(k, arms.len() * scorer.blocks.len()) || !pays(scorer, arms) {
        return None;
    }
    let by_means = means_for(scorer, arms.len()).and_then(|bounds| Search::new(scorer, bounds, arms, k, None).run());
    by_means.or_else(|| Search::new(scorer, Bounds::from_widths(scorer)?, arms, k, None).run())
}

/// As [`best`], from widths in f32. Stores these widths and the means in `memory` for later rounds.
pub(super) fn best_and_remember(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize, memory: &Memory) -> Option<Vec<usize>> {
    Search::new(scorer, Bounds::from_widths(scorer)?, arms, k, Some(memory)).run()
}

/// What all tasks share.
struct Search<'a, 'p> {
    scorer: &'a Scorer<'p>,
    bounds: Bounds,
    arms: &'a Arms<'a>,
    k: usize,
    memory: Option<&'a Memory>,
    rows_per_task: usize,
    floor: Floor,
    /// A number was not finite, or too many candidates are kept.
    stop: AtomicBool,
}

/// What a task has found, and its buffers.
struct State {
    candidates: Candidates,
    /// How many arms were bounded.
    seen: usize,
    room: Room,
}

impl<'a, 'p> Search<'a, 'p> {
    fn new(scorer: &'a Scorer<'p>, bounds: Bounds, arms: &'a Arms<'a>, k: usize, memory: Option<&'a Memory>) -> Self {
        let (floor, stop) = (Floor::new(f64::NEG_INFINITY), AtomicBool::new(false));
        Self { scorer, bounds, arms, k, memory, rows_per_task: rows_per_task(scorer.kernel), floor, stop }
    }

    /// The rows of all candidates; none if there are too many of them, or if a number is not finite.
    fn run(&self) -> Option<Vec<usize>> {
        let blocks = self.scorer.blocks.len();
        let guess = self.guess();
        let mut all = self.candidates(guess)?;
        if all.iter().filter(|arm| arm.bound.lower >= guess).count() < self.k {
            // The guess was too high, so that arms may be missing.
            all = self.candidates(f64::NEG_INFINITY)?;
        }
        if all.len() < self.k || !is_few(all.len(), self.arms.len() * blocks) {
            return None;
        }
        let mut rows: Vec<usize> = all.iter().map(|arm| arm.place / blocks).collect();
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }

    /// A floor that most probably at least k arms reach, and not many more: the lower ends of a sample tell. -infinity
    /// where there are too few arms for that.
    fn guess(&self) -> f64 {
        let sample = SAMPLE.min(self.arms.len() / SHARE);
        let Some(rank) = rank_of_guess(sample, self.k, self.arms.len()) else { return f64::NEG_INFINITY };
        let rows: Vec<usize> = (0..sample).map(|place| place * self.arms.len() / sample).collect();
        let mut lowers = Vec::with_capacity(sample * self.scorer.blocks.len());
        let finite = self.arms.gather(&rows).with_arms(|part| {
            Ok(self.bounds.each_block(self.scorer, part, &mut Room::default(), |block, _, lower| {
                let eligible = lower.iter().enumerate().filter(|(row, _)| part.is_eligible(*row, block));
                lowers.extend(eligible.map(|(_, lower)| *lower));
            }))
        });
        if !finite.is_ok_and(|finite| finite) || lowers.len() <= rank {
            return f64::NEG_INFINITY;
        }
        *lowers.select_nth_unstable_by(rank, |a, b| b.total_cmp(a)).1
    }

    /// The arms that may be among the k best if at least k reach the floor; none if there are too many of them, or if
    /// a number is not finite.
    fn candidates(&self, floor: f64) -> Option<Vec<Candidate>> {
        self.floor.set(floor);
        let state = || State { candidates: Candidates::new(self.k), seen: 0, room: Room::default() };
        let tasks = self.arms.len().div_ceil(self.rows_per_task);
        let states = share(tasks, state, |state, task| self.task(state, task));
        if self.stop.load(Relaxed) {
            return None;
        }
        Some(Candidates::of_all(self.k, floor, states.into_iter().map(|state| state.candidates)).arms)
    }

    fn task(&self, State { candidates, seen, room }: &mut State, task: usize) {
        if self.stop.load(Relaxed) {
            return;
        }
        let first = task * self.rows_per_task;
        let part = self.arms.slice(first..self.arms.len().min(first + self.rows_per_task));
        let blocks = self.scorer.blocks.len();
        let mut many = false;
        let floor = self.floor.raise(candidates);
        let see = |block: usize, row: usize, bound: Bound| {
            let place = (first + row) * blocks + block;
            if bound.upper >= candidates.floor && self.floor.push(candidates, Candidate { bound, place }) {
                many |= !is_few(candidates.arms.len().saturating_sub(2 * self.k), *seen + blocks * (row + 1));
            }
        };
        let finite = self.bounds.each_reaching(self.scorer, &part, room, |_| floor, see);
        *seen += blocks * part.len();
        if let Some(memory) = self.memory {
            let (products, formula) = (&room.products, self.bounds.formulas[0]);
            let mut memory = memory.part(task);
            let Part { widths, dots } = &mut *memory;
            let above =
                |(&width, &norm): (&f32, &f32)| rounded_up(f64::from(width) + formula.width_error(f64::from(norm)));
            widths.clear();
            widths.extend(products.widths(0).iter().zip(products.norms()).map(above));
            products.dots(0).clone_into(dots);
        }
        if many || !finite {
            self.stop.store(true, Relaxed);
        }
    }
}

/// The largest floor of any task, as [`ordered`] bits: what one task learns, all know.
pub(super) struct Floor(AtomicU64);

impl Floor {
    pub(super) fn new(floor: f64) -> Self {
        Self(AtomicU64::new(ordered(floor)))
    }

    fn set(&self, floor: f64) {
        self.0.store(ordered(floor), Relaxed);
    }

    /// Raises the floor of a task's candidates to that of all, and returns it.
    pub(super) fn raise(&self, candidates: &mut Candidates) -> f64 {
        candidates.floor = candidates.floor.max(unordered(self.0.load(Relaxed)));
        candidates.floor
    }

    /// Adds an arm to the candidates of a task; true if their floor was recomputed, which all are told.
    pub(super) fn push(&self, candidates: &mut Candidates, arm: Candidate) -> bool {
        let recomputed = candidates.push(arm);
        if recomputed {
            self.0.fetch_max(ordered(candidates.floor), Relaxed);
        }
        recomputed
    }
}

/// An arm that may be among the k best.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) bound: Bound,
    /// row * blocks + block.
    pub(super) place: usize,
}

/// Arms that can be among the k best of those seen.
pub(super) struct Candidates {
    k: usize,
    /// At least k scores are known to be no lower than this.
    pub(super) floor: f64,
    pub(super) arms: Vec<Candidate>,
    /// How many arms are collected before the floor is raised.
    full: usize,
}

impl Candidates {
    pub(super) fn new(k: usize) -> Self {
        Self { k, floor: f64::NEG_INFINITY, arms: Vec::new(), full: (2 * k).max(64) }
    }

    /// Those of all tasks that can be among the k best of all, if at least k reach this floor.
    pub(super) fn of_all(k: usize, floor: f64, tasks: impl Iterator<Item = Self>) -> Self {
        let mut all = Self { floor, ..Self::new(k) };
        tasks.for_each(|task| all.arms.extend(task.arms));
        all.cut();
        all
    }

    /// Adds an arm; true if the floor was recomputed.
    pub(super) fn push(&mut self, arm: Candidate) -> bool {
        self.arms.push(arm);
        if self.arms.len() < self.full {
            return false;
        }
        self.cut();
        self.full = (2 * self.arms.len()).max(self.full);
        true
    }

    /// Raises the floor to the k-th best lower end and drops the arms below it.
    pub(super) fn cut(&mut self) {
        if self.arms.len() >= self.k {
            let falling = |a: &Candidate, b: &Candidate| b.bound.lower.total_cmp(&a.bound.lower);
            let (_, worst, _) = self.arms.select_nth_unstable_by(self.k - 1, falling);
            self.floor = self.floor.max(worst.bound.lower);
        }
        let floor = self.floor;
        self.arms.retain(|arm| arm.bound.upper >= floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, C2ucb, Model, Observation, Round, Stream};
    use std::sync::Arc;

    /// On ordinary features almost nothing is kept beyond the k best. If everything were kept, the exactness tests
    /// would not test pruning.
    #[test]
    fn few_candidates_are_kept() {
        const N: usize = 4_000;
        // The last V has seen 300 rows of 128 features: its widths differ too much for bounds by the means.
        for (d, alpha, by_means) in [(51, 0.1, Some(120)), (51, 1.0, Some(250)), (128, 1.0, None)] {
            let draws = Round::new(1, 1).draws(0, Stream(300));
            let x: Vec<f64> = (0..(N * d) as u64).map(|id| draws.normal(id)).collect();
            let mut model = Model::new(d, 1).expect("shape");
            for x in x.chunks(d).take(300) {
                model.observe(&Observation { t: 1, block: 0, x, reward: x[0] }).expect("finite");
            }
            let posteriors = Arc::new(vec![model.posterior(0, 1.0).expect("factors")]);
            let policy = Algorithm::C2ucb(C2ucb::new(1.0, alpha));
            let scorer = Scorer::new(&policy, posteriors, Round::new(1, 2)).expect("direction");
            let arms = Arms::new(&x, d).expect("rows");
            for (bounds, most) in [(Bounds::from_widths(&scorer), Some(104)), (Bounds::from_means(&scorer), by_means)] {
                let search = Search::new(&scorer, bounds.expect("ordinary"), &arms, 100, None);
                let rows = search.run().map(|rows| rows.len());
                let fits = rows.is_some() == most.is_some()
                    && rows.is_none_or(|rows| (100..=most.unwrap_or(0)).contains(&rows));
                assert!(fits, "{rows:?} rows for d = {d}, alpha {alpha}");
            }
        }
    }
}
