//! A learner frozen for a round: everything that the scores of the round depend on, to be sent to other machines.
//!
//! Factoring may give other last bits on another kind of processor, so it is done once, before sending; scoring gives
//! the same bits on all of them. So the machines that choose from parts of one table agree on every score.

use super::{Choosing, Learner};
use crate::score::Scorer;
use crate::{Algorithm, Error, Oracle, Policy, Posterior, Round, Ties};
use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;

/// A policy with the posteriors of a round, without the model that they come from. It serialises.
///
/// # Example
/// ```
/// use armwise::{Algorithm, Arms, Constraint, Frozen, Greedy, Learner, Round};
/// let learner = Learner::new(Algorithm::Greedy(Greedy::new(1.0)), 1, 1)?;
/// let (round, constraint) = (Round::new(1, 1), Constraint::top_k(2));
/// let all = Arms::new(&[0.1, 0.2, 0.3, 0.4][..], 1)?;
/// let sent = serde_json::to_string(&learner.freeze(round)?)?;
///
/// // Each machine keeps the candidates of its own part ...
/// let here: Frozen = serde_json::from_str(&sent)?;
/// let mut choosing = here.choosing(&constraint)?;
/// choosing.add(&all.slice(0..3))?;
/// let kept = choosing.candidates(|arms| Ok((0..arms.len()).map(|row| arms.id(row)).collect::<Vec<_>>()))?;
/// assert_eq!(kept, Some(vec![0, 1, 2]));
///
/// // ... and one of them chooses from the candidates of all.
/// let mut choosing = here.choosing(&constraint)?;
/// choosing.add(&all)?;
/// assert_eq!(choosing.finish()?, learner.choose(round, &all, &constraint)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Sent<P>", bound(deserialize = "P: Policy + Deserialize<'de>"))]
pub struct Frozen<P = Algorithm> {
    policy: P,
    ties: Ties,
    round: Round,
    #[serde(serialize_with = "shared")]
    posteriors: Arc<Vec<Posterior>>,
}

/// As it was read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent<P> {
    policy: P,
    ties: Ties,
    round: Round,
    posteriors: Vec<Posterior>,
}

fn shared<S: Serializer>(posteriors: &Arc<Vec<Posterior>>, serializer: S) -> Result<S::Ok, S::Error> {
    posteriors.as_slice().serialize(serializer)
}

impl<P: Policy> TryFrom<Sent<P>> for Frozen<P> {
    type Error = Error;

    fn try_from(Sent { policy, ties, round, posteriors }: Sent<P>) -> Result<Self, Error> {
        policy.validate()?;
        let dim = posteriors.first().map(Posterior::dim).filter(|&dim| dim > 0);
        let dim = dim.ok_or_else(|| Error::BadFormat("a frozen learner needs a block and a feature".into()))?;
        match posteriors.iter().find(|posterior| posterior.dim() != dim) {
            Some(other) => Err(Error::Dimension { what: "features of a posterior", expected: dim, found: other.dim() }),
            None => Ok(Self { policy, ties, round, posteriors: Arc::new(posteriors) }),
        }
    }
}

impl<P: Policy> Frozen<P> {
    /// How many features an arm has.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.posteriors[0].dim()
    }

    /// As [`Learner::choosing`].
    ///
    /// # Errors
    /// A typed error for a policy of another dimension.
    pub fn choosing<'a>(&'a self, oracle: &'a dyn Oracle) -> Result<Choosing<'a>, Error> {
        let scorer = Scorer::new(&self.policy, Arc::clone(&self.posteriors), self.round)?;
        Ok(Choosing::new(scorer, self.ties, oracle))
    }
}

impl<P: Policy + Clone> Learner<P> {
    /// Everything that the scores of a round depend on, to choose from parts on other machines.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub fn freeze(&self, round: Round) -> Result<Frozen<P>, Error> {
        let posteriors = self.posteriors(round)?;
        Ok(Frozen { policy: self.policy.clone(), ties: self.ties, round, posteriors })
    }
}
