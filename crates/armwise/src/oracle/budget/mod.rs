//! A cost per arm, and budgets that the chosen arms must not exceed.
//!
//! First come [`prices`], improved by [`newton`] steps if there are several budgets, then a [`search`] over the few
//! arms that they leave undecided. The prices bound what any super arm can reach, so the search knows when it is done
//! and, if it must stop early, how far from the best it may be. Many equal arms are counted along [`lines`].

mod anneal;
mod classes;
mod fixed;
mod items;
mod limits;
mod lines;
mod newton;
mod prices;
mod problem;
mod search;
mod several;
mod skyband;
mod solve;
mod start;

use super::columns::{Values, each_eligible};
use super::{Oracle, Scores, Selection};
use crate::error::{Error, check, non_negative};
use problem::Problem;
use serde::{Deserialize, Serialize};

/// Arms whose costs stay within a budget in total, within a budget per block, or both.
///
/// Only arms with a score above zero are chosen. A sum of costs may exceed its budget by one part in 1e12, so that
/// three arms of cost 0.1 fit a budget of 0.3 in floating point. Costs of more than 2^20 times another budget are
/// refused, since sums are taken on one grid; so is a score of less than 1e-200 or more than 1e200 per unit of cost.
///
/// The answer is optimal, or carries an upper bound where the search was cut short: where very many arms are worth
/// almost exactly their price, or where several budgets are tight at once. It never depends on the order of the arms:
/// sums are taken in whole units of 2^-80 of the largest score or cost.
///
/// # Prices
/// One per budget and one for `k`: an upper bound of the gain per unit from a larger limit, for super arms of arms that
/// fit alone. It is exact up to the distance between the best sum of whole arms and the bound below.
///
/// # Ties
/// Between optimal super arms with equal sums of scores the smaller use of budgets wins, then the smaller sum of tie
/// keys (of ids, for ties by id), then the smaller sum of a hash of id and block. Two cases are outside this rule: an
/// answer with a gap, and an optimal one among more than 250 undecided rows, many of them equal. There the search
/// takes the first it finds, and the candidates of parts may lead to another super arm, as good or within the gap.
///
/// # Formula
/// ```text
/// S_t = { I : sum over I of cost <= budget,  sum over I n block j of cost <= budgets_j,  |I| <= k,
///             at most per_row arms of each row }
/// ```
/// With prices p >= 0 for the limits b, no super arm is worth more than
/// `p'b + sum over rows of max (score - price of what it uses)`; what a super arm is short of that bound is the sum
/// of its losses row by row and of price times unused limit.
///
/// # Example
/// ```
/// use armwise::{Arms, Column, Constraint, Oracle, Round, Scores, Ties};
/// let constraint: Constraint = serde_json::from_str(r#"{"kind": "budget", "cost": "price", "budget": 5, "k": 2}"#)?;
/// let columns = [Column { name: "price", values: &[3.0, 2.0, 2.0, 1.0] }];
/// let arms = Arms::new(&[0.0; 4][..], 1)?.with_columns(&columns)?;
/// let scores = Scores::new(&[0.9, 0.5, 0.6, 0.1], 1, arms, Ties::ById, Round::new(1, 1))?;
/// let best = constraint.argmax(&scores)?;
/// assert_eq!(best.arms.iter().map(|arm| arm.row).collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The column of costs, one per row or one per row and block; at least 0.
    pub cost: String,
    /// The budget of all arms together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// A budget for each block; infinity, written `"none"`, means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "limits")]
    pub budgets: Option<Vec<f64>>,
    /// The largest number of arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// The largest number of arms of one row (promotions of one customer).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_row: Option<usize>,
}

impl Budget {
    fn validate(&self, scores: &Scores<'_>) -> Result<(), Error> {
        if self.budget.is_none() && self.budgets.is_none() {
            return Err(Error::Constraint("give `budget`, `budgets` or both".to_owned()));
        }
        self.budget.map_or(Ok(()), |budget| non_negative("budget", budget))?;
        for &budget in self.budgets.iter().flatten() {
            check("budgets", budget, budget >= 0.0, "at least 0 each")?;
        }
        if let Some(budgets) = &self.budgets
            && budgets.len() != scores.blocks()
        {
            let what = "budgets, one per block";
            return Err(Error::Dimension { what, expected: scores.blocks(), found: budgets.len() });
        }
        for (name, count) in [("k", self.k), ("per_row", self.per_row)] {
            check(name, count.unwrap_or(1) as f64, count != Some(0), "at least 1")?;
        }
        Ok(())
    }

    /// The arms worth choosing, with the limits they meet.
    fn problem(&self, scores: &Scores<'_>) -> Result<Problem, Error> {
        self.validate(scores)?;
        let costs = Values::of(scores, &self.cost)?;
        let mut problem = Problem::new(self, scores.blocks());
        each_eligible(scores, |arm, score| {
            let cost = costs.checked(&self.cost, arm, 0.0)?;
            problem.offer(arm, score, cost);
            Ok(())
        })?;
        problem.check_scale()?;
        Ok(problem)
    }
}

impl Oracle for Budget {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        Ok(solve::solve(&self.problem(scores)?, scores))
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        let problem = self.problem(part)?;
        Ok(skyband::rows(&problem, part))
    }

    fn data(&self) -> Option<crate::Constraint> {
        Some(crate::Constraint::Budget(self.clone()))
    }
}
