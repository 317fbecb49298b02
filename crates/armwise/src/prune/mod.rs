//! Pruning: leaves out arms that cannot be chosen before they are scored exactly.
//!
//! Every arm gets a [`bound`] that certainly holds its f64 score. An arm is left out only if its bound lies under a
//! floor that the arms of the answer certainly reach, so the answer is the one that all scores in f64 would give, to
//! the bit. The files: [`bound`] has the formula and its proof, [`source`] bounds of arms in memory, [`best`]
//! candidates for the k best, [`floors`] rows and arms that reach given floors, [`screen`] the same for rows whose
//! features are not yet made, [`catalogue`] arms that are chosen from every round, whose widths are remembered.

mod best;
mod bound;
mod catalogue;
mod floors;
mod screen;
mod source;

pub(crate) use best::best;
pub use catalogue::Catalogue;
pub(crate) use floors::{Pairs, rows_reaching};
pub(crate) use screen::Screening;
pub use screen::{Panels, Screen};
pub(crate) use source::Bounds;

use crate::policy::Times;
use crate::score::{Scorer, rows_per_task};
use crate::{Arms, tasks::share_parts};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Below this many multiplications, pruning does not pay: all arms are scored in f64.
const WORTHWHILE: usize = 1 << 22;
/// Pruning pays only if at most one arm in this many is kept.
const FEW: usize = 10;
/// Proving the range of all widths pays from this many arms per feature on.
const ARMS_TO_A_FEATURE: usize = 32;

/// Whether pruning these arms can save more than it costs. False for arms of the wrong shape, so that the scorer
/// reports the error.
fn pays(scorer: &Scorer<'_>, arms: &Arms<'_>) -> bool {
    let multiplications = (arms.len() * scorer.blocks.len()).saturating_mul(scorer.dim * scorer.dim);
    let has_widths = scorer.blocks.iter().any(|block| block.bonus.times == Times::Width);
    has_widths && multiplications >= WORTHWHILE && scorer.check(arms).is_ok()
}

/// Whether few enough arms are kept that scoring them again in f64 is cheap.
fn is_few(kept: usize, of: usize) -> bool {
    kept.saturating_mul(FEW) <= of
}

/// Upper ends of all scores, row-major, -infinity where an arm is not eligible, and an upper bound of the norms of all
/// rows; none if scoring all arms is cheaper, or if the bounds fail.
pub(crate) fn upper_ends(scorer: &Scorer<'_>, arms: &Arms<'_>) -> Option<(Vec<f64>, f64)> {
    if !pays(scorer, arms) {
        return None;
    }
    let bounds = means_for(scorer, arms.len()).or_else(|| Bounds::from_widths(scorer))?;
    let (blocks, rows_per_task) = (scorer.blocks.len(), rows_per_task(scorer.kernel));
    let mut uppers = vec![0.0; arms.len() * blocks];
    let (beyond, longest) = (AtomicBool::new(false), AtomicU32::new(0));
    let task = |room: &mut source::Room, task: usize, uppers: &mut [f64]| {
        let part = arms.slice(task * rows_per_task..task * rows_per_task + uppers.len() / blocks);
        let is_open = part.eligible_per_row() == 0;
        let finite = bounds.each_upper(scorer, &part, room, |block, of_block| {
            if is_open && blocks == 1 {
                return uppers.copy_from_slice(of_block);
            }
            let places = uppers[block..].iter_mut().step_by(blocks).zip(of_block).enumerate();
            places.for_each(|(row, (to, end))| {
                *to = if part.is_eligible(row, block) { *end } else { f64::NEG_INFINITY };
            });
        });
        beyond.fetch_or(!finite, Relaxed);
        // Numbers that are not negative are ordered as their bits are.
        let most = room.products.norms()[..part.len()].iter().fold(0.0, |most: f32, norm| most.max(*norm));
        longest.fetch_max(most.to_bits(), Relaxed);
    };
    share_parts(uppers.chunks_mut(rows_per_task * blocks), source::Room::default, task);
    let longest = f64::from(f32::from_bits(longest.into_inner()));
    (!beyond.into_inner()).then_some((uppers, 1.01 * longest + f64::from(f32::MIN_POSITIVE)))
}

/// Bounds from the means alone, if there are enough rows to pay for preparing them.
pub(crate) fn means_for(scorer: &Scorer<'_>, rows: usize) -> Option<Bounds> {
    if rows >= ARMS_TO_A_FEATURE * scorer.dim { Bounds::from_means(scorer) } else { None }
}
