//! Drift: whether the last rounds disagree with those before more than chance explains, from their sums alone.
//!
//! The log Bayes factor of a split compares a theta that moved with one that stayed. Its exponential is, while there is
//! one theta, a fair bet: from round to round its expectation stays 1. So is a weighted sum over all splits, with weights 1 / (s (s + 1))
//! that add up to 1, and the probability that such a sum ever reaches 20 is at most 1 in 20 (Ville's inequality):
//! however often one looks, in at most 5 % of all campaigns without drift it is ever reported. That is exact for the
//! model's own prior and near enough for a lambda chosen by evidence (docs/which-algorithm.md has the numbers). Only
//! splits within the last 55 rounds are looked at, which can only lower the sum.

use super::{Block, Model};
use crate::error::check;
use crate::{Error, tasks};
use serde::Serialize;

/// How many of the last rounds are compared with those before.
const LENGTHS: [usize; 9] = [1, 2, 3, 5, 8, 13, 21, 34, 55];
/// Reported from here on: 1 / 5 %.
const ENOUGH: f64 = 20.0;
/// By how much theta may have moved, in units of what the prior lets it differ from 0; a small move is found sooner by
/// a bet on small moves.
const MOVES: [f64; 2] = [0.3, 1.0];
/// The forgetting factors that evidence chooses from; the first forgets nothing.
const GAMMAS: [f64; 8] = [1.0, 0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5];

/// Two spans of rounds compared.
///
/// # Reference
/// Ville (1939); Ramdas et al., "Game-theoretic statistics and safe anytime-valid inference" (2023), on bets that may
/// be looked at any time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// How many of the last rounds disagree most with those before.
    pub rounds: usize,
    /// The log Bayes factor of these two spans: above 0 they speak for a theta that moved.
    pub log_factor: f64,
    /// ln of the bet over all splits; from ln 20 on it is more than chance.
    pub log_bet: f64,
}

impl Drift {
    /// Compares the last rounds with those before. `all` has the sums of `count` rounds, `last` those of the newest of
    /// them, the newest last. None with too little to compare, and where the model forgets already.
    ///
    /// # Errors
    /// [`Error::NoSquares`], and [`Error::Mismatch`] for sums of different shapes.
    ///
    /// # Example
    /// ```
    /// use armwise::{Drift, Model, Observation};
    /// let round = |t: u64, theta: f64| -> Result<Model, armwise::Error> {
    ///     let mut sums = Model::new(1, 1)?;
    ///     let pay = |i: u64| theta + if i % 2 == 0 { 0.1 } else { -0.1 };
    ///     (0..20).try_for_each(|i| sums.observe(&Observation { t, block: 0, x: &[1.0], reward: pay(i) }))?;
    ///     Ok(sums)
    /// };
    /// let rounds = (1..=8).map(|t| round(t, if t <= 6 { 1.0 } else { 0.5 })).collect::<Result<Vec<_>, _>>()?;
    /// let mut all = rounds[0].clone();
    /// rounds[1..].iter().try_for_each(|round| all.merge(round))?;
    /// let drift = Drift::between(&all, &rounds, 8)?.expect("there is enough");
    /// assert!(drift.is_beyond_chance() && drift.rounds == 2);
    /// # Ok::<(), armwise::Error>(())
    /// ```
    pub fn between(all: &Model, last: &[Model], count: usize) -> Result<Option<Self>, Error> {
        if all.gamma < 1.0 {
            return Ok(None);
        }
        let all = &all.plain();
        let Some(whole) = all.evidence_of_spans()? else { return Ok(None) };
        let one = whole.weighed(all, learned(all));
        let mut late = Model::new(all.dim(), all.blocks().len())?;
        let mut bets: Vec<(f64, usize, f64)> = Vec::new();
        for (place, sums) in last.iter().rev().enumerate() {
            late.merge(&sums.plain())?;
            let (rounds, before) = (place + 1, count.saturating_sub(place + 1));
            if before == 0 {
                break;
            }
            if !LENGTHS.contains(&rounds) {
                continue;
            }
            let logs = MOVES.map(|tau| whole.moved(all, &late, tau) - one);
            let log_factor = log_sum(&logs) - libm::log(MOVES.len() as f64);
            let weight = before as f64 * (before as f64 + 1.0);
            bets.push((log_factor - libm::log(weight), rounds, log_factor));
        }
        let best = bets.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
        Ok(best.map(|(_, rounds, log_factor)| {
            let all: Vec<f64> = bets.iter().map(|bet| bet.0).collect();
            Self { rounds, log_factor, log_bet: log_sum(&all) }
        }))
    }

    /// Whether the spans disagree more than chance explains: at most 5 % of all campaigns without drift ever say so.
    #[must_use]
    pub fn is_beyond_chance(&self) -> bool {
        self.log_bet >= libm::log(ENOUGH)
    }
}

