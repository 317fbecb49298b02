//! Choosing from arms that come in parts: from a file too large for memory, or from many machines.
//!
//! The decision to know: of every part only the rows that [`Oracle::candidates`] names are kept, and when they
//! have doubled they are thinned again, so memory stays with the candidates and the answer is that of the whole.

use crate::{
    Arms, Column, Decision, Error, Names, Oracle, Policy, Posterior, Round, Scores, Ties, learner::decide,
    scoring::Scorer,
};
use std::sync::Arc;

/// A choice under way: give it all parts, then finish.
///
/// # Example
/// ```
/// use armwise::{Algorithm, Arms, Constraint, Greedy, Learner, Round};
/// let learner = Learner::new(Algorithm::Greedy(Greedy { lambda: 1.0 }), 1, 1)?;
/// let (round, constraint) = (Round::new(1, 1), Constraint::top_k(2));
/// let x = [0.1, 0.2, 0.3, 0.4];
/// let all = Arms::new(&x[..], 1)?;
/// let mut choosing = learner.choosing(round, &constraint)?;
/// choosing.add(&all.slice(0..2))?;
/// choosing.add(&all.slice(2..4))?;
/// assert_eq!(choosing.finish()?, learner.choose(round, &all, &constraint)?);
/// # Ok::<(), armwise::Error>(())
/// ```
pub struct Choosing<'p, 'o, P> {
    policy: &'p P,
    posteriors: Arc<Vec<Posterior>>,
    ties: Ties,
    round: Round,
    oracle: &'o dyn Oracle,
    kept: Kept,
    /// How many rows were left when the kept ones were last thinned.
    thinned: usize,
}

/// Rows kept from the parts so far, owned.
#[derive(Debug, Default)]
struct Kept {
    features: Vec<f64>,
    ids: Vec<u64>,
    names: Option<Names>,
    /// Name, values, and how many there are to a row.
    columns: Vec<(String, Vec<f64>, usize)>,
    scores: Vec<f64>,
}

impl<'p, 'o, P: Policy> Choosing<'p, 'o, P> {
    pub(crate) fn new(
        policy: &'p P,
        posteriors: Arc<Vec<Posterior>>,
        ties: Ties,
        round: Round,
        oracle: &'o dyn Oracle,
    ) -> Self {
        Self { policy, posteriors, ties, round, oracle, kept: Kept::default(), thinned: 0 }
    }

    /// Takes the next part. Rows need ids that are unique over all parts; slices of one whole have them.
    ///
    /// # Errors
    /// A typed error for bad arms, or for a part that has other columns than the ones before.
    pub fn add(&mut self, part: &Arms<'_>) -> Result<(), Error> {
        let scores = Scorer::new(self.policy, &self.posteriors, self.round)?.score(part)?;
        let blocks = self.posteriors.len();
        let rows = self.oracle.candidates(&Scores::new(&scores, blocks, *part, self.ties, self.round)?)?;
        self.kept.extend(part, &scores, blocks, &rows)?;
        if self.kept.ids.len() > 2 * self.thinned.max(1024) {
            self.thin()?;
        }
        Ok(())
    }

    /// The decision over all parts.
    ///
    /// # Errors
    /// [`Error::NoArms`] without parts, [`Error::DuplicateId`] for an id in two parts (rows count from 0), or what
    /// the oracle says.
    pub fn finish(self) -> Result<Decision, Error> {
        let columns = self.kept.borrowed_columns();
        let arms = self.kept.arms(self.posteriors[0].dim(), &columns)?;
        let scorer = Scorer::new(self.policy, &self.posteriors, self.round)?;
        decide(&scorer, self.round, &self.scores(arms)?, self.oracle)
    }

    fn scores<'a>(&'a self, arms: Arms<'a>) -> Result<Scores<'a>, Error> {
        Scores::new(&self.kept.scores, self.posteriors.len(), arms, self.ties, self.round)
    }

    fn thin(&mut self) -> Result<(), Error> {
        let columns = self.kept.borrowed_columns();
        let arms = self.kept.arms(self.posteriors[0].dim(), &columns)?;
        let rows = self.oracle.candidates(&self.scores(arms)?)?;
        let mut fewer = Kept::default();
        fewer.extend(&arms, &self.kept.scores, self.posteriors.len(), &rows)?;
        self.thinned = rows.len();
        self.kept = fewer;
        Ok(())
    }
}

impl Kept {
    fn extend(&mut self, part: &Arms<'_>, scores: &[f64], blocks: usize, rows: &[usize]) -> Result<(), Error> {
        let names: Vec<&str> = part.column_names().collect();
        if self.ids.is_empty() {
            self.columns = names.iter().map(|&name| (name.to_owned(), Vec::new(), 1)).collect();
            self.names = None;
        } else if !self.columns.iter().map(|(name, ..)| name.as_str()).eq(names.iter().copied()) {
            return Err(Error::Constraint(format!("a part has the columns {names:?}, the parts before had others")));
        }
        for (name, values, per_row) in &mut self.columns {
            let Some((column, width)) = part.column(name) else { continue };
            *per_row = width;
            for row in rows {
                values.extend(&column[row * width..(row + 1) * width]);
            }
        }
        let mut named: Vec<String> = self.names.take().map_or_else(Vec::new, Names::into_names);
        for &row in rows {
            self.features.extend(part.row(row));
            self.ids.push(part.id(row));
            self.scores.extend(&scores[row * blocks..(row + 1) * blocks]);
            named.extend(part.name(row).map(str::to_owned));
        }
        if !named.is_empty() {
            self.names = Some(Names::new(named)?);
        }
        Ok(())
    }

    fn borrowed_columns(&self) -> Vec<Column<'_>> {
        self.columns.iter().map(|(name, values, _)| Column { name, values }).collect()
    }

    fn arms<'a>(&'a self, dim: usize, columns: &'a [Column<'a>]) -> Result<Arms<'a>, Error> {
        let arms = Arms::new(&self.features, dim)?.with_columns(columns)?;
        match &self.names {
            Some(names) => arms.with_names(names),
            None => arms.with_ids(&self.ids),
        }
    }
}
