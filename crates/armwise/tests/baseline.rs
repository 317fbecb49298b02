//! Uplift as the score: a block that stands for doing nothing, and rewards in another unit.
//!
//! The reference is made from the posteriors of single blocks, which know nothing of differences: independent errors add
//! up like the legs of a right triangle.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use armwise::{
    Algorithm, ArmWiseTs, Arms, Assignment, C2ucb, Constraint, Greedy, Learner, Model, Observation, Policy, Quota,
    Round, RoundWiseTs, Stream,
};

const DIM: usize = 5;

fn noise(id: u64, stream: u32) -> f64 {
    Round::new(11, 3).draws(0, Stream(500 + stream)).normal(id)
}

fn rows(count: u64) -> Vec<f64> {
    (0..count * DIM as u64).map(|id| noise(id, 1) / 3.0).collect()
}

/// Three blocks with different numbers of observations.
fn model() -> Model {
    let mut model = Model::new(DIM, 3).unwrap();
    let x = rows(90);
    for (place, x) in x.chunks(DIM).enumerate() {
        let block = [0, 0, 0, 1, 1, 2][place % 6];
        let reward = x[0] * f64::from(block) - x[1] + 0.3 * noise(place as u64, 2);
        model.observe(&Observation { t: 1, block, x, reward }).unwrap();
    }
    model
}

#[test]
fn a_difference_has_the_difference_of_means_and_the_sum_of_variances() {
    let (model, x) = (model(), rows(40));
    for lambda in [1e-3, 1.0, 50.0] {
        let of = |block| model.posterior(block, lambda).unwrap();
        let less = of(0).less(&of(2)).unwrap();
        for x in x.chunks(DIM) {
            let (mean, width) = (of(0).mean(x) - of(2).mean(x), of(0).width(x).hypot(of(2).width(x)));
            assert!((less.mean(x) - mean).abs() < 1e-12 && (less.width(x) / width - 1.0).abs() < 1e-9, "{lambda}");
            let times = less.times(3.0).unwrap();
            assert!((times.mean(x) - 3.0 * mean).abs() < 1e-12 && (times.width(x) / width / 3.0 - 1.0).abs() < 1e-9);
        }
        assert_eq!(less.count(), of(0).count());
    }
    let narrow = Model::new(2, 1).unwrap().posterior(0, 1.0).unwrap();
    assert!(narrow.less(&model.posterior(0, 1.0).unwrap()).is_err() && narrow.times(0.0).is_err());
}

/// Every algorithm scores the difference by its own formula, and pruning does not change who is chosen.
#[test]
fn arms_are_chosen_by_what_they_bring_beyond_doing_nothing() {
    let (model, x, round) = (model(), rows(3000), Round::new(5, 2));
    let arms = Arms::new(&x[..], DIM).unwrap();
    let algorithms = [
        Algorithm::Greedy(Greedy::new(1.0)),
        Algorithm::C2ucb(C2ucb::new(1.0, 0.5)),
        Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.3)),
        Algorithm::RoundWiseTs(RoundWiseTs::new(1.0, 0.3)),
    ];
    for algorithm in algorithms {
        let learner = Learner::with_model(algorithm, model.clone()).unwrap().with_baseline().unwrap();
        let learner = learner.with_values(vec![1.0, 2.0]).unwrap();
        let shifts = [[0.1, 0.0, 0.0, -0.2, 0.0], [0.0; DIM]].map(|shift| shift.to_vec());
        let learner = learner.with_shifts(shifts.to_vec()).unwrap();
        let scores = learner.scores(round, &arms).unwrap();
        assert_eq!(scores.len(), 2 * arms.len(), "doing nothing is not a choice");
        let of = |block| model.posterior(block, algorithm.ridge()).unwrap();
        let posteriors = [of(0), of(1), of(2)];
        let decision = learner.choose(round, &arms, &Constraint::top_k(50)).unwrap();
        for arm in &decision.arms {
            let (own, base) = (&posteriors[arm.block as usize], &posteriors[2]);
            let value = f64::from(arm.block + 1);
            let shift = if arm.block == 0 { 0.1 * arm.features[0] - 0.2 * arm.features[3] } else { 0.0 };
            let mean = value * (own.mean(&arm.features) - base.mean(&arm.features)) + shift;
            let width = value * own.width(&arm.features).hypot(base.width(&arm.features));
            assert!((arm.mean - mean).abs() < 1e-10 && (arm.width - width).abs() < 1e-9 * width);
            match algorithm {
                Algorithm::Greedy(_) => assert!((arm.score - mean).abs() < 1e-10),
                Algorithm::C2ucb(_) => assert!((arm.score - mean - 0.5 * width).abs() < 1e-9),
                Algorithm::ArmWiseTs(_) => {
                    assert!((arm.score - mean - 0.3 * arm.draw.unwrap() * width).abs() < 1e-9);
                }
                _ => {}
            }
        }
        let mut best: Vec<usize> = (0..scores.len()).collect();
        best.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let mut expected: Vec<(u64, u32)> =
            best[..50].iter().map(|place| (*place as u64 / 2, *place as u32 % 2)).collect();
        let mut chosen: Vec<(u64, u32)> = decision.arms.iter().map(|arm| (arm.id, arm.block)).collect();
        expected.sort_unstable();
        chosen.sort_unstable();
        assert_eq!(chosen, expected);
        // In parts, with quotas, and after a saved file: the same.
        let quotas = Constraint::Assignment(Assignment::new(vec![Quota::Exactly(30), Quota::Exactly(20)]));
        let whole = learner.choose(round, &arms, &quotas).unwrap();
        let loaded = Learner::<Algorithm>::from_json(&learner.to_json().unwrap()).unwrap();
        assert_eq!(loaded.choose(round, &arms, &quotas).unwrap(), whole);
        let mut parts = learner.choosing(round, &quotas).unwrap();
        for part in [0..1000, 1000..1700, 1700..3000] {
            parts.add(&arms.slice(part)).unwrap();
        }
        parts.prove().unwrap();
        assert_eq!(parts.finish().unwrap().objective.to_bits(), whole.objective.to_bits());
    }
}

#[test]
fn a_baseline_needs_another_block_and_a_value_for_each() {
    let one = Learner::new(Greedy::new(1.0), 2, 1).unwrap();
    assert!(one.with_baseline().is_err());
    let two = Learner::new(Greedy::new(1.0), 2, 2).unwrap().with_baseline().unwrap();
    assert!(two.clone().with_values(vec![1.0, 1.0]).is_err() && two.clone().with_values(vec![-1.0]).is_err());
    assert!(two.clone().with_values(vec![2.0]).is_ok());
    assert!(two.clone().with_shifts(vec![vec![1.0]]).is_err() && two.clone().with_shifts(Vec::new()).is_err());
    assert!(
        two.clone().with_shifts(vec![vec![f64::NAN, 0.0]]).is_err() && two.with_shifts(vec![vec![1.0, 0.0]]).is_ok()
    );
}
