//! What is accepted must be usable: whatever a learner learns, takes back, merges or loads, it can choose afterwards.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, Arms, Block, C2ucb, Constraint, Decision, Error, Learner, Model, Observation, Oracle, Round, Scores,
    Selection,
};
use common::{every_variant, pay, rows};
use proptest::prelude::*;

fn c2ucb(lambda: f64) -> Algorithm {
    Algorithm::C2ucb(C2ucb::new(lambda, 1.0))
}

/// A saved learner with these numbers, and a checksum that nobody computed.
fn file(dim: &str, blocks: &str) -> String {
    format!(
        "{{\"format\":\"armwise-learner\",\"version\":2,\"checksum\":\"0000000000000000\",\"learner\":{{\
         \"policy\":{{\"name\":\"c2ucb\",\"lambda\":1.0,\"alpha\":0.1}},\"ties\":\"by-id\",\
         \"model\":{{\"dim\":{dim},\"gamma\":1.0,\"t\":1,\"blocks\":[{blocks}]}},\
         \"ledger\":{{\"open_from\":0,\"rounds\":[]}}}}}}"
    )
}

/// 500 bytes that ask for 3.6e19 bytes of memory ended the process, in Python too.
#[test]
fn a_short_file_that_says_it_is_huge_is_refused_before_anything_is_allocated() {
    let load = |text: &str| Learner::<Algorithm>::from_json(text).map(drop).expect_err("a lie");
    let one = "{\"count\":1,\"b\":[1.0],\"g\":[1.0],\"rr\":1.0}";
    for dim in ["3000000000", "9223372036854775807", "18446744073709551615", "4294967295", "2"] {
        let error = load(&file(dim, one));
        assert!(matches!(&error, Error::BadFormat(text) if text.contains("dim")), "{dim}: {error}");
        load(&file(dim, ""));
    }
    for (dim, block) in [
        ("1", "{\"count\":1,\"b\":[1.0],\"g\":[1.0,1.0]}"),
        ("1", "{\"count\":1,\"b\":[1e251],\"g\":[1.0]}"),
        ("1", "{\"count\":18446744073709551615,\"b\":[1.0],\"g\":[1.0]}"),
    ] {
        let error = load(&file(dim, block));
        assert!(matches!(&error, Error::BadFormat(text) if text.contains("block 0")), "{error}");
    }
    // All that is wrong with this one is its checksum.
    assert!(matches!(load(&file("1", one)), Error::Damaged { .. }));
    for (dim, blocks) in [(3_000_000_000, 1), (usize::MAX, 1), (1 << 15, 1 << 15), (usize::MAX, u32::MAX as usize)] {
        assert!(matches!(Model::new(dim, blocks), Err(Error::Parameter { .. })), "{dim} {blocks}");
    }
}

/// A file of format 2, whose checksum does not cover `next`.
const FORMAT_2: &str = include_str!("data/learner-format-2.json");

#[test]
fn the_round_to_go_on_with_cannot_be_changed_unnoticed() {
    let saved = Learner::new(c2ucb(1.0), 2, 1).expect("parameters");
    let text = saved.to_json_with(Some(Round::new(7, 12))).expect("json");
    assert!(text.contains("\"version\":3"), "{text}");
    let load = |text: &str| Learner::<Algorithm>::from_json_with(text);
    assert_eq!(load(&text).expect("just written").1, Some(Round::new(7, 12)));
    for (from, to) in [("\"t\":12", "\"t\":11"), ("\"seed\":7", "\"seed\":8"), ("\"next\":{\"seed\":7,\"t\":12},", "")]
    {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        assert!(matches!(load(&changed), Err(Error::Damaged { .. })), "{from} {to}");
    }
    let without = saved.to_json().expect("json");
    let added = without.replacen("\"checksum\"", "\"next\":{\"seed\":7,\"t\":12},\"checksum\"", 1);
    assert!(matches!(load(&added), Err(Error::Damaged { .. })));
    // An older file still loads, with what it says, and cannot pass for a newer one.
    let (old, next) = load(FORMAT_2).expect("still readable");
    assert_eq!((next, old.model().blocks()[0].count()), (Some(Round::new(1, 2)), 2));
    assert!(matches!(load(&FORMAT_2.replacen("\"version\":2", "\"version\":3", 1)), Err(Error::Damaged { .. })));
}

