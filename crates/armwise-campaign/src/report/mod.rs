//! The report: what was sent, what came back, what was learned, in the user's own column names.
//!
//! Everything in the page is in [`Report`] first, so that JSON and the page say the same. Intervals are 95 % and
//! normal; effects take the noise from the residuals of their own promotion.

mod alerts;
mod cohorts;
mod effects;
mod html;
mod past;
mod recent;
mod summary;
mod tally;
mod uplift;

pub use effects::EffectLine;
pub use html::{Section, html, sections, style};
pub use recent::{Alert, Cohort, Recent, Shares, recent};
pub use tally::Tally;
pub use uplift::{Money, NoUplift, UpliftLine, uplift_of};

use crate::{
    Campaign, Error,
    core::{Disagreement, Fate, Sent, Sha},
};
use armwise::Auto;
use past::Past;
use serde::Serialize;
use std::{collections::BTreeMap, ops::RangeInclusive};

/// Of a campaign with several rounds to a segment, the report looks at so many of the last rounds.
const MOST_ROUNDS: u64 = 20_000;

/// A round's line, or that of several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundLine {
    /// The round, or the first of several.
    pub round: u64,
    /// The hour or the day of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
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
    /// The mean of the estimated rewards when they were chosen; of those that were looked at with a known probability, times
    /// this.
    pub predicted: f64,
    /// What came back.
    pub tally: Tally,
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
    /// What it would choose by itself in the next round; none where all of its parameters are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<Auto>,
    /// Rounds that disagree with those before more than chance explains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Disagreement>,
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
    /// With which probability the sends were chosen, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Shares>,
}

/// Makes the report.
///
/// # Errors
/// [`Error::Damaged`].
pub fn report(campaign: &Campaign) -> Result<Report, Error> {
    let mut report = of(campaign, &Past::all(campaign)?)?;
    let (count, first) = (campaign.count_rounds(), first_round(campaign));
    if campaign.is_told_together() && first > 1 && count > 0 {
        let told = "The report looks at the rounds from";
        report.summary.insert(0, format!("{told} {first} on; the campaign has {count}."));
    }
    Ok(report)
}

/// The first round that the report looks at.
fn first_round(campaign: &Campaign) -> u64 {
    if !campaign.is_told_together() {
        return 1;
    }
    campaign.next_round().saturating_sub(MOST_ROUNDS).max(campaign.compacted() + 1)
}

/// The rounds of a line, with the hour or the day where they are several.
type Span = (RangeInclusive<u64>, Option<String>);

/// The rounds of each line.
fn lines(campaign: &Campaign, past: &[Past]) -> Result<Vec<Span>, Error> {
    let Some(first) = past.first().map(|one| one.info.round) else { return Ok(Vec::new()) };
    if !campaign.is_told_together() {
        return Ok(past.iter().map(|one| (one.info.round..=one.info.round, None)).collect());
    }
    let together = campaign.together(first..=u64::MAX)?;
    Ok(together.into_iter().map(|own| (own.first..=own.last, Some(own.name))).collect())
}

/// The report of some rounds.
fn of(campaign: &Campaign, past: &[Past]) -> Result<Report, Error> {
    let mut rounds = Vec::new();
    for (range, when) in lines(campaign, past)? {
        let own = || past.iter().filter(|one| range.contains(&one.info.round));
        let sends = || own().flat_map(Past::sends);
        let explores = sends().filter(|(sent, _)| sent.greedy != Some(true)).count();
        let tally = Tally::of(sends().map(|(_, fate)| *fate));
        let mean_reward = match (&when, own().next()) {
            (None, Some(one)) => campaign.mean_reward(&one.info)?,
            _ => tally.mean,
        };
        rounds.push(RoundLine {
            mean_reward,
            aside: own().map(|one| one.info.counts.aside).sum(),
            round: *range.start(),
            closed: own().all(|one| one.info.closed() || when.is_some() && one.info.revoked()),
            revoked: own().all(|one| one.info.revoked()),
            when,
            exploration: explores as f64 / sends().count().max(1) as f64,
            tally,
        });
    }
    let real: Vec<Row<'_>> =
        past.iter().flat_map(|one| one.sends().map(|row| Row { row, settled: !one.is_open() })).collect();
    let promotions = campaign.promotions().into_iter().map(|promotion| {
        let of: Vec<_> = real.iter().copied().filter(|row| row.row.0.promotion == promotion).collect();
        line(promotion, &of)
    });
    let mut by_segment: BTreeMap<&str, Vec<Row<'_>>> = BTreeMap::new();
    for &row in real.iter().filter(|_| campaign.config().segment.is_some()) {
        by_segment.entry(row.row.0.segment.as_deref().unwrap_or("(none)")).or_default().push(row);
    }
    let model = campaign.model()?;
    let mut report = Report {
        campaign: campaign.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        head: campaign.head().hash,
        model: campaign.model_hash(),
        algorithm: campaign.config().algorithm.name().to_owned(),
        auto: campaign.auto(&model)?,
        drift: campaign.drift(&model)?,
        promotions: promotions.collect(),
        segments: by_segment.iter().map(|(name, of)| line(name, of)).collect(),
        calibration: calibration(&real),
        effects: effects::effects(campaign, past)?,
        uplift: uplift::among(campaign, past)?,
        probabilities: Shares::of(real.iter().filter_map(|row| row.row.0.probability)),
        rounds,
        summary: Vec::new(),
    };
    report.summary = summary::sentences(&report);
    Ok(report)
}

/// A send and whether its round has a part in means.
#[derive(Clone, Copy)]
struct Row<'a> {
    row: &'a (Sent, Fate),
    settled: bool,
}

fn line(name: &str, of: &[Row<'_>]) -> GroupLine {
    let settled = of.iter().filter(|row| row.settled).map(|row| row.row.1);
    let Tally { mean, half_width, .. } = Tally::of(settled);
    GroupLine {
        name: name.to_owned(),
        predicted: of.iter().map(|row| row.row.1.predicted(row.row.0.mean)).sum::<f64>() / of.len().max(1) as f64,
        tally: Tally { mean, half_width, ..Tally::of(of.iter().map(|row| row.row.1)) },
    }
}

/// Predicted against observed. Rounds chosen before anything was known predict nothing.
fn calibration(real: &[Row<'_>]) -> Vec<GroupLine> {
    let known = |row: &&Row<'_>| row.settled && row.row.1.reward().is_some() && row.row.0.greedy.is_some();
    let mut heard: Vec<Row<'_>> = real.iter().filter(known).copied().collect();
    heard.sort_by(|a, b| a.row.0.mean.total_cmp(&b.row.0.mean).then(a.row.0.id.cmp(&b.row.0.id)));
    let deciles = (0..10).map(|decile| (decile, heard.len() * decile / 10..heard.len() * (decile + 1) / 10));
    let deciles = deciles.filter(|(_, range)| !range.is_empty());
    deciles.map(|(decile, range)| line(&(decile + 1).to_string(), &heard[range])).collect()
}
