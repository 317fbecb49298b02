//! Customers and promotions: a quota for each promotion, a limit for each customer.
//!
//! Everything follows from prices, one per promotion. At given prices every customer takes what is best for it; at the
//! right prices this fills the quotas, and then no other super arm is better. The files are the steps: [`filter`]
//! prunes pairs that cannot matter, [`newton`] finds nearly the right prices, [`flow`] corrects the rest exactly on an
//! integer [`grid`], [`solve`] proves the result, [`ties`] picks one optimum among equals, [`filling`] says what it is
//! worth, and [`cut`] explains limits that cannot be met; [`warm`] begins with the prices of an earlier round. [`network`] turns quotas and groups into the limits that have
//! prices; [`crossing`] solves groups that are not nested. If a customer may be in all promotions and there are no groups, [`separate`] alone suffices.

mod choice;
mod crossing;
mod cut;
mod derived;
mod filling;
mod filter;
mod flow;
mod grid;
mod mix;
mod network;
mod newton;
mod offers;
mod quota;
mod separate;
mod solve;
mod strata;
mod ties;
mod warm;
mod within_budget;

pub(crate) use filter::pairs_above;
#[cfg(test)]
pub(crate) use filter::sampled_rows;
pub use quota::{BlockQuotas, Quota, QuotaRange};

use super::linear::a_minute;
use super::{Group, Needs, OnInfeasible, Oracle, Price, Scores, Selection, raised, rows_of};
use crate::error::{Error, check, positive};
use filling::Filling;
use filter::Estimate;
use grid::Grid;
use network::Network;
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
/// The error names promotions that together need more than their eligible customers can fill, or with groups, minima
/// that add up to more than other limits and the customers allow. With
/// `on_infeasible = "fill"` as many mandatory units as possible are filled, then the sum is maximised, and the
/// selection says what is missing.
///
/// # Budget
/// With `cost` and `budget`, the chosen arms together may cost at most the budget. The answer is then optimal if it
/// uses the budget up exactly; otherwise it says how far from the best it may be (see `within_budget.rs`).
///
/// # Groups
/// `groups` limits how many arms the customers with a value in a column get, over all promotions or in one of them
/// (`block`). The column must have one value per row. Groups over all promotions that are nested or disjoint, and likewise
/// those of each promotion, are solved exactly, as above. The price of a group is the value of one more unit of the bound
/// that binds, among optimal prices where those of the promotions are least.
///
/// Groups that cross need the cargo feature `linear`. Few arms go to the general solver, within `time_limit` seconds; of
/// many, how many of which groups each promotion gets is decided by prices and a small program in whole numbers, and the
/// answer says how far from the best it may be. Either does not depend on the order of the rows; which of several answers
/// with equal sums it is, only the solver knows.
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
    /// Least and most numbers of arms of groups of customers, over all promotions or in one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// What to do where the limits cannot be met.
    #[serde(default)]
    pub on_infeasible: OnInfeasible,
    /// The column of costs, where there is a budget; `block` is the block number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// What the chosen arms may cost together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The most seconds for groups that cross; nothing else takes long.
    #[serde(default = "a_minute")]
    pub time_limit: f64,
}

fn one() -> usize {
    1
}

impl Assignment {
    /// Each customer in at most one promotion, infeasible quotas as an error.
    #[must_use]
    pub fn new(quotas: impl Into<BlockQuotas>) -> Self {
        let (groups, on_infeasible, cost, budget) = Default::default();
        Self { quotas: quotas.into(), per_row: 1, groups, on_infeasible, cost, budget, time_limit: a_minute() }
    }

    /// The same with a budget: the values of a column, summed over the chosen arms, must not exceed it.
    #[must_use]
    pub fn within(self, cost: &str, budget: f64) -> Self {
        Self { cost: Some(cost.to_owned()), budget: Some(budget), ..self }
    }

