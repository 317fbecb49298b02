//! Responses, corrections and bounces: each row finds its decision, and each is counted once.
//!
//! Good rows are applied and bad ones put aside with the reason, in one entry. A row that repeats what is known changes
//! nothing, so a file can be read again, split or reordered at will. A row that could mean two decisions is put aside,
//! never guessed.

use super::{
    Campaign, Command, DecisionId, Draft, Kind, Outcome, Rejection, Responses, Sha,
    find::Finder,
    judge::{self, Verdict},
};
use crate::{
    Error,
    input::Source,
    table::{Cell, Rows, Sheet},
};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// What a table of responses is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Feedback {
    /// First rewards.
    Rewards,
    /// Who answered: a row without a reward is worth this much.
    Responders {
        /// What an answer is worth.
        worth: f64,
    },
    /// Rewards that replace earlier ones.
    Corrections,
    /// Sends that did not arrive.
    Undelivered,
}

impl Feedback {
    fn kind(self) -> Kind {
        match self {
            Self::Rewards | Self::Responders { .. } => Kind::Learn,
            Self::Corrections => Kind::Correct,
            Self::Undelivered => Kind::Undelivered,
        }
    }

    fn command(self, responses: Responses) -> Command {
        match self {
            Self::Rewards | Self::Responders { .. } => Command::Learn(responses),
            Self::Corrections => Command::Correct(responses),
            Self::Undelivered => Command::Undelivered(responses),
        }
    }

    fn worth(self) -> Option<f64> {
        if let Self::Responders { worth } = self { Some(worth) } else { None }
    }
}

/// What a table of responses did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Learned {
    /// How many rows were read.
    pub rows: u64,
    /// How many changed something.
    pub applied: u64,
    /// How many repeated what was already known.
    pub repeated: u64,
    /// How many were put aside.
    pub rejected: u64,
    /// How many were put aside for which kind of reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// The rounds that changed.
    pub rounds: Vec<u64>,
    /// The hash of the model now.
    pub model: Sha,
}

/// A row of responses, as text.
#[derive(Debug, Clone, Default)]
pub(super) struct Response {
    line: u64,
    pub(super) decision: Option<String>,
    pub(super) customer: Option<String>,
    pub(super) promotion: Option<String>,
    pub(super) round: Option<String>,
    pub(super) reward: Option<String>,
}

/// Reads a table of responses; where `round` is given, all rows are about that round.
///
/// Its columns are `decision`, or the customer with `promotion` and `round` where needed, and `reward`.
///
/// # Errors
/// [`Error::Table`] for a table that cannot be read; nothing has changed then. Rows put aside are not an error: they
/// are returned as a sheet.
pub fn learn(
    campaign: &mut Campaign,
    table: &dyn Source,
    feedback: Feedback,
    round: Option<u64>,
) -> Result<(Learned, Sheet), Error> {
    if let Some(round) = round {
        campaign.round(round)?;
    }
    let against = campaign.head();
    let responses = read(campaign, table, feedback)?;
    let digest = digest(&responses, round, feedback);
    let judged = judge_all(campaign, &responses, feedback, round, digest)?;
    let mut rejects = Sheet::new(&["line", "decision", "customer", "promotion", "round", "reward", "reason"]);
    let mut reasons = BTreeMap::new();
    for (place, rejection) in &judged.rejected {
        *reasons.entry(rejection.reason()).or_default() += 1;
        rejects.push(responses[*place].cells(&rejection.to_string()));
    }
    let outcomes: Vec<Outcome> = judged.applied.into_values().collect();
    let rounds: BTreeSet<u64> = outcomes.iter().map(|outcome| outcome.decision.round).collect();
    let rounds: Vec<u64> = rounds.into_iter().collect();
    let (read, rejected) = (responses.len() as u64, judged.rejected.len() as u64);
    if !outcomes.is_empty() {
        let (table, repeated) = (table.name().to_owned(), judged.repeated);
        let command = feedback.command(Responses { table, digest, rounds: rounds.clone(), read, repeated, rejected });
        campaign.append(&against, &Draft { outcomes: &outcomes, ..Draft::new(command) }, || Ok(()))?;
    }
    let learned = Learned {
        rows: read,
        applied: outcomes.len() as u64,
        repeated: judged.repeated,
        rejected,
        reasons,
        rounds,
        model: campaign.model_hash(),
    };
    Ok((learned, rejects))
}

