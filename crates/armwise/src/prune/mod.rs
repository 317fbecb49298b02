//! Pruning: arms that cannot be chosen are left out before they are scored exactly.
//!
//! Every arm gets a [`bound`] that certainly holds its f64 score. An arm is left out only if its bound lies under a floor
//! that the arms of the answer certainly reach, so the answer is the one that all scores in f64 would give, to the bit.
//! The files: [`bound`] the formula and its proof, [`source`] bounds of arms at hand, [`best`] candidates for the k best,
//! [`floors`] rows and arms that reach given floors, [`screen`] the same for rows that are not made yet, [`catalogue`]
//! arms that come back, whose widths are remembered.

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

use crate::{Arms, policy::Times, score::Scorer};

/// Below this many multiplications all arms are scored in f64 straight away.
const WORTHWHILE: usize = 1 << 22;
/// Once more than one arm in so many is kept, pruning costs more than it saves.
const FEW: usize = 10;
/// With so many arms to a feature, proving the range of all widths costs less than it saves.
const ARMS_TO_A_FEATURE: usize = 32;

/// Whether pruning these arms can save more than it costs. Arms of another shape are left to the scorer's error.
fn pays(scorer: &Scorer<'_>, arms: &Arms<'_>) -> bool {
    let multiplications = (arms.len() * scorer.blocks.len()).saturating_mul(scorer.dim * scorer.dim);
    let has_widths = scorer.blocks.iter().any(|block| block.bonus.times == Times::Width);
    has_widths && multiplications >= WORTHWHILE && scorer.check(arms).is_ok()
}

/// Whether so few are left that scoring them again in f64 is cheap.
fn is_few(kept: usize, of: usize) -> bool {
    kept.saturating_mul(FEW) <= of
}

/// Bounds from the means alone, where so many rows make them worth their preparation.
pub(crate) fn means_for(scorer: &Scorer<'_>, rows: usize) -> Option<Bounds> {
    if rows >= ARMS_TO_A_FEATURE * scorer.dim { Bounds::from_means(scorer) } else { None }
}
