//! Bounds of the scores of arms in memory: from means alone, or from means and widths in f32.
//!
//! Means cost d operations per arm, widths d^2. With means alone, only the range of all widths is known. That is enough
//! to prune most arms unless the spectrum of V is wide compared with the differences between the means.

use super::bound::{Both, Bound, Coefficients, Ends, Fill, Formula, Found, FromNorm, Upper};
use crate::kernel::{Directions, Few, Kernel, Packed, Products};
use crate::score::{BlockScorer, Scorer};
use crate::{Arms, Features, InTurn};

/// From so many arms on, the bits of their draws are asked first how large these can be.
const MANY: usize = 8;

/// Bounds of the scores of a round, one [`Formula`] per block.
pub(crate) struct Bounds {
    from: From,
    pub(crate) formulas: Vec<Formula>,
}

enum From {
    /// Row by row.
    Rows(Directions),
    /// Tile by tile, perhaps with widths.
    Tiles(Vec<Packed<f32>>),
}

/// The buffers of a task.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) products: Products<f32>,
    ids: Vec<u64>,
    coefficients: Vec<f64>,
    /// The bounds of the arms that were looked at last.
    pub(super) upper: Vec<f64>,
    pub(super) lower: Vec<f64>,
    ceilings: Vec<f32>,
    /// Which of a part these are, where they are not all.
    pub(super) few: Few,
    fewer: Few,
    widths: Vec<f32>,
}

impl Bounds {
    /// From means and widths in f32; none if the dimension is too large for bounds in f32.
    pub(crate) fn from_widths(scorer: &Scorer<'_>) -> Option<Self> {
        let packed = scorer.blocks.iter().map(|block| scorer.kernel.pack_single(&block.direction, scorer.w(block)));
        let formula = |block: &BlockScorer<'_>| Formula::new(block.bonus.times, &block.direction, scorer.w(block));
        let formulas = scorer.blocks.iter().map(formula).collect::<Option<_>>()?;
        Some(Self { from: From::Tiles(packed.collect()), formulas })
    }

    /// From the means of so many rows alone; none if the dimension is too large for bounds in f32, or if V is nearly
    /// singular.
    pub(crate) fn from_means(scorer: &Scorer<'_>, rows: usize) -> Option<Self> {
        let formulas = formulas_of_norms(scorer)?;
        let directions: Vec<&[f64]> = scorer.blocks.iter().map(|block| &block.direction[..]).collect();
        let from = match scorer.kernel.directions(&directions, rows) {
            Some(directions) => From::Rows(directions),
            // Rows too short for a register.
            None => From::Tiles(directions.iter().map(|own| scorer.kernel.pack_single(own, None)).collect()),
        };
        Some(Self { from, formulas })
    }

    /// The widths in f32 of a part's arms in a block, where they are computed.
    fn widths<'a>(&self, products: &'a Products<f32>, block: usize) -> Option<&'a [f32]> {
        matches!(&self.from, From::Tiles(packed) if packed[block].has_width).then(|| products.widths(block))
    }

    /// Computes the products of a part's arms.
    pub(super) fn multiply(&self, scorer: &Scorer<'_>, part: &Arms<'_>, products: &mut Products<f32>) {
        let kernel = scorer.kernel;
        match (&self.from, part.features()) {
            (From::Rows(directions), Features::F32(x)) => kernel.means(x, directions, products),
            (From::Rows(directions), Features::F64(x)) => kernel.means(x, directions, products),
            (From::Tiles(packed), Features::F32(x)) => kernel.approximate(x, packed, products),
            (From::Tiles(packed), Features::F64(x)) => kernel.approximate(x, packed, products),
        }
    }

    /// Calls `see` for each block with the upper and the lower ends for the arms of a part, eligible or not. False if a
    /// number is outside the range of f32; the ends given so far must then be discarded.
    pub(crate) fn each_block(
        &self,
        scorer: &Scorer<'_>,
        part: &Arms<'_>,
        room: &mut Room,
        mut see: impl FnMut(usize, &[f64], &[f64]),
    ) -> bool {
        let Room { products, ids, coefficients, upper, lower, .. } = room;
        self.multiply(scorer, part, products);
        upper.resize(part.len(), 0.0);
        lower.resize(part.len(), 0.0);
        for (block, (own, &formula)) in scorer.blocks.iter().zip(&self.formulas).enumerate() {
            own.coefficients_of(part, ids, coefficients);
            if !self.of(scorer, formula, products, block).fill(&coefficients[..], Both { upper, lower }) {
                return false;
            }
            see(block, upper, lower);
        }
        true
    }
}

