//! The search over flips, for several budgets at once.
//!
//! Sums of flips within a gap are tried depth first, which is exact but runs out of work in large rounds. There, a
//! local search flips one or two rows at a time while that brings the super arm closer to the bound.

use super::items::Item;
use super::problem::mix;
use super::search::{Found, Outcome, Slack, State, WORK};

/// Every sum of flips within the gap.
pub(super) struct DepthFirst<'a> {
    items: &'a [Item],
    slack: &'a Slack,
    gap: f64,
    left: Vec<i128>,
    path: Vec<(usize, usize)>,
    best: Option<Found>,
    work: usize,
}

impl<'a> DepthFirst<'a> {
    pub(super) fn new(items: &'a [Item], slack: &'a Slack, gap: f64) -> Self {
        Self { items, slack, gap, left: slack.left.clone(), path: Vec::new(), best: None, work: 0 }
    }

    pub(super) fn run(mut self) -> Outcome {
        let done = self.go(0, &State::default());
        Outcome { found: self.best, done }
    }

    /// False if there is too much work. At most as deep as there are items, which are few.
    fn go(&mut self, from: usize, state: &State) -> bool {
        self.work += 1;
        self.offer(state);
        for at in from..self.items.len() {
            if state.loss + self.items[at].loss() > self.gap {
                break;
            }
            for (number, flip) in self.items[at].flips.iter().enumerate() {
                if state.loss + flip.loss > self.gap {
                    break;
                }
                if self.work > WORK {
                    return false;
                }
                flip.uses.iter().for_each(|&(limit, uses)| self.left[limit] -= uses);
                self.path.push((at, number));
                let complete = self.go(at + 1, &state.with(flip, number));
                self.path.pop();
                flip.uses.iter().for_each(|&(limit, uses)| self.left[limit] += uses);
                if !complete {
                    return false;
                }
            }
        }
        true
    }

    fn offer(&mut self, state: &State) {
        let places = self.slack.places - state.count;
        if places < 0 || self.left.iter().any(|&left| left < 0) {
            return;
        }
        let worth = state.worth();
        if self.best.as_ref().is_none_or(|best| worth > best.worth) {
            let short = state.loss + self.slack.unused(&self.left, places);
            self.best = Some(Found { flips: self.path.clone(), times: [0, 0], short, worth });
        }
    }
}

/// How many flips the local search uses, and how many pairs of them it tries in total.
const FLIPS: usize = 1_500;
const PAIRS: usize = 6_000_000;
/// How often it restarts after some arbitrary flips, and how many flips it makes for that.
const KICKS: u64 = 200;
const KICK: u64 = 3;

/// A flip as numbers: the change of what is left, limit by limit, the places last.
struct Move {
    item: usize,
    flip: usize,
    loss: f64,
    changes: Vec<(usize, f64)>,
}

/// Flips one or two rows at a time.
struct Local<'a> {
    slack: &'a Slack,
    moves: Vec<Move>,
    /// The moves that change a limit.
    of_limit: Vec<Vec<usize>>,
    left: Vec<f64>,
    price: Vec<f64>,
    /// The penalty for exceeding a limit: a fixed part, and a part per unit.
    penalty: Vec<(f64, f64)>,
    /// The flip that each item has.
    has: Vec<Option<usize>>,
    /// How many pairs of moves were tried.
    pairs: usize,
}

/// A super arm that fits, from one that need not, by the flips of `items`.
pub(super) fn local(items: &[Item], slack: &Slack) -> Option<Found> {
    let mut local = Local::new(items, slack);
    local.descend();
    for kick in 0..KICKS {
        if local.pairs > PAIRS || local.moves.is_empty() {
            break;
        }
        let before = (local.total(), local.left.clone(), local.has.clone());
        for number in 0..KICK {
            // Any fixed numbers will do.
            local.make(mix(kick * KICK + number) as usize % local.moves.len());
        }
        local.descend();
        if local.total() > before.0 {
            (local.left, local.has) = (before.1, before.2);
        }
    }
    local.found(items)
}

impl<'a> Local<'a> {
    fn new(items: &[Item], slack: &'a Slack) -> Self {
        let limits = slack.left.len();
        let mut moves: Vec<Move> = Vec::new();
        for (item, flips) in items.iter().enumerate().map(|(at, item)| (at, &item.flips)) {
            for (flip, it) in flips.iter().enumerate() {
                let uses = it.uses.iter().map(|&(limit, uses)| (limit, -(uses as f64)));
                let places = slack.place.filter(|_| it.count != 0).map(|_| (limits, -(it.count as f64)));
                moves.push(Move { item, flip, loss: it.loss, changes: uses.chain(places).collect() });
            }
        }
        moves.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        moves.truncate(FLIPS);
        let mut of_limit = vec![Vec::new(); limits + 1];
        for (at, it) in moves.iter().enumerate() {
            it.changes.iter().for_each(|change| of_limit[change.0].push(at));
        }
        let mut left: Vec<f64> = slack.left.iter().map(|&left| left as f64).collect();
        let mut price = slack.price.clone();
        if let Some(worth) = slack.place {
            left.push(slack.places as f64);
            price.push(worth);
        }
        // As if an arm's whole use were wasted, plus an amount that grows with the excess; limits without a price get a
        // penalty too.
        let dearest = price[..limits].iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut slope: Vec<f64> = price.iter().map(|price| 10.0 * price.max(0.1 * dearest)).collect();
        if let Some(worth) = slack.place {
            slope[limits] = 10.0 * (worth + moves.last().map_or(1.0, |last| last.loss));
        }
        let mut penalty: Vec<(f64, f64)> = slope.into_iter().map(|slope| (0.0, slope)).collect();
        for &(limit, change) in moves.iter().flat_map(|it| &it.changes) {
            let (charge, slope) = penalty[limit];
            penalty[limit].0 = charge.max(change.abs() * slope / 10.0);
        }
        Self { slack, moves, of_limit, left, price, penalty, has: vec![None; items.len()], pairs: 0 }
    }

