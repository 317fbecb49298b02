//! Scores of many arms at once: score(i) = direction . x(i) + bonus(i).
//!
//! Each arm sees the same operations in the same order whatever chunk or thread it falls into,
//! and X is read once for all blocks. The products are the [`kernel`](crate::kernel)'s.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::kernel::{Kernel, Packed, Products};
use crate::policy::{Drawn, Times};
use crate::tasks::share_parts;
use crate::{Arms, Auto, Bonus, Context, Draw, Error, Features, InTurn, Pick, Policy, Posterior, Round};
use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Tiles that one task scores; a multiple of 8, so that the arms of a task are whole panels of a catalogue.
const TILES_PER_TASK: usize = 24;
/// Below this many multiplications threads cost more than they save.
pub(crate) const PARALLEL: usize = 1 << 19;

/// Arms that one task scores.
pub(crate) fn rows_per_task(kernel: Kernel) -> usize {
    TILES_PER_TASK * kernel.width()
}

/// A policy prepared to score the arms of one round.
pub(crate) struct Scorer<'p> {
    pub(crate) round: Round,
    pub(crate) kernel: Kernel,
    pub(crate) posteriors: Arc<Vec<Posterior>>,
    pub(crate) blocks: Vec<BlockScorer<'p>>,
    pub(crate) packed: Vec<Packed<f64>>,
    pub(crate) dim: usize,
    /// What the policy chose by itself.
    pub(crate) auto: Option<Auto>,
    /// How scores change with every arm that is taken.
    pub(crate) in_turn: Option<InTurn>,
}

/// What the policy said about a block.
pub(crate) struct BlockScorer<'p> {
    block: usize,
    pub(crate) direction: Vec<f64>,
    pub(crate) bonus: Bonus<'p>,
    drawn: Drawn,
}

/// An arm's score and where it comes from.
pub(crate) struct Explanation {
    pub(crate) mean: f64,
    pub(crate) width: f64,
    pub(crate) draw: Option<f64>,
    pub(crate) score: f64,
}

/// The buffers of a task.
#[derive(Default)]
struct Room {
    products: Products<f64>,
    coefficients: Vec<f64>,
    ids: Vec<u64>,
}

thread_local! {
    /// The buffers of the last small round on this thread: making them anew takes a good part of such a round.
    static ROOM: Cell<Room> = Cell::default();
}

impl<'p> Scorer<'p> {
    /// Asks the policy for each block's direction and bonus.
    pub(crate) fn new<P: Policy>(policy: &'p P, posteriors: Arc<Vec<Posterior>>, round: Round) -> Result<Self, Error> {
        let kernel = Kernel::get();
        let dim = posteriors[0].dim();
        let count = posteriors.iter().map(Posterior::count).sum();
        let ready = |(block, posterior)| {
            let at = Context { round, block, blocks: posteriors.len(), count, posterior };
            let direction = policy.direction(&at);
            if direction.len() != dim {
                let what = "elements in the policy's direction";
                return Err(Error::Dimension { what, expected: dim, found: direction.len() });
            }
            let bonus = policy.bonus(&at);
            let drawn = Drawn::new(bonus.draw, bonus.scope, round, block);
            Ok(BlockScorer { block: block as usize, direction, bonus, drawn })
        };
        // Collecting them would take memory for four, which is so much that the allocator tidies up first.
        let mut blocks = Vec::with_capacity(posteriors.len());
        for block in (0..).zip(&*posteriors) {
            blocks.push(ready(block)?);
        }
        let at = Context { round, block: 0, blocks: posteriors.len(), count, posterior: &posteriors[0] };
        let (auto, in_turn) = (policy.auto(&at), policy.in_turn(&at));
        let mut scorer = Self { round, kernel, posteriors, blocks, packed: Vec::new(), dim, auto, in_turn };
        let pack = |block: &BlockScorer<'_>| kernel.pack(&block.direction, scorer.w(block));
        scorer.packed = scorer.blocks.iter().map(pack).collect();
        Ok(scorer)
    }

