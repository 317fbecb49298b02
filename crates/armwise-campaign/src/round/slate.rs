//! A slate: what one request chooses from rows in memory, by the functions that choose a round from a table.
//!
//! Nothing here reads a campaign's file: a [`Chooser`] has all that a choice needs, so that many threads choose at once
//! while one writes. The same rows, rules, model, seed and round give the same decisions as a table does, to the bit.

use super::{
    Worth, choices::Arms, constraint, elsewhere, kept_of, numbered, part::Part, prepare::Parts, prepare::Prepared,
    probabilities, words, write_down,
};
use crate::{
    Campaign, Error,
    config::{Config, Probabilities, Promotion},
    core::{Chosen as ChosenRound, Original, Originals, Sent, Setup, texts},
    recipe::Oddities,
    table::{Rows, columns_of},
};
use armwise::{Catalogue, ChosenArm, Constraint, Decision, Greedy, Learner, Model, Policy, Quota, Round, TopK};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// How much is asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Asked {
    /// What the rules say.
    #[default]
    Rules,
    /// So many arms: the quota of the only promotion, or of every promotion whose quota the rules leave open.
    K(usize),
    /// What a constraint of the library says, instead of quotas and limits; its columns are columns of numbers.
    Constraint(Box<Constraint>),
}

/// All that a choice needs of a campaign, as it was at one moment.
#[derive(Debug)]
pub struct Chooser {
    setup: Setup,
    learner: Learner,
    greedy: Learner<Greedy>,
    /// Whether anything was learned of the promotions.
    known: bool,
}

/// A choice that is not written yet.
#[derive(Debug)]
pub struct Slate {
    /// The decisions, those of the hold-out last.
    pub sent: Vec<Sent>,
    /// What was unusual in the rows.
    pub odd: Oddities,
    pub(crate) originals: Vec<Original>,
    pub(crate) command: ChosenRound,
}

impl Chooser {
    /// With the rules that a campaign has now, and a model of its.
    ///
    /// # Errors
    /// [`Error::Library`] for parameters outside their range.
    pub fn new(campaign: &Campaign, model: &Model) -> Result<Self, Error> {
        let setup = Setup { start: None, ..campaign.setup().clone() };
        let config = campaign.config();
        let learner = campaign.learner(model)?;
        let greedy = Greedy::new(learner.policy().lambda());
        let greedy = campaign.learner_by(greedy, model, (config, campaign.recipe()))?;
        let known = campaign.of_rules(model, config)?.blocks().iter().any(|block| block.count() > 0);
        Ok(Self { setup, learner, greedy, known })
    }

    /// Factors what choosing in this round needs, so that the first choice does not wait for it.
    pub(crate) fn warm(&self, t: u64) -> Result<(), Error> {
        let (dim, round) = (self.setup.recipe.dim(), Round::new(self.setup.config.seed, t));
        let nothing = vec![0.0; dim];
        let arms = armwise::Arms::new(&nothing, dim)?;
        self.learner.scores(round, &arms)?;
        self.greedy.scores(round, &arms)?;
        Ok(())
    }

