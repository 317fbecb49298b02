//! Estimators against complete enumeration of small adaptive worlds, against formulas written a second time, and bad logs.
#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use armwise::Error;
use armwise::evaluate::{Basis, Confidence, Design, Estimator, Evaluation, Log, LoggedArm, LoggedRound, Wanted};

/// Two of four arms, two rounds; an arm pays 1 with its own probability. What is logged in the second round depends on
/// what the first one paid, as with any policy that learns.
const MU: [f64; 4] = [0.7, 0.2, 0.5, 0.4];
const SETS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// How likely each set is after the rewards of the round before.
fn logging(paid: Option<[f64; 2]>) -> [f64; 6] {
    match paid.map(|paid| paid[0] + paid[1]) {
        None => [0.10, 0.25, 0.15, 0.20, 0.05, 0.25],
        Some(sum) if sum > 1.5 => [0.5, 0.1, 0.1, 0.1, 0.1, 0.1],
        Some(sum) if sum > 0.5 => [0.05, 0.3, 0.2, 0.15, 0.2, 0.1],
        Some(_) => [0.1, 0.1, 0.1, 0.2, 0.2, 0.3],
    }
}

/// What the target, which learns too, would do.
fn target(paid: Option<[f64; 2]>) -> [f64; 6] {
    match paid {
        None => [0.3, 0.3, 0.1, 0.1, 0.1, 0.1],
        Some([first, _]) if first > 0.5 => [0.05, 0.6, 0.05, 0.1, 0.1, 0.1],
        Some(_) => [0.1, 0.1, 0.4, 0.1, 0.2, 0.1],
    }
}

fn marginal(sets: [f64; 6]) -> [f64; 4] {
    let mut of = [0.0; 4];
    SETS.iter().zip(sets).for_each(|(set, p)| set.iter().for_each(|&arm| of[arm] += p));
    of
}

/// A model of the rewards that is wrong, and another one after rewards have been seen.
fn model(paid: Option<[f64; 2]>) -> [f64; 4] {
    paid.map_or([0.3, 0.3, 0.3, 0.3], |paid| [0.2 + paid[0] * 0.6, 0.1, paid[1] * 0.9, 0.5])
}

fn round(t: u64, set: [usize; 2], paid: [f64; 2], past: Option<[f64; 2]>, mean: [f64; 4]) -> (LoggedRound, f64) {
    let (probability, wants) = (marginal(logging(past)), marginal(target(past)));
    let arms = set.iter().zip(paid).map(|(&arm, reward)| LoggedArm {
        id: arm as u64,
        block: 0,
        segment: (arm % 2) as u32,
        reward,
        probability: probability[arm],
        target: wants[arm],
        mean: mean[arm],
    });
    let wanted = (0..4).map(|arm| Wanted {
        segment: (arm % 2) as u32,
        count: wants[arm],
        reward: wants[arm] * mean[arm],
        ..Wanted::default()
    });
    let truth = wants.iter().zip(MU).map(|(p, mu)| p * mu).sum();
    (LoggedRound { t, arms: arms.collect(), wanted: wanted.collect() }, truth)
}

/// All ways in which a round can go: the set, what it pays, and how likely that is.
fn ways(past: Option<[f64; 2]>) -> Vec<([usize; 2], [f64; 2], f64)> {
    let mut all = Vec::new();
    for (set, p) in SETS.into_iter().zip(logging(past)) {
        for paid in [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] {
            let pays = |arm: usize, paid: f64| if paid > 0.5 { MU[arm] } else { 1.0 - MU[arm] };
            all.push((set, paid, p * pays(set[0], paid[0]) * pays(set[1], paid[1])));
        }
    }
    all
}

/// The expectation of estimate less truth over all histories, by estimator; `peeks` gives a round the model that has seen
/// its own rewards.
fn bias(peeks: bool, part: impl Fn(&Log) -> Log, truth_of: impl Fn(f64, Option<[f64; 2]>) -> f64) -> [f64; 3] {
    let mut bias = [0.0; 3];
    for (first, paid, p) in ways(None) {
        let (one, value) = round(1, first, paid, None, if peeks { model(Some(paid)) } else { model(None) });
        let value = truth_of(value, None);
        for (second, later, q) in ways(Some(paid)) {
            let mean = if peeks { model(Some(later)) } else { model(Some(paid)) };
            let (two, another) = round(2, second, later, Some(paid), mean);
            let truth = f64::midpoint(value, truth_of(another, Some(paid)));
            let log = Log::new(vec![one.clone(), two], Design::Shared).unwrap();
            let found = part(&log).evaluate(&Confidence::default()).unwrap();
            for (bias, by) in bias.iter_mut().zip([Estimator::Ips, Estimator::Dr, Estimator::Dm]) {
                *bias += p * q * (found.by(by).value.unwrap() - truth);
            }
        }
    }
    bias
}

#[test]
fn inverse_probabilities_and_both_together_are_unbiased_though_the_logging_policy_learns() {
    let [ips, dr, dm] = bias(false, Log::clone, |truth, _| truth);
    assert!(ips.abs() < 1e-12 && dr.abs() < 1e-12, "{ips} {dr}");
    assert!(dm.abs() > 0.1, "the model is wrong, so the model alone is: {dm}");
}

