//! Customers and promotions: a quota for each promotion, a limit for each customer.
//!
//! Everything follows from prices, one per promotion. At given prices every customer takes what is best for it; at the
//! right prices this fills the quotas, and then no other super arm is better. The files are the steps: [`filter`]
//! prunes pairs that cannot matter, [`newton`] finds nearly the right prices, [`flow`] corrects the rest exactly on an
//! integer [`grid`], [`solve`] proves the result, [`ties`] picks one optimum among equals, and [`hall`] explains quotas
//! that cannot be met. If a customer may be in all promotions, [`separate`] alone suffices.

mod choice;
mod filter;
mod flow;
mod grid;
mod hall;
mod newton;
mod offers;
mod quota;
mod separate;
mod solve;
mod ties;
mod within_budget;

pub(crate) use filter::pairs_above;
#[cfg(test)]
pub(crate) use filter::sampled_rows;
pub use quota::{BlockQuotas, Quota, QuotaRange};

use super::{Limit, Missing, Needs, OnInfeasible, Oracle, Pick, Price, Scores, Selection, raised, rows_of};
use crate::error::{Error, check};
use grid::Grid;
use quota::Slots;
use serde::{Deserialize, Serialize};

/// A quota of customers for each promotion, and at most `per_row` promotions for each customer: the paper's sending
/// problem, solved exactly.
///
/// # Formula
/// ```text
/// S_t = { I : min_j <= |{ i : (i, j) in I }| <= max_j  for every promotion j,
///             |{ j : (i, j) in I }| <= per_row         for every customer i }
/// ```
/// The mandatory units, up to `min_j`, are filled even by negative scores; a unit beyond is taken only if it raises
/// the sum. A pair with score -infinity is never chosen. `per_row = M` is the paper's independent reading.
///
/// # Ties
/// Among super arms with the largest sum, those with the fewest arms win. Among these, take the first arm in tie order
/// that not all of them have: the super arm that has it wins. Row order never matters, and with one promotion the
/// answer is that of [`TopK`](super::TopK).
///
/// # Prices
/// One per promotion: by how much the objective would change with one more unit of its quota, which is the least of
/// all optimal dual prices. For an exact quota, the additional unit must be filled (so the price may be negative, and a
/// quota that cannot be raised has none); for a range, it may be filled.
///
/// # Exactness
/// Sums are compared on an integer grid, at 2^-98 of the largest score or finer for up to 100 promotions, so scores
/// above 2^-45 of the largest are taken to the last bit. Large negative scores that need not be chosen do not count as
/// the largest.
///
/// # Infeasible quotas
/// The error names promotions that together need more than their eligible customers can fill. With
/// `on_infeasible = "fill"` as many mandatory units as possible are filled, then the sum is maximised, and the
/// selection says what is missing.
///
/// # Budget
/// With `cost` and `budget`, the chosen arms together may cost at most the budget. The answer is then optimal if it
/// uses the budget up exactly; otherwise it says how far from the best it may be (see `within_budget.rs`).
///
/// # Reference
/// Section VII-A2: "Sending promotions".
///
/// # Example
/// ```
/// use armwise::{Arms, Assignment, Oracle, Round, Scores, Ties};
/// let arms = Arms::new(&[0.0, 0.0, 0.0][..], 1)?;
/// let scores = Scores::new(&[0.9, 0.8, 0.7, 0.1, 0.2, 0.1], 2, arms, Ties::ById, Round::new(1, 1))?;
/// let best = Assignment::new(vec![1, 1]).argmax(&scores)?;
/// // Customer 0 goes to promotion 1, because customer 1 is worth much more in promotion 0.
/// assert_eq!(best.arms.iter().map(|arm| (arm.row, arm.block)).collect::<Vec<_>>(), [(1, 0), (0, 1)]);
/// assert_eq!(best.objective, 1.5);
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// How many customers each promotion gets.
    pub quotas: BlockQuotas,
    /// In how many promotions a customer may be.
    #[serde(default = "one")]
    pub per_row: usize,
    /// What to do where the quotas cannot be met.
    #[serde(default)]
    pub on_infeasible: OnInfeasible,
    /// The column of costs, where there is a budget; `block` is the block number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// What the chosen arms may cost together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
}

fn one() -> usize {
    1
}

/// The best filling: as many mandatory units as possible, then the largest sum.
struct Filling {
    arms: Vec<Pick>,
    slots: Vec<Slots>,
    per_row: usize,
    /// What one more slot would add to (mandatory units, sum of scores) for each block.
    worth: Vec<(bool, f64)>,
    /// The largest score.
    best: f64,
    /// Scores below this must not set the scale; usually none.
    penalty: Option<f64>,
}

impl Assignment {
    /// Each customer in at most one promotion, infeasible quotas as an error.
    #[must_use]
    pub fn new(quotas: impl Into<BlockQuotas>) -> Self {
        Self { quotas: quotas.into(), per_row: 1, on_infeasible: OnInfeasible::Error, cost: None, budget: None }
    }

