//! What the prices leave undecided: rows with another choice that is only little worse than the best one.
//!
//! A super arm is the choice at the prices with some rows flipped. Its distance to the bound is the sum of the flips'
//! losses plus price times unused limit. So only flips with a small loss are needed, and of equal rows only as many as
//! can be flipped within the gap.

use super::newton::choose;
use super::problem::{tie, tie_keys};
use super::start::Start;
use std::cmp::Ordering;
use std::ops::Range;

/// Another choice for a row, as the change it makes.
#[derive(Debug, Clone)]
pub(super) struct Flip {
    pub(super) loss: f64,
    pub(super) score: i128,
    /// Use of all limits together.
    pub(super) used: i128,
    /// Use of each limit it changes, where there are several.
    pub(super) uses: Vec<(usize, i128)>,
    pub(super) count: i64,
    pub(super) keys: [i128; 2],
    /// The arms that leave and those that enter.
    pub(super) out: Vec<usize>,
    pub(super) enter: Vec<usize>,
}

/// A row with other choices, by rising loss.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) flips: Vec<Flip>,
}

impl Item {
    pub(super) fn loss(&self) -> f64 {
        self.flips[0].loss
    }
}

/// The largest number of undecided rows, and of choices of a row, that are searched.
const MOST: usize = 1_000;
const CHOICES: usize = 256;

/// The largest number of equal rows that are searched.
pub(super) const COPIES: usize = 64;

/// An undecided row: the loss of its second best choice, and its arms.
pub(super) type Near = (f64, Range<usize>);

