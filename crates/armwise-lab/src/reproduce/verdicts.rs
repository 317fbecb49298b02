//! What becomes of each claim of the paper, by rules that are stated beside the outcome.
//!
//! The decision to know: a comparison holds where the 95% confidence interval of the paired difference lies on the
//! claimed side, does not hold where it lies on the other side, and is not decided where it covers both. A claim
//! about several comparisons holds if all do and fails if any one fails. Only `fresh` numbers are used.

use super::compare::{BASELINES, PROPOSED};
use crate::results::{Clustered, Comparison, Interval, Outcome, Paired, Promotions, Protocol, Table, Touched, Verdict};

/// What is left of the existing algorithms when greedy, of which the paper says other things, is set aside.
const EXISTING: [&str; 4] = ["comblin-ucb", "comblin-ts", "c2ucb", "round-wise-ts"];

pub(super) fn of(clustered: Option<&Clustered>, promotions: Option<&Promotions>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    if let Some(clustered) = clustered {
        verdicts.extend(one_cluster(&clustered.touched[0]));
        verdicts.push(outperform_when_orthogonal(clustered));
        verdicts.push(gap_grows(clustered));
        verdicts.push(greedy_does_well(clustered));
        verdicts.push(batched(&clustered.touched));
        verdicts.push(regret_bounds(clustered));
    }
    if let Some(promotions) = promotions {
        verdicts.push(orthogonal(promotions));
        for table in &promotions.tables {
            verdicts.push(table_claim(promotions, table));
            verdicts.push(ten_percent(promotions, table));
            verdicts.push(greedy_does_badly(promotions, table));
            verdicts.push(early_rounds(promotions, table));
        }
    }
    verdicts
}

fn verdict(claim: &str, place: &str, rule: &str, outcome: Outcome, numbers: String) -> Verdict {
    Verdict { claim: claim.to_owned(), place: place.to_owned(), rule: rule.to_owned(), outcome, numbers }
}

fn generated(promotions: &Promotions, numbers: &str) -> String {
    if promotions.data.generated {
        format!("On generated ratings, not MovieLens: {numbers}")
    } else {
        format!("On {}: {numbers}", promotions.data.label)
    }
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
    vec![
        verdict(
            "On clusters C2UCB and round-wise TS choose all arms of a round from one cluster.",
            "section IV-A and V",
            "In round 1 each touches exactly 1 cluster in every trial, equal scores going to the smaller id.",
            holds(one(c2ucb) && one(round_wise)),
            format!(
                "Clusters touched in round 1: C2UCB {c2ucb:.2}, round-wise TS {round_wise:.2} of {}.",
                study.clusters
            ),
        ),
        verdict(
            "That is the algorithms' doing, whatever order equal arms are taken in.",
            "section IV-A (implied)",
            "C2UCB touches at most half of the clusters in round 1 also when equal scores are ordered at random.",
            holds(random <= half),
            format!(
                "With exact clusters every arm has the same score in round 1, and C2UCB with ties at random touches {random:.2} of {} clusters.",
                study.clusters
            ),
        ),
        verdict(
            "Arm-wise randomization chooses from diverse clusters.",
            "section V",
            "PC2UCB and arm-wise TS touch more than half of the clusters in round 1 on average.",
            holds(pc2ucb > half && arm_wise > half),
            format!(
                "Clusters touched in round 1: PC2UCB {pc2ucb:.2}, arm-wise TS {arm_wise:.2} of {}.",
                study.clusters
            ),
        ),
    ]
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
        "At the largest angle all eight paired differences of cumulative reward have a 95% interval above 0.",
        all(found.iter().map(|pair| above(&pair.difference, 0.0))),
        format!("At {}, {}.", last.map_or("", |angle| &angle.label), numbers.join("; ")),
    )
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
        "The 95% interval of the paired difference at the largest angle lies above that at the smallest.",
        all(outcomes),
        format!("{}.", numbers.join("; ")),
    )
}

