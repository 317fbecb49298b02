//! Takes back a round that was never sent.
//!
//! The entry that chose the round stays, and its number is not used again; only its effects end: rewards, rest, the
//! hold-out's outcomes.

use super::{Campaign, Command, Counts, Draft, Key, OfRound, Sha};
use crate::Error;
use serde::Serialize;

/// What revoking a round did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Revoked {
    /// The round.
    pub round: u64,
    /// Whether it was revoked before; nothing has changed then.
    pub already: bool,
    /// How many sends were taken back.
    pub sends: u64,
    /// How many rewards left the model with them.
    pub rewards: u64,
    /// How many outcomes of the hold-out do not count any more.
    pub hold_out: u64,
    /// The hash of the model now.
    pub model: Sha,
}

/// Takes back a round that was never sent: its decisions have no rewards, even if some were learned; its customers do
/// not rest; its hold-out does not count. The same request with the same `key` gives the same answer, whatever happened
/// since. Revoking a revoked round leaves no entry, so its key stays free.
///
/// # Errors
/// [`Error::NotFound`] for a round that was not chosen, [`Error::KeyUsed`].
pub fn revoke(campaign: &mut Campaign, round: u64, key: Option<&Key>) -> Result<Revoked, Error> {
    let (info, against) = (campaign.round(round)?, campaign.head());
    if let Some((entry, _)) = campaign.earlier(key, |command| *command == Command::Revoke(OfRound { round }))? {
        let counts = campaign.played(round, entry.seq - 1)?.counts();
        return Ok(revoked(round, false, counts, entry.model));
    }
    let (already, counts) = (info.revoked(), campaign.counts(&info)?);
    if !already {
        let draft = Draft { key, ..Draft::new(Command::Revoke(OfRound { round })) };
        campaign.append(&against, &draft, || Ok(()))?;
    }
    Ok(revoked(round, already, counts, campaign.model_hash()))
}

fn revoked(round: u64, already: bool, counts: Counts, model: Sha) -> Revoked {
    Revoked { round, already, sends: counts.sends, rewards: counts.heard(), hold_out: counts.hold_out.heard(), model }
}
