//! Learns what was heard. With several rounds to a segment, entries note rewards and leave the model as it is; a fold sums
//! all segments that changed since the last one, in the order of decisions, as ever.

use super::{Campaign, Command, Draft, Folded, Head};
use crate::Error;

/// Learns what was heard since the last fold; whether there was something. With one round to a segment there never is,
/// since every entry learns what it brings.
///
/// # Errors
/// [`Error::HeadMoved`], [`Error::Damaged`], [`Error::Storage`].
pub fn fold(campaign: &mut Campaign) -> Result<bool, Error> {
    let against: Head = campaign.head();
    if !campaign.is_behind() {
        return Ok(false);
    }
    campaign.append(&against, &Draft::new(Command::Fold(Folded {})), || Ok(()))?;
    Ok(true)
}

impl Campaign {
    /// Whether something was heard that the model in force does not know.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.state.dirty.is_empty()
    }

    /// The entry whose model is in force: the last fold, or with one round to a segment the last entry.
    #[must_use]
    pub fn model_seq(&self) -> u64 {
        if self.state.length == 1 { self.head.seq } else { self.state.fold }
    }
}
