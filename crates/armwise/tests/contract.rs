//! What every algorithm must hold to: the same bits whatever the threads, chunks, row order and storage.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, Arms, Column, Constraint, Error, Infeasible, Learner, Limit, Names, Oracle, Randomness, Reward, Round,
    Scores, Selection, Ties, TopK,
};
use common::{bits, chosen, every_algorithm, every_variant, pay, rows, trained};

const D: usize = 7;
const N: usize = 3_000;
const BLOCKS: usize = 3;

/// Rows whose values are exact in f32, so that both storages hold the same numbers.
fn single(seed: u64) -> (Vec<f32>, Vec<f64>) {
    let x: Vec<f32> = rows(seed, 1, N, D).iter().map(|&x| x as f32).collect();
    let wide = x.iter().map(|&x| f64::from(x)).collect();
    (x, wide)
}

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    let (_, x) = single(1);
    for algorithm in every_variant() {
        let run = || {
            let learner = trained(algorithm, D, BLOCKS, 4);
            let arms = Arms::new(&x, D).expect("rows");
            let decision = learner.choose(Round::new(2, 9), &arms, &Constraint::top_k(50)).expect("arms");
            (bits(&decision), learner.to_json().expect("json"))
        };
        assert_eq!(in_pool(1, run), in_pool(2, run), "{}", algorithm.name());
    }
}

#[test]
fn chunks_give_the_same_bits() {
    let (_, x) = single(2);
    for algorithm in every_variant() {
        let learner = trained(algorithm, D, BLOCKS, 4);
        let (round, constraint) = (Round::new(2, 9), Constraint::top_k(50));
        let arms = Arms::new(&x, D).expect("rows");
        let scores = learner.scores(round, &arms).expect("scores");
        let whole = learner.choose(round, &arms, &constraint).expect("arms");
        for chunk in [1, 7, 64, 500] {
            let mut choosing = learner.choosing(round, &constraint).expect("factors");
            let mut parts = Vec::new();
            for first in (0..N).step_by(chunk) {
                let part = arms.slice(first..N.min(first + chunk));
                parts.extend(learner.scores(round, &part).expect("scores"));
                choosing.add(&part).expect("part");
            }
            let same = scores.iter().zip(&parts).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{}: scores in chunks of {chunk}", algorithm.name());
            let decision = choosing.finish().expect("decision");
            assert_eq!(bits(&whole), bits(&decision), "{}: choice in chunks of {chunk}", algorithm.name());
        }
    }
}

/// Parts carry names, columns and masks, and say what the whole would say, also where nothing can be chosen.
#[test]
fn parts_are_the_whole_in_every_respect() {
    let (_, x) = single(11);
    let names = Names::new((0..N).map(|row| format!("customer-{row}"))).expect("unique");
    let costs: Vec<f64> = (0..N).map(|row| row as f64).collect();
    let pairs: Vec<f64> = (0..N * BLOCKS).map(|place| place as f64).collect();
    let columns = [Column { name: "cost", values: &costs }, Column { name: "pair", values: &pairs }];
    let nobody = vec![false; N];
    let all =
        Arms::new(&x, D).expect("rows").with_names(&names).expect("names").with_columns(&columns).expect("columns");
    let closed = all.with_eligible(&nobody).expect("mask");
    // Nothing has been learned and alpha is 0, so no score is positive.
    let algorithm = armwise::Algorithm::C2ucb(armwise::C2ucb::new(1.0, 0.0));
    let learner = Learner::new(algorithm, D, BLOCKS).expect("parameters");
    let trained = trained(every_algorithm()[6], D, BLOCKS, 3);
    for learner in [&learner, &trained] {
        for arms in [all, closed] {
            for constraint in [Constraint::top_k(9), Constraint::TopK(TopK::at_most(9)), Constraint::top_k(10_000)] {
                let round = Round::new(6, 5);
                let seen = Cheapest(constraint);
                let mut choosing = learner.choosing(round, &seen).expect("factors");
                (0..N)
                    .step_by(700)
                    .for_each(|first| choosing.add(&arms.slice(first..N.min(first + 700))).expect("part"));
                assert_eq!(choosing.finish(), learner.choose(round, &arms, &seen));
            }
        }
    }
    let constraint = Constraint::top_k(9);
    let mut choosing = learner.choosing(Round::new(6, 5), &constraint).expect("factors");
    let bare = Arms::new(&x, D).expect("rows");
    choosing.add(&bare.slice(0..100)).expect("part");
    assert!(matches!(choosing.add(&bare.slice(50..200)), Err(Error::DuplicateId { id: 50, first: 50, second: 0 })));
    assert!(choosing.add(&all.slice(100..200)).is_err(), "other columns");
    choosing.add(&bare.slice(100..N)).expect("the refused parts left no trace");
    assert_eq!(choosing.finish(), learner.choose(Round::new(6, 5), &bare, &constraint));
    let empty = learner.choosing(Round::new(6, 5), &constraint).expect("factors");
    assert_eq!(empty.finish(), Err(Error::NoArms));
}