impl Model {
    /// The forgetting factor with the largest evidence, among eight from 0.5 to 1: each model is predicted from those
    /// before it, which count gamma times as much with every round between their [`t`](Self::t). `rounds` are the sums
    /// of single rounds or spans of them, the oldest first. With it comes by how much it is better than forgetting
    /// nothing, as a log Bayes factor; it is 1 unless the odds for another are 20 to 1. None with fewer than two to
    /// compare.
    ///
    /// # Formula
    /// ```text
    /// log p(gamma) = sum over rounds of log p(rewards of the round | sums before, discounted by gamma)
    /// ```
    /// with lambda and the prior that suit all rounds together; each term is a difference of two
    /// [log evidences](crate::Evidence).
    ///
    /// # Errors
    /// [`Error::NoSquares`], and [`Error::Mismatch`] for sums of different shapes.
    pub fn forgetting(rounds: &[Self]) -> Result<Option<(f64, f64)>, Error> {
        Self::forgetting_by(rounds, 1)
    }

    /// The same where `unit` rounds are forgotten together, as those of a segment: the eight factors are for a unit, since
    /// in a thousand rounds even 0.99 would forget everything. The factor that is given is for a round, as ever.
    ///
    /// # Errors
    /// As [`forgetting`](Self::forgetting), and [`Error::Parameter`] for a unit of 0.
    pub fn forgetting_by(rounds: &[Self], unit: u64) -> Result<Option<(f64, f64)>, Error> {
        check("unit", unit as f64, unit > 0, "at least 1")?;
        let in_units =
            |round: &Self| Self { t: if round.t == 0 { 0 } else { (round.t - 1) / unit + 1 }, ..round.plain() };
        let found = Self::forgetting_of(&rounds.iter().map(in_units).collect::<Vec<_>>())?;
        let of_round = |gamma: f64| if unit == 1 { gamma } else { libm::pow(gamma, 1.0 / unit as f64) };
        Ok(found.map(|(gamma, better)| (of_round(gamma), better)))
    }

    fn forgetting_of(rounds: &[Self]) -> Result<Option<(f64, f64)>, Error> {
        let Some((first, rest)) = rounds.split_first().filter(|(_, rest)| !rest.is_empty()) else { return Ok(None) };
        let mut all = first.plain();
        rest.iter().try_for_each(|round| all.merge(&round.plain()))?;
        let Some(scales) = all.evidence_of_spans()? else { return Ok(None) };
        let log_evidence = |gamma: f64| -> Result<f64, Error> {
            let mut before = first.plain().with_gamma(gamma)?;
            let mut weight = learned(first);
            let mut log = scales.weighed(&before, weight);
            for round in rest {
                weight *= before.discount(round.t.saturating_sub(before.t));
                before.advance(round.t);
                let known = scales.weighed(&before, weight);
                before.merge(&round.plain().with_gamma(gamma)?)?;
                weight += learned(round);
                log += scales.weighed(&before, weight) - known;
            }
            Ok(log)
        };
        let logs = tasks::map(GAMMAS.len(), || (), |(), number| log_evidence(GAMMAS[number]));
        let logs = logs.into_iter().collect::<Result<Vec<f64>, Error>>()?;
        let mut best = 0;
        (1..GAMMAS.len()).for_each(|number| best = if logs[number] > logs[best] { number } else { best });
        // Nothing is forgotten unless the odds for it are 20 to 1.
        let better = logs[best] - logs[0];
        Ok(Some(if better >= libm::log(ENOUGH) { (GAMMAS[best], better) } else { (GAMMAS[0], 0.0) }))
    }

    /// The sums without those of another model that is part of them: the inverse of [`merge`](Self::merge) up to
    /// rounding, where nothing is forgotten. What is left has no spans.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for models of different shapes.
    pub fn without(&self, other: &Self) -> Result<Self, Error> {
        self.has_shape_of(other)?;
        let mut rest = self.plain();
        for (mine, theirs) in rest.blocks.iter_mut().zip(&other.blocks) {
            mine.count = mine.count.saturating_sub(theirs.count);
            mine.b.iter_mut().zip(&theirs.b).for_each(|(mine, b)| *mine -= b);
            mine.g.iter_mut().zip(&theirs.g).for_each(|(mine, g)| *mine -= g);
            mine.rr = mine.rr.zip(theirs.rr).map(|(mine, rr)| (mine - rr).max(0.0));
        }
        Ok(rest)
    }
}

/// ln of the sum of exp.
fn log_sum(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + libm::log(logs.iter().map(|log| libm::exp(log - largest)).sum())
}

/// How many rewards a model has learned.
fn learned(model: &Model) -> f64 {
    model.blocks.iter().map(Block::count).sum::<u64>() as f64
}
