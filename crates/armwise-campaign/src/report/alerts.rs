//! What somebody who watches a campaign should look at, each with its cause.
//!
//! An alert needs many sends and a difference of several standard errors: a page that is looked at all day makes many
//! comparisons, and an alert that is mostly chance is soon ignored.

use super::past::Past;
use crate::core::Sent;
use serde::Serialize;
use std::{collections::BTreeMap, fmt};

/// What should be looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "alert", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Alert {
    /// The newest rewards are not what the model predicted, and before they were closer.
    Drift {
        /// How many sends were compared.
        sends: u64,
        /// Their mean reward.
        observed: f64,
        /// What was predicted when they were chosen.
        predicted: f64,
        /// The difference in standard errors.
        errors: f64,
        /// Where most of the difference comes from, such as `promotion mail`.
        cause: Option<String>,
    },
    /// The same few rows are chosen again and again: little is learned of the others.
    FewRows {
        /// Over so many rounds.
        rounds: u64,
        /// So many rows, chosen equally often, would be as varied.
        effective: f64,
        /// How many a round chooses.
        per_round: f64,
        /// The row that was chosen most often.
        most: String,
        /// The share of rounds that chose it.
        share: f64,
        /// The share of sends that the estimate alone would not have chosen.
        exploration: f64,
    },
    /// Answers came that could not be used.
    Aside {
        /// How many.
        answers: u64,
    },
}

impl Alert {
    /// What it is, in a few words.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::Drift { .. } => "Drift: rewards are not what was predicted",
            Self::FewRows { .. } => "Low entropy: the same rows again and again",
            Self::Aside { .. } => "Answers that could not be used",
        }
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drift { sends, observed, predicted, errors, cause } => {
                write!(
                    f,
                    "The newest {sends} settled sends brought {observed:.4} of reward each where {predicted:.4} was \
                     predicted, {:.1} standard errors {}.",
                    errors.abs(),
                    if *errors > 0.0 { "more" } else { "less" }
                )?;
                match cause {
                    Some(cause) => write!(f, " Most of it comes from {cause}."),
                    None => Ok(()),
                }
            }
            Self::FewRows { rounds, effective, per_round, most, share, exploration } => write!(
                f,
                "Over {rounds} rounds the choices are as varied as {effective:.0} rows, where a round chooses \
                 {per_round:.0}. {most} was in {:.0}% of the rounds, and {:.1}% of the sends were exploration: the \
                 estimates are far apart compared with their uncertainty, or few rows are eligible.",
                100.0 * share,
                100.0 * exploration
            ),
            Self::Aside { answers } => {
                write!(f, "{answers} answers were put aside for a bad value, to be mended and sent again.")
            }
        }
    }
}

/// The newest sends that drift is looked for in, and the least number of them.
const NEWEST: usize = 1000;
const LEAST: usize = 200;
/// Standard errors that count as drift.
const ERRORS: f64 = 5.0;
/// The least number of rounds in which the same rows must have been chosen.
const LEAST_ROUNDS: usize = 40;

pub(super) fn alerts(past: &[Past], exploration: Option<f64>) -> Vec<Alert> {
    let mut alerts = Vec::new();
    alerts.extend(drift(past));
    alerts.extend(few_rows(past, exploration.unwrap_or(1.0)));
    let answers: u64 = past.iter().map(|one| one.info.counts.aside).sum();
    if answers > 0 {
        alerts.push(Alert::Aside { answers });
    }
    alerts
}

/// A send with what its reward was predicted to be, and the reward less this.
struct Off<'a> {
    sent: &'a Sent,
    predicted: f64,
    by: f64,
}

