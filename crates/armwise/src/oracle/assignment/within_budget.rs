//! Limits and a budget together: an assignment in which cost has a price.
//!
//! At price p every arm is worth score - p * cost, and the assignment is exact at that. Each answer is a line, `score +
//! p * (budget - cost)`, and the highest line at any p is an upper bound for everything that fits. The search keeps the
//! nearest price whose arms cost too much and the nearest whose arms fit, and ends where their lines cross and no other
//! line is above. Both answers are then optimal at that price, and so is every exchange between them ([`mix`]); what is
//! left is a gap of about one exchange, which the selection states.

use super::{Assignment, mix::mix};
use crate::error::{Error, non_negative};
use crate::oracle::{Pick, Price, Quality, Scores, Selection, columns::Values};
use crate::{Infeasible, Limit};

/// The most prices that are tried. Large problems need about 12.
const STEPS: usize = 100;
/// How often the price is multiplied by eight before the cheapest filling is looked for.
const RAISES: usize = 4;
/// The objective is called optimal within this share of the bound, which is rounding of the sums.
const ROUNDING: f64 = 1e-9;

/// The answer at a price.
struct Answer {
    price: f64,
    /// The sum of the scores, and of the costs, of its arms.
    worth: f64,
    spent: f64,
    found: Selection,
}

/// The problem with its costs.
struct Priced<'a> {
    of: &'a Assignment,
    scores: &'a Scores<'a>,
    costs: Vec<f64>,
    budget: f64,
}

impl Priced<'_> {
    fn sums(&self, arms: &[Pick]) -> (f64, f64) {
        let cost = |arm: &Pick| self.costs[self.scores.place(*arm)];
        (arms.iter().map(|&arm| self.scores.get(arm)).sum(), arms.iter().map(cost).sum())
    }

    fn fits(&self, spent: f64) -> bool {
        spent <= self.budget * (1.0 + 1e-12)
    }

    /// The best arms at a price, and the upper bound that they prove.
    fn at(&self, price: f64) -> Result<(Answer, f64), Error> {
        let priced = self.scores.values().iter().zip(&self.costs).map(|(score, cost)| score - price * cost);
        let found = self.of.best(&self.scores.with_values(&priced.collect::<Vec<f64>>()))?;
        let (worth, spent) = self.sums(&found.arms);
        let bound = found.objective + price * self.budget;
        Ok((Answer { price, worth, spent, found }, bound))
    }

    /// The cheapest arms that meet the limits.
    fn cheapest(&self) -> Result<Answer, Error> {
        let forbidden = self.scores.values().iter().map(|score| score.is_finite());
        let cheap = forbidden.zip(&self.costs).map(|(may, cost)| if may { -cost } else { f64::NEG_INFINITY });
        let found = self.of.best(&self.scores.with_values(&cheap.collect::<Vec<f64>>()))?;
        let (worth, spent) = self.sums(&found.arms);
        if !self.fits(spent) {
            return Err(Error::Infeasible(Infeasible::QuotasCost { least: spent, budget: self.budget }));
        }
        Ok(Answer { price: f64::INFINITY, worth, spent, found })
    }
}

pub(super) fn argmax(of: &Assignment, scores: &Scores<'_>, cost: &str, budget: f64) -> Result<Selection, Error> {
    non_negative("budget", budget)?;
    let column = Values::of(scores, cost)?;
    let cost_of = |place: usize| match scores.pick(place) {
        arm if scores.get(arm) == f64::NEG_INFINITY => Ok(0.0),
        arm => column.checked(cost, arm, 0.0),
    };
    let costs = (0..scores.values().len()).map(cost_of).collect::<Result<Vec<f64>, Error>>()?;
    let problem = Priced { of, scores, costs, budget };
    let (free, mut bound) = problem.at(0.0)?;
    if problem.fits(free.spent) {
        return Ok(Selection { floors: None, ..free.found });
    }
    let mut dear = free;
    // What a unit of cost brings on average, as a first price.
    let mut first = (dear.worth.abs() / dear.spent).clamp(1e-300, 1e300);
    let mut fitting: Option<Answer> = None;
    let mut best: Option<(f64, Vec<Pick>)> = None;
    let mut raises = 0;
    for step in 0..STEPS {
        let Some(price) = next(&problem, &dear, fitting.as_ref(), first, step) else { break };
        let (answer, above) = problem.at(price)?;
        bound = bound.min(above);
        // No line is above the two at their crossing: the least bound there is.
        let lowest = |fit: &Answer| {
            let line = fit.worth + price * (budget - fit.spent);
            above - line <= 1e-3 * ROUNDING * (1.0 + line.abs())
        };
        let settled = step % 2 == 0 && fitting.as_ref().is_some_and(lowest);
        if problem.fits(answer.spent) {
            if best.as_ref().is_none_or(|(worth, _)| answer.worth > *worth) {
                best = Some((answer.worth, answer.found.arms.clone()));
            }
            fitting = Some(answer);
        } else {
            dear = answer;
            if fitting.is_none() {
                (first, raises) = (price * 8.0, raises + 1);
                if raises == RAISES {
                    let cheapest = problem.cheapest()?;
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
    let fitting = fitting.map_or_else(|| problem.cheapest(), Ok)?;
    let best = best.map_or_else(|| fitting.found.arms.clone(), |(_, arms)| arms);
    let mixed = mix(of, scores, &problem.costs, budget, &fitting.found.arms, &dear.found.arms)?;
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

/// The price to try next: by turns where the two lines cross, which is where the search may end, and where the cost
/// would be the budget if it fell evenly between them, which is usually nearer. None if there is no price between them.
fn next(problem: &Priced<'_>, dear: &Answer, fitting: Option<&Answer>, first: f64, step: usize) -> Option<f64> {
    let Some(fit) = fitting else { return Some(first) };
    let crossing = (dear.worth - fit.worth) / (dear.spent - fit.spent);
    let between = |price: f64| price > dear.price && price < fit.price;
    if step % 2 == 0 || !fit.price.is_finite() {
        return Some(crossing).filter(|&price| between(price));
    }
    let even = (dear.spent - problem.budget) / (dear.spent - fit.spent);
    let even = dear.price + even.clamp(0.05, 0.95) * (fit.price - dear.price);
    Some(even).filter(|&price| between(price)).or(Some(crossing).filter(|&price| between(price)))
}
