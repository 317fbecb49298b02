//! The law of a score: what a chosen arm's score could have been, given its mean and its width.
//!
//! Inclusion probabilities need it. It is the law of one arm; the [`Scope`] tells how the arms of a round go together.

use super::{Draw, Scope};

/// score = mean + (base + factor Z) width, or with 1 in place of the width.
///
/// Z has the law of [`draw`](Self::draw) in its [`scope`](Self::scope): in the scope `best-of` the largest of M. The
/// numbers of different arms are independent in the scopes `own` and `best-of`; in the others arms share all or a part
/// of it. What a policy draws for the direction (round-wise Thompson sampling) is in the mean, not here.
///
/// # Example
/// ```
/// use armwise::{ArmWiseTs, Draw, Learner, Round};
/// let learner = Learner::new(ArmWiseTs::new(1.0, 0.5), 2, 1)?; // 2 features, 1 block
/// let law = learner.law(Round::new(1, 1), 0)?.expect("the library's policies tell");
/// assert_eq!((law.draw, law.location(0.3, 2.0), law.scale(2.0)), (Draw::Normal, 0.3, 1.0));
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// The law of Z.
    pub draw: Draw,
    /// Who shares Z.
    pub scope: Scope,
    /// The coefficient without Z.
    pub base: f64,
    /// What Z is multiplied with.
    pub factor: f64,
    /// Whether both are multiplied with the arm's width.
    pub of_width: bool,
}

impl Law {
    /// The score with Z = 0.
    #[must_use]
    pub fn location(&self, mean: f64, width: f64) -> f64 {
        mean + self.base * self.unit(width)
    }

    /// What Z is multiplied with in the score; 0 where nothing is drawn.
    #[must_use]
    pub fn scale(&self, width: f64) -> f64 {
        self.factor * self.unit(width)
    }

    fn unit(&self, width: f64) -> f64 {
        if self.of_width { width } else { 1.0 }
    }
}