    /// The scores of all arms, row-major, with -infinity where an arm is not eligible.
    pub(crate) fn score(&self, arms: &Arms<'_>) -> Result<Vec<f64>, Error> {
        self.check(arms)?;
        let blocks = self.blocks.len();
        let mut scores = vec![0.0; arms.len() * blocks];
        let rows_per_task = rows_per_task(self.kernel);
        // The error of the first bad row, and its task.
        let bad: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let task = |room: &mut Room, task: usize, out: &mut [f64]| {
            let first = task * rows_per_task;
            self.score_part(&arms.slice(first..first + out.len() / blocks), 0..blocks, room, out);
            // Without an early exit, so that the compiler can use vector instructions.
            if out.iter().fold(true, |finite, score| finite & score.is_finite()) {
                return;
            }
            let place = out.iter().position(|score| !score.is_finite()).expect("one was seen");
            let mut bad = bad.lock().unwrap_or_else(PoisonError::into_inner);
            if bad.as_ref().is_none_or(|(earlier, _)| task < *earlier) {
                *bad = Some((task, blame(arms, first + place / blocks, place % blocks, out[place])));
            }
        };
        if scores.len() * self.dim * self.dim < PARALLEL {
            let mut room = ROOM.take();
            let parts = scores.chunks_mut(rows_per_task * blocks).enumerate();
            parts.for_each(|(number, part)| task(&mut room, number, part));
            ROOM.set(room);
        } else {
            share_parts(scores.chunks_mut(rows_per_task * blocks), Room::default, task);
        }
        let bad = bad.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = bad {
            return Err(error);
        }
        if arms.eligible_per_row() > 0 {
            for (place, score) in scores.iter_mut().enumerate() {
                if !arms.is_eligible(place / blocks, place % blocks) {
                    *score = f64::NEG_INFINITY;
                }
            }
        }
        Ok(scores)
    }

    /// The explanations of chosen arms, from the same operations in the same order as [`score`](Self::score);
    /// `features` are the rows of the picks.
    pub(crate) fn explain(&self, arms: &Arms<'_>, features: &[f64], picks: &[Pick]) -> Vec<Explanation> {
        let mut all = Vec::with_capacity(picks.len());
        let mut room = ROOM.take();
        let Room { products, coefficients, ids } = &mut room;
        for run in picks.chunk_by(|a, b| a.block == b.block) {
            let block = run[0].block;
            let BlockScorer { direction, bonus, drawn, .. } = &self.blocks[block];
            let posterior = &self.posteriors[block];
            let rows = all.len()..all.len() + run.len();
            let features = &features[rows.start * self.dim..rows.end * self.dim];
            // If the direction is theta_hat and widths count, the products of the score are the mean and the width.
            let along = self.packed[block].has_width && direction == posterior.theta_hat();
            if along {
                self.kernel.products(features, &self.packed[block..=block], products);
            } else {
                let kernel = self.kernel;
                let mean = kernel.pack(posterior.theta_hat(), Some(posterior.factor()));
                kernel.products(features, &[mean, kernel.pack(direction, None)], products);
            }
            let mut own = vec![0.0; run.len()];
            drawn.keys_of_rows(arms.keys(), run.iter().map(|pick| pick.row), ids);
            drawn.fill(ids, &mut own);
            coefficients.clone_from(&own);
            bonus.coefficients(coefficients);
            for place in 0..run.len() {
                let (mean, width) = (products.dots(0)[place], products.widths(0)[place]);
                let score = products.dots(usize::from(!along))[place] + bonus.times.of(coefficients[place], width);
                let draw = (bonus.draw != Draw::None).then_some(own[place]);
                all.push(Explanation { mean, width, draw, score });
            }
        }
        ROOM.set(room);
        all
    }

    /// W of a block, if its bonus uses widths.
    pub(crate) fn w(&self, block: &BlockScorer<'_>) -> Option<&[f64]> {
        (block.bonus.times == Times::Width).then(|| self.posteriors[block.block].factor())
    }

    /// Refuses arms of another shape.
    pub(crate) fn check(&self, arms: &Arms<'_>) -> Result<(), Error> {
        if arms.dim() != self.dim {
            return Err(Error::Dimension { what: "features per arm", expected: self.dim, found: arms.dim() });
        }
        let (flags, blocks) = (arms.eligible_per_row(), self.blocks.len());
        if flags > 1 && flags != blocks {
            return Err(Error::Dimension { what: "eligible flags per arm", expected: blocks, found: flags });
        }
        self.blocks.iter().try_for_each(|block| block.drawn.check(arms.keys()))
    }

    /// The scores of arms in one block, whether eligible or not; none if one is not finite.
    pub(crate) fn score_block(&self, arms: &Arms<'_>, block: usize) -> Option<Vec<f64>> {
        let mut scores = vec![0.0; arms.len()];
        self.score_part(arms, block..block + 1, &mut Room::default(), &mut scores);
        scores.iter().all(|score| score.is_finite()).then_some(scores)
    }

