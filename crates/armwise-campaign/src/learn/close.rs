//! The end of a round's response window.

use crate::{
    Campaign, Error,
    file::{Entry, EventKind},
};
use serde::Serialize;
use std::collections::BTreeSet;

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
    pub model: String,
}

/// Ends the response window of a round: decisions without an answer count as the default reward from now on.
///
/// # Errors
/// [`Error::NotFound`] for a round that was not chosen.
pub fn close(campaign: &mut Campaign, round: u64) -> Result<Closed, Error> {
    let info = campaign.round(round)?;
    let heard = campaign.fates(round)?.0;
    let silent =
        campaign.sent(round)?.iter().filter(|sent| !sent.control && !heard.contains_key(&sent.id)).count() as u64;
    if !info.closed {
        let touched = &BTreeSet::from([round]);
        let (kind, round, body) = (EventKind::Close, Some(round), "{}".to_owned());
        campaign.append(&Entry { kind, round, body, sent: &[], outcomes: &[], touched }, || Ok(()))?;
    }
    Ok(Closed {
        round,
        already: info.closed,
        silent,
        default: campaign.config().reward.default,
        model: campaign.events().last().map_or(String::new(), |event| event.model.clone()),
    })
}
