//! Probabilities by critical values: with the other scores fixed, an arm is chosen exactly if its own score is above a
//! number that they determine, so its probability is the mean of P(S_i > c_i) over draws of the others.
//!
//! OPT(S_i) = max(A, B + S_i), A the best without the arm and B + S_i the best with it, so c_i = A - B. The mean over fresh
//! rounds is without bias for any number of them. Its spread is that of the threshold, not that of a coin: for the best k
//! of many arms about 1 / sqrt(k) of the probability itself for one round, where counting has 1 / sqrt(pi).
//! The draws of the round itself are never among them: given that an arm was chosen they are not fresh.

mod any;
mod assignment;
mod row;
mod sets;
mod stray;

pub(super) use assignment::is_plain;

use super::counted::fresh;
use super::spread::Spread;
use crate::{Arms, Error, Learner, Policy, Round, tasks};
use std::ops::Range;
use stray::{Averages, Chance};

/// Rows of a task.
const ROWS: usize = 2048;

/// What a round's scores are made from.
pub(super) struct Problem<'a> {
    pub(super) arms: &'a Arms<'a>,
    pub(super) spreads: &'a [Spread],
    /// direction . x and width of every arm, row-major.
    pub(super) measured: &'a [[f64; 2]],
    /// Location and scale of every arm's score.
    pub(super) laws: &'a [[f64; 2]],
    pub(super) round: Round,
    /// The fresh rounds, by their numbers.
    pub(super) rounds: Range<usize>,
}

impl<P: Policy> Learner<P> {
    /// The scores of a fresh round, -infinity where an arm may not be chosen.
    fn fresh_scores(&self, problem: &Problem<'_>, number: usize) -> Result<(Round, Vec<f64>), Error> {
        let round = fresh(problem.round)(number);
        let scorer = self.scorer(round)?;
        let (blocks, arms) = (problem.spreads.len(), problem.arms);
        let mut scores = vec![f64::NEG_INFINITY; problem.measured.len()];
        let task = |(keys, coefficients): &mut (Vec<u64>, Vec<f64>), number: usize, scores: &mut [f64]| {
            let first = number * ROWS;
            let part = arms.slice(first..first + scores.len() / blocks);
            let measured = &problem.measured[first * blocks..first * blocks + scores.len()];
            for (block, spread) in problem.spreads.iter().enumerate() {
                scorer.blocks[block].coefficients_of(&part, keys, coefficients);
                let own = scores[block..].iter_mut().step_by(blocks).zip(measured[block..].iter().step_by(blocks));
                for ((score, [dot, width]), coefficient) in own.zip(&*coefficients) {
                    *score = dot + coefficient * spread.unit(*width);
                }
            }
        };
        tasks::share_parts(scores.chunks_mut(ROWS * blocks), Default::default, task);
        if arms.eligible().is_some() {
            for (place, score) in scores.iter_mut().enumerate() {
                if !arms.is_eligible(place / blocks, place % blocks) {
                    *score = f64::NEG_INFINITY;
                }
            }
        }
        Ok((round, scores))
    }
}
