//! Many arms: sums, and counted draws.

use crate::common::{draws, laws, learner, near};
use armwise::{Algorithm, Arms, Constraint, Learner, Method, Round, TopK};

/// A learner that has seen 20 rounds of 2,000 arms of 11 features on the sphere, and the arms.
pub(crate) fn usual(name: &str, n: usize) -> (Learner, Vec<f64>) {
    const D: usize = 11;
    let z = draws(7);
    let mut x: Vec<f64> = (0..(n * D) as u64).map(|i| z.normal(i)).collect();
    for row in x.chunks_mut(D) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
    }
    let mut learner = Learner::new(Algorithm::new(name, &[]).unwrap(), D, 1).unwrap();
    let few = Arms::new(&x, D).unwrap();
    for t in 1..=5 {
        let decision = learner.choose(Round::new(3, t), &few, &Constraint::top_k(100)).unwrap();
        let rewards = decision.rewards(|arm| arm.features[0] + 0.5 * arm.features[D - 1]);
        learner.learn(&decision, &rewards).unwrap();
    }
    (learner, x)
}

#[test]
fn two_thousand_arms_agree_with_counting() {
    for name in ["arm-wise-ts", "pc2ucb", "random"] {
        let (learner, x) = usual(name, 2_000);
        let arms = Arms::new(&x, 11).unwrap();
        let (round, k) = (Round::new(3, 6), 100);
        let found = learner.inclusion(round, &arms, &Constraint::top_k(k), None).unwrap();
        assert_eq!(found.method, Method::Exact, "{name}");
        near(found.probabilities.iter().sum(), k as f64, 1e-9 * k as f64, name);
        let replicates: usize = if name == "arm-wise-ts" { 50_000 } else { 20_000 };
        let mut counts = vec![0_usize; 2_000];
        for number in 0..replicates as u64 {
            let decision = learner.choose(Round::new(1_000 + number, 6), &arms, &Constraint::top_k(k)).unwrap();
            decision.arms.iter().for_each(|arm| counts[arm.id as usize] += 1);
        }
        // The largest of 2,000 deviations exceeds 4 standard errors in one of eight runs; 5 in one of 900.
        let (mut far, mut square) = (0, 0.0);
        for (pi, count) in found.probabilities.iter().zip(counts) {
            let expected = pi * replicates as f64;
            let error = (expected * (1.0 - pi)).sqrt().max(0.3);
            let z = (count as f64 - expected) / error;
            assert!(z.abs() < 5.0 || expected < 1.0 && count < 8, "{name}: pi = {pi}, {count} of {replicates}");
            far += usize::from(z.abs() > 4.0 && expected >= 10.0);
            square += if expected >= 10.0 { z * z - 1.0 } else { 0.0 };
        }
        assert!(far <= 2, "{name}: {far} beyond 4 standard errors");
        assert!(square.abs() < 5.0 * (2.0_f64 * 2_000.0).sqrt(), "{name}: chi^2 is off by {square}");
    }
}

/// The law gives the same probabilities later, from mean and width.
#[test]
fn the_law_of_the_threshold_gives_every_arm() {
    let (learner, x) = usual("arm-wise-ts", 2_000);
    let arms = Arms::new(&x, 11).unwrap();
    let found = learner.inclusion(Round::new(3, 6), &arms, &Constraint::top_k(100), None).unwrap();
    let text = serde_json::to_string(&found.laws[0]).unwrap();
    assert!(text.len() < 80_000, "{} bytes", text.len());
    let law: armwise::ThresholdLaw = serde_json::from_str(&text).unwrap();
    for (row, [mean, width]) in laws(&learner, &arms, 1).into_iter().enumerate().step_by(37) {
        let pi = law.probability(0, mean, width).unwrap();
        near(pi, found.probabilities[row], 1e-13, "from the law");
    }
}