/// Passes on to a constraint, but only if every row's columns stand beside it as they should.
struct Cheapest(Constraint);

impl Cheapest {
    fn check(scores: &Scores<'_>) {
        let arms = scores.keys();
        let ((costs, 1), (pairs, BLOCKS)) = (arms.column("cost").expect("cost"), arms.column("pair").expect("pair"))
        else {
            panic!("columns changed their shape");
        };
        for row in 0..scores.len() {
            assert_eq!(arms.name(row), Some(format!("customer-{}", costs[row]).as_str()));
            assert!((pairs[row * BLOCKS + 1] - (costs[row] * BLOCKS as f64 + 1.0)).abs() < 0.5);
        }
    }
}

impl Oracle for Cheapest {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        Self::check(scores);
        self.0.argmax(scores)
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        Self::check(part);
        self.0.candidates(part)
    }
}

/// Where parts dropped rows, a reason says among how many it counts; the reason itself still excludes every super arm.
#[test]
fn reasons_from_parts_say_what_they_count() {
    let x = vec![1.0; 4_000];
    let region: Vec<f64> = (0..4_000).map(|row| f64::from(row < 3_000)).collect();
    let columns = [Column { name: "region", values: &region }];
    let arms = Arms::new(&x, 1).expect("rows").with_columns(&columns).expect("columns");
    let learner = Learner::new(every_algorithm()[0], 1, 1).expect("parameters");
    // At most 5 of region 1 and 1,010 in all, but only 1,000 elsewhere.
    let json = r#"{"kind": "quotas", "min": 1010, "groups": [{"column": "region", "value": 1, "max": 5}]}"#;
    let constraint: Constraint = serde_json::from_str(json).expect("a constraint");
    let round = Round::new(6, 5);
    let whole = Infeasible::GroupMinimum { group: Limit::Min, needed: 1_010, eligible: 4_000, choosable: 1_005 };
    assert_eq!(learner.choose(round, &arms, &constraint), Err(Error::Infeasible(whole)));
    let mut choosing = learner.choosing(round, &constraint).expect("factors");
    (0..4_000).step_by(500).for_each(|first| choosing.add(&arms.slice(first..first + 500)).expect("part"));
    let Err(Error::Infeasible(reason)) = choosing.finish() else { panic!("1,005 arms cannot be 1,010") };
    let text = reason.to_string();
    let Infeasible::AmongCandidates { kept, rows: 4_000, of_kept } = reason else { panic!("{reason:?}") };
    let Infeasible::GroupMinimum { needed: 1_010, eligible, choosable: 1_005, .. } = *of_kept else {
        panic!("{of_kept:?}")
    };
    assert!(eligible <= kept && kept < 4_000, "{eligible} {kept}");
    assert!(text.contains(&format!("among the {kept} candidates kept of 4000 rows")), "{text}");
}

#[test]
fn row_order_does_not_matter_when_rows_have_ids() {
    let (_, x) = single(3);
    let permuted: Vec<usize> = (0..N).map(|i| (i * 1_777 + 5) % N).collect();
    let y: Vec<f64> = permuted.iter().flat_map(|&row| x[row * D..(row + 1) * D].to_vec()).collect();
    let ids: Vec<u64> = (0..N as u64).map(|i| i * 31 + 7).collect();
    let permuted_ids: Vec<u64> = permuted.iter().map(|&row| ids[row]).collect();
    for ties in [Ties::ById, Ties::Random] {
        for algorithm in every_variant() {
            let learner = trained(algorithm, D, BLOCKS, 4).with_ties(ties);
            let choose = |x: &Vec<f64>, ids: &[u64]| {
                let arms = Arms::new(x, D).expect("rows").with_ids(ids).expect("unique");
                bits(&learner.choose(Round::new(2, 9), &arms, &Constraint::top_k(50)).expect("arms"))
            };
            assert_eq!(choose(&x, &ids), choose(&y, &permuted_ids), "{}", algorithm.name());
        }
    }
}

