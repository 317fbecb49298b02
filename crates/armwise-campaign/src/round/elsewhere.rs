//! A table that lies on other machines: each finds the candidates of its part, the campaign chooses from all of them.
//!
//! A [`Plan`] is what a machine needs for that, without the campaign's file; it serialises. Candidates come back as rows
//! of the table, not as features, so the campaign chooses from them as from any table. What was not sent back is known
//! by its counts only. The posteriors are factored once, for the plan, so that no bit depends on a machine.

use super::{
    choices::{Choices, PIECE},
    constraint,
    customers::Customers,
    kept::KeptRows,
    prepare::Parts,
};
use crate::{
    Campaign, Error, Memory, Source,
    config::Config,
    core::Setup,
    recipe::Oddities,
    table::{Batches, Rows},
};
use armwise::{Choosing, Constraint, Frozen, Greedy, OnInfeasible};
use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};

/// A source whose rows lie on other machines.
pub trait Elsewhere: Sync {
    /// Has every machine find the candidates of its part.
    ///
    /// # Errors
    /// [`Error::Table`] for rows that cannot be used.
    fn candidates(&self, plan: &Plan) -> Result<Found, Error>;
}

/// What a machine needs to find the candidates of its part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    setup: Setup,
    main: Frozen,
    by_mean: Option<Frozen<Greedy>>,
    resting: Vec<String>,
    floors: [Option<Vec<f64>>; 3],
    /// Columns that the campaign keeps of who is chosen.
    #[serde(default)]
    keep: Vec<String>,
}

/// The candidates of one part or of several, as rows of the table.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// What is known of all rows.
    pub counts: Counts,
}

/// What is known of rows that are not kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// How many customers there are.
    pub customers: u64,
    /// How many of them rest.
    pub resting: u64,
    /// How many of them are in the hold-out.
    pub hold_out_customers: u64,
    /// How many may be chosen.
    pub considered: u64,
    /// What was unusual.
    pub odd: Oddities,
}

impl Counts {
    /// Adds what another part has.
    pub fn add(&mut self, other: &Self) {
        self.customers += other.customers;
        self.resting += other.resting;
        self.hold_out_customers += other.hold_out_customers;
        self.considered += other.considered;
        self.odd.add(&other.odd);
    }
}

/// The constraints of a round: for the sends, and for the hold-out.
pub(super) fn constraints(config: &Config) -> (Constraint, Constraint) {
    let share = config.limits.hold_out;
    let rules = constraint::constraint(config, None, config.limits.on_infeasible);
    (rules, constraint::constraint(config, Some(share / (1.0 - share)), OnInfeasible::Fill))
}

impl Plan {
    pub(super) fn new(
        campaign: &Campaign,
        main: Frozen,
        by_mean: Option<Frozen<Greedy>>,
        resting: &HashSet<String>,
        choices: &Choices<'_>,
        keep: &[String],
    ) -> Self {
        let mut resting: Vec<String> = resting.iter().cloned().collect();
        resting.sort_unstable();
        let setup = Setup { start: None, config: campaign.config().clone(), ..campaign.setup().clone() };
        Self { setup, main, by_mean, resting, floors: choices.floors(), keep: keep.to_vec() }
    }

    /// The columns that a part must have.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let mut columns: BTreeSet<String> = Parts::new(&self.setup, HashSet::new()).columns().into_iter().collect();
        columns.extend(self.keep.iter().cloned());
        columns.into_iter().collect()
    }

    /// The column of the customers' ids.
    #[must_use]
    pub fn customer(&self) -> &str {
        &self.setup.config.customer
    }

    /// The candidates of a part.
    ///
    /// # Errors
    /// [`Error::Table`] for rows that cannot be used.
    pub fn candidates(&self, part: Batches) -> Result<Found, Error> {
        let config = &self.setup.config;
        let (rules, scaled) = constraints(config);
        let mut choices = Choices {
            main: self.main.choosing(&rules)?,
            by_mean: self.by_mean.as_ref().map(|greedy| greedy.choosing(&rules)).transpose()?,
            hold_out: if config.limits.hold_out > 0.0 { Some(self.main.choosing(&scaled)?) } else { None },
            hold_out_failed: false,
        };
        choices.set_floors(&self.floors)?;
        let parts = Parts::new(&self.setup, self.resting.iter().cloned().collect());
        let (mut kept, mut counts) = (KeptRows::new(usize::MAX), Counts::default());
        for rows in part {
            choices.add_rows(&rows?, &parts, &mut counts, &mut kept)?;
        }
        let batches = kept.candidates(&config.customer, &choices)?.map(|rows| rows.batch().clone());
        Ok(Found { batches: batches.into_iter().collect(), counts })
    }
}