/// As a log keeps it, it is some kilobytes and right to the stated accuracy, for slates and for tables, whatever the law of
/// the draws.
#[test]
fn a_kept_law_is_short_and_as_right_as_it_says() {
    for (policy, n, k) in [
        (r#"{"name": "arm-wise-ts"}"#, 2_000, 100),
        (r#"{"name": "arm-wise-ts"}"#, 100, 5),
        (r#"{"name": "arm-wise-ts"}"#, 8_000, 2_000),
        (r#"{"name": "arm-wise-ts", "noise": "estimated"}"#, 300, 30),
        (r#"{"name": "arm-wise-ts", "scope": {"best-of": 7}}"#, 300, 30),
    ] {
        let algorithm: Algorithm = serde_json::from_str(policy).unwrap();
        let (other, x) = usual("arm-wise-ts", n.max(200));
        let learner = Learner::with_model(algorithm, other.model().clone()).unwrap();
        let arms = Arms::new(&x[..n * 11], 11).unwrap();
        let found = learner.inclusion(Round::new(3, 6), &arms, &Constraint::top_k(k), None).unwrap();
        let text = serde_json::to_string(&found.laws[0].kept()).unwrap();
        // Few arms need more places and cannot be condensed. Rewards here have no noise, so estimated noise makes arms that
        // are narrow beside the distances between them: there the law is long.
        let most = if n > 300 { 12_000 } else { 24_000 };
        let short = text.len() < most;
        assert!(short || policy.contains("estimated"), "{policy}, {k} of {n}: {} bytes", text.len());
        let kept: armwise::ThresholdLaw = serde_json::from_str(&text).unwrap();
        let mut worst: f64 = 0.0;
        for (row, [mean, width]) in laws(&learner, &arms, 1).into_iter().enumerate() {
            let pi = kept.probability(0, mean, width).unwrap();
            worst = worst.max((pi - found.probabilities[row]).abs());
        }
        assert!(worst < armwise::ThresholdLaw::KEPT, "{policy}, {k} of {n}: off by {worst:e}");
    }
}

/// Many arms in the middle, so that sums over them are interpolated: against convolution of the others at many places of
/// the arm's own draw, by the trapezoidal rule where the chance is neither 0 nor 1.
#[test]
fn a_large_count_agrees_with_convolution() {
    let (n, k) = (4_000_usize, 1_000);
    let (learner, x) = usual("arm-wise-ts", n);
    let arms = Arms::new(&x, 11).unwrap();
    let found = learner.inclusion(Round::new(3, 6), &arms, &Constraint::top_k(k), None).unwrap();
    near(found.probabilities.iter().sum(), k as f64, 1e-9 * k as f64, "sum");
    let factor = learner.law(Round::new(3, 6), 0).unwrap().unwrap().factor;
    let all: Vec<[f64; 2]> = laws(&learner, &arms, 1).into_iter().map(|[mean, width]| [mean, factor * width]).collect();
    let upper = crate::common::upper;
    let mut middle: Vec<usize> = (0..n).collect();
    middle.sort_by(|&a, &b| (found.probabilities[a] - 0.4).abs().total_cmp(&(found.probabilities[b] - 0.4).abs()));
    for &i in &[middle[0], middle[n / 3]] {
        let [m, s] = all[i];
        let chance = |t: f64| {
            let q: Vec<f64> = (0..n).filter(|j| *j != i).map(|j| upper((t - all[j][0]) / all[j][1])).collect();
            let (mean, sd) = q.iter().fold((0.0, 0.0), |(a, b), q| (a + q, b + q * (1.0 - q)));
            let sd: f64 = f64::sqrt(sd);
            if (mean - k as f64).abs() > 9.0 * sd {
                return f64::from(u8::from(mean < k as f64));
            }
            let mut law = vec![0.0; k];
            law[0] = 1.0;
            for q in q {
                for count in (1..k).rev() {
                    law[count] = law[count] * (1.0 - q) + law[count - 1] * q;
                }
                law[0] *= 1.0 - q;
            }
            law.iter().sum::<f64>()
        };
        let step = 0.02;
        let sum: f64 = (-450..=450)
            .map(|z| f64::from(z) * step)
            .map(|z| libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI) * chance(m + s * z))
            .sum();
        near(found.probabilities[i], sum * step, 1e-9, "against convolution");
    }
}

/// Slates: the same as with the law, for every k, and left alone where it is not cheap.
#[test]
fn cheap_probabilities_are_those_of_the_law() {
    let (learner, x) = usual("arm-wise-ts", 100);
    let arms = Arms::new(&x, 11).unwrap();
    for k in [1, 2, 5, 20, 50] {
        let best = Constraint::top_k(k);
        let mut decision = learner.choose(Round::new(4, 6), &arms, &best).unwrap();
        let mut law = decision.clone();
        assert!(learner.add_cheap_probabilities(&mut decision, &arms, &best).unwrap(), "{k}");
        learner.add_probabilities(&mut law, &arms, &best, None).unwrap();
        assert_eq!(decision.method, Some(Method::Exact));
        for (cheap, law) in decision.arms.iter().zip(&law.arms) {
            near(cheap.probability.unwrap(), law.probability.unwrap(), 1e-9, "cheap");
        }
    }
    let many = Constraint::top_k(90);
    let mut decision = learner.choose(Round::new(4, 6), &arms, &many).unwrap();
    assert!(!learner.add_cheap_probabilities(&mut decision, &arms, &many).unwrap());
    assert_eq!((decision.method, decision.arms[0].probability), (None, None));
}

/// Sums over sets of many shapes: much narrower arms among wide ones, clusters, k near 1 and near N.
#[test]
fn probabilities_add_up_to_k() {
    for case in 0..12_u64 {
        let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.5)], 1);
        let u = draws(100 + case);
        // Many narrow arms take long: there the sets are smaller.
        let n = if case / 3 % 2 == 0 { [30, 300, 3_000] } else { [30, 100, 400] }[case as usize % 3];
        let row = |i: u64| {
            let (a, b) = (u.uniform(2 * i), u.uniform(2 * i + 1));
            match case / 3 {
                0 => [a, 0.2 + b],
                1 => [a, libm::pow(10.0, -4.0 * b)],
                2 => [(a * 4.0).floor() / 4.0, ((b * 3.0).floor() + 1.0) / 3.0],
                _ => [a, if i.is_multiple_of(10) { 1e-4 * b } else { b }],
            }
        };
        let x: Vec<f64> = (0..n).flat_map(row).collect();
        let arms = Arms::new(&x, 2).unwrap();
        for k in [1, 2, n as usize / 10, n as usize / 2, n as usize - 1] {
            let found = learner.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(k), None).unwrap();
            assert_eq!(found.method, Method::Exact, "case {case}, n = {n}, k = {k}");
            near(
                found.probabilities.iter().sum(),
                k as f64,
                1e-9 * k as f64,
                &format!("case {case}, n = {n}, k = {k}"),
            );
            assert!(found.probabilities.iter().all(|pi| (0.0..=1.0).contains(pi)));
        }
    }
}

