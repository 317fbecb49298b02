//! The exact search over flips.
//!
//! The decision to know: with one budget, states that use no less and are worth no more than another are dropped
//! (dynamic programming by dominance); with several budgets, flips are tried depth first. Both look only at sums of
//! losses up to `gap`, and both count their work, so the answer never depends on a clock.

use super::items::Item;

/// What the priced choice leaves of the limits, and what a unit of it is worth.
#[derive(Debug, Clone)]
pub(super) struct Slack {
    /// Units left of each limit; negative where the priced choice exceeds it.
    pub(super) left: Vec<i128>,
    /// Worth of a unit of each limit.
    pub(super) price: Vec<f64>,
    /// Places left among the k, and the worth of one.
    pub(super) places: Option<(i64, f64)>,
}

/// A super arm as flips of the priced choice.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// (item, flip).
    pub(super) flips: Vec<(usize, usize)>,
    /// How far it is below the bound.
    pub(super) short: f64,
    /// What decides between super arms: score, use of limits, tie keys.
    pub(super) worth: Worth,
}

/// Larger is better.
pub(super) type Worth = (i128, std::cmp::Reverse<(i128, [i128; 2])>);

/// The result of a search.
pub(super) enum Outcome {
    /// The best super arm with a sum of losses up to the gap; none if there is none.
    Done(Option<Found>),
    /// Too much work.
    GaveUp,
}

/// How many states or nodes a search may make.
const WORK: usize = 1_000_000;

/// The best feasible super arm whose flips lose at most `gap` together, sums of losses being exact to `rounding`.
pub(super) fn search(items: &[Item], slack: &Slack, gap: f64, rounding: f64) -> Outcome {
    let items = &items[..items.partition_point(|item| item.loss() <= gap)];
    if slack.left.len() == 1 {
        return Dominance::new(items, slack, gap).run(rounding);
    }
    let mut depth = DepthFirst { items, slack, gap, left: slack.left.clone(), path: Vec::new(), best: None, work: 0 };
    if depth.go(0, &State::default()) { Outcome::Done(depth.best) } else { Outcome::GaveUp }
}

/// A partial choice of flips.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    used: i128,
    score: i128,
    keys: [i128; 2],
    count: i64,
    loss: f64,
    /// Where the flips are noted; 0 is none.
    trail: u32,
    /// The flip that made this state in the step under way, from 1.
    flip: u32,
}

impl State {
    fn with(&self, flip: &super::items::Flip, number: usize) -> Self {
        Self {
            used: self.used + flip.used,
            score: self.score + flip.score,
            keys: [self.keys[0] + flip.keys[0], self.keys[1] + flip.keys[1]],
            count: self.count + flip.count,
            loss: self.loss + flip.loss,
            trail: self.trail,
            flip: number as u32 + 1,
        }
    }

    fn worth(&self) -> Worth {
        (self.score, std::cmp::Reverse((self.used, self.keys)))
    }
}

/// What the flips of later items can still change, together and one at a time.
#[derive(Debug, Clone, Copy, Default)]
struct Reach {
    frees: f64,
    takes: f64,
    frees_once: f64,
    takes_once: f64,
    drops: i64,
    loss: f64,
}

/// One budget: states by rising use, none dominated.
struct Dominance<'a> {
    items: &'a [Item],
    gap: f64,
    left: i128,
    price: f64,
    places: Option<(i64, f64)>,
    reach: Vec<Reach>,
    trails: Vec<(u32, u32, u32)>,
}

impl<'a> Dominance<'a> {
    fn new(items: &'a [Item], slack: &Slack, gap: f64) -> Self {
        let mut reach = vec![Reach { loss: f64::INFINITY, ..Reach::default() }; items.len() + 1];
        for at in (0..items.len()).rev() {
            let flips = || items[at].flips.iter();
            let after = reach[at + 1];
            let frees = flips().map(|flip| -flip.used).max().unwrap_or(0).max(0) as f64;
            let takes = flips().map(|flip| flip.used).max().unwrap_or(0).max(0) as f64;
            reach[at] = Reach {
                frees: after.frees + frees,
                takes: after.takes + takes,
                frees_once: after.frees_once.max(frees),
                takes_once: after.takes_once.max(takes),
                drops: after.drops + flips().map(|flip| -flip.count).max().unwrap_or(0).max(0),
                loss: items[at].loss(),
            };
        }
        let (left, price, places) = (slack.left[0], slack.price[0], slack.places);
        Self { items, gap, left, price, places, reach, trails: vec![(0, 0, 0)] }
    }

