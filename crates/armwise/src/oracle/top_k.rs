//! The k best arms.
//!
//! One pass over the scores. They are compared eight at a time with the worst of the best k so far, or at first with a
//! guess from a sample, and most of them end there.

use super::taking::{AnyArms, Taking};
use super::{Infeasible, Limit, Missing, Needs, OnInfeasible, Oracle, Pick, Scores, Selection, raised, rows_of};
use crate::error::{Error, check};
use crate::kernel::{EIGHT, Kernel, ordered, unordered};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Exactly k arms, or at most k arms with positive scores only.
///
/// # Formula
/// ```text
/// S_t = { I : |I| = k }     or, with at_most,     S_t = { I : |I| <= k }
/// ```
/// # Reference
/// Section IV-A: "Under this constraint, C2UCB chooses the top k arms concerning the estimated reward."
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopK {
    /// How many arms.
    pub k: usize,
    /// Fewer arms may be chosen: those with a score above zero.
    #[serde(default)]
    pub at_most: bool,
    /// What to do where fewer than k arms are eligible.
    #[serde(default)]
    pub on_infeasible: OnInfeasible,
}

impl TopK {
    /// Exactly `k` arms.
    #[must_use]
    pub const fn exactly(k: usize) -> Self {
        Self { k, at_most: false, on_infeasible: OnInfeasible::Error }
    }

    /// At most `k` arms, those with positive scores.
    #[must_use]
    pub const fn at_most(k: usize) -> Self {
        Self { at_most: true, ..Self::exactly(k) }
    }

    /// The best k arms, or all there are if fewer.
    fn best(&self, scores: &Scores<'_>) -> Result<Best, Error> {
        check("k", self.k as f64, self.k > 0, "at least 1")?;
        // The smallest score that may be chosen.
        let least = if self.at_most { f64::from_bits(1) } else { f64::MIN };
        match self.guess(scores.values()).filter(|guess| *guess > least) {
            Some(guess) => match self.above(scores, guess)? {
                best if best.len() >= self.k => Ok(best),
                _ => self.above(scores, least),
            },
            None => self.above(scores, least),
        }
    }

    /// A guess from a sample: a score that most probably at least k scores reach, and not many more.
    fn guess(&self, values: &[f64]) -> Option<f64> {
        /// The most and the least that a sample has.
        const SAMPLE: usize = 256;
        const LEAST: usize = 16;
        let sample = SAMPLE.min(values.len() / 4);
        if sample < LEAST || self.k > values.len() / 4 {
            return None;
        }
        // On average the sample holds `mean` of the k best; three standard deviations more are on the safe side.
        let mean = sample * self.k / values.len() + 1;
        let rank = mean + 3 * mean.isqrt() + 1;
        let step = values.len() / sample;
        let mut keys = [0; SAMPLE];
        let keys = &mut keys[..sample];
        keys.iter_mut().zip(values.iter().step_by(step)).for_each(|(key, &value)| *key = falling(value));
        let (_, key, _) = keys.select_nth_unstable(rank.min(sample - 1));
        Some(score_of(*key))
    }

    /// The best k arms among those not below the bar.
    fn above(&self, scores: &Scores<'_>, bar: f64) -> Result<Best, Error> {
        /// Scores that are compared with the bar at a time.
        const PART: usize = 64 * EIGHT;
        let mut best = Best::new(self.k, bar);
        let kernel = Kernel::get();
        for (part, values) in scores.values().chunks(PART).enumerate() {
            let first = part * PART;
            let (eights, rest) = values.split_at(values.len() / EIGHT * EIGHT);
            let mut bits = [0; PART / EIGHT];
            let finite = kernel.reach(eights, &[best.bar; 8 * EIGHT], &[], &mut bits[..eights.len() / EIGHT]);
            let is_bad = |score: &f64| score.is_nan() || *score > f64::MAX;
            if !finite || rest.iter().any(is_bad) {
                let place = values.iter().position(is_bad).expect("one was seen");
                return Err(scores.not_finite(scores.pick(first + place)));
            }
            for (word, bits) in bits.as_chunks().0.iter().enumerate() {
                let mut bits = u64::from_le_bytes(*bits);
                while bits != 0 {
                    best.offer(first + 64 * word + bits.trailing_zeros() as usize, scores);
                    bits &= bits - 1;
                }
            }
            (first + eights.len()..first + values.len()).for_each(|place| best.offer(place, scores));
        }
        Ok(best)
    }
}

