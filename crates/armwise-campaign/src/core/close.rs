//! The end of a round's response window.

use super::{Campaign, Command, Draft, OfRound, Refusal, Sha};
use crate::Error;
use serde::Serialize;

/// What closing a round did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Closed {
    /// The round.
    pub round: u64,
    /// Whether it was closed before; nothing has changed then.
    pub already: bool,
    /// How many sends now count as silent.
    pub silent: u64,
    /// What silence is worth.
    pub default: f64,
    /// The hash of the model now.
    pub model: Sha,
}

/// Ends the response window of a round: decisions without an answer count as the default reward from now on.
///
/// # Errors
/// [`Error::NotFound`] for a round that was not chosen, [`Error::Refused`] for one that was revoked.
pub fn close(campaign: &mut Campaign, round: u64) -> Result<Closed, Error> {
    let (info, against) = (campaign.round(round)?, campaign.head());
    if info.revoked() {
        return Err(Refusal::Revoked(round).into());
    }
    let already = info.closed();
    if !already {
        campaign.append(&against, &Draft::new(Command::Close(OfRound { round })), || Ok(()))?;
    }
    let default = campaign.config_of(round)?.reward.default;
    let silent = campaign.round(round)?.counts.silent;
    Ok(Closed { round, already, silent, default, model: campaign.model_hash() })
}