/// The check above is able to fail: a model that has seen the round's own rewards is not allowed.
#[test]
fn a_model_that_has_seen_the_round_biases_both_together() {
    let [ips, dr, _] = bias(true, Log::clone, |truth, _| truth);
    assert!(ips.abs() < 1e-12 && dr.abs() > 0.01, "{ips} {dr}");
}

#[test]
fn a_segment_is_unbiased_by_itself() {
    let odd = |_: f64, past| {
        let wants = marginal(target(past));
        wants[1] * MU[1] + wants[3] * MU[3]
    };
    let [ips, dr, _] = bias(false, |log| log.of_segment(1), odd);
    assert!(ips.abs() < 1e-12 && dr.abs() < 1e-12, "{ips} {dr}");
}

/// A log of `rounds` rounds of `k` arms with numbers from a small generator of the test's own.
fn some_log(rounds: u64, k: u64, design: Design) -> Log {
    let mut state = 12_345_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let made = (1..=rounds).map(|t| LoggedRound {
        t,
        arms: (0..k)
            .map(|id| LoggedArm {
                id,
                block: (id % 2) as u32,
                segment: 0,
                reward: next() * 3.0,
                probability: 0.05 + 0.9 * next(),
                target: next(),
                mean: next() * 2.0,
            })
            .collect(),
        wanted: vec![Wanted { count: k as f64, reward: next() * 4.0, ..Wanted::default() }],
    });
    Log::new(made.collect(), design).unwrap()
}

fn evaluated(log: &Log) -> Evaluation {
    log.evaluate(&Confidence::default()).unwrap()
}

#[test]
fn point_estimates_and_diagnostics_are_their_formulas() {
    let log = some_log(7, 6, Design::Shared);
    let found = evaluated(&log);
    let arms: Vec<&LoggedArm> = log.rounds().iter().flat_map(|round| &round.arms).collect();
    let w = |arm: &&LoggedArm| arm.target / arm.probability;
    let model: f64 = log.rounds().iter().map(|round| round.wanted[0].reward).sum::<f64>() / 7.0;
    let ips: f64 = arms.iter().map(|arm| w(arm) * arm.reward).sum::<f64>() / 7.0;
    let weights: f64 = arms.iter().map(w).sum();
    let snips = 6.0 * arms.iter().map(|arm| w(arm) * arm.reward).sum::<f64>() / weights;
    let dr = model + arms.iter().map(|arm| w(arm) * (arm.reward - arm.mean)).sum::<f64>() / 7.0;
    for (by, expected) in
        [(Estimator::Ips, ips), (Estimator::Snips, snips), (Estimator::Dm, model), (Estimator::Dr, dr)]
    {
        let value = found.by(by).value.unwrap();
        assert!((value - expected).abs() < 1e-12, "{by:?}: {value} {expected}");
    }
    let squares: f64 = arms.iter().map(|arm| w(arm) * w(arm)).sum();
    assert!((found.effective - weights * weights / squares).abs() < 1e-9);
    assert!((found.largest_weight - arms.iter().map(w).fold(0.0, f64::max)).abs() < 1e-12);
    let earned = arms.iter().map(|arm| arm.reward).sum::<f64>() / 7.0;
    assert!((found.logged - earned).abs() < 1e-12 && (found.gain.unwrap() - (dr - earned)).abs() < 1e-12);
    let shrunk = found.by(Estimator::Shrunk);
    let (shrinkage, value) = (shrunk.shrinkage.unwrap(), shrunk.value.unwrap());
    assert!((value - dr - shrinkage.moved).abs() < 1e-12);
    let by_hand = model
        + arms
            .iter()
            .map(|arm| shrinkage.lambda * w(arm) / (w(arm) * w(arm) + shrinkage.lambda) * (arm.reward - arm.mean))
            .sum::<f64>()
            / 7.0;
    assert!((value - by_hand).abs() < 1e-9);
    assert!(shrunk.error.unwrap() <= found.by(Estimator::Dr).error.unwrap() + 1e-12);
}

/// The intervals a second time: Student's over rounds, centred by the model.
#[test]
fn the_interval_over_rounds_is_students() {
    let log = some_log(2, 6, Design::Shared);
    let found = evaluated(&log);
    assert_eq!(found.basis, Some(Basis::Rounds));
    let off: Vec<f64> = (log.rounds().iter())
        .map(|round| round.arms.iter().map(|arm| arm.weight() * (arm.reward - arm.mean)).sum())
        .collect();
    // Of two terms the standard error is half their distance; 97.5 % of Student's with one degree lie below 12.7062.
    let half = 12.706_204_736_432_1 * (off[0] - off[1]).abs() / 2.0;
    let dr = found.by(Estimator::Dr);
    let interval = dr.interval.unwrap();
    assert!((interval.length() / 2.0 - half).abs() < 1e-6 * half, "{interval:?} {half}");
    assert!(dr.anytime.unwrap().length() > interval.length(), "what holds at all times is longer");
    assert!(found.by(Estimator::Dm).interval.is_none(), "no sampling variance tells the error of a model");
}

