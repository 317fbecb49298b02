//! Which rows can matter at all: prices from a sample, then one scan of the scores.
//!
//! The decision to know: the sample only saves work. A row is left out if every score of it is below the floor of
//! its block, and the solver accepts the result only where its final prices are at or above the floors, so that
//! every row left out is proven to be out; otherwise the floors are lowered and the scan is repeated.

#![allow(clippy::inline_always, reason = "compiled for the vectors of this machine only where inlined")]

use super::grid::Scale;
use super::newton::{Target, greedy, newton};
use super::quota::Slots;
use crate::Error;
use crate::oracle::Scores;

/// Samples below this many rows are solved from a greedy start; whole problems below it are not filtered.
const COARSEST: usize = 640;
/// A sample has one row out of so many of the next larger one.
const GROUP: usize = 8;
/// Rows, and lanes of a vector, that are tested together in the scan.
const LANES: usize = 4;

/// The rows that were kept, with their scores brought below 1.
#[derive(Debug)]
pub(super) struct Kept {
    /// Row numbers among the scores, ascending.
    pub(super) rows: Vec<usize>,
    /// Their scores, row-major.
    pub(super) scores: Vec<f64>,
    /// The power of two by which they were divided.
    pub(super) scale: Scale,
    /// The largest score.
    pub(super) best: f64,
    /// Scores below this are so far below all the others that they must not set the scale; none, as a rule.
    pub(super) penalty: Option<f64>,
}

/// Where all other scores are below this share of a negative one, they might be lost beside it on the grid.
const PENALTY: f64 = 1.0 / (1u64 << 24) as f64;

/// What a sample says about the prices of the blocks.
#[derive(Debug)]
pub(super) struct Estimate {
    /// Low enough, most probably, that no row below them is needed.
    pub(super) floors: Vec<f64>,
    /// The prices themselves, as good as the sample is; none without a sample.
    pub(super) prices: Option<Vec<f64>>,
}

/// Looks at one row of eight, if there are enough.
pub(super) fn estimate(values: &[f64], slots: &[Slots], per_row: usize) -> Estimate {
    if !worth_sampling(values.len() / slots.len(), slots, per_row, GROUP) {
        return Estimate { floors: vec![f64::NEG_INFINITY; slots.len()], prices: None };
    }
    let (mut floors, sample) = sample(values, slots, per_row, GROUP);
    let targets: Vec<Target> = slots.iter().map(|slots| Target::share(slots, 1.0 / GROUP as f64)).collect();
    let mut prices = floors.clone();
    newton(&sample, per_row, &targets, targets.iter().map(Target::noise).sum(), &mut prices);
    floors.iter_mut().filter(|floor| !floor.is_finite()).for_each(|floor| *floor = f64::NEG_INFINITY);
    Estimate { floors, prices: Some(prices) }
}

/// Whether one row of each group makes a sample that is large enough, and larger than what it must fill.
fn worth_sampling(rows: usize, slots: &[Slots], per_row: usize, group: usize) -> bool {
    let sample = rows / group;
    let wanted: f64 = slots.iter().map(|slots| Target::raised(slots, 1.0 / group as f64).most()).sum();
    sample >= COARSEST / GROUP && wanted < 0.6 * (sample * per_row) as f64
}

/// First prices for kept rows without an estimate.
pub(super) fn start(kept: &Kept, slots: &[Slots], per_row: usize) -> Vec<f64> {
    let targets: Vec<Target> = slots.iter().map(Target::exactly).collect();
    greedy(&kept.scores, per_row, &targets)
}

