//! From prices to a super arm.
//!
//! The decision to know: the search is repeated with a gap that doubles, from far below what the greedy answer
//! leaves open. Most rounds end at a small gap, where only a handful of arms is undecided; an answer is optimal
//! as soon as it is no further below the bound than the gap that was searched.

use super::items::{Grids, Item, collect, priced_choice};
use super::prices::{self, Prices};
use super::problem::{Limit, Problem, tie};
use super::search::{Found, Outcome, Slack, search};
use crate::oracle::{Pick, Price, Quality, Scores, Selection};

/// How often the gap doubles before it reaches what the greedy answer leaves open.
const STEPS: i32 = 12;

/// How many arms worth less than their price the greedy answer tries.
const TRIED: usize = 256;

/// A super arm with its distance to the best.
struct Answer {
    arms: Vec<Pick>,
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
    let mut answer = Answer { arms: Vec::new(), short: 0.0, prices: Vec::new() };
    let limited = |pick: Pick| problem.limits.iter().any(|limit| limit.block == Some(pick.block));
    answer.arms.extend(problem.arms.iter().map(|arm| arm.pick).filter(|&pick| !limited(pick)));
    for limit in &problem.limits {
        let arms = problem.arms.iter().filter(|arm| limit.concerns(arm)).copied().collect();
        let part = whole(&Problem { arms, limits: vec![limit.clone()], k: None, per_row: None }, scores);
        answer.arms.extend(part.arms);
        answer.short += part.short;
        answer.prices.extend(part.prices);
    }
    answer
}

fn whole(problem: &Problem, scores: &Scores<'_>) -> Answer {
    let grids = Grids { score: problem.score_grid(), cost: problem.cost_grid() };
    if let Some(answer) = without_budgets(problem, &grids, scores) {
        return answer;
    }
    let prices = prices::find(problem, scores);
    let values: Vec<f64> = problem.arms.iter().map(|arm| prices.value(arm, problem)).collect();
    let mut priced: Vec<usize> = match problem.per_row {
        None => (0..values.len()).filter(|&at| values[at] > 0.0).collect(),
        Some(_) => problem.rows().flat_map(|row| priced_choice(problem, &values, row)).collect(),
    };
    let slack = slack(problem, &prices, &grids, &priced);
    let (greedy, greedy_short) = greedy(problem, &values, &grids, &priced, &slack, scores);
    let rounding = rounding(problem);
    let (items, complete) = collect(problem, &values, &grids, scores, greedy_short + 2.0 * rounding);
    let (found, searched) = deepen(&items, &slack, greedy_short, rounding, complete);
    let found = found.filter(|found| searched.is_none() || found.short < greedy_short);
    let short = match (&found, searched) {
        (_, None) => 0.0,
        (Some(found), Some(searched)) => (found.short - searched + rounding).max(rounding),
        (None, Some(searched)) => (greedy_short - searched + rounding).max(rounding),
    };
    let chosen = match found {
        Some(found) => {
            apply(&items, &found, &mut priced);
            priced
        }
        None => greedy,
    };
    let mut named: Vec<Price> = problem
        .limits
        .iter()
        .zip(&prices.limits)
        .map(|(limit, &value)| Price { of: limit.name.clone(), value })
        .collect();
    if problem.k.is_some() {
        named.push(Price { of: "k".to_owned(), value: prices.place });
    }
    Answer { arms: chosen.into_iter().map(|at| problem.arms[at].pick).collect(), short, prices: named }
}

