//! What the tests share: seeded problems, every algorithm, and the statistics to judge by.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(missing_docs, clippy::missing_panics_doc, reason = "test code")]

use armwise::{
    Algorithm, ArmWiseTs, Arms, BestOf, Constraint, Decision, Description, Lambda, Learner, Noise, Pc2ucb, Policy,
    Round, RoundWiseTs, Schedule, Scope, Stream,
};

/// Draws of a test's own, apart from the library's streams.
pub(crate) fn draws(seed: u64, t: u64) -> armwise::Draws {
    Round::new(seed, t).draws(0, Stream(1000))
}

/// `n` rows of `d` normals, each row scaled into the unit ball.
pub(crate) fn rows(seed: u64, t: u64, n: usize, d: usize) -> Vec<f64> {
    let draws = draws(seed, t);
    let mut x: Vec<f64> = (0..n * d).map(|i| draws.normal(i as u64)).collect();
    for row in x.chunks_mut(d) {
        let norm = dot(row, row).sqrt();
        for x in row {
            *x /= norm * 1.01;
        }
    }
    x
}

/// A point on the unit sphere.
pub(crate) fn unit(seed: u64, d: usize) -> Vec<f64> {
    let draws = draws(seed, 999_999);
    let z: Vec<f64> = (0..d).map(|i| draws.normal(i as u64)).collect();
    let norm = dot(&z, &z).sqrt();
    z.into_iter().map(|z| z / norm).collect()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Every algorithm that the library names and that scores each arm by itself, with parameters that matter.
pub(crate) fn every_algorithm() -> Vec<Algorithm> {
    let of = |description: &&Description| {
        let value = |name: &str| match name {
            "lambda" => Some(0.7),
            "alpha" | "v" => Some(0.9),
            "lambda2" => Some(2.0),
            "sigma2" => Some(0.5),
            "c" if description.name == "comblin-ucb" => Some(1.3),
            _ => None,
        };
        let given =
            description.parameters.iter().filter_map(|parameter| Some((parameter.name, value(parameter.name)?)));
        Algorithm::new(description.name, &given.collect::<Vec<_>>()).expect("good parameters")
    };
    Algorithm::ALL.iter().filter(|description| !description.in_turn).map(of).collect()
}

/// Every algorithm, and those with a switch also in every position that needs no column.
pub(crate) fn every_variant() -> Vec<Algorithm> {
    let scopes =
        [Scope::Shared, Scope::Mixed(0.4), Scope::BestOf(BestOf::Draws(5)), Scope::BestOf(BestOf::Enough { k: 9 })];
    let scoped = scopes.into_iter().flat_map(|scope| {
        let ts = Algorithm::ArmWiseTs(ArmWiseTs { scope, ..ArmWiseTs::new(0.7, 0.9) });
        [ts, Algorithm::Pc2ucb(Pc2ucb { scope, ..Pc2ucb::new(0.7, 0.9, 1.0) })]
    });
    let (lambda, auto) = (Lambda::Auto, Schedule::Auto);
    let autos = [
        Algorithm::ArmWiseTs(ArmWiseTs::new(lambda, auto)),
        Algorithm::ArmWiseTs(ArmWiseTs { noise: Noise::Estimated, ..ArmWiseTs::new(lambda, 1.0) }),
        Algorithm::Pc2ucb(Pc2ucb::new(lambda, auto, 1.0)),
        Algorithm::RoundWiseTs(RoundWiseTs::new(lambda, auto)),
    ];
    every_algorithm().into_iter().chain(scoped).chain(autos).collect()
}

/// A learner that has seen `rounds` rounds of 20 random arms per block, k = 5.
pub(crate) fn trained<P: Policy>(policy: P, d: usize, blocks: usize, rounds: u64) -> Learner<P> {
    let mut learner = Learner::new(policy, d, blocks).expect("good parameters");
    for t in 1..=rounds {
        let x = rows(5, t, 20, d);
        let arms = Arms::new(&x, d).expect("rows");
        let decision = learner.choose(Round::new(5, t), &arms, &Constraint::top_k(5)).expect("20 arms");
        learner.learn(&decision, &decision.rewards(pay)).expect("fresh rewards");
    }
    learner
}

/// A world that pays a fixed function of the features.
pub(crate) fn pay(arm: &armwise::ChosenArm) -> f64 {
    arm.features.iter().zip(1..).map(|(x, j)| x / f64::from(j)).sum::<f64>() + f64::from(arm.block) * 0.1
}

/// What a decision chose: ids and blocks.
pub(crate) fn chosen(decision: &Decision) -> Vec<(u64, u32)> {
    decision.arms.iter().map(|arm| (arm.id, arm.block)).collect()
}

/// Every number of a decision, as bits.
pub(crate) fn bits(decision: &Decision) -> Vec<u64> {
    let arm = |arm: &armwise::ChosenArm| {
        let numbers = [arm.mean, arm.width, arm.draw.unwrap_or(0.0), arm.score].map(f64::to_bits);
        [vec![arm.id, u64::from(arm.block)], numbers.to_vec(), arm.features.iter().map(|x| x.to_bits()).collect()]
            .concat()
    };
    decision.arms.iter().flat_map(arm).chain([decision.objective.to_bits()]).collect()
}

/// The Kolmogorov-Smirnov distance between a sample and a distribution function.
pub(crate) fn ks_distance(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let gap = |(i, &x): (usize, &f64)| {
        let p = cdf(x);
        (p - i as f64 / n).abs().max(((i + 1) as f64 / n - p).abs())
    };
    sample.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// The distribution function of the standard normal law.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The inverse of a symmetric positive definite matrix by Gauss-Jordan elimination: slow, plain, another method.
pub(crate) fn naive_inverse(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let d = a.len();
    let mut inverse: Vec<Vec<f64>> = (0..d).map(|i| (0..d).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for p in 0..d {
        let best = (p..d).max_by(|&i, &j| a[i][p].abs().total_cmp(&a[j][p].abs())).expect("rows left");
        a.swap(p, best);
        inverse.swap(p, best);
        let pivot = a[p][p];
        for j in 0..d {
            a[p][j] /= pivot;
            inverse[p][j] /= pivot;
        }
        for i in (0..d).filter(|&i| i != p) {
            let factor = a[i][p];
            for j in 0..d {
                a[i][j] -= factor * a[p][j];
                inverse[i][j] -= factor * inverse[p][j];
            }
        }
    }
    inverse
}

/// x' A x.
pub(crate) fn quadratic(a: &[Vec<f64>], x: &[f64]) -> f64 {
    a.iter().zip(x).map(|(row, x_i)| x_i * dot(row, x)).sum()
}
