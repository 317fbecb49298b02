//! Pruning: leaves out arms that cannot be chosen before they are scored exactly.
//!
//! Every arm gets a [`bound`] that certainly holds its f64 score. An arm is left out only if its bound lies under a
//! floor that the arms of the answer certainly reach, so the answer is the one that all scores in f64 would give, to
//! the bit. The files: [`bound`] has the formula and its proof, [`source`] bounds of arms in memory, [`best`]
//! candidates for the k best, [`small`] the same where rounds are small, [`floors`] rows and arms that reach given floors, [`screen`] the same for rows whose
//! features are not yet made, [`catalogue`] arms that are chosen from every round, whose widths are remembered.

mod best;
mod bound;
mod catalogue;
mod floors;
mod screen;
mod small;
mod source;

pub(crate) use best::{Kept, best, best_in_turns};
pub use catalogue::Catalogue;
pub(crate) use floors::{Pairs, rows_reaching};
pub(crate) use screen::Screening;
pub use screen::{Panels, Screen};
pub(crate) use source::Bounds;

use crate::Arms;
use crate::policy::Times;
use crate::score::Scorer;

/// Below this many multiplications only [`small`] prunes: otherwise all arms are scored in f64.
const WORTHWHILE: usize = 1 << 22;
/// Pruning pays only if at most one arm in this many is kept.
const FEW: usize = 10;
/// Proving the range of all widths pays from this many arms per feature on.
const ARMS_TO_A_FEATURE: usize = 32;

/// Whether pruning these arms can save more than it costs. False for arms of the wrong shape, so that the scorer
/// reports the error.
fn pays(scorer: &Scorer<'_>, arms: &Arms<'_>) -> bool {
    let multiplications = (arms.len() * scorer.blocks.len()).saturating_mul(scorer.dim * scorer.dim);
    multiplications >= WORTHWHILE && has_widths(scorer) && scorer.check(arms).is_ok()
}

fn has_widths(scorer: &Scorer<'_>) -> bool {
    scorer.blocks.iter().any(|block| block.bonus.times == Times::Width)
}

/// Whether few enough arms are kept that scoring them again in f64 is cheap.
fn is_few(kept: usize, of: usize) -> bool {
    kept.saturating_mul(FEW) <= of
}

/// Bounds from the means alone, if there are enough rows to pay for preparing them.
pub(crate) fn means_for(scorer: &Scorer<'_>, rows: usize) -> Option<Bounds> {
    if rows >= ARMS_TO_A_FEATURE * scorer.dim { Bounds::from_means(scorer, rows) } else { None }
}
