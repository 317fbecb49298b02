//! The k best arms.
//!
//! The decision to know: one pass over the scores with a buffer of 2k places; once the buffer has been cut to its
//! best k, a score below the worst of them costs a single comparison.

use super::{Infeasible, Missing, Needs, OnInfeasible, Oracle, Pick, Scores, Selection};
use crate::{Error, error::check};
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
    fn best(&self, scores: &Scores<'_>) -> Result<Vec<Pick>, Error> {
        check("k", self.k as f64, self.k > 0, "at least 1")?;
        let floor = if self.at_most { 0.0 } else { f64::NEG_INFINITY };
        let capacity = self.k.saturating_mul(2).min(scores.values().len());
        let mut best: Vec<(f64, Pick)> = Vec::with_capacity(capacity);
        let mut worst: Option<(f64, Pick)> = None;
        let mut bar = floor;
        for (place, &score) in scores.values().iter().enumerate() {
            // False for a NaN, which therefore goes on to its error.
            if score < bar || score <= floor {
                continue;
            }
            let arm = scores.pick(place);
            if !score.is_finite() {
                return Err(scores.not_finite(arm));
            }
            let found = (score + 0.0, arm);
            if worst.is_some_and(|worst| rank(scores, &found, &worst).is_gt()) {
                continue;
            }
            best.push(found);
            if best.len() == capacity && capacity > self.k {
                self.cut(&mut best, scores);
                worst = best.last().copied();
                bar = worst.map_or(floor, |(score, _)| score);
            }
        }
        self.cut(&mut best, scores);
        Ok(best.into_iter().map(|(_, arm)| arm).collect())
    }

    /// Keeps the best k, the worst of them last.
    fn cut(&self, best: &mut Vec<(f64, Pick)>, scores: &Scores<'_>) {
        if best.len() > self.k {
            best.select_nth_unstable_by(self.k - 1, |a, b| rank(scores, a, b));
            best.truncate(self.k);
        }
    }
}

/// As [`Scores::rank`], of arms with their scores at hand.
fn rank(scores: &Scores<'_>, a: &(f64, Pick), b: &(f64, Pick)) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| scores.tie_order(a.1, b.1))
}

impl Oracle for TopK {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let best = self.best(scores)?;
        let (needed, chosen) = (if self.at_most { 0 } else { self.k }, best.len());
        if chosen >= needed {
            return Ok(Selection::optimal(best, scores));
        }
        match self.on_infeasible {
            OnInfeasible::Error => Err(Error::Infeasible(Infeasible::TooFewArms { needed, eligible: chosen })),
            OnInfeasible::Fill => {
                let missing = vec![Missing { of: "k".to_owned(), needed, chosen }];
                Ok(Selection { missing, ..Selection::optimal(best, scores) })
            }
        }
    }

    fn needs(&self) -> Needs<'_> {
        Needs::Best(self.k)
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        let mut rows: Vec<usize> = self.best(part)?.into_iter().map(|arm| arm.row).collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}
