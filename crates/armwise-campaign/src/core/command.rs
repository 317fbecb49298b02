//! The commands of a campaign, each with its payload.
//!
//! A command becomes one entry of the journal. Its payload is the entry's body, so a field that is added here must have
//! a default, or older journals cannot be read.

use super::{Originals, PutAside, Sha, StateFormat, Tag};
use crate::{
    config::Config,
    recipe::Recipe,
    round::{ChosenSummary, Warning, Worth},
    table::Decimal,
};
use armwise::Model;
use serde::{Deserialize, Serialize};

/// What an entry is: a command without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The campaign begins.
    Init,
    /// A round was chosen.
    Choose,
    /// Rewards came.
    Learn,
    /// Rewards were changed.
    Correct,
    /// Sends did not arrive.
    Undelivered,
    /// A round's response window ended.
    Close,
    /// A round that was never sent was taken back.
    Revoke,
    /// Other rules hold from the next round on.
    Amend,
    /// What was sent and answered before the first round was learned.
    Logged,
    /// What was heard since the last fold was learned; only of campaigns with several rounds to a segment.
    Fold,
    /// A round that was held back goes out.
    Activate,
    /// Arms of the catalogue came, changed or went.
    Arms,
    /// Single decisions of old rounds were given up.
    Compact,
    /// The state so far, so that opening the campaign is fast.
    Checkpoint,
}

impl Kind {
    const ALL: [(Self, &'static str); 14] = [
        (Self::Init, "init"),
        (Self::Choose, "choose"),
        (Self::Learn, "learn"),
        (Self::Correct, "correct"),
        (Self::Undelivered, "undelivered"),
        (Self::Close, "close"),
        (Self::Revoke, "revoke"),
        (Self::Amend, "amend"),
        (Self::Logged, "logged"),
        (Self::Fold, "fold"),
        (Self::Activate, "activate"),
        (Self::Arms, "arms"),
        (Self::Compact, "compact"),
        (Self::Checkpoint, "checkpoint"),
    ];

    /// Its name in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// What `init` froze.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The tag of the campaign's decisions.
    pub tag: Tag,
    /// The rules.
    pub config: Config,
    /// The features.
    pub recipe: Recipe,
    /// What was known before the first round, from a learner that was saved elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Model>,
    /// How many consecutive rounds are a segment, whose sums are kept together.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rounds_per_segment: u64,
    /// The older file that the campaign comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrated: Option<Migrated>,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(value: &u64) -> bool {
    *value == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Setup {
    /// A campaign with a new tag and these rules and features that knows nothing yet.
    #[must_use]
    pub fn new(config: Config, recipe: Recipe) -> Self {
        let rounds_per_segment = config.rounds_per_segment;
        Self { tag: Tag::new(), config, recipe, start: None, rounds_per_segment, migrated: None }
    }
}

/// A campaign file of an older schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Migrated {
    /// Its schema's version.
    pub schema: u32,
    /// The hash of its last event, which covers its whole history.
    pub head: Sha,
}

/// A round that was chosen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Chosen {
    /// The round.
    pub round: u64,
    /// The seed of its draws.
    pub seed: u64,
    /// The sum of the scores.
    pub objective: Option<f64>,
    /// No choice has a larger sum.
    pub upper_bound: Option<f64>,
    /// How many customers the table had.
    pub customers: u64,
    /// How many of them are in the hold-out.
    #[serde(alias = "held_out")]
    pub hold_out_customers: u64,
    /// How many of them rested.
    pub resting: u64,
    /// Whether the hold-out rests and is learned from as the sends are; earlier programs did neither.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hold_out_alike: bool,
    /// Which columns of its decisions are kept; none if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originals: Option<Originals>,
    /// The entry whose model chose it; the one before its own unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<u64>,
    /// Whether it is held back: nothing is learned from it and its window does not run until it is activated.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hold: bool,
    /// How the probabilities of its decisions were found, where they have some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<String>,
    /// The law of the threshold, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<serde_json::Value>,
    /// The rows that it was chosen from, where they are kept: bytes beside the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
    /// Of a request with a key: what was asked, and the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<ChooseRequest>>,
    /// What one more unit of each limit would have been worth, where no answer that is kept says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Worth>,
    /// What was to be known before it was believed, of one that is answered from the journal alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// The rows that a round was chosen from, as they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidates {
    /// How many there are.
    pub rows: u64,
    /// Of those who were not chosen, one in so many was drawn; 1 for all of them.
    pub one_in: u64,
    /// The decimal mark of numbers in text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<Decimal>,
    /// SHA-256 of the bytes with the rows.
    pub digest: Sha,
}

