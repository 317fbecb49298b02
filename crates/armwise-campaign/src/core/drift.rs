//! Whether the last rounds disagree with those before, from the sums of their segments.
//!
//! Only settled segments are compared, closed or without anybody who may still answer: those who answer early are not
//! like the others. The sums of the last eight are read, as they are when a campaign is opened, so the cost does not
//! grow with the campaign.

use super::{Campaign, blocks};
use crate::Error;
use armwise::{Drift, Gamma, Model};
use serde::Serialize;

/// How many segments are compared with those before.
const LAST: usize = 8;

/// Rounds that disagree with those before more than chance explains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Disagreement {
    /// The first of them.
    pub since: u64,
    /// The last of them.
    pub until: u64,
    /// The log Bayes factor: by how much they speak for another theta.
    pub log_factor: f64,
    /// The forgetting factor of a round that would have predicted the last rounds best; to have it, the rules are fitted
    /// anew ([`refit`](super::refit)), since amending them keeps theirs.
    pub gamma: f64,
}

impl Campaign {
    /// How many segments may still be answered, where these are so many that [`drift`](Self::drift) says nothing.
    #[must_use]
    pub fn drift_waits_for(&self) -> Option<usize> {
        let forgets = matches!(self.config().gamma, Gamma::Value(gamma) if gamma < 1.0);
        let open = self.open_and_settled().0.len();
        (open > LAST && !forgets).then_some(open)
    }

    /// The segments with somebody who may still answer, and the others.
    fn open_and_settled(&self) -> (Vec<u64>, Vec<u64>) {
        let segments: Vec<u64> = self.state.sums.keys().copied().collect();
        // Rounds that are put away are settled.
        let is_open = |segment: &u64| {
            // Segment 0 is what happened before the first round.
            let (first, last) = if *segment == 0 { (0, 0) } else { self.span(*segment) };
            let mut rounds = self.rounds().range(first..=last);
            rounds.any(|(_, info)| !info.closed() && !info.revoked() && info.counts.pending > 0)
        };
        segments.into_iter().partition(is_open)
    }

    /// The rounds that disagree with those before more than chance explains; none as a rule. In at most 5 % of
    /// campaigns in which nothing changes this ever says so. None where the rules forget already.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn drift(&self, model: &Model) -> Result<Option<Disagreement>, Error> {
        let (open, settled) = self.open_and_settled();
        let unknown = model.blocks().iter().any(|block| block.rr().is_none());
        if matches!(self.config().gamma, Gamma::Value(gamma) if gamma < 1.0)
            || unknown
            || settled.len() < 2
            || open.len() > LAST
        {
            return Ok(None);
        }
        let wide = |segment: u64| {
            let sums = self.sums_of(segment, self.state.sums[&segment])?;
            blocks::widened(Model::clone(&sums), model.blocks().len())
        };
        let mut all = model.clone();
        for segment in open {
            all = all.without(&wide(segment)?)?;
        }
        let last = settled[settled.len().saturating_sub(LAST)..].iter();
        let sums: Vec<Model> = last.map(|&segment| wide(segment)).collect::<Result<_, Error>>()?;
        let Some(drift) = Drift::between(&all, &sums, settled.len())?.filter(Drift::is_beyond_chance) else {
            return Ok(None);
        };
        let of = |segment: Option<&u64>| segment.map_or_else(|| Ok(Vec::new()), |&segment| self.rounds_in(segment));
        let (first, newest) = (of(settled.get(settled.len() - drift.rounds))?, of(settled.last())?);
        Ok(Some(Disagreement {
            since: first.first().copied().unwrap_or(0),
            until: newest.last().copied().unwrap_or(0),
            log_factor: drift.log_factor,
            gamma: Model::forgetting_by(&sums, self.setup().rounds_per_segment.max(1))?.map_or(1.0, |(gamma, _)| gamma),
        }))
    }
}
