//! A catalogue: arms that are offered again every round, such as a list of items or the same customers next week.
//!
//! V only grows while nothing is forgotten or taken back, so a width of an earlier round is an upper bound of today's.
//! That bound and today's mean already prune most arms, and their widths, the expensive part, are not computed again.
//! Where arms lie in groups, the bounds of groups come first: then most arms are not even looked at, and of the others
//! the features as bytes and the group tell enough.
//! The choice is the same as without a catalogue, to the bit.

mod coarse;
mod groups;
mod pass_over;
mod remembered;
mod visit;

pub(super) use remembered::{Memory, Part};

use super::best::Candidate;
use super::best::{best, best_and_remember};
use super::bound::Bound;
use super::is_few;
use crate::input::OwnedArms;
use crate::kernel::Kernel;
use crate::model::check_features;
use crate::policy::Times;
use crate::score::{Scorer, rows_per_task};
use crate::{Arms, Error};
use coarse::Coarse;
use groups::Groups;
use remembered::Remembered;
use std::sync::{Mutex, PoisonError};

/// Arms that are chosen from again and again.
///
/// It owns the features, lays them out for speed, and remembers widths between rounds.
/// [`Learner::choose_from`](crate::Learner::choose_from) is faster than choosing from the same arms without it, and
/// gives the same decision.
///
/// # Example
/// ```
/// use armwise::{Algorithm, Arms, C2ucb, Catalogue, Constraint, Learner, Round};
/// let algorithm = Algorithm::C2ucb(C2ucb::new(1.0, 0.5));
/// let mut learner = Learner::new(algorithm, 2, 1)?;
/// let items = Catalogue::new(&Arms::new(&[1.0, 0.0, 0.8, 0.6, 0.0, 1.0][..], 2)?)?;
/// for t in 1..=3 {
///     let decision = learner.choose_from(&items, Round::new(7, t), &items.arms(), &Constraint::top_k(2))?;
///     learner.learn(&decision, &decision.rewards(|arm| arm.features[0]))?;
/// }
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug)]
pub struct Catalogue {
    arms: OwnedArms,
    kernel: Kernel,
    coarse: Coarse,
    /// |x|, rounded.
    norms: Vec<f32>,
    /// Arms that lie close together; none where they do not.
    groups: Option<Groups>,
    /// Taken out while a choice is under way; another choice at the same time starts from nothing.
    remembered: Mutex<Option<Remembered>>,
}

/// An arm with both ends set to its upper end, so that [`Candidates`](super::best::Candidates) keeps the best by upper
/// end.
fn by_upper(place: usize, upper: f64) -> Candidate {
    Candidate { bound: Bound { upper, lower: upper }, place }
}

impl Catalogue {
    /// Copies arms, with their ids or names. The mask and the columns are not copied; add them to [`arms`](Self::arms)
    /// in each round.
    ///
    /// # Errors
    /// [`Error::FeatureNotFinite`], [`Error::FeatureTooLarge`].
    pub fn new(arms: &Arms<'_>) -> Result<Self, Error> {
        (0..arms.len()).try_for_each(|row| check_features(row, &arms.row(row)))?;
        let norm = |row: usize| arms.row(row).iter().map(|x| x * x).sum::<f64>().sqrt() as f32;
        let norms = (0..arms.len()).map(norm).collect();
        let groups = Groups::new(arms);
        let coarse = Coarse::new(arms, groups.as_ref());
        let (arms, kernel) = (OwnedArms::whole(arms), Kernel::get());
        Ok(Self { arms, kernel, coarse, norms, groups, remembered: Mutex::new(None) })
    }

