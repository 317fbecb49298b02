//! What becomes of each claim of the paper, by rules that are stated beside the outcome.
//!
//! A comparison holds where the 95% confidence interval of the paired difference lies on the
//! claimed side, does not hold where it lies on the other side, and is not decided where it covers both. A claim
//! about several comparisons holds if all do and fails if any one fails. Only `fresh` numbers are used.

mod clustered;
mod promotions;
mod two_sets;

use crate::results::{Basis, Clustered, Comparison, Interval, Outcome, Paired, Promotions, Protocol, TwoSets, Verdict};

pub(super) fn of(
    clustered: Option<&Clustered>,
    promotions: Option<&Promotions>,
    two_sets: Option<&TwoSets>,
) -> Vec<Verdict> {
    let mut verdicts = clustered.map_or_else(Vec::new, clustered::of);
    verdicts.extend(two_sets.map(two_sets::of));
    verdicts.extend(promotions.into_iter().flat_map(promotions::of));
    verdicts
}

fn verdict(claim: &str, place: &str, rule: &str, outcome: Outcome, numbers: String) -> Verdict {
    let (claim, place, rule) = (claim.to_owned(), place.to_owned(), rule.to_owned());
    Verdict { claim, place, rule, outcome, basis: Basis::Paper, numbers }
}

/// Where an interval lies against a bar.
fn above(interval: &Interval, bar: f64) -> Outcome {
    if interval.low > bar {
        Outcome::Holds
    } else if interval.high < bar {
        Outcome::DoesNotHold
    } else {
        Outcome::NotDecided
    }
}

/// The same for a claim that something lies below a bar.
fn below(interval: &Interval, bar: f64) -> Outcome {
    match above(interval, bar) {
        Outcome::Holds => Outcome::DoesNotHold,
        Outcome::DoesNotHold => Outcome::Holds,
        Outcome::NotDecided => Outcome::NotDecided,
    }
}

/// All must hold; one that fails decides.
fn all(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Holds => 0,
        Outcome::NotDecided => 1,
        Outcome::DoesNotHold => 2,
    };
    outcomes.into_iter().max_by_key(rank).unwrap_or(Outcome::NotDecided)
}

fn fresh(comparisons: &[Comparison]) -> Option<&Comparison> {
    comparisons.iter().find(|comparison| comparison.protocol == Protocol::Fresh)
}

fn pair<'p>(pairs: &'p [Paired], a: &str, b: &str) -> Option<&'p Paired> {
    pairs.iter().find(|pair| pair.a == a && pair.b == b)
}

fn interval(interval: &Interval, digits: usize) -> String {
    format!("{:.digits$} [{:.digits$}, {:.digits$}]", interval.value, interval.low, interval.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_decide_and_one_failure_is_enough() {
        let at = |low, high| Interval { value: 0.5 * (low + high), low, high };
        assert_eq!(above(&at(0.1, 0.3), 0.0), Outcome::Holds);
        assert_eq!(above(&at(-0.3, -0.1), 0.0), Outcome::DoesNotHold);
        assert_eq!(above(&at(-0.1, 0.1), 0.0), Outcome::NotDecided);
        assert_eq!(all([Outcome::Holds, Outcome::NotDecided]), Outcome::NotDecided);
        assert_eq!(all([Outcome::DoesNotHold, Outcome::Holds, Outcome::NotDecided]), Outcome::DoesNotHold);
        assert_eq!(all([]), Outcome::NotDecided);
    }
}
