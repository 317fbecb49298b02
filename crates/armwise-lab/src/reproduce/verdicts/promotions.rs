//! The claims about sending promotions.
//!
//! On generated ratings every verdict is marked so, since it says nothing about the paper's
//! numbers on MovieLens.

use super::{above, all, below, fresh, interval, pair, verdict};
use crate::{
    reproduce::compare::{BASELINES, PROPOSED},
    results::{Basis, Interval, Outcome, Promotions, Table, Verdict},
};

pub(super) fn of(promotions: &Promotions) -> Vec<Verdict> {
    let mut verdicts = vec![orthogonal(promotions)];
    for table in &promotions.tables {
        verdicts.push(table_claim(promotions, table));
        verdicts.push(ten_percent(promotions, table));
        verdicts.push(greedy_does_badly(promotions, table));
        verdicts.push(early_rounds(promotions, table));
    }
    if promotions.data.generated {
        verdicts.iter_mut().for_each(|verdict| verdict.basis = Basis::Generated);
    }
    verdicts
}

fn generated(promotions: &Promotions, numbers: &str) -> String {
    let data = &promotions.data;
    if data.generated {
        format!("On generated ratings, not MovieLens, features {}: {numbers}", data.features)
    } else {
        format!("On {}, features {}: {numbers}", data.label, data.features)
    }
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
fn at_every_k(table: &Table, decide: impl Fn(&Interval) -> Outcome, pairs: &[(&str, &str)]) -> (Outcome, String) {
    let mut outcomes = Vec::new();
    let mut numbers = Vec::new();
    for row in &table.rows {
        let Some(comparison) = fresh(&row.comparisons) else { continue };
        for (a, b) in pairs {
            let Some(found) = pair(&comparison.paired, a, b) else { continue };
            outcomes.push(decide(&found.ratio));
            numbers.push(format!("k = {}: {a} / {b} {}", row.k, interval(&found.ratio, 3)));
        }
    }
    (all(outcomes), numbers.join("; "))
}

fn table_claim(promotions: &Promotions, table: &Table) -> Verdict {
    let pairs = [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")];
    let (outcome, numbers) = at_every_k(table, |ratio| above(ratio, 1.0), &pairs);
    verdict(
        &format!("Arm-wise randomization earns more than the same algorithm without it ({} reading).", table.reading),
        "Table I",
        "At every k, on fresh trials with ties by-id, the 95% intervals of PC2UCB / C2UCB and arm-wise / round-wise lie above 1.",
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
        "At every k, on fresh trials with ties by-id, the 95% interval of best proposed / best baseline lies above 1.05.",
        all(outcomes),
        generated(promotions, &format!("{}.", numbers.join("; "))),
    )
}

fn greedy_does_badly(promotions: &Promotions, table: &Table) -> Verdict {
    let (outcome, numbers) = at_every_k(table, |ratio| below(ratio, 1.0), &[("greedy", "c2ucb")]);
    verdict(
        &format!("Greedy performs poorly when sending promotions ({} reading).", table.reading),
        "section VII-C, Table I",
        "At every k, on fresh trials with ties by-id, the 95% interval of greedy / C2UCB lies below 1.",
        outcome,
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
        &format!(
            "At every k, on fresh trials with ties by-id, the 95% intervals of the ratios over the first {rounds} rounds lie above 1."
        ),
        all(outcomes),
        generated(promotions, &format!("{}.", numbers.join("; "))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Comparison, Paired, Protocol, TableRow};

    /// A table whose rows have these intervals of greedy / C2UCB.
    fn table(ratios: &[(f64, f64)]) -> Table {
        let row = |(place, &(low, high)): (usize, &(f64, f64))| {
            let ratio = Interval { value: 0.5 * (low + high), low, high };
            let paired = vec![Paired { a: "greedy".to_owned(), b: "c2ucb".to_owned(), difference: ratio, ratio }];
            let oracle = crate::stats::Units::new(&[1.0], 1).mean();
            TableRow {
                k: 50 * (place + 1),
                n: 5000,
                published: std::collections::BTreeMap::new(),
                comparisons: vec![Comparison { protocol: Protocol::Fresh, algorithms: Vec::new(), oracle, paired }],
                ratios: Vec::new(),
            }
        };
        Table { reading: "independent".to_owned(), rows: ratios.iter().enumerate().map(row).collect() }
    }

    #[test]
    fn a_claim_from_below_fails_at_any_k_and_holds_only_at_all() {
        let of =
            |ratios: &[(f64, f64)]| at_every_k(&table(ratios), |ratio| below(ratio, 1.0), &[("greedy", "c2ucb")]).0;
        assert_eq!(of(&[(0.8, 0.9), (0.7, 0.95)]), Outcome::Holds);
        // Above at one k is enough, whatever the others are.
        assert_eq!(of(&[(0.8, 0.9), (1.1, 1.2)]), Outcome::DoesNotHold);
        assert_eq!(of(&[(0.9, 1.1), (1.1, 1.2)]), Outcome::DoesNotHold);
        assert_eq!(of(&[(0.8, 0.9), (0.9, 1.1)]), Outcome::NotDecided);
    }
}
