//! The k best arms.

use crate::common::{Instance, Rng, floors_hold, instance, order_does_not_matter, parts_suffice};
use armwise::{Arms, Error, Infeasible, Oracle, Round, Scores, Ties, TopK};
use std::time::Instant;

fn random(rng: &mut Rng) -> (Instance, TopK) {
    let blocks = 1 + rng.below(2);
    let rows = 1 + rng.below(10 / blocks);
    (instance(rng, rows, blocks), TopK { at_most: rng.below(2) == 0, ..TopK::exactly(1 + rng.below(8)) })
}

#[test]
fn top_k_is_exact_on_random_instances() {
    let mut rng = Rng(51);
    for _ in 0..3_000 {
        let (instance, top_k) = random(&mut rng);
        let fits = |count: usize| if top_k.at_most { count <= top_k.k } else { count == top_k.k };
        let best = instance.best(|set| fits(set.len()));
        match instance.with(|scores| top_k.argmax(scores)) {
            Ok(found) => {
                assert_eq!(Some(found.objective), best);
                // The arms are the first ones in the full order of score and tie rule.
                let mut arms = instance.eligible();
                instance.with(|scores| arms.sort_by(|&a, &b| scores.rank(a, b)));
                arms.truncate(top_k.k);
                arms.retain(|&arm| !top_k.at_most || instance.score(arm) > 0.0);
                let mut chosen = found.arms.clone();
                instance.with(|scores| chosen.sort_by(|&a, &b| scores.rank(a, b)));
                assert_eq!(chosen, arms, "{instance:?} {top_k:?}");
            }
            Err(error) => {
                let eligible = instance.eligible().len();
                assert!(eligible < top_k.k && !top_k.at_most);
                assert_eq!(error, Error::Infeasible(Infeasible::TooFewArms { needed: top_k.k, eligible }));
            }
        }
        order_does_not_matter(&top_k, &instance, &mut rng);
        floors_hold(&top_k, &instance, &mut rng);
        parts_suffice(&top_k, &instance, &mut rng);
    }
}

/// Streaming: 5e6 scores far faster than a sort, in any order; the full size of 1e8 is in the benchmark.
#[test]
fn top_k_streams_through_millions_of_scores() {
    let n = 5_000_000;
    let features = vec![0.0_f32; n];
    let arms = Arms::new(&features, 1).unwrap();
    let mut rng = Rng(52);
    let mut values: Vec<f64> = (0..n).map(|_| rng.unit()).collect();
    for order in 0..3 {
        match order {
            1 => values.sort_unstable_by(f64::total_cmp),
            2 => values.iter_mut().for_each(|value| *value = (*value * 4.0).floor()),
            _ => {}
        }
        let scores = Scores::new(&values, 1, arms, Ties::ById, Round::new(1, 1)).unwrap();
        let started = Instant::now();
        let found = TopK::exactly(1_000).argmax(&scores).unwrap();
        let seconds = started.elapsed().as_secs_f64();
        assert_eq!(found.arms.len(), 1_000);
        assert!(seconds < 1.0, "order {order}: {seconds} s");
        let worst = found.arms.iter().map(|&arm| scores.get(arm)).fold(f64::INFINITY, f64::min);
        let above = values.iter().filter(|&&value| value > worst).count();
        assert!(above < 1_000 && values.iter().filter(|&&value| value >= worst).count() >= 1_000);
    }
}

#[test]
fn fill_takes_what_there_is_and_says_what_is_missing() {
    let features = [0.0; 3];
    let arms = armwise::Arms::new(&features[..], 1).unwrap();
    let values = [0.5, f64::NEG_INFINITY, -0.5];
    let round = armwise::Round::new(1, 1);
    let scores = armwise::Scores::new(&values, 1, arms, armwise::Ties::ById, round).unwrap();
    let fill = TopK { on_infeasible: armwise::OnInfeasible::Fill, ..TopK::exactly(3) };
    let found = fill.argmax(&scores).unwrap();
    assert_eq!(found.arms.len(), 2);
    assert_eq!(found.missing, [armwise::Missing { of: armwise::Limit::K, needed: 3, chosen: 2 }]);
    assert!(TopK::exactly(3).argmax(&scores).is_err());
}