    /// The rules.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.setup.config
    }

    /// What it was made from.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The learner.
    #[must_use]
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// Chooses from rows; `resting` are the ids of rows that may not be chosen.
    ///
    /// # Errors
    /// [`Error::Cell`], [`Error::Table`] and [`Error::DuplicateCustomer`] for rows that cannot be used, [`Error::Usage`]
    /// where the rules leave open how much is asked for or cannot be met, [`Error::Library`].
    pub fn choose(&self, round: Round, rows: &Rows, asked: &Asked, resting: HashSet<String>) -> Result<Slate, Error> {
        let config = rules(&self.setup.config, asked)?;
        let parts = Parts::new(&self.setup, resting);
        let mut prepared = parts.prepare(rows, &[])?;
        if prepared.ids.len() != prepared.main.as_ref().map_or(0, Part::len) {
            unique(rows, &config.customer)?;
        }
        let (oracle, scaled) = oracles(&config, asked);
        if let (Asked::Constraint(asked), Some(main)) = (asked, &mut prepared.main) {
            main.columns.extend(asked_columns(asked, rows, &prepared.given)?);
        }
        let Some(main) = &prepared.main else {
            return Err(Error::table(
                rows.table(),
                "no row may be chosen: all rest, are in the hold-out or not eligible",
            ));
        };
        // The law of the threshold, some kilobytes, is not kept for each request: it would be larger than the decision.
        let including = self.learner.including(round, &oracle)?;
        let probable = probabilities::wanted(&config, rows.len() as u64, &oracle, &including);
        drop(including);
        let both = main.with_arms(|arms| {
            let mut decision = self.learner.choose(round, arms, &oracle)?;
            if probable {
                self.learner.add_probabilities(&mut decision, arms, &oracle, None)?;
            } else if config.probabilities == Probabilities::Cheap {
                self.learner.add_cheap_probabilities(&mut decision, arms, &oracle)?;
            }
            let by_mean = if self.known { Some(keys(&self.greedy.choose(round, arms, &oracle)?)) } else { None };
            Ok((decision, by_mean))
        });
        let (decision, by_mean) = both.map_err(|error| self.refused(&config, rows, error))?;
        let hold_out = prepared.hold_out.as_ref().and_then(|part| self.hold_out(round, part, &config, &scaled));
        let (main_rows, names) = (main.len(), parts.segments());
        let (mut places, mut decision, mut hold_out) = (Vec::new(), decision, hold_out);
        let mut taken = |decision: &mut Decision, part: Option<&Part>, first: usize| -> Arms {
            let arms = std::mem::take(&mut decision.arms);
            let found: Vec<usize> = arms.iter().map(|arm| part.map_or(0, |part| part.place_of(arm))).collect();
            let segments = found.iter().map(|&row| part.and_then(|part| part.segment(row, &names))).collect();
            places.extend(found.into_iter().map(|row| prepared.given[first + row]));
            (arms, segments)
        };
        let sends = taken(&mut decision, Some(main), 0);
        let held = hold_out.as_mut().map(|decision| taken(decision, prepared.hold_out.as_ref(), main_rows));
        numbered(sends.0.len() + held.as_ref().map_or(0, |(arms, _)| arms.len()))?;
        let sent = write_down(&config, round, sends, held, by_mean.as_deref());
        let Prepared { hold_out_customers: hold_out, resting, odd, .. } = prepared;
        let seen = Seen { customers: rows.len() as u64, hold_out, resting, odd };
        self.written(round, rows, &decision, sent, &places, seen)
    }

    /// What the rules choose from the hold-out; none if nobody can be chosen.
    fn hold_out(&self, round: Round, part: &Part, config: &Config, scaled: &Constraint) -> Option<Decision> {
        let by = |oracle: &Constraint| part.with_arms(|arms| self.learner.choose(round, arms, oracle)).ok();
        by(scaled).or_else(|| by(&elsewhere::constraints(&constraint::without_minima(config)).1))
    }

    /// Why nothing was chosen, in the campaign's words.
    fn refused(&self, config: &Config, rows: &Rows, error: armwise::Error) -> Error {
        if let armwise::Error::DuplicateName { .. } = error
            && let Err(twice) = unique(rows, &self.setup.config.customer)
        {
            return twice;
        }
        words::told(config, error)
    }

    /// As [`choose`](Self::choose), from all rows of a catalogue whose features were made of these rows, or from those
    /// of a mask; `place` finds the row of an id. None where the rules ask for more than the best k.
    ///
    /// # Errors
    /// As [`choose`](Self::choose).
    pub(crate) fn choose_from(
        &self,
        round: Round,
        (rows, catalogue): (&Rows, &Catalogue),
        mask: Option<&[bool]>,
        asked: &Asked,
        place: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<Option<Slate>, Error> {
        let config = rules(&self.setup.config, asked)?;
        let (oracle, _) = oracles(&config, asked);
        let plain = config.segment.is_none() && config.limits.hold_out == 0.0 && config.limits.rest == 0;
        let free = config.promotion.iter().all(|promotion| promotion.eligible.is_none());
        if !matches!(oracle, Constraint::TopK(_)) || !plain || !free || matches!(asked, Asked::Constraint(_)) {
            return Ok(None);
        }
        let told = |error: armwise::Error| words::told(&config, error);
        let arms = match mask {
            Some(mask) => catalogue.arms().with_eligible(mask).map_err(told)?,
            None => catalogue.arms(),
        };
        let mut decision = self.learner.choose_from(catalogue, round, &arms, &oracle).map_err(told)?;
        match config.probabilities {
            Probabilities::Never => {}
            Probabilities::Cheap => {
                self.learner.add_cheap_probabilities(&mut decision, &arms, &oracle).map_err(told)?;
            }
            Probabilities::Always => {
                self.learner.add_probabilities(&mut decision, &arms, &oracle, None).map_err(told)?;
            }
        }
        let by_mean =
            if self.known { Some(keys(&self.greedy.choose(round, &arms, &oracle).map_err(told)?)) } else { None };
        let chosen = std::mem::take(&mut decision.arms);
        let of = |arm: &ChosenArm| arm.name.as_deref().and_then(place).unwrap_or_default();
        let places: Vec<usize> = chosen.iter().map(of).collect();
        let customers = mask.map_or(rows.len(), |mask| mask.iter().filter(|given| **given).count());
        let segments = vec![None; chosen.len()];
        let sent = write_down(&config, round, (chosen, segments), None, by_mean.as_deref());
        let seen = Seen { customers: customers as u64, hold_out: 0, resting: 0, odd: Oddities::default() };
        self.written(round, rows, &decision, sent, &places, seen).map(Some)
    }

    /// The decisions with the columns that are kept of them, as a command.
    fn written(
        &self,
        round: Round,
        rows: &Rows,
        decision: &Decision,
        sent: Vec<Sent>,
        places: &[usize],
        seen: Seen,
    ) -> Result<Slate, Error> {
        let kept = kept_of(&self.setup.config, &self.setup.recipe, || Ok(columns_of(&rows.batch().schema())))?;
        let originals = match &kept {
            Some(columns) => originals(rows, columns, &sent, places)?,
            None => Vec::new(),
        };
        let finite = |number: f64| number.is_finite().then_some(number);
        let config = &self.setup.config;
        // How many are asked for is the request's own limit, not one of the rules, and every decision would say it.
        let limited = config.promotion.len() > 1 || config.limits.budget.is_some() || !config.limits.group.is_empty();
        let prices = decision.prices.iter().filter(|_| limited);
        let command = ChosenRound {
            prices: prices.map(|price| Worth { of: words::limit(config, &price.of), value: price.value }).collect(),
            round: round.t,
            seed: round.seed,
            objective: finite(decision.objective),
            upper_bound: finite(decision.upper_bound),
            customers: seen.customers,
            hold_out_customers: seen.hold_out,
            resting: seen.resting,
            hold_out_alike: true,
            originals: kept.map(|columns| Originals::new(columns, &originals)),
            probabilities: decision.method.map(|method| method.name().to_owned()),
            ..ChosenRound::default()
        };
        Ok(Slate { sent, odd: seen.odd, originals, command })
    }
}

