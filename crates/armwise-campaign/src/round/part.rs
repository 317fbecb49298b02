//! Rows to choose from: names, features, who may get what, costs, groups, segments.
//!
//! Names are one text with the places where each ends, and every other column is one vector, so a
//! million rows are a handful of allocations.

#[cfg(test)]
use armwise::id_of;
use armwise::{Arms, Column, Names};

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
    /// The customers' segments, where there are segments.
    pub(super) segments: Vec<Option<String>>,
    /// Named columns with the number of values per row.
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

    /// The library's ids of the customers.
    pub(super) fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// The customer in a row.
    pub(super) fn name_of(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text[start..self.ends[row]]
    }

    /// The segment of the customer in a row.
    pub(super) fn segment_of(&self, row: usize) -> Option<&str> {
        self.segments.get(row)?.as_deref()
    }

    /// Whether two rows have the same id.
    pub(super) fn has_equal_ids(&self) -> bool {
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        ids.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// The customers, in row order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.name_of(row))
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
        if !part.segments.is_empty() {
            self.segments.extend(rows.iter().map(|&row| part.segments[row].clone()));
        }
        rows.iter().for_each(|&row| self.name(part.name_of(row), part.ids[row]));
    }

    /// Leaves only these rows, ascending.
    pub(super) fn retain(&mut self, rows: &[usize]) {
        let count = self.len();
        retain(&mut self.features, count, rows);
        retain(&mut self.eligible, count, rows);
        self.columns.iter_mut().for_each(|(_, values)| retain(values, count, rows));
        retain(&mut self.ids, count, rows);
        if !self.segments.is_empty() {
            self.segments = rows.iter().map(|&row| self.segments[row].take()).collect();
        }
        let mut text = String::with_capacity(self.text.len() / count.max(1) * rows.len() + 64);
        let mut ends = Vec::with_capacity(rows.len());
        for &row in rows {
            text.push_str(self.name_of(row));
            ends.push(text.len());
        }
        (self.text, self.ends) = (text, ends);
    }

    /// Gives back the room of rows that went.
    pub(super) fn shrink(&mut self) {
        self.features.shrink_to_fit();
    }

    /// Lets go of the features, where only scores count from now on.
    pub(super) fn forget_features(&mut self) {
        self.features = Vec::new();
    }

    /// Lends the rows out as arms, by names, or by ids that are looked at elsewhere. Without features the arms have one that is 0: oracles do
    /// not look at features.
    pub(super) fn with_arms<T>(
        &self,
        names: Option<&Names>,
        use_arms: impl FnOnce(&Arms<'_>) -> Result<T, armwise::Error>,
    ) -> Result<T, armwise::Error> {
        let columns: Vec<Column<'_>> = self.columns.iter().map(|(name, values)| Column { name, values }).collect();
        let none = if self.features.is_empty() { vec![0.0_f32; self.len()] } else { Vec::new() };
        let arms = if self.features.is_empty() {
            Arms::new(&none, 1)?
        } else {
            Arms::new(&self.features, self.features.len() / self.len())?
        };
        let arms = arms.with_columns(&columns)?;
        let arms = match names {
            Some(names) => arms.with_names(names)?,
            None => arms.with_unique_ids(&self.ids),
        };
        if self.eligible.iter().all(|&flag| flag) {
            use_arms(&arms)
        } else {
            use_arms(&arms.with_eligible(&self.eligible)?)
        }
    }
}

impl Part {
    /// Lends out the rows from `first` on, of which the features must be there, to be scored; whether an id stands twice
    /// is looked at elsewhere.
    pub(super) fn score_from<T>(
        &self,
        first: usize,
        dim: usize,
        score: impl FnOnce(&Arms<'_>) -> Result<T, armwise::Error>,
    ) -> Result<T, armwise::Error> {
        let count = self.len() - first;
        let arms = Arms::new(&self.features[self.features.len() - count * dim..], dim)?;
        let arms = arms.with_unique_ids(&self.ids[first..]);
        let per_row = self.eligible.len() / self.len();
        if per_row == 0 {
            return score(&arms);
        }
        score(&arms.with_eligible(&self.eligible[first * per_row..])?)
    }
}

/// Appends the values of some rows.
pub(super) fn extend<T: Copy>(to: &mut Vec<T>, values: &[T], count: usize, rows: &[usize]) {
    let per_row = values.len() / count.max(1);
    to.reserve(rows.len() * per_row);
    rows.iter().for_each(|row| to.extend_from_slice(&values[row * per_row..(row + 1) * per_row]));
}

/// Leaves the values of these rows only, ascending, where they are.
pub(super) fn retain<T: Copy>(values: &mut Vec<T>, count: usize, rows: &[usize]) {
    let per_row = values.len() / count.max(1);
    for (place, row) in rows.iter().enumerate() {
        values.copy_within(row * per_row..(row + 1) * per_row, place * per_row);
    }
    values.truncate(rows.len() * per_row);
}

#[cfg(test)]
impl Part {
    /// Rows for tests.
    pub(super) fn made(
        count: usize,
        dim: usize,
        feature: impl Fn(u64) -> f32,
        eligible: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut part = Self {
            features: (0..(count * dim) as u64).map(feature).collect(),
            eligible: (0..2 * count).map(|place| eligible(place / 2, place % 2)).collect(),
            ..Self::default()
        };
        (0..count).map(|row| format!("c{row}")).for_each(|name| part.name(&name, id_of(&name)));
        part
    }
}
