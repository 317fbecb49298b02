//! The claims about the artificial clusters and the theory.
//!
//! Figure 2's claims are decided with tuned parameters; those about clusters touched and batched
//! feedback with figure 5's fixed ones. Both have arms in the order by-cluster and ties by-id, and say so.

use super::{above, all, fresh, interval, pair, verdict};
use crate::{
    reproduce::compare::PROPOSED,
    results::{Basis, Clustered, Outcome, Paired, RegretStudy, Touched, Verdict},
};

/// The parameters of figure 5's studies.
const FIXED: &str = "fixed parameters lambda = 1, alpha = v = 0.1, c = 1";

/// The existing algorithms without greedy, about which the paper makes separate claims.
const EXISTING: [&str; 4] = ["comblin-ucb", "comblin-ts", "c2ucb", "round-wise-ts"];

pub(super) fn of(clustered: &Clustered) -> Vec<Verdict> {
    let mut verdicts = one_cluster(&clustered.touched[0]);
    verdicts.push(outperform_when_orthogonal(clustered));
    verdicts.push(gap_grows(clustered));
    verdicts.push(greedy_does_well(clustered));
    verdicts.push(batched(&clustered.touched));
    verdicts.push(regret_bounds(&clustered.regret));
    verdicts
}

fn one_cluster(study: &Touched) -> Vec<Verdict> {
    let first = |name: &str, ties: &str| {
        let curve = study.clusters_per_round.iter().find(|curve| curve.algorithm == name && curve.ties == ties);
        curve.map_or(f64::NAN, |curve| curve.points[0].mean)
    };
    let one = |value: f64| (value - 1.0).abs() < 1e-12;
    let (c2ucb, round_wise) = (first("c2ucb", "by-id"), first("round-wise-ts", "by-id"));
    let holds = |ok: bool| if ok { Outcome::Holds } else { Outcome::DoesNotHold };
    let random = first("c2ucb", "random");
    let (pc2ucb, arm_wise) = (first("pc2ucb", "by-id"), first("arm-wise-ts", "by-id"));
    let half = study.clusters as f64 / 2.0;
    let mut verdicts = vec![
        verdict(
            "On clusters C2UCB and round-wise TS choose all arms of a round from one cluster.",
            "section IV-A and V",
            "With arms in the order by-cluster and ties by-id, each touches exactly 1 cluster in round 1 of every trial.",
            holds(one(c2ucb) && one(round_wise)),
            format!(
                "Clusters touched in round 1: C2UCB {c2ucb:.2}, round-wise TS {round_wise:.2} of {}.",
                study.clusters
            ),
        ),
        verdict(
            "That is the algorithms' doing, whatever order equal arms are taken in.",
            "section IV-A (implied)",
            "With arms in the order by-cluster and ties at random, C2UCB touches at most half of the clusters in round 1 on average.",
            holds(random <= half),
            format!(
                "With exact clusters every arm has the same score in round 1, and C2UCB with ties at random touches {random:.2} of {} clusters.",
                study.clusters
            ),
        ),
        verdict(
            "Arm-wise randomization chooses from diverse clusters.",
            "section V",
            "With arms in the order by-cluster and ties by-id, PC2UCB and arm-wise TS touch more than half of the clusters in round 1 on average.",
            holds(pc2ucb > half && arm_wise > half),
            format!(
                "Clusters touched in round 1: PC2UCB {pc2ucb:.2}, arm-wise TS {arm_wise:.2} of {}.",
                study.clusters
            ),
        ),
    ];
    // The paper does not say it of random ties.
    verdicts[1].basis = Basis::Implied;
    verdicts
}