/// How many rows there were, and of what kind.
struct Seen {
    customers: u64,
    hold_out: u64,
    resting: u64,
    odd: Oddities,
}

/// The arms of a decision, in the order by which they are looked up.
fn keys(decision: &Decision) -> Vec<(u64, u32)> {
    let mut keys: Vec<(u64, u32)> = decision.arms.iter().map(|arm| (arm.id, arm.block)).collect();
    keys.sort_unstable();
    keys
}

/// The columns that are kept of the decisions, whose rows are at these places.
fn originals(rows: &Rows, columns: &[String], sent: &[Sent], places: &[usize]) -> Result<Vec<Original>, Error> {
    let texts = if columns.is_empty() { Vec::new() } else { texts(&rows.picked(places)?, columns)? };
    let values = |place: usize| texts.iter().map(|texts| texts[place].clone()).collect();
    let own = sent.iter().enumerate();
    Ok(own.map(|(place, sent)| Original { decision: sent.id, values: values(place), probability: None }).collect())
}

/// The rules with the quotas that are asked for.
pub(super) fn rules<'a>(config: &'a Config, asked: &Asked) -> Result<Cow<'a, Config>, Error> {
    let open = |config: &Config| config.promotion.iter().position(|promotion| promotion.quota.is_none());
    match asked {
        Asked::Constraint(_) if config.limits.hold_out > 0.0 => Err(Error::Usage(
            "a constraint of its own cannot be scaled to the hold-out; ask for k, or leave limits.hold_out at 0"
                .to_owned(),
        )),
        Asked::Constraint(_) => Ok(Cow::Borrowed(config)),
        Asked::K(0) => Err(Error::Usage("k is 0; ask for at least 1 arm".to_owned())),
        Asked::K(k) => {
            let mut config = config.clone();
            let only = config.promotion.len() == 1;
            if !only && open(&config).is_none() {
                return Err(Error::Usage(
                    "k is given, but the rules say the quota of every promotion; leave k out".to_owned(),
                ));
            }
            for promotion in config.promotion.iter_mut().filter(|promotion| only || promotion.quota.is_none()) {
                promotion.quota = Some(Quota::Exactly(*k));
            }
            Ok(Cow::Owned(config))
        }
        Asked::Rules => {
            let bounded = config.limits.budget.is_some() || !config.limits.group.is_empty();
            match open(config).filter(|_| !bounded) {
                None => Ok(Cow::Borrowed(config)),
                Some(place) => Err(Error::Usage(format!(
                    "the rules say no quota of {:?}, so it must be said how many arms are asked for",
                    config.promotion[place].name
                ))),
            }
        }
    }
}

