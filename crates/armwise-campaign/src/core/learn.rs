//! Responses, corrections and bounces: each row finds its decision, and each is counted once.
//!
//! Good rows are applied and bad ones put aside with the reason, in one entry. A row that repeats what is known of its
//! decision changes nothing, so a file can be read again, split or reordered at will. A row that could mean two
//! decisions is put aside, never guessed, and a table that names neither decisions nor rounds belongs to one stated
//! round. What a table says never tells whether it was read before: two weeks may well bring the same answers. A key
//! does.

use super::{
    Campaign, Command, DecisionId, Draft, Flaw, Key, Outcome, Refusal, Rejection, Responses, Sha,
    aside::grouped,
    find::Finder,
    judge::{self, Claim, Verdict},
};
use crate::{
    Error,
    input::Source,
    table::{Cell, Parsed, Rows, Sheet, column_named, flag},
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
    /// Whether a command reads such a table, with the same content.
    pub(super) fn is_of(self, command: &Command, digest: Sha) -> bool {
        match (self, command) {
            (Self::Rewards | Self::Responders { .. }, Command::Learn(told))
            | (Self::Corrections, Command::Correct(told))
            | (Self::Undelivered, Command::Undelivered(told)) => told.digest == digest,
            _ => false,
        }
    }

    pub(super) fn command(self, responses: Responses) -> Command {
        match self {
            Self::Rewards | Self::Responders { .. } => Command::Learn(responses),
            Self::Corrections => Command::Correct(responses),
            Self::Undelivered => Command::Undelivered(responses),
        }
    }

    pub(super) fn worth(self) -> Option<f64> {
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
    /// How many of these are about the hold-out.
    pub hold_out: u64,
    /// How many repeated what was already known.
    pub repeated: u64,
    /// How many were put aside.
    pub rejected: u64,
    /// How many were put aside for which kind of reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// How many decisions stay pending because the rows about them were put aside for a bad value.
    pub pending: u64,
    /// The rounds that changed.
    pub rounds: Vec<u64>,
    /// The hash of the model now.
    pub model: Sha,
}

/// A row of responses, as text.
#[derive(Debug, Clone, Default)]
pub(super) struct Response {
    pub(super) line: u64,
    pub(super) decision: Option<String>,
    pub(super) customer: Option<String>,
    pub(super) promotion: Option<String>,
    pub(super) round: Option<String>,
    pub(super) reward: Option<String>,
    /// What the reward is as a number, by the decimal mark of its table; a flag is 1 or 0.
    pub(super) number: Option<f64>,
    pub(super) examined: Option<String>,
    /// What examined is as a number.
    pub(super) chance: Option<f64>,
}

/// How a table of responses is learned.
#[derive(Debug, Clone, Default)]
pub struct LearnOptions {
    /// All rows are about this round.
    pub round: Option<u64>,
    /// The caller's own name for the request.
    pub key: Option<Key>,
    /// The column with the customer's id; that of the campaign's rules unless given.
    pub customer_column: Option<String>,
    /// The column with the reward; that of the campaign's rules unless given.
    pub reward_column: Option<String>,
    /// The column with the probability with which an arm was looked at; that of the campaign's rules unless given.
    pub examined_column: Option<String>,
}

/// Reads a table of responses; where `round` is given, all rows are about that round.
///
/// Its columns are `decision`, or the customer with `promotion` and `round` where needed, `reward` and, where arms may not
/// have been looked at, `examined`, the probability with which each was: 1 where it is missing. A table with neither
/// `decision` nor `round` belongs to `round`, or to the only round that it can be about.
///
/// With a `key`, the same table with the same key gives the same answer and changes nothing, and the request is
/// remembered even if no row could be applied.
///
/// # Errors
/// [`Error::Table`] for a table that cannot be read, [`Error::WhichRound`] for one that could be about several rounds,
/// [`Error::KeyUsed`]; nothing has changed then. Rows put aside are not an error: they are returned as a sheet.
pub fn learn(
    campaign: &mut Campaign,
    table: &dyn Source,
    feedback: Feedback,
    round: Option<u64>,
    key: Option<&Key>,
) -> Result<(Learned, Sheet), Error> {
    learn_with(campaign, table, feedback, &LearnOptions { round, key: key.cloned(), ..LearnOptions::default() })
}

/// As [`learn`], with columns of other names.
///
/// # Errors
/// As [`learn`].
pub fn learn_with(
    campaign: &mut Campaign,
    table: &dyn Source,
    feedback: Feedback,
    options: &LearnOptions,
) -> Result<(Learned, Sheet), Error> {
    let (round, key) = (options.round, options.key.as_ref());
    if let Some(worth) = feedback.worth().filter(|&worth| !judge::is_usable(worth)) {
        return Err(Refusal::BadWorth(worth).into());
    }
    if let Some(round) = round {
        campaign.round(round)?;
    }
    let against = campaign.head();
    let Table { responses, names_rounds, has_examined } = read(campaign, table, feedback, options)?;
    let digest = digest(&responses, round, feedback);
    let earlier = campaign.earlier(key, |command| feedback.is_of(command, digest))?;
    // A request that was answered before is judged as it was then.
    let until = earlier.as_ref().map_or(u64::MAX, |(entry, _)| entry.seq - 1);
    let finder = Finder::new(campaign, feedback, round, until);
    if !names_rounds && finder.stated().is_none() {
        return Err(Error::WhichRound { table: table.name().to_owned(), rounds: finder.rounds(feedback) });
    }
    let judged = judge_all(&finder, &responses, feedback, key.is_some())?;
    let mut columns = vec!["line", "decision", "customer", "promotion", "round", "reward"];
    // Only where the table has it, so that the sheets of other tables stay what they were.
    columns.extend(has_examined.then_some("examined"));
    columns.push("reason");
    let mut rejects = Sheet::new(&columns);
    let mut reasons = BTreeMap::new();
    for (response, verdict) in responses.iter().zip(&judged.verdicts) {
        let Verdict::Reject(rejection) = verdict else { continue };
        *reasons.entry(rejection.reason()).or_default() += 1;
        rejects.push(response.cells(has_examined, &rejection.text(campaign.tag())));
    }
    let aside = grouped(&judged.aside);
    let pending = judged.aside.len() as u64;
    let outcomes: Vec<Outcome> = judged.applied.into_values().collect();
    let mut hold_out = 0;
    for outcome in &outcomes {
        hold_out += u64::from(finder.in_hold_out(outcome.decision)?);
    }
    let rounds: BTreeSet<u64> = outcomes.iter().map(|outcome| outcome.decision.round).collect();
    let rounds: Vec<u64> = rounds.into_iter().collect();
    let (read, rejected) = (responses.len() as u64, judged.rejected);
    let model = match earlier {
        Some((entry, _)) => entry.model,
        None if outcomes.is_empty() && judged.newly == 0 && key.is_none() => campaign.model_hash(),
        None => {
            let (table, repeated) = (table.name().to_owned(), judged.repeated);
            let told = Responses { table, digest, rounds: rounds.clone(), read, repeated, rejected, aside };
            let draft = Draft { key, outcomes: &outcomes, ..Draft::new(feedback.command(told)) };
            campaign.append(&against, &draft, || Ok(()))?;
            campaign.model_hash()
        }
    };
    let (applied, repeated) = (outcomes.len() as u64, judged.repeated);
    Ok((Learned { rows: read, applied, hold_out, repeated, rejected, reasons, pending, rounds, model }, rejects))
}

/// What is to be done with the rows of a table.
#[derive(Default)]
pub(super) struct Judged {
    /// Of each row.
    pub(super) verdicts: Vec<Verdict>,
    pub(super) applied: BTreeMap<DecisionId, Outcome>,
    pub(super) repeated: u64,
    pub(super) rejected: u64,
    /// The decisions that stay pending, with the flaw of the first row about them.
    pub(super) aside: BTreeMap<DecisionId, Flaw>,
    /// How many of these were not known to be so.
    pub(super) newly: u64,
}

pub(super) fn judge_all(
    finder: &Finder<'_>,
    responses: &[Response],
    feedback: Feedback,
    keyed: bool,
) -> Result<Judged, Error> {
    let claims =
        responses.iter().map(|response| judge::claim(finder, response, feedback)).collect::<Result<Vec<_>, _>>()?;
    let contradicted = judge::contradictions(claims.iter().filter_map(Claim::outcome));
    let mut judged = Judged::default();
    for claim in claims {
        let (about, verdict) = match claim {
            Claim::Not(about, rejection) => (about, Verdict::Reject(rejection)),
            Claim::Is(Outcome { decision, .. }) if contradicted.contains(&decision) => {
                (Some(decision), Verdict::Reject(Rejection::Contradiction(decision)))
            }
            Claim::Is(outcome) if judged.applied.contains_key(&outcome.decision) => (None, Verdict::Repeated),
            Claim::Is(outcome) => (None, judge::judge(finder, outcome, feedback, keyed)?),
        };
        match &verdict {
            Verdict::Apply(outcome) => {
                judged.applied.insert(outcome.decision, *outcome);
            }
            Verdict::Repeated => judged.repeated += 1,
            Verdict::Reject(rejection) => {
                if let Some((id, flaw)) = about.zip(Flaw::of(rejection)) {
                    judged.aside.entry(id).or_insert(flaw);
                }
                judged.rejected += 1;
            }
        }
        judged.verdicts.push(verdict);
    }
    // Only what has no outcome yet can stay pending, and only first rewards say that somebody answered.
    let first = matches!(feedback, Feedback::Rewards | Feedback::Responders { .. });
    let mut aside = BTreeMap::new();
    for (id, flaw) in judged.aside {
        if first && !judged.applied.contains_key(&id) && finder.is_pending(id)? {
            judged.newly += u64::from(!finder.is_aside(id)?);
            aside.insert(id, flaw);
        }
    }
    judged.aside = aside;
    Ok(judged)
}

impl Response {
    fn cells(&self, has_examined: bool, reason: &str) -> Vec<Cell> {
        let text = |text: &Option<String>| text.as_deref().map_or(Cell::Nothing, Cell::from);
        let mut cells = vec![
            Cell::Whole(self.line.cast_signed()),
            text(&self.decision),
            text(&self.customer),
            text(&self.promotion),
            text(&self.round),
            text(&self.reward),
        ];
        cells.extend(has_examined.then(|| text(&self.examined)));
        cells.push(Cell::from(reason));
        cells
    }
}

/// The columns of a table of responses, as the table names them.
struct Columns {
    decision: Option<String>,
    customer: Option<String>,
    promotion: Option<String>,
    round: Option<String>,
    reward: Option<String>,
    examined: Option<String>,
}

impl Columns {
    fn of(campaign: &Campaign, table: &dyn Source, feedback: Feedback, options: &LearnOptions) -> Result<Self, Error> {
        let has: Vec<String> = table.columns()?.into_iter().map(|(name, _)| name).collect();
        let refused = |problem: String| Error::table(table.name(), problem);
        let find = |name: &str| {
            let place = column_named(has.iter().map(String::as_str), name).map_err(refused)?;
            Ok::<_, Error>(place.map(|place| has[place].clone()))
        };
        let told = |name: &str| match find(name)? {
            Some(column) => Ok(column),
            None => Err(refused(format!("column {name:?} is missing; there are {}", has.join(", ")))),
        };
        let config = campaign.config();
        let customer = match options.customer_column.as_ref().or(config.tables.customer_column.as_ref()) {
            Some(name) => Some(told(name)?),
            None => match find(&config.customer)? {
                Some(column) => Some(column),
                None => find("customer")?,
            },
        };
        // A list of bounces has no reward, and one of responders need not have one.
        let optional = matches!(feedback, Feedback::Undelivered | Feedback::Responders { .. });
        let reward = match options.reward_column.as_ref().or(config.tables.reward_column.as_ref()) {
            Some(name) if !optional || options.reward_column.is_some() => Some(told(name)?),
            Some(name) => find(name)?,
            None => find("reward")?,
        };
        // Whatever did not arrive was not looked at.
        let examined = match (&options.examined_column, &config.tables.examined_column) {
            _ if feedback == Feedback::Undelivered => None,
            (Some(name), _) => Some(told(name)?),
            (None, Some(name)) => find(name)?,
            (None, None) => find("examined")?,
        };
        let [decision, promotion, round] = ["decision", "promotion", "round"].map(find);
        let columns = Self { decision: decision?, customer, promotion: promotion?, round: round?, reward, examined };
        if columns.decision.is_none() && columns.customer.is_none() {
            let problem =
                format!("a column \"decision\" or {:?} is needed; it has {}", config.customer, has.join(", "));
            return Err(refused(problem));
        }
        if columns.reward.is_none() && !optional {
            return Err(Error::NoRewards { table: table.name().to_owned() });
        }
        Ok(columns)
    }
}

/// What a table of responses says.
struct Table {
    responses: Vec<Response>,
    /// Whether it has a column that names decisions or rounds.
    names_rounds: bool,
    /// Whether it has one that says how probable it was that an arm was looked at.
    has_examined: bool,
}

fn read(campaign: &Campaign, table: &dyn Source, feedback: Feedback, options: &LearnOptions) -> Result<Table, Error> {
    let own = Columns::of(campaign, table, feedback, options)?;
    let (names_rounds, has_examined) = (own.decision.is_some() || own.round.is_some(), own.examined.is_some());
    let columns = [own.decision, own.customer, own.promotion, own.round, own.reward, own.examined];
    let wanted: Vec<String> = columns.iter().flatten().cloned().collect();
    let mut responses = Vec::new();
    for rows in table.batches(Some(&wanted))? {
        let rows: Rows = rows?;
        let mut texts = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            // A reward and a probability may be any numbers; the others are names and ids.
            let read = if place >= 4 { Rows::any_texts } else { Rows::ids };
            texts.push(column.as_ref().map(|column| read(&rows, column)).transpose()?);
        }
        let mut take = |place: usize, row: usize| texts[place].as_mut().and_then(|texts| texts[row].take());
        for row in 0..rows.len() {
            let (reward, examined) = (take(4, row), take(5, row));
            responses.push(Response {
                line: rows.line(row),
                decision: take(0, row),
                customer: take(1, row),
                promotion: take(2, row),
                round: take(3, row),
                number: reward.as_deref().and_then(|text| number(&rows, text)),
                reward,
                chance: examined.as_deref().and_then(|text| match rows.parsed(text) {
                    Parsed::Number(chance) => Some(chance),
                    _ => None,
                }),
                examined,
            });
        }
    }
    Ok(Table { responses, names_rounds, has_examined })
}