/// The best super arm if its costs happen to fit: a greedy choice, exact for rows and k.
fn without_budgets(problem: &Problem, grids: &Grids, scores: &Scores<'_>) -> Option<Answer> {
    let by_order = |&a: &usize, &b: &usize| problem.order(&problem.arms[a], &problem.arms[b], scores);
    let mut chosen: Vec<usize> = Vec::new();
    for row in problem.rows() {
        let start = chosen.len();
        chosen.extend(row);
        if chosen.len() - start > problem.per_row() {
            chosen[start..].sort_unstable_by(by_order);
            chosen.truncate(start + problem.per_row());
        }
    }
    let mut place = 0.0;
    if let Some(k) = problem.k.filter(|&k| k < chosen.len()) {
        let next = *chosen.select_nth_unstable_by(k, by_order).1;
        place = problem.arms[next].score;
        chosen.truncate(k);
    }
    if !problem.limits.iter().all(|limit| used(problem, grids, limit, &chosen) <= grids.cost.units(limit.amount)) {
        return None;
    }
    let free = |limit: &Limit| Price { of: limit.name.clone(), value: 0.0 };
    let mut prices: Vec<Price> = problem.limits.iter().map(free).collect();
    if problem.k.is_some() {
        prices.push(Price { of: "k".to_owned(), value: place });
    }
    Some(Answer { arms: chosen.into_iter().map(|at| problem.arms[at].pick).collect(), short: 0.0, prices })
}

fn used(problem: &Problem, grids: &Grids, limit: &Limit, chosen: &[usize]) -> i128 {
    let arms = chosen.iter().map(|&at| &problem.arms[at]).filter(|arm| limit.concerns(arm));
    arms.map(|arm| grids.cost.units(arm.cost)).sum()
}

fn slack(problem: &Problem, prices: &Prices, grids: &Grids, priced: &[usize]) -> Slack {
    let left = |limit: &Limit| {
        // A limit far above all costs together is capped, so that no later sum overflows.
        grids.cost.units(limit.amount).min(i128::MAX / 4) - used(problem, grids, limit, priced)
    };
    let places = |k: usize| (count(k) - count(priced.len()), prices.place);
    Slack {
        left: problem.limits.iter().map(left).collect(),
        price: prices.limits.iter().map(|price| grids.cost.per_unit(*price)).collect(),
        places: problem.k.map(places),
    }
}

/// A number of arms that may be added and subtracted; more than any round has stays more.
fn count(n: usize) -> i64 {
    i64::try_from(n).map_or(i64::MAX / 2, |n| n.min(i64::MAX / 2))
}

/// A bound on the rounding in a sum of losses: what is undecided costs about its score, so each loss is exact to some
/// 3e-16 of the largest score, and hundreds of them add up.
fn rounding(problem: &Problem) -> f64 {
    2e-13 * problem.arms.iter().map(|arm| arm.score).fold(0.0, f64::max)
}

/// A feasible super arm: the priced choice, or as much of it as fits, and then whatever else fits, by falling worth
/// beyond price. With how far it is below the bound.
fn greedy(
    problem: &Problem,
    values: &[f64],
    grids: &Grids,
    priced: &[usize],
    slack: &Slack,
    scores: &Scores<'_>,
) -> (Vec<usize>, f64) {
    let value = |at: usize| values[at];
    let by_value = |&a: &usize, &b: &usize| {
        value(b).total_cmp(&value(a)).then_with(|| tie(problem.arms[a].pick, problem.arms[b].pick, scores))
    };
    let rounding = rounding(problem);
    let mut in_priced = priced.iter().copied().peekable();
    let mut others: Vec<usize> = (0..problem.arms.len()).filter(|&at| in_priced.next_if_eq(&at).is_none()).collect();
    // Arms worth exactly their price may be very many, and may all be needed.
    let even = others.iter().filter(|&&at| value(at) >= -rounding).count();
    if others.len() > even + TRIED {
        others.select_nth_unstable_by(even + TRIED - 1, by_value);
        others.truncate(even + TRIED);
    }
    others.sort_unstable_by(by_value);
    spread(problem, grids, &mut others[..even], slack, scores);
    let mut left = slack.left.clone();
    let mut places = slack.places.map_or(i64::MAX, |(places, _)| places);
    let mut chosen = priced.to_vec();
    let mut loss = 0.0;
    if left.iter().any(|&left| left < 0) || places < 0 {
        let mut all = std::mem::take(&mut chosen);
        loss += all.iter().map(|&at| value(at)).sum::<f64>();
        for (left, limit) in left.iter_mut().zip(&problem.limits) {
            *left += used(problem, grids, limit, &all);
        }
        places = places.saturating_add(count(all.len()));
        all.sort_unstable_by(by_value);
        all.append(&mut others);
        others = all;
    }
    let mut of_row: std::collections::HashMap<usize, usize> = std::collections::HashMap::new();
    if problem.per_row.is_some() {
        for &at in &chosen {
            *of_row.entry(problem.arms[at].pick.row).or_default() += 1;
        }
    }
    for at in others {
        let arm = &problem.arms[at];
        let cost = grids.cost.units(arm.cost);
        let fits = problem.limits.iter().zip(&left).all(|(limit, &left)| !limit.concerns(arm) || cost <= left);
        let in_row = of_row.get(&arm.pick.row).copied().unwrap_or(0);
        if !fits || places <= 0 || (problem.per_row.is_some() && in_row >= problem.per_row()) {
            continue;
        }
        for (left, _) in left.iter_mut().zip(&problem.limits).filter(|(_, limit)| limit.concerns(arm)) {
            *left -= cost;
        }
        places -= 1;
        loss -= value(at);
        of_row.insert(arm.pick.row, in_row + 1);
        chosen.push(at);
    }
    let unused: f64 = left.iter().zip(&slack.price).map(|(&left, price)| left as f64 * price).sum();
    let unused_places = slack.places.map_or(0.0, |(_, price)| places as f64 * price);
    (chosen, (loss + unused + unused_places).max(0.0))
}

