//! Assignment, one block to a row: what a row would have to pay for each block, from the other rows' scores.
//!
//! Take a row out. The others' best assignment for the quotas less one unit of block j is worth V_j, for the quotas as
//! they are V_0, and the row takes the block with the largest S_ij + V_j, if that is above V_0. All V differ from each
//! other by the best chain of moves that brings a unit from one block to another: a row leaves block a for block b, one
//! of b for c, and so on, the outside being one more place. A chain to the place where the row itself is never uses a
//! move of that row. So the chains of the whole solution serve, and all rows in the same place share their prices:
//! M + 1 vectors of them, from the longest paths between M + 1 places. A row that is needed for a minimum has no chain
//! to replace it: staying outside is worth -infinity to it, also where minima that cannot be met are filled as far as it goes.

use super::row::Row;
use super::{Averages, Chance, Problem};
use crate::evaluate::Inclusion;
use crate::{Assignment, Error, Learner, Oracle, Pick, Policy, Scores, tasks};

/// Rows of a task.
const ROWS: usize = 256;

/// Whether rows are in at most one block, without groups and budget.
pub(in crate::evaluate) fn is_plain(assignment: &Assignment, blocks: usize) -> bool {
    let quotas = assignment.quotas.blocks().is_none_or(|of| of == blocks);
    let free = assignment.groups.is_empty() && assignment.budget.is_none() && assignment.cost.is_none();
    quotas && free && assignment.per_row == 1
}

impl<P: Policy> Learner<P> {
    /// None where minima cannot be met: prices then count what is missing, too.
    pub(in crate::evaluate) fn critical_in_assignment(
        &self,
        problem: &Problem<'_>,
        assignment: &Assignment,
        picks: &[Pick],
    ) -> Result<Option<Inclusion>, Error> {
        let (blocks, shape) = (problem.spreads.len(), problem.spreads[0].shape);
        // The picks of each row, side by side.
        let mut order: Vec<usize> = (0..picks.len()).collect();
        order.sort_unstable_by_key(|&place| picks[place]);
        let rows: Vec<&[usize]> = order.chunk_by(|&a, &b| picks[a].row == picks[b].row).collect();
        let mut averages = Averages::new(shape, picks.len());
        for number in problem.rounds.clone() {
            let (round, scores) = self.fresh_scores(problem, number)?;
            let best = assignment.argmax(&Scores::new(&scores, blocks, *problem.arms, self.ties, round)?)?;
            if !best.missing.is_empty() {
                return Ok(None);
            }
            let mut place_of = vec![blocks; problem.arms.len()];
            best.arms.iter().for_each(|arm| place_of[arm.row] = arm.block);
            let chains = chains(&scores, &place_of, blocks, assignment);
            let parts: Vec<&[&[usize]]> = rows.chunks(ROWS).collect();
            let done = tasks::map(parts.len(), Row::default, |room, part| {
                let mut found = Vec::new();
                for own in parts[part] {
                    let row = picks[own[0]].row;
                    let laws = &problem.laws[row * blocks..(row + 1) * blocks];
                    let eligible = |block: usize| problem.arms.is_eligible(row, block);
                    let worth = |from: usize| chains[from * (blocks + 1) + place_of[row]];
                    let wanted: Vec<usize> = own.iter().map(|&place| picks[place].block).collect();
                    room.set(shape, laws, eligible, worth, place_of[row]);
                    room.chances(&wanted, &mut found);
                }
                found
            });
            let mut chances = vec![Chance::NONE; picks.len()];
            order.iter().zip(done.into_iter().flatten()).for_each(|(&place, chance)| chances[place] = chance);
            averages.add(chances.into_iter());
        }
        Ok(Some(averages.inclusion()))
    }
}

/// The worth of the best chain of moves that takes one unit out of a place and brings one into another, for all pairs;
/// the last place is outside. -infinity where there is none.
fn chains(scores: &[f64], place_of: &[usize], blocks: usize, assignment: &Assignment) -> Vec<f64> {
    let places = blocks + 1;
    let mut best = vec![f64::NEG_INFINITY; places * places];
    let mut counts = vec![0; places];
    for (row, &from) in place_of.iter().enumerate() {
        let scores = &scores[row * blocks..(row + 1) * blocks];
        counts[from] += 1;
        let own = if from == blocks { 0.0 } else { scores[from] };
        let moves = &mut best[from * places..(from + 1) * places];
        moves.iter_mut().zip(scores).for_each(|(best, score)| *best = best.max(score - own));
        moves[blocks] = moves[blocks].max(-own);
    }
    for block in 0..blocks {
        let (min, max) = assignment.quotas.bounds(block);
        // A block that is not full takes one more unit for nothing, and one above its minimum gives one.
        if counts[block] < max {
            let slack = &mut best[block * places + blocks];
            *slack = slack.max(0.0);
        }
        if counts[block] > min {
            let slack = &mut best[blocks * places + block];
            *slack = slack.max(0.0);
        }
    }
    (0..places).for_each(|place| best[place * places + place] = 0.0);
    for through in 0..places {
        for from in 0..places {
            for to in 0..places {
                let chain = best[from * places + through] + best[through * places + to];
                best[from * places + to] = best[from * places + to].max(chain);
            }
        }
    }
    best
}
