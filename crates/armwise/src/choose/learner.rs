//! The learner: a policy together with what it has learned, and how it chooses.

use super::decide::{ask, chosen_arms, decide};
use super::ledger::Ledger;
use super::turns;
use super::{Choosing, ChosenArm, Decision};
use crate::error::{check, positive};
use crate::prune::{self, Pairs};
use crate::score::Scorer;
use crate::{
    Algorithm, Arms, Auto, Catalogue, Error, Estimate, Gamma, Lambda, Law, Model, Needs, Oracle, Pick, Policy,
    Posterior, Round, Scores, Ties,
};
use std::sync::{Arc, Mutex, PoisonError};

/// A policy with what it has learned.
///
/// # Example
/// ```
/// use armwise::{Algorithm, ArmWiseTs, Arms, Constraint, Learner, Round};
///
/// let algorithm = Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1));
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
    /// Whether the last block is what happens without a choice.
    pub(crate) baseline: bool,
    /// What a unit of reward is worth in each block that can be chosen; empty where it is 1.
    pub(crate) values: Vec<f64>,
    /// What is added to theta of each block that can be chosen; empty where it is nothing.
    pub(crate) shifts: Vec<Vec<f64>>,
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
        let (baseline, values, shifts) = (false, Vec::new(), Vec::new());
        Ok(Self { policy, ties, model, ledger, baseline, values, shifts, about: None, cache: Mutex::new(None) })
    }

    /// Takes the last block for what happens without a choice, learned from arms that were left alone
    /// ([`observe`](Self::observe)). It is never chosen, and the arms of the others are scored by what they bring beyond
    /// it ([`Posterior::less`]): an arm that pays anyway is not worth a choice.
    ///
    /// ```
    /// use armwise::{Arms, Constraint, Greedy, Learner, Observation, Round};
    ///
    /// // The first arm pays always, the second only if it is chosen.
    /// let x = [1.0, 0.0, 0.0, 1.0];
    /// let mut learner = Learner::new(Greedy::new(0.1), 2, 2)?;
    /// learner.observe(&[
    ///     Observation { t: 1, block: 0, x: &x[..2], reward: 1.0 },
    ///     Observation { t: 1, block: 0, x: &x[2..], reward: 0.9 },
    ///     Observation { t: 1, block: 1, x: &x[..2], reward: 1.0 },
    ///     Observation { t: 1, block: 1, x: &x[2..], reward: 0.0 },
    /// ])?;
    /// let (arms, best) = (Arms::new(&x[..], 2)?, Constraint::top_k(1));
    /// let learner = learner.with_baseline()?;
    /// assert_eq!(learner.choose(Round::new(1, 2), &arms, &best)?.arms[0].id, 1);
    /// # Ok::<(), armwise::Error>(())
    /// ```
    /// # Errors
    /// [`Error::Parameter`] if there is no other block.
    pub fn with_baseline(self) -> Result<Self, Error> {
        let blocks = self.model.blocks().len();
        check("blocks", blocks as f64, blocks > 1, "at least 2, the last of which is the baseline")?;
        Ok(Self { baseline: true, cache: Mutex::new(None), ..self })
    }

    /// Says what a unit of reward is worth in each block that can be chosen: scores are in that unit then.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of blocks, [`Error::Parameter`] for a value that is not above 0.
    pub fn with_values(self, values: Vec<f64>) -> Result<Self, Error> {
        let expected = self.model.blocks().len() - usize::from(self.baseline);
        if values.len() != expected {
            return Err(Error::Dimension { what: "values", expected, found: values.len() });
        }
        values.iter().try_for_each(|&value| positive("value", value))?;
        Ok(Self { values, cache: Mutex::new(None), ..self })
    }

    /// Adds a known vector to theta of each block that can be chosen, after the values: what a choice costs, on a
    /// feature that is the same for all arms.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of blocks or features, [`Error::Parameter`] for a number that is not
    /// finite.
    pub fn with_shifts(self, shifts: Vec<Vec<f64>>) -> Result<Self, Error> {
        let expected = self.model.blocks().len() - usize::from(self.baseline);
        if shifts.len() != expected {
            return Err(Error::Dimension { what: "shifts", expected, found: shifts.len() });
        }
        let posterior = self.model.posterior(0, self.policy.ridge())?;
        shifts.iter().try_for_each(|shift| posterior.plus(shift).map(|_| ()))?;
        Ok(Self { shifts, cache: Mutex::new(None), ..self })
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

    /// The posterior by which the arms of a block are scored, with the policy's ridge, as of the newest round learned
    /// from.
    ///
    /// # Errors
    /// [`Error::UnknownBlock`], [`Error::NotPositiveDefinite`].
    pub fn posterior(&self, block: u32) -> Result<Posterior, Error> {
        let model = self.model.in_force()?;
        let estimate = self.estimate(&model, 0)?;
        let ridge = estimate.map_or(self.policy.ridge(), |estimate| estimate.lambda);
        let own = model.posterior(block, ridge)?.with_estimate(estimate);
        let last = self.model.blocks().len() as u32 - 1;
        if self.baseline && block == last {
            return Ok(own);
        }
        let base = if self.baseline { Some(model.posterior(last, ridge)?) } else { None };
        self.scored(own, base.as_ref(), block as usize)
    }

    /// The posterior by which the arms of a block are scored.
    fn scored(&self, own: Posterior, base: Option<&Posterior>, block: usize) -> Result<Posterior, Error> {
        let own = match base {
            Some(base) => own.less(base).map_err(|error| of_block(error, block))?,
            None => own,
        };
        let own = match self.values.get(block) {
            Some(&value) => own.times(value).map_err(|error| of_block(error, block))?,
            None => own,
        };
        match self.shifts.get(block) {
            Some(shift) => own.plus(shift),
            None => Ok(own),
        }
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
        if let Some(turn) = scorer.in_turn {
            return turns::choose(scorer, turn, (arms, self.ties), oracle);
        }
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

    /// What the rewards show, if the policy or the model asks for it, after so many rounds of forgetting; `model` has
    /// the sums in force.
    fn estimate(&self, model: &Model, idle: u64) -> Result<Option<Estimate>, Error> {
        let lambda = self.policy.lambda();
        let forgets = self.model.gamma() == Gamma::Auto;
        if lambda != Lambda::Auto && !self.policy.estimates() && !forgets {
            return Ok(None);
        }
        let estimate = match (model.evidence_at(idle)?, lambda) {
            (None, _) => Estimate { lambda: lambda.before(), sigma: 1.0, freedom: None, gamma: None },
            (Some(evidence), Lambda::Auto) => evidence.estimate(evidence.best()),
            (Some(evidence), Lambda::Value(lambda)) => evidence.estimate(lambda),
        };
        let gamma = match model.gamma() {
            Gamma::Value(gamma) if forgets => Some(gamma),
            _ => None,
        };
        Ok(Some(Estimate { gamma, ..estimate }))
    }

    /// What the policy would choose by itself in a round, where a parameter or the model's gamma is `"auto"` or the noise is
    /// estimated; none otherwise.
    ///
    /// # Errors
    /// [`Error::NoSquares`], [`Error::NotPositiveDefinite`].
    pub fn auto(&self, round: Round) -> Result<Option<Auto>, Error> {
        Ok(self.scorer(round)?.auto)
    }

    /// The law of the scores of a block's arms in a round, given their means and widths; none for a policy that does
    /// not tell.
    ///
    /// # Errors
    /// [`Error::UnknownBlock`], [`Error::NotPositiveDefinite`].
    pub fn law(&self, round: Round, block: u32) -> Result<Option<Law>, Error> {
        let scorer = self.scorer(round)?;
        let last = scorer.blocks.len() as u32 - 1;
        let own = scorer.blocks.get(block as usize).ok_or(Error::UnknownBlock { block, last })?;
        Ok(own.bonus.law())
    }

    /// The policy prepared for a round.
    pub(crate) fn scorer(&self, round: Round) -> Result<Scorer<'_>, Error> {
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
        let model = self.model.in_force()?;
        let estimate = self.estimate(&model, idle)?;
        let ridge = estimate.map_or(self.policy.ridge(), |estimate| estimate.lambda);
        let mut posteriors = model.posteriors(round.t, ridge)?;
        if estimate.is_some() {
            posteriors = posteriors.into_iter().map(|own| own.with_estimate(estimate)).collect();
        }
        if self.baseline || !self.values.is_empty() || !self.shifts.is_empty() {
            let base = if self.baseline { posteriors.pop() } else { None };
            let scored = |(block, own)| self.scored(own, base.as_ref(), block);
            posteriors = posteriors.into_iter().enumerate().map(scored).collect::<Result<_, _>>()?;
        }
        let posteriors = Arc::new(posteriors);
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner) = Some((idle, Arc::clone(&posteriors)));
        Ok(posteriors)
    }

    pub(super) fn forget_posteriors(&mut self) {
        *self.cache.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// An error with the block that it is about.
fn of_block(error: Error, block: usize) -> Error {
    match error {
        Error::NotPositiveDefinite { pivot, .. } => Error::NotPositiveDefinite { block: block as u32, pivot },
        error => error,
    }
}

impl<P: Clone> Clone for Learner<P> {
    fn clone(&self) -> Self {
        let (policy, model, ledger) = (self.policy.clone(), self.model.clone(), self.ledger.clone());
        let (ties, baseline, values, shifts) = (self.ties, self.baseline, self.values.clone(), self.shifts.clone());
        Self {
            policy,
            ties,
            model,
            ledger,
            baseline,
            values,
            shifts,
            about: self.about.clone(),
            cache: Mutex::new(None),
        }
    }
}
