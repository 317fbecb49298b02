//! Off-policy evaluation is right though the logging policy learns: no bias, intervals that cover, and doubly robust
//! ones that are narrower. `make off-policy` plays 1,000 runs of each kind (ARMWISE_RUNS), the tests fewer.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
#![allow(clippy::print_stdout, reason = "`make off-policy` shows the figures")]

use armwise::{Algorithm, Assignment, Oracle, Round, Stream, evaluate::Estimator};
use armwise_lab::{
    Error,
    off_policy::{Logging, Quality, quality},
    world::{Clustered, Game, Order, Purpose, Scene, Trial, World},
};
use std::{borrow::Cow, env};

fn algorithm(name: &str, parameters: &[(&str, f64)]) -> Algorithm {
    Algorithm::new(name, parameters).unwrap()
}

/// Three promotions with small quotas, a customer in one of them at most: probabilities are sampled.
struct Market(Assignment);

const ROWS: usize = 30;
const WIDE: usize = 4;

struct Weeks(Trial);

impl World for Market {
    fn dim(&self) -> usize {
        WIDE
    }

    fn blocks(&self) -> usize {
        3
    }

    fn rows(&self) -> usize {
        ROWS
    }

    fn rounds(&self) -> u64 {
        6
    }

    fn clusters(&self) -> usize {
        0
    }

    fn oracle(&self, _: u64) -> &dyn Oracle {
        &self.0
    }

    fn key(&self) -> String {
        "market".to_owned()
    }

    fn open(&self, trial: Trial) -> Box<dyn Game + '_> {
        Box::new(Weeks(trial))
    }
}

impl Game for Weeks {
    fn scene(&self, t: u64) -> Result<Scene<'_>, Error> {
        let own = |stream: u32| Round::new(self.0.seed, t).draws(0, Stream(stream));
        let x = own(1100);
        let features: Vec<f64> = (0..(ROWS * WIDE) as u64).map(|place| x.normal(place) / 2.0).collect();
        let effect = Round::new(self.0.seed, 0).draws(0, Stream(1101));
        let (noise, rows) = (own(1102), features.clone());
        let pay = move |row: usize, block: usize| {
            let weight = |place: usize| effect.normal((block * WIDE + place) as u64) / 2.0;
            let mean: f64 = (0..WIDE).map(|place| weight(place) * rows[row * WIDE + place]).sum();
            (mean + 0.4 * noise.normal((row * 3 + block) as u64), mean)
        };
        Ok(Scene { features: Cow::Owned(features), cluster: &[], best: 0.0, pay: Box::new(pay) })
    }
}

/// The qualities of one kind of log, printed.
fn runs(logging: &Logging, targets: &[Algorithm], seed: u64) -> Vec<Quality> {
    runs_of(&Clustered::new(1.2, 6, 40, 8, 8, Order::Shuffled, 0.4).unwrap(), logging, targets, seed)
}

fn runs_of(world: &dyn World, logging: &Logging, targets: &[Algorithm], seed: u64) -> Vec<Quality> {
    let count = env::var("ARMWISE_RUNS").map_or(60, |count| count.parse().unwrap());
    let found = quality(world, &Trial::of(seed, Purpose::Evaluation, count), logging, targets).unwrap();
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share));
    for line in &found {
        println!(
            "{} -> {:<14} {:<7} identified {:>4} of {}, truth {:.3}, bias {:>8.4} se {:.4}, rmse {:.3}, covers {} %, at all times {} %, length {:.3}",
            line.logging,
            targets[line.target].name(),
            line.estimator.name(),
            line.identified,
            line.runs,
            line.truth,
            line.bias,
            line.bias_se,
            line.rmse,
            share(line.coverage),
            share(line.anytime_coverage),
            line.length.unwrap_or(f64::NAN),
        );
    }
    found
}

/// The least share of `count` runs that a rate of 93 % gives with all but three standard errors.
fn least(count: usize) -> f64 {
    if count >= 1000 { 0.93 } else { 0.93 - 3.0 * (0.93 * 0.07 / count as f64).sqrt() }
}

fn check(found: &[Quality]) {
    for line in found.iter().filter(|line| matches!(line.estimator, Estimator::Ips | Estimator::Dr)) {
        assert_eq!(line.identified, line.runs, "{line:?}");
        assert!(line.bias.abs() < 3.0 * line.bias_se, "{line:?}");
        assert!(line.coverage.unwrap() >= least(line.runs), "{line:?}");
        assert!(line.anytime_coverage.unwrap() >= line.coverage.unwrap(), "{line:?}");
    }
    for target in found.chunk_by(|a, b| a.target == b.target) {
        let length = |by: Estimator| target.iter().find(|line| line.estimator == by).unwrap().length.unwrap();
        assert!(length(Estimator::Dr) < length(Estimator::Ips), "{target:?}");
    }
}

#[test]
fn a_log_of_arm_wise_ts_tells_without_bias_what_others_would_have_earned() {
    let logging = Logging::By(algorithm("arm-wise-ts", &[("v", 0.7)]));
    check(&runs(&logging, &[algorithm("arm-wise-ts", &[("v", 0.35)]), algorithm("greedy", &[])], 11));
}

/// Promotions that compete for customers: probabilities are means over fresh rounds, and dividing by them adds less bias than
/// the runs can show.
#[test]
fn sampled_probabilities_tell_it_too() {
    let world = Market(Assignment::new(vec![4, 3, 3]));
    let logging = Logging::By(algorithm("arm-wise-ts", &[("v", 0.7)]));
    check(&runs_of(&world, &logging, &[algorithm("arm-wise-ts", &[("v", 0.4)])], 15));
}

#[test]
fn a_log_of_c2ucb_with_epsilon_tells_it_too() {
    let logging = Logging::Mixed { algorithm: algorithm("c2ucb", &[("alpha", 0.5)]), epsilon: 0.3 };
    check(&runs(&logging, &[algorithm("arm-wise-ts", &[("v", 0.5)])], 12));
}

/// PC2UCB draws from an interval: what lies below it cannot be chosen, and the log says so.
#[test]
fn a_log_of_pc2ucb_says_what_it_cannot_tell() {
    let logging = Logging::By(algorithm("pc2ucb", &[("alpha", 0.3), ("c", 3.0)]));
    let targets = [algorithm("random", &[]), algorithm("pc2ucb", &[("alpha", 0.3), ("c", 3.0)])];
    let found = runs(&logging, &targets, 13);
    let ips = |target| found.iter().find(|line| line.target == target && line.estimator == Estimator::Ips).unwrap();
    assert!(ips(0).identified < ips(0).runs, "a random choice wants what PC2UCB never chooses: {:?}", ips(0));
    let known = ips(1);
    assert_eq!(known.identified, known.runs, "of itself it tells everything: {known:?}");
    assert!(known.bias.abs() < 3.0 * known.bias_se && known.coverage.unwrap() >= least(known.runs), "{known:?}");
}

/// Without draws there is no support: a log of C2UCB tells nothing about another policy.
#[test]
fn a_log_of_c2ucb_alone_identifies_nothing_else() {
    let logging = Logging::By(algorithm("c2ucb", &[("alpha", 0.5)]));
    let found = runs(&logging, &[algorithm("random", &[]), algorithm("c2ucb", &[("alpha", 0.5)])], 14);
    let of = |target| found.iter().find(|line| line.target == target && line.estimator == Estimator::Dr).unwrap();
    assert_eq!(of(0).identified, 0);
    assert_eq!(of(1).identified, of(1).runs, "of itself it tells everything");
}
