//! A world fitted to a campaign: its own customers, effects that its answers leave possible, its own constraint.
//!
//! Effects are drawn anew in every trial, from what the answers say about them and no more: after few answers trials
//! differ much, and policies that explore are worth more, as they are in truth. How far effects are from zero at all (the
//! ridge) and how much answers scatter (the noise) are those under which the answers are likeliest.

use crate::{
    Campaign, Error,
    config::{Config, Objective},
    core::{NO_SEND, fates},
    round::{Offer, rules},
};
use armwise::{Block, Constraint, Draws, Learner, Model, Round, Stream};

/// Which customers a trial has.
const CUSTOMERS: Stream = Stream(260);
/// The effects of a trial.
const EFFECTS: Stream = Stream(261);
/// The answers of a trial.
const ANSWERS: Stream = Stream(262);

/// A world has at most so many customers, unless quotas would be too small then.
const CUSTOMERS_AT_MOST: f64 = 1_500.0;
/// The most customers whatever the quotas are.
const CUSTOMERS_EVER: f64 = 20_000.0;
/// A quota that is scaled down keeps about so many sends.
const LEAST_QUOTA: f64 = 8.0;

/// A fitted world.
pub(super) struct World {
    config: Config,
    /// The first round that is played.
    first: u64,
    offer: Offer,
    /// The blocks of the rules, in their order, then what happens without a send, if that counts.
    blocks: Vec<Block>,
    pub(super) ridge: f64,
    pub(super) noise: f64,
    /// Whether answers are yes or no.
    pub(super) binary: bool,
    constraint: Constraint,
    pub(super) share: f64,
    pub(super) customers: usize,
}

impl World {
    /// Fits a world to a campaign and to the rows of a table that the next round could choose from.
    #[expect(clippy::cast_sign_loss, reason = "a share of a count is not negative")]
    pub(super) fn fit(campaign: &Campaign, offer: Offer) -> Result<Self, Error> {
        let (config, model) = (campaign.config(), campaign.model()?);
        let evidence = model.evidence()?.ok_or(Error::NoAnswers)?;
        let ridge = evidence.best();
        let noise = evidence.estimate(ridge).sigma;
        let mut blocks = campaign.of_rules(&model, config)?.blocks().to_vec();
        if config.objective == Objective::Uplift {
            blocks.extend(campaign.block(NO_SEND).and_then(|block| model.blocks().get(block)).cloned());
        }
        let share = share(config, offer.len());
        let customers = ((offer.len() as f64 * share).round() as usize).max(1);
        let constraint = rules(config, (share < 1.0).then_some(share));
        let binary = is_binary(campaign)?;
        let (config, first) = (config.clone(), campaign.next_round());
        Ok(Self { config, first, offer, blocks, ridge, noise, binary, constraint, share, customers })
    }

    /// Plays a trial with each candidate, all of them with the same customers, effects and luck, and gives what each
    /// earned per round in expectation.
    pub(super) fn play(&self, seed: u64, rounds: u64, candidates: &[Learner]) -> Result<Vec<f64>, Error> {
        let trial = Round::new(seed, 0);
        let draws = trial.draws(0, CUSTOMERS);
        let rows: Vec<usize> = (0..self.customers as u64)
            .map(|customer| (draws.bits(customer) % self.offer.len() as u64) as usize)
            .collect();
        let offer = self.offer.drawn(&rows);
        let effects = self.effects(trial)?;
        let expected = self.expected(&offer, &effects);
        candidates.iter().map(|learner| self.one(learner.clone(), (&offer, &expected), seed, rounds)).collect()
    }

    /// The effects of a trial, block by block.
    fn effects(&self, trial: Round) -> Result<Vec<Vec<f64>>, Error> {
        let model = Model::from_blocks(1.0, 0, self.blocks.clone())?;
        let of = |block: usize| model.posterior(block as u32, self.ridge);
        let seen: Vec<usize> = (0..self.blocks.len()).filter(|&block| self.blocks[block].count() > 0).collect();
        // A promotion of which nothing is known is about as good as the others.
        let mut usual = vec![0.0; model.dim()];
        for &block in &seen {
            usual.iter_mut().zip(of(block)?.theta_hat()).for_each(|(sum, theta)| *sum += theta / seen.len() as f64);
        }
        let mut effects = Vec::with_capacity(self.blocks.len());
        for block in 0..self.blocks.len() {
            let posterior = of(block)?;
            let posterior = if self.blocks[block].count() > 0 { posterior } else { posterior.plus(&usual)? };
            effects.push(posterior.sample(self.noise, &trial.draws(block as u32, EFFECTS)));
        }
        Ok(effects)
    }

