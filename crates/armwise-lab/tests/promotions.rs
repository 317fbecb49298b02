//! The sending promotion problem: every tuned algorithm is far above random choice. No ordering is asserted.
//!
//! The real ml-1m is used where `ARMWISE_ML1M` names its folder; its terms forbid to keep it
//! here.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
#![allow(clippy::print_stdout, reason = "shown with --nocapture")]

use std::path::Path;

use armwise_lab::{
    data::{Customers, Generated, Ratings, Variant},
    grid::Grid,
    play::{Detail, Feedback, Sample},
    session::{Job, Session, Silent, Store},
    world::{Promotions, Purpose, Reading, Trial},
};

/// Tunes on one split and evaluates on another.
fn check(ratings: &Ratings, variant: Variant, reading: Reading) {
    let (k, n) = (50, 5_000);
    let grid = Grid::new(&[-2, 0]).unwrap();
    let split = |number| Customers::new(ratings, variant, 10, 3, number).unwrap();
    let (tuning, fresh) = ([split(0)], [split(1)]);
    let session = Session::new(2, Store::none(), &Silent);
    let play = |customers: &[Customers], purpose, settings| -> Vec<Sample> {
        let world = Promotions::new(customers, 3, reading, k, n, 20).unwrap();
        let trials = Trial::of(3, purpose, 2);
        let job = Job { world: &world, trials, settings, feedback: Feedback::AT_ONCE, detail: Detail::Totals };
        session.play("test", &[job]).unwrap().swap_remove(0)
    };
    let total = |samples: &[Sample], place: usize| samples.iter().map(|s| s.played[place].total_reward()).sum::<f64>();
    let tuned = play(&tuning, Purpose::Tuning, grid.runs.clone());
    let chosen: Vec<usize> = grid
        .algorithms
        .iter()
        .map(|(_, candidates)| {
            let runs = candidates.iter().map(|candidate| candidate.run);
            runs.reduce(|a, b| if total(&tuned, b) > total(&tuned, a) { b } else { a }).unwrap()
        })
        .collect();
    let evaluated = play(&fresh, Purpose::Evaluation, chosen.iter().map(|&run| grid.runs[run]).collect());
    let random = total(&evaluated, 7);
    assert!(random > 0.0);
    let best: f64 = evaluated.iter().map(Sample::total_best).sum();
    for (place, (name, _)) in grid.algorithms.iter().enumerate().take(7) {
        let reward = total(&evaluated, place);
        println!("{variant} {reading} {name}: {:.2} times random", reward / random);
        assert!(reward >= 5.0 * random, "{variant}, {reading}, {name}: {reward} against {random}");
        assert!(reward <= best, "{variant}, {reading}, {name}: {reward} above the best possible {best}");
    }
}

fn check_all(ratings: &Ratings) {
    check(ratings, Variant::Svd, Reading::Independent);
    check(ratings, Variant::Svd, Reading::Disjoint);
    check(ratings, Variant::Als, Reading::Disjoint);
}

#[test]
fn tuned_algorithms_are_five_times_random_on_generated_ratings() {
    let ratings = Ratings::generate(&Generated { users: 10_000, movies: 3_000, ratings: 700_000 }, 3).unwrap();
    check_all(&ratings);
}

#[test]
fn tuned_algorithms_are_five_times_random_on_ml_1m() {
    let Some(folder) = std::env::var_os("ARMWISE_ML1M") else {
        return println!("skipped: ARMWISE_ML1M does not name a folder with ml-1m");
    };
    let ratings = Ratings::read(&Path::new(&folder).join("ratings.dat")).unwrap();
    check_all(&ratings);
}
