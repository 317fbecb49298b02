//! Prices of several budgets where rows come in classes, and how many rows of a class take which arm.
//!
//! With classes the bound is a function of the prices with few, sharp edges, and at the best prices whole classes are tied.
//! So each class first decides softly: of its n rows, the share `exp(value / heat)` over the sum of these (with 1 for none)
//! takes each arm, and prices are kept above 0 by a barrier. That is a smooth bound,
//! ```text
//! p'b - barrier sum of log p + sum over classes of n heat log(1 + sum over arms of exp(value / heat)),
//! ```
//! where an arm's value is its score less the price of what it uses. Its slope is what the shares leave of the limits, and
//! its curvature the covariance of what they use. Newton steps find its least point; then heat and barrier are lowered. At
//! the end the shares use the limits up and the prices are right to about the last heat. Nothing here needs to be exact:
//! the search repairs what is left, and it proves the result.

use super::classes::{Class, find};
use super::newton::{changes, solve};
use super::prices::Prices;
use super::problem::{Arm, Problem};
use crate::Scores;

/// Fewer rows than this are searched well enough without.
const FEWEST: usize = 1_000;
/// More limits than this are not annealed: a step solves a dense system.
const LIMITS: usize = 64;
/// By how much the heat falls at a time, and how often.
const COOLER: f64 = 0.4;
const HEATS: usize = 60;
/// Where the heat ends, and where it must have come for the prices to be used: what it is worth if all rows were tied, as a
/// share of the bound.
const COLDEST: f64 = 1e-8;
const WARMEST: f64 = 1e-3;
/// The most Newton steps at a heat.
const STEPS: usize = 50;
/// A step leaves at least this share of every price.
const KEPT: f64 = 0.05;
/// Below this exponent a share counts as 0.
const NOTHING: f64 = -40.0;

/// Classes with the shares of their rows.
#[derive(Debug)]
pub(super) struct Shares {
    pub(super) classes: Vec<Class>,
    /// Of each class, how many rows take each arm, not rounded.
    pub(super) wanted: Vec<Vec<f64>>,
}

/// The prices and shares; none for few rows, if a row may have several arms, or if the steps did not arrive. With `few`,
/// also if there are too few equal rows for this to be cheap.
pub(super) fn anneal(problem: &Problem, scores: &Scores<'_>, few: bool) -> Option<(Prices, Shares)> {
    let limits = problem.limits.len();
    let amounts: Vec<f64> =
        problem.limits.iter().map(|limit| limit.amount).chain(problem.k.map(|k| k as f64)).collect();
    let one_each = problem.per_row.is_none_or(|per_row| per_row == 1);
    let rows = problem.rows().count();
    if limits < 2 || amounts.len() > LIMITS || !one_each || rows < FEWEST || !amounts.iter().all(|&amount| amount > 0.0)
    {
        return None;
    }
    let (classes, rows) = (find(problem, scores, few)?, rows as f64);
    let mut bound = Smooth { problem, classes: &classes, amounts: &amounts, rows, heat: problem.largest_score };
    let fair = bound.barrier();
    let mut now = bound.at(amounts.iter().map(|amount| (fair / amount).max(f64::MIN_POSITIVE)).collect());
    // The last heat at which the steps arrived, and the prices there: where limits depend on each other, rounding ends the
    // way before the coldest heat.
    let mut arrived = None;
    for _ in 0..HEATS {
        let near = 1e-2 * bound.heat;
        for _ in 0..STEPS {
            let (step, fall) = now.step();
            if fall <= near {
                arrived = Some((bound.heat, now.prices.clone()));
                break;
            }
            let longest = now.longest(&step);
            let parts = [1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.001].map(|part| part * longest);
            let lower = parts.into_iter().map(|part| bound.at(now.moved(&step, part)));
            let Some(next) = lower.into_iter().find(|next| next.value < now.value) else { break };
            now = next;
        }
        let here = arrived.as_ref().is_some_and(|(heat, _)| *heat <= bound.heat);
        if !here || bound.heat * rows <= COLDEST * now.value {
            break;
        }
        bound.heat *= COOLER;
        now = bound.at(now.prices);
    }
    let (heat, prices) = arrived.filter(|(heat, _)| heat * rows <= WARMEST * now.value)?;
    bound.heat = heat;
    let prices = Prices { place: prices.get(limits).copied().unwrap_or(0.0), limits: prices[..limits].to_vec() };
    let units = prices.units(problem);
    let shares_of = |class: &Class| {
        let mut shares = Vec::new();
        bound.shares(class, &units, prices.place, &mut shares);
        shares.into_iter().map(|share| share * class.rows.len() as f64).collect()
    };
    let wanted = classes.iter().map(shares_of).collect();
    Some((prices, Shares { wanted, classes }))
}

