//! A batch of the table made ready to be chosen from: features, who may get what, costs, groups.
//!
//! The decision to know: customers who may get nothing (they rest) are taken out before scoring, and those of the
//! hold-out go into a part of their own, which is chosen from by the same rules scaled down to its share. So the
//! hold-out holds customers who would have been chosen, and comparing with it is comparing like with like.

use crate::{Error, config::Config, file::Setup, recipe::Oddities, table::Rows};
use armwise::{Arms, Column, Draws, Names, Round, Stream, id_of};
use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

/// What draws the hold-out: of the campaign's seed and the customer's id alone, the same in every round.
const HOLD_OUT: Stream = Stream(256);

fn hold_out_draws(config: &Config) -> Draws {
    Round::new(config.seed, 0).draws(0, HOLD_OUT)
}

/// Whether a customer is in the hold-out.
pub(crate) fn is_held_out(config: &Config, customer: &str) -> bool {
    let share = config.limits.hold_out;
    share > 0.0 && hold_out_draws(config).uniform(id_of(customer)) < share
}

/// Reads rows into parts.
pub(super) struct Parts<'a> {
    setup: &'a Setup,
    resting: HashSet<String>,
    draws: Draws,
    /// Room for features that is not needed any more.
    used: Mutex<Vec<f64>>,
}

/// Rows to choose from.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The customers' ids, one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    /// The library's ids of the names.
    ids: Vec<u64>,
    features: Vec<f64>,
    eligible: Vec<bool>,
    /// Named columns with the number of values per row.
    columns: Vec<(String, Vec<f64>)>,
}

/// A batch, split.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) main: Option<Part>,
    pub(super) control: Option<Part>,
    pub(super) odd: Oddities,
    /// Of all rows: customer, and segment where there is one.
    pub(super) ids: Vec<u64>,
    pub(super) checks: Vec<u32>,
    pub(super) segments: Vec<Option<String>>,
    pub(super) first: u64,
    pub(super) resting: u64,
    pub(super) held_out: u64,
}

impl<'a> Parts<'a> {
    pub(super) fn new(setup: &'a Setup, resting: HashSet<String>) -> Self {
        Self { setup, resting, draws: hold_out_draws(&setup.config), used: Mutex::default() }
    }

    /// Takes back what a part was made of.
    pub(super) fn reuse(&self, part: Prepared) {
        if let Some(main) = part.main {
            *self.used.lock().unwrap_or_else(PoisonError::into_inner) = main.features;
        }
    }

    /// The columns to be read.
    pub(super) fn columns(&self) -> Vec<String> {
        let mut columns = self.setup.config.own_columns();
        columns.extend(self.setup.recipe.names().map(str::to_owned));
        columns.into_iter().collect()
    }

    /// Reads a batch.
    pub(super) fn prepare(&self, rows: &Rows) -> Result<Prepared, Error> {
        let config = &self.setup.config;
        let blocks = config.promotion.len();
        let mut features = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        let odd = self.setup.recipe.apply_into(rows, &mut features)?;
        let mut eligible = Vec::new();
        for (block, promotion) in config.promotion.iter().enumerate() {
            let Some(column) = &promotion.eligible else { continue };
            eligible.resize(rows.len() * blocks, true);
            for (row, flag) in rows.flags(column)?.into_iter().enumerate() {
                eligible[row * blocks + block] = flag;
            }
        }
        let columns = self.constraint_columns(rows, blocks)?;
        let mut segments = Vec::new();
        if let Some(segment) = &config.segment {
            rows.each_text(segment, |_, text| {
                segments.push(text.map(str::to_owned));
                Ok(())
            })?;
        }
        let whole = Part { text: String::new(), ends: Vec::new(), ids: Vec::new(), features, eligible, columns };
        let (mut whole, mut main, mut control) = (whole, Vec::with_capacity(rows.len()), Vec::new());
        let mut checks = Vec::with_capacity(rows.len());
        let (mut resting, mut held_out) = (0, 0);
        rows.each_text(&config.customer, |row, name| {
            let name = name.ok_or_else(|| rows.bad(row, &config.customer, "the customer's id is missing"))?;
            let id = id_of(name);
            whole.name(name, id);
            checks.push(super::customers::check_of(name));
            let held = config.limits.hold_out > 0.0 && self.draws.uniform(id) < config.limits.hold_out;
            held_out += u64::from(held);
            if !self.resting.is_empty() && self.resting.contains(name) {
                resting += 1;
            } else if whole.eligible.is_empty() || whole.eligible[row * blocks..(row + 1) * blocks].contains(&true) {
                if held { control.push(row) } else { main.push(row) }
            }
            Ok(())
        })?;
        let (ids, first) = (whole.ids.clone(), rows.number(0));
        let control = if control.is_empty() { None } else { Some(whole.pick(&control)) };
        let main = match main.len() {
            0 => None,
            all if all == rows.len() => Some(whole),
            _ => Some(whole.pick(&main)),
        };
        Ok(Prepared { main, control, odd, ids, checks, segments, first, resting, held_out })
    }

    /// Costs per arm, and for each group whether a row belongs to it.
    fn constraint_columns(&self, rows: &Rows, blocks: usize) -> Result<Vec<(String, Vec<f64>)>, Error> {
        let config = &self.setup.config;
        let mut columns = Vec::new();
        if config.limits.budget.is_some() {
            let own = config.limits.cost.as_ref().map(|column| costs(rows, column)).transpose()?;
            let of = |row: usize, block: usize| {
                config.promotion[block].cost.unwrap_or(0.0) + own.as_ref().map_or(0.0, |own| own[row])
            };
            let values = (0..rows.len()).flat_map(|row| (0..blocks).map(move |block| (row, block)));
            columns.push((super::constraint::COST.to_owned(), values.map(|(row, block)| of(row, block)).collect()));
        }
        for (place, group) in config.limits.group.iter().enumerate() {
            let mut values = Vec::with_capacity(rows.len());
            rows.each_text(&group.column, |_, text| {
                values.push(if text == Some(&group.value) { 1.0 } else { 0.0 });
                Ok(())
            })?;
            columns.push((super::constraint::group(place), values));
        }
        Ok(columns)
    }
}

fn costs(rows: &Rows, column: &str) -> Result<Vec<f64>, Error> {
    let costs = rows.numbers(column)?;
    match costs.iter().position(|cost| cost.is_nan() || *cost < 0.0) {
        None => Ok(costs),
        Some(row) => Err(rows.bad(row, column, "a cost must be a number of at least 0")),
    }
}

impl Part {
    fn name(&mut self, name: &str, id: u64) {
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
        rows.iter().for_each(|&row| self.name(part.name_of(row), part.ids[row]));
    }

    /// Leaves only these rows, ascending.
    pub(super) fn retain(&mut self, rows: &[usize]) {
        let count = self.len();
        retain(&mut self.features, count, rows);
        retain(&mut self.eligible, count, rows);
        self.columns.iter_mut().for_each(|(_, values)| retain(values, count, rows));
        retain(&mut self.ids, count, rows);
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
        feature: impl Fn(u64) -> f64,
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
