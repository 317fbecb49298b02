//! Quotas and a budget together: an assignment in which cost has a price.
//!
//! At price p every arm is worth score - p * cost, the assignment is exact at that, and p is raised until the arms fit
//! the budget. That is optimal if the budget is used up exactly; otherwise the bound `value at p + p * budget` says how
//! far from the best it may be, and the selection carries this bound.

use super::Assignment;
use crate::error::{Error, non_negative};
use crate::oracle::{Pick, Price, Quality, Scores, Selection, columns::Values};
use crate::{Infeasible, Limit};

/// Steps of bisection; they determine the price to a relative error of 1e-12.
const STEPS: usize = 100;
/// How often the price is multiplied by four before the quotas count as too expensive.
const RAISES: usize = 60;

pub(super) fn argmax(of: &Assignment, scores: &Scores<'_>, cost: &str, budget: f64) -> Result<Selection, Error> {
    non_negative("budget", budget)?;
    let column = Values::of(scores, cost)?;
    let forbidden = |arm: Pick| scores.get(arm) == f64::NEG_INFINITY;
    let cost_of = |place: usize| match scores.pick(place) {
        arm if forbidden(arm) => Ok(0.0),
        arm => column.checked(cost, arm, 0.0),
    };
    let costs = (0..scores.values().len()).map(cost_of).collect::<Result<Vec<f64>, Error>>()?;
    let spent = |arms: &[Pick]| arms.iter().map(|arm| costs[arm.row * scores.blocks() + arm.block]).sum::<f64>();
    let fits = |found: &Selection| spent(&found.arms) <= budget * (1.0 + 1e-12);
    let at = |price: f64| {
        let values: Vec<f64> = scores.values().iter().zip(&costs).map(|(score, cost)| score - price * cost).collect();
        of.best(&scores.with_values(&values))
    };
    let free = of.best(scores)?;
    if fits(&free) {
        return Ok(Selection { floors: None, ..free });
    }
    let finite = scores.values().iter().filter(|score| score.is_finite());
    let scale = finite.fold(0.0, |most: f64, score| most.max(score.abs()));
    let (mut low, mut high) = (0.0, (scale / budget.max(1e-300)).clamp(1e-12, 1e12));
    let mut bound = free.objective;
    let mut best: Option<(f64, f64, Selection)> = None;
    let mut raises = 0;
    for _ in 0..STEPS {
        let price = if best.is_none() { high } else { f64::midpoint(low, high) };
        let found = at(price)?;
        bound = bound.min(found.objective + price * budget);
        if fits(&found) {
            let worth = found.arms.iter().map(|&arm| scores.get(arm)).sum::<f64>();
            high = price;
            if best.as_ref().is_none_or(|(least, ..)| worth > *least) {
                best = Some((worth, price, found));
            }
        } else {
            low = price;
            if best.is_none() {
                raises += 1;
                if raises > RAISES {
                    let least = spent(&found.arms);
                    return Err(Error::Infeasible(Infeasible::QuotasCost { least, budget }));
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
    prices.push(Price { of: Limit::Budget, value: price });
    Ok(Selection { upper_bound, prices, missing: found.missing, ..selection })
}
