//! The rounds that a report is about, with their decisions and what became of them.
//!
//! A whole report reads every round. A page that is looked at all day reads the newest ones only, so that its cost does not
//! grow with the campaign.

use super::first_round;
use crate::{
    Campaign, Error,
    core::{Fate, RoundInfo, Sent, fates},
};

/// How many rounds are looked at first.
const STEP: u64 = 64;

/// A round with its decisions, hold-out ones included; without decisions if it was revoked.
#[derive(Debug, Clone)]
pub(super) struct Past {
    pub(super) info: RoundInfo,
    pub(super) rows: Vec<(Sent, Fate)>,
}

impl Past {
    fn read(campaign: &Campaign, info: &RoundInfo) -> Result<Self, Error> {
        let rows = if info.revoked() { Vec::new() } else { fates(campaign, info.round)? };
        Ok(Self { info: info.clone(), rows })
    }

    /// All rounds that a report looks at, ascending.
    pub(super) fn all(campaign: &Campaign) -> Result<Vec<Self>, Error> {
        let mut all = Vec::new();
        campaign.each_round(first_round(campaign)..=u64::MAX, &mut |info| {
            all.push(Self::read(campaign, info)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// The newest rounds, ascending: at most `rounds`, and no more once they have `rows` decisions. Rounds whose decisions
    /// were given up are not among them.
    pub(super) fn newest(campaign: &Campaign, rounds: u64, rows: u64) -> Result<Vec<Self>, Error> {
        let (mut infos, mut end) = (Vec::new(), campaign.next_round().saturating_sub(1));
        let start = end.saturating_sub(rounds).max(campaign.compacted()) + 1;
        let (mut read, mut step) = (0, STEP);
        // Backwards in steps, since rounds can be read forwards only.
        while end >= start && read < rows {
            let from = end.saturating_sub(step - 1).max(start);
            let mut found = Vec::new();
            campaign.each_round(from..=end, &mut |info| {
                read += info.decisions;
                found.push(info.clone());
                Ok(())
            })?;
            found.extend(infos);
            (infos, end, step) = (found, from - 1, 2 * step);
        }
        // The last step may have gone too far.
        let mut more = read;
        infos.retain(|info: &RoundInfo| {
            let keeps = more <= rows || more - info.decisions < rows;
            more -= info.decisions;
            keeps
        });
        infos.iter().map(|info| Self::read(campaign, info)).collect()
    }

    /// The sends: the decisions that are not of the hold-out.
    pub(super) fn sends(&self) -> impl Iterator<Item = &(Sent, Fate)> {
        self.rows.iter().filter(|(sent, _)| !sent.hold_out)
    }

    /// Whether answers may still come. Those who answer early are not like the others, so such a round has no part in
    /// means.
    pub(super) fn is_open(&self) -> bool {
        !self.info.closed() && !self.info.revoked() && self.info.counts.pending > 0
    }
}