/// The constraint of a choice and the hold-out's. One exact quota alone is the best k, which needs no prices.
fn oracles(config: &Config, asked: &Asked) -> (Constraint, Constraint) {
    if let Asked::Constraint(asked) = asked {
        return ((**asked).clone(), Constraint::top_k(1));
    }
    let (rules, scaled) = elsewhere::constraints(config);
    let limits = &config.limits;
    let plain = limits.group.is_empty() && limits.budget.is_none();
    match &config.promotion[..] {
        [Promotion { quota: Some(Quota::Exactly(k)), .. }] if plain => {
            (Constraint::TopK(TopK { on_infeasible: limits.on_infeasible, ..TopK::exactly(*k) }), scaled)
        }
        _ => (rules, scaled),
    }
}

/// The columns that a constraint of the library names, of the rows that may be chosen.
fn asked_columns(asked: &Constraint, rows: &Rows, given: &[usize]) -> Result<Vec<(String, Vec<f64>)>, Error> {
    let mut columns = Vec::new();
    for name in asked.columns() {
        // Texts are numbered as they come: enough for groups that are made of every value.
        let values = if rows.is_text(name)? { numbered_texts(rows, name)? } else { rows.numbers(name)? };
        if let Some(row) = values.iter().position(|value| value.is_nan()) {
            return Err(rows.bad(row, name, "a value is missing that the constraint needs"));
        }
        columns.push((name.to_owned(), given.iter().map(|&row| values[row]).collect()));
    }
    Ok(columns)
}

/// The number of each text of a column, in the order in which they first come; NaN where it is missing.
fn numbered_texts(rows: &Rows, column: &str) -> Result<Vec<f64>, Error> {
    let (mut numbers, mut values) = (HashMap::new(), Vec::with_capacity(rows.len()));
    rows.each_text(column, |_, text| {
        let next = numbers.len() as f64;
        values.push(text.map_or(f64::NAN, |text| *numbers.entry(text.to_owned()).or_insert(next)));
        Ok(())
    })?;
    Ok(values)
}

/// Refuses an id that two rows have.
fn unique(rows: &Rows, column: &str) -> Result<(), Error> {
    let mut seen: HashMap<String, u64> = HashMap::with_capacity(rows.len());
    rows.each_text(column, |row, text| {
        let (Some(text), second) = (text, rows.number(row)) else { return Ok(()) };
        match seen.insert(text.to_owned(), second) {
            None => Ok(()),
            Some(first) => {
                let (table, customer) = (rows.table().to_owned(), text.to_owned());
                Err(Error::DuplicateCustomer { table, customer, first, second })
            }
        }
    })
}
