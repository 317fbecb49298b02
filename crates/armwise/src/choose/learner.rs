//! The learner: a policy together with what it has learned, and how it chooses.

use super::decide::{ask, chosen_arms, decide};
use super::ledger::Ledger;
use super::{Choosing, ChosenArm, Decision};
use crate::prune::{self, Pairs};
use crate::score::Scorer;
use crate::{Algorithm, Arms, Catalogue, Error, Model, Needs, Oracle, Pick, Policy, Posterior, Round, Scores, Ties};
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
    /// What its maker wants to be known about it.
    pub(crate) about: Option<String>,
    /// The posteriors of the last choice, and how many rounds of forgetting without new rewards are applied in them.
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
        Ok(Self { policy, ties, model, ledger, about: None, cache: Mutex::new(None) })
    }

    /// Sets who wins among equal scores.
    #[must_use]
    pub fn with_ties(self, ties: Ties) -> Self {
        Self { ties, ..self }
    }

    /// Says something about it that is carried along and saved with it: what its features are made from, for example.
    /// The library does not look at it.
    #[must_use]
    pub fn with_about(self, about: Option<String>) -> Self {
        Self { about, ..self }
    }

    /// What its maker wanted to be known about it.
    #[must_use]
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
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
        let scorer = self.scorer(round)?;
        self.choose_among(&scorer, arms, oracle, |k| prune::best(&scorer, arms, k))
    }

    /// Chooses from the arms of a catalogue, perhaps with a mask and columns: faster than [`choose`](Self::choose), and
    /// the same decision.
    ///
    /// # Errors
    /// As [`choose`](Self::choose), and [`Error::NotOfCatalogue`] for arms that are not
    /// [`catalogue.arms()`](Catalogue::arms).
    pub fn choose_from(
        &self,
        catalogue: &Catalogue,
        round: Round,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
    ) -> Result<Decision, Error> {
        if !arms.has_features_of(&catalogue.arms()) {
            return Err(Error::NotOfCatalogue);
        }
        let scorer = self.scorer(round)?;
        self.choose_among(&scorer, arms, oracle, |k| catalogue.best(&scorer, arms, k))
    }

    /// Chooses from the arms that pruning keeps; `best` gives the rows that can be among the k best.
    fn choose_among(
        &self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        best: impl FnOnce(usize) -> Option<Vec<usize>>,
    ) -> Result<Decision, Error> {
        let ask = |scores: &[f64], arms: &Arms<'_>| {
            ask(oracle, &Scores::new(scores, scorer.blocks.len(), *arms, self.ties, scorer.round)?)
        };
        let all = |arms: &Arms<'_>| decide(scorer, arms, ask(&scorer.score(arms)?, arms)?);
        match oracle.needs() {
            Needs::All => {}
            Needs::Best(k) => {
                if let Some(rows) = best(k) {
                    return arms.gather(&rows).with_arms(all);
                }
            }
            Needs::Floors { .. } => {
                if let Some(pairs) = Pairs::new(scorer, arms, oracle, self.ties)? {
                    let decided = arms.gather(&pairs.rows).with_arms(|kept| {
                        let found = ask(&pairs.scores, kept)?;
                        let proven = pairs.are_proven_by(found.floors.as_deref());
                        proven.then(|| decide(scorer, kept, found)).transpose()
                    });
                    // Pruning may have caused the error. If it did not, the same error comes again below, from all
                    // arms.
                    if let Ok(Some(decision)) = decided {
                        return Ok(decision);
                    }
                }
            }
        }
        all(arms)
    }

    /// Chooses the super arm of a round whose arms come in parts: the same decision as from all arms at once.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub fn choosing<'a>(&'a self, round: Round, oracle: &'a dyn Oracle) -> Result<Choosing<'a>, Error> {
        Ok(Choosing::new(self.scorer(round)?, self.ties, oracle))
    }

    /// The scores of all arms, row-major, without choosing: for another solver, or for inspection.
    ///
    /// # Errors
    /// A typed error for bad arms.
    pub fn scores(&self, round: Round, arms: &Arms<'_>) -> Result<Vec<f64>, Error> {
        self.scorer(round)?.score(arms)
    }

    /// Arms that were picked by other means, in the order of the picks, as a [`Decision`] lists them.
    ///
    /// # Errors
    /// [`Error::Dimension`] for arms of another shape, [`Error::UnknownBlock`], [`Error::FeatureNotFinite`].
    ///
    /// # Panics
    /// If a pick's row is not among the arms.
    pub fn explain(&self, round: Round, arms: &Arms<'_>, picks: &[Pick]) -> Result<Vec<ChosenArm>, Error> {
        let scorer = self.scorer(round)?;
        scorer.check(arms)?;
        let blocks = scorer.blocks.len();
        if let Some(pick) = picks.iter().find(|pick| pick.block >= blocks) {
            return Err(Error::UnknownBlock { block: pick.block as u32, last: blocks as u32 - 1 });
        }
        chosen_arms(&scorer, arms, picks)
    }

    /// The policy prepared for a round.
    fn scorer(&self, round: Round) -> Result<Scorer<'_>, Error> {
        Scorer::new(&self.policy, self.posteriors(round)?, round)
    }

    pub(super) fn posteriors(&self, round: Round) -> Result<Arc<Vec<Posterior>>, Error> {
        let idle = self.model.idle(round.t);
        let cached = self.cache.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, posteriors)) = cached
            && at == idle
        {
            return Ok(posteriors);
        }
        // Not under the lock: factoring is parallel, and a thread that waits in it may start another choice of this
        // learner, which would deadlock.
        let posteriors = Arc::new(self.model.posteriors(round.t, self.policy.ridge())?);
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner) = Some((idle, Arc::clone(&posteriors)));
        Ok(posteriors)
    }

    pub(super) fn forget_posteriors(&mut self) {
        *self.cache.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<P: Clone> Clone for Learner<P> {
    fn clone(&self) -> Self {
        let (policy, model, ledger) = (self.policy.clone(), self.model.clone(), self.ledger.clone());
        Self { policy, ties: self.ties, model, ledger, about: self.about.clone(), cache: Mutex::new(None) }
    }
}
