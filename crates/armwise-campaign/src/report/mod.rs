//! The report: what was sent, what came back, what was learned, in the user's own column names.
//!
//! Everything in the page is in [`Report`] first, so that JSON and the page say the same. Intervals are 95 % and
//! normal; effects take the noise from the residuals of their own promotion.

mod effects;
mod html;
mod summary;
mod tally;

pub use effects::EffectLine;
pub use html::html;
pub use tally::Tally;

use crate::{
    Campaign, Error,
    core::{Fate, Sent, Sha, fates},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A round's line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundLine {
    /// The round.
    pub round: u64,
    /// Whether its response window has ended; until then the mean is of those heard from.
    pub closed: bool,
    /// Whether it was taken back: nothing was sent, so nothing of it counts here.
    pub revoked: bool,
    /// The share of sends that the estimate alone would not have chosen; 1 while nothing was known.
    pub exploration: f64,
    /// The mean reward, as the status says it: in an open round those who may still answer count as silent so far.
    pub mean_reward: Option<f64>,
    /// How many answers were put aside for a bad value and wait to be mended.
    pub aside: u64,
    /// What came back.
    pub tally: Tally,
}

/// A group's line: a promotion, a segment, a decile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupLine {
    /// The group.
    pub name: String,
    /// The mean of the estimated rewards when they were chosen.
    pub predicted: f64,
    /// What came back.
    pub tally: Tally,
}

/// Sends compared with the hold-out's customers who would have been chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UpliftLine {
    /// The promotion, or `all`.
    pub promotion: String,
    /// The sends.
    pub sent: Tally,
    /// The hold-out.
    pub hold_out: Tally,
    /// The difference of the mean rewards.
    pub uplift: Option<f64>,
    /// Half the width of its interval.
    pub half_width: Option<f64>,
}

/// Everything in the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The campaign's file.
    pub campaign: String,
    /// The hash of the journal's last entry.
    pub head: Sha,
    /// The hash of the model.
    pub model: Sha,
    /// The algorithm's name.
    pub algorithm: String,
    /// What is to be known first, in sentences.
    pub summary: Vec<String>,
    /// Round by round.
    pub rounds: Vec<RoundLine>,
    /// Promotion by promotion.
    pub promotions: Vec<GroupLine>,
    /// Segment by segment.
    pub segments: Vec<GroupLine>,
    /// Predicted against observed, by decile of the prediction.
    pub calibration: Vec<GroupLine>,
    /// What each feature does, promotion by promotion.
    pub effects: Vec<EffectLine>,
    /// Sends compared with the hold-out.
    pub uplift: Vec<UpliftLine>,
}

/// Makes the report.
///
/// # Errors
/// [`Error::Damaged`].
pub fn report(campaign: &Campaign) -> Result<Report, Error> {
    let mut rounds = Vec::new();
    let mut all: Vec<(Sent, Fate)> = Vec::new();
    for info in campaign.rounds().values() {
        let of_round = if info.revoked() { Vec::new() } else { fates(campaign, info.round)? };
        let real = || of_round.iter().filter(|(sent, _)| !sent.hold_out);
        let explores = real().filter(|(sent, _)| sent.greedy != Some(true)).count();
        rounds.push(RoundLine {
            mean_reward: campaign.mean_reward(info)?,
            aside: info.counts.aside,
            round: info.round,
            closed: info.closed(),
            revoked: info.revoked(),
            exploration: explores as f64 / real().count().max(1) as f64,
            tally: Tally::of(real().map(|(_, fate)| *fate)),
        });
        all.extend(of_round);
    }
    let real: Vec<&(Sent, Fate)> = all.iter().filter(|(sent, _)| !sent.hold_out).collect();
    // Those who answer early are not like the others, so an open round has no part in means until nobody is waited for.
    let open = |round: u64| campaign.rounds().get(&round).is_some_and(|info| !info.closed() && info.counts.pending > 0);
    let settled = |row: &&(Sent, Fate)| !open(row.0.id.round);
    let line = |name: &str, of: &[&(Sent, Fate)]| {
        let Tally { mean, half_width, .. } = Tally::of(of.iter().copied().filter(settled).map(|(_, fate)| *fate));
        GroupLine {
            name: name.to_owned(),
            predicted: of.iter().map(|(sent, _)| sent.mean).sum::<f64>() / of.len().max(1) as f64,
            tally: Tally { mean, half_width, ..Tally::of(of.iter().map(|(_, fate)| *fate)) },
        }
    };
    let promotions = campaign.promotions().iter().map(|promotion| {
        let of: Vec<_> = real.iter().copied().filter(|(sent, _)| sent.promotion == *promotion).collect();
        line(promotion, &of)
    });
    let mut by_segment: BTreeMap<&str, Vec<&(Sent, Fate)>> = BTreeMap::new();
    for &row in real.iter().filter(|_| campaign.config().segment.is_some()) {
        by_segment.entry(row.0.segment.as_deref().unwrap_or("(none)")).or_default().push(row);
    }
    // Rounds chosen before anything was known predict nothing.
    let mut heard: Vec<&(Sent, Fate)> = real
        .iter()
        .copied()
        .filter(settled)
        .filter(|(sent, fate)| fate.reward().is_some() && sent.greedy.is_some())
        .collect();
    heard.sort_by(|a, b| a.0.mean.total_cmp(&b.0.mean).then(a.0.id.cmp(&b.0.id)));
    let deciles = (0..10).map(|decile| (decile, heard.len() * decile / 10..heard.len() * (decile + 1) / 10));
    let calibration = deciles.filter(|(_, range)| !range.is_empty());
    let mut report = Report {
        campaign: campaign.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        head: campaign.head().hash,
        model: campaign.model_hash(),
        algorithm: campaign.config().algorithm.name().to_owned(),
        promotions: promotions.collect(),
        segments: by_segment.iter().map(|(name, of)| line(name, of)).collect(),
        calibration: calibration.map(|(decile, range)| line(&(decile + 1).to_string(), &heard[range])).collect(),
        effects: effects::effects(campaign, &real)?,
        uplift: uplift(campaign, &all),
        rounds,
        summary: Vec::new(),
    };
    report.summary = summary::sentences(&report);
    Ok(report)
}

fn uplift(campaign: &Campaign, all: &[(Sent, Fate)]) -> Vec<UpliftLine> {
    if !all.iter().any(|(sent, _)| sent.hold_out) {
        return Vec::new();
    }
    let names = campaign.promotions().iter().map(|promotion| Some(promotion.as_str()));
    names
        .chain([None])
        .map(|name| {
            let tally = |hold_out: bool| {
                let of = all
                    .iter()
                    .filter(|(sent, _)| sent.hold_out == hold_out && name.is_none_or(|name| name == sent.promotion));
                Tally::of(of.map(|(_, fate)| *fate))
            };
            let (sent, hold_out) = (tally(false), tally(true));
            let both = sent.mean.zip(hold_out.mean);
            let widths = sent.half_width.zip(hold_out.half_width);
            UpliftLine {
                promotion: name.unwrap_or("all").to_owned(),
                uplift: both.map(|(sent, hold_out)| sent - hold_out),
                half_width: widths.map(|(sent, hold_out)| sent.hypot(hold_out)),
                sent,
                hold_out,
            }
        })
        .collect()
}
