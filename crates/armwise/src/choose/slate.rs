//! Slates: rewards of arms that are shown in an order, where some may never have been looked at.
//!
//! Two models of what a user looks at. *Positions*: place j is examined with a known probability q_j, so the expected
//! reward is q_j theta' x, and (q_j x, r) is an observation of theta. *Cascade*: a user looks from the top and stops at
//! the first click, so what lies below it was never seen and teaches nothing.

use super::{ChosenArm, Decision, Reward};
use crate::Error;
use crate::error::check;

impl Decision {
    /// The rewards of a cascade: of the arms up to the first click, in the order in which they were shown; 1 for the
    /// click, 0 for those above it. Without a click every arm was seen. `shown` are places in [`arms`](Self::arms);
    /// give those of the decision itself, `0..k`, if it was shown in its own order.
    ///
    /// # Errors
    /// [`Error::Dimension`] for a click beyond the last place, or a place that the decision does not have.
    ///
    /// # Example
    /// ```
    /// use armwise::{Arms, Constraint, Greedy, Learner, Round};
    /// let mut learner = Learner::new(Greedy::new(1.0), 1, 1)?;
    /// let slate = learner.choose(Round::new(1, 1), &Arms::new(&[0.1, 0.2, 0.3, 0.4][..], 1)?, &Constraint::top_k(3))?;
    /// let rewards = slate.up_to_click(0..3, Some(1))?; // a click on the second item
    /// assert_eq!(rewards.iter().map(|reward| reward.reward).collect::<Vec<_>>(), [0.0, 1.0]);
    /// learner.learn(&slate, &rewards)?;
    /// # Ok::<(), armwise::Error>(())
    /// ```
    pub fn up_to_click(
        &self,
        shown: impl IntoIterator<Item = usize>,
        click: Option<usize>,
    ) -> Result<Vec<Reward>, Error> {
        let shown: Vec<usize> = shown.into_iter().collect();
        let places = self.arms.len();
        let beyond = click.filter(|&click| click >= shown.len());
        if let Some(found) = beyond.or(shown.iter().copied().find(|&place| place >= places)) {
            return Err(Error::Dimension { what: "places of a slate (a place)", expected: places, found });
        }
        let seen = click.map_or(shown.len(), |click| click + 1);
        let reward = |(at, &place): (usize, &usize)| {
            let ChosenArm { id, name, block, .. } = &self.arms[place];
            Reward { id: *id, name: name.clone(), block: *block, reward: f64::from(u8::from(click == Some(at))) }
        };
        Ok(shown[..seen].iter().enumerate().map(reward).collect())
    }

    /// The decision with the features of every arm multiplied by the probability that its place was examined: learn and
    /// correct rewards with it in place of the decision itself. One probability for each of [`arms`](Self::arms), in
    /// their order.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of probabilities, [`Error::Parameter`] for one that is not above 0 and
    /// at most 1.
    ///
    /// # Example
    /// ```
    /// use armwise::{Arms, Constraint, Greedy, Learner, Round};
    /// let mut learner = Learner::new(Greedy::new(1.0), 1, 1)?;
    /// let slate = learner.choose(Round::new(1, 1), &Arms::new(&[1.0, 1.0][..], 1)?, &Constraint::top_k(2))?;
    /// let seen = slate.examined(&[1.0, 0.5])?; // the second place is looked at half of the time
    /// learner.learn(&seen, &seen.rewards(|_| 1.0))?;
    /// assert_eq!(learner.posterior(0)?.theta_hat(), [1.5 / 2.25]);
    /// # Ok::<(), armwise::Error>(())
    /// ```
    pub fn examined(&self, probabilities: &[f64]) -> Result<Self, Error> {
        let (expected, found) = (self.arms.len(), probabilities.len());
        if expected != found {
            return Err(Error::Dimension { what: "probabilities of a slate", expected, found });
        }
        let mut seen = self.clone();
        for (arm, &q) in seen.arms.iter_mut().zip(probabilities) {
            check("examination probability", q, q > 0.0 && q <= 1.0, "above 0 and at most 1")?;
            arm.features = arm.features.iter().map(|x| q * x).collect::<Vec<f64>>().into();
        }
        Ok(seen)
    }
}
