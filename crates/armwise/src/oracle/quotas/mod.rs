//! Least and most numbers of arms per group, for groups that are nested or disjoint.
//!
//! A group is a condition on a column ("region = 3"), so the constraint is data that does not grow with the arms and
//! means the same on a part of them. It is solved by one pass over the scores, which keeps the best arms of each
//! combination of groups, and a merge up the tree of groups.

mod forest;
mod greedy;
mod sort;
mod taking;

pub(super) use forest::nest;
pub(super) use sort::Sorter;

use super::columns::each_eligible;
use super::{Limit, Missing, OnInfeasible, Oracle, Price, Scores, Selection, Taking, rows_of};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A minimum, a maximum or an exact number of arms per group, and in total.
///
/// An arm with a score of zero or less is chosen only where a minimum demands it. Groups that share arms must be
/// nested.
///
/// # Formula
/// ```text
/// S_t = { I : min <= |I| <= k,  min_g <= |I n g| <= max_g for every group g }
/// ```
/// The greedy is exact: the best n arms of a group, as n grows, are the arms that the minima inside demand,
/// followed by one list of further arms by falling score, so a group hands its parent two lists and the parent
/// merges them. Equal scores follow the tie rule at every step.
///
/// # Infeasible minima
/// The error names the group whose minimum cannot be met, or whose maximum is below the minima inside it. With
/// `on_infeasible = "fill"` every group, from the innermost to all arms together, fills its minimum as far as its arms
/// and the groups inside it allow. Where the minima inside a group add up to more than its maximum, the maximum holds:
/// of the arms that the minima demand, the best by score stay, whichever group inside they are for. The selection
/// lists every minimum that is short.
///
/// # Candidates
/// Candidates of a part are its own optimum with every minimum lowered to what the part has: the sum of scores plus
/// a large reward for each arm that counts towards a minimum is a laminar concave function, hence arms are
/// substitutes, and adding arms elsewhere never makes an arm wanted that was not wanted before.
///
/// # Reference
/// Murota, *Discrete Convex Analysis* (2003), on laminar concave functions and substitutes.
///
/// # Example
/// ```
/// use armwise::{Arms, Column, Constraint, Oracle, Round, Scores, Ties};
/// let constraint: Constraint = serde_json::from_str(
///     r#"{"kind": "quotas", "k": 3, "groups": [{"column": "region", "value": 2, "min": 1}]}"#,
/// )?;
/// let columns = [Column { name: "region", values: &[1.0, 1.0, 1.0, 2.0] }];
/// let arms = Arms::new(&[0.0; 4][..], 1)?.with_columns(&columns)?;
/// let scores = Scores::new(&[0.5, 0.4, 0.3, -0.1], 1, arms, Ties::ById, Round::new(1, 1))?;
/// let best = constraint.argmax(&scores)?;
/// assert_eq!(best.arms.iter().map(|arm| arm.row).collect::<Vec<_>>(), [0, 1, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotas {
    /// The largest number of arms in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// The smallest number of arms in total; if `k` equals it, the number is exact.
    #[serde(default)]
    pub min: usize,
    /// The groups.
    #[serde(default)]
    pub groups: Vec<Group>,
    /// What to do where the minima cannot be met.
    #[serde(default)]
    pub on_infeasible: OnInfeasible,
}

/// The arms whose column has a value, and how many of them may be chosen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The column; `block` is the block number.
    pub column: String,
    /// The value, or the list of values that make up the group. Left out: every value that an eligible arm has
    /// makes a separate group with these limits ("at most 3 of each brand").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<OneOrMany>,
    /// Counts the arms of this block only; left out, those of all blocks together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// The smallest number of arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<usize>,
    /// The largest number of arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<usize>,
    /// The exact number of arms; excludes `min` and `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exactly: Option<usize>,
}

/// One number or a list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or a list of numbers")]
pub enum OneOrMany {
    /// One number.
    One(f64),
    /// Several numbers.
    Many(Vec<f64>),
}

/// How many arms of a set may be chosen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limits {
    /// The limits named in reasons and prices, of the minimum and of the maximum: the same group, or `min` and `k`.
    of: [Limit; 2],
    pub(super) min: usize,
    pub(super) max: usize,
    /// The one block that counts; none if all do.
    pub(super) block: Option<usize>,
    /// The place in the constraint and the first value: an order that does not depend on the order of the rows.
    order: (usize, f64),
}

impl Limits {
    pub(super) fn least(&self) -> &Limit {
        &self.of[0]
    }

    fn most(&self) -> &Limit {
        &self.of[1]
    }

    pub(super) fn by_order(&self, other: &Self) -> Ordering {
        self.order.0.cmp(&other.order.0).then(self.order.1.total_cmp(&other.order.1))
    }
}

impl Group {
    /// The values of a group that lists them.
    fn values(&self) -> Option<&[f64]> {
        match self.value.as_ref()? {
            OneOrMany::One(value) => Some(std::slice::from_ref(value)),
            OneOrMany::Many(values) => Some(values),
        }
    }

