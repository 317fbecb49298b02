//! Sifting a large table: of each part only the rows are kept that may still be chosen.
//!
//! The decision to know: where the quotas have prices, most rows end with a look in f32 ([`Learner::sift`]); what is
//! left is scored, kept, and thinned out by the oracle's candidates whenever it has doubled. So the choice is that of
//! the whole table, and memory stays with the candidates.

use super::{
    part::{Part, retain},
    prices::Priced,
};
use armwise::{Arms, Decision, Error, Infeasible, Learner, Names, Oracle, Policy, Round, Scores, Selection};

/// Rows are not thinned out before there are so many.
const LEAST: usize = 2048;

/// A choice under way that sifts its parts.
pub(super) struct Sieve<'a, P> {
    learner: &'a Learner<P>,
    round: Round,
    oracle: &'a Priced,
    kept: Part,
    scores: Vec<f64>,
    /// From so many kept rows on they are thinned out.
    full: usize,
    /// How many rows came.
    rows: usize,
    /// Only who is chosen for what is asked for: features are not kept.
    light: bool,
}

impl<'a, P: Policy> Sieve<'a, P> {
    pub(super) fn new(learner: &'a Learner<P>, round: Round, oracle: &'a Priced) -> Self {
        let full = oracle.places().map_or(LEAST, |places| (2 * places).max(LEAST));
        Self { learner, round, oracle, kept: Part::default(), scores: Vec::new(), full, rows: 0, light: false }
    }

    /// A sieve that can tell [`chosen`](Self::chosen) only.
    pub(super) fn light(learner: &'a Learner<P>, round: Round, oracle: &'a Priced) -> Self {
        Self { light: true, ..Self::new(learner, round, oracle) }
    }

    /// Whether a part has been taken.
    pub(super) fn any(&self) -> bool {
        self.rows > 0
    }

    /// Takes the next part.
    pub(super) fn add(&mut self, part: &Part) -> Result<(), Error> {
        let dim = self.learner.model().dim();
        self.rows += part.len();
        let rows = match self.oracle.floors() {
            Some(floors) => part.score_from(0, dim, |arms| self.learner.sift(self.round, arms, &floors))?,
            None => (0..part.len()).collect(),
        };
        if rows.is_empty() {
            return Ok(());
        }
        let first = self.kept.len();
        self.kept.extend(part, &rows);
        self.scores.extend(self.kept.score_from(first, dim, |arms| self.learner.scores(self.round, arms))?);
        self.mask(first);
        if self.light {
            self.kept.forget_features();
        }
        if self.kept.len() > self.full { self.thin() } else { Ok(()) }
    }

    fn thin(&mut self) -> Result<(), Error> {
        let rows = self.ask(|scores| self.oracle.candidates(scores))?;
        let count = self.kept.len();
        if rows.len() < count {
            self.kept.retain(&rows);
            retain(&mut self.scores, count, &rows);
        }
        self.full = (2 * self.kept.len()).max(self.full);
        self.mask(0);
        Ok(())
    }

    /// Takes scores of no use from the oracle, which then has less to look at.
    fn mask(&mut self, first: usize) {
        let Some(floors) = self.oracle.floors() else { return };
        for scores in self.scores[first * floors.len()..].chunks_exact_mut(floors.len()) {
            let below = scores.iter_mut().zip(&floors).filter(|(score, floor)| **score < **floor);
            below.for_each(|(score, _)| *score = f64::NEG_INFINITY);
        }
    }

    /// Lends out the kept rows as scores. By ids: a customer who stands twice is found when all rows are there, and of
    /// two whose names have one hash, rows in the order of the table stand for the order of names.
    fn ask<T>(&self, ask: impl Fn(&Scores<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let blocks = self.learner.model().blocks().len();
        self.kept
            .with_arms(None, |arms| ask(&Scores::new(&self.scores, blocks, *arms, self.learner.ties(), self.round)?))
    }

    /// Who is chosen, in which block: (id, block), ascending.
    pub(super) fn chosen(self) -> Result<Vec<(u64, u32)>, Error> {
        let best = self.ask(|scores| self.oracle.argmax(scores)).map_err(|error| self.among(error))?;
        let mut chosen: Vec<_> = best.arms.iter().map(|arm| (self.kept.ids()[arm.row], arm.block as u32)).collect();
        chosen.sort_unstable();
        Ok(chosen)
    }

    /// The decision over all parts.
    pub(super) fn finish(mut self) -> Result<Decision, Error> {
        let mut best = self.ask(|scores| self.oracle.argmax(scores)).map_err(|error| self.among(error))?;
        // Rows that are not chosen go first, since the decision has the features once more.
        let mut rows: Vec<usize> = best.arms.iter().map(|arm| arm.row).collect();
        rows.sort_unstable();
        rows.dedup();
        if rows.is_empty() {
            rows.push(0); // there are no arms without a row
        }
        best.arms.iter_mut().for_each(|arm| arm.row = rows.partition_point(|row| *row < arm.row));
        self.kept.retain(&rows);
        self.kept.shrink();
        self.scores = Vec::new();
        let best = Found(best);
        let mut places: Vec<(u64, usize)> = self.kept.ids().iter().copied().zip(0..).collect();
        places.sort_unstable();
        let choose = |arms: &Arms<'_>| self.learner.choose(self.round, arms, &best);
        if places.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return self.kept.with_arms(Some(&Names::new(self.kept.names())?), choose);
        }
        let mut decision = self.kept.with_arms(None, choose)?;
        for arm in &mut decision.arms {
            let place = places.partition_point(|(id, _)| *id < arm.id);
            arm.name = Some(self.kept.name_of(places[place].1).to_owned());
        }
        Ok(decision)
    }