#[test]
fn f32_and_f64_storage_give_the_same_bits() {
    let (narrow, wide) = single(4);
    for algorithm in every_variant() {
        let learner = trained(algorithm, D, BLOCKS, 4);
        let (round, constraint) = (Round::new(2, 9), Constraint::top_k(50));
        let a = learner.choose(round, &Arms::new(&narrow, D).expect("rows"), &constraint).expect("arms");
        let b = learner.choose(round, &Arms::new(&wide, D).expect("rows"), &constraint).expect("arms");
        assert_eq!(bits(&a), bits(&b), "{}", algorithm.name());
    }
}

#[test]
fn the_explanation_of_a_chosen_arm_is_the_score_that_chose_it() {
    let (_, x) = single(5);
    let arms = Arms::new(&x, D).expect("rows");
    for algorithm in every_variant() {
        let learner = trained(algorithm, D, BLOCKS, 4);
        let scores = learner.scores(Round::new(2, 9), &arms).expect("scores");
        let decision = learner.choose(Round::new(2, 9), &arms, &Constraint::top_k(50)).expect("arms");
        for arm in &decision.arms {
            let score = scores[arm.id as usize * BLOCKS + arm.block as usize];
            assert_eq!(score.to_bits(), arm.score.to_bits(), "{}", algorithm.name());
        }
    }
}

/// Deterministic policies differ by seed only where ties or a first round are drawn, so they are left out.
#[test]
fn different_seeds_differ_and_the_same_seed_does_not() {
    let (_, x) = single(6);
    let arms = Arms::new(&x, D).expect("rows");
    for algorithm in every_variant() {
        let learner = trained(algorithm, D, BLOCKS, 4);
        let choose = |seed| chosen(&learner.choose(Round::new(seed, 9), &arms, &Constraint::top_k(50)).expect("arms"));
        assert_eq!(choose(1), choose(1));
        let deterministic = algorithm.description().randomness == Randomness::None;
        assert_eq!(choose(1) == choose(2), deterministic, "{}", algorithm.name());
    }
    let fresh = Learner::new(every_algorithm()[0], D, 1).expect("greedy");
    let choose = |seed| chosen(&fresh.choose(Round::new(seed, 1), &arms, &Constraint::top_k(50)).expect("arms"));
    assert_ne!(choose(1), choose(2), "greedy draws in its first round");
    // The list says so of these three, and of no other of the paper's.
    let says = |name: &&str| Algorithm::describe(name).expect("known").randomness == Randomness::None;
    let eight = &Algorithm::NAMES[..8];
    assert_eq!(eight.iter().copied().filter(says).collect::<Vec<_>>(), ["greedy", "comblin-ucb", "c2ucb"]);
}

#[test]
fn two_halves_merged_are_the_whole() {
    for algorithm in every_variant() {
        let mut whole = Learner::new(algorithm, D, BLOCKS).expect("parameters");
        let mut halves = [whole.clone(), whole.clone()];
        for t in 1..=6 {
            let x = rows(8, t, 40, D);
            let arms = Arms::new(&x, D).expect("rows");
            let decision = whole.choose(Round::new(8, t), &arms, &Constraint::top_k(10)).expect("arms");
            let rewards = decision.rewards(pay);
            whole.learn(&decision, &rewards).expect("fresh");
            halves[(t % 2) as usize].learn(&decision, &rewards).expect("fresh");
        }
        let mut merged = halves[0].model().clone();
        merged.merge(halves[1].model()).expect("same shape");
        for (a, b) in merged.blocks().iter().zip(whole.model().blocks()) {
            assert_eq!(a.count(), b.count());
            let sums = a.g().iter().chain(a.b()).zip(b.g().iter().chain(b.b()));
            for (a, b) in sums {
                assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{}: {a} {b}", algorithm.name());
            }
        }
    }
}

