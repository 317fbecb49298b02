//! Few arms: against integration over the arm's own draw by the trapezoidal rule, with the others convolved.

use crate::common::{convolved, draws, laws, learner, near, upper};
use armwise::{Algorithm, Arms, Column, Constraint, Draw, Learner, Method, Round, Ties};
use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};

/// The probability of arm i among the k best of normal scores: the trapezoidal rule over its own draw, which for such a
/// function converges faster than any power of the step.
fn normal(laws: &[[f64; 2]], k: usize, i: usize) -> f64 {
    const STEPS: i32 = 40_000;
    let [m, s] = laws[i];
    let chance = |t: f64| {
        let others = laws.iter().enumerate().filter(|(j, _)| *j != i).map(|(j, &[m_j, s_j])| match s_j {
            s_j if s_j > 0.0 => upper((t - m_j) / s_j),
            _ => f64::from(u8::from(m_j > t || (m_j == t && j < i))),
        });
        convolved(others)[..k].iter().sum::<f64>()
    };
    if s == 0.0 {
        return chance(m);
    }
    let step = 19.0 / f64::from(STEPS);
    let sum: f64 = (0..=STEPS)
        .map(|n| -9.5 + step * f64::from(n))
        .map(|z| libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI) * chance(m + s * z))
        .sum();
    sum * step
}

/// The same where some arms are points: Simpson's rule between them.
fn between_points(laws: &[[f64; 2]], k: usize, i: usize) -> f64 {
    const STEPS: usize = 2_000;
    let [m, s] = laws[i];
    let chance = |t: f64| {
        let q = laws.iter().enumerate().filter(|(j, _)| *j != i).map(|(j, &[m_j, s_j])| match s_j {
            s_j if s_j > 0.0 => upper((t - m_j) / s_j),
            _ => f64::from(u8::from(m_j > t || (m_j == t && j < i))),
        });
        convolved(q)[..k].iter().sum::<f64>()
    };
    if s == 0.0 {
        return chance(m);
    }
    let mut cuts: Vec<f64> = laws.iter().filter(|law| law[1] == 0.0).map(|law| (law[0] - m) / s).collect();
    cuts.retain(|z| z.abs() < 9.5);
    cuts.extend([-9.5, 9.5]);
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let panel = |pair: &[f64]| {
        let h = (pair[1] - pair[0]) / STEPS as f64;
        let weight = |n: usize| {
            if n == 0 || n == STEPS {
                1.0
            } else if n % 2 == 1 {
                4.0
            } else {
                2.0
            }
        };
        // Just inside the ends, where the function jumps.
        let z = |n: usize| (pair[0] + h * n as f64).clamp(pair[0] + 1e-9, pair[1] - 1e-9);
        let bell = |z: f64| libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI);
        (0..=STEPS).map(|n| weight(n) * bell(z(n)) * chance(m + s * z(n))).sum::<f64>() * h / 3.0
    };
    cuts.windows(2).map(panel).sum()
}

/// The same for uniform scores on [a, a + b]: Simpson's rule between all ends.
fn uniform(laws: &[[f64; 2]], k: usize, i: usize) -> f64 {
    let [a, b] = laws[i];
    let chance = |t: f64| {
        let others = laws.iter().enumerate().filter(|(j, _)| *j != i);
        let q = others.map(|(_, &[a, b])| ((a + b - t) / b).clamp(0.0, 1.0));
        convolved(q)[..k].iter().sum::<f64>()
    };
    let mut cuts: Vec<f64> = laws.iter().flat_map(|&[a, b]| [a, a + b]).filter(|t| (a..=a + b).contains(t)).collect();
    cuts.sort_by(f64::total_cmp);
    let panel = |pair: &[f64]| {
        const STEPS: usize = 200;
        let h = (pair[1] - pair[0]) / STEPS as f64;
        let weight = |n: usize| {
            if n == 0 || n == STEPS {
                1.0
            } else if n % 2 == 1 {
                4.0
            } else {
                2.0
            }
        };
        (0..=STEPS).map(|n| weight(n) * chance(pair[0] + h * n as f64)).sum::<f64>() * h / 3.0
    };
    cuts.windows(2).map(panel).sum::<f64>() / b
}

