//! Why a row of responses is put aside: the facts. The text for people is made from them in one place, here.

use super::DecisionId;
use crate::table::short;
use std::fmt;

/// Why a row is put aside.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Rejection {
    /// The row names another round than the one that all rows should be about.
    OtherRound {
        /// The row's.
        row: u64,
        /// The one that was asked for.
        asked: u64,
    },
    /// The round is not a whole number.
    BadRound(String),
    /// The decision is not written as one.
    BadDecision(String),
    /// Neither a decision nor a customer is named.
    Nobody,
    /// There is no reward.
    MissingReward,
    /// The reward is not a finite number.
    BadReward(String),
    /// The reward is outside what the rules of its round allow.
    RewardOutside(f64),
    /// No such decision.
    UnknownDecision(String),
    /// The customer was never chosen.
    UnknownCustomer(String),
    /// No such promotion.
    UnknownPromotion(String),
    /// The decision is about somebody or something else.
    OtherDecision {
        /// The decision as the row names it.
        decision: String,
        /// What it is for.
        promotion: String,
        /// Whom it is about.
        customer: String,
    },
    /// The customer was chosen, but not for this.
    NotChosen {
        /// The customer.
        customer: String,
        /// The decisions about the customer, with their promotions.
        chosen: Vec<(DecisionId, String)>,
    },
    /// It may be one of several decisions.
    Ambiguous(Vec<DecisionId>),
    /// Rows of the table contradict each other about a decision.
    Contradiction(DecisionId),
    /// The round is closed and silence was counted.
    Closed(u64),
    /// The round was revoked: nothing was sent.
    Revoked(u64),
    /// The send did not arrive.
    WasUndelivered(DecisionId),
    /// The decision has another reward already.
    HasReward {
        /// The decision.
        decision: DecisionId,
        /// Its reward.
        reward: f64,
    },
    /// The decision has a reward, so it arrived.
    Arrived {
        /// The decision.
        decision: DecisionId,
        /// Its reward.
        reward: f64,
    },
    /// There is no reward to be corrected.
    NothingToCorrect(DecisionId),
}

impl Rejection {
    /// The kind of reason, by which summaries count.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadRound(_)
            | Self::BadDecision(_)
            | Self::Nobody
            | Self::MissingReward
            | Self::BadReward(_)
            | Self::RewardOutside(_) => "invalid",
            Self::UnknownDecision(_) | Self::UnknownCustomer(_) | Self::UnknownPromotion(_) => "unknown",
            Self::OtherDecision { .. } | Self::NotChosen { .. } => "not-sent",
            Self::Ambiguous(_) => "ambiguous",
            Self::OtherRound { .. }
            | Self::Contradiction(_)
            | Self::WasUndelivered(_)
            | Self::HasReward { .. }
            | Self::Arrived { .. } => "conflict",
            Self::Closed(_) => "closed",
            Self::Revoked(_) => "revoked",
            Self::NothingToCorrect(_) => "no-reward",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherRound { row, asked } => write!(f, "the row is about round {row}, not {asked}"),
            Self::BadRound(text) => write!(f, "round {text:?} is not a whole number"),
            Self::BadDecision(text) => write!(f, "{text:?} is not a decision such as r3-17"),
            Self::Nobody => write!(f, "neither decision nor customer is given"),
            Self::MissingReward => write!(f, "the reward is missing"),
            Self::BadReward(text) => write!(f, "the reward {:?} is not a finite number", short(text)),
            Self::RewardOutside(reward) => write!(f, "the reward {reward} is outside what the campaign allows"),
            Self::UnknownDecision(text) => write!(f, "there is no decision {text}"),
            Self::UnknownCustomer(customer) => write!(f, "customer {customer:?} was never chosen"),
            Self::UnknownPromotion(promotion) => write!(f, "there is no promotion {promotion:?}"),
            Self::OtherDecision { decision, promotion, customer } => {
                write!(f, "decision {decision} is for {promotion:?}, customer {customer:?}")
            }
            Self::NotChosen { customer, chosen } if chosen.is_empty() => {
                write!(f, "customer {customer:?} was not chosen for it")
            }
            Self::NotChosen { customer, chosen } => {
                let chosen: Vec<String> = chosen.iter().map(|(id, promotion)| format!("{id} ({promotion})")).collect();
                write!(f, "customer {customer:?} was not chosen for it; it was in {}", chosen.join(", "))
            }
            Self::Ambiguous(decisions) => {
                let decisions: Vec<String> = decisions.iter().map(DecisionId::to_string).collect();
                write!(f, "it may be {}; give decision or round", decisions.join(" or "))
            }
            Self::Contradiction(id) => write!(f, "rows of this table contradict each other about {id}"),
            Self::Closed(round) => write!(f, "round {round} is closed and silence was counted; use correct"),
            Self::Revoked(round) => write!(f, "round {round} was revoked, so nothing was sent"),
            Self::WasUndelivered(id) => write!(f, "{id} was not delivered; use correct if it was"),
            Self::HasReward { decision, reward } => write!(f, "{decision} has the reward {reward}; use correct"),
            Self::Arrived { decision, reward } => write!(f, "{decision} has the reward {reward}, so it arrived"),
            Self::NothingToCorrect(id) => write!(f, "{id} has no reward yet; use learn"),
        }
    }
}