    /// The same with a budget: the values of a column, summed over the chosen arms, must not exceed it.
    #[must_use]
    pub fn within(self, cost: &str, budget: f64) -> Self {
        Self { cost: Some(cost.to_owned()), budget: Some(budget), ..self }
    }

    /// The best filling. Penalties (-1e30 for "please do not") would set the scale and make the other scores vanish, so
    /// it is tried without them first. The result is optimal if it fills as many mandatory units and no super arm with
    /// a penalty can be worth as much.
    fn fill(&self, scores: &Scores<'_>) -> Result<Filling, Error> {
        if self.per_row >= scores.blocks() {
            return separate::fill(scores, self.quotas.slots(scores.blocks(), scores.len())?);
        }
        let given = self.fill_as_given(scores)?;
        let Some(penalty) = given.penalty else { return Ok(given) };
        let forbid = |&score: &f64| if score < penalty { f64::NEG_INFINITY } else { score };
        let values: Vec<f64> = scores.values().iter().map(forbid).collect();
        let mut without = self.fill(&scores.with_values(&values))?;
        let arms = (scores.len() * without.per_row) as f64;
        let sum = without.arms.iter().fold(0.0, |sum, &arm| sum + scores.get(arm));
        let enough = without.mandatory() == given.mandatory() && sum > arms * given.best.max(0.0) + penalty;
        if !enough {
            return Ok(given);
        }
        // One more unit of a quota may cost a penalty.
        for (worth, given) in without.worth.iter_mut().zip(given.worth).filter(|(worth, _)| !worth.0) {
            *worth = given;
        }
        Ok(without)
    }

    fn fill_as_given(&self, scores: &Scores<'_>) -> Result<Filling, Error> {
        check("per_row", self.per_row as f64, self.per_row > 0, "at least 1")?;
        let (blocks, rows) = (scores.blocks(), scores.len());
        let slots = self.quotas.slots(blocks, rows)?;
        let per_row = self.per_row.min(blocks);
        let grid = Grid::new(blocks);
        let filter::Estimate { mut floors, prices: mut start } = filter::estimate(scores.values(), &slots, per_row);
        loop {
            let kept = filter::keep(scores, &floors)?;
            let first = start.as_ref().map(|prices| prices.iter().map(|&price| kept.scale.down(price)).collect());
            let mut solution = solve::solve(&kept, &slots, per_row, &grid, first);
            let prices = &solution.flow.prices;
            // Pruned pairs have values below the floors, so at prices at or above the floors they are not chosen.
            let low = |block: usize| {
                let floor = kept.scale.down(floors[block]);
                floor > f64::NEG_INFINITY && (!solution.reached[block] || prices[block] < grid.price(floor))
            };
            if (0..blocks).any(low) {
                let found: Vec<f64> =
                    prices[..blocks].iter().map(|&price| kept.scale.up(below(grid.score(price)))).collect();
                // More rows only raise the least prices, so these floors will hold.
                floors = (0..blocks)
                    .map(|block| match (low(block), solution.reached[block]) {
                        (false, _) => floors[block],
                        (true, true) => found[block],
                        (true, false) => f64::NEG_INFINITY,
                    })
                    .collect();
                // Prices of quotas that could not be filled are no use as a start.
                let filled = (0..blocks).all(|block| solution.reached[block] && prices[block] > -grid.bonus / 2);
                start = if filled { Some(found) } else { filter::first_prices(scores.values(), &slots, per_row) };
                continue;
            }
            ties::break_ties(&mut solution, scores);
            let worth = (0..blocks)
                .map(|block| match solution.flow.prices[block] {
                    _ if !solution.reached[block] => (false, 0.0),
                    price if price > -grid.bonus / 2 => (true, kept.scale.up(grid.score(price))),
                    price => (false, kept.scale.up(grid.score((price + grid.bonus).max(0)))),
                })
                .collect();
            return Ok(Filling {
                best: kept.best,
                penalty: kept.penalty,
                arms: solution.arms(scores),
                slots,
                per_row,
                worth,
            });
        }
    }
}

/// Slightly below a price, by more than rounding on the grid or in f64 could undo.
fn below(price: f64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 40) as f64;
    price - STEP * (1.0 + price.abs())
}