#[test]
fn a_saved_g_that_no_observations_have_is_refused() {
    let refused = |lambda: f64, g: Vec<f64>| {
        let block = Block::from_sums(3, vec![0.5, 0.5], g, Some(1.0));
        let model = Model::from_blocks(1.0, 1, vec![Block::from_sums(0, vec![0.0; 2], vec![0.0; 3], None), block]);
        let text = Learner::with_model(c2ucb(lambda), model.expect("finite")).expect("parameters").to_json();
        Learner::<Algorithm>::from_json(&text.expect("json")).map(drop)
    };
    for lambda in [1e-6, 1.0, 10.0] {
        for g in [vec![1.0, 2.0, 1.0], vec![-0.5, 0.0, 1.0], vec![1e6, 0.0, -1.0], vec![0.0, 1.0, 0.0]] {
            let error = refused(lambda, g.clone()).expect_err("not positive semi-definite");
            assert!(matches!(error, Error::NotPositiveDefinite { block: 1, .. }), "{lambda} {g:?}: {error}");
        }
        // Of rank 1, and what rounding leaves after unlearning.
        refused(lambda, vec![1.0, 1.0, 1.0]).expect("one observation");
        refused(lambda, vec![0.1 * 0.1, 0.1 * 0.3, 0.3 * 0.3]).expect("one observation");
        refused(lambda, vec![1e16, 1e16, 1e16]).expect("one large observation");
        refused(lambda, vec![-1e-17, 0.0, 1e-17]).expect("rounding");
    }
}

/// V = I + x x' with |x|^2 = 3e16 cannot be factored in f64 as it stands. The mean at x is known: r |x|^2 / (1 + |x|^2).
#[test]
fn one_huge_observation_leaves_a_learner_that_can_choose() {
    for size in [1e7, 1e8, 1e12, 1e50, 1e100] {
        let mut learner = Learner::new(c2ucb(1.0), 3, 1).expect("parameters");
        let x = [size, -size, size];
        learner.observe(&[Observation { t: 1, block: 0, x: &x, reward: 2.0 }]).expect("in range");
        let arms = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let arms = Arms::new(&arms[..], 3).expect("rows");
        let decision = learner.choose(Round::new(1, 2), &arms, &Constraint::top_k(1)).expect("usable");
        assert!(decision.arms[0].width >= 0.0 && decision.arms[0].score.is_finite());
        let posterior = learner.posterior(0).expect("usable");
        let mean = posterior.mean(&x.map(|x| x / size)) * size;
        assert!((mean - 2.0).abs() < 1e-5, "{size}: {mean}");
        // Directions that were never seen stay uncertain, as far as rounding lets one see.
        assert!(posterior.width(&[1.0, 1.0, 0.0]) > 0.0);
        Learner::<Algorithm>::from_json(&learner.to_json().expect("json")).expect("what is saved can be loaded");
    }
}

/// Taking back a huge reward leaves the rounding of its features in the sums, in which the others are lost.
#[test]
fn a_reward_that_cannot_be_taken_back_is_refused_and_stays() {
    let mut refused = 0;
    for t in 2..40_u32 {
        let mut learner = Learner::new(c2ucb(1.0), 2, 1).expect("parameters");
        let round = Round::new(1, u64::from(t));
        let huge = [1e9, 1.1e9];
        let arms = Arms::new(&huge[..], 2).expect("rows");
        let decision = learner.choose(round, &arms, &Constraint::top_k(1)).expect("usable");
        learner.learn(&decision, &decision.rewards(|_| 1.0)).expect("fresh");
        // Its products lie about half way between two numbers of the size of 1e18.
        let ordinary = [6.0 + 0.1 * f64::from(t), 8.5];
        learner.observe(&[Observation { t: round.t, block: 0, x: &ordinary, reward: 1.0 }]).expect("in range");
        let before = learner.to_json().expect("json");
        match learner.unlearn(&decision, &decision.rewards(|_| 0.0)) {
            Ok(()) => {}
            Err(Error::NotPositiveDefinite { block: 0, .. }) => {
                refused += 1;
                assert_eq!(learner.to_json().expect("json"), before, "nothing changed");
            }
            Err(other) => panic!("{other}"),
        }
        let arms = Arms::new(&ordinary[..], 2).expect("rows");
        learner.choose(round, &arms, &Constraint::top_k(1)).expect("usable");
        Learner::<Algorithm>::from_json(&learner.to_json().expect("json")).expect("what is saved can be loaded");
    }
    assert!(refused > 0, "the case is reached");
}

/// A constraint that does not say that it looks at the best only, so that every arm is scored in f64.
struct Plain(Constraint);

impl Oracle for Plain {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        self.0.argmax(scores)
    }
}

/// Chooses among ordinary arms, and checks the choice against the scores, sorted.
fn choose(learner: &Learner, t: u64, n: usize) -> Decision {
    let (d, k, round) = (learner.model().dim(), 3, Round::new(9, t));
    let x = rows(17, t, n, d);
    let arms = Arms::new(&x, d).expect("rows");
    let decision = learner.choose(round, &arms, &Constraint::top_k(k)).expect("what was accepted is usable");
    let blocks = learner.model().blocks().len();
    let scores = learner.scores(round, &arms).expect("usable");
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&i, &j| {
        scores[j].total_cmp(&scores[i]).then((i / blocks, i % blocks).cmp(&(j / blocks, j % blocks)))
    });
    let best: Vec<u64> = order[..k].iter().map(|&i| scores[i].to_bits()).collect();
    let mut found: Vec<f64> = decision.arms.iter().map(|arm| arm.score).collect();
    found.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(found.iter().map(|score| score.to_bits()).collect::<Vec<_>>(), best);
    decision
}

