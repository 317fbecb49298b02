//! Raises a guess while parts are given, from a sample of the rows that are kept.
//!
//! These are all rows seen so far that reach the guessed floors, and the best super arm of what was seen has no others if
//! the guess is right. So a sample of them tells about where the floors of all that was seen lie, and later parts can only
//! raise those. It is a guess like the first, and proven with it.

use super::Choosing;
use crate::{Error, Scores};

/// How many rows a sample has; of fewer than twice as many rows, none is taken.
pub(super) const SAMPLE: usize = 1 << 16;

impl Choosing<'_> {
    /// Guesses from every so many-th of the kept rows and prunes them by that; false if nothing can be guessed.
    pub(super) fn raise_guess(&mut self) -> Result<bool, Error> {
        let (count, blocks) = (self.kept.len(), self.scorer.blocks.len());
        if count < 2 * self.sample {
            return Ok(false);
        }
        let rows: Vec<usize> = (0..count).step_by(count / self.sample).collect();
        let scores: Vec<f64> =
            rows.iter().flat_map(|row| &self.scores[row * blocks..(row + 1) * blocks]).copied().collect();
        let share = rows.len() as f64 / count as f64;
        let guess = self.kept.keys_of(&rows).with_keys(|keys| {
            self.oracle.guess_floors(&Scores::new(&scores, blocks, keys, self.ties, self.scorer.round)?, share)
        })?;
        let Some(guess) = guess else { return Ok(false) };
        self.set_floors(guess)?;
        self.is_own_guess = true;
        self.mask(0);
        let reaches = |row: &usize| self.scores[row * blocks..(row + 1) * blocks].iter().any(|score| score.is_finite());
        let mut rows: Vec<usize> = (0..count).filter(reaches).collect();
        if rows.is_empty() {
            rows.push(0); // any row will do: the oracle needs at least one at the end
        }
        self.retain(&rows);
        self.full = (2 * rows.len()).max(self.full);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Algorithm, ArmWiseTs, Arms, Assignment, Learner, Model, Observation, Proof, Quota, Round, Stream};

    /// With samples of 600 rows instead of thousands: the first guess is so low that all rows are kept, is raised while parts
    /// come, and proven or refuted. Every other seed makes the rows better that the first sample looks at, every fourth,
    /// so that it misleads where few rows follow. The choice is that of all rows at once.
    #[test]
    fn raised_guesses_change_no_decision() {
        let (mut raised, mut refuted, d) = (0, 0, 3);
        for seed in 0..60 {
            let draws = Round::new(seed, 1).draws(0, Stream(9));
            let pick = |place: u64, most: u64| draws.bits(place) % most;
            let mut model = Model::new(d, 2).expect("sizes");
            for row in 0..40 {
                let x: Vec<f64> = (0..d as u64).map(|j| draws.uniform(1 << 20 | row << 4 | j)).collect();
                let reward = x[(row % 2) as usize];
                model.observe(&Observation { t: 1, block: (row % 2) as u32, x: &x, reward }).expect("finite");
            }
            let learner = Learner::with_model(Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.2)), model).expect("factors");
            let count = 2800 + pick(1, 1500) as usize;
            let better = |id: u64| f32::from(seed % 2 == 1 && (id / d as u64).is_multiple_of(4));
            let x: Vec<f32> =
                (0..(count * d) as u64).map(|id| draws.uniform(1 << 40 | id) as f32 + better(id)).collect();
            let arms = Arms::new(&x, d).expect("rows");
            let quotas = [2, 3].map(|place| 200 + pick(place, 400) as usize);
            let quotas = vec![Quota::Exactly(quotas[0]), Quota::between(0, quotas[1])];
            let assignment = Assignment { per_row: 1, ..Assignment::new(quotas) };
            let round = Round::new(seed, 2);
            let mut choosing = learner.choosing(round, &assignment).expect("factors");
            (choosing.full, choosing.sample) = (2000, 600);
            choosing.set_floors(vec![-100.0; 2]).expect("two");
            choosing.is_own_guess = true;
            let mut give = || {
                for first in (0..count).step_by(1370) {
                    choosing.add(&arms.slice(first..count.min(first + 1370))).expect("finite");
                }
                raised += u32::from(choosing.guess.as_ref().is_some_and(|guess| guess[0] > -100.0));
                choosing.prove().expect("feasible")
            };
            if give() == Proof::Again {
                refuted += 1;
                assert_eq!(give(), Proof::Done, "nothing is guessed then");
            }
            let expected = learner.choose(round, &arms, &assignment).expect("feasible");
            // Prices are those of the kept rows.
            let found = choosing.finish().expect("feasible");
            assert_eq!(crate::Decision { prices: expected.prices.clone(), ..found }, expected, "seed {seed}");
        }
        assert_eq!(raised, 60, "the guess of each seed is raised");
        assert!(refuted > 10 && refuted < 50, "{refuted} of 60 refuted");
    }
}
