//! The rows of a table as a round sees them, whole: of a past round, to ask what else could have been chosen, or of the
//! next one, to try policies on.
//!
//! A past round is chosen once more from the table that is said to be its own, and must give the same sends. So a table
//! that was changed, or that belongs to another week, is found and not believed.

use super::{
    constraint::{self, SEGMENT},
    part::Part,
    prepare::Parts,
    resting,
};
use crate::{
    Campaign, Error,
    config::Config,
    core::Setup,
    input::{Memory, Source},
    recipe::Recipe,
};
use armwise::{Algorithm, Arms, Constraint, Learner, Model, OnInfeasible, Round};
use std::collections::{BTreeSet, HashSet};

/// All rows that could be chosen in a round.
#[derive(Debug)]
pub(crate) struct Offer {
    part: Part,
    /// The names of the segments; number 1 is the first.
    pub(crate) segments: Vec<String>,
    /// How many customers the table has.
    customers: u64,
    /// The customers in the first rows, where the others have no names of their own.
    called: Vec<String>,
}

/// A past round, as it was chosen.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) round: Round,
    pub(crate) config: Config,
    pub(crate) recipe: Recipe,
    /// What was known before it.
    pub(crate) model: Model,
    pub(crate) constraint: Constraint,
    pub(crate) offer: Offer,
    /// How many rows each row of a sample stands for; 1 if everybody is there.
    pub(crate) one_in: u64,
}

/// The constraint of a round; for a share of its customers in proportion, filled as far as it goes.
pub(crate) fn rules(config: &Config, share: Option<f64>) -> Constraint {
    let on_infeasible = share.map_or(config.limits.on_infeasible, |_| OnInfeasible::Fill);
    constraint::constraint(config, share, on_infeasible)
}

impl Offer {
    /// The rows of a table that these rules can choose from in round `t`.
    pub(crate) fn read(
        campaign: &Campaign,
        setup: &Setup,
        t: u64,
        alike: bool,
        table: &dyn Source,
    ) -> Result<Self, Error> {
        let parts = Parts::new(setup, resting(campaign, &setup.config, t, alike)?);
        let (mut part, mut customers) = (Part::default(), 0);
        for rows in table.batches(Some(&parts.columns()))? {
            let prepared = parts.prepare(&rows?, &[])?;
            customers += prepared.ids.len() as u64;
            if let Some(main) = prepared.main {
                part.extend(&main, &(0..main.len()).collect::<Vec<_>>());
            }
        }
        if part.len() == 0 {
            return Err(Error::table(table.name(), "no customer of the table may be chosen"));
        }
        Ok(Self { part, segments: parts.segments(), customers, called: Vec::new() })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.part.len()
    }

    /// Some of the rows, each once.
    pub(crate) fn some(&self, rows: &[usize]) -> Self {
        let (part, segments) = (self.part.pick(rows), self.segments.clone());
        Self { part, segments, customers: rows.len() as u64, called: Vec::new() }
    }

    /// Some of the rows, perhaps several times; each gets a name of its own.
    pub(crate) fn drawn(&self, rows: &[usize]) -> Self {
        let mut part = self.part.pick(rows);
        part.number();
        Self { part, segments: self.segments.clone(), customers: rows.len() as u64, called: Vec::new() }
    }

    /// Everybody, from those who were chosen and a sample of the others: a row of the sample is there as often as rows it
    /// stands for. The chosen come first and keep their names.
    fn restored(&self, chosen: &HashSet<&str>, one_in: u64) -> Self {
        let (own, others): (Vec<usize>, Vec<usize>) =
            (0..self.len()).partition(|&row| chosen.contains(self.part.name_of(row)));
        let called = own.iter().map(|&row| self.part.name_of(row).to_owned()).collect();
        let times = others.iter().flat_map(|&row| std::iter::repeat_n(row, one_in as usize));
        let rows: Vec<usize> = own.iter().copied().chain(times).collect();
        Self { called, ..self.drawn(&rows) }
    }