/// Up to 12 arms of widths between 1e-3 and 1, every k.
#[test]
fn normal_draws_agree_with_the_trapezoidal_rule() {
    let v = 0.7;
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", v)], 1);
    for (case, n) in [2, 3, 4, 7, 12].into_iter().enumerate() {
        let u = draws(40 + case as u64);
        let x: Vec<f64> = (0..n as u64)
            .flat_map(|i| [u.uniform(2 * i), libm::pow(10.0, -3.0 * u.uniform(2 * i + 1) * (case % 3) as f64 / 2.0)])
            .collect();
        let arms = Arms::new(&x, 2).unwrap();
        let laws: Vec<[f64; 2]> = laws(&learner, &arms, 1).iter().map(|[m, w]| [*m, v * w]).collect();
        for k in [1, 2, n / 2, n - 1].into_iter().filter(|k| (1..n).contains(k)) {
            let found = learner.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(k), None).unwrap();
            assert_eq!(found.method, Method::Exact);
            near(found.probabilities.iter().sum(), k as f64, 1e-9 * k as f64, "the sum");
            for i in [0, n / 2, n - 1] {
                let expected = normal(&laws, k, i);
                near(found.probabilities[i], expected, 1e-10, &format!("case {case}, k = {k}, arm {i}, {laws:?}"));
            }
        }
    }
}

#[test]
fn uniform_draws_agree_with_simpsons_rule() {
    let (alpha, c) = (0.4, 1.7);
    let learner = learner("pc2ucb", &[("lambda", 1.0), ("alpha", alpha), ("c", c)], 1);
    for (case, n) in [2, 5, 12].into_iter().enumerate() {
        let u = draws(60 + case as u64);
        let x: Vec<f64> = (0..n as u64).flat_map(|i| [u.uniform(2 * i), 0.02 + u.uniform(2 * i + 1)]).collect();
        let arms = Arms::new(&x, 2).unwrap();
        let laws: Vec<[f64; 2]> =
            laws(&learner, &arms, 1).iter().map(|[m, w]| [m + alpha * w, c * alpha * w]).collect();
        for k in [1, 2, n / 2, n - 1].into_iter().filter(|k| (1..n).contains(k)) {
            let found = learner.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(k), None).unwrap();
            near(found.probabilities.iter().sum(), k as f64, 1e-9 * k as f64, "the sum");
            for i in 0..n {
                near(found.probabilities[i], uniform(&laws, k, i), 1e-10, &format!("case {case}, k = {k}, arm {i}"));
            }
        }
    }
}

/// Arms without width, some of them tied with each other, among others; k of them or all are chosen for certain.
#[test]
fn points_and_ties_follow_the_rule_of_ties() {
    let v = 0.3;
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", v)], 1);
    let x = [0.5, 0.0, 0.5, 0.0, 0.5, 0.0, 0.4, 0.5, 0.6, 1.0, 0.5, 0.0, 0.7, 0.0, 0.2, 0.0];
    let arms = Arms::new(&x[..], 2).unwrap();
    let laws: Vec<[f64; 2]> =
        laws(&learner, &arms, 1).iter().map(|[m, w]| [*m, if *w < 1e-5 { 0.0 } else { v * w }]).collect();
    // The first feature's weight is known to 1e-6 only, so no width is exactly 0 unless v is.
    let certain = crate::common::learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.0)], 1);
    let found = certain.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(3), None).unwrap();
    assert_eq!((found.method, &found.probabilities[..]), (Method::Degenerate, &[1., 0., 0., 0., 1., 0., 1., 0.][..]));
    let drawn = certain.with_ties(Ties::Random);
    let found = drawn.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(4), None).unwrap();
    assert_eq!(found.method, Method::Exact);
    let tied = [0.5, 0.5, 0.5, 0.0, 1.0, 0.5, 1.0, 0.0];
    found.probabilities.iter().zip(tied).for_each(|(found, tied)| near(*found, tied, 1e-15, "a tie that is drawn"));
    for k in 1..8 {
        let found = learner.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(k), None).unwrap();
        near(found.probabilities.iter().sum(), k as f64, 1e-9, "the sum");
        for i in [3, 4, 6, 7] {
            // Their widths of 1e-7 are taken for none by the reference.
            near(found.probabilities[i], between_points(&laws, k, i), 2e-6, &format!("k = {k}, arm {i}"));
        }
    }
    let all = learner.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(8), None).unwrap();
    assert_eq!(all.probabilities, [1.0; 8]);
    let one = Arms::new(&x[..2], 2).unwrap();
    let found = learner.inclusion(Round::new(1, 2), &one, &Constraint::top_k(1), None).unwrap();
    assert_eq!(found.probabilities, [1.0]);
}