    /// What is lost by what is left of a limit.
    fn cost(&self, limit: usize, left: f64) -> f64 {
        let (charge, slope) = self.penalty[limit];
        if left >= 0.0 { left * self.price[limit] } else { charge - left * slope }
    }

    /// 1 to make a move, -1 to undo it, none if the item has another flip.
    fn sign(&self, at: usize) -> Option<f64> {
        match self.has[self.moves[at].item] {
            None => Some(1.0),
            Some(flip) if flip == self.moves[at].flip => Some(-1.0),
            Some(_) => None,
        }
    }

    /// By how much a move, perhaps with another, brings the super arm closer to the bound.
    fn gain(&self, at: usize, other: Option<usize>) -> Option<f64> {
        let it = &self.moves[at];
        let sign = self.sign(at)?;
        let mut gain = -sign * it.loss;
        let Some(other) = other else {
            for &(limit, change) in &it.changes {
                gain += self.cost(limit, self.left[limit]) - self.cost(limit, self.left[limit] + sign * change);
            }
            return Some(gain);
        };
        let also = &self.moves[other];
        if also.item == it.item {
            return None;
        }
        let other_sign = self.sign(other)?;
        gain -= other_sign * also.loss;
        for &(limit, change) in &it.changes {
            let both = also.changes.iter().find(|also| also.0 == limit).map_or(0.0, |also| other_sign * also.1);
            gain += self.cost(limit, self.left[limit]) - self.cost(limit, self.left[limit] + sign * change + both);
        }
        for &(limit, change) in also.changes.iter().filter(|also| it.changes.iter().all(|own| own.0 != also.0)) {
            gain += self.cost(limit, self.left[limit]) - self.cost(limit, self.left[limit] + other_sign * change);
        }
        Some(gain)
    }

    /// Makes moves while that gains.
    fn descend(&mut self) {
        while self.pairs <= PAIRS
            && let Some(moves) = self.best_single().or_else(|| self.best_pair())
        {
            moves.into_iter().flatten().for_each(|at| self.make(at));
        }
    }

    /// How far the super arm is below the bound, with penalties for what does not fit.
    fn total(&self) -> f64 {
        let losses = self.moves.iter().filter(|it| self.has[it.item] == Some(it.flip)).map(|it| it.loss);
        losses.sum::<f64>() + self.left.iter().enumerate().map(|(at, &left)| self.cost(at, left)).sum::<f64>()
    }

    /// Gains below this are rounding.
    fn least(&self) -> f64 {
        1e-9 * self.left.iter().enumerate().map(|(at, &left)| self.cost(at, left)).sum::<f64>()
    }

    fn best_single(&self) -> Option<[Option<usize>; 2]> {
        let gains = (0..self.moves.len()).filter_map(|at| Some((self.gain(at, None)?, at)));
        let (gain, at) = gains.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (gain > self.least()).then_some([Some(at), None])
    }

    /// The best two moves that change the same limit, of the limit that leaves most to gain.
    fn best_pair(&mut self) -> Option<[Option<usize>; 2]> {
        let mut limits: Vec<usize> = (0..self.left.len()).filter(|&limit| self.of_limit[limit].len() > 1).collect();
        limits.sort_by(|&a, &b| self.cost(b, self.left[b]).total_cmp(&self.cost(a, self.left[a])));
        for limit in limits {
            let moves = &self.of_limit[limit];
            let mut best = (self.least(), None);
            for (place, &at) in moves.iter().enumerate().filter(|&(_, &at)| self.sign(at).is_some()) {
                for &other in &moves[place + 1..] {
                    if let Some(gain) = self.gain(at, Some(other))
                        && gain > best.0
                    {
                        best = (gain, Some([Some(at), Some(other)]));
                    }
                }
            }
            self.pairs += moves.len() * moves.len() / 2;
            if best.1.is_some() {
                return best.1;
            }
        }
        None
    }

    fn make(&mut self, at: usize) {
        let Some(sign) = self.sign(at) else { return };
        let it = &self.moves[at];
        it.changes.iter().for_each(|&(limit, change)| self.left[limit] += sign * change);
        self.has[it.item] = (sign > 0.0).then_some(it.flip);
    }

    /// The super arm, counted exactly; none if it does not fit.
    fn found(&self, items: &[Item]) -> Option<Found> {
        let mut left = self.slack.left.clone();
        let mut state = State::default();
        let mut flips = Vec::new();
        for (item, flip) in self.has.iter().enumerate().filter_map(|(item, flip)| Some((item, (*flip)?))) {
            let it = &items[item].flips[flip];
            it.uses.iter().for_each(|&(limit, uses)| left[limit] -= uses);
            state = state.with(it, flip);
            flips.push((item, flip));
        }
        let places = self.slack.places - state.count;
        if places < 0 || left.iter().any(|&left| left < 0) {
            return None;
        }
        let short = state.loss + self.slack.unused(&left, places);
        Some(Found { flips, times: [0, 0], short, worth: state.worth() })
    }
}