/// The mean of some differences in standard errors; zero where they do not vary.
fn errors(of: &[Off<'_>]) -> f64 {
    let count = of.len() as f64;
    let mean = of.iter().map(|own| own.by).sum::<f64>() / count.max(1.0);
    let squares: f64 = of.iter().map(|own| (own.by - mean).powi(2)).sum();
    let error = (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt();
    if error > 0.0 { mean / error } else { 0.0 }
}

fn drift(past: &[Past]) -> Option<Alert> {
    let settled = past.iter().filter(|one| !one.is_open()).flat_map(super::past::Past::sends);
    let off = settled.filter(|(sent, _)| sent.greedy.is_some());
    let off = off.filter_map(|(sent, fate)| {
        let (reward, predicted) = (fate.reward()?, fate.predicted(sent.mean));
        Some(Off { sent, predicted, by: reward - predicted })
    });
    let off: Vec<Off<'_>> = off.collect();
    // Half of what there is at most, so that there is something to compare with.
    let newest = NEWEST.min(off.len() / 2);
    if newest < LEAST {
        return None;
    }
    let (before, now) = off.split_at(off.len() - newest);
    let z = errors(now);
    let mean = |of: &[Off<'_>]| of.iter().map(|own| own.by).sum::<f64>() / of.len() as f64;
    // A model that was off by as much all the time does not drift: calibration shows that.
    if z.abs() < ERRORS || mean(now).abs() < 1.5 * mean(before).abs() {
        return None;
    }
    let predicted = now.iter().map(|own| own.predicted).sum::<f64>() / newest as f64;
    let observed = predicted + mean(now);
    Some(Alert::Drift { sends: newest as u64, observed, predicted, errors: z, cause: cause(now, z) })
}

/// The promotion, segment or row with the most of a difference, if it has more than its share.
fn cause(now: &[Off<'_>], z: f64) -> Option<String> {
    let total: f64 = now.iter().map(|own| own.by).sum();
    let mut parts: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    for Off { sent, by, .. } in now {
        let segment = sent.segment.as_ref().map(|segment| format!("segment {segment}"));
        let names = [format!("promotion {}", sent.promotion), sent.customer.clone()];
        for name in names.into_iter().chain(segment) {
            let part = parts.entry(name).or_default();
            *part = (part.0 + by, part.1 + 1);
        }
    }
    let share = |part: &(f64, usize)| part.0 / total;
    let own = |part: &(f64, usize)| part.1 as f64 / now.len() as f64;
    // A part that is nearly everything explains nothing.
    let telling =
        parts.iter().filter(|(_, part)| own(part) < 0.8 && share(part) > 1.5 * own(part) && share(part) > 0.2);
    let most = telling.max_by(|a, b| share(a.1).total_cmp(&share(b.1)).then_with(|| b.0.cmp(a.0)))?;
    let word = if z > 0.0 { "more" } else { "less" };
    let each = most.1.0.abs() / most.1.1 as f64;
    Some(format!("{}: {each:.4} {word} than predicted in {} sends", most.0, most.1.1))
}

fn few_rows(past: &[Past], exploration: f64) -> Option<Alert> {
    let rounds: Vec<&Past> = past.iter().filter(|one| one.sends().next().is_some()).collect();
    if rounds.len() < LEAST_ROUNDS {
        return None;
    }
    let mut chosen: BTreeMap<&str, u64> = BTreeMap::new();
    for (sent, _) in rounds.iter().flat_map(|one| one.sends()) {
        *chosen.entry(&sent.customer).or_default() += 1;
    }
    let total: u64 = chosen.values().sum();
    let share = |count: u64| count as f64 / total as f64;
    let entropy: f64 = chosen.values().map(|&count| -share(count) * share(count).ln()).sum();
    let (effective, per_round) = (entropy.exp(), total as f64 / rounds.len() as f64);
    if effective > 1.25 * per_round {
        return None;
    }
    let (most, count) = chosen.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)))?;
    Some(Alert::FewRows {
        rounds: rounds.len() as u64,
        effective,
        per_round,
        most: (*most).to_owned(),
        share: (*count as f64 / rounds.len() as f64).min(1.0),
        exploration,
    })
}
