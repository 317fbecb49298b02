//! Where the rounds stand, from the counts that every entry carries; no decision is read.

use super::{Campaign, Counts, Sha, Tag};
use crate::Error;
use serde::Serialize;

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
    /// How many did not arrive.
    pub undelivered: u64,
    /// The mean reward of the sends that have one.
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
    let rounds = campaign.rounds().values().map(|info| {
        let Counts { sends, answered, silent, pending, undelivered, hold_out, rewards } = info.counts;
        let heard = answered + silent;
        RoundStatus {
            round: info.round,
            at: info.at.clone(),
            closed: info.closed(),
            revoked: info.revoked(),
            sends,
            answered,
            silent,
            pending,
            undelivered,
            mean_reward: (heard > 0).then(|| rewards / heard as f64),
            hold_out,
        }
    });
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
        rounds: rounds.collect(),
    })
}