fn greedy_does_well(clustered: &Clustered) -> Verdict {
    let last = clustered.angles.last();
    let found = last.and_then(|angle| pair(&fresh(&angle.comparisons)?.paired, "greedy", "c2ucb").cloned());
    verdict(
        "Greedy performs well on the artificial clusters, because its first round is spread over them.",
        "section VII-C",
        "At the largest angle the 95% interval of greedy - C2UCB lies above 0.",
        found.as_ref().map_or(Outcome::NotDecided, |pair| above(&pair.difference, 0.0)),
        found.map_or_else(String::new, |pair| format!("greedy - c2ucb: {}.", interval(&pair.difference, 1))),
    )
}

fn batched(studies: &[Touched]) -> Verdict {
    let study = studies.iter().find(|study| study.batch > 1);
    let last = |name: &str| {
        let curves = study.map_or(&[][..], |study| &study.average_reward);
        let curve = curves.iter().find(|curve| curve.algorithm == name && curve.ties == "by-id");
        curve.and_then(|curve| curve.points.last().copied())
    };
    let mut outcomes = Vec::new();
    let mut numbers = Vec::new();
    for (a, b) in [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")] {
        let (Some(x), Some(y)) = (last(a), last(b)) else { continue };
        // Standard errors are added as if unpaired, which is wider than it need be.
        let (value, half) = (x.mean - y.mean, 2.0 * x.se.hypot(y.se));
        let difference = Interval { value, low: value - half, high: value + half };
        outcomes.push(above(&difference, 0.0));
        numbers.push(format!("{a} - {b}: {} per round", interval(&difference, 2)));
    }
    verdict(
        "With batched feedback, too, arm-wise randomization earns more.",
        "section IV-B, second application",
        "Average reward per round at the end: the difference exceeds twice its standard error.",
        all(outcomes),
        format!("{}: {}.", study.map_or("", |study| &study.label), numbers.join("; ")),
    )
}

fn regret_bounds(clustered: &Clustered) -> Verdict {
    let study = &clustered.regret;
    let under = study.lines.iter().all(|line| line.worst.iter().zip(&line.bound).all(|(worst, bound)| worst <= bound));
    let numbers: Vec<String> = study
        .lines
        .iter()
        .filter_map(|line| {
            let (worst, bound) = (line.worst.last()?, line.bound.last()?);
            Some(format!("{} ({}): worst {worst:.0} of at most {bound:.0}", line.algorithm, line.theorem))
        })
        .collect();
    verdict(
        "The regret is bounded as Theorems 1 to 4 say.",
        "section VI",
        "With the theory's schedules every trial is under the bound, with the proofs' constants, at every point.",
        if under { Outcome::Holds } else { Outcome::DoesNotHold },
        format!(
            "{} trials of {} rounds: {}. No regret can exceed the trivial 2kT = {:.0}.",
            study.trials,
            study.t.last().unwrap_or(&0),
            numbers.join("; "),
            study.trivial.last().unwrap_or(&0.0)
        ),
    )
}

fn orthogonal(promotions: &Promotions) -> Verdict {
    let cosines = &promotions.cosines;
    verdict(
        "Many feature vectors of users are almost orthogonal.",
        "section VII-C, Figure 3",
        "At least half of the pairs have |cosine| < 0.1.",
        if cosines.near_orthogonal >= 0.5 { Outcome::Holds } else { Outcome::DoesNotHold },
        generated(
            promotions,
            &format!(
                "{:.1}% of {} pairs; of random directions in as many dimensions it would be {:.1}%.",
                100.0 * cosines.near_orthogonal,
                cosines.pairs,
                100.0 * cosines.near_orthogonal_random
            ),
        ),
    )
}

