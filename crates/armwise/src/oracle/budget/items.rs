//! What the prices leave undecided: rows with another choice that loses little against the best one.
//!
//! The decision to know: a super arm is the priced choice with some rows flipped, and what it is short of the bound
//! is the sum of the flips' losses plus price times unused limit. All that is needed is the flips of small loss.

use super::fixed::Grid;
use super::problem::{Problem, tie, tie_keys};
use crate::Scores;
use std::ops::Range;

/// Another choice for a row, as the change it makes against the priced choice.
#[derive(Debug, Clone)]
pub(super) struct Flip {
    pub(super) loss: f64,
    pub(super) score: i128,
    /// Use of all limits together.
    pub(super) used: i128,
    /// Use of each limit, where there are several.
    pub(super) uses: Vec<i128>,
    pub(super) count: i64,
    pub(super) keys: [i128; 2],
    /// The arms chosen instead.
    pub(super) arms: Vec<usize>,
}

/// A row with other choices, by rising loss.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The arms of the priced choice.
    pub(super) base: Vec<usize>,
    pub(super) flips: Vec<Flip>,
}

impl Item {
    pub(super) fn loss(&self) -> f64 {
        self.flips[0].loss
    }
}

/// The units of scores and costs.
pub(super) struct Grids {
    pub(super) score: Grid,
    pub(super) cost: Grid,
}

/// At most so many undecided rows, and choices of a row, are searched.
const MOST: usize = 1_000;

/// The arms worth more than their price, the best of each row; those of a row stand together.
pub(super) fn priced_choice(problem: &Problem, values: &[f64], row: Range<usize>) -> Vec<usize> {
    let value = |at: usize| values[at];
    let mut wanted: Vec<usize> = row.filter(|&at| value(at) > 0.0).collect();
    if wanted.len() > problem.per_row() {
        wanted.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
        wanted.truncate(problem.per_row());
        wanted.sort_unstable();
    }
    wanted
}

/// The undecided rows by rising loss, with all flips up to some loss, and that loss: `gap`, or less where there are
/// too many.
pub(super) fn collect(
    problem: &Problem,
    values: &[f64],
    grids: &Grids,
    scores: &Scores<'_>,
    gap: f64,
) -> (Vec<Item>, f64) {
    let mut rows: Vec<(f64, Range<usize>)> =
        problem.rows().map(|row| (least_loss(problem, values, row.clone()), row)).filter(|row| row.0 <= gap).collect();
    if problem.per_row.is_none() && rows.len() > MOST / 4 {
        rows = without_spare_copies(problem, values, scores, rows, gap);
    }
    let first = |row: &Range<usize>| problem.arms[row.start].pick;
    let by_loss = |a: &(f64, Range<usize>), b: &(f64, Range<usize>)| {
        a.0.total_cmp(&b.0).then_with(|| tie(first(&a.1), first(&b.1), scores))
    };
    let mut within = gap;
    if rows.len() > MOST {
        // Strictly less than the first loss left out, so that nothing up to `within` is missing.
        let (_, left_out, _) = rows.select_nth_unstable_by(MOST, by_loss);
        within = left_out.0.next_down();
        rows.retain(|row| row.0 <= within);
    }
    rows.sort_unstable_by(by_loss);
    let mut items = Vec::with_capacity(rows.len());
    for (_, row) in rows {
        let (item, complete_to) = Flipper { problem, values, grids, scores }.item(row, within);
        within = within.min(complete_to);
        items.extend(item);
    }
    // The loss of a flip may differ from the estimate by rounding.
    items.sort_by(|a, b| a.loss().total_cmp(&b.loss()));
    (items, within)
}

/// Leaves out the copies of equal arms that no search within the gap can flip: each flip loses, and of equal arms the
/// tie rule adds the first and drops the last.
fn without_spare_copies(
    problem: &Problem,
    values: &[f64],
    scores: &Scores<'_>,
    mut rows: Vec<(f64, Range<usize>)>,
    gap: f64,
) -> Vec<(f64, Range<usize>)> {
    let several = problem.limits.len() > 1;
    let kind = |row: &(f64, Range<usize>)| {
        let arm = &problem.arms[row.1.start];
        let block = if several { arm.pick.block } else { 0 };
        (values[row.1.start].to_bits(), arm.score.to_bits(), problem.used(arm).to_bits(), block)
    };
    let arm = |row: &(f64, Range<usize>)| problem.arms[row.1.start].pick;
    rows.sort_unstable_by(|a, b| kind(a).cmp(&kind(b)).then_with(|| tie(arm(a), arm(b), scores)));
    let mut kept = Vec::new();
    for copies in rows.chunk_by(|a, b| kind(a) == kind(b)) {
        let (loss, row) = &copies[0];
        // One copy more than fits the gap is kept, against rounding.
        let spare = (0..copies.len()).filter(|&before| before as f64 * loss > gap).count();
        let dropped_last = values[row.start] > 0.0;
        kept.extend_from_slice(if dropped_last { &copies[spare..] } else { &copies[..copies.len() - spare] });
    }
    kept
}