    fn score_part(&self, part: &Arms<'_>, blocks: Range<usize>, room: &mut Room, out: &mut [f64]) {
        let Room { products, coefficients, ids } = room;
        let packed = &self.packed[blocks.clone()];
        match part.features() {
            Features::F32(x) => self.kernel.products(x, packed, products),
            Features::F64(x) => self.kernel.products(x, packed, products),
        }
        for (place, scorer) in self.blocks[blocks.clone()].iter().enumerate() {
            scorer.coefficients_of(part, ids, coefficients);
            let times = scorer.bonus.times;
            let (dots, widths) = (products.dots(place), products.widths(place));
            if blocks.len() == 1 {
                let (out, coefficients) = (&mut *out, &coefficients[..]);
                // Compiled for the registers of the path, which changes no bit.
                self.kernel.dispatch(
                    #[inline(always)]
                    move || {
                        let n = out.len();
                        let (dots, widths, coefficients) = (&dots[..n], &widths[..n], &coefficients[..n]);
                        for row in 0..n {
                            out[row] = dots[row] + times.of(coefficients[row], widths[row]);
                        }
                    },
                );
            } else {
                let score = |((dot, width), g): ((&f64, &f64), &f64)| dot + times.of(*g, *width);
                let scores = dots.iter().zip(widths).zip(&*coefficients).map(score);
                out[place..].iter_mut().step_by(blocks.len()).zip(scores).for_each(|(out, score)| *out = score);
            }
        }
    }
}

impl BlockScorer<'_> {
    /// The coefficients of a part's arms; `keys` is a buffer for the keys of their draws.
    pub(crate) fn coefficients_of(&self, part: &Arms<'_>, keys: &mut Vec<u64>, out: &mut Vec<f64>) {
        if let Some(constant) = self.constant() {
            out.clear();
            out.resize(part.len(), constant);
        } else {
            self.drawn.keys_into(part.keys(), keys);
            self.coefficients(keys, out);
        }
    }

    /// The coefficients of the arms with these keys.
    fn coefficients(&self, keys: &[u64], out: &mut Vec<f64>) {
        out.resize(keys.len(), 0.0);
        self.drawn.fill(keys, out);
        self.bonus.coefficients(out);
    }

    /// The coefficients of some rows of a part; `keys` is a buffer for the keys of their draws.
    pub(crate) fn coefficients_of_rows(
        &self,
        part: &Arms<'_>,
        rows: impl ExactSizeIterator<Item = usize>,
        keys: &mut Vec<u64>,
        out: &mut Vec<f64>,
    ) {
        if let Some(constant) = self.constant() {
            out.clear();
            out.resize(rows.len(), constant);
        } else {
            self.drawn.keys_of_rows(part.keys(), rows, keys);
            self.coefficients(keys, out);
        }
    }

    /// Ceilings of the draws of some rows of a part, and (base, factor): no coefficient is larger than base + factor times
    /// the ceiling. None where ceilings cost as much as the coefficients.
    pub(crate) fn ceilings(
        &self,
        part: &Arms<'_>,
        rows: impl Iterator<Item = usize>,
        keys: &mut Vec<u64>,
        out: &mut Vec<f32>,
    ) -> Option<(f64, f64)> {
        let (base, factor) = self.bonus.rising_line().filter(|_| self.drawn.has_ceilings())?;
        self.drawn.keys_of_rows(part.keys(), rows, keys);
        out.resize(keys.len(), 0.0);
        self.drawn.ceilings(keys, out);
        // The line is the coefficient up to rounding.
        Some((base + 1e-9 * base.abs(), factor * (1.0 + 1e-9)))
    }

    /// The coefficients of the arms with these ids; none if ids do not tell.
    pub(crate) fn coefficients_of_ids(&self, ids: &[u64], out: &mut Vec<f64>) -> Option<()> {
        self.drawn.is_by_id().then(|| self.coefficients(ids, out))
    }

    /// The coefficient that all arms have, if they have the same.
    pub(crate) fn constant(&self) -> Option<f64> {
        self.drawn.constant().map(|draw| self.bonus.constant(draw))
    }
}

impl Times {
    #[inline]
    pub(crate) fn of(self, coefficient: f64, width: f64) -> f64 {
        if self == Self::Width { coefficient * width } else { coefficient }
    }
}

/// Finds why a score is not finite: a bad feature always makes its row's product NaN or infinite.
pub(crate) fn blame(arms: &Arms<'_>, row: usize, block: usize, value: f64) -> Error {
    let x = arms.row(row);
    match x.iter().position(|x| !x.is_finite()) {
        Some(column) => Error::FeatureNotFinite { row, column, value: x[column] },
        None => Error::ScoreOverflow { row, block, value },
    }
}