/// Rows of zeros are true points: no width at all, and the same score.
#[test]
fn rows_of_zeros_agree_with_simpsons_rule() {
    let v = 0.3;
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", v)], 1);
    let x = [0.0, 0.0, 0.1, 0.5, 0.0, 0.0, -0.2, 1.0, 0.3, 0.2, 0.0, 0.0, -0.1, 0.1, 0.0, 0.0, 0.05, 0.4];
    let arms = Arms::new(&x[..], 2).unwrap();
    let laws: Vec<[f64; 2]> = laws(&learner, &arms, 1).iter().map(|[m, w]| [*m, v * w]).collect();
    assert_eq!((laws[0], laws[7]), ([0.0, 0.0], [0.0, 0.0]));
    for k in 1..9 {
        let found = learner.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(k), None).unwrap();
        assert_eq!(found.method, Method::Exact);
        near(found.probabilities.iter().sum(), k as f64, 1e-9, "the sum");
        for i in 0..9 {
            near(found.probabilities[i], between_points(&laws, k, i), 1e-8, &format!("k = {k}, arm {i}"));
        }
    }
}

/// Student's draws: the trapezoidal rule in y, z = sinh y, which tames the tails.
#[test]
fn students_draws_agree_with_the_trapezoidal_rule() {
    let algorithm: Algorithm =
        serde_json::from_str(r#"{"name": "arm-wise-ts", "v": 0.5, "noise": "estimated"}"#).unwrap();
    let mut learner = Learner::new(algorithm, 2, 1).unwrap();
    let (u, z) = (draws(11), draws(12));
    for i in 0..12 {
        let x = [u.uniform(i), u.uniform(100 + i)];
        learner.observe(&[armwise::Observation { t: 1, block: 0, x: &x, reward: x[0] + 0.3 * z.normal(i) }]).unwrap();
    }
    let x: Vec<f64> = (0..20).map(|i| u.uniform(200 + i)).collect();
    let arms = Arms::new(&x, 2).unwrap();
    let law = learner.law(Round::new(1, 2), 0).unwrap().unwrap();
    let Draw::Student { freedom } = law.draw else { panic!("{law:?}") };
    let student = StudentsT::new(0.0, 1.0, freedom).unwrap();
    let laws: Vec<[f64; 2]> = laws(&learner, &arms, 1).iter().map(|[m, w]| [*m, law.factor * w]).collect();
    for k in [1, 4, 9] {
        let found = learner.inclusion(Round::new(1, 2), &arms, &Constraint::top_k(k), None).unwrap();
        assert_eq!(found.method, Method::Exact);
        for i in [0, 4, 9] {
            let [m, s] = laws[i];
            let chance = |t: f64| {
                let others = laws.iter().enumerate().filter(|(j, _)| *j != i);
                convolved(others.map(|(_, &[m, s])| student.sf((t - m) / s)))[..k].iter().sum::<f64>()
            };
            let step = 0.005;
            let of = |y: f64| student.pdf(y.sinh()) * y.cosh() * chance(m + s * y.sinh());
            let sum: f64 = (-2_400..=2_400).map(|n| of(f64::from(n) * step)).sum();
            near(found.probabilities[i], sum * step, 1e-9, &format!("k = {k}, arm {i}, {freedom} degrees of freedom"));
        }
    }
}

/// Quotas of groups that share no arm: each group is a contest of its own.
#[test]
fn quotas_agree_with_the_trapezoidal_rule() {
    let v = 0.5;
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", v)], 1);
    let u = draws(77);
    let x: Vec<f64> = (0..12).flat_map(|i| [u.uniform(2 * i), 0.2 + u.uniform(2 * i + 1)]).collect();
    let region: Vec<f64> = (0..12).map(|row| f64::from(row % 3)).collect();
    let columns = [Column { name: "region", values: &region }];
    let arms = Arms::new(&x, 2).unwrap().with_columns(&columns).unwrap();
    let quotas = r#"{"kind": "quotas", "groups": [{"column": "region", "exactly": 2}]}"#;
    let quotas: Constraint = serde_json::from_str(quotas).unwrap();
    let found = learner.inclusion(Round::new(1, 2), &arms, &quotas, None).unwrap();
    assert_eq!(found.method, Method::Exact);
    let laws: Vec<[f64; 2]> = laws(&learner, &arms, 1).iter().map(|[m, w]| [*m, v * w]).collect();
    for i in 0..12 {
        let own: Vec<[f64; 2]> = laws.iter().skip(i % 3).step_by(3).copied().collect();
        near(found.probabilities[i], normal(&own, 2, i / 3), 1e-9, &format!("arm {i}"));
    }
}
