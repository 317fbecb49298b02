//! Which rows can matter at all: prices from a sample, then one scan of the scores.
//!
//! The decision to know: the sample only saves work. A row is left out if every score of it is below the floor of
//! its block, and the solver accepts the result only where its final prices are at or above the floors, so that
//! every row left out is proven to be out; otherwise the floors are lowered and the scan is repeated.

use super::grid::Scale;
use super::newton::{Target, greedy, newton};
use super::quota::Slots;
use crate::Error;
use crate::oracle::Scores;

/// Samples below this many rows are solved from a greedy start; whole problems below it are not filtered.
const COARSEST: usize = 640;
/// A sample has one row out of so many of the next larger one.
const GROUP: usize = 8;
/// Rows that are tested together in the scan.
const TOGETHER: usize = 4;

/// The rows that were kept, with their scores brought below 1.
#[derive(Debug)]
pub(super) struct Kept {
    /// Row numbers among the scores, ascending.
    pub(super) rows: Vec<usize>,
    /// Their scores, row-major.
    pub(super) scores: Vec<f64>,
    /// The power of two by which they were divided.
    pub(super) scale: Scale,
}

/// Floors for the prices of the blocks: low enough, most probably, that no row below them is needed.
pub(super) fn floors(values: &[f64], slots: &[Slots], per_row: usize) -> Vec<f64> {
    if values.len() / slots.len() < COARSEST {
        return vec![f64::NEG_INFINITY; slots.len()];
    }
    let mut prices = estimate(values, slots, per_row, GROUP);
    prices.iter_mut().filter(|price| !price.is_finite()).for_each(|price| *price = f64::NEG_INFINITY);
    prices
}

/// First prices for the kept rows: the floors where there are any.
pub(super) fn start(kept: &Kept, floors: &[f64], slots: &[Slots], per_row: usize) -> Vec<f64> {
    if floors.iter().any(|floor| floor.is_finite()) {
        return floors.iter().map(|&floor| kept.scale.down(floor)).collect();
    }
    let targets: Vec<Target> = slots.iter().map(Target::exactly).collect();
    greedy(&kept.scores, per_row, &targets)
}

/// Prices from one row of each group, those rows filtered in turn by prices from a smaller sample.
fn estimate(values: &[f64], slots: &[Slots], per_row: usize, group: usize) -> Vec<f64> {
    let blocks = slots.len();
    let rows = values.len() / blocks;
    let sample = rows / group;
    let targets: Vec<Target> = slots.iter().map(|slots| Target::raised(slots, 1.0 / group as f64)).collect();
    let coarse = (sample >= COARSEST).then(|| estimate(values, slots, per_row, group * GROUP));
    let mut scores = Vec::new();
    for index in 0..sample {
        // A fixed scattering of the rows, so that no period in the data meets a period of the sample.
        let row = index * group + (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % group;
        let row = &values[row * blocks..(row + 1) * blocks];
        let keep = coarse.as_ref().is_none_or(|floors| row.iter().zip(floors).any(|(score, floor)| score >= floor));
        if keep {
            scores.extend_from_slice(row);
        }
    }
    let mut prices = coarse.unwrap_or_else(|| greedy(&scores, per_row, &targets));
    newton(&scores, per_row, &targets, &mut prices);
    prices
}

/// Keeps the rows with a score at or above the floor of its block, and checks all scores on the way.
pub(super) fn keep(scores: &Scores<'_>, floors: &[f64]) -> Result<Kept, Error> {
    let (values, blocks) = (scores.values(), floors.len());
    let tile: Vec<f64> = floors.iter().copied().cycle().take(TOGETHER * blocks).collect();
    let mut largest = [0.0; TOGETHER];
    let mut bad = [false; TOGETHER];
    let mut rows = Vec::new();
    for (index, group) in values.chunks(TOGETHER * blocks).enumerate() {
        let mut any = [false; TOGETHER];
        let (fours, rest) = group.as_chunks::<TOGETHER>();
        let (tiles, _) = tile.as_chunks::<TOGETHER>();
        for (scores, floors) in fours.iter().zip(tiles) {
            test(scores, floors, &mut any, &mut bad, &mut largest);
        }
        for (&score, &floor) in rest.iter().zip(&tile[fours.len() * TOGETHER..]) {
            test(&[score; TOGETHER], &[floor; TOGETHER], &mut any, &mut bad, &mut largest);
        }
        if any.contains(&true) {
            let above = |row: &[f64]| row.iter().zip(floors).any(|(score, floor)| score >= floor);
            let first = index * TOGETHER;
            rows.extend(group.chunks_exact(blocks).zip(first..).filter(|(row, _)| above(row)).map(|(_, row)| row));
        }
    }
    if bad.contains(&true) {
        let place = values.iter().position(|&score| !(score < f64::INFINITY)).expect("a bad score was seen");
        return Err(scores.not_finite(scores.pick(place)));
    }
    let scale = Scale::new(largest.into_iter().fold(0.0, f64::max));
    let mut kept = Vec::with_capacity(rows.len() * blocks);
    for &row in &rows {
        kept.extend(values[row * blocks..(row + 1) * blocks].iter().map(|&score| scale.down(score)));
    }
    Ok(Kept { rows, scores: kept, scale })
}

/// One step of the scan, on lanes that the compiler turns into vectors.
#[inline(always)]
#[expect(clippy::inline_always, reason = "vectorised only where inlined")]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "the negation is what catches a NaN")]
fn test(
    scores: &[f64; TOGETHER],
    floors: &[f64; TOGETHER],
    any: &mut [bool; TOGETHER],
    bad: &mut [bool; TOGETHER],
    largest: &mut [f64; TOGETHER],
) {
    for lane in 0..TOGETHER {
        let score = scores[lane];
        any[lane] |= score >= floors[lane];
        bad[lane] |= !(score < f64::INFINITY);
        let size = if score == f64::NEG_INFINITY { 0.0 } else { score.abs() };
        largest[lane] = if size > largest[lane] { size } else { largest[lane] };
    }
}