/// A reward as a number: written as one, or a flag, which is 1 or 0.
fn number(rows: &Rows, text: &str) -> Option<f64> {
    match rows.parsed(text) {
        Parsed::Number(number) => Some(number),
        Parsed::Not => flag(text).map(|flag| if flag { 1.0 } else { 0.0 }),
        Parsed::NotFinite | Parsed::OtherMark | Parsed::Ambiguous => None,
    }
}

/// A hash of what a table says and of what was asked, by which two requests with one key are compared.
pub(super) fn digest(responses: &[Response], round: Option<u64>, feedback: Feedback) -> Sha {
    let mut hash = Sha256::new();
    hash.update(format!("{round:?} {:?}", feedback.worth()));
    for row in responses {
        for text in [&row.decision, &row.customer, &row.promotion, &row.round, &row.reward] {
            hash.update([u8::from(text.is_some())]);
            hash.update((text.as_ref().map_or(0, String::len) as u64).to_le_bytes());
            hash.update(text.as_deref().unwrap_or(""));
        }
        // The same text is another number with another decimal mark.
        let told = |text: &Option<String>, number: Option<f64>| {
            let plain = text.as_deref().and_then(|text| text.trim().parse::<f64>().ok());
            number.filter(|number| plain.map(f64::to_bits) != Some(number.to_bits()))
        };
        if let Some(number) = told(&row.reward, row.number) {
            hash.update(number.to_bits().to_le_bytes());
        }
        // Only where there is one, so that requests of before stay what they were.
        if let Some(text) = &row.examined {
            hash.update([2]);
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
            if let Some(number) = told(&row.examined, row.chance) {
                hash.update(number.to_bits().to_le_bytes());
            }
        }
    }
    Sha::finish(hash)
}
