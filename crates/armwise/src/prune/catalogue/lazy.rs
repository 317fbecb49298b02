//! Visiting arms in the order of falling upper bounds, as long as they can matter.
//!
//! Means are cheap, d operations to an arm, so where the direction is another one they are all
//! found again, from features in 16 bits; widths are dear, and only those of visited arms are.

use super::{
    Catalogue,
    bounds::{Bounds, Uppers, rounded_up},
    coarse::OFF,
    seen::{Part, Seen},
};
use crate::{
    Arms, Features,
    kernel::Products,
    prune::best::{Interval, Kept},
    prune::bound::Band,
    score::share_parts,
    score::{Scorer, rows_per_task},
};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Once more than one arm in so many would be visited, a new scan costs less than it saves in the rounds after.
const MOST: usize = 16;

/// What a task needs room for.
#[derive(Default)]
struct Room {
    ids: Vec<u64>,
    coefficients: Vec<f64>,
}

impl Catalogue {
    /// Visits arms in the order of falling upper bounds, as long as they can matter; `None` if these are too many.
    pub(super) fn lazy(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize, seen: &mut Seen) -> Option<Vec<usize>> {
        self.uppers(scorer, arms, seen)?;
        let uppers = &seen.uppers;
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
        self.visit(scorer, arms, &front.arms, seen, &mut best);
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
            self.visit(scorer, arms, &batch, seen, &mut best);
            rest.retain(|arm| arm.upper >= best.bar);
        }
        if best.arms.len() < k {
            return None;
        }
        let mut rows: Vec<usize> = best.arms.iter().map(|arm| arm.place).collect();
        rows.sort_unstable();
        Some(rows)
    }

    /// Upper bounds of all scores, -infinity where an arm is not eligible; `None` if a number is not finite. Products with
    /// another direction are found again.
    fn uppers(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, seen: &mut Seen) -> Option<()> {
        let block = &scorer.blocks[0];
        let span = block.posterior.widths();
        let bounds = Bounds {
            band: Band::coarse(&block.direction, OFF)?,
            stretch: seen.slack * (1.0 + span.eta),
            most: span.most,
            least: span.least,
            tiny: self.dim as f64 / (1_u64 << 60) as f64,
        };
        let narrow = || block.direction.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let turned = (seen.direction != block.direction).then(narrow);
        seen.direction.clone_from(&block.direction);
        let rows_per_task = rows_per_task(self.kernel);
        let bad = AtomicBool::new(false);
        let memory = &seen.memory;
        let task = |room: &mut Room, task: usize, out: &mut [f32]| {
            let Room { ids, coefficients } = room;
            let rows = task * rows_per_task..task * rows_per_task + out.len();
            let part = arms.slice(rows.clone());
            let mut memory = memory.part(task);
            let Part { widths, dots } = &mut *memory;
            // Infinite where nothing is known of an arm yet.
            widths.resize(rows.len(), f32::INFINITY);
            if let Some(direction) = &turned {
                dots.resize(rows.len(), 0.0);
                self.coarse.dots(rows.start, direction, dots);
            }
            let norms = &self.norms[rows];
            block.coefficients_of(&part, ids, coefficients);
            if !pulp::Arch::new().dispatch(Uppers { bounds: &bounds, dots, norms, coefficients, widths, out }) {
                bad.store(true, Relaxed);
            }
            if arms.eligible_per_row() > 0 {
                let out = out.iter_mut().enumerate().filter(|(row, _)| !part.is_eligible(*row, 0));
                out.for_each(|(_, upper)| *upper = f32::NEG_INFINITY);
            }
        };
        seen.uppers.resize(arms.len(), 0.0);
        share_parts(seen.uppers.chunks_mut(rows_per_task), Room::default, task);
        (!bad.load(Relaxed)).then_some(())
    }

    /// Scores arms in f64, to the bits of all others, and remembers their widths.
    fn visit(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, batch: &[Interval], seen: &Seen, best: &mut Kept) {
        let (block, rows_per_task) = (&scorer.blocks[0], rows_per_task(self.kernel));
        let eta = block.posterior.widths().eta;
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
                let above = rounded_up(width * (1.0 + 2.0 * eta) / seen.slack * (1.0 + 1e-12));
                seen.memory.part(row / rows_per_task).widths[row % rows_per_task] = above;
                Interval { upper: score, lower: score, place: row }
            };
            rows.iter().enumerate().map(arm).collect()
        };
        let scored: Vec<Vec<Interval>> = batch.par_chunks(rows_per_task).map(score).collect();
        scored.into_iter().flatten().for_each(|arm| {
            best.push(arm);
        });
        best.cut();
    }
}
