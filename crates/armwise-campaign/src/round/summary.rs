//! What a choice tells: how many, for whom, how much of it is exploration, and what kept it from being better.

use super::{constraint::block_of, customers::Customers};
use crate::{Campaign, file::Sent, recipe::Oddities};
use armwise::{Decision, Missing, Price, Quality, Round};
use serde::Serialize;
use std::collections::BTreeMap;

/// A promotion's share of a round.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// What a choice tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    pub held_out: u64,
    /// How many sends there are.
    pub sends: u64,
    /// How many customers of the hold-out would have been chosen.
    pub controls: u64,
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
    pub upper_bound: f64,
    /// Whether the objective is the best there is.
    pub quality: Quality,
    /// What one more unit of a limit would be worth.
    pub prices: Vec<Price>,
    /// What could not be filled.
    pub missing: Vec<Missing>,
    /// What was unusual in the table.
    pub odd: Oddities,
}

pub(super) fn summarise(
    campaign: &Campaign,
    round: Round,
    decision: &Decision,
    sent: &[Sent],
    customers: &Customers,
    odd: Oddities,
    known: bool,
) -> ChosenSummary {
    let config = campaign.config();
    let real = || sent.iter().filter(|sent| !sent.control);
    let explores = |sent: &&Sent| !known || sent.greedy == Some(false);
    let promotions: Vec<PromotionSummary> = config
        .promotion
        .iter()
        .map(|promotion| {
            let of = || real().filter(|sent| sent.promotion == promotion.name);
            PromotionSummary {
                promotion: promotion.name.clone(),
                sends: of().count() as u64,
                threshold: of().map(|sent| sent.score).reduce(f64::min),
                expected_reward: of().fold(0.0, |sum, sent| sum + sent.mean),
                exploration: of().filter(explores).count() as u64,
            }
        })
        .collect();
    let mut segments = BTreeMap::new();
    for segment in real().filter(|_| config.segment.is_some()).map(|sent| sent.segment.as_deref().unwrap_or("(none)")) {
        *segments.entry(segment.to_owned()).or_default() += 1;
    }
    let sends: u64 = promotions.iter().map(|promotion| promotion.sends).sum();
    let named = |of: &str| {
        let promotion = block_of(of).and_then(|block| config.promotion.get(block));
        promotion.map_or_else(|| of.to_owned(), |promotion| format!("quota of {}", promotion.name))
    };
    ChosenSummary {
        round: round.t,
        seed: round.seed,
        customers: customers.len() as u64,
        resting: customers.resting,
        held_out: customers.held_out,
        sends,
        controls: sent.len() as u64 - sends,
        segments,
        expected_reward: promotions.iter().fold(0.0, |sum, promotion| sum + promotion.expected_reward),
        exploration: real().filter(explores).count() as f64 / (sends.max(1) as f64),
        objective: decision.objective,
        upper_bound: decision.upper_bound,
        quality: decision.quality,
        prices: decision.prices.iter().map(|price| Price { of: named(&price.of), value: price.value }).collect(),
        missing: decision.missing.iter().map(|m| Missing { of: named(&m.of), ..m.clone() }).collect(),
        promotions,
        odd,
    }
}
