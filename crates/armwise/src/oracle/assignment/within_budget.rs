//! Limits and a budget together: an assignment in which cost has a price.
//!
//! At price p every arm is worth score - p * cost, and the assignment is exact at that. Each answer is a line, `score +
//! p * (budget - cost)`, and the highest line at any p is an upper bound for everything that fits. The search keeps the
//! nearest price whose arms cost too much and the nearest whose arms fit, and ends where their lines cross and no other
//! line is above. Both answers are then optimal at that price, and so is every exchange between them ([`mix`]); what is
//! left is a gap of about one exchange, which the selection states.

use super::filter::{self, Estimate};
use super::{Assignment, mix::mix, network::Network};
use crate::error::{Error, non_negative};
use crate::oracle::{Pick, Price, Quality, Scores, Selection, columns::Values};
use crate::{Infeasible, Keys, Limit, Round, Ties};

/// The most prices that are tried. Large problems need about 12.
const STEPS: usize = 100;
/// How often the price is raised before the cheapest filling is looked for.
const RAISES: usize = 8;
/// A first price is looked for in one row of so many, if that makes enough rows.
const SAMPLE: usize = 16;
const LEAST: usize = 1_000;
/// Within this share of a price, its answer is a better guess than a sample.
const NEARBY: f64 = 0.02;
/// The objective is called optimal within this share of the bound, which is rounding of the sums.
const ROUNDING: f64 = 1e-9;

/// The answer at a price.
struct Answer {
    price: f64,
    /// The sum of the scores, and of the costs, of its arms.
    worth: f64,
    spent: f64,
    found: Selection,
    /// The prices of the limits.
    limits: Vec<f64>,
}

/// The problem with its costs.
struct Priced<'a> {
    of: &'a Assignment,
    scores: &'a Scores<'a>,
    network: Network,
    costs: Vec<f64>,
    /// The largest of them.
    dearest: f64,
    budget: f64,
    /// Scores less priced costs, of the price tried last.
    worths: Vec<f64>,
}

impl Priced<'_> {
    fn sums(&self, arms: &[Pick]) -> (f64, f64) {
        let cost = |arm: &Pick| self.costs[self.scores.place(*arm)];
        (arms.iter().map(|&arm| self.scores.get(arm)).sum(), arms.iter().map(cost).sum())
    }

    fn fits(&self, spent: f64) -> bool {
        spent <= self.budget * (1.0 + 1e-12)
    }

    /// The best arms at a price, and the upper bound that they prove. The answer at a price nearby saves work.
    fn at(&mut self, price: f64, nearby: Option<&Answer>) -> Result<(Answer, f64), Error> {
        self.worths.clear();
        let values = self.scores.values().iter().zip(&self.costs);
        self.worths.extend(values.map(|(score, cost)| score - price * cost));
        let guess = nearby.and_then(|nearby| self.guess(price, nearby));
        let answer = self.solve(price, guess)?;
        let bound = answer.found.objective + price * self.budget;
        Ok((answer, bound))
    }

    /// Floors and prices at a price from those at another: an arm's price most probably moves by no more than the
    /// dearest arm's cost does.
    fn guess(&self, price: f64, nearby: &Answer) -> Option<Estimate> {
        let moved = (price - nearby.price).abs();
        if moved > NEARBY * price {
            return None;
        }
        let moved = 2.0 * moved * self.dearest;
        let prices = self.network.arm_prices(&self.network.potentials(&nearby.limits));
        let floors: Vec<f64> = prices.iter().map(|price| price - moved - 1e-9 * (1.0 + price.abs())).collect();
        floors.iter().all(|floor| floor.is_finite()).then(|| Estimate { floors, prices: Some(nearby.limits.clone()) })
    }

    /// The cheapest arms that meet the limits.
    fn cheapest(&mut self) -> Result<Answer, Error> {
        self.worths.clear();
        let values = self.scores.values().iter().zip(&self.costs);
        self.worths.extend(values.map(|(score, cost)| if score.is_finite() { -cost } else { f64::NEG_INFINITY }));
        let answer = self.solve(f64::INFINITY, None)?;
        if !self.fits(answer.spent) {
            let reason = Infeasible::QuotasCost { least: answer.spent, budget: self.budget };
            return Err(Error::Infeasible(reason));
        }
        Ok(answer)
    }

    fn solve(&self, price: f64, guess: Option<Estimate>) -> Result<Answer, Error> {
        let (found, limits) = self.of.best_from(&self.scores.with_values(&self.worths), &self.network, guess)?;
        let (worth, spent) = self.sums(&found.arms);
        Ok(Answer { price, worth, spent, found, limits })
    }
}

