//! Scores arms in the order of falling upper ends, until the rest cannot matter.
//!
//! Means are cheap (d operations per arm), so when the direction changes they are all computed again, from features as
//! bytes. Widths are expensive, and only those of visited arms are computed again. An upper end needs no draw, only
//! its ceiling; the draws of visited arms are made.

use super::remembered::{Part, Remembered};
use super::{Catalogue, by_upper};
use crate::kernel::{Few, Kernel, Products};
use crate::prune::best::{Candidate, Candidates, Floor};
use crate::prune::bound::{Earlier, Fill, Formula, Uppers, rounded_up};
use crate::score::{Scorer, rows_per_task};
use crate::tasks::{self, share_parts};
use crate::{Arms, Features};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// If more than one arm in this many would be visited, all arms are bounded again instead: that costs less than it
/// saves in later rounds.
const MOST: usize = 16;

/// What a task has found, and its buffers.
struct State {
    front: Candidates,
    sums: Vec<i32>,
    keys: Vec<u64>,
    rows: Vec<usize>,
    ceilings: Vec<f32>,
    coefficients: Vec<f64>,
}

impl Catalogue {
    /// Visits arms in the order of falling upper ends, until the rest cannot matter; none if that would be too many.
    pub(super) fn visit(
        &self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        k: usize,
        remembered: &mut Remembered,
    ) -> Option<Vec<usize>> {
        // The 2k best by upper end come first: they set the floor that the others must reach.
        let front = self.upper_ends(scorer, arms, 2 * k, remembered)?;
        let uppers = &remembered.uppers;
        let most = arms.len() / MOST;
        let mut best = Candidates::new(k);
        let visited = front.arms.len();
        if visited > most {
            return None;
        }
        self.score(scorer, arms, &front.arms, remembered, &mut best);
        let mut rest = Vec::new();
        places_reaching(self.kernel, uppers, best.floor, &mut rest);
        let all = rest.into_iter().map(|place| by_upper(place, f64::from(uppers[place])));
        let mut rest: Vec<Candidate> = all.filter(|arm| arm.bound.upper < front.floor).collect();
        if visited + rest.len() > most {
            return None;
        }
        while !rest.is_empty() {
            // A quarter of the rest at a time, so that few passes over it are needed.
            let next = (2 * k).max(rest.len() / 4).max(1024).min(rest.len());
            if next < rest.len() {
                rest.select_nth_unstable_by(next, |a, b| b.bound.upper.total_cmp(&a.bound.upper));
            }
            let batch: Vec<Candidate> = rest.drain(..next).collect();
            self.score(scorer, arms, &batch, remembered, &mut best);
            rest.retain(|arm| arm.bound.upper >= best.floor);
        }
        if best.arms.len() < k {
            return None;
        }
        let mut rows: Vec<usize> = best.arms.iter().map(|arm| arm.place).collect();
        rows.sort_unstable();
        Some(rows)
    }