    /// Calls a function with the rows as arms.
    pub(crate) fn with_arms<T>(
        &self,
        see: impl FnOnce(&Arms<'_>) -> Result<T, armwise::Error>,
    ) -> Result<T, armwise::Error> {
        self.part.with_arms(see)
    }

    /// The features of a row.
    pub(crate) fn features(&self, row: usize) -> Vec<f64> {
        let dim = self.part.features.len() / self.len();
        self.part.features[row * dim..(row + 1) * dim].iter().map(|&x| f64::from(x)).collect()
    }

    /// The customer in a row.
    pub(crate) fn customer(&self, row: usize) -> &str {
        if self.called.is_empty() {
            return self.part.name_of(row);
        }
        self.called.get(row).map_or("", String::as_str)
    }

    /// The segment of a row.
    #[expect(clippy::cast_sign_loss, reason = "the column holds places in the list of names, counted from 1")]
    pub(crate) fn segment(&self, row: usize) -> Option<&str> {
        let (_, numbers) = self.part.columns.iter().find(|(name, _)| name == SEGMENT)?;
        self.segments.get((numbers[row] as usize).wrapping_sub(1)).map(String::as_str)
    }
}

impl Past {
    /// A past round with the table that it was chosen from.
    ///
    /// # Errors
    /// [`Error::OtherTable`] if choosing again from this table gives other sends.
    pub(crate) fn read(campaign: &Campaign, round: u64, table: &dyn Source) -> Result<Self, Error> {
        let info = campaign.round(round)?;
        let (config, recipe) = (campaign.config_of(round)?.into_owned(), campaign.recipe_of(round)?.into_owned());
        let setup = Setup { config: config.clone(), recipe: recipe.clone(), start: None, ..campaign.setup().clone() };
        let offer = Offer::read(campaign, &setup, round, info.hold_out_alike, table)?;
        let (customers, by) = campaign.chosen_from(round)?;
        if customers.is_some_and(|customers| customers != offer.customers) {
            return Err(Error::OtherTable { table: table.name().to_owned(), round });
        }
        let (model, at) = (campaign.replay(by)?, Round::new(info.seed, round));
        let past = Self { round: at, constraint: rules(&config, None), config, recipe, model, offer, one_in: 1 };
        past.check(campaign, table)?;
        Ok(past)
    }

    /// A past round with the candidates that the campaign kept of it; none if it kept none.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::OtherTable`] as [`read`](Self::read).
    pub(crate) fn kept(campaign: &Campaign, round: u64) -> Result<Option<Self>, Error> {
        let Some((kept, bytes)) = campaign.candidates(round)? else { return Ok(None) };
        let table = Memory::of_bytes(&format!("the candidates of round {round}"), &bytes, kept.decimal)?;
        if kept.one_in == 1 {
            return Self::read(campaign, round, &table).map(Some);
        }
        let info = campaign.round(round)?;
        let (config, recipe) = (campaign.config_of(round)?.into_owned(), campaign.recipe_of(round)?.into_owned());
        let setup = Setup { config: config.clone(), recipe: recipe.clone(), start: None, ..campaign.setup().clone() };
        let offer = Offer::read(campaign, &setup, round, info.hold_out_alike, &table)?;
        let sent = campaign.sent(round)?;
        let chosen = sent.iter().filter(|sent| !sent.hold_out).map(|sent| &*sent.customer).collect();
        let offer = offer.restored(&chosen, kept.one_in);
        if offer.called.len() != chosen.len() {
            return Err(Error::OtherTable { table: table.name().to_owned(), round });
        }
        let (_, by) = campaign.chosen_from(round)?;
        let (model, at) = (campaign.replay(by)?, Round::new(info.seed, round));
        let constraint = rules(&config, None);
        Ok(Some(Self { round: at, constraint, config, recipe, model, offer, one_in: kept.one_in }))
    }

    /// The learner of another policy with what was known before the round.
    pub(crate) fn learner(&self, campaign: &Campaign, algorithm: Algorithm) -> Result<Learner, Error> {
        campaign.learner_by(algorithm, &self.model, (&self.config, &self.recipe))
    }

    fn check(&self, campaign: &Campaign, table: &dyn Source) -> Result<(), Error> {
        let other = || Error::OtherTable { table: table.name().to_owned(), round: self.round.t };
        let learner = self.learner(campaign, self.config.algorithm)?;
        let again = self.offer.with_arms(|arms| learner.choose(self.round, arms, &self.constraint));
        let again = again.map_err(|_| other())?;
        let sent = campaign.sent(self.round.t)?;
        let own = sent.iter().filter(|sent| !sent.hold_out).map(|sent| (&*sent.customer, &*sent.promotion));
        let name = |block: u32| self.config.promotion[block as usize].name.as_str();
        let chosen = again.arms.iter().map(|arm| (arm.name.as_deref().unwrap_or_default(), name(arm.block)));
        if own.collect::<BTreeSet<_>>() == chosen.collect::<BTreeSet<_>>() { Ok(()) } else { Err(other()) }
    }
}
