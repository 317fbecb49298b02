//! Learns what was heard. With several rounds to a segment, entries note rewards and leave the model as it is; a fold sums
//! all segments that changed since the last one, in the order of decisions, as ever.

use super::{Campaign, Command, Draft, Folded, Head, Sha, model_hash, recent::Summed};
use crate::Error;
use armwise::Model;
use std::sync::Arc;

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

    /// The sums of a segment as they are after the last entry, with their hash; none if it has no outcomes. They are kept
    /// until an entry touches the segment, so that a fold that others were faster with loses little.
    pub(super) fn summed(&self, segment: u64) -> Result<Option<(Sha, Arc<Model>)>, Error> {
        if let Some(known) = self.known_sums(segment) {
            return Ok(known.sums);
        }
        let sums = self.sum_now(segment)?.map(|sums| (model_hash(&sums), Arc::new(sums)));
        let new = Summed { at: self.sums_at(segment), sums: sums.clone() };
        self.recent.borrow_mut().summed.insert(segment, new);
        Ok(sums)
    }

    /// The sums of a segment that waits for a fold, if they were made and are those of now.
    pub(super) fn known_sums(&self, segment: u64) -> Option<Summed> {
        let at = self.sums_at(segment);
        self.recent.borrow().summed.get(&segment).filter(|known| known.at == at).cloned()
    }

    /// What the sums of a segment depend on: the last entry that touched it, and the rules.
    fn sums_at(&self, segment: u64) -> (u64, u64) {
        (self.state.touched.get(&segment).copied().unwrap_or(0), self.rules_now)
    }
}
