//! Sifting a large table: of each part only the rows are kept that may still be chosen.
//!
//! Where the quotas have prices, most rows end with a look in f32 ([`Look`], [`Learner::sift`]);
//! what is left is scored, kept, and thinned out by the oracle's candidates whenever it has doubled. So the choice is
//! that of the whole table, and memory stays with the candidates. Prices may be guessed from a sample; then the prices
//! of the choice prove it, or the table is sifted once more by prices that are certain.

use super::{
    part::{Part, retain},
    prepare::Wanted,
    prices::Priced,
};
use armwise::{
    Arms, ChosenArm, Error, Infeasible, Learner, Look, Names, Oracle, Pick, Policy, Round, Scores, Selection,
};
use rayon::prelude::*;

/// Rows are not thinned out before there are so many.
const LEAST: usize = 2048;

/// A choice under way that sifts its parts.
pub(super) struct Sieve<'a, P> {
    learner: &'a Learner<P>,
    round: Round,
    oracle: &'a Priced,
    look: Option<Look<'a>>,
    /// Floors that are probable, not certain.
    guess: Option<Vec<f64>>,
    kept: Part,
    scores: Vec<f64>,
    best: Option<Selection>,
    /// From so many kept rows on they are thinned out.
    full: usize,
    /// How many rows came.
    rows: usize,
    /// Only who is chosen for what is asked for: features are not kept.
    light: bool,
}

/// A choice from all parts.
pub(super) struct Chosen {
    pub(super) arms: Vec<ChosenArm>,
    /// Of each arm.
    pub(super) segments: Vec<Option<String>>,
    /// What the oracle says about them; its own list is empty.
    pub(super) selection: Selection,
}

impl<'a, P: Policy> Sieve<'a, P> {
    pub(super) fn new(learner: &'a Learner<P>, round: Round, oracle: &'a Priced) -> Result<Self, Error> {
        let full = oracle.places().map_or(LEAST, |places| (2 * places).max(LEAST));
        let (look, kept) = (learner.look(round)?, Part::default());
        let (guess, scores, best) = (None, Vec::new(), None);
        Ok(Self { learner, round, oracle, look, guess, kept, scores, best, full, rows: 0, light: false })
    }

    /// A sieve that can tell [`chosen`](Self::chosen) only.
    pub(super) fn light(learner: &'a Learner<P>, round: Round, oracle: &'a Priced) -> Result<Self, Error> {
        Ok(Self { light: true, ..Self::new(learner, round, oracle)? })
    }

    /// Shares what can be shared with a sieve of the same round.
    pub(super) fn beside<Q>(mut self, other: &Sieve<'_, Q>) -> Self {
        self.look = self.look.map(|look| match &other.look {
            Some(other) => look.beside(other),
            None => look,
        });
        self
    }

