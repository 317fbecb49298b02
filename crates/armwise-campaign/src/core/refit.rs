//! Another recipe for a campaign that is under way: everything that was learned is expressed anew.
//!
//! The columns that were kept of every decision go through the new recipe, and each segment is summed again with what
//! became of them, so the model is the one that the campaign would have if its features had been these from the first
//! round on. It is an amendment with a recipe: the journal goes on, and earlier rounds are still explained by the features
//! with which they were chosen.

use super::{Campaign, Command, Draft, Frozen, Key, Refusal, RoundInfo, Rules, Sha, amend::differences, blocks::named};
use crate::{
    Error, complete,
    config::{Config, LeftOut, room},
    input::Source,
    recipe::{Extreme, Recipe, fit_and_look},
};
use armwise::Learner;
use serde::Serialize;

/// What a new recipe did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refitted {
    /// Which parts of the rules are different from before.
    pub changed: Vec<String>,
    /// The first round that is chosen with it.
    pub from: u64,
    /// How many features a customer has now.
    pub features: usize,
    /// On how many rows they were fitted.
    pub sample: usize,
    /// Columns that are not used, with the reason.
    pub left_out: LeftOut,
    /// Values so extreme that the others of their column could hardly be told apart.
    pub extremes: Vec<Extreme>,
    /// How many decisions were expressed anew.
    pub decisions: u64,
    /// The hash of the model now.
    pub model: Sha,
}

/// Fits the features of these rules on a table and expresses everything that was learned under them. Features that are
/// left out stay the same columns, fitted anew. Everything else in the rules may change as well, as by an amendment.
/// The same request with the same `key` gives the same answer, whatever happened since.
///
/// # Errors
/// [`Error::Config`] for rules that cannot be used, [`Error::Refused`] with what may not change, or with the first round
/// of which a column was not kept; errors of the table; [`Error::KeyUsed`]. Nothing has changed then.
pub fn refit(
    campaign: &mut Campaign,
    table: &dyn Source,
    mut config: Config,
    key: Option<&Key>,
) -> Result<Refitted, Error> {
    let against = campaign.head();
    if config.features.column.is_empty() {
        config.features.column.clone_from(&campaign.config().features.column);
    }
    let left_out = complete(&mut config, table)?.left_out;
    config.check("the new rules")?;
    let (recipe, extremes) = fit_and_look(&config, table)?;
    let same = |command: &Command| match command {
        Command::Amend(rules) => rules.config == config && rules.recipe.as_ref() == Some(&recipe),
        _ => false,
    };
    let earlier = campaign.earlier(key, same)?.map(|(entry, _)| (entry.seq, entry.model));
    let until = earlier.map_or(u64::MAX, |(seq, _)| seq - 1);
    let changed = differences(&*campaign.config_after(until)?, &config);
    let mut decisions = 0;
    campaign.each_info(&mut |info| {
        decisions += if info.seq <= until && !info.revoked() { info.decisions } else { 0 };
        Ok(())
    })?;
    let (features, sample) = (recipe.dim(), recipe.sample);
    let (from, model) = if let Some((seq, model)) = earlier {
        (campaign.next_round_after(seq), model)
    } else {
        check(campaign, &config, &recipe)?;
        let blocks = named(&campaign.blocks, &config);
        room(recipe.dim(), blocks.len())?;
        Learner::new(config.algorithm, recipe.dim(), config.promotion.len())?;
        let rules = Rules { config, blocks, recipe: Some(recipe) };
        let draft = Draft { key, ..Draft::new(Command::Amend(Box::new(rules))) };
        campaign.append(&against, &draft, || Ok(()))?;
        (campaign.next_round(), campaign.model_hash())
    };
    Ok(Refitted { changed, from, features, sample, left_out, extremes, decisions, model })
}

/// Refuses what the journal cannot express anew.
fn check(campaign: &Campaign, config: &Config, recipe: &Recipe) -> Result<(), Error> {
    let now = campaign.config();
    for (same, frozen) in [
        (config.customer == now.customer, Frozen::Customer),
        (config.seed == now.seed, Frozen::Seed),
        (config.rounds_per_segment == now.rounds_per_segment, Frozen::RoundsPerSegment),
    ] {
        if !same {
            return Err(Refusal::Frozen(frozen).into());
        }
    }
    if campaign.setup().start.is_some() {
        return Err(Refusal::BegunWithLearner.into());
    }
    campaign.not_compacted(1)?;
    campaign.each_info(&mut |info| {
        if info.revoked() {
            return Ok(());
        }
        let kept = campaign.originals(info.round)?.map(|(columns, _)| columns).unwrap_or_default();
        match recipe.names().find(|name| !kept.iter().any(|kept| kept == name)) {
            Some(column) => Err(Refusal::NotKept { round: info.round, column: column.to_owned() }.into()),
            None => Ok(()),
        }
    })
}

impl Campaign {
    /// Takes what happened before the first round, and all rounds.
    fn each_info(&self, take: &mut dyn FnMut(&RoundInfo) -> Result<(), Error>) -> Result<(), Error> {
        self.state.logged.iter().try_for_each(&mut *take)?;
        self.each_round(1..=u64::MAX, take)
    }
}
