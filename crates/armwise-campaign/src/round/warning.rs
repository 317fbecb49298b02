//! What is to be known before a choice is believed, as facts; each door makes the text.

use crate::{Campaign, Error, config::Objective};
use armwise::Model;
use serde::{Deserialize, Serialize};

/// What is to be known before a choice is believed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "warning", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Warning {
    /// Of an open round only those who answered are known, none of them with the reward of silence: until it is closed,
    /// expected rewards are too high.
    OnlyResponders {
        /// The round.
        round: u64,
        /// How many answered.
        answered: u64,
        /// How many may still answer.
        pending: u64,
    },
    /// Uplift is the objective, and so few outcomes of the hold-out are known that the choice goes by response still.
    LittleHoldOut {
        /// How many outcomes of the hold-out were learned.
        outcomes: u64,
        /// From how many on a difference can be told, ten to a feature.
        needed: u64,
    },
    /// The round is so large that the columns of its decisions are not kept, so it cannot be expressed by other features
    /// later. Rules that keep all columns keep them of any round.
    ColumnsNotKept {
        /// How many decisions there are.
        sends: u64,
    },
    /// Each arm has a draw of its own, and arms are taken together, so that draws cancel out: a better super arm may never
    /// be tried.
    NoSubstitutes,
}

/// How many of the last rounds are looked at: what is still expected of older ones is little.
const ROUNDS: usize = 4;

/// The warnings about what the model knows, and about the last rounds, as far as they are open.
pub(super) fn warnings(campaign: &Campaign, model: &Model) -> Result<Vec<Warning>, Error> {
    let mut warnings = Vec::new();
    let (outcomes, needed) = (campaign.heard_of_hold_out(model), 10 * campaign.recipe().dim() as u64);
    if campaign.config().objective == Objective::Uplift && outcomes < needed {
        warnings.push(Warning::LittleHoldOut { outcomes, needed });
    }
    for info in campaign.rounds().values().rev().take(ROUNDS) {
        let (answered, pending) = (info.counts.answered, info.counts.pending);
        if info.closed() || info.revoked() || answered == 0 || pending == 0 {
            continue;
        }
        let played = campaign.played(info.round, u64::MAX)?;
        let mut rewards = played.learned().filter(|(sent, _)| !sent.hold_out).map(|(_, answer)| answer.reward);
        if rewards.all(|reward| reward.to_bits() != played.default.to_bits()) {
            warnings.push(Warning::OnlyResponders { round: info.round, answered, pending });
        }
    }
    Ok(warnings)
}