/// A number of any size that is accepted, zero included.
fn size() -> impl Strategy<Value = f64> {
    let any = (-1.0..1.0_f64, -110.0..=100.0_f64).prop_map(|(share, power)| share * 10.0_f64.powf(power));
    prop_oneof![4 => -1.0..1.0_f64, 2 => any, 1 => Just(0.0), 1 => Just(1e100), 1 => Just(-1e100), 1 => Just(1e8)]
}

#[derive(Debug, Clone)]
enum Step {
    Observe(Vec<(u32, Vec<f64>, f64)>),
    Learn(Vec<f64>),
    Unlearn,
    Correct(f64),
    Forget(f64),
    Merge,
    Save,
    Lambda(f64),
}

fn step() -> impl Strategy<Value = Step> {
    let seen = (0..2_u32, prop::collection::vec(size(), 4), size());
    prop_oneof![
        4 => prop::collection::vec(seen, 1..4).prop_map(Step::Observe),
        4 => prop::collection::vec(size(), 3).prop_map(Step::Learn),
        2 => Just(Step::Unlearn),
        1 => size().prop_map(Step::Correct),
        1 => (0.001..1.0_f64).prop_map(Step::Forget),
        1 => Just(Step::Merge),
        2 => Just(Step::Save),
        1 => (-9.0..6.0_f64).prop_map(|power| Step::Lambda(10.0_f64.powf(power))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_accepted_can_be_chosen_from(
        algorithm in prop::sample::select(every_variant()),
        gamma in prop_oneof![Just(1.0), 0.5..1.0_f64],
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let model = Model::new(4, 2).expect("shape").with_gamma(gamma).expect("gamma");
        let mut learner = Learner::with_model(algorithm, model).expect("parameters");
        let mut last = None;
        for (t, step) in (1..).zip(steps) {
            let decision = choose(&learner, t, 20);
            match step {
                Step::Observe(seen) => {
                    let seen: Vec<_> =
                        seen.iter().map(|(block, x, reward)| Observation { t, block: *block, x, reward: *reward }).collect();
                    learner.observe(&seen).expect("in range");
                }
                Step::Learn(paid) => {
                    let mut paid = paid.into_iter();
                    learner.learn(&decision, &decision.rewards(|_| paid.next().unwrap_or(0.0))).expect("in range");
                    last = Some(decision);
                }
                // Refusing is allowed, losing is not.
                Step::Unlearn => {
                    if let Some(decision) = last.take_if(|last| learner.unlearn(last, &last.rewards(|_| 0.0)).is_ok()) {
                        learner.learn(&decision, &decision.rewards(pay)).expect("retracted rewards may come again");
                        learner.unlearn(&decision, &decision.rewards(pay)).ok();
                    }
                }
                Step::Correct(reward) => {
                    if let Some(last) = &last {
                        learner.correct(last, &last.rewards(|_| reward)).expect("in range");
                    }
                }
                Step::Forget(factor) => learner.forget(factor).expect("in range"),
                Step::Merge => {
                    let other = Learner::with_model(algorithm, learner.model().clone()).expect("parameters");
                    learner.merge(&other).expect("one shape");
                }
                Step::Save => {
                    let text = learner.to_json().expect("json");
                    learner = Learner::from_json(&text).expect("what is saved can be loaded");
                    prop_assert_eq!(learner.to_json().expect("json"), text);
                }
                Step::Lambda(lambda) => {
                    if let Ok(other) = learner.clone().with_policy(c2ucb(lambda)) {
                        learner = other;
                    }
                }
            }
        }
        choose(&learner, 100, 20);
        Learner::<Algorithm>::from_json(&learner.to_json().expect("json")).expect("what is saved can be loaded");
    }
}

/// Where pruning pays, its bounds must bear numbers beyond f32 as well.
#[test]
fn huge_numbers_do_not_mislead_pruning() {
    let (d, n) = (32, 4_200);
    let x = rows(23, 1, n, d);
    let arms = Arms::new(&x, d).expect("rows");
    for size in [1e8, 1e20, 1e38, 1e40, 1e100] {
        for algorithm in every_variant() {
            let mut learner = Learner::new(algorithm, d, 1).expect("parameters");
            for t in 1..=3_u64 {
                let huge: Vec<f64> = rows(24, t, 1, d).into_iter().map(|x| x * size).collect();
                let reward = if t == 2 { size } else { 0.5 };
                learner.observe(&[Observation { t, block: 0, x: &huge, reward }]).expect("in range");
            }
            let choose = |oracle: &dyn Oracle| learner.choose(Round::new(1, 5), &arms, oracle).expect("usable").arms;
            let top = Constraint::top_k(5);
            assert_eq!(choose(&top), choose(&Plain(top.clone())), "{size} {}", algorithm.name());
        }
    }
}
