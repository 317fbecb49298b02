//! Leaving out rows that do not reach given floors, before they are scored in f64.
//!
//! The first look is in f32 with the intervals of [`rough`](crate::prune::bound), so a row is left out
//! only where its f64 scores are certain to be below the floors; a few rows that miss a floor by less than the
//! interval may stay.

use crate::{
    Arms, Error, Learner, Policy, Round,
    prune::best::glance,
    prune::bound::{Room, Rough},
    score::{Scorer, rows_per_task},
};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

impl<P: Policy> Learner<P> {
    /// Rows that matter to someone who knows a floor for the scores of each block, ascending: all rows that reach the
    /// floor of a block in which they are eligible, and perhaps some that just miss it.
    ///
    /// For tables that are read in parts: the prices of an [`Assignment`](crate::Assignment) over the rows seen so far
    /// are such floors for the rows to come, since more rows only raise them.
    ///
    /// # Errors
    /// As [`scores`](Self::scores), and [`Error::Dimension`] for another number of floors than blocks.
    ///
    /// # Example
    /// ```
    /// use armwise::{Algorithm, Arms, Greedy, Learner, Model, Observation, Round};
    /// let mut model = Model::new(1, 1)?;
    /// model.observe(&Observation { t: 1, block: 0, x: &[1.0], reward: 1.0 })?;
    /// let learner = Learner::with_model(Algorithm::Greedy(Greedy { lambda: 1.0 }), model)?;
    /// let x = [0.2, 0.8, 0.4, 0.6];
    /// assert_eq!(learner.sift(Round::new(1, 2), &Arms::new(&x[..], 1)?, &[0.25])?, [1, 3]); // scores are x / 2
    /// # Ok::<(), armwise::Error>(())
    /// ```
    pub fn sift(&self, round: Round, arms: &Arms<'_>, floors: &[f64]) -> Result<Vec<usize>, Error> {
        let posteriors = self.posteriors(round)?;
        let scorer = Scorer::new(self.policy(), &posteriors, round)?;
        scorer.check(arms)?;
        if floors.len() != posteriors.len() {
            return Err(Error::Dimension { what: "floors", expected: posteriors.len(), found: floors.len() });
        }
        if let Some(rough) = Rough::new(&scorer) {
            let glance = glance(&scorer, arms);
            // Set where the means alone leave most rows in.
            let dull = AtomicBool::new(false);
            let rows_per_task = 2 * rows_per_task(scorer.kernel);
            let task = |room: &mut Room, task: usize| {
                let first = task * rows_per_task;
                let part = arms.slice(first..arms.len().min(first + rows_per_task));
                let mut rows = match glance.as_ref().filter(|_| !dull.load(Relaxed)) {
                    None => reaching(&rough, &part, floors, room)?,
                    Some(glance) => {
                        let glanced = reaching(glance, &part, floors, room)?;
                        if 2 * glanced.len() > part.len() {
                            dull.store(true, Relaxed);
                        }
                        if glanced.is_empty() {
                            return Some(glanced);
                        }
                        let rows = reaching(&rough, &part.gather(&glanced).arms().ok()?, floors, room)?;
                        rows.into_iter().map(|row| glanced[row]).collect()
                    }
                };
                rows.iter_mut().for_each(|row| *row += first);
                Some(rows)
            };
            let tasks = (0..arms.len().div_ceil(rows_per_task)).into_par_iter();
            let parts: Option<Vec<Vec<usize>>> = tasks.map_init(Room::default, task).collect();
            if let Some(parts) = parts {
                return Ok(parts.concat());
            }
        }
        // Beyond what f32 can tell; what is not finite gets its error here.
        let scores = scorer.score(arms)?;
        let reaches = |(block, score): (usize, &f64)| *score >= floors[block] && *score > f64::NEG_INFINITY;
        let rows = scores.chunks_exact(floors.len()).enumerate();
        Ok(rows.filter(|(_, scores)| scores.iter().enumerate().any(reaches)).map(|(row, _)| row).collect())
    }
}

/// The rows of a part that may reach a floor; none if a number is beyond f32.
fn reaching(rough: &Rough<'_, '_>, part: &Arms<'_>, floors: &[f64], room: &mut Room) -> Option<Vec<usize>> {
    let masked = part.eligible_per_row() > 0;
    let mut reached = vec![false; part.len()];
    let finite = rough.bounds(part, room, |block, upper, _| {
        let floor = floors[block];
        for (row, (reached, upper)) in reached.iter_mut().zip(upper).enumerate() {
            *reached |= *upper >= floor && (!masked || part.is_eligible(row, block));
        }
    });
    finite.then(|| (0..part.len()).filter(|&row| reached[row]).collect())
}
