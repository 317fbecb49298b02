//! Groups that cross: rows of one group are in and out of another, so limits are no tree and the optimum need not be whole
//! by itself. The general solver decides, within the time limit.

use super::Assignment;
use crate::Error;
use crate::oracle::columns::Values;
use crate::oracle::linear::{Linear, Written, by_rank};
use crate::oracle::quotas::Sorter;
use crate::oracle::{Scores, Selection};
use std::sync::atomic::AtomicBool;

pub(super) fn argmax(of: &Assignment, scores: &Scores<'_>) -> Result<Selection, Error> {
    let arms = by_rank(scores)?;
    let mut rows = Vec::new();
    let row = |name: String, min: usize, max: usize, terms: Vec<(usize, f64)>| {
        let hi = if max == usize::MAX { f64::INFINITY } else { max as f64 };
        Written { name, lo: min as f64, hi, terms }
    };
    for block in 0..scores.blocks() {
        let (min, max) = of.quotas.bounds(block);
        let terms = arms.iter().enumerate().filter(|(_, arm)| arm.block == block).map(|(place, _)| (place, 1.0));
        rows.push(row(format!("block = {block}"), min, max, terms.collect()));
    }
    let mut sorter = Sorter::new(&of.groups, scores)?;
    let classes = arms.iter().map(|arm| sorter.class(&of.groups, *arm)).collect::<Result<Vec<usize>, Error>>()?;
    for (group, limits) in sorter.groups.iter().enumerate() {
        let inside = |place: &usize| sorter.classes()[classes[*place]].contains(&group);
        let terms = (0..arms.len()).filter(inside).map(|place| (place, 1.0)).collect();
        rows.push(row(limits.least().to_string(), limits.min, limits.max, terms));
    }
    let mut by_row: Vec<(usize, usize)> = arms.iter().enumerate().map(|(place, arm)| (arm.row, place)).collect();
    by_row.sort_unstable();
    let mut of_rows: Vec<Vec<(usize, f64)>> =
        by_row.chunk_by(|a, b| a.0 == b.0).map(|arms| arms.iter().map(|&(_, place)| (place, 1.0)).collect()).collect();
    // Rows are ordered by their best arm, which does not depend on the order of the scores.
    of_rows.sort_by_key(|terms| terms[0].0);
    rows.extend(of_rows.into_iter().map(|terms| row("per_row".to_owned(), 0, of.per_row, terms)));
    if let (Some(cost), Some(budget)) = (&of.cost, of.budget) {
        let costs = Values::of(scores, cost)?;
        let mut terms = Vec::new();
        for (place, &arm) in arms.iter().enumerate() {
            terms.push((place, costs.checked(cost, arm, 0.0)?));
        }
        terms.retain(|term| term.1 != 0.0);
        rows.push(Written { name: "budget".to_owned(), lo: f64::NEG_INFINITY, hi: budget, terms });
    }
    let solver = Linear { rows: Vec::new(), time_limit: of.time_limit };
    solver.solve_written(scores, &arms, rows, &AtomicBool::new(false))
}
