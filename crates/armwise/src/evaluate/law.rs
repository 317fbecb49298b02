//! The law of the threshold of a set of arms, with what it takes to read it later.

use super::spread::{Shape, Spread};
use super::threshold::{Part, Rank};
use crate::{Error, Limit};
use serde::{Deserialize, Serialize};

/// The law of the score that an arm must pass: from it, the probability of any arm of the round follows from the arm's
/// mean and width, which a decision lists. Some ten kilobytes as it is computed, a few as it is [kept](Self::kept).
///
/// # Example
/// ```
/// use armwise::{Algorithm, Arms, Constraint, Learner, Round, ThresholdLaw};
/// let learner = Learner::new(Algorithm::new("arm-wise-ts", &[])?, 2, 1)?;
/// let arms = Arms::new(&[1.0, 0.0, 0.6, 0.8, 0.0, 1.0, 0.5, 0.5][..], 2)?;
/// let (round, constraint) = (Round::new(7, 1), Constraint::top_k(2));
/// let all = learner.inclusion(round, &arms, &constraint, None)?;
/// let kept = serde_json::to_string(&all.laws[0])?;
///
/// let law: ThresholdLaw = serde_json::from_str(&kept)?;
/// let arm = &learner.choose(round, &arms, &constraint)?.arms[0];
/// let pi = law.probability(0, arm.mean, arm.width)?;
/// assert!((pi - all.probabilities[arm.id as usize]).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThresholdLaw {
    /// The limit whose arms it is about: all arms (`k`), those of a block or those of a group.
    pub limit: Limit,
    /// How the law of a score follows from mean and width, block by block.
    pub(super) spreads: Vec<Spread>,
    pub(super) parts: Vec<Part>,
}

impl ThresholdLaw {
    /// The probability that an arm of this mean and width was chosen. Among arms without width that have exactly the same
    /// score it is the average.
    ///
    /// # Errors
    /// [`Error::UnknownBlock`], [`Error::Parameter`] for a mean or width that is not finite.
    pub fn probability(&self, block: u32, mean: f64, width: f64) -> Result<f64, Error> {
        let last = self.spreads.len() as u32 - 1;
        let spread = self.spreads.get(block as usize).ok_or(Error::UnknownBlock { block, last })?;
        crate::error::check("mean", mean, mean.is_finite(), "a finite number")?;
        crate::error::non_negative("width", width)?;
        let [location, scale] = spread.at(mean, width);
        Ok(probability(&self.parts, spread.shape, location, scale, Rank::Any))
    }

    /// The law as a log keeps it: a few kilobytes, from which probabilities are right to [`ThresholdLaw::KEPT`].
    #[must_use]
    pub fn kept(&self) -> Self {
        Self { parts: self.parts.iter().map(Part::kept).collect(), ..self.clone() }
    }

    /// How far a probability from a [kept](Self::kept) law may be off.
    pub const KEPT: f64 = super::threshold::KEPT;

    /// In how many places of the threshold it is kept.
    #[must_use]
    pub fn places(&self) -> usize {
        self.parts.iter().map(Part::places).sum()
    }
}

/// The probability of one arm.
pub(super) fn probability(parts: &[Part], shape: Shape, location: f64, scale: f64, rank: Rank) -> f64 {
    match super::threshold::inverse(location, scale) {
        Some(inverse) => {
            let mut out = [0.0];
            parts.iter().for_each(|part| part.of_spread(shape, &[location], &[inverse], &mut out));
            out[0]
        }
        None => parts.iter().map(|part| part.of_point(location, rank)).sum::<f64>().clamp(0.0, 1.0),
    }
}
