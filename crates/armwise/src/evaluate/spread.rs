//! The law of an arm's score, where the arm draws for itself: location + scale times a standard draw.
//!
//! It follows from the arm's mean and width alone ([`Bonus::law`](crate::Bonus::law)). Where the direction is drawn, or
//! arms share a number, scores are not independent and there is no such law.

use crate::Scope;
use crate::policy::Draw;
use crate::score::{BlockScorer, Scorer};
use serde::{Deserialize, Serialize};

/// The law of a standard draw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// Standard normal.
    Normal,
    /// Uniform between 0 and 1.
    Uniform,
    /// Student's law with so many degrees of freedom.
    Student(f64),
    /// The largest of several standard normals.
    BestNormal(u32),
    /// The largest of several uniform numbers.
    BestUniform(u32),
}

impl Shape {
    /// Whether its tails are so long that an integral over all of it would need very many places.
    pub(crate) fn is_long(self) -> bool {
        matches!(self, Self::Student(freedom) if freedom < 8.0)
    }
}

/// How the law of a score follows from an arm's mean and width in a block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spread {
    pub(crate) shape: Shape,
    /// 1 where the score follows the mean, 0 where it does not.
    pub(crate) mean: f64,
    /// The coefficient without a draw, and what the draw is multiplied with.
    pub(crate) base: f64,
    pub(crate) factor: f64,
    /// Whether both are multiplied with the width.
    pub(crate) of_width: bool,
}

impl Spread {
    /// The law of each block; none unless every block has one, all draw alike and no two arms share a draw.
    pub(crate) fn of(scorer: &Scorer<'_>) -> Option<Vec<Self>> {
        // Scores that change with what was taken are not those of the arms alone.
        if scorer.in_turn.is_some() {
            return None;
        }
        let of = |block: usize| {
            let of = &scorer.blocks[block];
            // Whatever is neither the estimate nor nothing may have been drawn.
            let mean = if of.direction == scorer.posteriors[block].theta_hat() {
                1.0
            } else if of.direction.iter().all(|&x| x.to_bits() == 0) {
                0.0
            } else {
                return None;
            };
            let law = of.bonus.law()?;
            let shape = match (law.draw, law.scope) {
                (Draw::None, _) | (Draw::Normal, Scope::Own) => Shape::Normal,
                (Draw::Uniform, Scope::Own) => Shape::Uniform,
                (Draw::Student { freedom }, Scope::Own) => Shape::Student(freedom),
                (Draw::Normal, Scope::BestOf(of)) => Shape::BestNormal(of.draws()),
                (Draw::Uniform, Scope::BestOf(of)) => Shape::BestUniform(of.draws()),
                _ => return None,
            };
            let factor = if law.draw == Draw::None { 0.0 } else { law.factor };
            (factor >= 0.0).then_some(Self { shape, mean, base: law.base, factor, of_width: law.of_width })
        };
        let all: Vec<Self> = (0..scorer.blocks.len()).map(of).collect::<Option<_>>()?;
        all.iter().all(|spread| spread.shape == all[0].shape).then_some(all)
    }

    /// Whether a policy that takes one arm after another draws nothing.
    pub(crate) fn is_certain_in_turn(scorer: &Scorer<'_>) -> bool {
        let drawn = |(block, of): (usize, &BlockScorer<'_>)| {
            of.bonus.draw != Draw::None || of.direction != scorer.posteriors[block].theta_hat()
        };
        !scorer.blocks.iter().enumerate().any(drawn)
    }

    /// Whether scores are certain.
    pub(crate) fn is_certain(&self) -> bool {
        self.factor <= 0.0
    }

    /// Location and scale of the score of an arm with this mean (or direction . x, which is it or 0) and width.
    #[inline]
    pub(crate) fn at(&self, mean: f64, width: f64) -> [f64; 2] {
        let unit = self.unit(width);
        [self.mean * mean + self.base * unit, self.factor * unit]
    }

    /// What the coefficient is multiplied with.
    #[inline]
    pub(crate) fn unit(&self, width: f64) -> f64 {
        if self.of_width { width } else { 1.0 }
    }
}
