//! How the reward went: rounds in the order of time, each by itself while they are few, later all that were chosen in
//! the same seconds, minutes, hours or days.
//!
//! A cohort is open while an answer to one of its sends may still come. Its mean counts whoever has not answered as silent, so it
//! rises until the cohort is settled; whoever shows it must tell the two apart.

use super::{past::Past, tally::Tally};
use crate::{
    Campaign, Error,
    core::clock::{seconds, text},
};
use serde::Serialize;

/// Rounds that were chosen at about the same time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cohort {
    /// The round, or when the cohort begins, as short as it can be told.
    pub name: String,
    /// When its first round was chosen.
    pub from: String,
    /// How many rounds it has.
    pub rounds: u64,
    /// Whether answers may still come.
    pub open: bool,
    /// The share of its sends that the estimate alone would not have chosen.
    pub exploration: f64,
    /// The mean reward; in an open cohort those who may still answer count as silent so far.
    pub mean_reward: Option<f64>,
    /// What came back.
    pub tally: Tally,
}

/// So many rounds are shown one by one.
const ONE_BY_ONE: usize = 30;
/// The most cohorts.
const MOST: u64 = 30;
/// How long a cohort may be, in seconds.
const LENGTHS: [u64; 12] = [1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000];

impl Cohort {
    pub(super) fn of(campaign: &Campaign, past: &[Past]) -> Result<Vec<Self>, Error> {
        let past: Vec<&Past> = past.iter().filter(|one| !one.info.revoked()).collect();
        let seconds: Option<Vec<u64>> = past.iter().map(|one| seconds(&one.info.at)).collect();
        let Some(seconds) = seconds.filter(|_| past.len() > ONE_BY_ONE) else {
            return past.iter().map(|one| Self::new(campaign, one.info.round.to_string(), &[one])).collect();
        };
        let (first, last) = (seconds.iter().min().copied(), seconds.iter().max().copied());
        let span = last.unwrap_or(0) - first.unwrap_or(0);
        let length = LENGTHS.into_iter().find(|length| span / length < MOST).unwrap_or(span / MOST + 1);
        let mut cohorts = Vec::new();
        let mut all: Vec<(u64, &Past)> = seconds.iter().map(|at| at / length).zip(past).collect();
        all.sort_by_key(|(bin, _)| *bin);
        for run in all.chunk_by(|a, b| a.0 == b.0) {
            let of: Vec<&Past> = run.iter().map(|(_, one)| *one).collect();
            cohorts.push(Self::new(campaign, name(&text(run[0].0 * length), length), &of)?);
        }
        Ok(cohorts)
    }

    fn new(campaign: &Campaign, name: String, of: &[&Past]) -> Result<Self, Error> {
        let sends = || of.iter().flat_map(|one| one.sends());
        let explores = sends().filter(|(sent, _)| sent.greedy != Some(true)).count();
        let (mut rewards, mut heard) = (0.0, 0.0);
        for one in of {
            let counts = &one.info.counts;
            let waiting = if one.info.closed() { 0 } else { counts.pending };
            if let Some(mean) = campaign.mean_reward(&one.info)? {
                let count = (counts.answered + counts.silent + waiting) as f64;
                (rewards, heard) = (rewards + mean * count, heard + count);
            }
        }
        Ok(Self {
            name,
            from: of.iter().map(|one| one.info.at.as_str()).min().unwrap_or_default().to_owned(),
            rounds: of.len() as u64,
            open: of.iter().any(|one| one.is_open()),
            exploration: explores as f64 / sends().count().max(1) as f64,
            mean_reward: (heard > 0.0).then(|| rewards / heard),
            tally: Tally::of(sends().map(|(_, fate)| *fate)),
        })
    }
}

/// A date as short as cohorts of this length are told apart: `09:15:30`, `09:15`, `2 Mar 09h`, `2 Mar`.
fn name(at: &str, length: u64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = at.get(5..7).and_then(|month| month.parse::<usize>().ok()).and_then(|month| MONTHS.get(month - 1));
    let day = at.get(8..10).map_or("", |day| day.trim_start_matches('0'));
    let date = format!("{day} {}", month.unwrap_or(&""));
    match length {
        ..60 => at.get(11..19).unwrap_or(at).to_owned(),
        60..3600 => at.get(11..16).unwrap_or(at).to_owned(),
        3600..86_400 => format!("{date} {}h", at.get(11..13).unwrap_or_default()),
        _ => date,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_short_as_the_length_allows() {
        let at = "2026-03-02T09:15:30Z";
        assert_eq!([1, 60, 3600, 86_400].map(|length| name(at, length)), ["09:15:30", "09:15", "2 Mar 09h", "2 Mar"]);
    }
}
