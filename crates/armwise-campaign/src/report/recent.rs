//! The newest rounds of a campaign, for a page that is looked at while it runs.
//!
//! The numbers are those of a [`Report`] over these rounds, and what only somebody who watches asks for: how the reward
//! went, how much is explored, which rows are chosen, and alerts with their cause. The cost depends on how many rounds
//! are looked at, not on how many there are.

use super::{GroupLine, Report, Row, alerts, line, of, past::Past, tally::Tally};
use crate::{Campaign, Error, core::Counts, round::Worth};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

pub use super::{alerts::Alert, cohorts::Cohort};

/// How many rounds are looked at.
const ROUNDS: u64 = 4000;
/// No more rounds are read once they have this many decisions.
const ROWS: u64 = 20_000;
/// How many rows get a line of their own.
const LINES: usize = 12;
/// The bins of a histogram of probabilities.
const BINS: usize = 10;

/// What a page shows of a campaign's newest rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recent {
    /// How many rounds there are, revoked ones included.
    pub rounds: u64,
    /// What became of all decisions of all rounds.
    pub counts: Counts,
    /// How many of the newest rounds the numbers below are about.
    pub looked_at: u64,
    /// When the newest round was chosen.
    pub at: Option<String>,
    /// The sends of these rounds; the mean is of those whose rounds are settled.
    pub tally: Tally,
    /// The share of them that the estimate alone would not have chosen.
    pub exploration: Option<f64>,
    /// How the reward went.
    pub cohorts: Vec<Cohort>,
    /// The rows that were chosen most often.
    pub rows: Vec<GroupLine>,
    /// How many different rows were chosen.
    pub different_rows: u64,
    /// How many different segments they are of; none where the rules name no segment.
    pub different_segments: Option<u64>,
    /// With which probability what was chosen was chosen, where that is known.
    pub probabilities: Option<Shares>,
    /// What one more unit of each limit would have been worth in the newest round that says so.
    pub prices: Vec<Worth>,
    /// What should be looked at.
    pub alerts: Vec<Alert>,
    /// The report of these rounds.
    pub report: Report,
}

/// Numbers between 0 and 1 as a histogram.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shares {
    /// How many of them are in each tenth.
    pub tenths: [u64; BINS],
    /// The smallest.
    pub least: f64,
    /// Their mean.
    pub mean: f64,
}

impl Shares {
    #[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
    pub(super) fn of(shares: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut tenths, mut least, mut sum) = ([0; BINS], 1.0_f64, 0.0);
        for share in shares.filter(|share| (0.0..=1.0).contains(share)) {
            tenths[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
            least = least.min(share);
            sum += share;
        }
        let count: u64 = tenths.iter().sum();
        (count > 0).then(|| Self { tenths, least, mean: sum / count as f64 })
    }
}

/// The newest rounds of a campaign.
///
/// # Errors
/// [`Error::Damaged`].
pub fn recent(campaign: &Campaign) -> Result<Recent, Error> {
    let past = Past::newest(campaign, ROUNDS, ROWS)?;
    let report = of(campaign, &past)?;
    let real: Vec<Row<'_>> =
        past.iter().flat_map(|one| one.sends().map(|row| Row { row, settled: !one.is_open() })).collect();
    let mut by_row: BTreeMap<&str, Vec<Row<'_>>> = BTreeMap::new();
    for &row in &real {
        by_row.entry(&row.row.0.customer).or_default().push(row);
    }
    let mut often: Vec<(&str, Vec<Row<'_>>)> = by_row.iter().map(|(name, of)| (*name, of.clone())).collect();
    often.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(b.0)));
    let explores = real.iter().filter(|row| row.row.0.greedy != Some(true)).count();
    let segments: BTreeSet<&str> = real.iter().filter_map(|row| row.row.0.segment.as_deref()).collect();
    let exploration = (!real.is_empty()).then(|| explores as f64 / real.len() as f64);
    Ok(Recent {
        rounds: campaign.count_rounds(),
        counts: totals(campaign)?,
        looked_at: past.len() as u64,
        at: past.last().map(|one| one.info.at.clone()),
        tally: line("", &real).tally,
        exploration,
        cohorts: Cohort::of(campaign, &past)?,
        different_rows: by_row.len() as u64,
        different_segments: campaign.config().segment.as_ref().map(|_| segments.len() as u64),
        rows: often.iter().take(LINES).map(|(name, of)| line(name, of)).collect(),
        probabilities: Shares::of(real.iter().filter_map(|row| row.row.0.probability)),
        prices: prices(campaign, &past)?,
        alerts: alerts::alerts(&past, exploration),
        report,
    })
}

/// What became of all decisions.
fn totals(campaign: &Campaign) -> Result<Counts, Error> {
    let mut totals = Counts::default();
    for together in campaign.together(1..=u64::MAX)? {
        totals.add_all(&together.counts);
    }
    Ok(totals)
}

fn prices(campaign: &Campaign, past: &[Past]) -> Result<Vec<Worth>, Error> {
    // A decision whose answer is not kept says nothing of prices; looking through all of them would take long.
    for one in past.iter().rev().take(8) {
        let prices = campaign.prices_of(&one.info)?;
        if !prices.is_empty() {
            return Ok(prices);
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_into_tenths() {
        let shares = Shares::of([0.0, 0.05, 0.1, 0.99, 1.0, f64::NAN, 1.5].into_iter()).expect("shares");
        assert_eq!(shares.tenths, [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert!(shares.least.abs() < 1e-15 && (shares.mean - 2.14 / 5.0).abs() < 1e-12);
        assert!(Shares::of(std::iter::empty()).is_none());
    }
}
