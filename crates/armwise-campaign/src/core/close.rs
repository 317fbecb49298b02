//! The end of a round's response window.

use super::{Campaign, Command, DecisionId, Draft, Flaw, Key, OfRound, Refusal, Sha};
use crate::Error;
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// The decisions that stay pending, because the rows about them were put aside, by what was wrong with them. They
    /// are not silent, and good rows about them are still learned.
    pub aside: BTreeMap<Flaw, Vec<String>>,
    /// The hash of the model now.
    pub model: Sha,
}

/// Ends the response window of a round: decisions without an answer count as the default reward from now on, unless an
/// answer came that was put aside for a bad value. The same
/// request with the same `key` gives the same answer, whatever happened since. Closing a closed round leaves no entry,
/// so its key stays free.
///
/// # Errors
/// [`Error::NotFound`] for a round that was not chosen, [`Error::Refused`] for one that was revoked,
/// [`Error::KeyUsed`].
pub fn close(campaign: &mut Campaign, round: u64, key: Option<&Key>) -> Result<Closed, Error> {
    let (info, against) = (campaign.round(round)?, campaign.head());
    if let Some((entry, _)) = campaign.earlier(key, |command| *command == Command::Close(OfRound { round }))? {
        let played = campaign.played(round, entry.seq)?;
        let (silent, default) = (played.counts().silent, played.default);
        let aside = aside(campaign, round, entry.seq)?;
        return Ok(Closed { round, already: false, silent, default, aside, model: entry.model });
    }
    if info.revoked() {
        return Err(Refusal::Revoked(round).into());
    }
    let already = info.closed();
    if !already {
        let draft = Draft { key, ..Draft::new(Command::Close(OfRound { round })) };
        campaign.append(&against, &draft, || Ok(()))?;
    }
    let default = campaign.config_of(round)?.reward.default + 0.0;
    let silent = campaign.round(round)?.counts.silent;
    let aside = aside(campaign, round, u64::MAX)?;
    Ok(Closed { round, already, silent, default, aside, model: campaign.model_hash() })
}

/// The names of the decisions that stay pending.
fn aside(campaign: &Campaign, round: u64, until: u64) -> Result<BTreeMap<Flaw, Vec<String>>, Error> {
    let name = |number: u32| campaign.tag().name(DecisionId { round, number });
    let named = |(flaw, numbers): (Flaw, Vec<u32>)| (flaw, numbers.into_iter().map(name).collect());
    Ok(campaign.still_aside(round, until)?.into_iter().map(named).collect())
}
