//! From prices to a super arm.
//!
//! The search is repeated with a gap that doubles, beginning far below the greedy answer's distance to the bound. Most
//! rounds end at a small gap, where only a handful of arms is undecided; an answer is optimal as soon as its distance
//! to the bound is at most the gap that was searched.

use super::anneal::{Shares, anneal};
use super::items::{COPIES, Item};
use super::lines::Lines;
use super::prices::{self, Prices};
use super::problem::Problem;
use super::search::{Dominance, Found, Outcome};
use super::several::{DepthFirst, local};
use super::start::{Start, left};
use crate::oracle::{Pick, Price, Quality, Scores, Selection};

/// How often the gap doubles before it reaches the greedy answer's distance to the bound.
const STEPS: i32 = 12;

/// With at most this many arms, equal ones are tried one by one first.
const FEW_ARMS: usize = 20_000;

/// How many copies are tried of equal rows that lose nothing and are in no line.
const FREE_COPIES: usize = 4;

/// How many are tried where classes were shared out: the rest is about a row of each class.
const SHARED_COPIES: usize = 8;

/// Several budgets with more undecided rows than this are searched locally first.
const SMALL: usize = 24;

/// An answer further from the best than this share of its sum is worth another attempt.
const FAR: f64 = 1e-4;

/// A super arm with its distance to the best.
struct Answer {
    arms: Vec<Pick>,
    /// The sum of their scores.
    sum: f64,
    /// No super arm is better by more; 0 if it is optimal.
    short: f64,
    prices: Vec<Price>,
}

pub(super) fn solve(problem: &Problem, scores: &Scores<'_>) -> Selection {
    let separate = problem.k.is_none() && problem.per_row.is_none() && problem.limits.len() > 1;
    let answer = if separate && problem.limits.iter().all(|limit| limit.block.is_some()) {
        block_by_block(problem, scores)
    } else {
        whole(problem, scores)
    };
    let mut selection = Selection::optimal(answer.arms, scores);
    if answer.short > 0.0 {
        selection.quality = Quality::Gap;
        // Room for the rounding of the two sums.
        selection.upper_bound += answer.short + 1e-12 * selection.objective;
    }
    selection.prices = answer.prices;
    selection
}

/// Budgets of blocks that nothing ties together.
fn block_by_block(problem: &Problem, scores: &Scores<'_>) -> Answer {
    let mut answer = Answer { arms: Vec::new(), sum: 0.0, short: 0.0, prices: Vec::new() };
    let limited = |pick: Pick| problem.limits.iter().any(|limit| limit.block == Some(pick.block));
    answer.arms.extend(problem.arms.iter().map(|arm| arm.pick).filter(|&pick| !limited(pick)));
    for limit in &problem.limits {
        let arms = problem.arms.iter().filter(|arm| limit.concerns(arm)).copied();
        let part = whole(&problem.part(arms, vec![limit.clone()]), scores);
        answer.arms.extend(part.arms);
        answer.short += part.short;
        answer.prices.extend(part.prices);
    }
    answer
}

fn whole(problem: &Problem, scores: &Scores<'_>) -> Answer {
    if let Some(answer) = without_budgets(problem, scores) {
        return answer;
    }
    if let Some((prices, shares)) = anneal(problem, scores, true) {
        return from_prices(problem, scores, &prices, Some(&shares));
    }
    let found = from_prices(problem, scores, &prices::find(problem, scores), None);
    // Rows that are nearly equal mislead the Newton steps, as equal ones would.
    if found.short <= FAR * found.sum {
        return found;
    }
    let other = anneal(problem, scores, false);
    let other = other.map(|(prices, shares)| from_prices(problem, scores, &prices, Some(&shares)));
    other.filter(|other| other.short < found.short).unwrap_or(found)
}

/// The best super arm found from these prices, and from these shares of classes.
fn from_prices(problem: &Problem, scores: &Scores<'_>, prices: &Prices, shares: Option<&Shares>) -> Answer {
    let mut start = Start::new(problem, prices, scores);
    shares.into_iter().for_each(|shares| start.share_out(shares));
    let (greedy, greedy_short) = start.greedy();
    let found = start.run(greedy_short);
    let chosen = match &found.flips {
        Some((found, items, lines)) => {
            for &(item, flip) in &found.flips {
                let flip = &items[item].flips[flip];
                flip.out.iter().for_each(|&at| start.chosen[at] = false);
                flip.enter.iter().for_each(|&at| start.chosen[at] = true);
            }
            lines.apply(found.times, &mut start.chosen);
            start.arms()
        }
        None => greedy,
    };
    Answer::new(problem, chosen, found.short, prices)
}

impl Answer {
    fn new(problem: &Problem, chosen: Vec<usize>, short: f64, prices: &Prices) -> Self {
        // On the grid, so that the order of the arms does not matter.
        let grid = problem.score_grid();
        let sum = chosen.iter().map(|&at| grid.units(problem.arms[at].score)).sum::<i128>();
        let arms = chosen.into_iter().map(|at| problem.arms[at].pick).collect();
        Self { arms, sum: grid.per_unit(sum as f64), short, prices: prices.named(problem) }
    }
}

/// What the search found.
struct Catch {
    /// No super arm is better by more; 0 if it is optimal.
    short: f64,
    /// The flips that make it; none if the greedy answer stands.
    flips: Option<(Found, Vec<Item>, Lines)>,
}