#[test]
fn saved_and_loaded_learners_choose_the_same_bits() {
    let (_, x) = single(7);
    let arms = Arms::new(&x, D).expect("rows");
    for algorithm in every_variant() {
        let learner = trained(algorithm, D, BLOCKS, 5).with_ties(Ties::Random);
        let loaded: Learner = Learner::from_json(&learner.to_json().expect("json")).expect("just written");
        assert_eq!(loaded.model(), learner.model());
        let choose =
            |learner: &Learner| bits(&learner.choose(Round::new(3, 11), &arms, &Constraint::top_k(20)).expect("arms"));
        assert_eq!(choose(&learner), choose(&loaded), "{}", algorithm.name());
    }
}

/// Exactly equal scores: by id the smaller ids win, at random a fair draw that is new in every round and seed, the
/// same whatever the row order and the parts.
#[test]
fn ties_are_broken_by_rule() {
    let x = vec![0.5; 1_000];
    let ids: Vec<u64> = (0..1_000).map(|row| (row * 617 + 3) % 1_000).collect();
    let arms = Arms::new(&x, 1).expect("rows").with_ids(&ids).expect("unique");
    let algorithm = armwise::Algorithm::C2ucb(armwise::C2ucb::new(1.0, 1.0));
    let learner = |ties| Learner::new(algorithm, 1, 1).expect("parameters").with_ties(ties);
    let constraint = Constraint::top_k(100);
    let choose = |ties, seed, t| -> Vec<u64> {
        let learner = learner(ties);
        let round = Round::new(seed, t);
        let decision = learner.choose(round, &arms, &constraint).expect("arms");
        let mut choosing = learner.choosing(round, &constraint).expect("factors");
        (0..10).rev().for_each(|part| choosing.add(&arms.slice(part * 100..(part + 1) * 100)).expect("part"));
        assert_eq!(choosing.finish().expect("arms"), decision);
        decision.arms.iter().map(|arm| arm.id).collect()
    };
    assert_eq!(choose(Ties::ById, 1, 1), (0..100).collect::<Vec<u64>>());
    let random = choose(Ties::Random, 1, 1);
    assert_eq!(random, choose(Ties::Random, 1, 1));
    // 100 of 1,000 at random: two such sets share 10 on average, standard deviation below 3; by id they share all.
    for other in [choose(Ties::Random, 1, 2), choose(Ties::Random, 2, 1), choose(Ties::ById, 1, 1)] {
        let shared = random.iter().filter(|id| other.contains(id)).count();
        assert!(shared < 25, "{shared} of 100 shared");
    }
    let mean = random.iter().sum::<u64>() as f64 / 100.0;
    assert!((mean - 499.5).abs() < 5.0 * 28.9, "mean id {mean}");
}

/// An arm that is not eligible is never chosen, by row or by row and block, in slices too.
#[test]
fn eligible_masks_are_kept() {
    let (_, x) = single(8);
    let by_row: Vec<bool> = (0..N).map(|row| row % 3 == 0).collect();
    let by_pair: Vec<bool> = (0..N * BLOCKS).map(|place| (place / BLOCKS + place % BLOCKS).is_multiple_of(4)).collect();
    for algorithm in every_variant() {
        let learner = trained(algorithm, D, BLOCKS, 3);
        let choose = |mask: &[bool], first: usize| {
            let arms = Arms::new(&x, D).expect("rows").with_eligible(mask).expect("mask").slice(first..N);
            chosen(&learner.choose(Round::new(3, 11), &arms, &Constraint::top_k(60)).expect("arms"))
        };
        for first in [0, 100] {
            assert!(choose(&by_row, first).iter().all(|(id, _)| id % 3 == 0 && *id >= first as u64));
            assert!(choose(&by_pair, first).iter().all(|(id, block)| (id + u64::from(*block)) % 4 == 0));
        }
    }
}

/// Names are hashed for draws only; a decision and its rewards speak of names.
#[test]
fn names_go_all_the_way_round() {
    let names = Names::new((0..N).map(|row| format!("customer-{row}"))).expect("unique");
    let (_, x) = single(9);
    for algorithm in every_variant() {
        let mut learner = Learner::new(algorithm, D, 1).expect("parameters");
        let arms = Arms::new(&x, D).expect("rows").with_names(&names).expect("as many");
        let decision = learner.choose(Round::new(1, 1), &arms, &Constraint::top_k(5));
        let decision = decision.expect("arms");
        let name = decision.arms[0].name.clone().expect("named");
        assert_eq!(decision.arms[0].id, armwise::id_of(&name));
        learner.learn(&decision, &[Reward::named(&name, 0, 1.0)]).expect("chosen");
        assert_eq!(learner.model().blocks()[0].count(), 1);
    }
}