impl Choices<'_> {
    fn all(&self) -> impl Iterator<Item = &Choosing<'_>> {
        [Some(&self.main), self.by_mean.as_ref(), self.hold_out.as_ref()].into_iter().flatten()
    }

    /// The floors of each choice, as far as they are known.
    fn floors(&self) -> [Option<Vec<f64>>; 3] {
        let floors = |choosing: Option<&Choosing<'_>>| choosing.and_then(Choosing::floors);
        [Some(&self.main), self.by_mean.as_ref(), self.hold_out.as_ref()].map(floors)
    }

    fn set_floors(&mut self, floors: &[Option<Vec<f64>>; 3]) -> Result<(), Error> {
        let choices = [Some(&mut self.main), self.by_mean.as_mut(), self.hold_out.as_mut()];
        for (choosing, floors) in choices.into_iter().zip(floors) {
            if let (Some(choosing), Some(floors)) = (choosing, floors) {
                choosing.set_floors(floors.clone())?;
            }
        }
        Ok(())
    }

    /// How many candidates there are at most.
    pub(super) fn kept(&self) -> usize {
        self.all().map(Choosing::kept).sum()
    }

    /// The customers who are candidates.
    pub(super) fn names(&self) -> Result<HashSet<String>, Error> {
        let mut names = HashSet::new();
        for choosing in self.all() {
            choosing.candidates(|arms| {
                names.extend((0..arms.len()).filter_map(|row| arms.name(row)).map(str::to_owned));
                Ok(())
            })?;
        }
        Ok(names)
    }

    /// Adds rows, and counts them.
    fn add_rows(
        &mut self,
        rows: &Rows,
        parts: &Parts<'_>,
        counts: &mut Counts,
        kept: &mut KeptRows,
    ) -> Result<(), Error> {
        for first in (0..rows.len()).step_by(PIECE) {
            let own = rows.piece(first, PIECE);
            let piece = parts.prepare(&own, &self.screens())?;
            counts.add(&Counts {
                customers: piece.ids.len() as u64,
                resting: piece.resting,
                hold_out_customers: piece.hold_out_customers,
                considered: piece.considered as u64,
                odd: piece.odd.clone(),
            });
            self.add(std::slice::from_ref(&piece))?;
            kept.add(&own, &piece.given, parts.customer(), self)?;
            parts.reuse(piece);
        }
        Ok(())
    }

    /// As [`read`](Self::read), from a table on other machines; gives the candidates as rows of the table, too.
    pub(super) fn read_elsewhere(
        &mut self,
        table: &dyn Elsewhere,
        name: &str,
        plan: &Plan,
        parts: &Parts<'_>,
    ) -> Result<(Customers, Oddities, Vec<Memory>), Error> {
        let found = table.candidates(&Plan { floors: self.floors(), ..plan.clone() })?;
        let (mut customers, mut seen) = (Customers::default(), Counts::default());
        let mut candidates = Vec::new();
        for batch in found.batches.into_iter().filter(|batch| batch.num_rows() > 0) {
            candidates.push(Memory::new(name, vec![batch])?);
        }
        for candidates in &candidates {
            for rows in candidates.batches(Some(&parts.columns()))? {
                let rows = rows?;
                for first in (0..rows.len()).step_by(PIECE) {
                    let piece = parts.prepare(&rows.piece(first, PIECE), &[])?;
                    customers.extend(&piece);
                    seen.considered += piece.considered as u64;
                    self.add(std::slice::from_ref(&piece))?;
                }
            }
        }
        let others = usize::try_from(found.counts.considered.saturating_sub(seen.considered)).unwrap_or(usize::MAX);
        self.main.skip(others);
        self.by_mean.iter_mut().for_each(|by_mean| by_mean.skip(others));
        customers.resting = found.counts.resting;
        customers.hold_out = found.counts.hold_out_customers;
        customers.all = Some(found.counts.customers);
        Ok((customers, found.counts.odd, candidates))
    }
}
