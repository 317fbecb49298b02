//! The exact search over flips, for one budget.
//!
//! States that use no less and are worth no more than another are dropped (dynamic programming by dominance). The
//! search covers sums of losses up to `gap` and stops after a fixed amount of work, so the answer never depends on a
//! clock.

use super::items::{Flip, Item};
use super::lines::{Lines, Times};

/// What a choice leaves of the limits, and what a unit of it is worth.
#[derive(Debug, Clone)]
pub(super) struct Slack {
    /// Units left of each limit; negative where the choice exceeds it.
    pub(super) left: Vec<i128>,
    /// Worth of a unit of each limit.
    pub(super) price: Vec<f64>,
    /// Places left among the k; more than there are arms if there is no limit.
    pub(super) places: i64,
    /// Worth of a place, if they are limited.
    pub(super) place: Option<f64>,
}

impl Slack {
    /// What is lost by leaving this much of the limits and places unused.
    pub(super) fn unused(&self, left: &[i128], places: i64) -> f64 {
        let units: f64 = left.iter().zip(&self.price).map(|(&left, price)| left as f64 * price).sum();
        units + self.place.map_or(0.0, |price| places as f64 * price)
    }
}

/// A super arm as flips.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// (item, flip).
    pub(super) flips: Vec<(usize, usize)>,
    pub(super) times: Times,
    /// How far it is below the bound.
    pub(super) short: f64,
    /// What decides between super arms: score, use of limits, tie keys.
    pub(super) worth: Worth,
}

/// Larger is better.
pub(super) type Worth = (i128, std::cmp::Reverse<(i128, [i128; 2])>);

/// The result of a search.
pub(super) struct Outcome {
    /// The best super arm found.
    pub(super) found: Option<Found>,
    /// Whether every sum of losses up to the gap was covered; false if there was too much work.
    pub(super) done: bool,
}

/// How many states or nodes a search may make.
pub(super) const WORK: usize = 1_000_000;

/// A partial choice of flips.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    used: i128,
    score: i128,
    keys: [i128; 2],
    pub(super) count: i64,
    pub(super) loss: f64,
    /// The index of its flips in the trail; 0 means none.
    trail: u32,
    /// The flip that made this state in the step under way, from 1.
    flip: u32,
}

impl State {
    pub(super) fn with(&self, flip: &Flip, number: usize) -> Self {
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

    pub(super) fn worth(&self) -> Worth {
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

/// States by rising use, none dominated.
pub(super) struct Dominance<'a> {
    items: &'a [Item],
    lines: &'a Lines,
    slack: &'a Slack,
    gap: f64,
    left: i128,
    reach: Vec<Reach>,
    trails: Vec<(u32, u32, u32)>,
    /// The best so far: its worth, how far it is below the bound, where its flips are noted.
    best: Option<(Worth, f64, u32, Times)>,
}

impl<'a> Dominance<'a> {
    /// The search for the best super arm whose flips lose at most `gap` together.
    pub(super) fn new(items: &'a [Item], lines: &'a Lines, slack: &'a Slack, gap: f64) -> Self {
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
        Self { items, lines, slack, gap, left: slack.left[0], reach, trails: vec![(0, 0, 0)], best: None }
    }

    /// Sums of losses are exact to `rounding`.
    pub(super) fn run(mut self, rounding: f64) -> Outcome {
        let mut states = vec![State::default()];
        self.offer(&states[0], rounding);
        let mut work = 0;
        for at in 0..self.items.len() {
            let old = states.len();
            for (number, flip) in self.items[at].flips.iter().enumerate() {
                if flip.loss > self.gap {
                    break;
                }
                // States are not ordered by loss, so every one is tried.
                for i in 0..old {
                    let next = states[i].with(flip, number);
                    if self.can_finish(&next, at + 1) {
                        states.push(next);
                    }
                }
            }
            work += states.len();
            if work > WORK {
                return Outcome { found: self.found(), done: false };
            }
            states.retain(|state| self.can_finish(state, at + 1));
            self.drop_dominated(&mut states);
            for state in states.iter_mut().filter(|state| state.flip > 0) {
                self.trails.push((state.trail, at as u32, state.flip - 1));
                state.trail = (self.trails.len() - 1) as u32;
                state.flip = 0;
                self.offer(state, rounding);
            }
        }
        Outcome { found: self.found(), done: true }
    }

    /// Records a state if it can be made to fit and is the best so far.
    fn offer(&mut self, state: &State, rounding: f64) {
        let (left, places) = (self.left - state.used, self.slack.places - state.count);
        let Some((times, unused)) = self.lines.finish(left, places, self.slack) else { return };
        let short = state.loss + unused;
        let worth = self.lines.added_to(state.worth(), times);
        if self.best.as_ref().is_none_or(|best| worth > best.0) {
            self.best = Some((worth, short, state.trail, times));
        }
        // Flips that together lose more than the best so far is short of the bound cannot be better.
        self.gap = self.gap.min(short + 2.0 * rounding);
    }

    /// Whether later flips can make the state fit and use what is left, within the gap.
    fn can_finish(&self, state: &State, at: usize) -> bool {
        let spare = self.gap - state.loss;
        if spare < 0.0 || !self.lines.is_empty() {
            return spare >= 0.0;
        }
        let reach = &self.reach[at];
        let flips = (spare / reach.loss).floor();
        // 0 / 0 where flips are free: then there is no bound on their number.
        let most = |all: f64, once: f64| if flips.is_nan() { all } else { all.min(flips * once) };
        let left = (self.left - state.used) as f64;
        let rounding = 1e-9 * (reach.frees + reach.takes);
        if left + most(reach.frees, reach.frees_once) < -rounding {
            return false;
        }
        if state.count - reach.drops > self.slack.places {
            return false;
        }
        (left - most(reach.takes, reach.takes_once) - rounding) * self.slack.price[0] <= spare
    }

    /// Sorts by use and drops every state that another one equals or beats in use, count and worth.
    fn drop_dominated(&self, states: &mut Vec<State>) {
        // The new states are runs in order already, which the sort merges.
        states.sort_by(|a, b| {
            a.used.cmp(&b.used).then(b.score.cmp(&a.score)).then(a.keys.cmp(&b.keys)).then(a.count.cmp(&b.count))
        });
        if self.slack.place.is_none() {
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
        // `best[n]`: the best score so far with at most `fewest + n` arms.
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

    fn found(&self) -> Option<Found> {
        let &(worth, short, mut trail, times) = self.best.as_ref()?;
        let mut flips = Vec::new();
        while trail > 0 {
            let (before, item, flip) = self.trails[trail as usize];
            flips.push((item as usize, flip as usize));
            trail = before;
        }
        Some(Found { flips, times, short, worth })
    }
}
