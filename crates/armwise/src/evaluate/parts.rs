//! Probabilities where arms come in parts: two numbers are kept of each arm, and its key.
//!
//! What an arm's score may be follows from its mean and its width, so features are looked at once and not kept. Where arms
//! share a draw this is not enough, and there is no answer from parts.

use super::{Asked, Inclusion, Rows, exact, spread::Spread};
use crate::input::OwnedArms;
use crate::score::Scorer;
use crate::{Algorithm, Arms, Decision, Error, Learner, Method, Oracle, Pick, Policy, Round, Ties};
use std::fmt;

/// The probabilities of a round whose arms come in parts: give it all parts, then ask.
///
/// # Example
/// ```
/// use armwise::{Algorithm, Arms, Constraint, Learner, Round};
/// let learner = Learner::new(Algorithm::new("arm-wise-ts", &[])?, 1, 1)?;
/// let (round, constraint) = (Round::new(1, 1), Constraint::top_k(2));
/// let all = Arms::new(&[0.1, 0.2, 0.3, 0.4][..], 1)?;
/// let mut including = learner.including(round, &constraint)?;
/// including.add(&all.slice(0..2))?;
/// including.add(&all.slice(2..4))?;
/// let found = including.inclusion(None)?.expect("arms draw for themselves");
/// assert_eq!(found, learner.inclusion(round, &all, &constraint, None)?);
/// # Ok::<(), armwise::Error>(())
/// ```
pub struct Including<'a, P = Algorithm> {
    learner: &'a Learner<P>,
    scorer: Scorer<'a>,
    oracle: &'a dyn Oracle,
    spreads: Option<Vec<Spread>>,
    kept: OwnedArms,
    measured: Vec<[f64; 2]>,
    together: bool,
}

impl<P> fmt::Debug for Including<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Including").field("rows", &self.kept.len()).finish_non_exhaustive()
    }
}

impl<P: Policy> Learner<P> {
    /// Finds the probabilities of a round whose arms come in parts.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub fn including<'a>(&'a self, round: Round, oracle: &'a dyn Oracle) -> Result<Including<'a, P>, Error> {
        let scorer = self.scorer(round)?;
        let spreads = Spread::of(&scorer);
        let kept = OwnedArms::without_features();
        Ok(Including { learner: self, scorer, oracle, spreads, kept, measured: Vec::new(), together: false })
    }
}

impl<P: Policy> Including<'_, P> {
    /// Answers only where all arms are found together: none where each would take solutions of its own, as under a budget.
    #[must_use]
    pub fn together(self) -> Self {
        Self { together: true, ..self }
    }

    /// Whether there will be an answer: arms draw for themselves or nothing is drawn, and the constraint is one of the
    /// library's that leaves arms to compete one by one.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.spreads.is_some() && self.oracle.data().is_some_and(|constraint| super::is_computed(&constraint))
    }

    /// Whether nothing is drawn, so that what is chosen is chosen for certain.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.spreads.as_ref().is_some_and(|spreads| spreads.iter().all(Spread::is_certain))
            && self.learner.ties() == Ties::ById
    }

    /// Takes a part.
    ///
    /// # Errors
    /// A typed error for bad arms, or for a part that does not fit those before it.
    pub fn add(&mut self, part: &Arms<'_>) -> Result<(), Error> {
        self.scorer.check(part)?;
        self.kept.check(part)?;
        self.measured.extend(exact::measured(&self.scorer, part)?);
        self.kept.extend(part, &(0..part.len()).collect::<Vec<_>>());
        Ok(())
    }

    /// The probabilities of all arms, in the order in which they came; none unless [known](Self::is_known), or where it
    /// would take too long.
    ///
    /// # Errors
    /// [`Error::NoArms`] without parts, and those of the oracle.
    pub fn inclusion(&self, replicates: Option<usize>) -> Result<Option<Inclusion>, Error> {
        self.with_keys(|arms| self.of(arms, None, replicates))
    }

    /// Writes the probability of each of its arms into the decision that all parts gave; none as with
    /// [`inclusion`](Self::inclusion).
    ///
    /// # Errors
    /// As [`inclusion`](Self::inclusion), and [`Error::UnknownArm`] for a decision from other arms.
    pub fn add_probabilities(
        &self,
        decision: &mut Decision,
        replicates: Option<usize>,
    ) -> Result<Option<Inclusion>, Error> {
        if self.is_certain() {
            let probabilities = vec![1.0; decision.arms.len()];
            decision.method = Some(Method::Degenerate);
            decision.arms.iter_mut().for_each(|arm| arm.probability = Some(1.0));
            let (standard_errors, laws, replicates) = (Vec::new(), Vec::new(), 0);
            let method = Method::Degenerate;
            return Ok(Some(Inclusion { method, probabilities, standard_errors, replicates, laws }));
        }
        self.with_keys(|arms| {
            let picks = Rows::of(arms).picks(decision, arms)?;
            let Some(found) = self.of(arms, Some(&picks), replicates)? else { return Ok(None) };
            decision.method = Some(found.method);
            decision.arms.iter_mut().zip(&found.probabilities).for_each(|(arm, &pi)| arm.probability = Some(pi));
            Ok(Some(found))
        })
    }

    fn of(
        &self,
        arms: &Arms<'_>,
        picks: Option<&[Pick]>,
        replicates: Option<usize>,
    ) -> Result<Option<Inclusion>, Error> {
        let Some(spreads) = &self.spreads else { return Ok(None) };
        let asked = Asked { picks, accurate: picks, replicates, together: self.together };
        self.learner.compute(&self.scorer, spreads, arms, &self.measured, self.oracle, asked)
    }

    /// The kept rows as arms without features of their own.
    fn with_keys<T>(&self, see: impl FnOnce(&Arms<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let nothing = vec![0.0_f32; self.kept.len()];
        self.kept.with_keys(|keys| {
            let arms = Arms::new(&nothing, 1)?.with_keys(keys)?;
            match self.kept.eligible() {
                Some(flags) => see(&arms.with_eligible(flags)?),
                None => see(&arms),
            }
        })
    }
}
