//! The summary of a choice: how many sends, for whom, how much of it is exploration, and which limits kept it from
//! being better.

use super::{Warning, customers::Customers, words};
use crate::{Campaign, config::Promotion, core::Sent, recipe::Oddities};
use armwise::{Auto, Decision, Limit, Method, Quality};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A promotion's share of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromotionSummary {
    /// Its name.
    pub promotion: String,
    /// How many customers get it.
    pub sends: u64,
    /// The lowest score among them.
    pub threshold: Option<f64>,
    /// The sum of their estimated rewards.
    pub expected_reward: f64,
    /// How many of them the estimate alone would not have chosen.
    pub exploration: u64,
}

/// What one more unit of a limit would be worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// The limit, in the campaign's words.
    pub of: String,
    /// The gain per unit.
    pub value: f64,
}

/// A minimum that could not be met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unfilled {
    /// The limit, in the campaign's words.
    pub of: String,
    /// How many it asks for.
    pub needed: usize,
    /// How many were chosen.
    pub chosen: usize,
}

/// By which rules the hold-out's customers were chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldOutRules {
    /// Those of the round, scaled to its share.
    #[default]
    Scaled,
    /// The same without minima, because they could not be met in so few customers.
    WithoutMinima,
    /// None: nobody could be chosen, so the round has nobody to compare with.
    Nobody,
}

/// The summary of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenSummary {
    /// The round.
    pub round: u64,
    /// The seed of its draws.
    pub seed: u64,
    /// How many customers the table has.
    pub customers: u64,
    /// How many of them rest.
    pub resting: u64,
    /// How many of them are in the hold-out.
    #[serde(alias = "held_out")]
    pub hold_out_customers: u64,
    /// How many sends there are.
    pub sends: u64,
    /// How many customers of the hold-out would have been chosen.
    #[serde(alias = "controls")]
    pub hold_out: u64,
    /// Promotion by promotion.
    pub promotions: Vec<PromotionSummary>,
    /// Sends per segment.
    pub segments: BTreeMap<String, u64>,
    /// The sum of the estimated rewards.
    pub expected_reward: f64,
    /// The share of sends that the estimate alone would not have chosen; 1 while nothing is known.
    pub exploration: f64,
    /// The sum of the scores.
    pub objective: f64,
    /// No choice has a larger sum.
    #[serde(deserialize_with = "null_is_infinite")]
    pub upper_bound: f64,
    /// Whether the objective is the best there is.
    pub quality: Quality,
    /// What one more unit of a limit would be worth.
    pub prices: Vec<Worth>,
    /// What could not be filled.
    pub missing: Vec<Unfilled>,
    /// What was unusual in the table.
    pub odd: Oddities,
    /// What is to be known before it is believed.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// By which rules the hold-out's customers were chosen.
    #[serde(default)]
    pub hold_out_rules: HoldOutRules,
    /// How the probabilities of the decisions were found; none where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Method>,
    /// What the algorithm chose by itself; none where all of its parameters are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<Auto>,
}

/// JSON has no infinity: it is written as null.
fn null_is_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

pub(super) fn summarise(
    campaign: &Campaign,
    chosen: &Decision,
    sent: &[Sent],
    customers: &Customers,
    odd: Oddities,
    known: bool,
) -> ChosenSummary {
    let config = campaign.config();
    let real = || sent.iter().filter(|sent| !sent.hold_out);
    let explores = |sent: &&Sent| !known || sent.greedy == Some(false);
    let empty = |promotion: &Promotion| PromotionSummary {
        promotion: promotion.name.clone(),
        sends: 0,
        threshold: None,
        expected_reward: 0.0,
        exploration: 0,
    };
    let mut promotions: Vec<PromotionSummary> = config.promotion.iter().map(empty).collect();
    for run in sent.chunk_by(|a, b| a.promotion == b.promotion && a.hold_out == b.hold_out) {
        let own = promotions.iter_mut().find(|promotion| promotion.promotion == run[0].promotion && !run[0].hold_out);
        let Some(own) = own else { continue };
        own.sends += run.len() as u64;
        own.threshold = run.iter().map(|sent| sent.score).chain(own.threshold).reduce(f64::min);
        own.expected_reward = run.iter().fold(own.expected_reward, |sum, sent| sum + sent.mean);
        own.exploration += run.iter().filter(explores).count() as u64;
    }
    let mut segments = BTreeMap::new();
    for segment in real().filter(|_| config.segment.is_some()).map(|sent| sent.segment.as_deref().unwrap_or("(none)")) {
        *segments.entry(segment.to_owned()).or_default() += 1;
    }
    let sends: u64 = promotions.iter().map(|promotion| promotion.sends).sum();
    let named = |of: &Limit| words::limit(config, of);
    ChosenSummary {
        round: chosen.round.t,
        seed: chosen.round.seed,
        customers: customers.len(),
        resting: customers.resting,
        hold_out_customers: customers.hold_out,
        sends,
        hold_out: sent.len() as u64 - sends,
        segments,
        expected_reward: promotions.iter().fold(0.0, |sum, promotion| sum + promotion.expected_reward),
        exploration: real().filter(explores).count() as f64 / (sends.max(1) as f64),
        objective: chosen.objective,
        upper_bound: chosen.upper_bound,
        quality: chosen.quality,
        prices: chosen.prices.iter().map(|price| Worth { of: named(&price.of), value: price.value }).collect(),
        missing: (chosen.missing.iter())
            .map(|m| Unfilled { of: named(&m.of), needed: m.needed, chosen: m.chosen })
            .collect(),
        promotions,
        odd,
        warnings: Vec::new(),
        hold_out_rules: HoldOutRules::default(),
        probabilities: None,
        auto: chosen.auto,
    }
}