/// The loss of the second best choice of a row.
fn least_loss(problem: &Problem, values: &[f64], row: Range<usize>) -> f64 {
    if row.len() == 1 {
        return values[row.start].abs();
    }
    let mut values: Vec<f64> = values[row].to_vec();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    let wanted = values.iter().filter(|&&value| value > 0.0).count().min(problem.per_row());
    let drop = if wanted > 0 { values[wanted - 1] } else { f64::INFINITY };
    let next = values.get(wanted).copied().unwrap_or(f64::NEG_INFINITY);
    let add = if wanted < problem.per_row() { -next } else { f64::INFINITY };
    drop.min(add).min(drop - next)
}

/// Makes the flips of a row.
struct Flipper<'a> {
    problem: &'a Problem,
    values: &'a [f64],
    grids: &'a Grids,
    scores: &'a Scores<'a>,
}

impl Flipper<'_> {
    fn value(&self, at: usize) -> f64 {
        self.values[at]
    }

    /// The row with its flips up to a loss, and up to which loss they are complete.
    fn item(&self, row: Range<usize>, gap: f64) -> (Option<Item>, f64) {
        let base = priced_choice(self.problem, self.values, row.clone());
        let best: f64 = base.iter().map(|&at| self.value(at)).sum();
        let mut by_value: Vec<usize> = row.clone().collect();
        by_value.sort_by(|&a, &b| self.value(b).total_cmp(&self.value(a)));
        let mut choices = Vec::new();
        let complete = self.choices(&by_value, &mut Vec::new(), 0.0, best - gap, &mut choices);
        let flip = |mut arms: Vec<usize>| {
            arms.sort_unstable();
            (arms != base).then(|| self.flip(&base, arms))
        };
        let mut flips: Vec<Flip> = choices.into_iter().filter_map(flip).collect();
        flips.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        let item = (!flips.is_empty()).then_some(Item { base, flips });
        (item, if complete { gap } else { 0.0_f64.next_down() })
    }

    /// All choices from the arms left, by falling value, that reach `least`; false if there are too many.
    fn choices(
        &self,
        left: &[usize],
        chosen: &mut Vec<usize>,
        sum: f64,
        least: f64,
        found: &mut Vec<Vec<usize>>,
    ) -> bool {
        let places = self.problem.per_row() - chosen.len();
        let most: f64 = left.iter().take(places).map(|&at| self.value(at).max(0.0)).sum();
        if sum + most < least {
            return true;
        }
        let Some((&at, rest)) = left.split_first().filter(|_| places > 0) else {
            found.push(chosen.clone());
            return found.len() < MOST;
        };
        chosen.push(at);
        let complete = self.choices(rest, chosen, sum + self.value(at), least, found);
        chosen.pop();
        complete && self.choices(rest, chosen, sum, least, found)
    }

    fn flip(&self, base: &[usize], arms: Vec<usize>) -> Flip {
        let (mut loss, mut score, mut used, mut count, mut keys) = (0.0, 0, 0, 0, [0, 0]);
        let several = self.problem.limits.len() > 1;
        let mut uses = vec![0; if several { self.problem.limits.len() } else { 0 }];
        let added = arms.iter().filter(|at| !base.contains(at)).map(|at| (at, 1));
        for (&at, sign) in base.iter().filter(|at| !arms.contains(at)).map(|at| (at, -1_i64)).chain(added) {
            let arm = &self.problem.arms[at];
            loss -= sign as f64 * self.value(at);
            count += sign;
            let sign = i128::from(sign);
            score += sign * self.grids.score.units(arm.score);
            let cost = sign * self.grids.cost.units(arm.cost);
            for (at, _) in self.problem.limits.iter().enumerate().filter(|(_, limit)| limit.concerns(arm)) {
                used += cost;
                if several {
                    uses[at] += cost;
                }
            }
            let own = tie_keys(arm.pick, self.scores);
            keys = [keys[0] + sign * own[0], keys[1] + sign * own[1]];
        }
        Flip { loss: loss.max(0.0), score, used, uses, count, keys, arms }
    }
}
