//! Lines: many equal rows that lose nothing by being flipped.
//!
//! If arms come in clusters, the prices leave one or two whole clusters undecided. How many of their rows to flip
//! follows from what the other flips leave of the budget and of the places: one or two integers, found by division. So
//! the search never tries the rows of a cluster one by one.

use super::items::{Flip, Item, Near};
use super::search::{Slack, Worth};
use super::start::{Start, count};
use std::cmp::Reverse;

/// Equal rows with the same flip, in the order in which they are flipped.
#[derive(Debug, Clone)]
struct Rope {
    /// The first arm of each row.
    rows: Vec<usize>,
    /// The arms that leave and enter, counted from the row's first.
    out: Vec<usize>,
    enter: Vec<usize>,
    loss: f64,
    score: i128,
    used: i128,
    count: i64,
    /// `keys[n]` is the sum of the tie keys of the first n flips.
    keys: Vec<[i128; 2]>,
    /// The loss of the next best other flip of these rows.
    other: f64,
}

/// A flip that can be made many times, or be undone many times.
#[derive(Debug, Clone)]
pub(super) struct Line {
    forth: Rope,
    back: Option<Rope>,
}

/// How often the flips of each line are made; negative where they are undone.
pub(super) type Times = [i64; 2];

/// Up to this many equal rows need no line.
const FEW: usize = 8;

/// How many places may stay empty, and how many lines are tried at first.
const EMPTY: i64 = 64;
const TRIED: usize = 24;

/// How many flips of equal rows become lines.
const PER_ROW: usize = 4;

/// At most two lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines(Vec<Line>);

impl Lines {
    /// The lines that bring the start closest to the bound, and the rows that are in none.
    pub(super) fn find(start: &Start<'_>, gap: f64) -> (Self, Vec<usize>) {
        let mut even = start.near(start.rounding);
        if even.len() <= FEW {
            return (Self::default(), Vec::new());
        }
        start.sort_alike(&mut even);
        let mut ropes: Vec<Rope> = even
            .chunk_by(|a, b| start.alike(&a.1, &b.1).is_eq())
            .filter(|copies| copies.len() > FEW)
            .flat_map(|copies| Rope::all(start, copies, gap))
            .collect();
        ropes.sort_by_key(|rope| Reverse(rope.rows.len()));
        let mut lines: Vec<Line> = Vec::new();
        for rope in ropes {
            let opposite = |line: &&mut Line| {
                let forth = &line.forth;
                let back = (-rope.used, -rope.count, -rope.score);
                line.back.is_none() && (forth.used, forth.count, forth.score) == back
            };
            match lines.iter_mut().find(opposite) {
                Some(line) => line.back = Some(rope),
                None => lines.push(Line { forth: rope, back: None }),
            }
        }
        lines.truncate(TRIED);
        let short_of = |lines: &Self| lines.start(&start.slack).map_or(f64::INFINITY, |found| found.1);
        let mut best = Self::default();
        let mut short = short_of(&best);
        for first in 0..lines.len() {
            for second in first..lines.len() {
                let pair = if second == first { &[first][..] } else { &[first, second] };
                let tried = Self(pair.iter().map(|&at| lines[at].clone()).collect());
                let found = short_of(&tried);
                // A second line helps the search even if the start does not need it.
                if found < short || (found <= short && tried.0.len() > best.0.len()) {
                    (best, short) = (tried, found);
                }
            }
        }
        let mut rows: Vec<usize> = best.ropes().flat_map(|rope| rope.rows.iter().copied()).collect();
        rows.sort_unstable();
        (best, rows)
    }

