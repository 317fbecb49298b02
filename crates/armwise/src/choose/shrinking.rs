//! The posterior of a block within a round, as arms are taken: V + sum of x x', and scores under it.
//!
//! A width can be found in two ways (`factor.rs`). In full: |W x| with a W that follows every arm taken, d^2 / 2
//! multiplications, which is what counts. By steps: d multiplications for each arm taken since; its rounding is bounded,
//! so it gives an upper end of the width in full, and few arms need that.

use super::factor::{Factor, Square};
use crate::kernel;
use crate::policy::InTurn;
use crate::score::Scorer;

/// The posterior of a block in the round, with the arms taken so far.
pub(super) struct Shrinking<'s> {
    direction: &'s [f64],
    turn: InTurn,
    /// For V.
    own: Factor,
    /// For lambda I, which measures diversity; none where it does not count.
    apart: Option<Factor>,
    taken: usize,
}

/// What is known of an arm of the block.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// Its number among those of which something is known.
    pub(super) number: usize,
    /// An upper end of its score at first, without diversity.
    first: f64,
    mean: f64,
    /// The squares of its widths: in V, none until it is needed, and in lambda I.
    own: Option<Square>,
    apart: Square,
}

/// How much larger a square in full may be than one by steps, for each arm taken.
#[derive(Clone, Copy)]
pub(super) struct Slack {
    pub(super) own: f64,
    pub(super) apart: f64,
}

impl<'s> Shrinking<'s> {
    pub(super) fn new(scorer: &'s Scorer<'_>, block: usize, turn: InTurn) -> Self {
        let own = Factor::new(scorer.kernel, scorer.posteriors[block].factor(), scorer.dim);
        let apart = (turn.diversity > 0.0).then(|| Factor::of_diagonal(scorer.kernel, 1.0 / turn.lambda.sqrt(), scorer.dim));
        Self { direction: &scorer.blocks[block].direction, turn, own, apart, taken: 0 }
    }

    /// What is known of an arm at first.
    pub(super) fn meet(&self, number: usize, first: f64, x: &[f64]) -> Known {
        let apart = if self.apart.is_some() { kernel::dot(x, x) / self.turn.lambda } else { 0.0 };
        Known { number, first, mean: kernel::dot(self.direction, x), own: None, apart: Square::at_first(apart) }
    }

    /// An upper end of the score, as far as the arm is known.
    pub(super) fn upper(&self, known: &Known, slack: Slack) -> f64 {
        let times = 8.0 + self.taken as f64;
        let above = |square: Square, slack: f64| square.value.max(0.0) + times * slack;
        let wide = |own| known.mean + self.turn.alpha * above(own, slack.own).sqrt();
        let diversity = self.apart.as_ref().map_or(0.0, |_| self.diversity(above(known.apart, slack.apart)));
        known.own.map_or(known.first, wide) + diversity
    }

    /// Lets one of the widths follow the arms that were taken since, what diversity adds first; false if both have.
    pub(super) fn follow(&mut self, known: &mut Known, x: &[f64]) -> bool {
        if let Some(factor) = self.apart.as_mut().filter(|_| known.apart.taken < self.taken) {
            known.apart = factor.follow(known.apart, known.number, x);
            return true;
        }
        let own = match known.own {
            None => self.own.square(known.number, x),
            Some(own) if own.taken < self.taken => self.own.follow(own, known.number, x),
            Some(_) => return false,
        };
        known.own = Some(own);
        true
    }

    /// The width and the score of an arm, in full.
    pub(super) fn score(&mut self, known: &mut Known, x: &[f64]) -> (f64, f64) {
        let own = match known.own {
            None => self.own.square(known.number, x),
            Some(own) => self.own.complete(own, known.number, x),
        };
        known.own = Some(own);
        if let Some(factor) = &mut self.apart {
            known.apart = factor.complete(known.apart, known.number, x);
        }
        let width = own.value.sqrt();
        (width, known.mean + self.turn.alpha * width + self.diversity(known.apart.value))
    }

    /// What diversity adds, for a squared width in lambda I + sum of x x'.
    pub(super) fn diversity(&self, square: f64) -> f64 {
        if self.turn.diversity > 0.0 { 0.5 * self.turn.diversity * libm::log1p(square) } else { 0.0 }
    }

    pub(super) fn take(&mut self, number: usize, x: &[f64]) {
        self.own.add(number, x);
        self.apart.iter_mut().for_each(|apart| apart.add(number, x));
        self.taken += 1;
    }
}