/// At most k with scores above 0: an arm alone is chosen if it is positive; many are as with exactly k.
#[test]
fn at_most_k_takes_positive_scores_only() {
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", 1.0)], 1);
    let x = [0.3, 1.0, -0.2, 0.5, 0.1, 0.7, 0.0, 0.2];
    let arms = Arms::new(&x[..], 2).unwrap();
    let all = learner.inclusion(Round::new(1, 2), &arms, &TopK::at_most(4), None).unwrap();
    for (pi, [mean, width]) in all.probabilities.iter().zip(laws(&learner, &arms, 1)) {
        near(*pi, crate::common::upper(-mean / width), 1e-12, "positive");
    }
    let found = learner.inclusion(Round::new(1, 2), &arms, &TopK::at_most(2), None).unwrap();
    let replicates = 200_000;
    let mut counts = [0; 4];
    for number in 0..replicates {
        let decision = learner.choose(Round::new(number, 2), &arms, &TopK::at_most(2)).unwrap();
        decision.arms.iter().for_each(|arm| counts[arm.id as usize] += 1);
    }
    for (pi, count) in found.probabilities.iter().zip(counts) {
        let error = (pi * (1.0 - pi) / replicates as f64).sqrt();
        near(f64::from(count) / replicates as f64, *pi, 4.0 * error, "at most 2");
    }
}

/// Student's draws, the best of several draws: against counting.
#[test]
fn other_laws_agree_with_counting() {
    for policy in [
        r#"{"name": "arm-wise-ts", "v": 0.5, "noise": "estimated"}"#,
        r#"{"name": "arm-wise-ts", "v": 0.5, "scope": {"best-of": 7}}"#,
        r#"{"name": "pc2ucb", "alpha": 0.5, "c": 1.0, "scope": {"best-of": 3}}"#,
    ] {
        let algorithm: Algorithm = serde_json::from_str(policy).unwrap();
        let mut learner = Learner::new(algorithm, 2, 1).unwrap();
        let (u, x) = (draws(11), draws(12));
        for i in 0..9 {
            let row = [u.uniform(i), u.uniform(100 + i)];
            let reward = row[0] + 0.3 * x.normal(i);
            learner.observe(&[armwise::Observation { t: 1, block: 0, x: &row, reward }]).unwrap();
        }
        let rows: Vec<f64> = (0..80).map(|i| x.uniform(i)).collect();
        let arms = Arms::new(&rows, 2).unwrap();
        let found = learner.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(6), None).unwrap();
        assert_eq!(found.method, Method::Exact, "{policy}");
        near(found.probabilities.iter().sum(), 6.0, 6e-9, policy);
        let replicates = 15_000;
        let mut counts = [0_u32; 40];
        for number in 0..replicates {
            let decision = learner.choose(Round::new(9_000 + number, 2), &arms, &Constraint::top_k(6)).unwrap();
            decision.arms.iter().for_each(|arm| counts[arm.id as usize] += 1);
        }
        for (pi, count) in found.probabilities.iter().zip(counts) {
            let error = (pi * (1.0 - pi) / replicates as f64).sqrt() + 1.0 / replicates as f64;
            near(f64::from(count) / replicates as f64, *pi, 4.5 * error, policy);
        }
    }
}
