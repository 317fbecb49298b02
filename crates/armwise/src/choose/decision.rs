//! What was chosen in a round, with everything needed to learn from it later and to check it.
//!
//! A decision carries the features of its arms, so rewards can be learned a week later, by
//! another process, from the decision alone.

use crate::oracle::{Missing, Price};
use crate::{Auto, Error, Observation, Quality, Round, Row};
use serde::{Deserialize, Serialize};

/// An arm that was chosen, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChosenArm {
    /// The arm's id.
    pub id: u64,
    /// The arm's name, where names were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The block (promotion) it was chosen in.
    pub block: u32,
    /// theta_hat' x.
    pub mean: f64,
    /// |x|_{V^-1}.
    pub width: f64,
    /// The arm's own draw, where the policy makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<f64>,
    /// What the oracle saw.
    pub score: f64,
    /// How probable it was, before the draws of the round were made, that the arm would be chosen; none where nobody
    /// asked ([`Learner::add_probabilities`](crate::Learner::add_probabilities)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// x.
    pub features: Row,
}

/// The super arm I_t of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The round. One round is one decision: rewards are booked under it.
    pub round: Round,
    /// The chosen arms: by block, then by falling score.
    pub arms: Vec<ChosenArm>,
    /// The sum of their scores.
    pub objective: f64,
    /// No super arm has a larger sum than this.
    pub upper_bound: f64,
    /// Whether the objective is the best there is.
    pub quality: Quality,
    /// What one more unit of a limit would be worth.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    /// What could not be filled, where the constraint asked for `on_infeasible = "fill"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// What the policy chose by itself, where a parameter is `"auto"` or the noise is estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<Auto>,
    /// How the probabilities of its arms were found; none where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
}

/// How the probability that an arm is chosen was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By quadrature over the threshold that an arm's score must pass: exact up to rounding.
    Exact,
    /// By the score that the arm needs, averaged over fresh draws of the others: without bias, with a standard error.
    CriticalValue,
    /// By counting how often fresh rounds choose the arm: without bias, with a standard error.
    Counted,
    /// Nothing is random: chosen for certain or not at all. What was not chosen had no chance, so the log does not say
    /// what another policy would have earned with it.
    Degenerate,
}

impl Method {
    /// Its name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::CriticalValue => "critical-value",
            Self::Counted => "counted",
            Self::Degenerate => "degenerate",
        }
    }
}

/// A reward for a chosen arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reward {
    /// The arm's id.
    pub id: u64,
    /// The arm's name; where given, it decides which arm is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The block it was chosen in.
    #[serde(default)]
    pub block: u32,
    /// What it paid.
    pub reward: f64,
}

impl Reward {
    /// A reward by the arm's id.
    #[must_use]
    pub fn new(id: u64, block: u32, reward: f64) -> Self {
        Self { id, name: None, block, reward }
    }

    /// A reward by the arm's name.
    #[must_use]
    pub fn named(name: &str, block: u32, reward: f64) -> Self {
        Self { id: crate::id_of(name), name: Some(name.to_owned()), block, reward }
    }
}

impl Decision {
    /// A reward for every chosen arm, computed by `pay`.
    pub fn rewards(&self, mut pay: impl FnMut(&ChosenArm) -> f64) -> Vec<Reward> {
        let reward =
            |arm: &ChosenArm| Reward { id: arm.id, name: arm.name.clone(), block: arm.block, reward: pay(arm) };
        self.arms.iter().map(reward).collect()
    }

    /// For each reward, the index of its arm in [`arms`](Self::arms).
    pub(crate) fn places(&self, rewards: &[Reward]) -> Result<Vec<usize>, Error> {
        /// For so few rewards looking through the arms costs less than sorting them.
        const FEW: usize = 8;
        let key = |arm: &ChosenArm| (arm.id, arm.block);
        let mut sorted: Vec<usize> = Vec::new();
        if rewards.len() > FEW {
            sorted.extend(0..self.arms.len());
            sorted.sort_by_key(|&place| key(&self.arms[place]));
        }
        let find = |reward: &Reward| {
            let (id, block, t) = (reward.id, reward.block, self.round.t);
            let fits = |&place: &usize| {
                let arm = &self.arms[place];
                key(arm) == (id, block) && (reward.name.is_none() || arm.name == reward.name)
            };
            let found = if sorted.is_empty() {
                let mut places = (0..self.arms.len()).filter(fits);
                (places.next(), places.next())
            } else {
                let first = sorted.partition_point(|&place| key(&self.arms[place]) < (id, block));
                let same = sorted[first..].iter().copied().take_while(|&place| key(&self.arms[place]) == (id, block));
                let mut places = same.filter(fits);
                (places.next(), places.next())
            };
            match found {
                (Some(place), None) => Ok(place),
                (None, _) => Err(Error::UnknownArm { id, block, t }),
                (Some(_), Some(_)) => Err(Error::AmbiguousArm { id, block, t }),
            }
        };
        rewards.iter().map(find).collect()
    }

    /// The observation of a reward for the arm at `place`.
    pub(crate) fn observation(&self, place: usize, reward: f64) -> Observation<'_> {
        let arm = &self.arms[place];
        Observation { t: self.round.t, block: arm.block, x: &arm.features, reward }
    }
}