    fn run(mut self, rounding: f64) -> Outcome {
        let mut states = vec![State::default()];
        let mut work = 0;
        for at in 0..self.items.len() {
            let old = states.len();
            for (number, flip) in self.items[at].flips.iter().enumerate() {
                // States are not ordered by loss, so every one is asked.
                for i in 0..old {
                    let next = states[i].with(flip, number);
                    if next.loss <= self.gap && self.can_finish(&next, at + 1) {
                        states.push(next);
                    }
                }
            }
            work += states.len();
            if work > WORK {
                return Outcome::GaveUp;
            }
            states.retain(|state| self.can_finish(state, at + 1));
            self.drop_dominated(&mut states);
            // What loses more than the best so far is short of the bound need not be looked at.
            let fits = states.iter().filter(|state| self.fits(state)).map(|state| self.short(state));
            self.gap = self.gap.min(fits.fold(f64::INFINITY, f64::min) + 2.0 * rounding);
            for state in states.iter_mut().filter(|state| state.flip > 0) {
                self.trails.push((state.trail, at as u32, state.flip - 1));
                state.trail = (self.trails.len() - 1) as u32;
                state.flip = 0;
            }
        }
        let feasible = states.iter().filter(|state| self.fits(state));
        let best = feasible.max_by(|a, b| a.worth().cmp(&b.worth()));
        Outcome::Done(best.map(|state| self.found(state)))
    }

    fn fits(&self, state: &State) -> bool {
        state.used <= self.left && self.places.is_none_or(|(places, _)| state.count <= places)
    }

    /// Whether later flips can make the state feasible and use what is left, within the gap.
    fn can_finish(&self, state: &State, at: usize) -> bool {
        let reach = &self.reach[at];
        let spare = self.gap - state.loss;
        let flips = (spare / reach.loss).floor();
        // 0 / 0 where flips are free: then there is no bound on their number.
        let most = |all: f64, once: f64| if flips.is_nan() { all } else { all.min(flips * once) };
        let left = (self.left - state.used) as f64;
        let rounding = 1e-9 * (reach.frees + reach.takes);
        if left + most(reach.frees, reach.frees_once) < -rounding {
            return false;
        }
        if self.places.is_some_and(|(places, _)| state.count - reach.drops > places) {
            return false;
        }
        (left - most(reach.takes, reach.takes_once) - rounding) * self.price <= spare
    }

    /// Sorts by use and drops every state that another one equals or beats in use, count and worth.
    fn drop_dominated(&self, states: &mut Vec<State>) {
        // The new states are runs in order already, which the sort merges.
        states.sort_by(|a, b| {
            a.used.cmp(&b.used).then(b.score.cmp(&a.score)).then(a.keys.cmp(&b.keys)).then(a.count.cmp(&b.count))
        });
        if self.places.is_none() {
            let mut best = i128::MIN;
            states.retain(|state| {
                state.score > best && {
                    best = state.score;
                    true
                }
            });
            return;
        }
        let fewest = states.iter().map(|state| state.count).min().unwrap_or(0);
        let most = states.iter().map(|state| state.count).max().unwrap_or(0);
        // The best score so far with at most so many arms.
        let mut best = vec![i128::MIN; most.abs_diff(fewest) as usize + 1];
        states.retain(|state| {
            let from = state.count.abs_diff(fewest) as usize;
            if best[from] >= state.score {
                return false;
            }
            for best in best[from..].iter_mut().take_while(|best| **best < state.score) {
                *best = state.score;
            }
            true
        });
    }

    fn found(&self, state: &State) -> Found {
        let mut flips = Vec::new();
        let mut trail = state.trail;
        while trail > 0 {
            let (before, item, flip) = self.trails[trail as usize];
            flips.push((item as usize, flip as usize));
            trail = before;
        }
        Found { flips, short: self.short(state), worth: state.worth() }
    }

    /// How far a feasible state is below the bound.
    fn short(&self, state: &State) -> f64 {
        let unused = (self.left - state.used) as f64 * self.price;
        let places = self.places.map_or(0.0, |(places, price)| (places - state.count) as f64 * price);
        state.loss + unused + places
    }
}

/// Several budgets: every sum of flips within the gap.
struct DepthFirst<'a> {
    items: &'a [Item],
    slack: &'a Slack,
    gap: f64,
    left: Vec<i128>,
    path: Vec<(usize, usize)>,
    best: Option<Found>,
    work: usize,
}

impl DepthFirst<'_> {
    /// False if there is too much work.
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
                self.left.iter_mut().zip(&flip.uses).for_each(|(left, uses)| *left -= uses);
                self.path.push((at, number));
                let complete = self.go(at + 1, &state.with(flip, number));
                self.path.pop();
                self.left.iter_mut().zip(&flip.uses).for_each(|(left, uses)| *left += uses);
                if !complete {
                    return false;
                }
            }
        }
        true
    }

    fn offer(&mut self, state: &State) {
        let fits = self.left.iter().all(|&left| left >= 0);
        let places = self.slack.places.map(|(places, price)| (places - state.count, price));
        if !fits || places.is_some_and(|(places, _)| places < 0) {
            return;
        }
        let worth = state.worth();
        if self.best.as_ref().is_none_or(|best| worth > best.worth) {
            let unused: f64 = self.left.iter().zip(&self.slack.price).map(|(&left, price)| left as f64 * price).sum();
            let short = state.loss + unused + places.map_or(0.0, |(places, price)| places as f64 * price);
            self.best = Some(Found { flips: self.path.clone(), short, worth });
        }
    }
}
