//! What a learner can be told outside of decisions: observations from elsewhere, to forget, to go on as another policy.
//!
//! What comes in here is not booked in the ledger, so nothing stops it from coming twice.

use crate::{Error, Learner, Observation, Policy};

impl<P: Policy> Learner<P> {
    /// Learns observations that belong to no decision of this learner: a history, a batch from elsewhere.
    ///
    /// # Errors
    /// As [`Model::observe`](crate::Model::observe); nothing is learned unless all are good.
    pub fn observe(&mut self, seen: &[Observation<'_>]) -> Result<(), Error> {
        self.model.observe_batch(seen)?;
        self.forget_posteriors();
        Ok(())
    }

    /// Counts everything learned so far `factor` times as much; the prior stays.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless 0 < factor <= 1.
    ///
    /// # Example
    /// ```
    /// use armwise::{Algorithm, Greedy, Learner, Observation};
    /// let mut learner = Learner::new(Algorithm::Greedy(Greedy { lambda: 1.0 }), 1, 1)?;
    /// learner.observe(&[Observation { t: 1, block: 0, x: &[1.0], reward: 3.0 }])?;
    /// learner.forget(0.5)?;
    /// let theta_hat = learner.posterior(0)?.theta_hat()[0]; // 0.5 * 3 / (1 + 0.5)
    /// assert!((theta_hat - 1.0).abs() < 1e-12);
    /// # Ok::<(), armwise::Error>(())
    /// ```
    pub fn forget(&mut self, factor: f64) -> Result<(), Error> {
        self.model.forget(factor)?;
        self.forget_posteriors();
        Ok(())
    }

    /// Goes on as another policy with everything that was learned.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter outside its range.
    pub fn with_policy<Q: Policy>(self, policy: Q) -> Result<Learner<Q>, Error> {
        Learner::from_parts(policy, self.ties, self.model, self.ledger)
    }
}
