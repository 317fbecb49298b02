//! Arbitrary linear rows over arms, by a general mixed-integer solver.
//!
//! This is the slow fallback for constraints that no other oracle covers, so the solver is taken from a crate (good_lp
//! with microlp; HiGHS with the feature `linear-highs`) and needs the cargo feature `linear`. The constraint itself
//! always parses.

#[cfg(feature = "linear")]
mod solve;

#[cfg(feature = "linear")]
pub(super) use solve::whole_numbers;

#[cfg(not(feature = "linear"))]
pub(super) fn whole_numbers(_: Vec<f64>, _: Vec<f64>, _: Vec<Written>, _: f64) -> Result<Vec<f64>, Error> {
    Err(Error::FeatureMissing("linear"))
}

use super::explicit::{Member, Places};
use super::{Oracle, Pick, Scores, Selection};
use crate::oracle::columns::{Values, each_eligible};
use crate::{Error, Infeasible, error::positive};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

/// Linear rows that a super arm must satisfy.
///
/// # When to use it
/// Where no other constraint can say it. A few rows over thousands of arms are solved in less than a second if few of them
/// bind. Ten knapsacks over 500 arms were not solved in 10 seconds, neither by microlp nor by HiGHS; what comes after
/// `time_limit` has a gap, or is an error if nothing was found. Of twenty over 2,000 arms, HiGHS's answer was within 0.074
/// percent of the best then, and ours within 0.24. `budget`, `assignment` and `quotas` are much faster at what they can
/// say.
///
/// # Ties
/// Among arms with equal scores and equal coefficients in every row, the first by the tie rule are chosen. Beyond that,
/// the solver decides among super arms with equal sums. Its choice never depends on the order of the rows, because it
/// gets the arms by rank. An answer after the time limit depends on the clock, and with HiGHS its bound is no better
/// than the sum of all positive scores.
///
/// # Formula
/// ```text
/// S_t = { I : lo_r <= sum over i in I of a_r(i) <= hi_r for every row r }
/// ```
/// # Example
/// ```
/// use armwise::Constraint;
/// let constraint: Constraint = serde_json::from_str(
///     r#"{"kind": "linear", "time_limit": 5, "rows": [
///         {"name": "weight", "column": "weight", "hi": 10},
///         {"name": "how many", "every": 1, "lo": 2, "hi": 4},
///         {"name": "not both", "terms": [{"arm": 7, "coefficient": 1}, {"arm": 9, "coefficient": 1}], "hi": 1},
///         {"name": "one promotion each", "every": 1, "per_row": true, "hi": 1}]}"#,
/// )?;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// The rows.
    pub rows: Vec<LinearRow>,
    /// The time limit in seconds; after it, the answer is the best super arm found so far, with its gap.
    #[serde(default = "a_minute")]
    pub time_limit: f64,
}

pub(super) fn a_minute() -> f64 {
    60.0
}

/// A row: the coefficients of the arms add up, between `lo` and `hi`.
///
/// The coefficient of an arm is the sum of what `column`, `every` and `terms` say about it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearRow {
    /// The name in reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The lower limit; none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lo: Option<f64>,
    /// The upper limit; none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hi: Option<f64>,
    /// A column with the arms' coefficients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// A coefficient for every arm.
    #[serde(default)]
    pub every: f64,
    /// Arms named one by one; an arm that is not there counts as not chosen.
    #[serde(default)]
    pub terms: Vec<Term>,
    /// Limits `column` and `every` to this block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// The limits hold separately for the arms of each row of the scores.
    #[serde(default)]
    pub per_row: bool,
}

/// The coefficient of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The arm.
    pub arm: Member,
    /// Its coefficient.
    pub coefficient: f64,
}

/// A row written out over the arms.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) lo: f64,
    pub(super) hi: f64,
    /// (place among the arms, coefficient), no zeros, ascending.
    pub(super) terms: Vec<(usize, f64)>,
}

impl LinearRow {
    /// Whether a row of the scores without an eligible arm misses the limits.
    fn asks_of_every_row(&self) -> bool {
        self.per_row && !(self.lo.is_none_or(|lo| lo <= 0.0) && self.hi.is_none_or(|hi| hi >= 0.0))
    }

    fn limits(&self, name: &str) -> Result<(f64, f64), Error> {
        let (lo, hi) = (self.lo.unwrap_or(f64::NEG_INFINITY), self.hi.unwrap_or(f64::INFINITY));
        if lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY {
            return Ok((lo, hi));
        }
        Err(Error::Constraint(format!("{name}: lo {lo} and hi {hi} leave nothing between them")))
    }