impl Oracle for TopK {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let mut best = self.best(scores)?.sorted(scores);
        // Once k arms are chosen, no arm that scores below the lowest of them can matter.
        let lowest = best.get(self.k - 1).map(|&arm| scores.get(arm));
        if scores.blocks() > 1 {
            best.sort_by_key(|arm| arm.block);
        }
        let (needed, chosen) = (if self.at_most { 0 } else { self.k }, best.len());
        if chosen < needed && self.on_infeasible == OnInfeasible::Error {
            return Err(Error::Infeasible(Infeasible::TooFewArms { needed, eligible: chosen }));
        }
        let mut selection = Selection::in_order(best, scores);
        selection.floors = lowest.map(|lowest| vec![lowest; scores.blocks()]);
        if chosen < needed {
            selection.missing.push(Missing { of: Limit::K, needed, chosen });
        }
        Ok(selection)
    }

    fn needs(&self) -> Needs {
        Needs::Best(self.k)
    }

    fn guess_floors(&self, sample: &Scores<'_>, share: f64) -> Result<Option<Vec<f64>>, Error> {
        let raised = Self { k: raised(self.k, share), on_infeasible: OnInfeasible::Fill, ..*self };
        Ok(raised.argmax(sample)?.floors)
    }

    fn taking(&self, scores: &Scores<'_>) -> Result<Option<Box<dyn Taking>>, Error> {
        check("k", self.k as f64, self.k > 0, "at least 1")?;
        let eligible = scores.values().iter().filter(|score| **score > f64::NEG_INFINITY).count();
        if !self.at_most && eligible < self.k && self.on_infeasible == OnInfeasible::Error {
            return Err(Error::Infeasible(Infeasible::TooFewArms { needed: self.k, eligible }));
        }
        Ok(Some(Box::new(AnyArms { k: self.k, taken: 0, demanded: !self.at_most })))
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        Ok(rows_of(&self.best(part)?.sorted(part)))
    }

    fn data(&self) -> Option<crate::Constraint> {
        Some(crate::Constraint::TopK(*self))
    }
}

/// An arm that may be among the best: small, and compared by an integer, to make selecting and sorting fast.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Larger scores have smaller keys.
    key: u64,
    /// Its index in the scores.
    place: usize,
}

impl Found {
    #[inline]
    pub(super) fn new(place: usize, scores: &Scores<'_>) -> Self {
        Self { key: falling(scores.values()[place]), place }
    }

    /// As [`Scores::rank`].
    #[inline]
    fn rank(&self, other: &Self, scores: &Scores<'_>) -> Ordering {
        let by_ties = || scores.tie_order(scores.pick(self.place), scores.pick(other.place));
        self.key.cmp(&other.key).then_with(by_ties)
    }
}

/// Bits that are ordered as the scores are, the largest first; -0 counts as 0.
pub(super) fn falling(score: f64) -> u64 {
    !ordered(score + 0.0)
}

/// The score that has this key.
pub(super) fn score_of(key: u64) -> f64 {
    unordered(!key)
}

/// These arms by rank.
pub(super) fn in_order(mut found: Vec<Found>, scores: &Scores<'_>) -> impl Iterator<Item = Pick> {
    found.sort_unstable_by_key(|found| found.key);
    for equal in found.chunk_by_mut(|a, b| a.key == b.key) {
        equal.sort_unstable_by(|a, b| a.rank(b, scores));
    }
    found.into_iter().map(|found| scores.pick(found.place))
}

/// A buffer for fewer would be cut too often.
const BUFFER: usize = 256;

/// The best arms so far, in a buffer of twice as many places, or [`BUFFER`], that is cut whenever it is full.
#[derive(Debug)]
pub(super) struct Best {
    keep: usize,
    /// How many are collected before the buffer is cut.
    full: usize,
    /// Arms that score less are not among the best.
    pub(super) bar: f64,
    found: Vec<Found>,
    /// The last of those that were best when the buffer was cut.
    worst: Option<Found>,
}

impl Best {
    /// For this many arms that score at least `bar`.
    pub(super) fn new(keep: usize, bar: f64) -> Self {
        let full = keep.saturating_mul(2).max(BUFFER);
        // No room for more than a page beforehand: few arms may reach the bar.
        Self { keep, full, bar, found: Vec::with_capacity(keep.saturating_mul(4).min(BUFFER)), worst: None }
    }

    /// Takes the arm at this index of the scores if it can be among the best.
    #[inline]
    pub(super) fn offer(&mut self, place: usize, scores: &Scores<'_>) {
        let found = Found::new(place, scores);
        let beaten = |worst: Found| found.rank(&worst, scores).is_gt();
        if scores.values()[place] < self.bar || self.worst.is_some_and(beaten) {
            return;
        }
        self.found.push(found);
        if self.found.len() >= self.full {
            self.cut(scores);
            self.worst = self.found.last().copied();
            self.bar = self.worst.map_or(self.bar, |worst| score_of(worst.key));
        }
    }

