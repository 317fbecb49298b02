//! The rows that belong to events: decisions and outcomes, written, read and checked against their event's digest.
//!
//! A round is only ever read whole and checked, never row by row on trust; the exception is
//! looking a customer up, which learns nothing by itself.

use super::{Campaign, EventKind, event::hex};
use crate::Error;
use rusqlite::{Row, Transaction, params};
use sha2::{Digest, Sha256};
use std::{collections::HashMap, fmt, str::FromStr};

/// Names a decision: the round and the number in it; as text `r3-17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId {
    /// The round.
    pub round: u64,
    /// The number in the round, from 1.
    pub number: u32,
}

impl DecisionId {
    pub(crate) fn key(self) -> i64 {
        (self.round << 32 | u64::from(self.number)).cast_signed()
    }

    pub(crate) fn of(key: i64) -> Self {
        let key = key.cast_unsigned();
        Self { round: key >> 32, number: key as u32 }
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}-{}", self.round, self.number)
    }
}

impl FromStr for DecisionId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (round, number) = text.trim().strip_prefix('r').and_then(|rest| rest.split_once('-')).ok_or(())?;
        let round = round.parse().ok().filter(|&round: &u64| round < 1 << 31).ok_or(())?;
        Ok(Self { round, number: number.parse().map_err(|_| ())? })
    }
}

/// A decision: a customer chosen for a promotion.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// Its id.
    pub id: DecisionId,
    /// The customer, as in the table.
    pub customer: String,
    /// The promotion's name.
    pub promotion: String,
    /// In the hold-out: would have been chosen, was not contacted.
    pub control: bool,
    /// The customer's segment.
    pub segment: Option<String>,
    /// The estimated reward.
    pub mean: f64,
    /// Its uncertainty.
    pub width: f64,
    /// The customer's own draw.
    pub draw: Option<f64>,
    /// What was maximised.
    pub score: f64,
    /// 1, 2, ... by score within the promotion.
    pub rank: u32,
    /// Whether the estimate alone would have chosen it too.
    pub greedy: Option<bool>,
    /// x, in numbers that single precision has.
    pub features: armwise::Row,
}

/// What became of a decision, by an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The decision.
    pub decision: DecisionId,
    /// The reward; none for an undelivered send.
    pub reward: Option<f64>,
}

/// The last outcome of each decision of a round that has one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fates(pub(crate) HashMap<DecisionId, (EventKind, Option<f64>)>);

impl Fates {
    pub(crate) fn apply(&mut self, kind: EventKind, outcomes: &[Outcome]) {
        for outcome in outcomes {
            self.0.insert(outcome.decision, (kind, outcome.reward));
        }
    }
}

fn text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}

fn optional(hash: &mut Sha256, number: Option<f64>) {
    hash.update([u8::from(number.is_some())]);
    hash.update(number.unwrap_or(0.0).to_bits().to_le_bytes());
}

/// SHA-256 over decisions in their order.
pub(super) fn digest_sent(sent: &[Sent]) -> String {
    let (mut hash, mut features) = (Sha256::new(), Vec::new());
    for row in sent {
        hash.update(row.id.key().to_le_bytes());
        text(&mut hash, &row.customer);
        text(&mut hash, &row.promotion);
        hash.update([u8::from(row.control), u8::from(row.segment.is_some())]);
        text(&mut hash, row.segment.as_deref().unwrap_or(""));
        for number in [row.mean, row.width, row.score] {
            hash.update(number.to_bits().to_le_bytes());
        }
        optional(&mut hash, row.draw);
        hash.update(row.rank.to_le_bytes());
        hash.update([row.greedy.map_or(2, u8::from)]);
        blob(&row.features, &mut features);
        hash.update(&features);
    }
    hex(hash)
}

/// SHA-256 over outcomes in their order.
pub(super) fn digest_outcomes(outcomes: &[Outcome]) -> String {
    let mut hash = Sha256::new();
    for outcome in outcomes {
        hash.update(outcome.decision.key().to_le_bytes());
        optional(&mut hash, outcome.reward);
    }
    hex(hash)
}

/// The features as they are stored: the recipe gives numbers of single precision, so nothing is lost.
fn blob(features: &[f64], room: &mut Vec<u8>) {
    room.clear();
    room.extend(features.iter().flat_map(|&x| (x as f32).to_le_bytes()));
}

