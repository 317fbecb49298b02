//! Amendments: other rules from the next round on. What was learned stays.
//!
//! Each round keeps the rules under which it was chosen: they judge its rewards, value its silence and explain its
//! choice. So an amendment never changes an earlier round.

use super::{Campaign, Command, Draft, Frozen, Key, Refusal, Rules, Sha, blocks::named};
use crate::{
    Error,
    config::{Config, room},
};
use armwise::Learner;
use serde::Serialize;
use std::borrow::Cow;

/// What an amendment did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Amended {
    /// Which parts of the rules are different from before; empty if nothing has changed.
    pub changed: Vec<String>,
    /// Promotions that the campaign did not have so far.
    pub added: Vec<String>,
    /// Promotions that are not among the rules any more. What was learned of them stays, should they come back.
    pub retired: Vec<String>,
    /// The first round that the new rules hold for.
    pub from: u64,
    /// The hash of the model, which stays as it was.
    pub model: Sha,
}

/// Changes the rules from the next round on: everything but what earlier rounds depend on. Promotions may come, go and
/// come back. Features that are left out stay as they are. The same request with the
/// same `key` gives the same answer, whatever happened since. Rules that hold already leave no entry, so the key stays
/// free.
///
/// # Errors
/// [`Error::Config`] for rules that cannot be used, [`Error::Refused`] with the field that may not change,
/// [`Error::Library`] for parameters of the algorithm outside their range, [`Error::KeyUsed`]; nothing has changed then.
pub fn amend(campaign: &mut Campaign, mut config: Config, key: Option<&Key>) -> Result<Amended, Error> {
    let (now, against) = (campaign.config(), campaign.head());
    if config.features.column.is_empty() {
        config.features.column.clone_from(&now.features.column);
    }
    let same = |command: &Command| matches!(command, Command::Amend(rules) if rules.config == config);
    if let Some((entry, _)) = campaign.earlier(key, same)? {
        let before = campaign.config_after(entry.seq - 1)?;
        return Ok(amended(&before, &config, campaign.next_round_after(entry.seq), entry.model));
    }
    config.check("the new rules")?;
    for (same, frozen) in [
        (config.customer == now.customer, Frozen::Customer),
        (config.features == now.features, Frozen::Features),
        (config.gamma == now.gamma, Frozen::Gamma),
        (config.seed == now.seed, Frozen::Seed),
        (config.rounds_per_segment == now.rounds_per_segment, Frozen::RoundsPerSegment),
    ] {
        if !same {
            return Err(Refusal::Frozen(frozen).into());
        }
    }
    let blocks = named(&campaign.blocks, &config);
    room(campaign.recipe().dim(), blocks.len())?;
    Learner::new(config.algorithm, campaign.recipe().dim(), config.promotion.len())?;
    let done = amended(now, &config, campaign.next_round(), campaign.model_hash());
    if !done.changed.is_empty() {
        let draft = Draft { key, ..Draft::new(Command::Amend(Box::new(Rules { config, blocks, recipe: None }))) };
        campaign.append(&against, &draft, || Ok(()))?;
    }
    Ok(done)
}

impl Campaign {
    /// The rules before the amendment of an earlier request with this key; those in force if there was none.
    pub(crate) fn rules_before(&self, key: Option<&Key>) -> Result<Cow<'_, Config>, Error> {
        match self.earlier(key, |command| matches!(command, Command::Amend(_)))? {
            Some((entry, _)) => self.config_after(entry.seq - 1),
            None => Ok(Cow::Borrowed(self.config())),
        }
    }
}

fn amended(before: &Config, after: &Config, from: u64, model: Sha) -> Amended {
    let only = |of: &Config, other: &Config| {
        let names = of.promotion.iter().map(|promotion| &promotion.name);
        names.filter(|name| other.block(name).is_none()).cloned().collect()
    };
    let (added, retired) = (only(after, before), only(before, after));
    Amended { changed: differences(before, after), added, retired, from, model }
}

/// The top-level fields that differ.
pub(super) fn differences(before: &Config, after: &Config) -> Vec<String> {
    let (before, after) = (fields(before), fields(after));
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

fn fields(config: &Config) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    }
}