/// A choice that was asked for with a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChooseRequest {
    /// SHA-256 of what was asked: the round and the seed that were given, and the table.
    pub digest: Sha,
    /// The answer; none where it follows from the decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ChosenSummary>,
}

/// A table of rewards, of corrections or of sends that did not arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Responses {
    /// The table's name.
    pub table: String,
    /// SHA-256 of what it says. It tells whether a request with the same key is the same request, and nothing else:
    /// two weeks may well say the same.
    pub digest: Sha,
    /// The rounds that it is about.
    pub rounds: Vec<u64>,
    /// How many rows were read.
    pub read: u64,
    /// How many of them repeated what was already known.
    pub repeated: u64,
    /// How many of them were put aside.
    pub rejected: u64,
    /// The decisions that stay pending because the rows about them were put aside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<PutAside>,
}

/// What was sent and answered before the first round. Its decisions are those of round 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// The table's name.
    pub table: String,
    /// SHA-256 of what it says, by which the same table is known again.
    pub digest: Sha,
    /// Which columns of its rows are kept; none if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originals: Option<Originals>,
    /// How many rows were read.
    pub read: u64,
    /// How many of them were put aside.
    pub rejected: u64,
}

/// A round that something happened to as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfRound {
    /// The round.
    pub round: u64,
}

/// Which rounds' response windows ended: one, or all that are open up to one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Closing {
    /// This round's.
    Round(OfRound),
    /// Those of all open rounds up to one, by the clock.
    Through(Through),
}

/// All open rounds up to one. Rounds that are held back stay open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Through {
    /// The last of the rounds.
    pub through: u64,
    /// Rounds that were activated later than this stay open: their window runs from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activated_before: Option<String>,
    /// What silence is worth in these rounds, by the rules that held when they were chosen.
    pub silence: Vec<SilenceOf>,
}

/// What silence is worth by the rules of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SilenceOf {
    /// The entry with the rules.
    pub rules: u64,
    /// Of a send.
    pub default: f64,
    /// Of the hold-out; none if its silence says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_out: Option<f64>,
}

/// All that was heard since the last fold is learned; the entry's changes say of which segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Folded {}

/// What happened to the catalogue of arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmsAction {
    /// The rows are new arms, or take the place of arms with their ids.
    Put,
    /// The rows have values for some columns of arms that are there; those with other ids are new arms.
    Change,
    /// The arms with the ids of the rows are not offered any more.
    Retire,
}

/// Arms of the catalogue that came, changed or went. Their rows are bytes beside the entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmsChange {
    /// What happened.
    pub action: ArmsAction,
    /// To how many arms.
    pub arms: u64,
    /// SHA-256 of the bytes with their rows.
    pub digest: Sha,
}

/// Rounds whose single decisions, outcomes and original columns were given up: all up to one, each of them closed or
/// revoked. Their counts, digests and sums stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// The last of the rounds.
    pub round: u64,
    /// How many decisions were given up.
    pub decisions: u64,
    /// How many outcomes.
    pub outcomes: u64,
    /// Of how many decisions the original columns.
    pub originals: u64,
    /// SHA-256 over the records of these rounds, which have the digests of the rows that were given up.
    pub rounds: Sha,
    /// SHA-256 over the hashes of these rounds' sums, which cannot be computed again.
    pub sums: Sha,
}

/// Rules that hold from the next round on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// All of them, also those that stay as they were.
    pub config: Config,
    /// The names of the model's blocks: every promotion that the campaign ever had, and nothing for what happens without
    /// a send; empty for those of the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<String>,
    /// A new recipe, under which everything that was learned is expressed anew; none if it stays as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
}

/// The hashes of a checkpoint; the bytes themselves are stored next to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vouched {
    /// SHA-256 of the state after the entry before.
    pub state: Sha,
    /// The sums of all segments up to this one are merged in the model.
    pub through: u64,
    /// SHA-256 of that model.
    pub model: Sha,
    /// How the state is written.
    #[serde(default, skip_serializing_if = "StateFormat::is_first")]
    pub format: StateFormat,
}