    /// The expected answer of each arm, row by row; after the promotions comes what happens without a send.
    fn expected(&self, offer: &Offer, effects: &[Vec<f64>]) -> Vec<f64> {
        let rule = &self.config.reward;
        let plausible = |mean: f64| {
            let mean = if self.binary { mean.clamp(0.0, 1.0) } else { mean };
            mean.max(rule.min.unwrap_or(f64::NEG_INFINITY)).min(rule.max.unwrap_or(f64::INFINITY))
        };
        let mut all = Vec::with_capacity(offer.len() * effects.len());
        for row in 0..offer.len() {
            let x = offer.features(row);
            let mean = |theta: &Vec<f64>| theta.iter().zip(&x).map(|(theta, x)| theta * x).sum::<f64>();
            all.extend(effects.iter().map(|theta| plausible(mean(theta))));
        }
        all
    }

    /// One candidate's trial.
    fn one(
        &self,
        mut learner: Learner,
        (offer, expected): (&Offer, &[f64]),
        seed: u64,
        rounds: u64,
    ) -> Result<f64, Error> {
        let config = &self.config;
        let (width, first) = (self.blocks.len(), self.first);
        let mut free_from = vec![0; offer.len()];
        let mut earned = 0.0;
        for t in first..first + rounds {
            let answers: Vec<Draws> =
                (0..width as u32).map(|block| Round::new(seed, t).draws(block, ANSWERS)).collect();
            let rested: Vec<usize> = (0..offer.len()).filter(|&row| free_from[row] <= t).collect();
            let own = if rested.len() == offer.len() { None } else { Some(offer.some(&rested)) };
            let chosen = own.as_ref().unwrap_or(offer);
            let decision = chosen.with_arms(|arms| learner.choose(Round::new(seed, t), arms, &self.constraint))?;
            let rewards = decision.rewards(|arm| {
                // The rows of a world are named by their numbers.
                let row: usize = arm.name.as_deref().and_then(|name| name.parse().ok()).unwrap_or_default();
                let block = arm.block as usize;
                let mean = expected[row * width + block];
                let without = if width > config.promotion.len() { expected[row * width + width - 1] } else { 0.0 };
                let promotion = &config.promotion[block];
                earned += if config.is_profit() {
                    promotion.value.unwrap_or(1.0) * (mean - without) - promotion.cost.unwrap_or(0.0)
                } else {
                    mean - without
                };
                free_from[row] = t + 1 + config.limits.rest;
                if self.binary {
                    f64::from(u8::from(answers[block].uniform(row as u64) < mean))
                } else {
                    mean + self.noise * answers[block].normal(row as u64)
                }
            });
            learner.learn(&decision, &rewards)?;
            learner.close_before(t + 1);
        }
        Ok(earned / rounds as f64)
    }
}

/// Which share of the customers a world has.
fn share(config: &Config, customers: usize) -> f64 {
    let all = customers as f64;
    let quota = |quota: &armwise::Quota| match *quota {
        armwise::Quota::Exactly(count) => Some(count),
        armwise::Quota::Between(range) => range.max,
    };
    let quotas = config.promotion.iter().filter_map(|promotion| promotion.quota.as_ref().and_then(quota));
    let least = quotas.filter(|&count| count > 0).min().map_or(LEAST_QUOTA, |count| count as f64);
    let wanted = (CUSTOMERS_AT_MOST / all).max(LEAST_QUOTA / least);
    wanted.min(CUSTOMERS_EVER / all).min(1.0)
}

/// Whether all answers so far are 0 or 1, those of past sends included.
fn is_binary(campaign: &Campaign) -> Result<bool, Error> {
    let is_yes_or_no = |reward: f64| reward.total_cmp(&0.0).is_eq() || reward.total_cmp(&1.0).is_eq();
    let rounds = campaign.rounds().values().filter(|info| !info.revoked()).map(|info| info.round);
    for round in campaign.has_logged().then_some(0).into_iter().chain(rounds) {
        if fates(campaign, round)?.iter().filter_map(|(_, fate)| fate.reward()).any(|reward| !is_yes_or_no(reward)) {
            return Ok(false);
        }
    }
    Ok(true)
}
