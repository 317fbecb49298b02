//! Choosing from arms that come in parts: from a file too large for memory, or from many machines.
//!
//! Of every part only the rows that [`Oracle::candidates`] names are kept, and when they
//! have doubled they are thinned again, so memory stays with the candidates and the answer is that of the whole.

use crate::{
    Arms, Column, Decision, Error, Names, Oracle, Policy, Posterior, Round, Scores, Ties, choose::decide, score::Scorer,
};
use std::{ops::Range, sync::Arc};

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
    /// The row numbers that served as ids so far.
    numbered: Vec<Range<u64>>,
    /// How many rows came so far.
    rows: usize,
}

/// Rows kept from the parts so far, owned.
#[derive(Debug, Default)]
struct Kept {
    features: Vec<f64>,
    ids: Vec<u64>,
    /// As many as rows, or none.
    names: Vec<String>,
    columns: Vec<KeptColumn>,
    scores: Vec<f64>,
}

#[derive(Debug)]
struct KeptColumn {
    name: String,
    values: Vec<f64>,
    per_row: usize,
}

impl<'p, 'o, P: Policy> Choosing<'p, 'o, P> {
    pub(crate) fn new(
        policy: &'p P,
        posteriors: Arc<Vec<Posterior>>,
        ties: Ties,
        round: Round,
        oracle: &'o dyn Oracle,
    ) -> Self {
        Self {
            policy,
            posteriors,
            ties,
            round,
            oracle,
            kept: Kept::default(),
            thinned: 0,
            numbered: Vec::new(),
            rows: 0,
        }
    }

    /// Takes the next part. Its rows need ids or names that are unique over all parts; slices of one whole have them.
    /// (A row number, or an id among the kept rows, that comes again is refused; an id that comes again among rows
    /// that were not kept goes unnoticed, since they are not remembered.)
    ///
    /// # Errors
    /// A typed error for bad arms, or for a part with other columns than the ones before; the part is not taken then.
    pub fn add(&mut self, part: &Arms<'_>) -> Result<(), Error> {
        if let Some(numbers) = part.numbers() {
            let again = self.numbered.iter().find(|seen| seen.start < numbers.end && numbers.start < seen.end);
            if let Some(seen) = again {
                let id = seen.start.max(numbers.start);
                let (first, second) = ((id - seen.start) as usize, (id - numbers.start) as usize);
                return Err(Error::DuplicateId { id, first, second });
            }
        }
        let scores = Scorer::new(self.policy, &self.posteriors, self.round)?.score(part)?;
        let blocks = self.posteriors.len();
        let mut rows = self.oracle.candidates(&Scores::new(&scores, blocks, *part, self.ties, self.round)?)?;
        if let Some(row) = rows.iter().find(|&&row| row >= part.len()) {
            return Err(Error::Constraint(format!("the oracle names row {row} of a part of {} rows", part.len())));
        }
        if rows.is_empty() && self.kept.ids.is_empty() {
            rows.push(0); // any row will do: without one, the oracle could not be asked at the end
        }
        self.kept.extend(part, &scores, blocks, &rows)?;
        self.numbered.extend(part.numbers());
        self.rows += part.len();
        if self.kept.ids.len() > 2 * self.thinned.max(1024) { self.thin() } else { Ok(()) }
    }

    /// The decision over all parts.
    ///
    /// # Errors
    /// [`Error::NoArms`] without parts, [`Error::DuplicateId`] for an id kept from two parts (rows count from 0 among
    /// the kept ones), or what the oracle says; reasons are marked as counted among the kept rows.
    pub fn finish(self) -> Result<Decision, Error> {
        let scorer = Scorer::new(self.policy, &self.posteriors, self.round)?;
        let (kept, rows) = (self.kept.ids.len(), self.rows);
        self.ask(|_, scores| decide(&scorer, self.round, scores, self.oracle)).map_err(|error| match error {
            Error::Infeasible(reason) => Error::Infeasible(reason.among_candidates(kept, rows)),
            error => error,
        })
    }

    fn thin(&mut self) -> Result<(), Error> {
        let fewer = self.ask(|kept, scores| {
            let rows = self.oracle.candidates(scores)?;
            let mut fewer = Kept::default();
            let rows = if rows.is_empty() { vec![0] } else { rows };
            fewer.extend(&scores.arms(), &kept.scores, scores.blocks(), &rows)?;
            Ok(fewer)
        })?;
        self.thinned = fewer.ids.len();
        self.kept = fewer;
        Ok(())
    }

    /// Lends out the kept rows as scores.
    fn ask<T>(&self, ask: impl FnOnce(&Kept, &Scores<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let kept = &self.kept;
        let columns: Vec<Column<'_>> =
            kept.columns.iter().map(|column| Column { name: &column.name, values: &column.values }).collect();
        let names = Names::new(kept.names.iter().map(String::as_str))?;
        let arms = Arms::new(&kept.features, self.posteriors[0].dim())?.with_columns(&columns)?;
        let arms = if kept.names.is_empty() { arms.with_ids(&kept.ids) } else { arms.with_names(&names) }?;
        ask(kept, &Scores::new(&kept.scores, self.posteriors.len(), arms, self.ties, self.round)?)
    }
}

impl Kept {
    /// Adds rows of a part; checks that they fit before anything changes.
    fn extend(&mut self, part: &Arms<'_>, scores: &[f64], blocks: usize, rows: &[usize]) -> Result<(), Error> {
        let columns: Vec<KeptColumn> = part
            .column_names()
            .filter_map(|name| {
                let (values, per_row) = part.column(name)?;
                let values = rows.iter().flat_map(|row| &values[row * per_row..(row + 1) * per_row]).copied().collect();
                Some(KeptColumn { name: name.to_owned(), values, per_row })
            })
            .collect();
        let names: Vec<String> = rows.iter().filter_map(|&row| part.name(row)).map(str::to_owned).collect();
        if self.ids.is_empty() {
            self.columns = columns;
        } else {
            let shape = |columns: &[KeptColumn]| -> Vec<(String, usize)> {
                columns.iter().map(|column| (column.name.clone(), column.per_row)).collect()
            };
            let (before, now) = (shape(&self.columns), shape(&columns));
            if before != now {
                let text =
                    format!("a part has the columns (name, values to a row) {now:?}, the parts before {before:?}");
                return Err(Error::Constraint(text));
            }
            if !rows.is_empty() && names.is_empty() != self.names.is_empty() {
                return Err(Error::Constraint("some parts have names and others have not".into()));
            }
            self.columns.iter_mut().zip(columns).for_each(|(mine, column)| mine.values.extend(column.values));
        }
        self.names.extend(names);
        for &row in rows {
            self.features.extend(part.row(row));
            self.ids.push(part.id(row));
            self.scores.extend(&scores[row * blocks..(row + 1) * blocks]);
        }
        Ok(())
    }
}
