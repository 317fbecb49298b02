//! Quotas and a budget together: an assignment in which cost has a price.
//!
//! At price p every send is worth score - p * cost, the library's assignment is exact at that, and
//! p is raised until the sends fit the budget. That is optimal where the budget comes out even; otherwise the bound
//! `value at p + p * budget` says how far from the best it may be, and the selection carries it.

use super::constraint::COST;
use armwise::{Assignment, Error, Oracle, Pick, Price, Quality, Round, Scores, Selection, Ties};

/// Quotas whose sends together cost at most the budget.
#[derive(Debug)]
pub(super) struct WithinBudget {
    pub(super) assignment: Assignment,
    pub(super) budget: f64,
    pub(super) ties: Ties,
    pub(super) round: Round,
}

/// Steps of bisection: the price is known to 1e-12 of its size then.
const STEPS: usize = 40;

impl WithinBudget {
    fn at(&self, price: f64, scores: &Scores<'_>, costs: &[f64]) -> Result<Selection, Error> {
        let values: Vec<f64> = scores.values().iter().zip(costs).map(|(score, cost)| score - price * cost).collect();
        let priced = Scores::new(&values, scores.blocks(), scores.arms(), self.ties, self.round)?;
        self.assignment.argmax(&priced)
    }

    fn fits(&self, cost: f64) -> bool {
        cost <= self.budget * (1.0 + 1e-12)
    }
}

impl Oracle for WithinBudget {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let blocks = scores.blocks();
        let costs = match scores.arms().column(COST) {
            Some((costs, per_row)) if per_row == blocks => costs,
            _ => return Err(Error::Constraint("the column of costs is not attached".to_owned())),
        };
        let spent = |arms: &[Pick]| arms.iter().map(|arm| costs[arm.row * blocks + arm.block]).sum::<f64>();
        let free = self.at(0.0, scores, costs)?;
        if self.fits(spent(&free.arms)) {
            return Ok(free);
        }
        let scale = scores
            .values()
            .iter()
            .filter(|score| score.is_finite())
            .fold(0.0, |most: f64, score| most.max(score.abs()));
        let (mut low, mut high) = (0.0, (scale / self.budget.max(1e-300)).clamp(1e-12, 1e12));
        let mut bound = free.objective;
        let mut best: Option<(f64, f64, Selection)> = None;
        let mut doublings = 0;
        for _ in 0..STEPS + 60 {
            let price = if best.is_none() { high } else { f64::midpoint(low, high) };
            let found = self.at(price, scores, costs)?;
            bound = bound.min(found.objective + price * self.budget);
            if self.fits(spent(&found.arms)) {
                let worth = found.arms.iter().map(|&arm| scores.get(arm)).sum::<f64>();
                high = price;
                if best.as_ref().is_none_or(|(least, ..)| worth > *least) {
                    best = Some((worth, price, found));
                }
            } else {
                low = price;
                if best.is_none() {
                    doublings += 1;
                    if doublings > 60 {
                        let cheapest = spent(&found.arms);
                        let budget = self.budget;
                        let text = format!(
                            "the quotas cost at least about {cheapest}, which is more than the budget of {budget}; \
                             lower the quotas, or give them as {{ max = ... }}"
                        );
                        return Err(Error::Constraint(text));
                    }
                    high *= 4.0;
                }
            }
            if best.is_some() && high - low <= 1e-12 * high {
                break;
            }
        }
        let (objective, price, found) = best.expect("the loop ends with a selection or an error");
        let mut selection = Selection::optimal(found.arms, scores);
        let upper_bound = bound.max(objective);
        if upper_bound - objective > 1e-9 * (1.0 + objective.abs()) {
            selection.quality = Quality::Gap;
        }
        let mut prices = found.prices;
        prices.push(Price { of: "budget".to_owned(), value: price });
        Ok(Selection { upper_bound, prices, missing: found.missing, ..selection })
    }

    // Which rows matter depends on the price, which only the whole table tells: all rows are kept.
}
