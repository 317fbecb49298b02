//! Learning: rewards of decisions, once each, and observations that belong to no decision.
//!
//! Everything is checked before anything changes. Observations given to [`Learner::observe`] are not booked in the
//! ledger, so giving one twice counts it twice.

use super::{ChosenArm, Decision, Learner, Reward};
use crate::{Error, Observation, Policy};

impl<P: Policy> Learner<P> {
    /// Learns rewards of a decision: of any subset of its arms, in any order, at any time, once each.
    ///
    /// # Errors
    /// [`Error::UnknownArm`], [`Error::SecondReward`], [`Error::RewardNotFinite`] and others; then nothing is
    /// learned, not even the good rewards.
    pub fn learn(&mut self, decision: &Decision, rewards: &[Reward]) -> Result<(), Error> {
        let places = self.places(decision, rewards)?;
        for (&place, reward) in places.iter().zip(rewards) {
            if let Some(reward) = self.ledger.get(decision.round, &decision.arms[place])? {
                return Err(second_reward(decision, place, reward));
            }
            if !reward.reward.is_finite() {
                return Err(Error::RewardNotFinite { id: reward.id, block: reward.block, value: reward.reward });
            }
        }
        let pairs = places.iter().zip(rewards);
        let seen: Vec<_> = pairs.map(|(&place, reward)| decision.observation(place, reward.reward)).collect();
        self.model.observe_batch(&seen)?;
        for (&place, reward) in places.iter().zip(rewards) {
            self.ledger.set(decision.round, &decision.arms[place], Some(reward.reward));
        }
        self.forget_posteriors();
        Ok(())
    }

    /// Changes rewards that were learned before: b += (r' - r) x.
    ///
    /// # Errors
    /// As [`learn`](Self::learn), and [`Error::NoReward`] if an arm has no reward yet.
    pub fn correct(&mut self, decision: &Decision, rewards: &[Reward]) -> Result<(), Error> {
        let (places, learned) = self.learned(decision, rewards)?;
        for ((seen, reward), &place) in learned.iter().zip(rewards).zip(&places) {
            self.model.correct(seen, reward.reward)?;
            self.ledger.set(decision.round, &decision.arms[place], Some(reward.reward));
        }
        self.forget_posteriors();
        Ok(())
    }

    /// Takes back rewards that were learned before, as if they had never come; the values given here are ignored.
    ///
    /// # Errors
    /// As [`correct`](Self::correct), and [`Error::NotPositiveDefinite`] if what is taken back was so much larger than
    /// the rest that only its rounding would be left.
    pub fn unlearn(&mut self, decision: &Decision, rewards: &[Reward]) -> Result<(), Error> {
        let rewards: Vec<Reward> = rewards.iter().map(|reward| Reward { reward: 0.0, ..reward.clone() }).collect();
        let (places, learned) = self.learned(decision, &rewards)?;
        self.model.take_back(&learned, self.policy.ridge())?;
        for place in places {
            self.ledger.set(decision.round, &decision.arms[place], None);
        }
        self.forget_posteriors();
        Ok(())
    }

    /// Adds everything that another learner has learned, and the ledger of its rewards. The policy and the tie rule
    /// stay.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the models do not fit, [`Error::SecondReward`] if both learned the same reward.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        let ledger = self.ledger.merged(&other.ledger)?;
        self.model.merge(&other.model)?;
        self.ledger = ledger;
        self.forget_posteriors();
        Ok(())
    }

    /// Drops the ledger of all rounds before `t`; rewards for these rounds are refused from now on.
    pub fn close_before(&mut self, t: u64) {
        self.ledger.close_before(t);
    }

    /// The arms that the rewards are for, and what was learned of each before; everything is checked here.
    fn learned<'a>(
        &self,
        decision: &'a Decision,
        rewards: &[Reward],
    ) -> Result<(Vec<usize>, Vec<Observation<'a>>), Error> {
        let places = self.places(decision, rewards)?;
        let mut learned = Vec::with_capacity(places.len());
        for (&place, reward) in places.iter().zip(rewards) {
            let arm = &decision.arms[place];
            let no_reward = Error::NoReward { id: arm.id, block: arm.block, t: decision.round.t };
            let seen = decision.observation(place, self.ledger.get(decision.round, arm)?.ok_or(no_reward)?);
            if !reward.reward.is_finite() {
                return Err(Error::RewardNotFinite { id: arm.id, block: arm.block, value: reward.reward });
            }
            self.model.check(place, &seen)?;
            self.model.check(place, &Observation { reward: reward.reward, ..seen })?;
            learned.push(seen);
        }
        Ok((places, learned))
    }

    /// The arms that the rewards are for; each may be named once.
    fn places(&self, decision: &Decision, rewards: &[Reward]) -> Result<Vec<usize>, Error> {
        self.ledger.open(decision.round)?;
        let places = decision.places(rewards)?;
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&number| places[number]);
        let twice = order.windows(2).find(|pair| places[pair[0]] == places[pair[1]]);
        if let Some(&[first, _]) = twice {
            return Err(second_reward(decision, places[first], rewards[first].reward));
        }
        Ok(places)
    }

    /// Learns observations that belong to no decision of this learner: a history, a batch from elsewhere.
    ///
    /// # Errors
    /// As [`Model::observe`](crate::Model::observe); nothing is learned unless all are good.
    pub fn observe(&mut self, seen: &[Observation<'_>]) -> Result<(), Error> {
        self.model.observe_batch(seen)?;
        self.forget_posteriors();
        Ok(())
    }

    /// Multiplies the weight of everything learned so far by `factor`; the prior stays.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless 0 < factor <= 1.
    ///
    /// # Example
    /// ```
    /// use armwise::{Algorithm, Greedy, Learner, Observation};
    /// let mut learner = Learner::new(Algorithm::Greedy(Greedy::new(1.0)), 1, 1)?;
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

    /// Changes the policy and keeps everything that was learned.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter outside its range. [`Error::NotPositiveDefinite`] for a lambda so far below
    /// the present one that what unlearning left behind would show.
    pub fn with_policy<Q: Policy>(self, policy: Q) -> Result<Learner<Q>, Error> {
        let before = self.policy.ridge();
        let (baseline, values, shifts) = (self.baseline, self.values, self.shifts);
        let mut learner = Learner::from_parts(policy, self.ties, self.model, self.ledger)?.with_about(self.about);
        (learner.baseline, learner.values, learner.shifts) = (baseline, values, shifts);
        if learner.policy.ridge() < before {
            learner.model.check_sums(learner.policy.ridge())?;
        }
        Ok(learner)
    }
}

fn second_reward(decision: &Decision, place: usize, reward: f64) -> Error {
    let ChosenArm { id, block, .. } = decision.arms[place];
    Error::SecondReward { id, block, t: decision.round.t, reward }
}