    /// Marks reasons that are counted among the kept rows.
    fn among(&self, error: Error) -> Error {
        let (kept, rows) = (self.kept.len(), self.rows);
        match error {
            Error::Infeasible(reason @ (Infeasible::TooFewRows { .. } | Infeasible::GroupMinimum { .. }))
                if kept < rows =>
            {
                Error::Infeasible(Infeasible::AmongCandidates { kept, rows, of_kept: Box::new(reason) })
            }
            error => error,
        }
    }
}

/// What an oracle found already.
struct Found(Selection);

impl Oracle for Found {
    fn argmax(&self, _: &Scores<'_>) -> Result<Selection, Error> {
        Ok(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use armwise::{
        Algorithm, ArmWiseTs, Assignment, Draws, Model, Observation, OnInfeasible, Quota, Stream,
        oracle::{BlockQuotas, QuotaRange},
    };

    const D: usize = 3;
    const BLOCKS: usize = 2;

    fn draws(seed: u64) -> Draws {
        Round::new(seed, 1).draws(0, Stream(300))
    }

    /// A model under which most scores are negative for even seeds, positive for odd ones.
    fn learner(seed: u64) -> Learner {
        let mut model = Model::new(D, BLOCKS).expect("a shape");
        for i in 0..20_u64 {
            let x: Vec<f64> = (0..D as u64).map(|j| draws(seed).uniform(i * 10 + j)).collect();
            let reward = if seed.is_multiple_of(2) { -1.0 } else { 1.0 } * draws(seed).uniform(1000 + i);
            let seen = Observation { t: 1, block: (i % 2) as u32, x: &x, reward };
            model.observe(&seen).expect("finite numbers");
        }
        Learner::with_model(Algorithm::ArmWiseTs(ArmWiseTs { lambda: 1.0, v: 0.2.into() }), model).expect("parameters")
    }

    /// Exact quotas, ranges whose minimum must be filled by negative scores, eligible rows that come late: parts that
    /// are sifted give what the whole table gives at once.
    #[test]
    fn parts_give_what_the_whole_gives() {
        let mut with_floors = 0;
        for seed in 0..120_u64 {
            let learner = learner(seed);
            let pick = |place: u64, count: u64| draws(seed).bits(5000 + place) % count;
            let count = 400 + pick(0, 6000) as usize;
            let number = |place: u64| 1 + pick(place, 60) as usize;
            let range = |min, max| Quota::Between(QuotaRange { min, max: Some(max) });
            let quotas = match seed % 4 {
                0 => vec![Quota::Exactly(number(1)), Quota::Exactly(number(2))],
                1 => vec![range(number(1), number(1) + number(2)), Quota::Exactly(number(3))],
                2 => vec![range(number(1), 100), range(0, number(2))],
                _ => vec![range(0, number(1)), range(number(2), number(2))],
            };
            let per_row = 1 + usize::from(seed.is_multiple_of(3));
            let quotas = BlockQuotas::Each(quotas);
            let assignment = Assignment { quotas, per_row, on_infeasible: OnInfeasible::Error };
            let whole = Part::made(
                count,
                D,
                |place| draws(seed + 1).uniform(place),
                |row, block| block == 0 || row > count / 3 || draws(seed).bits(row as u64).is_multiple_of(8),
            );
            let round = Round::new(seed, 2);
            let names = Names::new(whole.names()).expect("unique");
            let choose = |arms: &Arms<'_>| learner.choose(round, arms, &assignment);
            let expected = whole.with_arms(Some(&names), choose).expect("feasible");

            let oracle = Priced::new(Box::new(assignment.clone()), Some(assignment.clone()));
            let (mut sieve, mut light) = (Sieve::new(&learner, round, &oracle), Sieve::light(&learner, round, &oracle));
            sieve.full = 150;
            light.full = 90;
            for first in (0..count).step_by(37) {
                let rows: Vec<usize> = (first..count.min(first + 37)).collect();
                sieve.add(&whole.pick(&rows)).expect("finite");
                light.add(&whole.pick(&rows)).expect("finite");
            }
            with_floors += usize::from(oracle.floors().is_some_and(|floors| floors.iter().all(|x| x.is_finite())));
            let found = sieve.finish().expect("feasible");
            assert_eq!(found.arms, expected.arms, "seed {seed}");
            let mut by_id: Vec<(u64, u32)> = expected.arms.iter().map(|arm| (arm.id, arm.block)).collect();
            by_id.sort_unstable();
            assert_eq!(light.chosen().expect("feasible"), by_id, "seed {seed}");
        }
        assert!(with_floors > 40, "{with_floors} of 120 had floors for all promotions");
    }
}
