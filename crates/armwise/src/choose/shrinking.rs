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
    number: usize,
    mean: f64,
    /// The squares of its widths: in V, none until it is needed, and in lambda I.
    own: Option<Square>,
    apart: Square,
    /// Upper ends of what they give: mean and width, and diversity.
    ends: [f64; 2],
}

impl Known {
    /// An upper end of the score.
    pub(super) fn upper(&self) -> f64 {
        self.ends[0] + self.ends[1]
    }
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
        let apart =
            (turn.diversity > 0.0).then(|| Factor::of_diagonal(scorer.kernel, 1.0 / turn.lambda.sqrt(), scorer.dim));
        Self { direction: &scorer.blocks[block].direction, turn, own, apart, taken: 0 }
    }

    /// What is known of an arm at first: upper ends of its score and of what diversity adds, and the square of its norm.
    pub(super) fn meet(&self, number: usize, x: &[f64], ends: [f64; 2], square: f64) -> Known {
        let apart = Square::at_first(square / self.turn.lambda);
        Known { number, mean: kernel::dot(self.direction, x), own: None, apart, ends }
    }

    /// Lets one of the widths follow the arms that were taken since, what diversity adds first; false if both have.
    pub(super) fn follow(&mut self, known: &mut Known, x: &[f64], slack: Slack) -> bool {
        let times = 8.0 + self.taken as f64;
        let above = |square: Square, slack: f64| square.value.max(0.0) + times * slack;
        if let Some(factor) = self.apart.as_mut().filter(|_| known.apart.taken < self.taken) {
            known.apart = factor.follow(known.apart, known.number, x);
            known.ends[1] = self.turn.diversity(above(known.apart, slack.apart));
            return true;
        }
        let own = match known.own {
            None => self.own.square(known.number, x),
            Some(own) if own.taken < self.taken => self.own.follow(own, known.number, x),
            Some(_) => return false,
        };
        known.own = Some(own);
        known.ends[0] = known.mean + self.turn.alpha * above(own, slack.own).sqrt();
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
        (width, known.mean + self.turn.alpha * width + self.turn.diversity(known.apart.value))
    }

    pub(super) fn take(&mut self, number: usize, x: &[f64]) {
        self.own.add(number, x);
        self.apart.iter_mut().for_each(|apart| apart.add(number, x));
        self.taken += 1;
    }
}