pub(super) fn insert_sent(transaction: &Transaction<'_>, seq: u64, sent: &[Sent]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    let mut features = Vec::new();
    for row in sent {
        blob(&row.features, &mut features);
        let Sent { customer, promotion, control, segment, mean, width, draw, score, rank, greedy, .. } = row;
        let (id, seq) = (row.id.key(), seq.cast_signed());
        insert.execute(params![
            id, seq, customer, promotion, control, segment, mean, width, draw, score, rank, greedy, features
        ])?;
    }
    Ok(())
}

pub(super) fn insert_outcomes(transaction: &Transaction<'_>, seq: u64, outcomes: &[Outcome]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare("INSERT INTO outcome VALUES (?, ?, ?, ?)")?;
    for (number, outcome) in (1_i64..).zip(outcomes) {
        insert.execute(params![seq.cast_signed(), number, outcome.decision.key(), outcome.reward])?;
    }
    Ok(())
}

fn read_sent(row: &Row<'_>) -> rusqlite::Result<Sent> {
    let features: Vec<u8> = row.get("features")?;
    let features: Vec<f64> = features.as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect();
    Ok(Sent {
        id: DecisionId::of(row.get("id")?),
        customer: row.get("customer")?,
        promotion: row.get("promotion")?,
        control: row.get("control")?,
        segment: row.get("segment")?,
        mean: row.get("mean")?,
        width: row.get("width")?,
        draw: row.get("draw")?,
        score: row.get("score")?,
        rank: row.get("rank")?,
        greedy: row.get("greedy")?,
        features: features.into(),
    })
}

impl Campaign {
    /// The decisions of a round, checked.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a round that was not chosen, [`Error::Damaged`].
    pub fn sent(&self, round: u64) -> Result<Vec<Sent>, Error> {
        let event = self.events.iter().find(|event| event.kind == EventKind::Choose && event.round == Some(round));
        let Some(event) = event else { return self.round(round).map(|_| Vec::new()) };
        let mut statement = self
            .db
            .prepare_cached("SELECT * FROM decision WHERE id >= ? AND id < ? ORDER BY id")
            .map_err(|error| self.sql(error))?;
        let (first, end) = ((round << 32).cast_signed(), ((round + 1) << 32).cast_signed());
        let rows = statement.query_map([first, end], read_sent).map_err(|error| self.sql(error))?;
        let sent: Vec<Sent> = rows.collect::<Result<_, _>>().map_err(|error| self.sql(error))?;
        self.check(event.seq, sent.len(), &digest_sent(&sent))?;
        Ok(sent)
    }

    /// The outcomes of an event, checked.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        let mut statement = self
            .db
            .prepare_cached("SELECT decision, reward FROM outcome WHERE seq = ? ORDER BY number")
            .map_err(|error| self.sql(error))?;
        let read = |row: &Row<'_>| Ok(Outcome { decision: DecisionId::of(row.get(0)?), reward: row.get(1)? });
        let rows = statement.query_map([seq.cast_signed()], read).map_err(|error| self.sql(error))?;
        let outcomes: Vec<Outcome> = rows.collect::<Result<_, _>>().map_err(|error| self.sql(error))?;
        self.check(seq, outcomes.len(), &digest_outcomes(&outcomes))?;
        Ok(outcomes)
    }

    fn check(&self, seq: u64, rows: usize, digest: &str) -> Result<(), Error> {
        let event = &self.events[seq as usize - 1];
        if event.rows == rows as u64 && event.digest == digest {
            return Ok(());
        }
        let problem = format!("the {rows} rows of event {seq} ({}) do not have their digest", event.kind.name());
        Err(Error::Damaged { path: self.path.clone(), problem, cause: None })
    }

    /// The last outcome of each decision of a round, from checked events.
    pub(crate) fn fates(&self, round: u64) -> Result<Fates, Error> {
        let mut fates = Fates::default();
        for event in self.events.iter().filter(|event| event.kind != EventKind::Close) {
            if event.touched().contains(&round) {
                let mut outcomes = self.outcomes(event.seq)?;
                outcomes.retain(|outcome| outcome.decision.round == round);
                fates.apply(event.kind, &outcomes);
            }
        }
        Ok(fates)
    }
}