/// A command with its payload. Decisions and outcomes are not in the payload but stored as rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begin.
    Init(Box<Setup>),
    /// Choose a round; its decisions are rows.
    Choose(Chosen),
    /// Give first rewards; they are rows.
    Learn(Responses),
    /// Change rewards; they are rows.
    Correct(Responses),
    /// Say which sends did not arrive; they are rows.
    Undelivered(Responses),
    /// End response windows.
    Close(Closing),
    /// Take back a round that was never sent.
    Revoke(OfRound),
    /// Change the rules.
    Amend(Box<Rules>),
    /// Learn what happened before the first round; its decisions and rewards are rows.
    Logged(Logged),
    /// Learn what was heard since the last fold.
    Fold(Folded),
    /// Let a round go out that was held back.
    Activate(OfRound),
    /// Change the catalogue of arms; the rows are bytes.
    Arms(ArmsChange),
    /// Give up single decisions of old rounds.
    Compact(Compacted),
    /// Keep the state.
    Checkpoint(Vouched),
}

impl Command {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Init(_) => Kind::Init,
            Self::Choose(_) => Kind::Choose,
            Self::Learn(_) => Kind::Learn,
            Self::Correct(_) => Kind::Correct,
            Self::Undelivered(_) => Kind::Undelivered,
            Self::Close(_) => Kind::Close,
            Self::Revoke(_) => Kind::Revoke,
            Self::Amend(_) => Kind::Amend,
            Self::Logged(_) => Kind::Logged,
            Self::Fold(_) => Kind::Fold,
            Self::Activate(_) => Kind::Activate,
            Self::Arms(_) => Kind::Arms,
            Self::Compact(_) => Kind::Compact,
            Self::Checkpoint(_) => Kind::Checkpoint,
        }
    }

    /// The round that it is about as a whole.
    #[must_use]
    pub fn round(&self) -> Option<u64> {
        match self {
            Self::Choose(chosen) => Some(chosen.round),
            Self::Logged(_) => Some(0),
            Self::Close(Closing::Round(OfRound { round }))
            | Self::Revoke(OfRound { round })
            | Self::Activate(OfRound { round })
            | Self::Compact(Compacted { round, .. }) => Some(*round),
            _ => None,
        }
    }

    /// The payload as JSON.
    pub(super) fn body(&self) -> serde_json::Result<String> {
        match self {
            Self::Init(setup) => serde_json::to_string(setup),
            Self::Choose(chosen) => serde_json::to_string(chosen),
            Self::Learn(table) | Self::Correct(table) | Self::Undelivered(table) => serde_json::to_string(table),
            Self::Close(closing) => serde_json::to_string(closing),
            Self::Revoke(round) | Self::Activate(round) => serde_json::to_string(round),
            Self::Fold(folded) => serde_json::to_string(folded),
            Self::Arms(change) => serde_json::to_string(change),
            Self::Compact(compacted) => serde_json::to_string(compacted),
            Self::Amend(rules) => serde_json::to_string(rules),
            Self::Logged(logged) => serde_json::to_string(logged),
            Self::Checkpoint(vouched) => serde_json::to_string(vouched),
        }
    }

    /// The command of an entry.
    pub(super) fn parse(kind: Kind, body: &str) -> serde_json::Result<Self> {
        Ok(match kind {
            Kind::Init => Self::Init(serde_json::from_str(body)?),
            Kind::Choose => Self::Choose(serde_json::from_str(body)?),
            Kind::Learn => Self::Learn(serde_json::from_str(body)?),
            Kind::Correct => Self::Correct(serde_json::from_str(body)?),
            Kind::Undelivered => Self::Undelivered(serde_json::from_str(body)?),
            Kind::Close => Self::Close(serde_json::from_str(body)?),
            Kind::Revoke => Self::Revoke(serde_json::from_str(body)?),
            Kind::Amend => Self::Amend(serde_json::from_str(body)?),
            Kind::Logged => Self::Logged(serde_json::from_str(body)?),
            Kind::Fold => Self::Fold(serde_json::from_str(body)?),
            Kind::Activate => Self::Activate(serde_json::from_str(body)?),
            Kind::Arms => Self::Arms(serde_json::from_str(body)?),
            Kind::Compact => Self::Compact(serde_json::from_str(body)?),
            Kind::Checkpoint => Self::Checkpoint(serde_json::from_str(body)?),
        })
    }
}