impl Start<'_> {
    /// Looks for a super arm better than one that is `greedy` below the bound.
    fn run(&self, greedy: f64) -> Catch {
        let several = self.slack.left.len() > 1;
        let mut best = Catch { short: f64::INFINITY, flips: None };
        if several || self.values.len() <= FEW_ARMS {
            let copies = if self.shared { SHARED_COPIES } else { COPIES };
            best = self.search(greedy, greedy, (Lines::default(), Vec::new()), copies);
        }
        if !several && best.short > 0.0 {
            let (lines, rows) = Lines::find(self, greedy + 2.0 * self.rounding);
            let start = lines.start(&self.slack).filter(|_| !lines.is_empty());
            let open = start.map_or(greedy, |(_, short)| greedy.min(short + self.loss));
            let found = self.search(greedy, open, (lines, rows), FREE_COPIES);
            best = if found.short < best.short { found } else { best };
        }
        best
    }

    /// The search up to the gap `open`, where the flips of some rows are made along lines.
    fn search(&self, greedy: f64, open: f64, (lines, in_lines): (Lines, Vec<usize>), free_copies: usize) -> Catch {
        let rounding = self.rounding;
        let mut rows = self.near(open + 2.0 * rounding);
        if !in_lines.is_empty() {
            rows.retain(|row| in_lines.binary_search(&row.1.start).is_err());
        }
        let (items, within) = self.items(rows, open + 2.0 * rounding, free_copies);
        let within = within.min(lines.complete_to(&self.slack));
        let (found, searched) = self.deepen(&items, &lines, open, within);
        let found = found.filter(|found| searched.is_none() || found.short + self.loss < greedy);
        let short = match (&found, searched) {
            (_, None) => 0.0,
            (Some(found), Some(searched)) => (found.short + self.loss - searched + rounding).max(rounding),
            (None, Some(searched)) => (greedy - searched + rounding).max(rounding),
        };
        Catch { short, flips: found.map(|found| (found, items, lines)) }
    }

    /// Searches with a growing gap, up to `open`; flips up to the loss `within` are complete. Returns the best super
    /// arm found and, unless it is optimal, the gap within which no better one exists.
    fn deepen(&self, items: &[Item], lines: &Lines, mut open: f64, within: f64) -> (Option<Found>, Option<f64>) {
        let mut best: Option<Found> = None;
        if self.slack.left.len() > 1 && items.len() > SMALL {
            best = local(items, &self.slack);
            open = best.as_ref().map_or(open, |best| best.short.min(open));
        }
        let last = open + 2.0 * self.rounding;
        let mut searched = 0.0;
        for step in (0..=STEPS).rev() {
            let gap = (last * 0.5_f64.powi(step)).max(2.0 * self.rounding).min(last);
            // The best super arm whose flips lose at most the gap together.
            let items = &items[..items.partition_point(|item| item.loss() <= gap)];
            let Outcome { found, done } = match self.slack.left.len() {
                1 => Dominance::new(items, lines, &self.slack, gap).run(self.rounding),
                _ => DepthFirst::new(items, &self.slack, gap).run(),
            };
            let proven = done && gap <= within;
            if let Some(found) = found {
                let optimal = found.short <= gap - self.rounding;
                if best.as_ref().is_none_or(|best| found.worth > best.worth) {
                    best = Some(found);
                }
                if optimal {
                    return (best, if proven { None } else { Some(searched) });
                }
            }
            if !done {
                break;
            }
            if proven {
                searched = (gap - self.rounding).max(0.0);
            }
        }
        (best, Some(searched))
    }
}

/// The best super arm if its costs happen to fit: a greedy choice, exact for rows and k.
fn without_budgets(problem: &Problem, scores: &Scores<'_>) -> Option<Answer> {
    let by_order = |&a: &usize, &b: &usize| problem.order(&problem.arms[a], &problem.arms[b], scores);
    let mut chosen: Vec<usize> = Vec::new();
    if problem.per_row.is_none() {
        chosen = likely(problem);
    } else {
        for row in problem.rows() {
            let start = chosen.len();
            chosen.extend(row);
            if chosen.len() - start > problem.per_row() {
                chosen[start..].select_nth_unstable_by(problem.per_row() - 1, by_order);
                chosen.truncate(start + problem.per_row());
            }
        }
    }
    let mut prices = Prices::none(problem);
    if let Some(k) = problem.k.filter(|&k| k < chosen.len()) {
        let next = *chosen.select_nth_unstable_by(k, by_order).1;
        prices.place = problem.arms[next].score;
        chosen.truncate(k);
    }
    let fits = left(problem, problem.cost_grid(), chosen.iter().copied()).iter().all(|&left| left >= 0);
    fits.then(|| Answer::new(problem, chosen, 0.0, &prices))
}

/// Arms that include the k best: all, or those above a bar from a regular sample.
fn likely(problem: &Problem) -> Vec<usize> {
    const SAMPLE: usize = 1024;
    let arms = &problem.arms;
    if let Some(k) = problem.k.filter(|_| arms.len() > 8 * SAMPLE) {
        let step = arms.len() / SAMPLE;
        let bar = prices::bar(arms.iter().step_by(step).map(|arm| arm.score).collect(), k / step);
        let above: Vec<usize> = (0..arms.len()).filter(|&at| arms[at].score > bar).collect();
        if above.len() > k {
            return above;
        }
    }
    (0..arms.len()).collect()
}