    fn ropes(&self) -> impl Iterator<Item = &Rope> {
        self.0.iter().flat_map(Line::ropes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The gap up to which [`finish`](Self::finish) misses nothing.
    pub(super) fn complete_to(&self, slack: &Slack) -> f64 {
        let two = slack.place.filter(|_| self.0.len() == 2);
        let empty = two.map_or(f64::INFINITY, |price| (EMPTY as f64 * price).next_down());
        self.ropes().map(|rope| rope.other.next_down()).fold(empty, f64::min)
    }

    /// As [`finish`](Self::finish), for the start.
    pub(super) fn start(&self, slack: &Slack) -> Option<(Times, f64)> {
        self.finish(slack.left[0], slack.places, slack)
    }

    /// The times that best use the rest of the budget and the places, and how far the result is below the bound.
    pub(super) fn finish(&self, left: i128, places: i64, slack: &Slack) -> Option<(Times, f64)> {
        let short = |times: Times| {
            let loss: f64 = self.0.iter().zip(times).map(|(line, times)| line.loss(times)).sum();
            let used: i128 = self.0.iter().zip(times).map(|(line, times)| line.forth.used * i128::from(times)).sum();
            let count: i64 = self.0.iter().zip(times).map(|(line, times)| line.forth.count * times).sum();
            (times, loss + slack.unused(&[left - used], places - count))
        };
        let mut best: Option<(Times, f64)> = None;
        let mut offer = |times: Times| {
            let found = short(times);
            if best.is_none_or(|best| found.1 < best.1) {
                best = Some(found);
            }
        };
        match &self.0[..] {
            [] if left >= 0 && places >= 0 => offer([0, 0]),
            [] => {}
            [line] => line.alone(left, places).into_iter().flatten().for_each(|times| offer([times, 0])),
            [x, y, ..] => {
                x.alone(left, places).into_iter().flatten().for_each(|times| offer([times, 0]));
                y.alone(left, places).into_iter().flatten().for_each(|times| offer([0, times]));
                let most = if slack.place.is_some() { EMPTY } else { -1 };
                for empty in 0..=most {
                    Line::both(x, y, left, places - empty).into_iter().for_each(&mut offer);
                    Line::both(y, x, left, places - empty).into_iter().for_each(|[b, a]| offer([a, b]));
                }
            }
        }
        best
    }

    /// What a choice is worth together with these times.
    pub(super) fn added_to(&self, (mut score, Reverse((mut used, mut keys))): Worth, times: Times) -> Worth {
        for (line, times) in self.0.iter().zip(times) {
            score += line.forth.score * i128::from(times);
            used += line.forth.used * i128::from(times);
            if let Some((rope, flips)) = line.flips(times) {
                keys = [keys[0] + rope.keys[flips][0], keys[1] + rope.keys[flips][1]];
            }
        }
        (score, Reverse((used, keys)))
    }

    /// The arms that leave and enter at these times.
    pub(super) fn apply(&self, times: Times, chosen: &mut [bool]) {
        for (rope, flips) in self.0.iter().zip(times).filter_map(|(line, times)| line.flips(times)) {
            for &row in &rope.rows[..flips] {
                rope.out.iter().for_each(|at| chosen[row + at] = false);
                rope.enter.iter().for_each(|at| chosen[row + at] = true);
            }
        }
    }
}

impl Rope {
    /// The flips of these equal rows that lose nothing and change at most one place.
    fn all(start: &Start<'_>, copies: &[Near], gap: f64) -> Vec<Self> {
        let first = copies[0].1.start;
        let Some(item) = start.item(copies[0].1.clone(), gap).0 else { return Vec::new() };
        let lines =
            |flip: &Flip| flip.loss <= start.rounding && flip.count.abs() <= 1 && (flip.used, flip.count) != (0, 0);
        let numbers = (0..item.flips.len()).filter(|&number| lines(&item.flips[number]));
        let numbers: Vec<usize> = numbers.take(PER_ROW).collect();
        // A row is flipped once, so several flips share the rows.
        let shares = copies.chunks(copies.len().div_ceil(numbers.len().max(1)));
        numbers.iter().zip(shares).map(|(&number, copies)| Self::new(start, copies, (&item, first), number)).collect()
    }

    /// The flip of this number of `item`, whose row starts at the arm `first` and equals the copies.
    fn new(start: &Start<'_>, copies: &[Near], (item, first): (&Item, usize), number: usize) -> Self {
        let mut rows: Vec<usize> = copies.iter().map(|copy| copy.1.start).collect();
        let flip = &item.flips[number];
        let others = (0..item.flips.len()).filter(|&other| other != number);
        let other = others.map(|other| item.flips[other].loss).fold(f64::INFINITY, f64::min);
        let from_first = |arms: &[usize]| -> Vec<usize> { arms.iter().map(|at| at - first).collect() };
        let (out, enter) = (from_first(&flip.out), from_first(&flip.enter));
        // Of equal arms the tie rule adds the first and drops the last.
        if enter.is_empty() {
            rows.reverse();
        }
        let mut sum = [0, 0];
        let mut keys = vec![sum];
        for &row in &rows {
            let mut add = |at: &usize, sign: i128| {
                let own = start.tie_keys(row + at);
                sum = [sum[0] + sign * own[0], sum[1] + sign * own[1]];
            };
            out.iter().for_each(|at| add(at, -1));
            enter.iter().for_each(|at| add(at, 1));
            keys.push(sum);
        }
        let Flip { loss, score, used, count, .. } = *flip;
        Self { rows, out, enter, loss, score, used, count, keys, other }
    }
}

impl Line {
    fn least(&self) -> i64 {
        -self.back.as_ref().map_or(0, |back| count(back.rows.len()))
    }

    fn most(&self) -> i64 {
        count(self.forth.rows.len())
    }

    fn ropes(&self) -> impl Iterator<Item = &Rope> {
        std::iter::once(&self.forth).chain(&self.back)
    }

    fn flips(&self, times: i64) -> Option<(&Rope, usize)> {
        let rope = if times > 0 { Some(&self.forth) } else { self.back.as_ref() };
        rope.filter(|_| times != 0).map(|rope| (rope, times.unsigned_abs() as usize))
    }

    fn loss(&self, times: i64) -> f64 {
        self.flips(times).map_or(0.0, |(rope, flips)| flips as f64 * rope.loss)
    }

    /// The fewest and the most times that fit, and none at all.
    fn alone(&self, left: i128, places: i64) -> Option<[i64; 3]> {
        let range = (i128::from(self.least()), i128::from(self.most()));
        let range = at_most(range, self.forth.used, left)?;
        let (least, most) = at_most(range, i128::from(self.forth.count), i128::from(places))?;
        let (least, most) = (narrow(least), narrow(most));
        Some([least, most, 0.clamp(least, most)])
    }

    /// The times of two lines that take exactly these places and as much as they can of what is left.
    fn both(x: &Self, y: &Self, left: i128, places: i64) -> Option<Times> {
        let (sign, places) = (i128::from(x.forth.count), i128::from(places));
        if sign == 0 {
            return None;
        }
        // x = sign (places - b count_y), since the sign is its own inverse.
        let (start, slope) = (sign * places, sign * i128::from(y.forth.count));
        let range = (i128::from(y.least()), i128::from(y.most()));
        let range = at_most(range, slope, start - i128::from(x.least()))?;
        let range = at_most(range, -slope, i128::from(x.most()) - start)?;
        let per_time = y.forth.used - slope * x.forth.used;
        let (least, most) = at_most(range, per_time, left - start * x.forth.used)?;
        let b = if per_time > 0 { most } else { least };
        Some([narrow(start - slope * b), narrow(b)])
    }
}

/// The part of a range in which `each` times the number is at most `limit`.
fn at_most((least, most): (i128, i128), each: i128, limit: i128) -> Option<(i128, i128)> {
    let (least, most) = match each {
        0 if limit < 0 => return None,
        0 => (least, most),
        1.. => (least, most.min(limit.div_euclid(each))),
        _ => (least.max(-limit.div_euclid(-each)), most),
    };
    (least <= most).then_some((least, most))
}

fn narrow(n: i128) -> i64 {
    i64::try_from(n).expect("between the ends of a line")
}

#[cfg(test)]
mod tests {
    use super::at_most;

    #[test]
    fn parts_of_ranges_by_hand() {
        assert_eq!(at_most((-5, 5), 2, 7), Some((-5, 3)));
        assert_eq!(at_most((-5, 5), 2, -7), Some((-5, -4)));
        assert_eq!(at_most((-5, 5), -2, 7), Some((-3, 5)));
        assert_eq!(at_most((-5, 5), -2, -7), Some((4, 5)));
        assert_eq!(at_most((0, 5), 3, -1), None);
        assert_eq!(at_most((0, 5), 0, -1), None);
        assert_eq!(at_most((0, 5), 0, 0), Some((0, 5)));
    }
}