/// The smooth bound as a function of the prices.
struct Smooth<'a> {
    problem: &'a Problem,
    classes: &'a [Class],
    /// Of each limit, the places last.
    amounts: &'a [f64],
    rows: f64,
    heat: f64,
}

/// The smooth bound at some prices.
struct Point {
    prices: Vec<f64>,
    value: f64,
    /// By how much the bound falls with each price: use beyond the limit, and the barrier.
    slope: Vec<f64>,
    bend: Vec<Vec<f64>>,
}

impl Smooth<'_> {
    /// What the barriers are worth each: together as much as the heat of all rows.
    fn barrier(&self) -> f64 {
        self.heat * self.rows / self.amounts.len() as f64
    }

    /// Finds the share of the rows that takes each arm, and returns the smooth value of a row.
    fn shares(&self, class: &Class, units: &[f64], place: f64, shares: &mut Vec<f64>) -> f64 {
        let value = |arm: &Arm| arm.score - units[arm.pick.block] * arm.cost - place;
        shares.clear();
        shares.extend(class.arms(self.problem).iter().map(value));
        let best = shares.iter().copied().fold(0.0, f64::max);
        let weight = |value: f64| {
            let power = (value - best) / self.heat;
            if power < NOTHING { 0.0 } else { libm::exp(power) }
        };
        shares.iter_mut().for_each(|share| *share = weight(*share));
        let sum = weight(0.0) + shares.iter().sum::<f64>();
        shares.iter_mut().for_each(|share| *share /= sum);
        best + self.heat * libm::log(sum)
    }

    fn at(&self, prices: Vec<f64>) -> Point {
        let (size, limits, barrier) = (self.amounts.len(), self.problem.limits.len(), self.barrier());
        let place = prices.get(limits).copied().unwrap_or(0.0);
        let named = Prices { limits: prices[..limits].to_vec(), place };
        let units = named.units(self.problem);
        let own = |(price, amount): (&f64, &f64)| price * amount - barrier * libm::log(*price);
        let mut value: f64 = prices.iter().zip(self.amounts).map(own).sum();
        let mut beyond: Vec<f64> = self.amounts.iter().map(|amount| -amount).collect();
        let mut bend = vec![vec![0.0; size]; size];
        let (mut mean, mut touched, mut shares) = (vec![0.0; size], Vec::new(), Vec::new());
        for class in self.classes {
            let rows = class.rows.len() as f64;
            value += rows * self.shares(class, &units, place, &mut shares);
            let tied = shares.iter().all(|share| *share < 1.0);
            for (at, &share) in class.rows[0].clone().zip(&shares).filter(|(_, share)| **share > 0.0) {
                changes(self.problem, at, |limit, amount| {
                    touched.push(limit);
                    mean[limit] += share * amount;
                    if tied {
                        changes(self.problem, at, |other, also| {
                            bend[limit][other] += rows / self.heat * share * amount * also
                        });
                    }
                });
            }
            touched.sort_unstable();
            touched.dedup();
            for &limit in &touched {
                beyond[limit] += rows * mean[limit];
                if tied {
                    touched
                        .iter()
                        .for_each(|&other| bend[limit][other] -= rows / self.heat * mean[limit] * mean[other]);
                }
            }
            touched.drain(..).for_each(|limit| mean[limit] = 0.0);
        }
        let slope = prices.iter().zip(&beyond).map(|(price, beyond)| beyond + barrier / price).collect();
        prices.iter().enumerate().for_each(|(at, price)| bend[at][at] += barrier / price / price);
        Point { prices, value, slope, bend }
    }
}

impl Point {
    /// The Newton step, and by how much it should lower the bound.
    fn step(&self) -> (Vec<f64>, f64) {
        let step = solve(self.bend.clone(), self.slope.clone());
        let fall = step.iter().zip(&self.slope).map(|(step, slope)| step * slope).sum();
        (step, fall)
    }

    /// The part of a step after which every price keeps some of its value, at most 1.
    fn longest(&self, step: &[f64]) -> f64 {
        let part = |(price, step): (&f64, &f64)| if *step < 0.0 { (1.0 - KEPT) * price / -step } else { 1.0 };
        self.prices.iter().zip(step).map(part).fold(1.0, f64::min)
    }

    fn moved(&self, step: &[f64], part: f64) -> Vec<f64> {
        self.prices
            .iter()
            .zip(step)
            .map(|(price, step)| (price + part * step).clamp(f64::MIN_POSITIVE, f64::MAX))
            .collect()
    }
}