    /// The arms; a mask and columns may be added to them.
    ///
    /// # Panics
    /// Never: the arms were checked when the catalogue was made.
    #[must_use]
    pub fn arms(&self) -> Arms<'_> {
        self.arms.plain().expect("these were arms before")
    }

    /// As [`best`], with bounds from earlier rounds.
    pub(crate) fn best(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
        let ([block], [posterior]) = (&scorer.blocks[..], &scorer.posteriors[..]) else {
            return best(scorer, arms, k);
        };
        let fits = scorer.check(arms).is_ok() && block.bonus.times == Times::Width;
        if !fits || k == 0 || !is_few(k, arms.len()) {
            return best(scorer, arms, k);
        }
        let fine = posterior.widths().eta < 0.01;
        if fine && let Some(rows) = self.pass_over(scorer, arms, k) {
            return Some(rows);
        }
        let parts = || Memory::new(arms.len().div_ceil(rows_per_task(self.kernel)));
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner).take();
        let remembered = remembered.and_then(|remembered| remembered.grown(posterior));
        let mut remembered = remembered.unwrap_or_else(|| Remembered::new(posterior, parts()));
        let mut rows = if fine { self.visit(scorer, arms, k, &mut remembered) } else { None };
        if rows.is_none() {
            remembered = Remembered::new(posterior, remembered.memory);
            remembered.direction.clone_from(&block.direction);
            rows = best_and_remember(scorer, arms, k, &remembered.memory);
            if rows.is_none() {
                // A search that stopped early has not bounded all arms.
                remembered = Remembered::new(posterior, parts());
            }
        }
        *self.remembered.lock().unwrap_or_else(PoisonError::into_inner) = Some(remembered);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, C2ucb, Constraint, Learner, Round, Stream};
    use std::sync::Arc;

    /// On arms in balls the groups alone tell, whatever the policy: if they did not, the exactness tests would not test
    /// them. The widest draws are too wide for the bounds of groups.
    #[test]
    fn groups_are_passed_over() {
        const N: usize = 12_000;
        const D: usize = 30;
        let draws = Round::new(2, 1).draws(0, Stream(300));
        let ball =
            |id: u64| draws.normal(id / D as u64 % 60 * D as u64 + id % D as u64) + 0.03 * draws.normal(1 << 40 | id);
        let x: Vec<f64> = (0..(N * D) as u64).map(ball).collect();
        let catalogue = Catalogue::new(&Arms::new(&x, D).expect("rows")).expect("finite");
        for (algorithm, passed) in [
            (Algorithm::C2ucb(C2ucb::new(1.0, 0.1)), true),
            (Algorithm::Pc2ucb(crate::Pc2ucb::new(1.0, 0.1, 1.0)), true),
            (Algorithm::ArmWiseTs(crate::ArmWiseTs::new(1.0, 0.1)), true),
            (Algorithm::ArmWiseTs(crate::ArmWiseTs::new(1.0, 1e6)), false),
        ] {
            let mut model = crate::Model::new(D, 1).expect("shape");
            for x in x.chunks(D).take(600) {
                model.observe(&crate::Observation { t: 1, block: 0, x, reward: x[0] }).expect("finite");
            }
            let posterior = model.posterior(0, 1.0).expect("factors");
            let scorer = Scorer::new(&algorithm, Arc::new(vec![posterior]), Round::new(1, 2)).expect("direction");
            let rows = catalogue.pass_over(&scorer, &catalogue.arms(), 100);
            assert_eq!(rows.as_ref().is_some_and(|rows| rows.len() < 200), passed, "{algorithm:?}");
            let scores = scorer.score(&catalogue.arms()).expect("finite");
            let mut best: Vec<usize> = (0..N).collect();
            best.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            let found = rows.is_none_or(|rows| best[..100].iter().all(|row| rows.binary_search(row).is_ok()));
            assert!(found, "{algorithm:?}: one of the best is missing");
        }
    }

    /// On ordinary features the later rounds visit few arms. If they visited all, the exactness tests would not test
    /// pruning.
    #[test]
    fn later_rounds_visit_few_arms() {
        const N: usize = 6_000;
        const D: usize = 40;
        let draws = Round::new(1, 1).draws(0, Stream(300));
        let x: Vec<f64> = (0..(N * D) as u64).map(|id| draws.normal(id) / 6.0).collect();
        let catalogue = Catalogue::new(&Arms::new(&x, D).expect("rows")).expect("finite");
        let algorithm = Algorithm::C2ucb(C2ucb::new(1.0, 0.2));
        let mut learner = Learner::new(algorithm, D, 1).expect("parameters");
        let mut few = 0;
        for t in 1..=20 {
            let (round, k) = (Round::new(1, t), Constraint::top_k(60));
            let decision = learner.choose_from(&catalogue, round, &catalogue.arms(), &k).expect("arms");
            learner.learn(&decision, &decision.rewards(|arm| arm.features[0])).expect("fresh");
            let posterior = learner.posterior(0).expect("factors");
            let scorer = Scorer::new(learner.policy(), Arc::new(vec![posterior.clone()]), Round::new(1, t + 1))
                .expect("direction");
            let remembered = catalogue.remembered.lock().expect("no panic").take().expect("a round before");
            let mut remembered = remembered.grown(&posterior).expect("V grew");
            let rows = catalogue.visit(&scorer, &catalogue.arms(), 60, &mut remembered);
            few += usize::from(rows.is_some_and(|rows| rows.len() < 100));
            *catalogue.remembered.lock().expect("no panic") = Some(remembered);
        }
        assert!(few >= 15, "{few} of 20 rounds");
    }
}
