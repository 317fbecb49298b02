//! Why a row of responses is put aside: the facts. The text for people is made from them in one place, here.

use super::{Answer, DecisionId, Tag};
use crate::table::short;

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
    /// The decision is one of another campaign.
    OtherCampaign {
        /// The decision as the row names it.
        decision: String,
        /// The tag of this campaign.
        own: Tag,
    },
    /// Neither a decision nor a customer is named.
    Nobody,
    /// There is no reward.
    MissingReward,
    /// The reward is not a finite number.
    BadReward(String),
    /// The probability of a logged row is not above 0 and at most 1.
    BadProbability(String),
    /// The probability with which the arm was looked at is not above 0 and at most 1.
    BadExamined(String),
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
    /// The round is held back: nothing was sent yet.
    Held(u64),
    /// The single decisions of the round were given up.
    Compacted(u64),
    /// The send did not arrive.
    WasUndelivered(DecisionId),
    /// The decision has another reward already, or the same one of an arm that was looked at with another probability.
    HasReward {
        /// The decision.
        decision: DecisionId,
        /// Its reward.
        answer: Answer,
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
    /// The decision had this reward before and was corrected since.
    Superseded {
        /// The decision.
        decision: DecisionId,
        /// The reward that it had.
        before: Answer,
        /// The reward that it has.
        now: Answer,
    },
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
            | Self::BadProbability(_)
            | Self::BadExamined(_)
            | Self::RewardOutside(_) => "invalid",
            Self::UnknownDecision(_) | Self::UnknownCustomer(_) | Self::UnknownPromotion(_) => "unknown",
            Self::OtherCampaign { .. } => "other-campaign",
            Self::Superseded { .. } => "superseded",
            Self::OtherDecision { .. } | Self::NotChosen { .. } => "not-sent",
            Self::Ambiguous(_) => "ambiguous",
            Self::OtherRound { .. }
            | Self::Contradiction(_)
            | Self::WasUndelivered(_)
            | Self::HasReward { .. }
            | Self::Arrived { .. } => "conflict",
            Self::Closed(_) | Self::Compacted(_) => "closed",
            Self::Held(_) => "held",
            Self::Revoked(_) => "revoked",
            Self::NothingToCorrect(_) => "no-reward",
        }
    }

    /// The reason in words; decisions are named with the campaign's tag.
    #[must_use]
    pub fn text(&self, tag: Tag) -> String {
        let name = |id: &DecisionId| tag.name(*id);
        match self {
            Self::OtherRound { row, asked } => format!("the row is about round {row}, not {asked}"),
            Self::BadRound(text) => format!("round {:?} is not a whole number", short(text)),
            Self::BadDecision(text) => format!("{:?} is not a decision such as r3-17-{tag}", short(text)),
            Self::OtherCampaign { decision, own } => {
                format!("decision {decision} is one of another campaign; the decisions of this one end in -{own}")
            }
            Self::Nobody => "neither decision nor customer is given".to_owned(),
            Self::MissingReward => "the reward is missing".to_owned(),
            Self::BadReward(text) => {
                let hint =
                    if text.contains([',', '.']) { "; which decimal mark the table has can be given" } else { "" };
                format!("the reward {:?} is not a finite number{hint}", short(text))
            }
            Self::BadProbability(text) => {
                format!("the probability {:?} is not a number above 0 and at most 1", short(text))
            }
            Self::BadExamined(text) => format!("examined is {:?}, not a number above 0 and at most 1", short(text)),
            Self::RewardOutside(reward) => format!("the reward {reward} is outside what the campaign allows"),
            Self::UnknownDecision(text) => format!("there is no decision {text}"),
            Self::UnknownCustomer(customer) => format!("customer {customer:?} was never chosen"),
            Self::UnknownPromotion(promotion) => format!("there is no promotion {promotion:?}"),
            Self::OtherDecision { decision, promotion, customer } => {
                format!("decision {decision} is for {promotion:?}, customer {customer:?}")
            }
            Self::NotChosen { customer, chosen } if chosen.is_empty() => {
                format!("customer {customer:?} was not chosen for it")
            }
            Self::NotChosen { customer, chosen } => {
                let chosen: Vec<String> =
                    chosen.iter().map(|(id, promotion)| format!("{} ({promotion})", name(id))).collect();
                format!("customer {customer:?} was not chosen for it; it was in {}", chosen.join(", "))
            }
            Self::Ambiguous(decisions) => {
                let decisions: Vec<String> = decisions.iter().map(name).collect();
                format!("it may be {}; give decision or round", decisions.join(" or "))
            }
            Self::Contradiction(id) => format!("rows of this table contradict each other about {}", name(id)),
            Self::Closed(round) => format!("round {round} is closed and silence was counted; use correct"),
            Self::Revoked(round) => format!("round {round} was revoked, so nothing was sent"),
            Self::Held(round) => format!("round {round} is held back, so nothing was sent yet"),
            Self::Compacted(round) => format!("the single decisions of round {round} were given up"),
            Self::WasUndelivered(id) => format!("{} was not delivered; use correct if it was", name(id)),
            Self::HasReward { decision, answer } => format!("{} has the reward {answer}; use correct", name(decision)),
            Self::Arrived { decision, reward } => format!("{} has the reward {reward}, so it arrived", name(decision)),
            Self::NothingToCorrect(id) => format!("{} has no reward yet; use learn", name(id)),
            Self::Superseded { decision, before, now } => format!(
                "{} had the reward {before} and was corrected to {now} since; if {before} is right after all, give the \
                 table a key",
                name(decision)
            ),
        }
    }
}