    /// The best filling. Penalties (-1e30 for "please do not") would set the scale and make the other scores vanish, so
    /// it is tried without them first. The result is optimal if it fills as many mandatory units and no super arm with
    /// a penalty can be worth as much.
    fn fill<'a>(
        &self,
        scores: &Scores<'_>,
        network: &'a Network,
        guess: Option<Estimate>,
    ) -> Result<Filling<'a>, Error> {
        if self.per_row >= scores.blocks() && self.groups.is_empty() {
            return separate::fill(scores, network);
        }
        let given = self.fill_as_given(scores, network, guess)?;
        let Some(penalty) = given.penalty else { return Ok(given) };
        let forbid = |&score: &f64| if score < penalty { f64::NEG_INFINITY } else { score };
        let values: Vec<f64> = scores.values().iter().map(forbid).collect();
        let mut without = self.fill(&scores.with_values(&values), network, None)?;
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

    fn network(&self, scores: &Scores<'_>) -> Result<Network, Error> {
        let separate = self.per_row >= scores.blocks() && self.groups.is_empty();
        let network = Network::new(&self.quotas, &self.groups, self.per_row.min(scores.blocks()), scores)?;
        Ok(if separate { network } else { network.connected() })
    }

    fn fill_as_given<'a>(
        &self,
        scores: &Scores<'_>,
        network: &'a Network,
        guess: Option<Estimate>,
    ) -> Result<Filling<'a>, Error> {
        check("per_row", self.per_row as f64, self.per_row > 0, "at least 1")?;
        let blocks = scores.blocks();
        let per_row = self.per_row.min(blocks);
        let grid = Grid::new(blocks, network.root() - blocks);
        let guess = guess.unwrap_or_else(|| filter::estimate(scores.values(), network, per_row));
        let Estimate { mut floors, prices: mut start } = guess;
        let mut lowered = 0;
        loop {
            let kept = filter::keep(scores, network, &floors)?;
            let first = start.as_ref().map(|prices| prices.iter().map(|&price| kept.scale.down(price)).collect());
            let mut solution = solve::solve(&kept, network, per_row, &grid, first);
            let prices = &solution.flow.prices;
            // Pruned pairs have values below the floors, so at prices at or above the floors they are not chosen.
            let arm = |place: usize| {
                let node = |column| network.node(place / blocks, column);
                (node(place % blocks), prices[node(place % blocks)] - prices[node(blocks)])
            };
            let low = |place: usize| {
                let (node, price) = arm(place);
                let floor = kept.scale.down(floors[place]);
                floor > f64::NEG_INFINITY && (!solution.reached[node] || price < grid.price(floor))
            };
            if (0..floors.len()).any(low) {
                let lower = |price: i128| kept.scale.up(below(grid.score(price)));
                lowered += 1;
                // Without groups more rows only raise the least prices, so these floors will hold; with groups they may
                // not, and then all pairs are kept.
                let hold = network.root() == blocks || lowered == 1;
                floors = (0..floors.len())
                    .map(|place| match (low(place), solution.reached[arm(place).0] && hold) {
                        (false, _) => floors[place],
                        (true, true) => lower(arm(place).1),
                        (true, false) => f64::NEG_INFINITY,
                    })
                    .collect();
                // Prices of limits that could not be met are no use as a start.
                let price = |limit: usize| prices[limit] - prices[network.parents[limit]];
                let met = |limit: usize| price(limit).abs() < grid.bonus / 2;
                let filled = (0..blocks).all(|block| solution.reached[block]) && (0..network.root()).all(met);
                start = if filled {
                    Some((0..network.root()).map(|limit| lower(price(limit))).collect())
                } else {
                    filter::first_prices(scores.values(), network, per_row)
                };
                continue;
            }
            ties::break_ties(&mut solution, scores);
            let worth = filling::worth(&solution.flow, &grid, kept.scale, &solution.reached);
            let (best, penalty, arms) = (kept.best, kept.penalty, solution.arms(scores));
            let price = |limit: usize| solution.flow.prices[limit] - solution.flow.prices[network.parents[limit]];
            let prices =
                (0..network.root()).map(|limit| kept.scale.up(grid.score(price(limit) % grid.bonus))).collect();
            return Ok(Filling { arms, network, prices, per_row, worth, best, penalty });
        }
    }
}

