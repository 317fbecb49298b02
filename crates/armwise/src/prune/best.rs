//! Candidates for the k best arms: those whose upper end reaches the floor that k lower ends set.

use super::bound::{Bound, rounded_up};
use super::catalogue::{Memory, Part};
use super::source::{Bounds, Room};
use super::{is_few, means_for, pays, small};
use crate::kernel::{dot, ordered, unordered};
use crate::score::{Scorer, rows_per_task};
use crate::tasks::share;
use crate::{Arms, InTurn};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The first floor is guessed from at most so many arms, and at most from one in so many.
const SAMPLE: usize = 256;
const SHARE: usize = 32;
/// Rows of a task: what is done once for a task costs little beside so many. Fewer where there would be hardly a dozen tasks.
const ROWS: usize = 1536;
const TASKS: usize = 12;

/// Rows whose norms tell what a norm is like.
const NORMS: usize = 16;

/// The rows that can be among the k best arms, ascending. None if scoring all arms is cheaper, or if the bounds fail.
pub(crate) fn best(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
    if small::is_small(scorer, arms) { small::best(scorer, arms, k) } else { Some(search(scorer, arms, k, Some)?.rows) }
}

/// The rows whose scores can reach a floor in any of k turns, if so much of a width stays while arms are taken: all of it,
/// which the turns prove by reaching the floor, or nothing, which is certain, since one of the k arms with the largest
/// means is always left. None as for [`best`].
pub(crate) fn best_in_turns(scorer: &Scorer<'_>, turn: InTurn, arms: &Arms<'_>, k: usize, stays: f64) -> Option<Kept> {
    search(scorer, arms, k, |bounds| bounds.in_turns(scorer, turn, k, [stays, usual_norm(arms)]))
}

/// Rows that are kept, ascending: of the others, no score reaches the floor.
pub(crate) struct Kept {
    pub(crate) rows: Vec<usize>,
    pub(crate) floor: f64,
}

fn search(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize, ready: impl Fn(Bounds) -> Option<Bounds>) -> Option<Kept> {
    if k == 0 || !is_few(k, arms.len() * scorer.blocks.len()) || !pays(scorer, arms) {
        return None;
    }
    let run = |bounds: Bounds| Search::new(scorer, ready(bounds)?, arms, k, None).run();
    means_for(scorer, arms.len()).and_then(run).or_else(|| run(Bounds::from_widths(scorer)?))
}

/// The standard deviations by which a guess is on the safe side.
const SAFE: usize = 3;

/// The place, from the best, of a score in a sample of n arms that most probably at least k of them reach, and not many
/// more. None if that would be most of the sample.
pub(super) fn rank_of_guess(sample: usize, k: usize, n: usize, safe: usize) -> Option<usize> {
    // On average the sample holds `mean` of the k best.
    let mean = sample * k / n + 1;
    let rank = mean + safe * mean.isqrt() + 1;
    (k > 0 && 2 * rank <= sample).then_some(rank)
}

/// About the norm of a row.
fn usual_norm(arms: &Arms<'_>) -> f64 {
    let norm = |place: usize| {
        let x = arms.row(place * arms.len() / NORMS);
        dot(&x, &x).sqrt()
    };
    (0..NORMS).map(norm).sum::<f64>() / NORMS as f64
}

/// As [`best`], from widths in f32. Stores these widths and the means in `memory` for later rounds.
pub(super) fn best_and_remember(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize, memory: &Memory) -> Option<Vec<usize>> {
    Some(Search::new(scorer, Bounds::from_widths(scorer)?, arms, k, Some(memory)).run()?.rows)
}

/// What all tasks share.
struct Search<'a, 'p> {
    scorer: &'a Scorer<'p>,
    bounds: Bounds,
    arms: &'a Arms<'a>,
    k: usize,
    memory: Option<&'a Memory>,
    rows_per_task: usize,
    /// Whether guesses are raised while arms are looked at.
    raises: bool,
    floor: Floor,
    /// A number was not finite, or too many candidates are kept.
    stop: AtomicBool,
}

