//! The clustered case against reference values of an independent implementation, and what the paper says of it.
//!
//! Bounds are numbers of standard errors, stated beside them; all seeds are fixed.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use armwise::{Algorithm, ArmWiseTs, C2ucb, Greedy, Pc2ucb, RoundWiseTs, Ties};
use armwise_lab::{
    grid::{Grid, PAPER},
    play::{Detail, Feedback, Sample, Setting},
    results::Mean,
    session::{Job, Session, Silent, Store},
    stats::Units,
    world::{Clustered, Purpose, Trial, World},
};

fn settings() -> [Setting; 6] {
    let lambda = 1.0;
    let c2ucb = Algorithm::C2ucb(C2ucb::new(lambda, 0.1));
    [
        Setting::by_id(Algorithm::Greedy(Greedy::new(lambda))),
        Setting::by_id(c2ucb),
        Setting { ties: Ties::Random, ..Setting::by_id(c2ucb) },
        Setting::by_id(Algorithm::Pc2ucb(Pc2ucb::new(lambda, 0.1, 1.0))),
        Setting::by_id(Algorithm::RoundWiseTs(RoundWiseTs::new(lambda, 0.1))),
        Setting::by_id(Algorithm::ArmWiseTs(ArmWiseTs::new(lambda, 0.1))),
    ]
}

fn play(worlds: &[Clustered], seed: u64, trials: usize, settings: &[Setting], detail: Detail) -> Vec<Vec<Sample>> {
    let job = |world| Job {
        world: world as &dyn World,
        trials: Trial::of(seed, Purpose::Evaluation, trials),
        settings: settings.to_vec(),
        feedback: Feedback::AT_ONCE,
        detail,
    };
    let jobs: Vec<Job<'_>> = worlds.iter().map(job).collect();
    Session::new(2, Store::none(), &Silent).play("test", &jobs).unwrap()
}

fn mean(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Mean {
    Units::new(&samples.iter().map(value).collect::<Vec<_>>(), 1).mean()
}

/// Mean and standard error over 4,000 trials of an independent implementation, at pi/4 and pi/2.
const REFERENCE: [[(f64, f64); 2]; 6] = [
    [(235.9, 3.9), (367.5, 2.6)],
    [(129.8, 3.8), (227.4, 2.8)],
    [(233.9, 3.9), (367.5, 2.6)],
    [(237.8, 3.9), (370.2, 2.5)],
    [(139.5, 3.9), (234.2, 2.9)],
    [(242.1, 3.9), (372.9, 2.5)],
];
const ORACLE: [f64; 2] = [338.9, 476.0];

#[test]
fn rewards_meet_the_reference_within_four_combined_standard_errors() {
    let worlds = [Clustered::paper(FRAC_PI_4), Clustered::paper(FRAC_PI_2)];
    let samples = play(&worlds, 2026, 2_000, &settings(), Detail::Totals);
    for (at, samples) in samples.iter().enumerate() {
        let oracle = mean(samples, Sample::total_best);
        // The reference has no standard error of its own here; 4,000 trials have 1/sqrt(2) of ours.
        assert!(
            (oracle.mean - ORACLE[at]).abs() <= 4.0 * oracle.se.unwrap() * 1.5f64.sqrt(),
            "oracle {at}: {oracle:?}"
        );
        for (place, reference) in REFERENCE.iter().enumerate() {
            let (expected, se) = reference[at];
            let found = mean(samples, |sample| sample.played[place].total_reward());
            let distance = (found.mean - expected).abs() / found.se.unwrap().hypot(se);
            assert!(distance <= 4.0, "{:?} at {at}: {found:?}, expected {expected} +- {se}", settings()[place]);
        }
    }
}

/// Section IV-A: "all arms in the super arm belong to the same cluster"; section V: "arms from different clusters".
#[test]
fn clusters_touched_in_the_first_round() {
    let samples = play(&[Clustered::paper(FRAC_PI_4)], 7, 200, &settings(), Detail::Rounds).swap_remove(0);
    let touched = |place: usize| samples.iter().map(move |sample: &Sample| sample.played[place].clusters[0]);
    for place in [1, 4] {
        assert!(touched(place).all(|clusters| clusters == 1), "{:?}", settings()[place]);
    }
    for place in [0, 2, 3, 5] {
        let mean = f64::from(touched(place).sum::<u32>()) / 200.0;
        assert!(mean >= 9.9, "{:?}: {mean}", settings()[place]);
    }
}

/// The grid of CombLinUCB contains that of C2UCB, so its best average on the same trials is at least as high.
#[test]
fn tuned_comblin_ucb_is_at_least_tuned_c2ucb_on_shared_trials() {
    let grid = Grid::new(&PAPER).unwrap();
    let samples = play(&[Clustered::paper(FRAC_PI_4)], 5, 5, &grid.runs, Detail::Totals).swap_remove(0);
    let best = |name: &str| {
        let means =
            grid.of(name).unwrap().iter().map(|c| mean(&samples, |sample| sample.played[c.run].total_reward()).mean);
        means.fold(f64::MIN, f64::max)
    };
    assert!(best("comblin-ucb") >= best("c2ucb"));
    // Also when played under its own name, not by its stand-in.
    let tuned = |name: &str| {
        let mean = |run: usize| mean(&samples, |sample| sample.played[run].total_reward()).mean;
        grid.of(name).unwrap().iter().reduce(|a, b| if mean(b.run) > mean(a.run) { b } else { a }).unwrap().clone()
    };
    let chosen = tuned("comblin-ucb");
    let p = |name: &str| chosen.params[name];
    let wen = armwise::CombLinUcb { lambda2: p("lambda2"), sigma2: p("sigma2"), c: p("c") };
    let own = play(&[Clustered::paper(FRAC_PI_4)], 5, 5, &[Setting::by_id(Algorithm::CombLinUcb(wen))], Detail::Totals);
    let own = mean(&own[0], |sample| sample.played[0].total_reward()).mean;
    assert!((own - best("comblin-ucb")).abs() < 1e-9, "{own} {}", best("comblin-ucb"));
}