fn outperform_when_orthogonal(clustered: &Clustered) -> Verdict {
    let last = clustered.angles.last();
    let pairs = last.and_then(|angle| fresh(&angle.comparisons)).map_or(&[][..], |comparison| &comparison.paired);
    let all_pairs = || PROPOSED.into_iter().flat_map(|a| EXISTING.map(|b| (a, b)));
    let found: Vec<&Paired> = all_pairs().filter_map(|(a, b)| pair(pairs, a, b)).collect();
    let numbers: Vec<String> =
        found.iter().map(|pair| format!("{} - {}: {}", pair.a, pair.b, interval(&pair.difference, 1))).collect();
    verdict(
        "Where clusters are almost orthogonal the proposed algorithms outperform CombLinUCB, CombLinTS, C2UCB and round-wise TS.",
        "section VII-C, Figure 2",
        "At the largest angle, with tuned parameters, arms in the order by-cluster and ties by-id, all eight paired differences of cumulative reward have a 95% interval above 0.",
        all(found.iter().map(|pair| above(&pair.difference, 0.0))),
        format!(
            "At {}, arms {}, ties {}: {}.{}",
            last.map_or("", |angle| &angle.label),
            clustered.order,
            clustered.ties,
            numbers.join("; "),
            clustered.touched.first().map_or_else(String::new, |study| random_ties(study, &fixed(study)))
        ),
    )
}

/// The circumstances of a study that are not those of figure 2.
fn fixed(study: &Touched) -> String {
    format!(" ({FIXED}; {})", study.label)
}

/// The advantage over C2UCB that remains if C2UCB orders equal arms at random, in words; empty if not measured.
fn random_ties(study: &Touched, place: &str) -> String {
    pair(&study.paired, "pc2ucb", "c2ucb, ties random").map_or_else(String::new, |found| {
        let difference = interval(&found.difference, 1);
        format!(" Against C2UCB with ties at random{place}, pc2ucb - c2ucb: {difference}.")
    })
}

fn gap_grows(clustered: &Clustered) -> Verdict {
    let ends = clustered.angles.first().zip(clustered.angles.last());
    let mut outcomes = Vec::new();
    let mut numbers = Vec::new();
    for (a, b) in [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")] {
        let Some((first, last)) = ends else { continue };
        let at = |angle: &crate::results::Angle| Some(pair(&fresh(&angle.comparisons)?.paired, a, b)?.difference);
        let (Some(small), Some(large)) = (at(first), at(last)) else { continue };
        outcomes.push(if large.low > small.high {
            Outcome::Holds
        } else if large.high < small.low {
            Outcome::DoesNotHold
        } else {
            Outcome::NotDecided
        });
        let (at, to) = (&first.label, &last.label);
        numbers.push(format!("{a} - {b}: {} at {at}, {} at {to}", interval(&small, 1), interval(&large, 1)));
    }
    verdict(
        "The inner product of the features decides: the more orthogonal the clusters, the larger the advantage.",
        "section VII-C, Figure 2",
        "With tuned parameters, arms in the order by-cluster and ties by-id: for PC2UCB - C2UCB and for arm-wise - round-wise, the 95% interval of the paired difference at the largest angle lies above that at the smallest.",
        all(outcomes),
        format!("Arms {}, ties {}: {}.", clustered.order, clustered.ties, numbers.join("; ")),
    )
}

fn greedy_does_well(clustered: &Clustered) -> Verdict {
    let last = clustered.angles.last();
    let found = last.and_then(|angle| pair(&fresh(&angle.comparisons)?.paired, "greedy", "c2ucb").cloned());
    verdict(
        "Greedy performs well on the artificial clusters, because its first round is spread over them.",
        "section VII-C",
        "At the largest angle, with tuned parameters, arms in the order by-cluster and ties by-id, the 95% interval of greedy - C2UCB lies above 0.",
        found.as_ref().map_or(Outcome::NotDecided, |pair| above(&pair.difference, 0.0)),
        found.zip(last).map_or_else(String::new, |(pair, angle)| {
            let (difference, Clustered { order, ties, .. }) = (interval(&pair.difference, 1), clustered);
            format!("At {}, arms {order}, ties {ties}: greedy - c2ucb: {difference}.", angle.label)
        }),
    )
}