/// A step that leads to every task once, and early on to all parts of the table: then the arms seen so far stand for the
/// others, however the table is sorted. It is near the golden section of the tasks.
fn scattering(tasks: usize) -> usize {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (tasks * 8 / 21..tasks).find(|&step| common(step, tasks) == 1).unwrap_or(0).max(1)
}

/// What a task has found, and its buffers.
struct State {
    candidates: Candidates,
    /// How many arms were bounded, and from how many on the guess is raised next.
    seen: usize,
    look: usize,
    room: Room,
}

impl<'a, 'p> Search<'a, 'p> {
    fn new(scorer: &'a Scorer<'p>, bounds: Bounds, arms: &'a Arms<'a>, k: usize, memory: Option<&'a Memory>) -> Self {
        let (floor, stop) = (Floor::new(f64::NEG_INFINITY), AtomicBool::new(false));
        let least = rows_per_task(scorer.kernel);
        let rows_per_task = if memory.is_none() { (arms.len() / TASKS).clamp(least, ROWS.max(least)) } else { least };
        Self { scorer, bounds, arms, k, memory, rows_per_task, raises: true, floor, stop }
    }

    /// The rows of all candidates; none if there are too many of them, or if a number is not finite.
    fn run(mut self) -> Option<Kept> {
        let blocks = self.scorer.blocks.len();
        let guess = self.guess();
        let mut all = Candidates::new(self.k);
        // Where a guess was too high, arms may be missing: first without raising it, then without any.
        for (guess, raises) in [(guess, guess > f64::NEG_INFINITY), (guess, false), (f64::NEG_INFINITY, false)] {
            self.raises = raises;
            all = self.candidates(guess)?;
            let floor = self.floor.get();
            let reaching = all.arms.iter().filter(|arm| arm.bound.lower >= floor).count();
            if reaching >= self.k || guess == f64::NEG_INFINITY {
                break;
            }
        }
        if all.arms.len() < self.k || !is_few(all.arms.len(), self.arms.len() * blocks) {
            return None;
        }
        let mut rows: Vec<usize> = all.arms.iter().map(|arm| arm.place / blocks).collect();
        rows.sort_unstable();
        rows.dedup();
        Some(Kept { rows, floor: all.floor })
    }

