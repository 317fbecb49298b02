//! The loop of Algorithms 1 and 2: choose a super arm, learn from the rewards of its arms.
//!
//! Choosing takes `&self` and all randomness from the round, so any number of threads can
//! choose at once and every choice can be replayed; learning checks everything before it changes anything.

mod adjust;
mod decision;
mod ledger;
mod parts;
mod saved;

pub use decision::{ChosenArm, Decision, Reward};
pub use parts::Choosing;

use crate::{
    Algorithm, Arms, Error, Model, Needs, Observation, Oracle, Pick, Policy, Posterior, Round, Row, Scores, Ties,
    model::check_features,
    prune::{best::shortlist, pairs},
    score::{Explanation, Scorer},
};
use ledger::Ledger;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A policy with what it has learned.
///
/// # Example
/// ```
/// use armwise::{Algorithm, ArmWiseTs, Arms, Constraint, Learner, Round};
///
/// let algorithm = Algorithm::ArmWiseTs(ArmWiseTs { lambda: 1.0, v: 0.1.into() });
/// let mut learner = Learner::new(algorithm, 2, 1)?; // 2 features, 1 block
/// let x = [1.0, 0.0, 0.8, 0.6, 0.0, 1.0];
/// for t in 1..=3 {
///     let arms = Arms::new(&x[..], 2)?;
///     let decision = learner.choose(Round::new(7, t), &arms, &Constraint::top_k(2))?;
///     let rewards = decision.rewards(|arm| arm.features[0]); // what the world pays
///     learner.learn(&decision, &rewards)?;
/// }
/// assert!(learner.posterior(0)?.theta_hat()[0] > 0.5);
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug)]
pub struct Learner<P = Algorithm> {
    pub(crate) policy: P,
    pub(crate) ties: Ties,
    pub(crate) model: Model,
    pub(crate) ledger: Ledger,
    /// The posteriors of the last choice, and how many idle rounds of forgetting they stand at.
    cache: Mutex<Option<(u64, Arc<Vec<Posterior>>)>>,
}

impl<P: Policy> Learner<P> {
    /// A learner that knows nothing yet, for `blocks` blocks of dimension `dim`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter outside its range.
    pub fn new(policy: P, dim: usize, blocks: usize) -> Result<Self, Error> {
        Self::with_model(policy, Model::new(dim, blocks)?)
    }

    /// A learner that starts from what a model has learned.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter outside its range.
    pub fn with_model(policy: P, model: Model) -> Result<Self, Error> {
        Self::from_parts(policy, Ties::default(), model, Ledger::default())
    }

    pub(crate) fn from_parts(policy: P, ties: Ties, model: Model, ledger: Ledger) -> Result<Self, Error> {
        policy.validate()?;
        Ok(Self { policy, ties, model, ledger, cache: Mutex::new(None) })
    }

    /// Sets who wins among equal scores.
    #[must_use]
    pub fn with_ties(self, ties: Ties) -> Self {
        Self { ties, ..self }
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// What has been learned.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The tie rule.
    #[must_use]
    pub fn ties(&self) -> Ties {
        self.ties
    }

    /// The posterior of a block, with the policy's ridge, as of the newest round learned from.
    ///
    /// # Errors
    /// [`Error::UnknownBlock`], [`Error::NotPositiveDefinite`].
    pub fn posterior(&self, block: u32) -> Result<Posterior, Error> {
        self.model.posterior(block, self.policy.ridge())
    }

    /// Chooses the super arm of a round.
    ///
    /// # Errors
    /// A typed error for bad arms or a constraint that cannot be met.
    pub fn choose(&self, round: Round, arms: &Arms<'_>, oracle: &dyn Oracle) -> Result<Decision, Error> {
        let posteriors = self.posteriors(round)?;
        let scorer = Scorer::new(&self.policy, &posteriors, round)?;
        let of_all = |arms: &Arms<'_>| {
            let scores = scorer.score(arms)?;
            decide(&scorer, round, &Scores::new(&scores, posteriors.len(), *arms, self.ties, round)?, oracle)
        };
        match oracle.needs() {
            Needs::All => {}
            Needs::Best(k) => {
                let rows = match arms.catalogue() {
                    Some(catalogue) => catalogue.shortlist(&scorer, arms, k),
                    None => shortlist(&scorer, arms, k),
                };
                if let Some(rows) = rows {
                    return of_all(&arms.gather(&rows).arms()?);
                }
            }
            Needs::Priced(assignment) => {
                if let Some((promising, scores)) = pairs::shortlist(&scorer, arms, assignment)? {
                    let kept = arms.gather(&promising.rows);
                    let scores = Scores::new(&scores, posteriors.len(), kept.arms()?, self.ties, round)?;
                    // An error may be due to what was left out, and is found again below if it is not.
                    match decide(&scorer, round, &scores, oracle) {
                        Ok(decision) if promising.is_proven_by(&decision.prices) => return Ok(decision),
                        _ => {}
                    }
                }
            }
        }
        of_all(arms)
    }

