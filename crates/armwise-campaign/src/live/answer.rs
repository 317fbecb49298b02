//! What a campaign in service answers. Everything follows from the journal, so an answer is the same after any restart.

use crate::{
    core::{Chosen, LineOutcome, Sent, Sha, Tag},
    round::Warning,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A decision that was made and is on the disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decided {
    /// Its id, by which rewards are told: `r17-k7f3q2`.
    pub decision: String,
    /// Its entry.
    pub seq: u64,
    /// The entry whose model it was made with.
    pub model: u64,
    /// Whether it is held: kept out of learning until it is activated.
    pub held: bool,
    /// What is to be known before it is believed; nothing, as a rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The chosen arms: by promotion, the best first. The hold-out's are not among them.
    pub arms: Vec<DecidedArm>,
}

/// An arm that was chosen, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecidedArm {
    /// The row's id.
    pub id: String,
    /// The promotion: the block.
    pub promotion: String,
    /// 1, 2, ... by score within the promotion.
    pub rank: u32,
    /// The estimated reward.
    pub mean: f64,
    /// Its uncertainty.
    pub width: f64,
    /// The arm's own draw, where the algorithm makes one.
    pub draw: Option<f64>,
    /// What was maximised.
    pub score: f64,
    /// The probability with which it was chosen, over the draws of the decision, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

impl Decided {
    pub(super) fn new(tag: Tag, seq: u64, model: u64, chosen: &Chosen, sent: Vec<Sent>) -> Self {
        let arm = |sent: Sent| DecidedArm {
            id: sent.customer,
            promotion: sent.promotion,
            rank: sent.rank,
            mean: sent.mean,
            width: sent.width,
            draw: sent.draw,
            score: sent.score,
            probability: sent.probability,
        };
        let arms = sent.into_iter().filter(|sent| !sent.hold_out).map(arm).collect();
        let (decision, warnings) = (tag.name_round(chosen.round), chosen.warnings.clone());
        Self { decision, seq, model, held: chosen.hold, warnings, arms }
    }
}

/// What was done with rewards.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rewarded {
    /// The decision that all lines were about, where one was named for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The entry that holds what was applied; the last entry where nothing was.
    pub seq: u64,
    /// How many lines had which outcome.
    #[serde(flatten)]
    pub counts: BTreeMap<LineOutcome, u64>,
    /// Line by line.
    pub arms: Vec<RewardedArm>,
}

/// What was done with a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RewardedArm {
    /// The decision, where the line named its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The row's id, where the line named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The promotion, where the line named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotion: Option<String>,
    /// What was done.
    pub outcome: LineOutcome,
    /// Why it does not count, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An answer with the entry that holds what was done, or the last entry where nothing was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Done<T> {
    /// The entry.
    pub seq: u64,
    /// What was done.
    #[serde(flatten)]
    pub done: T,
}

/// What was done with the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ArmsChanged {
    /// How many arms came, changed or went by name.
    pub arms: u64,
}

/// How busy a campaign in service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Load {
    /// How many commands wait to be written.
    pub waiting: usize,
    /// How many may wait.
    pub queue: usize,
    /// The last entry.
    pub seq: u64,
    /// The last entry whose rewards the model in force knows.
    pub learned: u64,
    /// The entry of the model in force.
    pub model: u64,
    /// The hash of the model in force.
    pub model_hash: Sha,
    /// The round that comes next.
    pub next_round: u64,
    /// How many arms the catalogue has.
    pub catalogue: usize,
}
