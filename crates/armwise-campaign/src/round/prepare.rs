//! Prepares a batch of the table to be chosen from.
//!
//! Customers who may get nothing (they rest) are removed before scoring. Those of the hold-out go into a separate part,
//! from which the same rules choose, scaled down to its share. So the hold-out's chosen customers are those who would
//! have been contacted, and the comparison with them is fair. Of the other customers, features are made only for those
//! that a screen marks.

use super::{part::Part, reservoir::Reservoir};
use crate::{
    Error,
    config::Config,
    core::Setup,
    recipe::{Columns, Oddities},
    table::Rows,
};
use armwise::{Draws, Panels, Policy, Round, Screen, Stream, id_of, number_of};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

/// The stream that draws the hold-out. The draw depends on the campaign's seed and the customer's id alone, so it is
/// the same in every round.
const HOLD_OUT: Stream = Stream(256);

fn hold_out_draws(config: &Config) -> Draws {
    Round::new(config.seed, 0).draws(0, HOLD_OUT)
}

/// Whether a customer is in the hold-out.
pub(crate) fn is_in_hold_out(config: &Config, customer: &str) -> bool {
    let share = config.limits.hold_out;
    share > 0.0 && hold_out_draws(config).uniform(id_of(customer)) < share
}

/// Reads rows into parts.
pub(super) struct Parts<'a> {
    setup: &'a Setup,
    resting: HashSet<String>,
    draws: Draws,
    /// Buffers for features, to be used again.
    used: Mutex<Vec<Vec<f32>>>,
    /// The numbers of the segments, from 1.
    segments: Mutex<HashMap<String, usize>>,
    /// Customers whose features are made whatever the screens say.
    pub(super) reservoir: Reservoir,
}

/// Panels that are screened together.
const PANELS: usize = 5;
/// How many rows are processed together: few enough to stay in the second-level cache.
const ROWS: usize = 1 << 12;

/// A batch, split.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) main: Option<Part>,
    pub(super) hold_out: Option<Part>,
    pub(super) odd: Oddities,
    /// The rows of both parts.
    pub(super) given: Vec<usize>,
    /// Of all rows.
    pub(super) ids: Vec<u64>,
    /// How many rows the main part would have without a screen.
    pub(super) considered: usize,
    pub(super) resting: u64,
    pub(super) hold_out_customers: u64,
}

impl<'a> Parts<'a> {
    pub(super) fn new(setup: &'a Setup, resting: HashSet<String>) -> Self {
        Self {
            setup,
            resting,
            draws: hold_out_draws(&setup.config),
            used: Mutex::default(),
            segments: Mutex::default(),
            reservoir: Reservoir::default(),
        }
    }

