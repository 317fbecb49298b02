//! Scores of many arms at once: score(i) = direction . x(i) + bonus(i).
//!
//! The decision to know: arms lie in the vector lanes. A tile of arms is transposed once, then every block
//! multiplies it by its direction and by its triangular W, row by row in ascending order. So each arm sees the
//! same operations in the same order whatever tile, chunk or thread it falls into, and X is read once for all
//! blocks. No fused multiply-add here: `pulp` only picks wider registers, which changes no bit.

#![allow(clippy::inline_always, reason = "kernels must be compiled inside the dispatch, for its instruction set")]

use crate::{
    Arms, Bonus, Context, Draws, Error, Features, Policy, Posterior, Round, Stream,
    policy::{Draw, Times},
    posterior::dot,
};
use rayon::prelude::*;

/// Arms in a tile.
const LANES: usize = 16;
/// Rows that one task scores.
const ROWS_PER_TASK: usize = 64 * LANES;

type Lane = [f64; LANES];

/// A policy made ready to score the arms of one round.
pub(crate) struct Scorer<'p> {
    blocks: Vec<BlockScorer<'p>>,
    dim: usize,
}

struct BlockScorer<'p> {
    posterior: &'p Posterior,
    direction: Vec<f64>,
    bonus: Bonus<'p>,
    draws: Draws,
}

/// What one task scores. A type of its own, because a closure given to `dispatch` need not be inlined, and then its
/// body is compiled for the smallest instruction set.
struct Task<'t, 'p, 'a> {
    scorer: &'t Scorer<'p>,
    part: &'t Arms<'a>,
    out: &'t mut [f64],
}

impl pulp::WithSimd for Task<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.scorer.score_part(self.part, self.out);
    }
}

/// An arm's score and where it comes from.
pub(crate) struct Explanation {
    pub(crate) mean: f64,
    pub(crate) width: f64,
    pub(crate) draw: Option<f64>,
    pub(crate) score: f64,
}

impl<'p> Scorer<'p> {
    /// Asks the policy for each block's direction and bonus.
    pub(crate) fn new<P: Policy>(policy: &'p P, posteriors: &'p [Posterior], round: Round) -> Result<Self, Error> {
        let dim = posteriors[0].dim();
        let count = posteriors.iter().map(Posterior::count).sum();
        let ready = |(block, posterior)| {
            let at = Context { round, block, blocks: posteriors.len(), count, posterior };
            let direction = policy.direction(&at);
            if direction.len() != dim {
                let what = "elements in the policy's direction";
                return Err(Error::Dimension { what, expected: dim, found: direction.len() });
            }
            let draws = round.draws(block, Stream::BONUS);
            Ok(BlockScorer { posterior, direction, bonus: policy.bonus(&at), draws })
        };
        Ok(Self { blocks: (0..).zip(posteriors).map(ready).collect::<Result<_, _>>()?, dim })
    }

    /// The scores of all arms, row-major, with -infinity where an arm is not eligible.
    pub(crate) fn score(&self, arms: &Arms<'_>) -> Result<Vec<f64>, Error> {
        if arms.dim() != self.dim {
            return Err(Error::Dimension { what: "features per arm", expected: self.dim, found: arms.dim() });
        }
        let blocks = self.blocks.len();
        let flags = arms.eligible_per_row();
        if flags > 1 && flags != blocks {
            return Err(Error::Dimension { what: "eligible flags per arm", expected: blocks, found: flags });
        }
        let mut scores = vec![0.0; arms.len() * blocks];
        let bad = scores.par_chunks_mut(ROWS_PER_TASK * blocks).enumerate().find_map_first(|(task, out)| {
            let first = task * ROWS_PER_TASK;
            let part = arms.slice(first..first + out.len() / blocks);
            pulp::Arch::new().dispatch(Task { scorer: self, part: &part, out: &mut *out });
            let place = out.iter().position(|score| !score.is_finite())?;
            Some(blame(arms, first + place / blocks, place % blocks, out[place]))
        });
        if let Some(error) = bad {
            return Err(error);
        }
        if flags > 0 {
            for (place, score) in scores.iter_mut().enumerate() {
                if !arms.is_eligible(place / blocks, place % blocks) {
                    *score = f64::NEG_INFINITY;
                }
            }
        }
        Ok(scores)
    }

