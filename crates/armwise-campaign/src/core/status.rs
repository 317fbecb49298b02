//! Where the rounds stand, from the counts that every entry carries. No decision is read, except of rounds that only an
//! earlier program wrote to, which did not count what became of the hold-out. With several rounds to a segment, rounds are
//! told of together.

use super::{
    Campaign, Chosen, Command, Counts, Disagreement, Entry, Flaw, HoldOutCounts, RoundInfo, Sha, Tag, Together,
    clock::seconds,
};
use crate::{Error, round::Worth};
use armwise::Auto;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where a round stands, or where several stand together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundStatus {
    /// The round, or the first of several.
    pub round: u64,
    /// The last of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<u64>,
    /// How many several are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
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
    /// Where its hold-out stands.
    pub hold_out: HoldOutStatus,
}

/// Where the hold-out of a round stands: customers who would have been chosen and were not contacted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HoldOutStatus {
    /// How many they are.
    pub chosen: u64,
    /// How many have an outcome of their own.
    pub answered: u64,
    /// How many have the default reward, because the rules take their silence for one.
    pub silent: u64,
    /// How many have no outcome, also after the window.
    pub pending: u64,
    /// How many would not have been reached.
    pub undelivered: u64,
    /// The mean reward of those that have one.
    pub mean_reward: Option<f64>,
}

impl From<HoldOutCounts> for HoldOutStatus {
    fn from(counts: HoldOutCounts) -> Self {
        let HoldOutCounts { chosen, answered, silent, pending, undelivered, .. } = counts;
        let mean_reward = mean(counts.rewards, counts.heard());
        Self { chosen, answered, silent, pending, undelivered, mean_reward }
    }
}

fn mean(rewards: f64, heard: u64) -> Option<f64> {
    (heard > 0).then(|| rewards / heard as f64)
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
    /// What the algorithm would choose by itself in the next round; none where all of its parameters are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<Auto>,
    /// Rounds that disagree with those before more than chance explains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Disagreement>,
    /// How many segments may still be answered, where these are too many to say whether rounds disagree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_waits_for: Option<usize>,
    /// The last round whose single decisions were given up; 0 if there is none.
    #[serde(skip_serializing_if = "is_zero")]
    pub compacted: u64,
    /// Whether something was heard that the model does not know yet.
    #[serde(skip_serializing_if = "is_false")]
    pub behind: bool,
    /// The rounds; of a campaign with several to a segment, by the hour or by the day.
    pub rounds: Vec<RoundStatus>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Where a campaign stands.
///
/// # Errors
/// [`Error::Damaged`].
pub fn status(campaign: &Campaign) -> Result<Status, Error> {
    let rounds = if campaign.is_told_together() {
        let together = campaign.together(1..=u64::MAX)?;
        together.into_iter().map(|own| several(campaign, own)).collect::<Result<_, _>>()?
    } else {
        campaign.rounds().values().map(|info| round(campaign, info)).collect::<Result<_, _>>()?
    };
    let all = campaign.model()?;
    let model = campaign.of_rules(&all, campaign.config())?;
    let retired = campaign.promotions().into_iter().filter(|name| campaign.config().block(name).is_none());
    Ok(Status {
        tag: campaign.tag(),
        promotions: campaign.config().promotion.iter().map(|promotion| promotion.name.clone()).collect(),
        retired: retired.map(str::to_owned).collect(),
        features: campaign.recipe().dim(),
        entries: campaign.head().seq,
        head: campaign.head().hash,
        model: campaign.model_hash(),
        observations: model.blocks().iter().map(armwise::Block::count).collect(),
        auto: campaign.auto(&all)?,
        drift: campaign.drift(&all)?,
        drift_waits_for: campaign.drift_waits_for(),
        compacted: campaign.compacted(),
        behind: campaign.is_behind(),
        rounds,
    })
}

fn several(campaign: &Campaign, own: Together) -> Result<RoundStatus, Error> {
    let Counts { sends, answered, silent, pending, undelivered, hold_out, rewards, aside } = own.counts;
    let mut flaws: BTreeMap<Flaw, u64> = BTreeMap::new();
    if aside > 0 {
        campaign.each_round(own.first..=own.last, &mut |info| {
            if info.counts.aside > 0 {
                for (flaw, numbers) in campaign.still_aside(info.round, u64::MAX)? {
                    *flaws.entry(flaw).or_default() += numbers.len() as u64;
                }
            }
            Ok(())
        })?;
    }
    let waiting = if own.closed { 0 } else { pending };
    let known = (answered + silent + waiting) as f64;
    let rewards = rewards + waiting as f64 * campaign.config().reward.default;
    Ok(RoundStatus {
        round: own.first,
        through: Some(own.last),
        rounds: Some(own.rounds),
        at: own.at,
        closed: own.closed,
        revoked: own.revoked,
        sends,
        answered,
        silent,
        pending,
        aside: flaws,
        undelivered,
        mean_reward: (known > 0.0).then(|| rewards / known),
        hold_out: hold_out.into(),
    })
}

fn round(campaign: &Campaign, info: &RoundInfo) -> Result<RoundStatus, Error> {
    let Counts { sends, answered, silent, pending, undelivered, hold_out, .. } = campaign.counts(info)?;
    let aside = campaign.still_aside(info.round, u64::MAX)?;
    Ok(RoundStatus {
        round: info.round,
        through: None,
        rounds: None,
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
        hold_out: hold_out.into(),
    })
}

impl Campaign {
    /// When an entry was made, in seconds since 1970; none if there is no such entry.
    ///
    /// # Errors
    /// Of the store.
    pub fn time_of(&self, seq: u64) -> Result<Option<u64>, Error> {
        Ok(self.journal.entry(seq)?.and_then(|entry| seconds(&entry.at)))
    }

    /// What one more unit of each limit would have been worth in a round, as far as its entry keeps it.
    ///
    /// # Errors
    /// Of the store.
    pub(crate) fn prices_of(&self, info: &RoundInfo) -> Result<Vec<Worth>, Error> {
        let entry = self.journal.entry(info.seq)?;
        let Some(Ok(Command::Choose(Chosen { request, prices, .. }))) = entry.as_ref().map(Entry::command) else {
            return Ok(Vec::new());
        };
        Ok(request.and_then(|request| request.summary).map_or(prices, |summary| summary.prices))
    }

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