/// Too low prices from one row of each group, and the scores of these rows as far as they matter, which prices from
/// a smaller sample decide in turn.
fn sample(values: &[f64], slots: &[Slots], per_row: usize, group: usize) -> (Vec<f64>, Vec<f64>) {
    let blocks = slots.len();
    let rows = values.len() / blocks;
    let count = rows / group;
    let targets: Vec<Target> = slots.iter().map(|slots| Target::raised(slots, 1.0 / group as f64)).collect();
    let coarse =
        worth_sampling(rows, slots, per_row, group * GROUP).then(|| sample(values, slots, per_row, group * GROUP).0);
    let mut scores = Vec::new();
    for index in 0..count {
        // A fixed scattering of the rows, so that no period in the data meets a period of the sample.
        let row = index * group + (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % group;
        let row = &values[row * blocks..(row + 1) * blocks];
        let keep = coarse.as_ref().is_none_or(|floors| row.iter().zip(floors).any(|(score, floor)| score >= floor));
        if keep {
            scores.extend_from_slice(row);
        }
    }
    let mut prices = coarse.unwrap_or_else(|| greedy(&scores, per_row, &targets));
    newton(&scores, per_row, &targets, targets.iter().map(Target::noise).sum(), &mut prices);
    (prices, scores)
}

/// Keeps the rows with a score at or above the floor of its block, and checks all scores on the way.
pub(super) fn keep(scores: &Scores<'_>, floors: &[f64]) -> Result<Kept, Error> {
    let (values, blocks) = (scores.values(), floors.len());
    let mut scan = Scan { bad: [0; LANES], rows: Vec::new() };
    pulp::Arch::new().dispatch(Run { scan: &mut scan, values, floors });
    if scan.bad.iter().any(|&bad| bad != 0) {
        let bad = |score: &f64| score.is_nan() || *score == f64::INFINITY;
        let place = values.iter().position(bad).expect("a bad score was seen");
        return Err(scores.not_finite(scores.pick(place)));
    }
    let mut kept = Vec::with_capacity(scan.rows.len() * blocks);
    for &row in &scan.rows {
        kept.extend_from_slice(&values[row * blocks..(row + 1) * blocks]);
    }
    let finite = || kept.iter().filter(|score| score.is_finite());
    let largest = finite().fold(0.0, |largest: f64, score| largest.max(score.abs()));
    let best = finite().fold(f64::NEG_INFINITY, |best: f64, &score| best.max(score));
    let penalty = -PENALTY * largest;
    let drowns = best < -penalty && finite().any(|&score| score >= penalty && score != 0.0);
    let scale = Scale::new(largest);
    kept.iter_mut().for_each(|score| *score = scale.down(*score));
    Ok(Kept { rows: scan.rows, scores: kept, scale, best, penalty: drowns.then_some(penalty) })
}

/// What one pass over the scores finds; in lanes, which the compiler turns into vectors.
struct Scan {
    /// Not zero if a score was NaN or +infinity.
    bad: [u64; LANES],
    rows: Vec<usize>,
}

/// A scan to be compiled for the widest vectors of the machine; a closure might not be inlined there.
struct Run<'a> {
    scan: &'a mut Scan,
    values: &'a [f64],
    floors: &'a [f64],
}

impl pulp::NullaryFnOnce for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.scan.run(self.values, self.floors);
    }
}

impl Scan {
    #[inline(always)]
    fn run(&mut self, values: &[f64], floors: &[f64]) {
        let blocks = floors.len();
        let tile: Vec<f64> = floors.iter().copied().cycle().take(LANES * blocks).collect();
        let (tiles, _) = tile.as_chunks::<LANES>();
        for (index, group) in values.chunks(LANES * blocks).enumerate() {
            let mut any = [0; LANES];
            let (chunks, rest) = group.as_chunks::<LANES>();
            for (scores, floors) in chunks.iter().zip(tiles) {
                self.test(scores, floors, &mut any);
            }
            for (&score, &floor) in rest.iter().zip(&tile[chunks.len() * LANES..]) {
                self.test(&[score; LANES], &[floor; LANES], &mut any);
            }
            if any != [0; LANES] {
                let above = |row: &[f64]| row.iter().zip(floors).any(|(score, floor)| score >= floor);
                let rows = group.chunks_exact(blocks).zip(index * LANES..);
                self.rows.extend(rows.filter(|(row, _)| above(row)).map(|(_, row)| row));
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "the negation is what catches a NaN")]
    fn test(&mut self, scores: &[f64; LANES], floors: &[f64; LANES], any: &mut [u64; LANES]) {
        for lane in 0..LANES {
            let score = scores[lane];
            any[lane] |= u64::from(score >= floors[lane]);
            self.bad[lane] |= u64::from(!(score < f64::INFINITY));
        }
    }
}