/// Slightly below a price, by more than rounding on the grid or in f64 could undo.
fn below(price: f64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 40) as f64;
    price - STEP * (1.0 + price.abs())
}

impl Oracle for Assignment {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        positive("time_limit", self.time_limit)?;
        let found = match (&self.cost, self.budget) {
            (Some(cost), Some(budget)) => {
                let within = |network| within_budget::argmax(self, scores, network, cost, budget);
                self.network(scores).and_then(within).map(|found| crossing::settled(self, scores, found))
            }
            (None, None) => self.best(scores),
            _ => Err(Error::Constraint("a budget needs a column of costs, and costs need a budget".into())),
        };
        match found {
            Err(Error::CrossingGroups { .. }) => crossing::argmax(self, scores),
            found => found,
        }
    }

    /// Without groups and budgets, and if a customer may be in one promotion, the prices of the promotions replace the
    /// samples that a solution begins with.
    fn argmax_near(&self, scores: &Scores<'_>, prices: &[Price]) -> Result<Selection, Error> {
        if self.per_row != 1 || !self.groups.is_empty() || self.cost.is_some() || self.budget.is_some() {
            return self.argmax(scores);
        }
        positive("time_limit", self.time_limit)?;
        let network = self.network(scores)?;
        let guess = warm::of_blocks(prices, scores.blocks());
        let guess = guess.and_then(|prices| warm::estimate(scores.values(), &network, &prices));
        Ok(self.best_from(scores, &network, guess)?.0)
    }

    fn needs(&self) -> Needs {
        let from = match &self.quotas {
            BlockQuotas::All(quota) => quota.least_filled(),
            BlockQuotas::Each(each) => each.iter().fold(0_usize, |sum, quota| sum.saturating_add(quota.least_filled())),
        };
        if self.budget.is_some() || !self.groups.is_empty() { Needs::All } else { Needs::Floors { from } }
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
        let floors = filter::estimate(sample.values(), &self.network(sample)?, self.per_row).floors;
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
        if !self.groups.is_empty() {
            return self.candidates_of_strata(part);
        }
        Ok(rows_of(&self.fill(part, &self.network(part)?, None)?.arms))
    }

    fn data(&self) -> Option<crate::Constraint> {
        Some(crate::Constraint::Assignment(self.clone()))
    }
}

impl Assignment {
    /// Where there are groups, rows of different groups may need each other: a row of one group makes room in a block
    /// for a row of another. But rows in the same groups replace each other. Given how many of them each block gets, they
    /// are an assignment of their own, and when these numbers grow, no row leaves its best filling. So the rows of the
    /// best filling of each stratum alone suffice, at the largest numbers that the maxima allow.
    fn candidates_of_strata(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        let all = || Ok((0..part.len()).collect());
        let network = match self.network(part) {
            Err(Error::CrossingGroups { .. }) => return all(),
            network => network?,
        };
        let mut rows = vec![0; network.strata()];
        (0..part.len()).for_each(|row| rows[network.stratum(row)] += 1);
        match network.alone(&rows) {
            None => all(),
            Some(alone) => Ok(rows_of(&self.fill(part, &alone, None)?.arms)),
        }
    }

    /// The best super arm, whatever it costs.
    fn best(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        Ok(self.best_from(scores, &self.network(scores)?, None)?.0)
    }

    /// The same with a network that is known, and perhaps with a guess at floors and prices; with the prices of the limits.
    fn best_from(
        &self,
        scores: &Scores<'_>,
        network: &Network,
        guess: Option<Estimate>,
    ) -> Result<(Selection, Vec<f64>), Error> {
        let filling = self.fill(scores, network, guess)?;
        let missing = filling.missing();
        if !missing.is_empty() && self.on_infeasible == OnInfeasible::Error {
            return Err(Error::Infeasible(cut::explain(scores, filling.per_row, network, &filling.arms)));
        }
        let prices = filling.told(self.on_infeasible == OnInfeasible::Fill);
        let floors = if missing.is_empty() { filling.floors() } else { None };
        let selection = Selection { prices, missing, floors, ..Selection::in_order(filling.arms, scores) };
        Ok((selection, filling.prices))
    }
}
