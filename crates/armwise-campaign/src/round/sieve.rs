//! Sifting a large table: of each part only the rows are kept that may still be chosen.
//!
//! The decision to know: where the quotas have prices, most rows end with a look in f32 ([`Learner::sift`]); what is
//! left is scored, kept, and thinned out by the oracle's candidates whenever it has doubled. So the choice is that of
//! the whole table, and memory stays with the candidates.

use super::{
    part::{Part, retain},
    prices::Priced,
};
use armwise::{Decision, Error, Infeasible, Learner, Names, Oracle, Policy, Round, Scores};

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
        let full = oracle.places().map_or(LEAST, |places| (places / 2 * 3).max(LEAST));
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
        Ok(())
    }

    /// Lends out the kept rows as scores: by ids, or by names where two customers share an id or are the same.
    fn ask<T>(&self, ask: impl Fn(&Scores<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let blocks = self.learner.model().blocks().len();
        let ask = |arms: &armwise::Arms<'_>| {
            ask(&Scores::new(&self.scores, blocks, *arms, self.learner.ties(), self.round)?)
        };
        match self.kept.with_arms(None, ask) {
            Err(Error::DuplicateId { .. }) => self.kept.with_arms(Some(&Names::new(self.kept.names())?), ask),
            done => done,
        }
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
        if self.oracle.places().is_some_and(|places| places < self.kept.len()) {
            // The decision has the features once more, so the rows that are not in it go first.
            self.thin()?;
            self.kept.shrink();
            self.scores = Vec::new();
        }
        let choose = |arms: &armwise::Arms<'_>| self.learner.choose(self.round, arms, self.oracle);
        let decision = match self.kept.with_arms(None, choose) {
            Err(Error::DuplicateId { .. }) => self.kept.with_arms(Some(&Names::new(self.kept.names())?), choose),
            decision => decision,
        };
        let mut decision = decision.map_err(|error| self.among(error))?;
        let mut places: Vec<(u64, usize)> = self.kept.ids().iter().copied().zip(0..).collect();
        places.sort_unstable();
        for arm in decision.arms.iter_mut().filter(|arm| arm.name.is_none()) {
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