    /// Upper ends of all scores, -infinity where an arm is not eligible, and the `front` best arms by upper end; none if
    /// a number is not finite. Bounds the products again if the direction has changed.
    fn upper_ends(
        &self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        front: usize,
        remembered: &mut Remembered,
    ) -> Option<Candidates> {
        let block = &scorer.blocks[0];
        let widths = scorer.posteriors[0].widths();
        let formula = Formula::new(block.bonus.times, &block.direction, None)?.with_widths(widths.least, widths.most);
        let stretch = remembered.slack * (1.0 + widths.eta);
        let turned = if remembered.direction == block.direction {
            None
        } else {
            Some(self.coarse.turned(&block.direction, self.groups.as_ref())?)
        };
        remembered.direction.clone_from(&block.direction);
        let rows_per_task = rows_per_task(self.kernel);
        let (bad, floor) = (AtomicBool::new(false), Floor::new(f64::NEG_INFINITY));
        let memory = &remembered.memory;
        let state = || {
            let (sums, keys, rows, ceilings, coefficients) = Default::default();
            State { front: Candidates::new(front), sums, keys, rows, ceilings, coefficients }
        };
        let task = |State { front, sums, keys, rows: all, ceilings, coefficients }: &mut State,
                    task: usize,
                    out: &mut [f32]| {
            let rows = task * rows_per_task..task * rows_per_task + out.len();
            let part = arms.slice(rows.clone());
            let mut memory = memory.part(task);
            let Part { widths, dots } = &mut *memory;
            // Infinite where nothing is known of an arm yet.
            widths.resize(rows.len(), f32::INFINITY);
            if let Some(turned) = &turned {
                self.coarse.uppers(self.kernel, turned, rows.clone(), sums, dots);
            }
            all.clear();
            all.extend(0..rows.len());
            if let Some((base, factor)) = block.ceilings(&part, all.iter().copied(), keys, ceilings) {
                coefficients.clear();
                coefficients.extend(ceilings.iter().map(|&z| base + factor * f64::from(z)));
            } else {
                block.coefficients_of(&part, keys, coefficients);
            }
            let first = rows.start;
            let (norms, coefficients) = (&self.norms[rows], &coefficients[..]);
            let (widths, ends) = (Earlier(widths, stretch), Uppers(&mut *out));
            if !self.kernel.dispatch(Fill { formula, dots, norms, coefficients, widths, ends }) {
                bad.store(true, Relaxed);
            }
            if arms.eligible_per_row() > 0 {
                let out = out.iter_mut().enumerate().filter(|(row, _)| !part.is_eligible(*row, 0));
                out.for_each(|(_, upper)| *upper = f32::NEG_INFINITY);
            }
            all.clear();
            places_reaching(self.kernel, out, floor.raise(front), all);
            for &mut place in all {
                let upper = f64::from(out[place]);
                if upper >= front.floor {
                    floor.push(front, by_upper(first + place, upper));
                }
            }
        };
        remembered.uppers.resize(arms.len(), 0.0);
        let states = share_parts(remembered.uppers.chunks_mut(rows_per_task), state, task);
        let found = Candidates::of_all(front, f64::NEG_INFINITY, states.into_iter().map(|state| state.front));
        (!bad.load(Relaxed)).then_some(found)
    }

    /// Scores arms in f64, with the same bits as without a catalogue, and remembers their widths.
    fn score(
        &self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        batch: &[Candidate],
        remembered: &Remembered,
        best: &mut Candidates,
    ) {
        let (block, rows_per_task) = (&scorer.blocks[0], rows_per_task(self.kernel));
        let eta = scorer.posteriors[0].widths().eta;
        let score = |batch: &[Candidate]| -> Vec<Candidate> {
            let rows: Vec<usize> = batch.iter().map(|arm| arm.place).collect();
            let gathered = arms.gather(&rows);
            let (mut products, mut ids, mut coefficients) = (Products::default(), Vec::new(), Vec::new());
            let ready = gathered.with_arms(|part| {
                match part.features() {
                    Features::F32(x) => self.kernel.products(x, &scorer.packed, &mut products),
                    Features::F64(x) => self.kernel.products(x, &scorer.packed, &mut products),
                }
                block.coefficients_of(part, &mut ids, &mut coefficients);
                Ok(())
            });
            ready.expect("a batch is not empty");
            let arm = |(place, &row): (usize, &usize)| {
                let width = products.widths(0)[place];
                let score = products.dots(0)[place] + block.bonus.times.of(coefficients[place], width);
                let above = rounded_up(width * (1.0 + 2.0 * eta) / remembered.slack * (1.0 + 1e-12));
                remembered.memory.part(row / rows_per_task).widths[row % rows_per_task] = above;
                by_upper(row, score)
            };
            rows.iter().enumerate().map(arm).collect()
        };
        let parts: Vec<&[Candidate]> = batch.chunks(rows_per_task).collect();
        let scored = tasks::map(parts.len(), || (), |(), part| score(parts[part]));
        scored.into_iter().flatten().for_each(|arm| {
            best.push(arm);
        });
        best.cut();
    }
}

/// The places of the upper ends that reach a floor; never of -infinity.
fn places_reaching(kernel: Kernel, uppers: &[f32], floor: f64, places: &mut Vec<usize>) {
    /// Upper ends that are compared before the places of the large ones are written down.
    const PART: usize = 4096;
    // An f32 that is not above the floor. No upper end changes by the addition of 0 times itself, except that -infinity
    // becomes a NaN, which reaches nothing.
    let (floor, mut few) = (-rounded_up(-floor), Few::default());
    for (part, uppers) in uppers.chunks(PART).enumerate() {
        kernel.above(uppers, uppers, (0.0, floor), &mut few);
        places.extend(few.rows().map(|row| part * PART + row));
    }
}
