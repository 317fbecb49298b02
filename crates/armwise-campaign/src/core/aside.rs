//! Decisions whose answer came but could not be used: they stay pending, with the reason, until a good row comes.
//!
//! A row that is put aside for a bad value says that somebody answered, so its decision must not become silence when its
//! round is closed. The entry that put the rows aside names their decisions; nothing of it counts once a decision has an
//! outcome. Rows that come after the round was closed change nothing, as good ones do.

use super::{DecisionId, Rejection};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was wrong with a row that was put aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// There was no reward.
    MissingReward,
    /// The reward was not a number.
    BadReward,
    /// The reward was outside what the rules allow.
    RewardOutside,
    /// Rows of one table contradicted each other.
    Contradiction,
    /// The probability with which the arm was looked at was none.
    BadExamined,
}

impl Flaw {
    /// By their numbers in a state; a new one goes to the end.
    pub(super) const ALL: [Self; 5] =
        [Self::MissingReward, Self::BadReward, Self::RewardOutside, Self::Contradiction, Self::BadExamined];

    /// The flaw that a rejection speaks of, if it is one of the value and not of whom it is about.
    pub(super) fn of(rejection: &Rejection) -> Option<Self> {
        match rejection {
            Rejection::MissingReward => Some(Self::MissingReward),
            Rejection::BadReward(_) => Some(Self::BadReward),
            Rejection::RewardOutside(_) => Some(Self::RewardOutside),
            Rejection::Contradiction(_) => Some(Self::Contradiction),
            Rejection::BadExamined(_) => Some(Self::BadExamined),
            _ => None,
        }
    }

    /// In words, of several rows.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::MissingReward => "without a reward",
            Self::BadReward => "whose reward is not a number",
            Self::RewardOutside => "whose reward is outside what the rules allow",
            Self::Contradiction => "about which a table contradicts itself",
            Self::BadExamined => "whose examined is not a probability above 0",
        }
    }
}

/// Decisions of a round that an entry leaves pending, with the flaw of their rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutAside {
    /// The round.
    pub round: u64,
    /// What was wrong.
    pub flaw: Flaw,
    /// The numbers of the decisions in the round, ascending.
    pub decisions: Vec<u32>,
}

/// In the order of rounds and flaws.
pub(super) fn grouped(flaws: &BTreeMap<DecisionId, Flaw>) -> Vec<PutAside> {
    let mut groups: BTreeMap<(u64, Flaw), Vec<u32>> = BTreeMap::new();
    for (id, &flaw) in flaws {
        groups.entry((id.round, flaw)).or_default().push(id.number);
    }
    groups.into_iter().map(|((round, flaw), decisions)| PutAside { round, flaw, decisions }).collect()
}

/// By the number of a round's decision: the first entry that put a row about it aside, and why.
pub(super) type Aside = BTreeMap<u32, (u64, Flaw)>;