    /// Chooses the super arm of a round whose arms come in parts: the same decision as from all arms at once.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub fn choosing<'o>(&self, round: Round, oracle: &'o dyn Oracle) -> Result<Choosing<'_, 'o, P>, Error> {
        Ok(Choosing::new(&self.policy, self.posteriors(round)?, self.ties, round, oracle))
    }

    /// The scores of all arms, row-major, without choosing: for an oracle elsewhere, or to look at.
    ///
    /// # Errors
    /// A typed error for bad arms.
    pub fn scores(&self, round: Round, arms: &Arms<'_>) -> Result<Vec<f64>, Error> {
        Scorer::new(&self.policy, &self.posteriors(round)?, round)?.score(arms)
    }

    /// Arms that were picked elsewhere, in the order of the picks, as a [`Decision`] lists them.
    ///
    /// # Errors
    /// [`Error::Dimension`] for arms of another shape, [`Error::UnknownBlock`], [`Error::FeatureNotFinite`].
    ///
    /// # Panics
    /// If a pick's row is not among the arms.
    pub fn explain(&self, round: Round, arms: &Arms<'_>, picks: &[Pick]) -> Result<Vec<ChosenArm>, Error> {
        let posteriors = self.posteriors(round)?;
        let scorer = Scorer::new(&self.policy, &posteriors, round)?;
        scorer.check(arms)?;
        if let Some(pick) = picks.iter().find(|pick| pick.block >= posteriors.len()) {
            return Err(Error::UnknownBlock { block: pick.block as u32, last: posteriors.len() as u32 - 1 });
        }
        chosen_arms(&scorer, arms, picks)
    }

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
        self.revise(decision, rewards, Model::correct, Some)
    }

    /// Takes back rewards that were learned before, as if they had never come; the values given do not matter.
    ///
    /// # Errors
    /// As [`correct`](Self::correct).
    pub fn unlearn(&mut self, decision: &Decision, rewards: &[Reward]) -> Result<(), Error> {
        let rewards: Vec<Reward> = rewards.iter().map(|reward| Reward { reward: 0.0, ..reward.clone() }).collect();
        self.revise(decision, &rewards, |model, seen, _| model.unlearn(seen), |_| None)
    }

    /// Adds everything that another learner has learned, with its bookkeeping: the policy and the tie rule stay.
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

    /// Gives up the bookkeeping of all rounds before `t`: their rewards are refused from now on.
    pub fn close_before(&mut self, t: u64) {
        self.ledger.close_before(t);
    }

    fn revise(
        &mut self,
        decision: &Decision,
        rewards: &[Reward],
        change: impl Fn(&mut Model, &Observation<'_>, f64) -> Result<(), Error>,
        book: impl Fn(f64) -> Option<f64>,
    ) -> Result<(), Error> {
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
        for ((seen, reward), &place) in learned.iter().zip(rewards).zip(&places) {
            change(&mut self.model, seen, reward.reward)?;
            self.ledger.set(decision.round, &decision.arms[place], book(reward.reward));
        }
        self.forget_posteriors();
        Ok(())
    }

    /// The arms that the rewards are for; each may be named once.
    fn places(&self, decision: &Decision, rewards: &[Reward]) -> Result<Vec<usize>, Error> {
        self.ledger.open(decision.round)?;
        let places = decision.places(rewards)?;
        let mut first: Vec<Option<f64>> = vec![None; decision.arms.len()];
        for (&place, reward) in places.iter().zip(rewards) {
            if let Some(reward) = first[place].replace(reward.reward) {
                return Err(second_reward(decision, place, reward));
            }
        }
        Ok(places)
    }

    pub(crate) fn posteriors(&self, round: Round) -> Result<Arc<Vec<Posterior>>, Error> {
        let idle = self.model.idle(round.t);
        let cached = self.cache.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, posteriors)) = cached
            && at == idle
        {
            return Ok(posteriors);
        }
        // Not under the lock: factoring is parallel, and a waiting thread may take up another choice of this learner.
        let posteriors = Arc::new(self.model.posteriors(round.t, self.policy.ridge())?);
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner) = Some((idle, Arc::clone(&posteriors)));
        Ok(posteriors)
    }

    pub(crate) fn forget_posteriors(&mut self) {
        *self.cache.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<P: Clone> Clone for Learner<P> {
    fn clone(&self) -> Self {
        let (policy, model, ledger) = (self.policy.clone(), self.model.clone(), self.ledger.clone());
        Self { policy, ties: self.ties, model, ledger, cache: Mutex::new(None) }
    }
}

fn second_reward(decision: &Decision, place: usize, reward: f64) -> Error {
    let ChosenArm { id, block, .. } = decision.arms[place];
    Error::SecondReward { id, block, t: decision.round.t, reward }
}

/// Asks the oracle and writes its selection down.
pub(crate) fn decide(
    scorer: &Scorer<'_>,
    round: Round,
    scores: &Scores<'_>,
    oracle: &dyn Oracle,
) -> Result<Decision, Error> {
    let selection = oracle.argmax(scores)?;
    selection.check(scores)?;
    Ok(Decision {
        round,
        arms: chosen_arms(scorer, &scores.arms(), &selection.arms)?,
        objective: selection.objective,
        upper_bound: selection.upper_bound,
        quality: selection.quality,
        prices: selection.prices,
        missing: selection.missing,
    })
}

/// Picks that one task writes down.
const PICKS: usize = 2048;

/// The picks in their order, with what there is to tell about them.
fn chosen_arms(scorer: &Scorer<'_>, arms: &Arms<'_>, picks: &[Pick]) -> Result<Vec<ChosenArm>, Error> {
    let task = |picks: &[Pick]| -> Result<Vec<ChosenArm>, Error> {
        let mut rows = Vec::with_capacity(picks.len() * arms.dim());
        picks.iter().for_each(|pick| arms.row_onto(pick.row, &mut rows));
        if check_features(0, &rows).is_err() {
            let picked = picks.iter().zip(rows.chunks_exact(arms.dim()));
            picked.into_iter().try_for_each(|(pick, features)| check_features(pick.row, features))?;
        }
        let ids: Vec<u64> = picks.iter().map(|pick| arms.id(pick.row)).collect();
        let explained = scorer.explain(&rows, &ids, picks);
        let chosen = |((pick, id), (explained, features)): ((&Pick, u64), (Explanation, Row))| {
            let Explanation { mean, width, draw, score } = explained;
            let (block, name) = (pick.block as u32, arms.name(pick.row).map(str::to_owned));
            ChosenArm { id, name, block, mean, width, draw, score, features }
        };
        let rows = Row::rows(rows, arms.dim());
        Ok(picks.iter().zip(ids).zip(explained.into_iter().zip(rows)).map(chosen).collect())
    };
    if picks.len() <= PICKS {
        return task(picks);
    }
    // The first error in the order of the picks, whatever the threads do.
    let tasks: Vec<_> = picks.par_chunks(PICKS).map(task).collect();
    let mut all = Vec::with_capacity(picks.len());
    for arms in tasks {
        all.extend(arms?);
    }
    Ok(all)
}