pub(super) fn argmax(
    of: &Assignment,
    scores: &Scores<'_>,
    network: Network,
    cost: &str,
    budget: f64,
) -> Result<Selection, Error> {
    non_negative("budget", budget)?;
    let column = Values::of(scores, cost)?;
    let cost_of = |place: usize| match scores.pick(place) {
        arm if scores.get(arm) == f64::NEG_INFINITY => Ok(0.0),
        arm => column.checked(cost, arm, 0.0),
    };
    let costs = (0..scores.values().len()).map(cost_of).collect::<Result<Vec<f64>, Error>>()?;
    let dearest = costs.iter().copied().fold(0.0, f64::max);
    let worths = Vec::new();
    let mut problem = Priced { of, scores, network, costs, dearest, budget, worths };
    let first = problem.first_price();
    let (free, bound) = problem.at(0.0, None)?;
    if problem.fits(free.spent) {
        return Ok(Selection { floors: None, ..free.found });
    }
    let Search { dear, fitting, best, bound } = problem.search(free, bound, first)?;
    let mixed = mix(&problem.network, scores, &problem.costs, budget, &fitting.found.arms, &dear.found.arms);
    let arms = if problem.sums(&mixed).0 > problem.sums(&best).0 { mixed } else { best };
    let mut selection = Selection::optimal(arms, scores);
    let upper_bound = bound.max(selection.objective);
    if upper_bound - selection.objective > ROUNDING * (1.0 + selection.objective.abs()) {
        selection.quality = Quality::Gap;
    }
    let Answer { price, found, .. } = if fitting.price.is_finite() { fitting } else { dear };
    let mut prices = found.prices;
    prices.push(Price { of: Limit::Budget, value: price });
    Ok(Selection { upper_bound, prices, missing: found.missing, ..selection })
}

/// Where a search for the price of cost ended.
struct Search {
    /// The answers at the nearest prices on both sides.
    dear: Answer,
    fitting: Answer,
    /// The best arms that fit.
    best: Vec<Pick>,
    bound: f64,
}

