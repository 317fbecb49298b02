//! Lets a round go out that was held back: from now on its window runs and rewards are learned.

use super::{Campaign, Command, Draft, Key, OfRound, Refusal, Sha};
use crate::Error;
use serde::Serialize;

/// What activating a round did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Activated {
    /// The round.
    pub round: u64,
    /// Whether it was activated before; nothing has changed then.
    pub already: bool,
    /// The hash of the model, which stays as it was.
    pub model: Sha,
}

/// Activates a round that was held back when it was chosen. The same request with the same `key` gives the same answer,
/// whatever happened since. Activating an active round leaves no entry, so its key stays free.
///
/// # Errors
/// [`Error::NotFound`] for a round that was not chosen, [`Error::Refused`] for one that was never held back or was
/// revoked, [`Error::KeyUsed`].
pub fn activate(campaign: &mut Campaign, round: u64, key: Option<&Key>) -> Result<Activated, Error> {
    let (revoked, against) = (campaign.round(round)?.revoked(), campaign.head());
    if let Some((entry, _)) = campaign.earlier(key, |command| *command == Command::Activate(OfRound { round }))? {
        return Ok(Activated { round, already: false, model: entry.model });
    }
    let already = match campaign.held(round)? {
        None => return Err(Refusal::NotHeld(round).into()),
        Some(_) if revoked => return Err(Refusal::Revoked(round).into()),
        Some(held) => !held.is_held(u64::MAX),
    };
    if !already {
        let draft = Draft { key, ..Draft::new(Command::Activate(OfRound { round })) };
        campaign.append(&against, &draft, || Ok(()))?;
    }
    Ok(Activated { round, already, model: campaign.model_hash() })
}