    fn limits(&self, place: usize, values: &[f64]) -> Result<Limits, Error> {
        let (block, column) = (self.block, self.column.clone());
        let of = Limit::Group { column, values: values.to_vec(), block };
        let (min, max) = match (self.exactly, self.min, self.max) {
            (Some(exactly), None, None) => (exactly, exactly),
            (Some(_), ..) => {
                return Err(Error::Constraint(format!("group {of}: `exactly` excludes `min` and `max`")));
            }
            (None, min, max) => (min.unwrap_or(0), max.unwrap_or(usize::MAX)),
        };
        if min > max {
            return Err(Error::Constraint(format!("group {of}: min {min} is above max {max}")));
        }
        let order = (place, values.first().copied().unwrap_or(0.0));
        Ok(Limits { of: [of.clone(), of], min, max, block, order })
    }
}

impl Quotas {
    fn total(&self) -> Result<Limits, Error> {
        let max = self.k.unwrap_or(usize::MAX);
        if self.min > max {
            return Err(Error::Constraint(format!("min {} is above k {max}", self.min)));
        }
        Ok(Limits { of: [Limit::Min, Limit::K], min: self.min, max, block: None, order: (usize::MAX, 0.0) })
    }
}

/// Sets of arms that do not compete with each other: the set of each arm, and of each set its limit and the least and the
/// largest number of its arms.
pub(crate) type Separate = (Vec<u32>, Vec<(Limit, [usize; 2])>);

impl Quotas {
    /// The sets in which arms compete, where each arm is in one group at most and the total does not bind; an arm that
    /// may not be chosen is in none (`u32::MAX`).
    pub(crate) fn separate(&self, scores: &Scores<'_>) -> Result<Option<Separate>, Error> {
        let total = self.total()?;
        let mut sorter = Sorter::new(&self.groups, scores)?;
        let mut of = vec![u32::MAX; scores.values().len()];
        let mut sizes: Vec<usize> = Vec::new();
        // The set of each class, and the group of each set: several classes may be in the same one group.
        let (mut set_of, mut groups): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
        let mut several = false;
        each_eligible(scores, |arm, _| {
            let class = sorter.class(&self.groups, arm)?;
            while set_of.len() <= class {
                let of = &sorter.classes()[set_of.len()];
                several |= of.len() > 1;
                let group = of.first().copied();
                let set = groups.iter().position(|known| *known == group).unwrap_or(groups.len());
                if set == groups.len() {
                    groups.push(group);
                    sizes.push(0);
                }
                set_of.push(set);
            }
            sizes[set_of[class]] += 1;
            of[scores.place(arm)] = set_of[class] as u32;
            Ok(())
        })?;
        if several {
            return Ok(None);
        }
        let alone = groups.len() <= 1;
        let limits = |(group, &size): (&Option<usize>, &usize)| {
            let (limit, min, max) = match *group {
                Some(group) => {
                    let limits = &sorter.groups[group];
                    (limits.most().to_owned(), limits.min, limits.max)
                }
                None => (Limit::K, 0, usize::MAX),
            };
            let (min, max) = if alone { (min.max(total.min), max.min(total.max)) } else { (min, max) };
            (limit, [min, max.min(size)])
        };
        let limits: Vec<(Limit, [usize; 2])> = groups.iter().zip(&sizes).map(limits).collect();
        let sum = |which: usize| limits.iter().map(|(_, limits)| limits[which]).fold(0, usize::saturating_add);
        let binds = !alone && (sum(1) > total.max || sum(0) < total.min);
        let possible = limits.iter().all(|(_, [min, max])| min <= max);
        Ok((!binds && possible).then_some((of, limits)))
    }
}

impl Oracle for Quotas {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let forest = forest::Forest::build(self, scores)?;
        let outcome = greedy::solve(&forest, scores, self.on_infeasible)?;
        let mut selection = Selection::optimal(outcome.chosen, scores);
        let limits = forest.nodes.iter().map(|node| &node.limits);
        let short = outcome.counts.iter().zip(limits).filter(|(chosen, limits)| **chosen < limits.min);
        let mut short: Vec<(&usize, &Limits)> = short.collect();
        short.sort_by(|a, b| a.1.by_order(b.1));
        let missing = |(&chosen, limits): (&usize, &Limits)| Missing {
            of: limits.least().to_owned(),
            needed: limits.min,
            chosen,
        };
        selection.missing = short.into_iter().map(missing).collect();
        let price = |(node, value): (usize, f64)| {
            let limits = &forest.nodes[node].limits;
            let count = outcome.counts[node];
            let only_min = count < limits.max && count <= limits.min && limits.min > 0;
            let of = if only_min || limits.max == usize::MAX { limits.least() } else { limits.most() };
            Price { of: of.to_owned(), value }
        };
        selection.prices = outcome.prices.iter().copied().map(price).collect();
        Ok(selection)
    }

    fn taking(&self, scores: &Scores<'_>) -> Result<Option<Box<dyn Taking>>, Error> {
        Ok(Some(Box::new(taking::Filling::new(self, scores)?)))
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        let forest = forest::Forest::build(self, part)?;
        let outcome = greedy::solve(&forest, part, OnInfeasible::Fill)?;
        Ok(rows_of(outcome.chosen.iter().chain(&outcome.dropped)))
    }

    fn data(&self) -> Option<crate::Constraint> {
        Some(crate::Constraint::Quotas(self.clone()))
    }
}
