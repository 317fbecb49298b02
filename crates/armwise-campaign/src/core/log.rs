//! The journal as it grows: the entries after one, so that somebody can follow it.

use super::{Campaign, Entry, Head};
use crate::Error;

/// At most `most` entries after entry `after`, their chain checked from there on. The cost grows with what is given back.
///
/// # Errors
/// [`Error::Damaged`].
pub fn log(campaign: &Campaign, after: u64, most: u64) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    if after >= campaign.head().seq {
        return Ok(entries);
    }
    let before = if after == 0 { None } else { campaign.journal.entry(after)? };
    let mut head = before.map_or(Head::none(), |entry| entry.head());
    for seq in (after + 1..=campaign.head().seq).take(usize::try_from(most).unwrap_or(usize::MAX)) {
        let Some(entry) = campaign.journal.entry(seq)? else { break };
        entry.follows(&head).map_err(|problem| campaign.damaged(problem))?;
        head = entry.head();
        entries.push(entry);
    }
    Ok(entries)
}