impl Bounds {
    /// For scores in any of k turns, if so much of a width stays; `norm` is about that of a row. None if rounding has no
    /// bound.
    pub(super) fn in_turns(
        mut self,
        scorer: &Scorer<'_>,
        turn: InTurn,
        k: usize,
        [stays, norm]: [f64; 2],
    ) -> Option<Self> {
        let [offset, slope] = turn.diversity_line(norm);
        for (formula, posterior) in self.formulas.iter_mut().zip(&*scorer.posteriors) {
            let beyond = [offset * (1.0 + 1e-9), slope * (1.0 + 1e-9) + turn.rounding(posterior, k)];
            if !beyond.iter().all(|beyond| beyond.is_finite()) {
                return None;
            }
            *formula = formula.in_turns(stays, beyond);
        }
        Some(self)
    }

    /// The lower ends of some rows in the first block, whose products are in the room. None if a number is outside the range
    /// of f32.
    pub(super) fn lowers<'a>(
        &self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        rows: impl Iterator<Item = usize>,
        room: &'a mut Room,
    ) -> Option<&'a mut [f64]> {
        let Room { products, ids, coefficients, upper, lower, few, widths, .. } = room;
        let of = self.of(scorer, self.formulas[0], products, 0);
        few.take(rows, of.dots, of.norms);
        scorer.blocks[0].coefficients_of_rows(arms, few.rows(), ids, coefficients);
        upper.resize(few.places().len(), 0.0);
        lower.resize(few.places().len(), 0.0);
        of.only(few, widths).fill(&coefficients[..], Both { upper, lower: &mut *lower }).then_some(lower)
    }

    /// What is known of a part's arms in a block.
    fn of<'a>(&self, scorer: &Scorer<'_>, formula: Formula, products: &'a Products<f32>, block: usize) -> Of<'a> {
        let (dots, norms, widths) = (products.dots(block), products.norms(), self.widths(products, block));
        Of { kernel: scorer.kernel, formula, dots, norms, widths }
    }

    /// Calls `see` for each block with the row and the bound of the eligible arms of a part that may reach the block's
    /// floor, and perhaps of some that do not. Draws are made only where they matter: not for arms that even the largest
    /// draw leaves below the floor, nor for those of the others whose bits tell that they cannot be large enough.
    /// False as in [`each_block`](Self::each_block).
    pub(crate) fn each_reaching(
        &self,
        scorer: &Scorer<'_>,
        part: &Arms<'_>,
        room: &mut Room,
        floor: impl Fn(usize) -> f64,
        see: impl FnMut(usize, usize, Bound),
    ) -> bool {
        self.multiply(scorer, part, &mut room.products);
        self.each_known_reaching(scorer, part, room, floor, see)
    }

    /// As [`each_reaching`](Self::each_reaching), of arms whose products are in the room; the bounds of the last block stay
    /// there.
    pub(super) fn each_known_reaching(
        &self,
        scorer: &Scorer<'_>,
        part: &Arms<'_>,
        room: &mut Room,
        floor: impl Fn(usize) -> f64,
        mut see: impl FnMut(usize, usize, Bound),
    ) -> bool {
        let Room { products, ids, coefficients, ceilings, upper, lower, few, fewer, widths } = room;
        for (block, (own, &formula)) in scorer.blocks.iter().zip(&self.formulas).enumerate() {
            let of = self.of(scorer, formula, products, block);
            let (floor, most) = (floor(block), own.constant().unwrap_or(own.bonus.most));
            let tells = most < f64::INFINITY && floor > f64::NEG_INFINITY;
            if !tells {
                few.take(0..part.len(), of.dots, of.norms);
                if part.eligible_per_row() > 0 {
                    // The scores of arms that are not eligible must be finite, too.
                    own.coefficients_of(part, ids, coefficients);
                    upper.resize(part.len(), 0.0);
                    if !of.fill(&coefficients[..], Upper(upper)) {
                        return false;
                    }
                }
            } else if !of.take_reaching(most, floor, upper, few) {
                return false;
            }
            if part.eligible_per_row() > 0 {
                few.retain(|row| part.is_eligible(row, block));
            }
            // Where widths are known, making those has cost more than draws do.
            if tells
                && of.widths.is_none()
                && few.places().len() >= MANY
                && let Some(line) = own.ceilings(part, few.rows(), ids, ceilings)
                && let Some(line) = formula.rising(line, floor)
            {
                if !scorer.kernel.above_rising(few, ceilings, line, fewer) {
                    return false;
                }
                std::mem::swap(few, fewer);
            }
            own.coefficients_of_rows(part, few.rows(), ids, coefficients);
            upper.resize(few.places().len(), 0.0);
            lower.resize(few.places().len(), 0.0);
            if !of.only(few, widths).fill(&coefficients[..], Both { upper, lower }) {
                return false;
            }
            for (row, (&upper, &lower)) in few.rows().zip(upper.iter().zip(&*lower)) {
                see(block, row, Bound { upper, lower });
            }
        }
        true
    }
}

/// What is known of some arms in one block.
#[derive(Clone, Copy)]
struct Of<'a> {
    kernel: Kernel,
    formula: Formula,
    dots: &'a [f32],
    norms: &'a [f32],
    /// Widths in f32, or only the range of all widths.
    widths: Option<&'a [f32]>,
}

