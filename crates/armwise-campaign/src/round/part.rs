//! Rows to choose from: names, features, who may get what, costs, groups, segments.
//!
//! Names are one text with the places where each ends, and every other column is one vector, so a million rows are a
//! handful of allocations.

use super::constraint::SEGMENT;
use armwise::{Arms, ChosenArm, Column, Names};

/// Rows to choose from.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The customers' ids, one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    /// The library's ids of the names.
    pub(super) ids: Vec<u64>,
    pub(super) features: Vec<f32>,
    pub(super) eligible: Vec<bool>,
    /// Named columns; each has a whole number of values per row.
    pub(super) columns: Vec<(String, Vec<f64>)>,
}

impl Part {
    /// Adds a customer.
    pub(super) fn name(&mut self, name: &str, id: u64) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.ids.push(id);
    }

    /// How many rows.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Gives the rows names of their own, 0, 1, ...: for rows that were drawn, perhaps several times.
    pub(super) fn number(&mut self) {
        let count = self.len();
        self.text.clear();
        self.ends.clear();
        self.ids.clear();
        for row in 0..count {
            let name = row.to_string();
            self.name(&name, armwise::id_of(&name));
        }
    }

    /// The customer in a row.
    pub(super) fn name_of(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text[start..self.ends[row]]
    }

    /// The row of an arm that was chosen from these.
    pub(super) fn place_of(&self, arm: &ChosenArm) -> usize {
        let named = |row: usize| arm.name.as_deref() == Some(self.name_of(row));
        let rows = self.ids.iter().enumerate().filter(|(_, id)| **id == arm.id);
        rows.map(|(row, _)| row).find(|&row| named(row)).unwrap_or_default()
    }

    /// The segment of a row; `names` are the names by their numbers, which begin at 1.
    #[expect(clippy::cast_sign_loss, reason = "the column holds places in the list of names, counted from 1")]
    pub(super) fn segment(&self, row: usize, names: &[String]) -> Option<String> {
        let (_, numbers) = self.columns.iter().find(|(name, _)| name == SEGMENT)?;
        names.get((numbers[row] as usize).wrapping_sub(1)).cloned()
    }

    /// Some of the rows.
    pub(super) fn pick(&self, rows: &[usize]) -> Self {
        let mut picked = Self::default();
        picked.extend(self, rows);
        picked
    }

    /// Adds some rows of a part with the same columns.
    pub(super) fn extend(&mut self, part: &Self, rows: &[usize]) {
        let count = part.len();
        extend(&mut self.features, &part.features, count, rows);
        extend(&mut self.eligible, &part.eligible, count, rows);
        if self.ids.is_empty() {
            self.columns = part.columns.iter().map(|(name, _)| (name.clone(), Vec::new())).collect();
        }
        for ((_, mine), (_, theirs)) in self.columns.iter_mut().zip(&part.columns) {
            extend(mine, theirs, count, rows);
        }
        rows.iter().for_each(|&row| self.name(part.name_of(row), part.ids[row]));
    }

    /// Calls a function with the rows as arms.
    ///
    /// # Errors
    /// [`armwise::Error::DuplicateName`] for a customer who appears twice in the part.
    pub(super) fn with_arms<T>(
        &self,
        see: impl FnOnce(&Arms<'_>) -> Result<T, armwise::Error>,
    ) -> Result<T, armwise::Error> {
        let columns: Vec<Column<'_>> = self.columns.iter().map(|(name, values)| Column { name, values }).collect();
        let names = Names::new((0..self.len()).map(|row| self.name_of(row)))?;
        let arms = Arms::new(&self.features, self.features.len() / self.len().max(1))?;
        let arms = arms.with_names(&names)?.with_columns(&columns)?;
        if self.eligible.is_empty() { see(&arms) } else { see(&arms.with_eligible(&self.eligible)?) }
    }
}

/// Appends the values of some rows.
fn extend<T: Copy>(to: &mut Vec<T>, values: &[T], count: usize, rows: &[usize]) {
    let per_row = values.len() / count.max(1);
    to.reserve(rows.len() * per_row);
    rows.iter().for_each(|row| to.extend_from_slice(&values[row * per_row..(row + 1) * per_row]));
}
