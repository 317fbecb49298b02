//! The probabilities of a small decision while somebody waits for it.

use super::{Rows, exact, spread::Spread, threshold::Set};
use crate::{Arms, Constraint, Decision, Error, Learner, Method, Oracle, Policy, Ties};

/// Arms up to which it is cheap, and those that are chosen of them.
const ARMS: usize = 512;
const CHOSEN: usize = 64;

impl<P: Policy> Learner<P> {
    /// Writes the probability of each of its arms into a decision of the best k of few arms, where that costs little; says
    /// whether it did. They are those of [`add_probabilities`](Self::add_probabilities), to 1e-9.
    ///
    /// ```
    /// use armwise::{Algorithm, Arms, Constraint, Learner, Round};
    /// let learner = Learner::new(Algorithm::new("arm-wise-ts", &[])?, 2, 1)?;
    /// let arms = Arms::new(&[1.0, 0.0, 0.6, 0.8, 0.0, 1.0][..], 2)?;
    /// let best = Constraint::top_k(2);
    /// let mut decision = learner.choose(Round::new(7, 1), &arms, &best)?;
    /// assert!(learner.add_cheap_probabilities(&mut decision, &arms, &best)?);
    /// assert!(decision.arms.iter().all(|arm| arm.probability.is_some_and(|pi| (pi - 2.0 / 3.0).abs() < 1e-9)));
    /// # Ok::<(), armwise::Error>(())
    /// ```
    /// # Errors
    /// [`Error::UnknownArm`] for a decision from other arms.
    pub fn add_cheap_probabilities(
        &self,
        decision: &mut Decision,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
    ) -> Result<bool, Error> {
        let scorer = self.scorer(decision.round)?;
        let Some(spreads) = Spread::of(&scorer) else { return Ok(false) };
        if spreads.iter().all(Spread::is_certain) && self.ties() == Ties::ById {
            decision.method = Some(Method::Degenerate);
            decision.arms.iter_mut().for_each(|arm| arm.probability = Some(1.0));
            return Ok(true);
        }
        let (blocks, k) = (spreads.len(), decision.arms.len());
        let plain = matches!(oracle.data(), Some(Constraint::TopK(top_k)) if !top_k.at_most && top_k.k == k);
        if !plain || arms.len() * blocks > ARMS || !(1..=CHOSEN).contains(&k) {
            return Ok(false);
        }
        let measured = exact::measured(&scorer, arms)?;
        let known = exact::Known { spreads: &spreads, measured: &measured };
        let may: Vec<usize> = (0..measured.len()).filter(|arm| arms.is_eligible(arm / blocks, arm % blocks)).collect();
        let picks = Rows::of(arms).picks(decision, arms)?;
        let place = |arm: usize| may.binary_search(&arm).ok();
        let wanted: Option<Vec<usize>> = picks.iter().map(|pick| place(pick.row * blocks + pick.block)).collect();
        let Some(wanted) = wanted else { return Ok(false) };
        let set = Set::new(spreads[0].shape, may.iter().map(|&arm| known.law(arm)));
        let found = if k >= may.len() { Some(vec![1.0; k]) } else { set.few(k, &wanted) };
        let Some(found) = found else { return Ok(false) };
        decision.method = Some(Method::Exact);
        decision.arms.iter_mut().zip(found).for_each(|(arm, pi)| arm.probability = Some(pi));
        Ok(true)
    }
}