    /// This row, or one for each row of the scores, over `arms`.
    fn write(&self, number: usize, scores: &Scores<'_>, arms: &[Pick]) -> Result<Vec<Written>, Error> {
        let name = self.name.clone().unwrap_or_else(|| format!("row {number}"));
        let (lo, hi) = self.limits(&name)?;
        let column = self.column.as_ref().map(|column| Values::of(scores, column).map(|v| (column, v))).transpose()?;
        let mut coefficients = vec![0.0; arms.len()];
        for (coefficient, &arm) in coefficients.iter_mut().zip(arms) {
            if self.block.is_none_or(|block| block == arm.block) {
                let value = column.map_or(Ok(0.0), |(name, values)| values.checked(name, arm, f64::NEG_INFINITY))?;
                *coefficient = value + self.every;
            }
        }
        let named = if self.terms.is_empty() { &[] } else { arms };
        let place_of: HashMap<Pick, usize> = named.iter().copied().zip(0..).collect();
        let places = Places::of(self.terms.iter().map(|term| &term.arm), scores);
        for term in &self.terms {
            if let Some(place) = places.find(&term.arm)?.and_then(|arm| place_of.get(&arm)) {
                coefficients[*place] += term.coefficient;
            }
        }
        if let Some(bad) = coefficients.iter().find(|value| !value.is_finite()) {
            return Err(Error::Constraint(format!("{name}: a coefficient is {bad}; it must be finite")));
        }
        let terms = coefficients.into_iter().enumerate().filter(|&(_, value)| value != 0.0);
        if !self.per_row {
            return Ok(vec![Written { name, lo, hi, terms: terms.collect() }]);
        }
        let mut by_row: Vec<(usize, usize, f64)> = terms.map(|(place, c)| (arms[place].row, place, c)).collect();
        by_row.sort_unstable_by_key(|&(row, place, _)| (row, place));
        let one = |rows: &[(usize, usize, f64)]| Written {
            name: format!("{name}, id {}", scores.keys().id(rows[0].0)),
            lo,
            hi,
            terms: rows.iter().map(|&(_, place, c)| (place, c)).collect(),
        };
        let mut written: Vec<Written> = by_row.chunk_by(|a, b| a.0 == b.0).map(one).collect();
        // Rows are ordered by their best arm, which does not depend on the order of the scores.
        written.sort_by_key(|row| row.terms[0].0);
        if self.asks_of_every_row() {
            // The row with the smallest id of those without a term, which all miss the limits alike.
            let mut has_term = vec![false; scores.len()];
            by_row.iter().for_each(|&(row, ..)| has_term[row] = true);
            let without = (0..scores.len()).filter(|&row| !has_term[row]);
            if let Some(id) = without.map(|row| scores.keys().id(row)).min() {
                written.push(Written { name: format!("{name}, id {id}"), lo, hi, terms: Vec::new() });
            }
        }
        Ok(written)
    }
}

impl Written {
    /// Whether this row alone can be met, by what its arms can add up to.
    fn check(&self) -> Result<(), Error> {
        let sum = |sign: f64| self.terms.iter().map(|&(_, c)| (sign * c).max(0.0)).sum::<f64>() * sign + 0.0;
        let (least, most) = (sum(-1.0), sum(1.0));
        let slack = 1e-9 * (1.0 + least.abs().max(most.abs()));
        if most >= self.lo - slack && least <= self.hi + slack {
            return Ok(());
        }
        let given = |limit: f64| Some(limit).filter(|limit| limit.is_finite());
        let (row, lo, hi) = (self.name.clone(), given(self.lo), given(self.hi));
        Err(Error::Infeasible(Infeasible::LinearRow { row, lo, hi, least, most }))
    }
}

impl Linear {
    /// Like [`argmax`](Oracle::argmax), until `stop` becomes true.
    ///
    /// The solver can stop only when it checks its time limit, so it runs on a separate thread. The caller gets
    /// [`Error::Cancelled`] within a few milliseconds, and the thread ends later, at the latest when the solver notices
    /// that `time_limit` has passed.
    ///
    /// # Errors
    /// As `argmax`, and [`Error::Cancelled`].
    pub fn argmax_until(&self, scores: &Scores<'_>, stop: &AtomicBool) -> Result<Selection, Error> {
        let arms = by_rank(scores)?;
        let mut rows = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            rows.extend(row.write(number, scores, &arms)?);
        }
        self.solve_written(scores, &arms, rows, stop)
    }

    /// Solves rows that are written out over these arms, which are by rank.
    pub(super) fn solve_written(
        &self,
        scores: &Scores<'_>,
        arms: &[Pick],
        rows: Vec<Written>,
        stop: &AtomicBool,
    ) -> Result<Selection, Error> {
        positive("time_limit", self.time_limit)?;
        rows.iter().try_for_each(Written::check)?;
        self.solve(scores, arms, rows, stop)
    }

    #[cfg(not(feature = "linear"))]
    #[expect(clippy::unused_self, reason = "the signature of the real one")]
    fn solve(&self, _: &Scores<'_>, _: &[Pick], _: Vec<Written>, _: &AtomicBool) -> Result<Selection, Error> {
        Err(Error::FeatureMissing("linear"))
    }
}

/// The arms that may be chosen, the best first.
pub(super) fn by_rank(scores: &Scores<'_>) -> Result<Vec<Pick>, Error> {
    let mut arms = Vec::new();
    each_eligible(scores, |arm, _| {
        arms.push(arm);
        Ok(())
    })?;
    arms.sort_unstable_by(|&a, &b| scores.rank(a, b));
    Ok(arms)
}

impl Oracle for Linear {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        self.argmax_until(scores, &AtomicBool::new(false))
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        if self.rows.iter().any(LinearRow::asks_of_every_row) {
            return Ok((0..part.len()).collect());
        }
        let mut rows = Vec::new();
        each_eligible(part, |arm, _| {
            if rows.last() != Some(&arm.row) {
                rows.push(arm.row);
            }
            Ok(())
        })?;
        Ok(rows)
    }
}
