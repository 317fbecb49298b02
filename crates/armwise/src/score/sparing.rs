//! Scores of the k best arms with few draws, for rounds that are too small for pruning to pay.
//!
//! With few features a draw costs as much as a width. An arm that even its largest draw leaves below a floor needs none.
//! The floor is guessed from a sample; at least k scores must reach it, or all arms get their draws. Rounding is
//! monotone, so that dot + c width, as it is computed, never falls when c rises: no error needs a bound here.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use super::{PARALLEL, Scorer};
use crate::kernel::Products;
use crate::policy::Times;
use crate::random::LARGEST;
use crate::{Arms, Features, tasks};

/// Fewer arms get all their draws, which cost less than a sample.
const LEAST: usize = 512;
/// The floor is guessed from at most so many arms, and at most from one in so many.
const SAMPLE: usize = 256;
const SHARE: usize = 16;
/// Scores below this are certainly finite.
const LARGE: f64 = 1e300;

impl Scorer<'_> {
    /// As [`score`](Self::score), with -infinity for arms that are certainly not among the k best. None where that saves
    /// nothing, where fewer than k arms reach the guess, or where a score may not be finite.
    pub(crate) fn score_best(&self, arms: &Arms<'_>, k: usize) -> Option<Vec<f64>> {
        let ([block], n) = (&self.blocks[..], arms.len()) else { return None };
        let (base, factor) = block.bonus.rising_line().filter(|_| block.drawn.has_ceilings())?;
        let small = n * self.dim * self.dim < PARALLEL || tasks::threads() == 1;
        if n < LEAST || !small || block.bonus.times != Times::Width || self.check(arms).is_err() {
            return None;
        }
        let sample = SAMPLE.min(n / SHARE);
        let rank = rank_of_guess(sample, k, n)?;
        let mut products = Products::default();
        match arms.features() {
            Features::F32(x) => self.kernel.products(x, &self.packed, &mut products),
            Features::F64(x) => self.kernel.products(x, &self.packed, &mut products),
        }
        let (dots, widths) = (products.dots(0), products.widths(0));
        let mut keys = Vec::new();
        let mut score = |rows: &[usize]| {
            let mut scores = Vec::new();
            block.coefficients_of_rows(arms, rows.iter().copied(), &mut keys, &mut scores);
            rows.iter().zip(&mut scores).for_each(|(&row, c)| *c = dots[row] + *c * widths[row]);
            scores
        };
        let sampled = (0..sample).map(|place| place * n / sample).filter(|&row| arms.is_eligible(row, 0));
        let mut sampled = score(&sampled.collect::<Vec<usize>>());
        if sampled.len() <= rank {
            return None;
        }
        let floor = *sampled.select_nth_unstable_by(rank, |a, b| b.total_cmp(a)).1;

        let mut scores = vec![0.0; n];
        let most = (base.abs() + factor * LARGEST) * (1.0 + 1e-9);
        if !self.kernel.dispatch(Largest { dots, widths, most, out: &mut scores }) {
            return None;
        }
        let mut rows = Vec::with_capacity(n / 2);
        self.kernel.places_reaching(&scores, floor, &mut rows);
        if arms.eligible_per_row() > 0 {
            rows.retain(|&row| arms.is_eligible(row, 0));
        }
        let (mut keys, mut ceilings) = (Vec::new(), Vec::new());
        let (base, factor) = block.ceilings(arms, rows.iter().copied(), &mut keys, &mut ceilings)?;
        let mut kept = 0;
        for (place, &ceiling) in ceilings.iter().enumerate() {
            let row = rows[place];
            rows[kept] = row;
            kept += usize::from(dots[row] + (base + factor * f64::from(ceiling)) * widths[row] >= floor);
        }
        rows.truncate(kept);
        let own = score(&rows);
        if own.iter().filter(|score| **score >= floor).count() < k {
            return None;
        }
        scores.fill(f64::NEG_INFINITY);
        rows.iter().zip(own).for_each(|(&row, score)| scores[row] = score);
        Some(scores)
    }
}

/// The place, from the best, of a score in a sample of n arms that most probably at least k of them reach, and not many
/// more. None if that would be most of the sample.
pub(crate) fn rank_of_guess(sample: usize, k: usize, n: usize) -> Option<usize> {
    // On average the sample holds `mean` of the k best; three standard deviations more are on the safe side.
    let mean = sample * k / n + 1;
    let rank = mean + 3 * mean.isqrt() + 1;
    (k > 0 && 2 * rank <= sample).then_some(rank)
}

/// The scores with the largest coefficient, compiled for the registers of a path; false if some coefficient up to this
/// size may make one that is not finite.
struct Largest<'a> {
    dots: &'a [f64],
    widths: &'a [f64],
    most: f64,
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Largest<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let n = self.out.len();
        let (dots, widths) = (&self.dots[..n], &self.widths[..n]);
        let mut finite = true;
        for row in 0..n {
            let bonus = self.most * widths[row];
            self.out[row] = dots[row] + bonus;
            finite &= dots[row].abs() + bonus < LARGE;
        }
        finite
    }
}