impl Start<'_> {
    /// The rows whose second best choice loses at most `gap`.
    pub(super) fn near(&self, gap: f64) -> Vec<Near> {
        if self.problem.per_row.is_none() {
            let losses = self.values.iter().map(|value| value.abs()).enumerate();
            return losses.filter(|&(_, loss)| loss <= gap).map(|(at, loss)| (loss, at..at + 1)).collect();
        }
        let mut wanted = Vec::new();
        let mut loss = |row| choose(&self.values, row, self.problem.per_row(), &mut wanted).loss;
        self.problem.rows().map(|row| (loss(row.clone()), row)).filter(|row| row.0 <= gap).collect()
    }

    /// The undecided rows by rising loss, with all flips up to some loss, and that loss: `gap`, or less where there
    /// are too many. Of equal rows that lose nothing, at most `free_copies` are taken; of all equal rows, where classes
    /// were shared out.
    pub(super) fn items(&self, mut rows: Vec<Near>, gap: f64, free_copies: usize) -> (Vec<Item>, f64) {
        let mut within = gap;
        if rows.len() > MOST / 4 {
            rows = self.without_spare_copies(rows, &mut within, free_copies);
        }
        let by_loss = |a: &Near, b: &Near| a.0.total_cmp(&b.0).then_with(|| self.tie(&a.1, &b.1));
        if rows.len() > MOST {
            // Strictly less than the first loss left out, so that nothing up to `within` is missing.
            let (_, left_out, _) = rows.select_nth_unstable_by(MOST, by_loss);
            within = within.min(left_out.0.next_down());
            let most = left_out.0;
            rows.retain(|row| row.0 < most);
        }
        rows.sort_unstable_by(by_loss);
        let mut items = Vec::with_capacity(rows.len());
        for (_, row) in rows {
            let (item, complete) = self.item(row, gap);
            if !complete {
                within = within.min(0.0_f64.next_down());
            }
            items.extend(item);
        }
        // The loss of a flip may differ from the estimate by rounding.
        items.sort_by(|a, b| a.loss().total_cmp(&b.loss()));
        (items, within)
    }

    /// Leaves out copies of equal rows that no search within the gap can flip: each flip loses, and among equal arms
    /// the tie rule adds the first and drops the last. If more copies remain than are searched, `within` is lowered to
    /// the loss up to which the rest is not needed.
    fn without_spare_copies(&self, mut rows: Vec<Near>, within: &mut f64, free_copies: usize) -> Vec<Near> {
        self.sort_alike(&mut rows);
        let mut kept = Vec::new();
        for copies in rows.chunk_by(|a, b| self.alike(&a.1, &b.1).is_eq()) {
            let (loss, row) = &copies[0];
            // One copy more than fits the gap is kept, against rounding.
            let useful = self.useful(row);
            let fits = |&before: &usize| before as f64 * loss <= *within && (before as f64) < useful;
            let fit = (0..copies.len()).take_while(fits).count();
            let most = if self.shared || *loss <= self.rounding { free_copies } else { COPIES };
            if fit > most {
                *within = within.min((most as f64 * loss).next_down());
            }
            let useful = fit.min(most);
            let dropped_last = self.problem.per_row.is_none() && self.chosen[row.start];
            let first = if dropped_last { copies.len() - useful } else { 0 };
            kept.extend_from_slice(&copies[first..first + useful]);
        }
        kept
    }

    /// How many rows equal to this one can be chosen at most, if it is not chosen so far.
    fn useful(&self, row: &Range<usize>) -> f64 {
        if row.clone().any(|at| self.chosen[at]) {
            return f64::INFINITY;
        }
        let of_arm = |at: usize| {
            let arm = &self.problem.arms[at];
            let limits = self.problem.limits_of(arm.pick.block).map(|limit| self.problem.limits[limit].amount);
            let fit = limits.map(|amount| amount / arm.cost).fold(f64::INFINITY, f64::min);
            // One more, against rounding; without cost any number fits.
            if fit.is_nan() { f64::INFINITY } else { fit + 1.0 }
        };
        row.clone().map(of_arm).fold(0.0, f64::max).min(self.problem.k.unwrap_or(usize::MAX) as f64)
    }

    /// Sorts rows so that equal ones are next to each other, in the order of the tie rule.
    pub(super) fn sort_alike(&self, rows: &mut [Near]) {
        rows.sort_unstable_by(|a, b| self.alike(&a.1, &b.1).then_with(|| self.tie(&a.1, &b.1)));
    }

    fn tie(&self, a: &Range<usize>, b: &Range<usize>) -> Ordering {
        tie(self.problem.arms[a.start].pick, self.problem.arms[b.start].pick, self.scores)
    }

    /// Equal if two rows have the same choices and the same one is made.
    pub(super) fn alike(&self, a: &Range<usize>, b: &Range<usize>) -> Ordering {
        let blocks = self.problem.per_row.is_some() || self.problem.limits.len() > 1;
        let kind = |at: usize| {
            let arm = &self.problem.arms[at];
            (if blocks { arm.pick.block } else { 0 }, arm.score.to_bits(), arm.cost.to_bits(), self.chosen[at])
        };
        a.clone().map(kind).cmp(b.clone().map(kind))
    }

    pub(super) fn tie_keys(&self, at: usize) -> [i128; 2] {
        tie_keys(self.problem.arms[at].pick, self.scores)
    }

    /// The row with its flips up to a loss, and whether they are all there.
    pub(super) fn item(&self, row: Range<usize>, gap: f64) -> (Option<Item>, bool) {
        let base: Vec<usize> = row.clone().filter(|&at| self.chosen[at]).collect();
        let best: f64 = base.iter().map(|&at| self.values[at]).sum();
        let (choices, complete) = if self.problem.per_row.is_none() {
            (vec![if base.is_empty() { vec![row.start] } else { Vec::new() }], true)
        } else {
            self.choices(row, best - gap)
        };
        let mut flips: Vec<Flip> =
            choices.into_iter().filter(|arms| *arms != base).map(|arms| self.flip(&base, &arms)).collect();
        flips.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        ((!flips.is_empty()).then_some(Item { flips }), complete)
    }

    /// The choices in a row that are worth at least `least`, and whether the list is complete: there may be too many.
    fn choices(&self, row: Range<usize>, least: f64) -> (Vec<Vec<usize>>, bool) {
        let per_row = self.problem.per_row();
        let mut by_value: Vec<usize> = row.collect();
        by_value.sort_by(|&a, &b| self.values[b].total_cmp(&self.values[a]));
        let value = |place: usize| self.values[by_value[place]];
        // Running sums of the positive values, so that the most that later arms can add is one difference.
        let mut sums = vec![0.0];
        by_value.iter().for_each(|&at| sums.push(sums[sums.len() - 1] + self.values[at].max(0.0)));
        let most = |from: usize, places: usize| sums[(from + places).min(by_value.len())] - sums[from];
        let room = 1e-9 * (self.rounding + sums[by_value.len()]);
        let mut found: Vec<Vec<usize>> = Vec::new();
        let (mut work, mut next) = (0, 0);
        // The places chosen among `by_value`, each with the worth of those before it: depth first, without recursion.
        let mut chosen: Vec<(usize, f64)> = Vec::new();
        let mut sum = 0.0;
        loop {
            if sum >= least && chosen.last().is_none_or(|last| last.0 + 1 == next) {
                let mut arms: Vec<usize> = chosen.iter().map(|&(place, _)| by_value[place]).collect();
                arms.sort_unstable();
                found.push(arms);
            }
            work += 1;
            if found.len() >= CHOICES || work > 1_000 * CHOICES {
                return (found, false);
            }
            let places = per_row - chosen.len();
            if places > 0 && next < by_value.len() && sum + value(next) + most(next + 1, places - 1) >= least - room {
                chosen.push((next, sum));
                sum += value(next);
                next += 1;
            } else if let Some((last, before)) = chosen.pop() {
                (sum, next) = (before, last + 1);
            } else {
                return (found, true);
            }
        }
    }

    /// The change from one choice of a row to another, both ascending.
    fn flip(&self, base: &[usize], arms: &[usize]) -> Flip {
        let (mut loss, mut score, mut used, mut count, mut keys) = (0.0, 0, 0, 0, [0, 0]);
        let mut uses: Vec<(usize, i128)> = Vec::new();
        let several = self.problem.limits.len() > 1;
        let only = |these: &[usize], those: &[usize]| -> Vec<usize> {
            these.iter().copied().filter(|at| those.binary_search(at).is_err()).collect()
        };
        let (out, enter) = (only(base, arms), only(arms, base));
        for (&at, sign) in out.iter().map(|at| (at, -1_i64)).chain(enter.iter().map(|at| (at, 1))) {
            let arm = &self.problem.arms[at];
            loss -= sign as f64 * self.values[at];
            count += sign;
            let sign = i128::from(sign);
            score += sign * self.score_grid.units(arm.score);
            let cost = sign * self.cost_grid.units(arm.cost);
            for limit in self.problem.limits_of(arm.pick.block) {
                used += cost;
                match uses.iter_mut().find(|uses| uses.0 == limit) {
                    Some(uses) => uses.1 += cost,
                    None if several => uses.push((limit, cost)),
                    None => {}
                }
            }
            let own = self.tie_keys(at);
            keys = [keys[0] + sign * own[0], keys[1] + sign * own[1]];
        }
        Flip { loss: loss.max(0.0), score, used, uses, count, keys, out, enter }
    }
}