    /// Takes what a sample with this share of the rows says about the prices.
    pub(super) fn guess(&mut self, sample: &Part, share: f64) -> Result<(), Error> {
        let (dim, blocks) = (self.learner.model().dim(), self.learner.model().blocks().len());
        let guess = |arms: &Arms<'_>| {
            let values = self.learner.scores(self.round, arms)?;
            self.oracle.guess(&Scores::new(&values, blocks, *arms, self.learner.ties(), self.round)?, share)
        };
        self.guess = sample.score_from(0, dim, guess)?;
        Ok(())
    }

    /// Whether a part has been taken.
    pub(super) fn any(&self) -> bool {
        self.rows > 0
    }

    /// Scores below these, in every promotion, are of no use.
    fn floors(&self) -> Option<Vec<f64>> {
        match (self.oracle.floors(), &self.guess) {
            (Some(certain), Some(guess)) => Some(certain.iter().zip(guess).map(|(a, b)| a.max(*b)).collect()),
            (certain, guess) => certain.or_else(|| guess.clone()),
        }
    }

    /// Whom to make features for; none for all.
    pub(super) fn wanted(&self) -> Option<Wanted<'_>> {
        Some(Wanted { look: self.look.as_ref()?, floors: self.floors()? })
    }

    /// Whether the oracle has been asked, so that no more rows are taken.
    pub(super) fn is_settled(&self) -> bool {
        self.best.is_some()
    }

    /// Takes the next parts, in which `rows` rows were looked at; none once it has settled.
    pub(super) fn add<'p>(&mut self, parts: impl Iterator<Item = &'p Part>, rows: usize) -> Result<(), Error> {
        if self.is_settled() {
            return Ok(());
        }
        let dim = self.learner.model().dim();
        self.rows += rows;
        let first = self.kept.len();
        let floors = self.floors();
        for part in parts {
            let rows = match &floors {
                Some(floors) => part.score_from(0, dim, |arms| self.learner.sift(self.round, arms, floors))?,
                None => (0..part.len()).collect(),
            };
            self.kept.extend(part, &rows);
        }
        if self.kept.len() == first {
            return Ok(());
        }
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
        let Some(floors) = self.floors() else { return };
        for scores in self.scores[first * floors.len()..].chunks_exact_mut(floors.len()) {
            let below = scores.iter_mut().zip(&floors).filter(|(score, floor)| **score < **floor);
            below.for_each(|(score, _)| *score = f64::NEG_INFINITY);
        }
    }

    /// Lends out the kept rows as scores. By ids, since a customer who stands twice is found when all rows are there;
    /// by names only where two of them have one hash.
    fn ask<T>(&self, ask: impl Fn(&Scores<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let blocks = self.learner.model().blocks().len();
        let names = if self.kept.has_equal_ids() { Some(Names::new(self.kept.names())?) } else { None };
        self.kept.with_arms(names.as_ref(), |arms| {
            ask(&Scores::new(&self.scores, blocks, *arms, self.learner.ties(), self.round)?)
        })
    }

    /// Asks the oracle for the best of what was kept. False if guessed prices turn out not to prove it: then all rows
    /// are forgotten, and must come once more to be sifted by prices that are certain.
    pub(super) fn settle(&mut self) -> Result<bool, Error> {
        if self.is_settled() {
            return Ok(true);
        }
        let Some(guess) = self.guess.take() else {
            let best = self.ask(|scores| self.oracle.argmax(scores)).map_err(|error| self.among(error))?;
            self.best = Some(best);
            return Ok(true);
        };
        let best = if self.kept.len() == 0 { None } else { Some(self.ask(|scores| self.oracle.argmax(scores))) };
        let best = match best {
            None | Some(Err(Error::Infeasible(_))) => None,
            Some(best) => Some(best?),
        };
        let certain = best.as_ref().and_then(|best| self.oracle.settle(best));
        if certain.is_some_and(|certain| certain.iter().zip(&guess).all(|(certain, guess)| certain >= guess)) {
            self.best = best;
            return Ok(true);
        }
        (self.kept, self.scores, self.rows) = (Part::default(), Vec::new(), 0);
        Ok(false)
    }

    /// Who is chosen, in which block: (id, block), ascending.
    pub(super) fn chosen(self) -> Vec<(u64, u32)> {
        let best = self.best.expect("the sieve has settled");
        let mut chosen: Vec<_> = best.arms.iter().map(|arm| (self.kept.ids()[arm.row], arm.block as u32)).collect();
        chosen.sort_unstable();
        chosen
    }

    /// The choice from all parts.
    pub(super) fn finish(mut self) -> Result<Chosen, Error> {
        let mut selection = self.best.take().expect("the sieve has settled");
        let mut picks = std::mem::take(&mut selection.arms);
        self.scores = Vec::new();
        if self.kept.len() > 2 * picks.len() {
            self.drop_others(&mut picks);
        }
        let mut arms = self.kept.with_arms(None, |arms| self.learner.explain(self.round, arms, &picks))?;
        let kept = &self.kept;
        arms.par_iter_mut().zip(&picks).for_each(|(arm, pick)| arm.name = Some(kept.name_of(pick.row).to_owned()));
        let segments = picks.iter().map(|pick| kept.segment_of(pick.row).map(str::to_owned)).collect();
        Ok(Chosen { arms, segments, selection })
    }

    /// Lets go of rows that are not picked, since the arms will have the features once more.
    fn drop_others(&mut self, picks: &mut [Pick]) {
        let mut rows: Vec<usize> = picks.iter().map(|arm| arm.row).collect();
        rows.sort_unstable();
        rows.dedup();
        if rows.is_empty() {
            rows.push(0); // there are no arms without a row
        }
        picks.iter_mut().for_each(|arm| arm.row = rows.partition_point(|row| *row < arm.row));
        self.kept.retain(&rows);
        self.kept.shrink();
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
                |place| draws(seed + 1).uniform(place) as f32,
                |row, block| block == 0 || row > count / 3 || draws(seed).bits(row as u64).is_multiple_of(8),
            );
            let round = Round::new(seed, 2);
            let names = Names::new(whole.names()).expect("unique");
            let choose = |arms: &Arms<'_>| learner.choose(round, arms, &assignment);
            let expected = whole.with_arms(Some(&names), choose).expect("feasible");

            let oracle = Priced::new(Box::new(assignment.clone()), Some(assignment.clone()));
            let (mut sieve, mut light) = (
                Sieve::new(&learner, round, &oracle).expect("few"),
                Sieve::light(&learner, round, &oracle).expect("few"),
            );
            sieve.full = 150;
            light.full = 90;
            for first in (0..count).step_by(37) {
                let rows: Vec<usize> = (first..count.min(first + 37)).collect();
                sieve.add([&whole.pick(&rows)].into_iter(), rows.len()).expect("finite");
                light.add([&whole.pick(&rows)].into_iter(), rows.len()).expect("finite");
            }
            with_floors += usize::from(oracle.floors().is_some_and(|floors| floors.iter().all(|x| x.is_finite())));
            assert!(sieve.settle().expect("feasible") && light.settle().expect("feasible"));
            let found = sieve.finish().expect("feasible");
            assert_eq!(found.arms, expected.arms, "seed {seed}");
            let mut by_id: Vec<(u64, u32)> = expected.arms.iter().map(|arm| (arm.id, arm.block)).collect();
            by_id.sort_unstable();
            assert_eq!(light.chosen(), by_id, "seed {seed}");
        }
        assert!(with_floors > 40, "{with_floors} of 120 had floors for all promotions");
    }
}
