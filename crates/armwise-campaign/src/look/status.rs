//! Where the rounds stand.

use super::fates;
use crate::{Campaign, Error, file::Fate};
use serde::Serialize;

/// Where a round stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RoundStatus {
    /// The round.
    pub round: u64,
    /// When it was chosen.
    pub at: String,
    /// Whether its response window has ended.
    pub closed: bool,
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
    pub controls: u64,
}

/// Where a campaign stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The promotions.
    pub promotions: Vec<String>,
    /// How many features a customer has.
    pub features: usize,
    /// How many events the log has.
    pub events: u64,
    /// The hash of the last of them.
    pub head: String,
    /// The hash of the model.
    pub model: String,
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
    let default = campaign.config().reward.default;
    let mut rounds = Vec::new();
    for info in campaign.rounds().into_values() {
        let mut line = RoundStatus { round: info.round, at: info.at, closed: info.closed, ..RoundStatus::default() };
        let mut sum = 0.0;
        for (sent, fate) in fates(campaign, info.round)? {
            if sent.control {
                line.controls += 1;
                continue;
            }
            line.sends += 1;
            sum += fate.reward(default).unwrap_or(0.0);
            match fate {
                Fate::Pending => line.pending += 1,
                Fate::Silent => line.silent += 1,
                Fate::Answered(_) => line.answered += 1,
                Fate::Undelivered => line.undelivered += 1,
            }
        }
        let heard = line.answered + line.silent;
        line.mean_reward = (heard > 0).then(|| sum / heard as f64);
        rounds.push(line);
    }
    Ok(Status {
        promotions: campaign.config().promotion.iter().map(|promotion| promotion.name.clone()).collect(),
        features: campaign.recipe().dim(),
        events: campaign.events().len() as u64,
        head: campaign.head().to_owned(),
        model: campaign.events().last().map_or(String::new(), |event| event.model.clone()),
        observations: campaign.model()?.blocks().iter().map(armwise::Block::count).collect(),
        rounds,
    })
}