impl Priced<'_> {
    /// A guess at the price from a sample of the rows, which is searched in the same way; none for few rows.
    fn first_price(&self) -> Option<f64> {
        let (rows, share) = filter::sample_of(self.scores.len(), SAMPLE);
        if rows.len() < LEAST {
            return None;
        }
        let blocks = self.scores.blocks();
        let of_rows = |all: &[f64]| -> Vec<f64> {
            rows.iter().flat_map(|&row| &all[row * blocks..(row + 1) * blocks]).copied().collect()
        };
        let (values, costs) = (of_rows(self.scores.values()), of_rows(&self.costs));
        let scores =
            Scores::new(&values, blocks, Keys::numbers(rows.len()).ok()?, Ties::ById, Round::new(0, 0)).ok()?;
        let network = self.network.sampled(&rows, share);
        let (budget, worths) = (self.budget * share, Vec::new());
        let mut sample = Priced { scores: &scores, network, costs, budget, worths, ..*self };
        let (free, bound) = sample.at(0.0, None).ok()?;
        if sample.fits(free.spent) {
            return None;
        }
        let first = sample.first_price();
        Some(sample.search(free, bound, first).ok()?.dear.price)
    }

    /// Searches the price of cost between the answer at price 0, which costs too much, and one that fits.
    fn search(&mut self, free: Answer, mut bound: f64, guess: Option<f64>) -> Result<Search, Error> {
        let budget = self.budget;
        let mut dear = free;
        let mut fitting: Option<Answer> = None;
        let mut best: Option<(f64, Vec<Pick>)> = None;
        // Without a guess, what a unit of cost brings on average.
        let mut first = guess.unwrap_or(dear.worth.abs() / dear.spent).clamp(1e-300, 1e300);
        let mut raises = 0;
        for step in 0..STEPS {
            let (price, crosses) = match &fitting {
                None => (first, false),
                Some(fit) if dear.price == 0.0 && guess.is_some_and(|guess| fit.price <= guess) => {
                    // A guess that fits is most probably near the price that does not.
                    (fit.price * 0.99, false)
                }
                Some(fit) => match between(self, &dear, fit, step) {
                    Some(next) => next,
                    None => break,
                },
            };
            let nearest =
                fitting.as_ref().map_or(&dear, |fit| if price - dear.price < fit.price - price { &dear } else { fit });
            let (answer, above) = self.at(price, Some(nearest))?;
            bound = bound.min(above);
            // No line is above the two at their crossing: the least bound there is.
            let lowest = |fit: &Answer| {
                let line = fit.worth + price * (budget - fit.spent);
                above - line <= 1e-3 * ROUNDING * (1.0 + line.abs())
            };
            let settled = crosses && fitting.as_ref().is_some_and(lowest);
            if self.fits(answer.spent) {
                if best.as_ref().is_none_or(|(worth, _)| answer.worth > *worth) {
                    best = Some((answer.worth, answer.found.arms.clone()));
                }
                fitting = Some(answer);
            } else {
                let before = (dear.price, dear.spent);
                dear = answer;
                if fitting.is_none() {
                    // Where the cost would fit if it went on falling as it did, and somewhat further.
                    let fell = (before.1 - dear.spent) / (price - before.0);
                    let further = price + 1.25 * (dear.spent - budget) / fell;
                    let least = if guess.is_some() && raises < 2 { 1.01 } else { 1.5 };
                    first = if further.is_finite() { further.clamp(least * price, 8.0 * price) } else { 8.0 * price };
                    raises += 1;
                    if raises == RAISES {
                        let cheapest = self.cheapest()?;
                        best = Some((cheapest.worth, cheapest.found.arms.clone()));
                        fitting = Some(cheapest);
                    }
                }
            }
            let near = best.as_ref().is_some_and(|(worth, _)| bound - worth <= ROUNDING * (1.0 + worth.abs()));
            if settled || near {
                break;
            }
        }
        let fitting = fitting.map_or_else(|| self.cheapest(), Ok)?;
        let best = best.map_or_else(|| fitting.found.arms.clone(), |(_, arms)| arms);
        Ok(Search { dear, fitting, best, bound })
    }
}

/// The price to try next, and whether it is where the two lines cross, which is where the search may end. By turns it is
/// where the cost would be the budget if it fell evenly between the two, which is nearer unless cost falls in steps. None
/// if there is no price between them.
fn between(problem: &Priced<'_>, dear: &Answer, fit: &Answer, step: usize) -> Option<(f64, bool)> {
    let is_between = |price: &f64| *price > dear.price && *price < fit.price;
    let crossing = (dear.worth - fit.worth) / (dear.spent - fit.spent);
    let crossing = Some(crossing).filter(is_between).map(|price| (price, true));
    let apart = dear.spent - fit.spent;
    if step.is_multiple_of(2) || !fit.price.is_finite() || apart <= 4.0 * problem.dearest {
        return crossing;
    }
    let even = dear.price + (dear.spent - problem.budget) / apart * (fit.price - dear.price);
    Some(even).filter(is_between).map(|price| (price, false)).or(crossing)
}
