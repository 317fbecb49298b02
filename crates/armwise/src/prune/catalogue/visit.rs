//! Scores arms in the order of falling upper ends, until the rest cannot matter.
//!
//! Means are cheap (d operations per arm), so when the direction changes they are all computed again, from features in
//! 16 bits. Widths are expensive, and only those of visited arms are computed again. An upper end needs no draw, only
//! its ceiling; the draws of visited arms are made.

use super::coarse::OFF;
use super::remembered::{Part, Remembered};
use super::{Catalogue, by_upper};
use crate::kernel::Products;
use crate::prune::best::{Candidate, Candidates};
use crate::prune::bound::{Earlier, Fill, Formula, Uppers, rounded_up};
use crate::score::{Scorer, rows_per_task};
use crate::tasks::{self, share_parts};
use crate::{Arms, Features};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// If more than one arm in this many would be visited, all arms are bounded again instead: that costs less than it
/// saves in later rounds.
const MOST: usize = 16;

/// The buffers of a task.
#[derive(Default)]
struct Room {
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
        self.upper_ends(scorer, arms, remembered)?;
        let uppers = &remembered.uppers;
        // The 2k best by upper end come first: they set the floor that the others must reach.
        let mut front = Candidates::new(2 * k);
        for (place, &upper) in uppers.iter().enumerate() {
            let upper = f64::from(upper);
            if upper >= front.floor && upper > f64::NEG_INFINITY {
                front.push(by_upper(place, upper));
            }
        }
        front.cut();
        let most = arms.len() / MOST;
        let mut best = Candidates::new(k);
        let visited = front.arms.len();
        if visited > most {
            return None;
        }
        self.score(scorer, arms, &front.arms, remembered, &mut best);
        let mut rest = Vec::new();
        for (place, &upper) in uppers.iter().enumerate() {
            let upper = f64::from(upper);
            if upper >= best.floor && upper < front.floor {
                rest.push(by_upper(place, upper));
                if visited + rest.len() > most {
                    return None;
                }
            }
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

    /// Upper ends of all scores, -infinity where an arm is not eligible; none if a number is not finite. Computes the
    /// products again if the direction has changed.
    fn upper_ends(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, remembered: &mut Remembered) -> Option<()> {
        let block = &scorer.blocks[0];
        let widths = scorer.posteriors[0].widths();
        let formula = Formula::new(block.bonus.times, &block.direction, None)?
            .with_widths(widths.least, widths.most)
            .with_coarse_features(&block.direction, OFF);
        let stretch = remembered.slack * (1.0 + widths.eta);
        let narrow = || block.direction.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let turned = (remembered.direction != block.direction).then(narrow);
        remembered.direction.clone_from(&block.direction);
        let rows_per_task = rows_per_task(self.kernel);
        let bad = AtomicBool::new(false);
        let memory = &remembered.memory;
        let task = |Room { keys, rows: all, ceilings, coefficients }: &mut Room, task: usize, out: &mut [f32]| {
            let rows = task * rows_per_task..task * rows_per_task + out.len();
            let part = arms.slice(rows.clone());
            let mut memory = memory.part(task);
            let Part { widths, dots } = &mut *memory;
            // Infinite where nothing is known of an arm yet.
            widths.resize(rows.len(), f32::INFINITY);
            if let Some(direction) = &turned {
                dots.resize(rows.len(), 0.0);
                self.coarse.dots(self.kernel, rows.start, direction, dots);
            }
            all.clear();
            all.extend(0..rows.len());
            if let Some((base, factor)) = block.ceilings(&part, all.iter().copied(), keys, ceilings) {
                coefficients.clear();
                coefficients.extend(ceilings.iter().map(|&z| base + factor * f64::from(z)));
            } else {
                block.coefficients_of(&part, keys, coefficients);
            }
            let (norms, coefficients) = (&self.norms[rows], &coefficients[..]);
            let (widths, ends) = (Earlier(widths, stretch), Uppers(&mut *out));
            if !self.kernel.dispatch(Fill { formula, dots, norms, coefficients, widths, ends }) {
                bad.store(true, Relaxed);
            }
            if arms.eligible_per_row() > 0 {
                let out = out.iter_mut().enumerate().filter(|(row, _)| !part.is_eligible(*row, 0));
                out.for_each(|(_, upper)| *upper = f32::NEG_INFINITY);
            }
        };
        remembered.uppers.resize(arms.len(), 0.0);
        share_parts(remembered.uppers.chunks_mut(rows_per_task), Room::default, task);
        (!bad.load(Relaxed)).then_some(())
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