/// What is to be done with the rows of a table.
#[derive(Default)]
struct Judged {
    applied: BTreeMap<DecisionId, Outcome>,
    repeated: u64,
    /// By the row's index.
    rejected: Vec<(usize, Rejection)>,
}

fn judge_all(
    campaign: &Campaign,
    responses: &[Response],
    feedback: Feedback,
    round: Option<u64>,
    digest: Sha,
) -> Result<Judged, Error> {
    let seen_before = campaign.journal.has_read(feedback.kind(), digest)?;
    let finder = Finder::new(campaign, round);
    let claims = responses
        .iter()
        .map(|response| judge::claim(&finder, response, feedback, seen_before))
        .collect::<Result<Vec<_>, _>>()?;
    let contradicted = judge::contradictions(claims.iter().flatten());
    let mut judged = Judged::default();
    for (place, claim) in claims.into_iter().enumerate() {
        let verdict = match claim {
            Err(verdict) => verdict,
            Ok(Outcome { decision, .. }) if contradicted.contains(&decision) => {
                Verdict::Reject(Rejection::Contradiction(decision))
            }
            Ok(outcome) if judged.applied.contains_key(&outcome.decision) => Verdict::Repeated,
            Ok(outcome) => judge::judge(&finder, outcome, feedback)?,
        };
        match verdict {
            Verdict::Apply(outcome) => {
                judged.applied.insert(outcome.decision, outcome);
            }
            Verdict::Repeated => judged.repeated += 1,
            Verdict::Reject(rejection) => judged.rejected.push((place, rejection)),
        }
    }
    Ok(judged)
}

impl Response {
    fn cells(&self, reason: &str) -> Vec<Cell> {
        let text = |text: &Option<String>| text.as_deref().map_or(Cell::Nothing, Cell::from);
        vec![
            Cell::Whole(self.line.cast_signed()),
            text(&self.decision),
            text(&self.customer),
            text(&self.promotion),
            text(&self.round),
            text(&self.reward),
            Cell::from(reason),
        ]
    }
}

fn read(campaign: &Campaign, table: &dyn Source, feedback: Feedback) -> Result<Vec<Response>, Error> {
    let has: Vec<String> = table.columns()?.into_iter().map(|(name, _)| name).collect();
    let pick =
        |names: &[&str]| names.iter().find(|name| has.iter().any(|has| has == *name)).map(|name| (*name).to_owned());
    let decision = pick(&["decision"]);
    let customer = pick(&[campaign.config().customer.as_str(), "customer"]);
    let (promotion, round, reward) = (pick(&["promotion"]), pick(&["round"]), pick(&["reward"]));
    if decision.is_none() && customer.is_none() {
        let problem =
            format!("a column \"decision\" or {:?} is needed; it has {}", campaign.config().customer, has.join(", "));
        return Err(Error::table(table.name(), problem));
    }
    if reward.is_none() && matches!(feedback, Feedback::Rewards | Feedback::Corrections) {
        return Err(Error::NoRewards { table: table.name().to_owned() });
    }
    let columns = [decision, customer, promotion, round, reward];
    let wanted: Vec<String> = columns.iter().flatten().cloned().collect();
    let mut responses = Vec::new();
    for rows in table.batches(Some(&wanted))? {
        let rows: Rows = rows?;
        let mut texts = Vec::new();
        for column in &columns {
            // A reward may be any number; the others are names and ids.
            let read = if *column == columns[4] { Rows::any_texts } else { Rows::ids };
            texts.push(column.as_ref().map(|column| read(&rows, column)).transpose()?);
        }
        let mut take = |place: usize, row: usize| texts[place].as_mut().and_then(|texts| texts[row].take());
        for row in 0..rows.len() {
            responses.push(Response {
                line: rows.line(row),
                decision: take(0, row),
                customer: take(1, row),
                promotion: take(2, row),
                round: take(3, row),
                reward: take(4, row),
            });
        }
    }
    Ok(responses)
}

/// A hash of what a table says, to recognise a table that is read again.
fn digest(responses: &[Response], round: Option<u64>, feedback: Feedback) -> Sha {
    let mut hash = Sha256::new();
    hash.update(format!("{round:?} {:?}", feedback.worth()));
    for row in responses {
        for text in [&row.decision, &row.customer, &row.promotion, &row.round, &row.reward] {
            hash.update([u8::from(text.is_some())]);
            hash.update((text.as_ref().map_or(0, String::len) as u64).to_le_bytes());
            hash.update(text.as_deref().unwrap_or(""));
        }
    }
    Sha::finish(hash)
}
