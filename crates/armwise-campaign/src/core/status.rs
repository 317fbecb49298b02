//! Where the rounds stand, from the counts that every entry carries; no decision is read.

use super::{Campaign, Counts, Flaw, RoundInfo, Sha, Tag};
use crate::Error;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where a round stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundStatus {
    /// The round.
    pub round: u64,
    /// When it was chosen.
    pub at: String,
    /// Whether its response window has ended.
    pub closed: bool,
    /// Whether it was taken back: nothing was sent.
    pub revoked: bool,
    /// How many sends it had.
    pub sends: u64,
    /// How many answered.
    pub answered: u64,
    /// How many were silent when the window ended.
    pub silent: u64,
    /// How many may still answer.
    pub pending: u64,
    /// How many of the pending ones answered, but the rows about them were put aside, by what was wrong with them.
    pub aside: BTreeMap<Flaw, u64>,
    /// How many did not arrive.
    pub undelivered: u64,
    /// The mean reward of the sends that arrived, as far as is known ([`Campaign::mean_reward`]).
    pub mean_reward: Option<f64>,
    /// How many customers of the hold-out would have been chosen.
    pub hold_out: u64,
}

/// Where a campaign stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The tag of its decisions, `k7f3q2` in `r3-17-k7f3q2`.
    pub tag: Tag,
    /// The promotions.
    pub promotions: Vec<String>,
    /// Promotions of earlier rules. What was learned of them stays.
    pub retired: Vec<String>,
    /// How many features a customer has.
    pub features: usize,
    /// How many entries the journal has.
    pub entries: u64,
    /// The hash of the last of them.
    pub head: Sha,
    /// The hash of the model.
    pub model: Sha,
    /// How many rewards the model knows, promotion by promotion.
    pub observations: Vec<u64>,
    /// The rounds.
    pub rounds: Vec<RoundStatus>,
}

/// Where a campaign stands.
///
/// # Errors
/// [`Error::Damaged`].
pub fn status(campaign: &Campaign) -> Result<Status, Error> {
    let rounds = campaign.rounds().values().map(|info| round(campaign, info)).collect::<Result<_, _>>()?;
    let model = campaign.of_rules(&campaign.model()?, campaign.config())?;
    let retired = campaign.promotions().iter().filter(|name| campaign.config().block(name).is_none());
    Ok(Status {
        tag: campaign.tag(),
        promotions: campaign.config().promotion.iter().map(|promotion| promotion.name.clone()).collect(),
        retired: retired.cloned().collect(),
        features: campaign.recipe().dim(),
        entries: campaign.head().seq,
        head: campaign.head().hash,
        model: campaign.model_hash(),
        observations: model.blocks().iter().map(armwise::Block::count).collect(),
        rounds,
    })
}

fn round(campaign: &Campaign, info: &RoundInfo) -> Result<RoundStatus, Error> {
    let Counts { sends, answered, silent, pending, undelivered, hold_out, .. } = info.counts;
    let aside = campaign.still_aside(info.round, u64::MAX)?;
    Ok(RoundStatus {
        round: info.round,
        at: info.at.clone(),
        closed: info.closed(),
        revoked: info.revoked(),
        sends,
        answered,
        silent,
        pending,
        aside: aside.into_iter().map(|(flaw, numbers)| (flaw, numbers.len() as u64)).collect(),
        undelivered,
        mean_reward: campaign.mean_reward(info)?,
        hold_out,
    })
}

impl Campaign {
    /// The mean reward of a round's sends that arrived, as far as is known: those that may still answer count as if they
    /// stay silent, unless the round is closed, when they are left out. None before anything was sent.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn mean_reward(&self, info: &RoundInfo) -> Result<Option<f64>, Error> {
        let Counts { answered, silent, pending, rewards, .. } = info.counts;
        let waiting = if info.closed() { 0 } else { pending };
        let default = if waiting > 0 { self.config_of(info.round)?.reward.default } else { 0.0 };
        let heard = (answered + silent + waiting) as f64;
        Ok((heard > 0.0).then(|| (rewards + waiting as f64 * default) / heard))
    }
}
