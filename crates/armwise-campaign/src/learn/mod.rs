//! Responses, corrections and bounces: each row finds its decision, and each is counted once.
//!
//! Good rows are applied and bad ones put aside with the reason, in one transaction. A row that
//! says what is known already changes nothing, so a file can be read again, split or reordered at will. A row that could
//! mean two decisions is never guessed.

mod close;
mod find;
mod judge;

pub use close::{Closed, close};

use crate::{
    Campaign, Error,
    file::{DecisionId, Entry, EventKind, Outcome, hex},
    input::Source,
    table::{Cell, Rows, Sheet},
};
use find::Finder;
use judge::Verdict;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// What learning may be told.
#[derive(Debug, Clone, Copy, Default)]
pub struct LearnOptions {
    /// All rows are about this round.
    pub round: Option<u64>,
    /// The table lists who answered, without a reward: each is worth this much.
    pub responders: Option<f64>,
}

/// What a table of responses did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Learned {
    /// How many rows were read.
    pub rows: u64,
    /// How many changed something.
    pub applied: u64,
    /// How many said what was known already.
    pub repeated: u64,
    /// How many were put aside.
    pub rejected: u64,
    /// How many were put aside for which kind of reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// The rounds that changed.
    pub rounds: Vec<u64>,
    /// The hash of the model now.
    pub model: String,
}

/// A row of responses, as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Response {
    line: u64,
    decision: Option<String>,
    customer: Option<String>,
    promotion: Option<String>,
    round: Option<String>,
    reward: Option<String>,
}

/// Why a row is put aside: the kind, and the whole reason.
pub(crate) struct Rejected(pub(crate) &'static str, pub(crate) String);

/// Reads a table of responses (`kind` is learn), of corrections, or of sends that did not arrive.
///
/// Its columns are `decision`, or the customer with `promotion` and `round` where needed, and `reward`.
///
/// # Errors
/// [`Error::Table`] for a table that cannot be read; nothing has changed then. Rows put aside are no error: they come
/// back as a sheet.
pub fn learn(
    campaign: &mut Campaign,
    table: &dyn Source,
    kind: EventKind,
    options: LearnOptions,
) -> Result<(Learned, Sheet), Error> {
    if let Some(round) = options.round {
        campaign.round(round)?;
    }
    let responses = read(campaign, table, kind, options)?;
    let digest = digest(&responses, options);
    let seen_before = campaign.events().iter().any(|event| event.kind == kind && event.value("digest") == digest);
    let mut rejects = Sheet::new(&["line", "decision", "customer", "promotion", "round", "reward", "reason"]);
    let mut learned = Learned {
        rows: responses.len() as u64,
        applied: 0,
        repeated: 0,
        rejected: 0,
        reasons: BTreeMap::new(),
        rounds: Vec::new(),
        model: String::new(),
    };
    let mut outcomes: BTreeMap<DecisionId, Outcome> = BTreeMap::new();
    {
        let finder = Finder::new(campaign, options.round);
        let claims = responses
            .iter()
            .map(|response| judge::claim(&finder, response, kind, options, seen_before))
            .collect::<Result<Vec<_>, _>>()?;
        let contradicted = judge::contradictions(claims.iter().flatten());
        for (response, claim) in responses.iter().zip(claims) {
            let verdict = match claim {
                Err(verdict) => verdict,
                Ok(outcome) if contradicted.contains(&outcome.decision) => {
                    let text = format!("rows of this table contradict each other about {}", outcome.decision);
                    Verdict::Reject(Rejected("conflict", text))
                }
                Ok(outcome) if outcomes.contains_key(&outcome.decision) => Verdict::Repeated,
                Ok(outcome) => judge::judge(&finder, outcome, kind)?,
            };
            match verdict {
                Verdict::Apply(outcome) => {
                    outcomes.insert(outcome.decision, outcome);
                }
                Verdict::Repeated => learned.repeated += 1,
                Verdict::Reject(Rejected(reason, text)) => {
                    *learned.reasons.entry(reason).or_default() += 1;
                    learned.rejected += 1;
                    rejects.push(response.cells(&text));
                }
            }
        }
    }
    learned.applied = outcomes.len() as u64;
    if !outcomes.is_empty() {
        let outcomes: Vec<Outcome> = outcomes.into_values().collect();
        let touched: BTreeSet<u64> = outcomes.iter().map(|outcome| outcome.decision.round).collect();
        learned.rounds = touched.iter().copied().collect();
        let body = serde_json::json!({
            "table": table.name(), "digest": digest, "rounds": learned.rounds,
            "read": learned.rows, "repeated": learned.repeated, "rejected": learned.rejected,
        });
        let (body, sent) = (body.to_string(), &[][..]);
        campaign.append(&Entry { kind, round: None, body, sent, outcomes: &outcomes, touched: &touched }, || Ok(()))?;
    }
    learned.model = campaign.events().last().map_or(String::new(), |event| event.model.clone());
    Ok((learned, rejects))
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

fn read(
    campaign: &Campaign,
    table: &dyn Source,
    kind: EventKind,
    options: LearnOptions,
) -> Result<Vec<Response>, Error> {
    let has: Vec<String> = table.columns()?.into_iter().map(|(name, _)| name).collect();
    let pick =
        |names: &[&str]| names.iter().find(|name| has.iter().any(|has| has == *name)).map(|name| (*name).to_owned());
    let decision = pick(&["decision"]);
    let customer = pick(&[campaign.config().customer.as_str(), "customer"]);
    let (promotion, round, reward) = (pick(&["promotion"]), pick(&["round"]), pick(&["reward"]));
    if decision.is_none() && customer.is_none() {
        let problem = format!(
            "a column \"decision\" or {:?} is needed; there are {}",
            campaign.config().customer,
            has.join(", ")
        );
        return Err(Error::table(table.name(), problem));
    }
    if reward.is_none() && options.responders.is_none() && kind != EventKind::Undelivered {
        return Err(Error::NoRewards { table: table.name().to_owned() });
    }
    let columns = [decision, customer, promotion, round, reward];
    let wanted: Vec<String> = columns.iter().flatten().cloned().collect();
    let mut responses = Vec::new();
    for rows in table.batches(Some(&wanted))? {
        let rows: Rows = rows?;
        let mut texts = columns
            .iter()
            .map(|column| column.as_ref().map(|column| rows.any_texts(column)).transpose())
            .collect::<Result<Vec<_>, _>>()?;
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

/// What a table says, as a hash: it tells a table that is read again from another one.
fn digest(responses: &[Response], options: LearnOptions) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{:?} {:?}", options.round, options.responders));
    for row in responses {
        for text in [&row.decision, &row.customer, &row.promotion, &row.round, &row.reward] {
            hash.update([u8::from(text.is_some())]);
            hash.update((text.as_ref().map_or(0, String::len) as u64).to_le_bytes());
            hash.update(text.as_deref().unwrap_or(""));
        }
    }
    hex(hash)
}