    /// Keeps the best ones, the worst of them last.
    fn cut(&mut self, scores: &Scores<'_>) {
        if self.found.len() > self.keep {
            let (_, last, _) = self.found.select_nth_unstable_by_key(self.keep - 1, |found| found.key);
            let key = last.key;
            // Equal scores are rare, and comparing whole numbers alone is fast.
            if self.found.iter().filter(|found| found.key == key).count() > 1 {
                self.found.select_nth_unstable_by(self.keep - 1, |a, b| a.rank(b, scores));
            }
            self.found.truncate(self.keep);
        }
    }

    /// How many there are, no more than asked for.
    pub(super) fn len(&self) -> usize {
        self.found.len().min(self.keep)
    }

    /// The best arms by rank; all there are if these are fewer than asked for.
    pub(super) fn sorted(mut self, scores: &Scores<'_>) -> Vec<Pick> {
        // Sorting a few too many costs less than finding out which they are.
        if self.found.len() > self.keep.saturating_add(self.keep / 4) {
            self.cut(scores);
        }
        in_order(self.found, scores).take(self.keep).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arms, Round, Stream, Ties};

    /// With few and with many distinct scores, with lengths that are multiples of eight and not, with and without a
    /// guess.
    #[test]
    fn the_best_are_those_of_a_sort() {
        for (n, kinds) in [(5, 2), (8, 3), (9, 100), (100, 1), (100, 7), (1_000, 40), (3_001, 3), (5_000, 1_000_000)] {
            let draws = Round::new(n, kinds).draws(0, Stream(300));
            let odd = [f64::NEG_INFINITY, -0.0, 0.0, f64::from_bits(1)];
            let score = |id: u64| match (draws.bits(id) % kinds, draws.bits(id + n) % 50) {
                (_, place @ 0..4) => odd[place as usize],
                (kind, _) => kind as f64 - 0.3 * kinds as f64,
            };
            let values: Vec<f64> = (0..n).map(score).collect();
            let x = vec![0.0; values.len()];
            let arms = Arms::new(&x, 1).expect("one feature");
            for ties in [Ties::ById, Ties::Random] {
                let scores = Scores::new(&values, 1, arms, ties, Round::new(1, 1)).expect("a score to an arm");
                let mut all: Vec<Pick> = (0..values.len()).map(|place| scores.pick(place)).collect();
                all.sort_by(|a, b| scores.rank(*a, *b));
                all.retain(|arm| scores.get(*arm) > f64::NEG_INFINITY);
                let positive = values.iter().filter(|score| **score > 0.0).count();
                for k in [1, 2, 3, all.len() / 20, all.len() / 3, all.len()] {
                    let k = k.clamp(1, all.len());
                    let found = |top: TopK| top.argmax(&scores).expect("enough arms").arms;
                    assert_eq!(found(TopK::exactly(k)), all[..k], "{n} {kinds} {ties:?} {k}");
                    assert_eq!(found(TopK::at_most(k)), all[..k.min(positive)], "{n} {kinds} {ties:?} {k}");
                }
            }
        }
    }

    #[test]
    fn a_score_that_is_not_a_number_is_an_error_wherever_it_stands() {
        for n in [1, 7, 8, 65, 1_537] {
            let x = vec![0.0; n];
            for (place, bad) in [0, n / 2, n - 1].into_iter().flat_map(|at| [(at, f64::NAN), (at, f64::INFINITY)]) {
                let mut values = vec![1.0; n];
                values[place] = bad;
                let arms = Arms::new(&x, 1).expect("one feature");
                let scores = Scores::new(&values, 1, arms, Ties::ById, Round::new(1, 1)).expect("a score to an arm");
                let error = TopK::exactly(1).argmax(&scores).expect_err("a bad score");
                assert!(
                    matches!(error, Error::ScoreNotFinite { row, .. } if row == place),
                    "{error} at {place} of {n}"
                );
            }
        }
    }

    #[test]
    fn keys_fall_as_scores_rise() {
        let scores = [f64::NEG_INFINITY, -1e300, -1.0, -1e-300, 0.0, 1e-300, 1.0, 1e300];
        assert!(scores.windows(2).all(|pair| falling(pair[0]) > falling(pair[1])));
        assert_eq!(falling(-0.0), falling(0.0));
        assert!(scores.iter().all(|score| score_of(falling(*score)).to_bits() == score.to_bits()));
    }
}
