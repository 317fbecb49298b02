//! Decisions and what became of them, as rows, with the digests by which an entry vouches for its rows.
//!
//! A digest covers every field of every row in their order. A new field must go into the digest too, or nobody notices
//! when it changes.

use super::{Kind, Sha};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{borrow::Cow, fmt, str::FromStr};

/// The last round that a campaign can have; decisions of later ones would have no id.
pub const LAST_ROUND: u64 = 1 << 30;
/// The largest number that can be given to a round. It leaves room for millions of rounds after it, so that a number
/// with too many digits does not end the campaign.
pub const LAST_GIVEN_ROUND: u64 = 1_000_000_000;

/// The id of a decision: the round and the number in it; as text `r3-17`. People see it with the campaign's
/// [`Tag`](super::Tag).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId {
    /// The round.
    pub round: u64,
    /// The number in the round, from 1.
    pub number: u32,
}

impl DecisionId {
    /// As one number: round * 2^32 + number.
    #[must_use]
    pub fn key(self) -> i64 {
        (self.round << 32 | u64::from(self.number)).cast_signed()
    }

    /// From one number.
    #[must_use]
    pub fn of(key: i64) -> Self {
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
        // `parse` alone would take a sign.
        let whole = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let round = whole(round).filter(|round| (1..=LAST_ROUND).contains(round)).ok_or(())?;
        let number = whole(number).and_then(|number| u32::try_from(number).ok()).filter(|&number| number > 0);
        Ok(Self { round, number: number.ok_or(())? })
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
    pub hold_out: bool,
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
    /// The probability with which the round chose it, where it is known.
    pub probability: Option<f64>,
    /// x, in numbers that single precision has.
    pub features: armwise::Row,
}

/// A reward, and how probable it was that the chosen arm was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Answer {
    /// The reward.
    pub reward: f64,
    /// The probability with which the arm was looked at, above 0 and below 1; none for 1, so that there is one way to say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examined: Option<f64>,
}

impl Answer {
    /// A reward of an arm that was looked at.
    #[must_use]
    pub fn of(reward: f64) -> Self {
        Self { reward, examined: None }
    }

    /// What a model learns in place of the features x: q x, where q is the probability.
    #[must_use]
    pub fn seen<'a>(&self, features: &'a [f64]) -> Cow<'a, [f64]> {
        match self.examined {
            Some(q) => features.iter().map(|x| q * x).collect(),
            None => Cow::Borrowed(features),
        }
    }

    /// From the two columns that a store has for it; nothing for an undelivered send.
    pub(crate) fn stored(reward: Option<f64>, examined: Option<f64>) -> Result<Option<Self>, String> {
        match (reward, examined) {
            (None, Some(q)) => Err(format!("an outcome without a reward was looked at with probability {q}")),
            (reward, examined) => Ok(reward.map(|reward| Self { reward, examined })),
        }
    }

    /// Whether both numbers are the same to the bit.
    pub(super) fn is(&self, other: &Self) -> bool {
        let bits = |answer: &Self| (answer.reward.to_bits(), answer.examined.map(f64::to_bits));
        bits(self) == bits(other)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reward)?;
        self.examined.map_or(Ok(()), |q| write!(f, " (examined with probability {q})"))
    }
}

/// What became of a decision, by an entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The decision.
    pub decision: DecisionId,
    /// Its reward; none for an undelivered send.
    pub answer: Option<Answer>,
}

/// An outcome with the entry that brought it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heard {
    /// The entry.
    pub seq: u64,
    /// What the entry was.
    pub kind: Kind,
    /// What became of which decision.
    pub outcome: Outcome,
}

fn text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}

fn optional(hash: &mut Sha256, number: Option<f64>) {
    hash.update([u8::from(number.is_some())]);
    hash.update(number.unwrap_or(0.0).to_bits().to_le_bytes());
}

/// SHA-256 over decisions that come one after the other.
#[derive(Debug, Default)]
pub(super) struct DecisionDigest {
    hash: Sha256,
    features: Vec<u8>,
    count: u64,
}

impl DecisionDigest {
    pub(super) fn add(&mut self, row: &Sent) {
        let Self { hash, features, count } = self;
        hash.update(row.id.key().to_le_bytes());
        text(hash, &row.customer);
        text(hash, &row.promotion);
        hash.update([u8::from(row.hold_out), u8::from(row.segment.is_some())]);
        text(hash, row.segment.as_deref().unwrap_or(""));
        for number in [row.mean, row.width, row.score] {
            hash.update(number.to_bits().to_le_bytes());
        }
        optional(hash, row.draw);
        hash.update(row.rank.to_le_bytes());
        // Only where there is one, so that the digests of rows without it stay what they were.
        hash.update([row.greedy.map_or(2, u8::from) + if row.probability.is_some() { 4 } else { 0 }]);
        if let Some(probability) = row.probability {
            hash.update(probability.to_bits().to_le_bytes());
        }
        feature_bytes(&row.features, features);
        hash.update(&*features);
        *count += 1;
    }

    /// How many decisions there were, and their digest.
    pub(super) fn finish(self) -> (u64, Sha) {
        (self.count, Sha::finish(self.hash))
    }
}

/// SHA-256 over decisions in their order.
pub(crate) fn digest_sent(sent: &[Sent]) -> Sha {
    let mut digest = DecisionDigest::default();
    sent.iter().for_each(|row| digest.add(row));
    digest.finish().1
}

/// SHA-256 over outcomes in their order.
pub(crate) fn digest_outcomes<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Sha {
    let mut hash = Sha256::new();
    for outcome in outcomes {
        hash.update(outcome.decision.key().to_le_bytes());
        let (reward, examined) = outcome.answer.map_or((None, None), |own| (Some(own.reward), own.examined));
        // Only where there is one, so that the digests of outcomes without it stay what they were.
        hash.update([u8::from(reward.is_some()) + if examined.is_some() { 4 } else { 0 }]);
        hash.update(reward.unwrap_or(0.0).to_bits().to_le_bytes());
        if let Some(examined) = examined {
            hash.update(examined.to_bits().to_le_bytes());
        }
    }
    Sha::finish(hash)
}

/// The hash of all outcomes of a round after one more entry: over the hash before, the entry, its kind and its outcomes
/// of this round. It vouches for the round's outcomes without reading those of any other round.
pub(super) fn hear(before: Sha, seq: u64, kind: Kind, digest: Sha) -> Sha {
    let hash = Sha256::new().chain_update(before.0).chain_update(seq.to_le_bytes());
    Sha::finish(hash.chain_update(kind.name()).chain_update(digest.0))
}

/// As [`hear`], from nothing over all of a round's outcomes.
pub(super) fn hear_all(heard: &[Heard]) -> Sha {
    let runs = heard.chunk_by(|a, b| a.seq == b.seq);
    runs.fold(Sha::of(""), |before, run| {
        hear(before, run[0].seq, run[0].kind, digest_outcomes(run.iter().map(|heard| &heard.outcome)))
    })
}

/// The features as they are stored, little-endian f32: the recipe gives numbers of single precision, so nothing is
/// lost.
pub(crate) fn feature_bytes(features: &[f64], room: &mut Vec<u8>) {
    room.clear();
    room.extend(features.iter().flat_map(|&x| (x as f32).to_le_bytes()));
}