fn batched(studies: &[Touched]) -> Verdict {
    let study = studies.iter().find(|study| study.batch > 1);
    let pairs = study.map_or(&[][..], |study| &study.paired);
    let wanted = [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")];
    let found: Vec<&Paired> = wanted.into_iter().filter_map(|(a, b)| pair(pairs, a, b)).collect();
    let numbers: Vec<String> =
        found.iter().map(|pair| format!("{} - {}: {}", pair.a, pair.b, interval(&pair.difference, 1))).collect();
    verdict(
        "With batched feedback, too, arm-wise randomization earns more.",
        "section IV-B, second application",
        "With fixed parameters, arms in the order by-cluster and ties by-id, both paired differences of cumulative reward have a 95% interval above 0.",
        all(found.iter().map(|pair| above(&pair.difference, 0.0))),
        format!(
            "{}, arms by-cluster, ties by-id, {FIXED}: {}.{}",
            study.map_or("", |study| &study.label),
            numbers.join("; "),
            study.map_or_else(String::new, |study| random_ties(study, ""))
        ),
    )
}

fn regret_bounds(study: &RegretStudy) -> Verdict {
    let mut outcomes = Vec::new();
    let mut numbers = Vec::new();
    for line in &study.lines {
        let under = line.worst.iter().zip(&line.bound).all(|(worst, bound)| worst <= bound);
        let vacuous = line.vacuous(&study.trivial);
        outcomes.push(match (under, vacuous) {
            (false, _) => Outcome::DoesNotHold,
            (true, true) => Outcome::NotDecided,
            (true, false) => Outcome::Holds,
        });
        let (Some(worst), Some(bound)) = (line.worst.last(), line.bound.last()) else { continue };
        let empty = if vacuous { ", vacuous at this size" } else { "" };
        numbers.push(format!("{} ({}): worst {worst:.0} of at most {bound:.0}{empty}", line.algorithm, line.theorem));
    }
    verdict(
        "The regret is bounded as Theorems 1 to 4 say.",
        "section VI",
        "With the theory's schedules, for each theorem: every trial is under the bound, with the proofs' constants, at every point; a bound that is at no point below the trivial regret decides nothing.",
        all(outcomes),
        format!(
            "{} trials of {} rounds: {}. No regret can exceed the trivial 2kT = {:.0}.",
            study.trials,
            study.t.last().unwrap_or(&0),
            numbers.join("; "),
            study.trivial.last().unwrap_or(&0.0)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::RegretLine;

    #[test]
    fn a_vacuous_bound_decides_nothing() {
        let line = |bound: [f64; 2], worst: [f64; 2]| RegretLine {
            algorithm: "c2ucb".to_owned(),
            theorem: "Theorem 4".to_owned(),
            measured: Vec::new(),
            worst: worst.to_vec(),
            bound: bound.to_vec(),
        };
        let of = |lines: Vec<RegretLine>| {
            let (t, trivial) = (vec![1, 10], vec![200.0, 2000.0]);
            let study =
                RegretStudy { angle: 1.0, lambda: 1.0, delta: 0.1, r: 1.0, s: 1.0, trials: 2, t, trivial, lines };
            regret_bounds(&study)
        };
        let (tight, vacuous) = (line([500.0, 900.0], [10.0, 50.0]), line([500.0, 2000.0], [10.0, 50.0]));
        let broken = line([500.0, 900.0], [10.0, 901.0]);
        assert_eq!(of(vec![tight.clone()]).outcome, Outcome::Holds);
        let mixed = of(vec![tight.clone(), vacuous.clone()]);
        assert_eq!(mixed.outcome, Outcome::NotDecided);
        assert_eq!(mixed.numbers.matches("vacuous at this size").count(), 1);
        assert_eq!(of(vec![tight, vacuous, broken]).outcome, Outcome::DoesNotHold);
    }
}
