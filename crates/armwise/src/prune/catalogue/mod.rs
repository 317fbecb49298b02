//! Arms that come back round after round, kept ready: an item list, the same customers next week.
//!
//! V only grows while nothing is forgotten or taken back, so a width seen earlier is an upper bound
//! of today's. With today's mean, most arms cannot be among the k best even so, and their widths, the dear part, are not
//! computed again. The choice is the one from the same arms without a catalogue, to the bit.

mod bounds;
mod coarse;
mod lazy;
mod seen;

pub(crate) use bounds::rounded_up;
pub(crate) use seen::{Memory, Part};

use crate::{
    Arms, Error, Features, Names,
    input::Stored,
    kernel::Kernel,
    model::check_features,
    policy::Times,
    prune::best::{FEW, shortlist, shortlist_from},
    score::{Scorer, rows_per_task},
};
use coarse::Coarse;
use seen::Seen;
use std::sync::{Mutex, PoisonError};

/// Arms that are chosen from again and again.
///
/// It owns the features, lays them out for speed, and remembers widths between rounds. Its
/// [`arms`](Self::arms) are used as any others; choosing from them is faster, and gives the same decision.
///
/// # Example
/// ```
/// use armwise::{Algorithm, Arms, C2ucb, Catalogue, Constraint, Learner, Round};
/// let algorithm = Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: 0.5.into() });
/// let mut learner = Learner::new(algorithm, 2, 1)?;
/// let items = Catalogue::new(&Arms::new(&[1.0, 0.0, 0.8, 0.6, 0.0, 1.0][..], 2)?)?;
/// for t in 1..=3 {
///     let decision = learner.choose(Round::new(7, t), &items.arms(), &Constraint::top_k(2))?;
///     learner.learn(&decision, &decision.rewards(|arm| arm.features[0]))?;
/// }
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug)]
pub struct Catalogue {
    features: Stored,
    dim: usize,
    keys: OwnedKeys,
    kernel: Kernel,
    coarse: Coarse,
    /// |x|, rounded.
    norms: Vec<f32>,
    /// Taken out while a choice is under way; another choice at the same time starts from nothing.
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug)]
enum OwnedKeys {
    Numbers(u64),
    Ids(Vec<u64>),
    Names(Names),
}

impl Catalogue {
    /// Copies arms, with their ids or names; eligible rows and columns are given anew to the
    /// [`arms`](Self::arms) of each round.
    ///
    /// # Errors
    /// [`Error::FeatureNotFinite`], [`Error::FeatureTooLarge`].
    pub fn new(arms: &Arms<'_>) -> Result<Self, Error> {
        (0..arms.len()).try_for_each(|row| check_features(row, &arms.row(row)))?;
        let features = match arms.features() {
            Features::F32(x) => Stored::F32(x.to_vec()),
            Features::F64(x) => Stored::F64(x.to_vec()),
        };
        let norm = |row: usize| arms.row(row).iter().map(|x| x * x).sum::<f64>().sqrt() as f32;
        let keys = match arms.numbers() {
            Some(numbers) => OwnedKeys::Numbers(numbers.start),
            None if arms.name(0).is_some() => {
                OwnedKeys::Names(Names::new((0..arms.len()).filter_map(|row| arms.name(row)))?)
            }
            None => OwnedKeys::Ids((0..arms.len()).map(|row| arms.id(row)).collect()),
        };
        let (coarse, norms) = (Coarse::new(arms.features(), arms.dim()), (0..arms.len()).map(norm).collect());
        Ok(Self { features, dim: arms.dim(), keys, kernel: Kernel::get(), coarse, norms, seen: Mutex::new(None) })
    }

    /// The arms, ready to be chosen from; a mask and columns may be added to them.
    ///
    /// # Panics
    /// Never: what was arms once is arms again.
    #[must_use]
    pub fn arms(&self) -> Arms<'_> {
        let arms = Arms::new(self.features.features(), self.dim).expect("these were arms before");
        let arms = match &self.keys {
            OwnedKeys::Numbers(first) => arms.numbered_from(*first),
            OwnedKeys::Ids(ids) => arms.with_unique_ids(ids),
            OwnedKeys::Names(names) => arms.with_names(names).expect("as many as rows before"),
        };
        arms.of_catalogue(self)
    }

    /// As [`shortlist`](crate::prune::best::shortlist), with what was seen in earlier rounds.
    pub(crate) fn shortlist(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
        let [block] = &scorer.blocks[..] else {
            return shortlist(scorer, arms, k);
        };
        if scorer.check(arms).is_err()
            || block.bonus.times != Times::Width
            || k == 0
            || k.saturating_mul(FEW) > arms.len()
        {
            return None;
        }
        let parts = || Memory::new(arms.len().div_ceil(rows_per_task(self.kernel)));
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
        let seen = seen.and_then(|seen| seen.grown(block.posterior));
        let mut seen = seen.unwrap_or_else(|| Seen::new(block.posterior, parts()));
        let fine = block.posterior.widths().eta < 0.01;
        let mut rows = if fine { self.lazy(scorer, arms, k, &mut seen) } else { None };
        if rows.is_none() {
            seen = Seen::new(block.posterior, seen.memory);
            seen.direction.clone_from(&block.direction);
            rows = shortlist_from(scorer, arms, k, &seen.memory);
            if rows.is_none() {
                // A scan that stopped early has not seen all arms.
                seen = Seen::new(block.posterior, parts());
            }
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, C2ucb, Constraint, Learner, Round, Stream};

    /// On ordinary features the later rounds are lazy; otherwise the tests of exactness would be idle.
    #[test]
    fn later_rounds_visit_few_arms() {
        const N: usize = 6_000;
        const D: usize = 40;
        let draws = Round::new(1, 1).draws(0, Stream(300));
        let x: Vec<f64> = (0..(N * D) as u64).map(|id| draws.normal(id) / 6.0).collect();
        let catalogue = Catalogue::new(&Arms::new(&x, D).expect("rows")).expect("finite");
        let algorithm = Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: 0.2.into() });
        let mut learner = Learner::new(algorithm, D, 1).expect("parameters");
        let mut lazy = 0;
        for t in 1..=20 {
            let decision = learner.choose(Round::new(1, t), &catalogue.arms(), &Constraint::top_k(60)).expect("arms");
            learner.learn(&decision, &decision.rewards(|arm| arm.features[0])).expect("fresh");
            let posteriors = [learner.posterior(0).expect("factors")];
            let scorer = Scorer::new(learner.policy(), &posteriors, Round::new(1, t + 1)).expect("direction");
            let seen = catalogue.seen.lock().expect("no panic").take().expect("a round before");
            let mut seen = seen.grown(&posteriors[0]).expect("V grew");
            let rows = catalogue.lazy(&scorer, &catalogue.arms(), 60, &mut seen);
            lazy += usize::from(rows.is_some_and(|rows| rows.len() < 100));
            *catalogue.seen.lock().expect("no panic") = Some(seen);
        }
        assert!(lazy >= 15, "{lazy} of 20 rounds");
    }
}
