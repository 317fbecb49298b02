//! The k best arms.
//!
//! One pass over the scores with a buffer of 2k places, which is cut to the best k whenever it is full. Scores are
//! compared eight at a time with the worst of the best k, or at first with a guess from a sample, and most of them end
//! there.

use super::{Infeasible, Limit, Missing, Needs, OnInfeasible, Oracle, Pick, Scores, Selection, raised};
use crate::{
    Error,
    error::check,
    kernel::{EIGHT, Kernel, ordered, unordered},
};
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

    /// The best k arms, or all there are if fewer, in no particular order.
    fn best(&self, scores: &Scores<'_>) -> Result<Vec<Found>, Error> {
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
        const SAMPLE: usize = 256;
        if values.len() < 4 * SAMPLE || self.k > values.len() / 4 {
            return None;
        }
        // On average the sample holds `mean` of the k best; three standard deviations more are on the safe side.
        let mean = SAMPLE * self.k / values.len() + 1;
        let rank = mean + 3 * mean.isqrt() + 1;
        let step = values.len() / SAMPLE;
        let mut keys: [u64; SAMPLE] = std::array::from_fn(|place| falling(values[place * step]));
        let (_, key, _) = keys.select_nth_unstable(rank.min(SAMPLE - 1));
        Some(score_of(*key))
    }

    /// The best k arms among those not below the bar.
    fn above(&self, scores: &Scores<'_>, mut bar: f64) -> Result<Vec<Found>, Error> {
        /// Scores that are compared with the bar at a time.
        const PART: usize = 64 * EIGHT;
        let capacity = self.k.saturating_mul(2).min(scores.values().len());
        let mut best: Vec<Found> = Vec::with_capacity(capacity);
        let mut worst: Option<Found> = None;
        let mut see = |place: usize, bar: &mut f64| {
            let score = scores.values()[place];
            let found = Found { key: falling(score), place };
            if score < *bar || worst.is_some_and(|worst| found.rank(&worst, scores).is_gt()) {
                return;
            }
            best.push(found);
            if best.len() == capacity && capacity > self.k {
                self.cut(&mut best, scores);
                worst = best.last().copied();
                *bar = worst.map_or(*bar, |worst| score_of(worst.key));
            }
        };
        let kernel = Kernel::get();
        for (part, values) in scores.values().chunks(PART).enumerate() {
            let first = part * PART;
            let (eights, rest) = values.split_at(values.len() / EIGHT * EIGHT);
            let mut bits = [0; PART / EIGHT];
            let finite = kernel.reach(eights, &[bar; 8 * EIGHT], &[], &mut bits[..eights.len() / EIGHT]);
            let is_bad = |score: &f64| score.is_nan() || *score > f64::MAX;
            if !finite || rest.iter().any(is_bad) {
                let place = values.iter().position(is_bad).expect("one was seen");
                return Err(scores.not_finite(scores.pick(first + place)));
            }
            for (word, bits) in bits.as_chunks().0.iter().enumerate() {
                let mut bits = u64::from_le_bytes(*bits);
                while bits != 0 {
                    see(first + 64 * word + bits.trailing_zeros() as usize, &mut bar);
                    bits &= bits - 1;
                }
            }
            (first + eights.len()..first + values.len()).for_each(|place| see(place, &mut bar));
        }
        self.cut(&mut best, scores);
        Ok(best)
    }

    /// Keeps the best k, the worst of them last.
    fn cut(&self, best: &mut Vec<Found>, scores: &Scores<'_>) {
        if best.len() > self.k {
            let (_, last, _) = best.select_nth_unstable_by_key(self.k - 1, |found| found.key);
            let key = last.key;
            // Equal scores are rare, and comparing whole numbers alone is fast.
            if best.iter().filter(|found| found.key == key).count() > 1 {
                best.select_nth_unstable_by(self.k - 1, |a, b| a.rank(b, scores));
            }
            best.truncate(self.k);
        }
    }
}

/// An arm that may be among the best: small, and compared by an integer, to make selecting and sorting fast.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Larger scores have smaller keys.
    key: u64,
    /// Its index in the scores.
    place: usize,
}

impl Found {
    /// As [`Scores::rank`].
    #[inline]
    fn rank(&self, other: &Self, scores: &Scores<'_>) -> Ordering {
        if self.key == other.key {
            scores.tie_order(scores.pick(self.place), scores.pick(other.place))
        } else {
            self.key.cmp(&other.key)
        }
    }
}

impl TopK {
    /// Once k arms are chosen, no arm that scores below the lowest of them can matter.
    fn floors(&self, lowest: Option<f64>, chosen: usize, scores: &Scores<'_>) -> Option<Vec<f64>> {
        lowest.filter(|_| chosen == self.k).map(|lowest| vec![lowest; scores.blocks()])
    }
}

/// Bits that are ordered as the scores are, the largest first; -0 counts as 0.
fn falling(score: f64) -> u64 {
    !ordered(score + 0.0)
}

/// The score that has this key.
fn score_of(key: u64) -> f64 {
    unordered(!key)
}

impl Oracle for TopK {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let mut best = self.best(scores)?;
        best.sort_unstable_by_key(|found| found.key);
        for equal in best.chunk_by_mut(|a, b| a.key == b.key) {
            equal.sort_unstable_by(|a, b| a.rank(b, scores));
        }
        let lowest = best.last().map(|found| score_of(found.key));
        let mut best: Vec<Pick> = best.into_iter().map(|found| scores.pick(found.place)).collect();
        if scores.blocks() > 1 {
            best.sort_by_key(|arm| arm.block);
        }
        let (needed, chosen) = (if self.at_most { 0 } else { self.k }, best.len());
        if chosen >= needed {
            return Ok(Selection { floors: self.floors(lowest, chosen, scores), ..Selection::in_order(best, scores) });
        }
        match self.on_infeasible {
            OnInfeasible::Error => Err(Error::Infeasible(Infeasible::TooFewArms { needed, eligible: chosen })),
            OnInfeasible::Fill => {
                let missing = vec![Missing { of: Limit::K, needed, chosen }];
                Ok(Selection { missing, ..Selection::in_order(best, scores) })
            }
        }
    }

    fn needs(&self) -> Needs {
        Needs::Best(self.k)
    }

    fn guess_floors(&self, sample: &Scores<'_>, share: f64) -> Result<Option<Vec<f64>>, Error> {
        let raised = Self { k: raised(self.k, share), on_infeasible: OnInfeasible::Fill, ..*self };
        Ok(raised.argmax(sample)?.floors)
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        let mut rows: Vec<usize> = self.best(part)?.into_iter().map(|found| part.pick(found.place).row).collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
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