    /// Takes back the buffers of a part.
    pub(super) fn reuse(&self, part: Prepared) {
        if let Some(main) = part.main {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).push(main.features);
        }
    }

    /// The column of the customers' ids.
    pub(super) fn customer(&self) -> &'a str {
        &self.setup.config.customer
    }

    /// The columns to be read.
    pub(super) fn columns(&self) -> Vec<String> {
        let mut columns = self.setup.config.own_columns();
        columns.extend(self.setup.recipe.names().map(str::to_owned));
        columns.into_iter().collect()
    }

    /// The names of the segments by their numbers: the first is number 1.
    pub(super) fn segments(&self) -> Vec<String> {
        let segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<(usize, String)> = segments.iter().map(|(name, number)| (*number, name.clone())).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// Reads a batch; the main part has only rows that one of the screens marks or the reservoir wants, if there are
    /// screens.
    pub(super) fn prepare(&self, rows: &Rows, screens: &[Screen<'_>]) -> Result<Prepared, Error> {
        let config = &self.setup.config;
        let blocks = config.promotion.len();
        let mut odd = Oddities::default();
        let mut whole = Part::default();
        for (block, promotion) in config.promotion.iter().enumerate() {
            let Some(column) = &promotion.eligible else { continue };
            whole.eligible.resize(rows.len() * blocks, true);
            for (row, flag) in rows.flags(column)?.into_iter().enumerate() {
                whole.eligible[row * blocks + block] = flag;
            }
        }
        whole.columns = self.constraint_columns(rows, blocks)?;
        if let Some(segment) = &config.segment {
            let mut segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
            let mut values = Vec::with_capacity(rows.len());
            rows.each_text(segment, |_, text| {
                let next = segments.len() + 1;
                let number = match text {
                    None => 0,
                    Some(text) => match segments.get(text) {
                        Some(number) => *number,
                        None => *segments.entry(text.to_owned()).or_insert(next),
                    },
                };
                values.push(number as f64);
                Ok(())
            })?;
            whole.columns.push((super::constraint::SEGMENT.to_owned(), values));
        }
        let (mut main, mut hold_out) = (Vec::with_capacity(rows.len()), Vec::new());
        let (mut resting, mut hold_out_customers) = (0, 0);
        rows.each_text(&config.customer, |row, name| {
            let name = name.ok_or_else(|| rows.bad(row, &config.customer, "the customer's id is missing"))?;
            let id = id_of(name);
            whole.name(name, id);
            let held = config.limits.hold_out > 0.0 && self.draws.uniform(id) < config.limits.hold_out;
            hold_out_customers += u64::from(held);
            if !self.resting.is_empty() && self.resting.contains(name) {
                resting += 1;
            } else if whole.eligible.is_empty() || whole.eligible[row * blocks..(row + 1) * blocks].contains(&true) {
                if held { hold_out.push(row) } else { main.push(row) }
            }
            Ok(())
        })?;
        let (ids, considered) = (whole.ids.clone(), main.len());
        let mut features = self.used.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        features.clear();
        let pick = |whole: &Part, chosen: &[usize]| if chosen.is_empty() { None } else { Some(whole.pick(chosen)) };
        let mut given;
        let (main, hold_out) = if screens.is_empty() {
            given = main.clone();
            given.extend(&hold_out);
            odd.shortened = self.setup.recipe.read(rows, &mut odd)?.features(None, &mut features);
            whole.features = features;
            let hold_out = pick(&whole, &hold_out);
            (if main.len() == rows.len() { Some(whole) } else { pick(&whole, &main) }, hold_out)
        } else {
            let mut held = Vec::new();
            let main =
                self.screened(rows, &whole, screens, [&main, &hold_out], [&mut features, &mut held], &mut odd)?;
            given = main.clone();
            given.extend(&hold_out);
            let (mut main, mut hold_out) = (pick(&whole, &main), pick(&whole, &hold_out));
            main.iter_mut().for_each(|part| part.features = std::mem::take(&mut features));
            hold_out.iter_mut().for_each(|part| part.features = std::mem::take(&mut held));
            (main, hold_out)
        };
        Ok(Prepared { main, hold_out, odd, given, ids, considered, resting, hold_out_customers })
    }

    /// Makes the features of those rows of the main part that a screen marks, which are returned, and of the
    /// hold-out's.
    fn screened(
        &self,
        rows: &Rows,
        whole: &Part,
        screens: &[Screen<'_>],
        [mut main, mut hold_out]: [&[usize]; 2],
        [features, held]: [&mut Vec<f32>; 2],
        odd: &mut Oddities,
    ) -> Result<Vec<usize>, Error> {
        let (mut found, wants) = (Vec::new(), self.reservoir.wants());
        for first in (0..rows.len()).step_by(ROWS) {
            let own = rows.piece(first, ROWS);
            let columns = self.setup.recipe.read(&own, odd)?;
            let (marked, shortened) = mark(&columns, whole, first, screens);
            odd.shortened += shortened;
            let next = |all: &mut &[usize]| -> Vec<usize> {
                let (now, later) = all.split_at(all.partition_point(|&row| row < first + own.len()));
                *all = later;
                now.iter().map(|row| row - first).collect()
            };
            let mut now = next(&mut main);
            now.retain(|&row| marked[row] || wants.is_some_and(|wants| wants(whole.ids[first + row])));
            columns.features(Some(&now), features);
            columns.features(Some(&next(&mut hold_out)), held);
            found.extend(now.into_iter().map(|row| first + row));
        }
        Ok(found)
    }

    /// Costs per arm, and for each column with groups the number of a row's group.
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
        let groups = &config.limits.group;
        for name in groups.iter().map(|group| &group.column).collect::<BTreeSet<_>>() {
            let here = groups.iter().filter(|group| group.column == *name);
            let numbers: HashMap<&str, f64> =
                here.map(|group| (group.value.as_str(), super::constraint::number_of(groups, group))).collect();
            let mut values = Vec::with_capacity(rows.len());
            rows.each_text(name, |_, text| {
                values.push(text.and_then(|text| numbers.get(text)).copied().unwrap_or(0.0));
                Ok(())
            })?;
            columns.push((super::constraint::column_of_groups(name), values));
        }
        if let Some(name) = config.algorithm.scope().column() {
            let mut values = Vec::with_capacity(rows.len());
            rows.each_text(name, |_, text| {
                values.push(text.map_or(0.0, number_of));
                Ok(())
            })?;
            columns.push((name.to_owned(), values));
        }
        Ok(columns)
    }
}

/// Which of the rows in these columns a screen marks, and how many are shortened; `first` is where they begin in the
/// part.
fn mark(columns: &Columns<'_>, part: &Part, first: usize, screens: &[Screen<'_>]) -> (Vec<bool>, u64) {
    let step = PANELS * Panels::width();
    let flags = part.eligible.len() / part.len().max(1);
    let (mut marked, mut shortened) = (vec![false; columns.len()], 0);
    let mut panels = Panels::default();
    for (place, marked) in (0..).step_by(step).zip(marked.chunks_mut(step)) {
        shortened += columns.panels(place, marked.len(), &mut panels);
        let (start, end) = (first + place, first + place + marked.len());
        for screen in screens {
            let eligible = &part.eligible[start * flags..end * flags];
            screen.mark(&mut panels, &part.ids[start..end], eligible, marked);
        }
    }
    (marked, shortened)
}

fn costs(rows: &Rows, column: &str) -> Result<Vec<f64>, Error> {
    let costs = rows.numbers(column)?;
    match costs.iter().position(|cost| cost.is_nan() || *cost < 0.0) {
        None => Ok(costs),
        Some(row) => Err(rows.bad(row, column, "a cost must be a number of at least 0")),
    }
}
