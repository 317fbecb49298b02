//! The claim of Theorem 1 about every set of super arms.
//!
//! It is decided by arithmetic, not by the simulation: one problem on which the bound is exceeded is enough, and it lies at a T
//! that nobody can play.

use super::verdict;
use crate::results::{Outcome, TwoSets, Verdict};

/// Where the proof breaks, in the words of docs/paper-map.md.
const STEP: &str = "The step that fails is Lemma 8 where the proof of Theorem 1 uses it for N independent draws: the estimates of the arms of a super arm may all be off in the same direction, by beta times the length of the sum of their features, while independent draws add up to beta times the square root of the sum of squared lengths, up to sqrt(k) times less.";

pub(super) fn of(found: &TwoSets) -> Verdict {
    let refutation = &found.refutation;
    let outcome = if refutation.holds() { Outcome::DoesNotHold } else { Outcome::NotDecided };
    let share = |name: &str, scope: &str| {
        let panel = found.panels.first()?;
        let line = panel.lines.iter().find(|line| line.algorithm == name && line.scope == scope)?;
        let (k, share) = (panel.k.last()?, line.share.last()?);
        Some(format!("{name} in {:.0}% of {} runs at k = {k}", 100.0 * share.value, found.trials))
    };
    let shares: Vec<String> = [("arm-wise-ts", ""), ("round-wise-ts", ""), ("pc2ucb", "")]
        .into_iter()
        .filter_map(|(a, b)| share(a, b))
        .collect();
    verdict(
        "The regret of arm-wise Thompson sampling is bounded as Theorem 1 says, for every S_t.",
        "Theorem 1",
        "Does not hold if on some problem within the assumptions the regret exceeds the bound, with the proof's constants, with a probability above delta. On two sets of k arms, the worse one played first, lambda = k: the regret of never trying the other, and the exact law of the sums.",
        outcome,
        format!(
            "With k = lambda = {}, N = {}, T = {:.0e}, delta = {}, the better set is never tried with a probability of at least {:.3}; the regret is then {:.2e}, the bound {:.2e}. {STEP} Played for {} rounds with lambda = k, the better set is ever tried by {}.",
            refutation.k,
            2 * refutation.k,
            refutation.rounds,
            refutation.delta,
            1.0 - refutation.tried,
            refutation.regret,
            refutation.bound,
            found.rounds,
            shares.join(", ")
        ),
    )
}