/// Among arms worth just their price, puts first as many as there are places whose costs together come closest to
/// what is left of the one budget: a window in the order of costs.
fn spread(problem: &Problem, grids: &Grids, even: &mut [usize], slack: &Slack, scores: &Scores<'_>) {
    let (Some((places, _)), &[left], None) = (slack.places, &slack.left[..], problem.per_row) else { return };
    let places = usize::try_from(places).unwrap_or(0);
    if places == 0 || even.len() <= places {
        return;
    }
    let arm = |at: usize| &problem.arms[at];
    even.sort_unstable_by(|&a, &b| {
        problem.used(arm(a)).total_cmp(&problem.used(arm(b))).then_with(|| tie(arm(a).pick, arm(b).pick, scores))
    });
    let cost = |at: usize| if problem.limits[0].concerns(arm(at)) { grids.cost.units(arm(at).cost) } else { 0 };
    let mut sum: i128 = even[..places].iter().map(|&at| cost(at)).sum();
    let mut start = 0;
    while start + places < even.len() {
        let next = sum - cost(even[start]) + cost(even[start + places]);
        if next > left {
            break;
        }
        sum = next;
        start += 1;
    }
    even.rotate_left(start);
}

/// Searches with a growing gap. Gives the best super arm found and, unless it is optimal, the gap below which there
/// is nothing.
fn deepen(items: &[Item], slack: &Slack, open: f64, rounding: f64, complete: f64) -> (Option<Found>, Option<f64>) {
    let last = open + 2.0 * rounding;
    let mut searched = 0.0;
    for step in (0..=STEPS).rev() {
        let gap = (last * 0.5_f64.powi(step)).max(2.0 * rounding).min(last);
        if gap > complete {
            return (None, Some(searched));
        }
        match search(items, slack, gap, rounding) {
            Outcome::GaveUp => return (None, Some(searched)),
            Outcome::Done(Some(found)) if found.short <= gap - rounding => return (Some(found), None),
            Outcome::Done(_) => searched = (gap - rounding).max(0.0),
        }
    }
    (None, Some(searched))
}

/// Replaces the flipped rows in the priced choice.
fn apply(items: &[Item], found: &Found, priced: &mut Vec<usize>) {
    let mut out: Vec<usize> = found.flips.iter().flat_map(|&(item, _)| items[item].base.iter().copied()).collect();
    out.sort_unstable();
    priced.retain(|at| out.binary_search(at).is_err());
    priced.extend(found.flips.iter().flat_map(|&(item, flip)| items[item].flips[flip].arms.iter().copied()));
}