#[test]
fn arms_with_their_own_draws_tell_how_much_a_single_round_varies() {
    let own = evaluated(&some_log(1, 40, Design::FixedCounts));
    assert_eq!(own.basis, Some(Basis::Arms));
    assert!(own.by(Estimator::Dr).interval.is_some());
    let shared = evaluated(&some_log(1, 40, Design::Shared));
    assert!(shared.basis.is_none() && shared.by(Estimator::Dr).interval.is_none(), "one round tells nothing then");
    let open = evaluated(&some_log(1, 40, Design::Independent));
    let length = |found: &Evaluation| found.by(Estimator::Ips).interval.unwrap().length();
    assert!(length(&open) > length(&own), "numbers that vary make the sum vary more");
}

#[test]
fn a_target_without_support_is_not_identified() {
    let mut rounds = some_log(5, 6, Design::FixedCounts).rounds().to_vec();
    rounds[3].wanted[0].unsupported = 3.0;
    let found = evaluated(&Log::new(rounds, Design::FixedCounts).unwrap());
    assert!(!found.identified && (found.unsupported - 0.1).abs() < 1e-12, "3 of 30: {}", found.unsupported);
    for by in [Estimator::Ips, Estimator::Snips] {
        assert_eq!(found.by(by).value, None, "{by:?}");
    }
    for by in [Estimator::Dm, Estimator::Dr, Estimator::Shrunk] {
        let estimate = found.by(by);
        assert!(estimate.value.is_some() && estimate.interval.is_none(), "{by:?} leans on the model");
    }
    assert!(found.gain.is_none() && found.gain_interval.is_none());
}

#[test]
fn the_block_and_the_rest_add_up() {
    let log = some_log(5, 6, Design::FixedCounts);
    let parts = [0, 1].map(|block| evaluated(&log.of_block(block)).by(Estimator::Ips).value.unwrap());
    let whole = evaluated(&log).by(Estimator::Ips).value.unwrap();
    assert!((parts[0] + parts[1] - whole).abs() < 1e-12);
}

#[test]
fn bad_logs_are_refused_with_their_place() {
    let good = some_log(3, 4, Design::Shared).rounds().to_vec();
    let with = |change: &dyn Fn(&mut Vec<LoggedRound>)| {
        let mut rounds = good.clone();
        change(&mut rounds);
        Log::new(rounds, Design::Shared).unwrap_err()
    };
    assert_eq!(Log::new(Vec::new(), Design::Shared).unwrap_err(), Error::NoRounds);
    for (value, expected) in [
        (
            0.0,
            "round 2, arm 3 in block 1: the probability is 0; it must be above 0 and at most 1, since the arm was chosen",
        ),
        (
            1.5,
            "round 2, arm 3 in block 1: the probability is 1.5; it must be above 0 and at most 1, since the arm was chosen",
        ),
        (
            -0.1,
            "round 2, arm 3 in block 1: the probability is -0.1; it must be above 0 and at most 1, since the arm was chosen",
        ),
        (
            f64::NAN,
            "round 2, arm 3 in block 1: the probability is NaN; it must be there: whoever chose it must say how likely that was",
        ),
        (f64::MIN_POSITIVE / 1e10, "round 2, arm 3 in block 1: the probability is "),
    ] {
        let error = with(&|rounds| {
            rounds[1].arms[3].probability = value;
            rounds[1].arms[3].target = 1.0;
        });
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let error = with(&|rounds| rounds[2].arms[0].reward = f64::INFINITY);
    assert_eq!(error.to_string(), "round 3, arm 0 in block 0: the reward is inf; it must be a finite number");
    let error = with(&|rounds| rounds[2].arms[0].target = 1.1);
    assert!(matches!(error, Error::Logged { t: 3, arm: Some((0, 0)), what: "target's probability", .. }), "{error}");
    let error = with(&|rounds| rounds[0].arms[1].mean = f64::NAN);
    assert!(matches!(error, Error::Logged { t: 1, arm: Some((1, 1)), what: "mean", .. }), "{error}");
    let error = with(&|rounds| rounds[0].arms[2].id = 0);
    assert_eq!(error.to_string(), "round 1, arm 0 in block 0 is in the log twice");
    let error = with(&|rounds| rounds[2].t = 1);
    assert_eq!(error, Error::LoggedTwice { t: 1, arm: None });
    let error = with(&|rounds| rounds[1].wanted[0].count = f64::NAN);
    assert!(matches!(error, Error::Logged { t: 2, arm: None, .. }), "{error}");
    let error = with(&|rounds| rounds[1].wanted[0].unsupported = 5.0);
    assert!(error.to_string().contains("at most what the target wants"), "{error}");
    let level = |level| some_log(3, 4, Design::Shared).evaluate(&Confidence { level, ..Confidence::default() });
    assert!(matches!(level(1.0), Err(Error::Parameter { name: "level", .. })));
}