    /// A floor that most probably at least k arms reach, and not many more: the lower ends of a sample tell. -infinity
    /// where there are too few arms for that.
    fn guess(&self) -> f64 {
        let sample = SAMPLE.min(self.arms.len() / SHARE);
        let Some(rank) = rank_of_guess(sample, self.k, self.arms.len(), SAFE) else { return f64::NEG_INFINITY };
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
    fn candidates(&self, floor: f64) -> Option<Candidates> {
        self.floor.set(floor);
        let state = || State { candidates: Candidates::new(self.k), seen: 0, look: 0, room: Room::default() };
        let tasks = self.arms.len().div_ceil(self.rows_per_task);
        let step = scattering(tasks);
        let states = share(tasks, state, |state, number| self.task(state, number * step % tasks));
        if self.stop.load(Relaxed) {
            return None;
        }
        Some(Candidates::of_all(self.k, floor, states.into_iter().map(|state| state.candidates)))
    }

    fn task(&self, State { candidates, seen, look, room }: &mut State, task: usize) {
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
        if self.raises && *seen >= *look {
            *look = 2 * *seen;
            // What was seen is a sample of all arms, and all of it that reaches the floor is kept.
            if let Some(rank) = rank_of_guess(*seen, self.k, self.arms.len() * blocks, SAFE) {
                candidates.guess(rank);
                self.floor.learn(candidates);
            }
        }
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

    fn get(&self) -> f64 {
        unordered(self.0.load(Relaxed))
    }

    /// Raises the floor of a task's candidates to that of all, and returns it.
    pub(super) fn raise(&self, candidates: &mut Candidates) -> f64 {
        candidates.floor = candidates.floor.max(self.get());
        candidates.floor
    }

    /// Adds an arm to the candidates of a task; true if their floor was recomputed, which all are told.
    pub(super) fn push(&self, candidates: &mut Candidates, arm: Candidate) -> bool {
        let recomputed = candidates.push(arm);
        if recomputed {
            self.learn(candidates);
        }
        recomputed
    }

    /// Takes the floor of a task's candidates if it is higher.
    fn learn(&self, candidates: &Candidates) {
        self.0.fetch_max(ordered(candidates.floor), Relaxed);
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

    /// Raises the floor to the lower end of this rank, from the best; nothing proves that k arms of all reach it.
    fn guess(&mut self, rank: usize) {
        if rank < self.arms.len() {
            let falling = |a: &Candidate, b: &Candidate| b.bound.lower.total_cmp(&a.bound.lower);
            let (_, guess, _) = self.arms.select_nth_unstable_by(rank, falling);
            self.floor = self.floor.max(guess.bound.lower);
        }
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

    #[test]
    fn every_task_is_taken_once_and_early_ones_lie_apart() {
        for tasks in 1..400 {
            let step = scattering(tasks);
            let mut taken: Vec<usize> = (0..tasks).map(|number| number * step % tasks).collect();
            let early = &mut taken[..tasks.div_ceil(4)];
            early.sort_unstable();
            assert!(tasks < 12 || early.windows(2).all(|two| two[1] - two[0] <= tasks / 2), "{tasks}: {early:?}");
            taken.sort_unstable();
            assert!(taken.iter().copied().eq(0..tasks), "{tasks} by {step}");
        }
    }

    /// All good arms stand where the first task looks: what it has seen is no sample of the others then.
    #[test]
    fn a_raised_guess_that_is_too_high_is_taken_back() {
        const N: usize = 20_000;
        let (d, k, draws) = (51, 200, Round::new(1, 1).draws(0, Stream(300)));
        let model = {
            let mut model = Model::new(d, 1).expect("shape");
            for row in 0..300 {
                let x: Vec<f64> = (0..d as u64).map(|at| draws.normal(row << 8 | at)).collect();
                model.observe(&Observation { t: 1, block: 0, x: &x, reward: x[0] }).expect("finite");
            }
            model
        };
        let posteriors = Arc::new(vec![model.posterior(0, 1.0).expect("factors")]);
        let policy = Algorithm::C2ucb(C2ucb::new(1.0, 0.1));
        let scorer = Scorer::new(&policy, posteriors, Round::new(1, 2)).expect("direction");
        for (good, misleads) in [(0..k, true), (0..0, false)] {
            let mut x: Vec<f64> = (0..(N * d) as u64).map(|id| draws.normal((1 << 30) + id)).collect();
            good.for_each(|row| x[row * d] += 20.0);
            let arms = Arms::new(&x, d).expect("rows");
            let search = || Search::new(&scorer, Bounds::from_means(&scorer, N).expect("ordinary"), &arms, k, None);
            let first = search();
            let found = first.candidates(first.guess()).expect("few");
            let floor = first.floor.get();
            assert_eq!(found.arms.iter().filter(|arm| arm.bound.lower >= floor).count() < k, misleads);
            let rows = search().run().expect("few").rows;
            let scores = scorer.score(&arms).expect("finite");
            let mut best: Vec<usize> = (0..N).collect();
            best.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            assert!(rows.len() < N / 20 && best[..k].iter().all(|row| rows.contains(row)), "{} rows", rows.len());
        }
    }

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
            for (bounds, most) in
                [(Bounds::from_widths(&scorer), Some(104)), (Bounds::from_means(&scorer, N), by_means)]
            {
                let search = Search::new(&scorer, bounds.expect("ordinary"), &arms, 100, None);
                let rows = search.run().map(|kept| kept.rows.len());
                let fits = rows.is_some() == most.is_some()
                    && rows.is_none_or(|rows| (100..=most.unwrap_or(0)).contains(&rows));
                assert!(fits, "{rows:?} rows for d = {d}, alpha {alpha}");
            }
        }
    }
}
