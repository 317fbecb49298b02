//! Gives up the single decisions of old rounds. What was learned from them, their counts and their digests stay.
//!
//! Only whole segments go, from the first on, once all of their rounds are closed, learned and put away. Their sums cannot
//! be computed again afterwards, so the entry vouches for them.

use super::{Campaign, Command, Compacted, Draft};
use crate::Error;

/// Gives up the single decisions, outcomes and original columns of all segments whose rounds are closed and were chosen
/// before this time (as entries have it, `2026-03-02T09:15:00Z`). None if there are no such segments.
///
/// # Errors
/// [`Error::Damaged`], [`Error::Storage`].
pub fn compact(campaign: &mut Campaign, chosen_before: &str) -> Result<Option<Compacted>, Error> {
    let against = campaign.head();
    let Some(through) = campaign.compactable(chosen_before) else { return Ok(None) };
    let vouched = campaign.state.given_up(through).map_err(|problem| campaign.damaged(problem))?;
    let (decisions, outcomes, originals) = campaign.journal.count_through(through)?;
    let (rounds, sums) = vouched;
    let compacted = Compacted { round: through, decisions, outcomes, originals, rounds, sums };
    campaign.append(&against, &Draft::new(Command::Compact(compacted)), || Ok(()))?;
    campaign.recent.get_mut().forget_through(through);
    Ok(Some(compacted))
}

impl Campaign {
    /// The last round up to which single decisions may be given up.
    fn compactable(&self, chosen_before: &str) -> Option<u64> {
        let state = &self.state;
        let begin = self.segment_of(state.compacted) + u64::from(state.compacted > 0);
        let mut end = None;
        let mut settled = state.settled.range(begin.max(1)..).peekable();
        while let Some((&segment, own)) = settled.next() {
            // All of its rounds are older than the first round of the segment after it.
            let next = settled.peek().map(|(_, next)| next.at.as_str());
            let next =
                next.or_else(|| self.rounds().range(self.span(segment).1..).next().map(|(_, info)| info.at.as_str()));
            let old = next.is_some_and(|at| at < chosen_before);
            if !old || own.open > 0 || state.dirty.contains(&segment) {
                break;
            }
            end = Some(self.span(segment).1);
        }
        let open = |through: u64| self.rounds().range(..=through).any(|(_, info)| !info.closed() && !info.revoked());
        end.filter(|&through| !open(through) && state.given_up(through).is_ok())
    }
}