impl Filling {
    /// How many rows each block has.
    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.slots.len()];
        self.arms.iter().for_each(|arm| counts[arm.block] += 1);
        counts
    }

    /// How many mandatory units are filled.
    fn mandatory(&self) -> usize {
        self.counts().iter().zip(&self.slots).map(|(&chosen, slots)| slots.min.min(chosen)).sum()
    }

    /// How far each block is below its minimum.
    fn missing(&self, quotas: &BlockQuotas) -> Vec<Missing> {
        let short = self.counts().into_iter().enumerate().filter(|&(block, chosen)| chosen < self.slots[block].min);
        short.map(|(block, chosen)| Missing { of: Limit::Block(block), needed: quotas.min(block), chosen }).collect()
    }

    /// The floors: the prices of filled quotas, lowered by more than the rounding error. More rows only raise the
    /// prices, so an arm that scores below a floor never matters. A quota that cannot be raised has no floor. Nor has a
    /// range of which only the minimum is filled, at a price of 0, since that may have taken arms with negative scores.
    fn floors(&self) -> Vec<f64> {
        let floor = |(block, chosen): (usize, usize)| {
            let slots = self.slots[block];
            let told = |price: &f64| slots.exact || slots.min == 0 || chosen > slots.min || *price > 0.0;
            let price = self.price(block, false).filter(told);
            price.map_or(f64::NEG_INFINITY, |price| price - 1e-9 * (1.0 + price.abs()))
        };
        self.counts().into_iter().enumerate().map(floor).collect()
    }

    fn prices(&self, fill: bool) -> Vec<Price> {
        let price = |block| Some(Price { of: Limit::Block(block), value: self.price(block, fill)? });
        (0..self.slots.len()).filter_map(price).collect()
    }

    /// What one more unit of a quota is worth; none for an exact one that cannot be raised.
    fn price(&self, block: usize, fill: bool) -> Option<f64> {
        match (self.slots[block].exact, self.worth[block]) {
            (true, (fills, worth)) => (fills || fill).then_some(worth),
            (false, (true, worth)) => Some(worth.max(0.0)),
            (false, (false, _)) => Some(0.0),
        }
    }
}

impl Oracle for Assignment {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        match (&self.cost, self.budget) {
            (Some(cost), Some(budget)) => within_budget::argmax(self, scores, cost, budget),
            (None, None) => self.best(scores),
            _ => Err(Error::Constraint("a budget needs a column of costs, and costs need a budget".into())),
        }
    }

    fn needs(&self) -> Needs {
        let from = match &self.quotas {
            BlockQuotas::All(quota) => quota.least_filled(),
            BlockQuotas::Each(each) => each.iter().fold(0_usize, |sum, quota| sum.saturating_add(quota.least_filled())),
        };
        if self.budget.is_some() { Needs::All } else { Needs::Floors { from } }
    }

    fn guess_floors(&self, sample: &Scores<'_>, share: f64) -> Result<Option<Vec<f64>>, Error> {
        let slots = self.quotas.slots(sample.blocks(), usize::MAX - 1)?;
        if share < 1.0 {
            let range = |slots: &Slots| match raised(slots.min, share) {
                min if slots.exact => Quota::Exactly(min),
                min if slots.max == usize::MAX => Quota::Between(QuotaRange { min, max: None }),
                min => Quota::between(min, raised(slots.max, share)),
            };
            let quotas = BlockQuotas::Each(slots.iter().map(range).collect());
            return match (Self { quotas, on_infeasible: OnInfeasible::Error, ..self.clone() }).best(sample) {
                Err(Error::Infeasible(_)) => Ok(None),
                best => Ok(best?.floors.filter(|floors| floors.iter().any(|floor| floor.is_finite()))),
            };
        }
        let exact = self.on_infeasible == OnInfeasible::Error && slots.iter().all(|slots| slots.exact);
        if !exact || self.per_row == 0 || self.per_row >= slots.len() {
            return Ok(None);
        }
        let slots = self.quotas.slots(sample.blocks(), sample.len())?;
        let floors = filter::estimate(sample.values(), &slots, self.per_row).floors;
        Ok(Some(floors).filter(|floors| !floors.contains(&f64::NEG_INFINITY)))
    }

    /// The rows of the part's own best filling, at most the sum of the quotas; with a budget all rows, since which of
    /// them matter depends on the price of cost, which only the whole tells.
    ///
    /// They suffice: let X be the optimum of the whole and Y that of the part, and suppose X uses a row of the part
    /// that Y does not. The difference of X and Y on the part falls into alternating paths; follow the one that
    /// starts at this row. If it ends at a row that Y uses more, exchanging along it changes no block's count, and
    /// improves either Y or X. If it ends at a block of which X has more in this part than Y, exchanging adds a
    /// unit there to Y and takes one from X; Y gains a mandatory unit by it whenever X loses one, so again one of
    /// them improves. Both are the only optima under the tie rule, so there is no such row. This holds for any
    /// `per_row`, ranges, negative scores and quotas that cannot be met.
    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        if self.budget.is_some() {
            return Ok((0..part.len()).collect());
        }
        Ok(rows_of(&self.fill(part)?.arms))
    }
}

impl Assignment {
    /// The best super arm, whatever it costs.
    fn best(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let filling = self.fill(scores)?;
        let missing = filling.missing(&self.quotas);
        if !missing.is_empty() && self.on_infeasible == OnInfeasible::Error {
            let needs: Vec<usize> = (0..scores.blocks()).map(|block| self.quotas.min(block)).collect();
            let mut chosen = vec![Vec::new(); scores.len()];
            filling.arms.iter().for_each(|arm| chosen[arm.row].push(arm.block));
            return Err(Error::Infeasible(hall::explain(scores, filling.per_row, &needs, &chosen)));
        }
        let prices = filling.prices(self.on_infeasible == OnInfeasible::Fill);
        let floors = missing.is_empty().then(|| filling.floors());
        Ok(Selection { prices, missing, floors, ..Selection::in_order(filling.arms, scores) })
    }
}