impl<'a> Of<'a> {
    /// Takes the arms that may reach the floor if all have this coefficient; false if a number is not finite. `upper` is
    /// a buffer.
    fn take_reaching(self, most: f64, floor: f64, upper: &mut Vec<f64>, few: &mut Few) -> bool {
        if self.widths.is_none() {
            return self.kernel.above(self.dots, self.norms, self.formula.line(most, floor), few);
        }
        upper.resize(self.dots.len(), 0.0);
        let finite = self.fill(most, Upper(upper));
        let reaching = upper.iter().enumerate().filter(|(_, upper)| **upper >= floor);
        few.take(reaching.map(|(row, _)| row), self.dots, self.norms);
        finite
    }

    /// What is known of a few of these arms; `widths` is a buffer.
    fn only(self, few: &'a Few, widths: &'a mut Vec<f32>) -> Self {
        if let Some(all) = self.widths {
            widths.clear();
            widths.extend(few.rows().map(|row| all[row]));
        }
        Of { dots: few.dots(), norms: few.norms(), widths: self.widths.map(|_| &widths[..]), ..self }
    }

    fn fill(self, coefficients: impl Coefficients, ends: impl Ends) -> bool {
        let Self { kernel, formula, dots, norms, widths } = self;
        match widths {
            None => kernel.dispatch(Fill { formula, dots, norms, coefficients, widths: FromNorm, ends }),
            Some(found) => {
                let widths = Found(found);
                kernel.dispatch(Fill { formula, dots, norms, coefficients, widths, ends })
            }
        }
    }
}

/// Formulas for widths that are bounded by the norm alone; none if V is nearly singular.
pub(super) fn formulas_of_norms(scorer: &Scorer<'_>) -> Option<Vec<Formula>> {
    let formula = |(block, own): (usize, &BlockScorer<'_>)| {
        let widths = scorer.posteriors[block].widths();
        let formula = Formula::new(own.bonus.times, &own.direction, None)?;
        (widths.eta < 0.01).then(|| formula.with_widths(widths.least, widths.most))
    };
    scorer.blocks.iter().enumerate().map(formula).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, ArmWiseTs, C2ucb, Model, Observation, Pc2ucb, Posterior, Round, Stream};
    use std::sync::Arc;

    /// Whatever the spectrum, the size of the numbers and the storage, no score is outside of its bound.
    #[test]
    fn the_bounds_hold_the_scores() {
        const N: usize = 300;
        for (d, decay, scale) in
            [(5, 0.8, 1.0), (16, 1.0, 1.0), (17, 0.6, 1.0), (30, 1.0, 1e-25), (51, 0.9, 1e4), (64, 1.0, 1e-3)]
        {
            let draws = Round::new(5, 1).draws(0, Stream(300));
            let feature = |id: u64| scale * draws.normal(id) * f64::powi(decay, (id % d as u64) as i32);
            let wide: Vec<f64> = (0..(N * d) as u64).map(feature).collect();
            let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
            let mut model = Model::new(d, 2).expect("shape");
            for (place, x) in wide.chunks(d).enumerate().take(2 * d) {
                let block = (place % 2) as u32;
                model.observe(&Observation { t: 1, block, x, reward: x[0] + x[d - 1] }).expect("finite");
            }
            let posteriors: Vec<Posterior> =
                (0..2).map(|block| model.posterior(block, 0.5).expect("factors")).collect();
            let posteriors = Arc::new(posteriors);
            let algorithms = [
                Algorithm::C2ucb(C2ucb::new(0.5, 3.0)),
                Algorithm::Pc2ucb(Pc2ucb::new(0.5, 0.3, 1.0)),
                Algorithm::ArmWiseTs(ArmWiseTs::new(0.5, 30.0)),
            ];
            for (algorithm, features) in algorithms
                .iter()
                .flat_map(|algorithm| [(algorithm, Features::F64(&wide)), (algorithm, Features::F32(&narrow))])
            {
                let scorer = Scorer::new(algorithm, Arc::clone(&posteriors), Round::new(1, 2)).expect("direction");
                let arms = Arms::new(features, d).expect("rows");
                let scores = scorer.score(&arms).expect("finite");
                for bounds in [Bounds::from_widths(&scorer), Bounds::from_means(&scorer, N)] {
                    let room = &mut Room::default();
                    let finite = bounds.expect("ordinary").each_block(&scorer, &arms, room, |block, upper, lower| {
                        for row in 0..N {
                            let (score, range) = (scores[2 * row + block], lower[row]..=upper[row]);
                            assert!(range.contains(&score), "d = {d}, scale {scale:e}: {score} in {range:?}");
                        }
                    });
                    assert!(finite, "d = {d}, scale {scale:e}");
                }
            }
        }
    }
}
