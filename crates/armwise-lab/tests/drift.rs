//! Drift as `armwise::Drift` reports it, on runs where theta stays and on runs where it turns by 30 degrees.
//!
//! A campaign of 500 sends a round to 2,000 customers in 4 loose segments, 15 rounds, arm-wise Thompson sampling with automatic parameters;
//! theta turns in round 9. Looked at after every round, as a campaign does. `make drift` plays 200 runs of each kind, the tests fewer.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
#![allow(clippy::print_stdout, reason = "`make drift` shows the figures")]

use std::f64::consts::{FRAC_PI_2, PI};

use armwise::{Algorithm, Arms, Drift, Learner, Model, Observation};
use armwise_lab::world::{Clustered, Order, Purpose, Trial, Turn, World};

const ROUNDS: u64 = 15;
const TURN: u64 = 9;

fn world() -> Clustered {
    Clustered::new(FRAC_PI_2, 5, 2000, number("ARMWISE_SENDS", 500), ROUNDS, Order::Shuffled, 0.5).unwrap()
}

/// The first round after which drift is reported.
fn reported(world: &Clustered, trial: Trial) -> Option<u64> {
    let algorithm = Algorithm::with("arm-wise-ts", &[("lambda", "auto".into()), ("v", "auto".into())]).unwrap();
    let mut learner = Learner::new(algorithm, world.d, 1).unwrap();
    let game = world.open(trial);
    let mut rounds: Vec<Model> = Vec::new();
    let mut all = Model::new(world.d, 1).unwrap();
    for t in 1..=ROUNDS {
        let scene = game.scene(t).unwrap();
        let arms = Arms::new(&*scene.features, world.d).unwrap();
        let decision = learner.choose(trial.round(t), &arms, world.oracle(t)).unwrap();
        let rewards = decision.rewards(|arm| (scene.pay)(arm.id as usize, 0).0);
        let mut sums = Model::new(world.d, 1).unwrap();
        for (arm, reward) in decision.arms.iter().zip(&rewards) {
            let x = &scene.features[arm.id as usize * world.d..][..world.d];
            sums.observe(&Observation { t, block: 0, x, reward: reward.reward }).unwrap();
        }
        all.merge(&sums).unwrap();
        rounds.push(sums);
        learner.learn(&decision, &rewards).unwrap();
        let drift = Drift::between(&all, &rounds, rounds.len()).unwrap();
        if drift.is_some_and(|drift| drift.is_beyond_chance()) {
            return Some(t);
        }
    }
    None
}

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// How many runs of each kind: 20 in `make test`.
fn runs() -> usize {
    number("ARMWISE_DRIFT", 20)
}

/// At most 5 % of stationary runs ever say so; of 20 runs, at most 3 (4 or more have a probability of 1.6 % at 5 %).
#[test]
fn what_does_not_change_is_rarely_called_drift() {
    let (world, runs) = (world(), runs());
    let alarms =
        Trial::of(61, Purpose::Evaluation, runs).into_iter().filter_map(|trial| reported(&world, trial)).count();
    println!("false alarms: {alarms} of {runs} stationary runs");
    assert!(alarms <= if runs >= 100 { runs / 20 } else { 3 }, "{alarms} of {runs}");
}

/// At least 80 % of the turns are found within 5 rounds; of 20 runs at least 12 (fewer have a probability of 1 % at 80 %).
#[test]
fn a_turn_by_30_degrees_is_found_within_5_rounds() {
    let world = world().turning(Turn { round: TURN, by: PI / 6.0 }).unwrap();
    let runs = runs();
    let at: Vec<Option<u64>> =
        Trial::of(62, Purpose::Evaluation, runs).into_iter().map(|trial| reported(&world, trial)).collect();
    let count = |from: u64, to: u64| at.iter().flatten().filter(|t| (from..to).contains(t)).count();
    let (early, found) = (count(0, TURN), count(TURN, TURN + 5));
    println!("found within 5 rounds: {found} of {runs} runs with a turn; before the turn: {early}");
    // With fewer sends it is only counted.
    let sends = number("ARMWISE_SENDS", 500);
    assert!(sends < 500 || found * 100 >= if runs >= 100 { 80 } else { 60 } * runs, "{found} of {runs}");
}