/// Collects the outcome of pairs at every k of a table.
fn at_every_k(table: &Table, bar: f64, pairs: &[(&str, &str)]) -> (Outcome, String) {
    let mut outcomes = Vec::new();
    let mut numbers = Vec::new();
    for row in &table.rows {
        let Some(comparison) = fresh(&row.comparisons) else { continue };
        for (a, b) in pairs {
            let Some(found) = pair(&comparison.paired, a, b) else { continue };
            outcomes.push(above(&found.ratio, bar));
            numbers.push(format!("k = {}: {a} / {b} {}", row.k, interval(&found.ratio, 3)));
        }
    }
    (all(outcomes), numbers.join("; "))
}

fn table_claim(promotions: &Promotions, table: &Table) -> Verdict {
    let (outcome, numbers) = at_every_k(table, 1.0, &[("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")]);
    verdict(
        &format!("Arm-wise randomization earns more than the same algorithm without it ({} reading).", table.reading),
        "Table I",
        "At every k the 95% intervals of PC2UCB / C2UCB and arm-wise / round-wise lie above 1.",
        outcome,
        generated(promotions, &format!("{numbers}.")),
    )
}

fn ten_percent(promotions: &Promotions, table: &Table) -> Verdict {
    let mut outcomes = Vec::new();
    let mut numbers = Vec::new();
    for row in &table.rows {
        let Some(comparison) = fresh(&row.comparisons) else { continue };
        let best = |names: &[&'static str]| {
            let mean = |name: &str| {
                let tuned = comparison.algorithms.iter().find(|tuned| tuned.algorithm == name);
                tuned.map_or(f64::MIN, |tuned| tuned.cumulative_reward.mean)
            };
            names.iter().copied().max_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or_default()
        };
        let Some(found) = pair(&comparison.paired, best(&PROPOSED), best(&BASELINES)) else { continue };
        outcomes.push(above(&found.ratio, 1.05));
        numbers.push(format!("k = {}: {} / {} {}", row.k, found.a, found.b, interval(&found.ratio, 3)));
    }
    verdict(
        &format!("The proposed algorithms earn almost 10% more than the best baseline ({} reading).", table.reading),
        "section VII-C, Table I",
        "At every k the 95% interval of best proposed / best baseline lies above 1.05.",
        all(outcomes),
        generated(promotions, &format!("{}.", numbers.join("; "))),
    )
}

fn greedy_does_badly(promotions: &Promotions, table: &Table) -> Verdict {
    let (outcome, numbers) = at_every_k(table, 1.0, &[("greedy", "c2ucb")]);
    let turned = match outcome {
        Outcome::Holds => Outcome::DoesNotHold,
        Outcome::NotDecided => Outcome::NotDecided,
        Outcome::DoesNotHold => {
            let below = |row: &crate::results::TableRow| {
                let found = fresh(&row.comparisons).and_then(|c| pair(&c.paired, "greedy", "c2ucb"));
                found.is_some_and(|found| found.ratio.high < 1.0)
            };
            if table.rows.iter().all(below) { Outcome::Holds } else { Outcome::NotDecided }
        }
    };
    verdict(
        &format!("Greedy performs poorly when sending promotions ({} reading).", table.reading),
        "section VII-C, Table I",
        "At every k the 95% interval of greedy / C2UCB lies below 1.",
        turned,
        generated(promotions, &format!("{numbers}.")),
    )
}

fn early_rounds(promotions: &Promotions, table: &Table) -> Verdict {
    let mut outcomes = Vec::new();
    let mut numbers = Vec::new();
    let mut rounds = 0;
    for study in promotions.average_reward.iter().filter(|study| study.reading == table.reading) {
        rounds = study.early_rounds;
        for (a, b) in [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")] {
            let Some(found) = pair(&study.early, a, b) else { continue };
            outcomes.push(above(&found.ratio, 1.0));
            numbers.push(format!("k = {}: {a} / {b} {}", study.k, interval(&found.ratio, 3)));
        }
    }
    verdict(
        &format!("The proposed algorithms outperform in early rounds ({} reading).", table.reading),
        "section VII-C, Figure 4",
        &format!("At every k the 95% intervals of the ratios over the first {rounds} rounds lie above 1."),
        all(outcomes),
        generated(promotions, &format!("{}.", numbers.join("; "))),
    )
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