    /// One arm's score, from the same operations in the same order as `score`.
    pub(crate) fn explain(&self, x: &[f64], id: u64, block: usize) -> Explanation {
        let BlockScorer { posterior, direction, bonus, draws } = &self.blocks[block];
        let width = posterior.width(x);
        let draw = bonus.draw.of(draws, id);
        let score = dot(direction, x) + bonus.value(draw.unwrap_or(0.0), width);
        Explanation { mean: posterior.mean(x), width, draw, score }
    }

    #[inline(always)]
    fn score_part(&self, part: &Arms<'_>, out: &mut [f64]) {
        let blocks = self.blocks.len();
        let mut tile = vec![[0.0; LANES]; self.dim];
        for first in (0..part.len()).step_by(LANES) {
            let rows = LANES.min(part.len() - first);
            match part.features() {
                Features::F32(x) => pack(&x[first * self.dim..], rows, &mut tile, f64::from),
                Features::F64(x) => pack(&x[first * self.dim..], rows, &mut tile, |x| x),
            }
            for (block, scorer) in self.blocks.iter().enumerate() {
                let scores = product(&scorer.direction, &tile);
                let widths =
                    if scorer.bonus.times == Times::Width { widths(scorer.posterior, &tile) } else { [1.0; LANES] };
                for lane in 0..rows {
                    let draw = scorer.bonus.draw.of(&scorer.draws, part.id(first + lane)).unwrap_or(0.0);
                    out[(first + lane) * blocks + block] = scores[lane] + scorer.bonus.value(draw, widths[lane]);
                }
            }
        }
    }
}

impl Draw {
    #[inline]
    fn of(self, draws: &Draws, id: u64) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Uniform => Some(draws.uniform(id)),
            Self::Normal => Some(draws.normal(id)),
        }
    }
}

/// Transposes rows into the lanes of a tile; unused lanes keep what they had, and nobody reads them.
#[inline(always)]
fn pack<T: Copy>(x: &[T], rows: usize, tile: &mut [Lane], widen: impl Fn(T) -> f64) {
    let d = tile.len();
    for lane in 0..rows {
        for (column, &x) in tile.iter_mut().zip(&x[lane * d..(lane + 1) * d]) {
            column[lane] = widen(x);
        }
    }
}

#[inline(always)]
fn add(sum: &mut Lane, w: f64, x: &Lane) {
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum += w * x;
    }
}

/// w . x in every lane.
#[inline(always)]
fn product(w: &[f64], tile: &[Lane]) -> Lane {
    let mut sum = [0.0; LANES];
    for (&w, x) in w.iter().zip(tile) {
        add(&mut sum, w, x);
    }
    sum
}

/// |W x| in every lane. Four rows of W share each load of x.
#[inline(always)]
fn widths(posterior: &Posterior, tile: &[Lane]) -> Lane {
    const ROWS: usize = 4;
    let mut squares = [0.0; LANES];
    let mut i = 0;
    while i + ROWS <= tile.len() {
        let rows: [&[f64]; ROWS] = std::array::from_fn(|r| posterior.row(i + r));
        let mut y = [[0.0; LANES]; ROWS];
        for j in 0..=i {
            for r in 0..ROWS {
                add(&mut y[r], rows[r][j], &tile[j]);
            }
        }
        for r in 1..ROWS {
            for j in i + 1..=i + r {
                add(&mut y[r], rows[r][j], &tile[j]);
            }
        }
        for y in &y {
            add_square(&mut squares, y);
        }
        i += ROWS;
    }
    for i in i..tile.len() {
        add_square(&mut squares, &product(posterior.row(i), tile));
    }
    squares.map(f64::sqrt)
}

#[inline(always)]
fn add_square(sum: &mut Lane, y: &Lane) {
    for (sum, y) in sum.iter_mut().zip(y) {
        *sum += y * y;
    }
}

/// Says why a score is not finite: a bad feature makes its row's product NaN or infinite, always.
fn blame(arms: &Arms<'_>, row: usize, block: usize, value: f64) -> Error {
    let x = arms.row(row);
    match x.iter().position(|x| !x.is_finite()) {
        Some(column) => Error::FeatureNotFinite { row, column, value: x[column] },
        None => Error::ScoreOverflow { row, block, value },
    }
}
