//! Rows of the table that may still be chosen, kept while it is read, so that it need not be read once more for the columns
//! of those who are.

use super::choices::Choices;
use crate::{Error, Memory, table::Rows};

/// Rows are looked through only when there are this many.
const MANY: usize = 1 << 16;
/// More values than this are not kept: where so much may be chosen, memory costs more than another pass.
pub(super) const MOST: usize = 1 << 23;

/// Rows that may still be chosen.
#[derive(Debug)]
pub(super) struct KeptRows {
    rows: Vec<Rows>,
    held: usize,
    /// How many values may be kept.
    most: usize,
    /// There were too many, so none are here.
    given_up: bool,
}

impl KeptRows {
    /// No rows yet, and never more than so many values.
    pub(super) fn new(most: usize) -> Self {
        Self { rows: Vec::new(), held: 0, most, given_up: false }
    }

    /// Adds those rows of a batch that were given to a choice; `column` is the customers'.
    pub(super) fn add(
        &mut self,
        rows: &Rows,
        given: &[usize],
        column: &str,
        choices: &Choices<'_>,
    ) -> Result<(), Error> {
        if self.given_up || given.is_empty() {
            return Ok(());
        }
        let mut wanted = vec![false; rows.len()];
        given.iter().for_each(|&row| wanted[row] = true);
        self.rows.push(if given.len() == rows.len() { rows.clone() } else { rows.filtered(&wanted)? });
        self.held += given.len();
        let values = |held: usize| held.saturating_mul(rows.batch().num_columns());
        if self.held > MANY.max(4 * choices.kept()) || values(self.held) > self.most {
            self.thin(column, choices)?;
            // Not even half is free: it would be full again soon.
            if values(2 * self.held) > self.most {
                *self = Self { given_up: true, ..Self::new(self.most) };
            }
        }
        Ok(())
    }

    /// Keeps only customers who are candidates of one of the choices.
    fn thin(&mut self, column: &str, choices: &Choices<'_>) -> Result<(), Error> {
        let names = choices.names()?;
        let mut found = Vec::with_capacity(self.rows.len());
        for rows in &self.rows {
            let mut wanted = Vec::with_capacity(rows.len());
            rows.each_text(column, |_, text| {
                wanted.push(text.is_some_and(|text| names.contains(text)));
                Ok(())
            })?;
            found.push(rows.filtered(&wanted)?);
        }
        self.rows = Rows::joined(&found)?.into_iter().collect();
        self.held = self.rows.iter().map(Rows::len).sum();
        Ok(())
    }

    /// The candidates as one batch; none without any.
    pub(super) fn candidates(mut self, column: &str, choices: &Choices<'_>) -> Result<Option<Rows>, Error> {
        self.thin(column, choices)?;
        Ok(self.rows.pop())
    }

    /// The rows as a source; none if they were too many.
    pub(super) fn source(self, name: &str) -> Result<Option<Memory>, Error> {
        match Rows::joined(&self.rows)? {
            Some(rows) if !self.given_up => Memory::new(name, vec![rows.batch().clone()]).map(Some),
            _ => Ok(None),
        }
    }
}
