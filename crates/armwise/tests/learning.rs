//! Learning in real life: late, in parts, out of order, corrected, taken back, forgotten, saved and damaged.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, ArmWiseTs, Arms, C2ucb, Constraint, Decision, Error, Greedy, Learner, Model, Observation, Reward, Round,
};
use common::{bits, pay, rows, trained};

const D: usize = 6;

fn learner() -> Learner {
    Learner::new(Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.5)), D, 2).expect("parameters")
}

fn choose(learner: &Learner, t: u64) -> Decision {
    let x = rows(71, t, 30, D);
    let arms = Arms::new(&x, D).expect("rows");
    learner.choose(Round::new(71, t), &arms, &Constraint::top_k(8)).expect("arms")
}

fn sums(model: &Model) -> Vec<f64> {
    model.blocks().iter().flat_map(|block| block.g().iter().chain(block.b()).copied()).collect()
}

fn assert_close(a: &Model, b: &Model, tolerance: f64) {
    for (a, b) in sums(a).iter().zip(sums(b)) {
        assert!((a - b).abs() <= tolerance, "{a} {b}");
    }
}

/// Rewards that come a week later, through JSON, in pieces: the same model to the bit when the order is the same,
/// and to rounding when it is not.
#[test]
fn late_rewards_give_the_model_of_immediate_ones() {
    let decisions: Vec<Decision> = (1..=5).map(|t| choose(&learner(), t)).collect();
    let mut now = learner();
    for decision in &decisions {
        now.learn(decision, &decision.rewards(pay)).expect("fresh");
    }

    let mut late = learner();
    for decision in &decisions {
        let text = serde_json::to_string(decision).expect("json");
        let decision: Decision = serde_json::from_str(&text).expect("just written");
        for piece in decision.rewards(pay).chunks(3) {
            late.learn(&decision, piece).expect("fresh");
        }
    }
    assert_eq!(now.model(), late.model(), "same order, same bits");

    let mut shuffled = learner();
    for decision in decisions.iter().rev() {
        let mut rewards = decision.rewards(pay);
        rewards.reverse();
        shuffled.learn(decision, &rewards[..5]).expect("fresh");
        shuffled.learn(decision, &rewards[5..]).expect("fresh");
    }
    assert_close(now.model(), shuffled.model(), 1e-12);
}

#[test]
fn a_decision_survives_json_to_the_bit() {
    let decision = choose(&trained(Algorithm::C2ucb(C2ucb::new(0.1, 0.3)), D, 2, 3), 9);
    let back: Decision = serde_json::from_str(&serde_json::to_string(&decision).expect("json")).expect("just written");
    assert_eq!(decision, back);
    assert_eq!(bits(&decision), bits(&back));
}

/// A batch is one at a time, to the bit, whatever it is split into, also where it is large enough to be spread over
/// threads; and one at a time is the formula: a rounded product is added to each sum.
#[test]
fn batches_of_any_split_have_the_bits_of_one_at_a_time() {
    // The last case has runs of 150 x 200 x 200 multiplications, over the threshold of the parallel sum.
    for (d, n, run) in (1..=70).map(|d| (d, 2 * d + 3, 1 + d % 9)).chain([(200, 300, 150)]) {
        let x = rows(72, 1, n, d);
        let see = |(i, x): (usize, _)| {
            let (t, block) = (1 + (i / run) as u64, (i % 7 % 2) as u32);
            Observation { t, block, x, reward: 0.1 * i as f64 }
        };
        let seen: Vec<Observation<'_>> = x.chunks(d).enumerate().map(see).collect();
        for gamma in [1.0, 0.9] {
            let empty = Model::new(d, 2).expect("shape").with_gamma(gamma).expect("gamma");
            let mut single = empty.clone();
            let mut formula = vec![(vec![0.0; d * (d + 1) / 2], vec![0.0; d]); 2];
            for seen in &seen {
                if seen.t > single.t() && gamma < 1.0 {
                    let factor = libm::pow(gamma, (seen.t - single.t()) as f64);
                    formula.iter_mut().flat_map(|(g, b)| g.iter_mut().chain(b)).for_each(|sum| *sum *= factor);
                }
                single.observe(seen).expect("finite");
                let (g, b) = &mut formula[seen.block as usize];
                b.iter_mut().zip(seen.x).for_each(|(b, x)| *b += seen.reward * x);
                let products = seen.x.iter().enumerate().flat_map(|(i, y)| seen.x[..=i].iter().map(move |x| y * x));
                g.iter_mut().zip(products).for_each(|(g, product)| *g += product);
            }
            for (block, (g, b)) in single.blocks().iter().zip(&formula) {
                assert!(block.g() == g && block.b() == b, "d = {d}, gamma = {gamma}");
            }
            for size in [2, 1 + n / 3, n] {
                let mut batch = empty.clone();
                seen.chunks(size).for_each(|seen| batch.observe_batch(seen).expect("finite"));
                assert_eq!(batch, single, "d = {d}, gamma = {gamma}, {size} at a time");
            }
            // One bad number at the end of a batch, and nothing of it is learned.
            let mut last = seen[n - 1].x.to_vec();
            last[d - 1] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][d % 3];
            let bad = [&seen[..n - 1], &[Observation { x: &last, ..seen[n - 1] }]].concat();
            let before = single.clone();
            let error = single.observe_batch(&bad).expect_err("a feature that is not finite");
            assert!(matches!(error, Error::FeatureNotFinite { row, column, .. } if (row, column) == (n - 1, d - 1)));
            assert_eq!(single, before);
        }
    }
}

#[test]
fn corrected_and_retracted_rewards_leave_no_trace() {
    let mut learner = learner();
    let first = choose(&learner, 1);
    let rewards = first.rewards(pay);
    learner.learn(&first, &rewards).expect("fresh");
    let as_it_was = learner.clone();

    let doubled = first.rewards(|arm| 2.0 * pay(arm));
    learner.correct(&first, &doubled).expect("learned");
    let mut expected = self::learner();
    expected.learn(&first, &doubled).expect("fresh");
    assert_close(learner.model(), expected.model(), 1e-12);
    learner.correct(&first, &rewards).expect("learned");
    assert_close(learner.model(), as_it_was.model(), 1e-12);

    let second = choose(&learner, 2);
    learner.learn(&second, &second.rewards(pay)).expect("fresh");
    learner.unlearn(&second, &second.rewards(pay)).expect("learned");
    assert_close(learner.model(), as_it_was.model(), 1e-12);
    assert_eq!(learner.model().blocks()[0].count(), as_it_was.model().blocks()[0].count());
    learner.learn(&second, &second.rewards(pay)).expect("retracted rewards may be learned again");
}

/// Discounted least squares by its definition: V = lambda I + sum gamma^(t-s) x x', b alike; lambda stays whole.
#[test]
fn forgetting_discounts_by_age_and_never_the_prior() {
    let gamma: f64 = 0.8;
    let model = Model::new(D, 1).expect("shape").with_gamma(gamma).expect("gamma");
    let algorithm = Algorithm::C2ucb(C2ucb::new(2.0, 0.5));
    let mut learner = Learner::with_model(algorithm, model).expect("parameters");
    let decisions: Vec<Decision> = [1, 2, 4, 7].map(|t| choose(&learner, t)).to_vec();
    // The reward of round 2 comes last, after round 7.
    for place in [0, 2, 3, 1] {
        learner.learn(&decisions[place], &decisions[place].rewards(pay)).expect("fresh");
    }
    let mut g = [[0.0; D]; D];
    let mut b = [0.0; D];
    for (decision, age) in decisions.iter().zip([6, 5, 3, 0]) {
        for arm in &decision.arms {
            for i in 0..D {
                b[i] += gamma.powi(age) * pay(arm) * arm.features[i];
                for (j, g) in g[i].iter_mut().enumerate() {
                    *g += gamma.powi(age) * arm.features[i] * arm.features[j];
                }
            }
        }
    }
    let block = &learner.model().blocks()[0];
    for i in 0..D {
        assert!((block.b()[i] - b[i]).abs() < 1e-12);
        (0..=i).for_each(|j| assert!((block.g()[i * (i + 1) / 2 + j] - g[i][j]).abs() < 1e-12));
    }
    // Long after, the data are forgotten and the prior is what is left: width = |x| / sqrt(lambda).
    let x = rows(71, 500, 30, D);
    let arms = Arms::new(&x, D).expect("rows");
    let decision = learner.choose(Round::new(71, 500), &arms, &Constraint::top_k(1)).expect("arms");
    let norm = common::dot(&decision.arms[0].features, &decision.arms[0].features).sqrt();
    assert!((decision.arms[0].width - norm / 2.0_f64.sqrt()).abs() < 1e-12);
    assert!(decision.arms[0].mean.abs() < 1e-12);

    learner.unlearn(&decisions[1], &decisions[1].rewards(pay)).expect("learned");
    learner.learn(&decisions[1], &decisions[1].rewards(pay)).expect("retracted");
    (0..D).for_each(|i| assert!((learner.model().blocks()[0].b()[i] - b[i]).abs() < 1e-12, "age counts both ways"));
}

/// Two halves that forget, learned up to different rounds, merge to the whole.
#[test]
fn forgetting_models_merge_by_age() {
    let x = rows(73, 1, 12, D);
    let see = |(i, x)| Observation { t: i as u64 / 2, block: 0, x, reward: 0.3 };
    let seen: Vec<Observation<'_>> = x.chunks(D).enumerate().map(see).collect();
    let empty = Model::new(D, 1).expect("shape").with_gamma(0.7).expect("gamma");
    let [mut whole, mut old, mut new] = [empty.clone(), empty.clone(), empty];
    whole.observe_batch(&seen).expect("finite");
    old.observe_batch(&seen[..5]).expect("finite");
    new.observe_batch(&seen[5..]).expect("finite");
    let mut backwards = new.clone();
    backwards.merge(&old).expect("same shape");
    old.merge(&new).expect("same shape");
    assert_close(&old, &whole, 1e-12);
    assert_close(&backwards, &whole, 1e-12);
    assert_eq!((old.t(), backwards.t()), (5, 5));
}

/// Merged learners bring their bookkeeping, and refuse what both have learned.
#[test]
fn merged_learners_remember_the_rewards_of_both() {
    let [mut here, mut there] = [learner(), learner()];
    let decision = choose(&here, 1);
    let rewards = decision.rewards(pay);
    here.learn(&decision, &rewards[..4]).expect("fresh");
    there.learn(&decision, &rewards[4..]).expect("fresh");
    here.merge(&there).expect("different rewards");
    assert!(matches!(here.learn(&decision, &rewards[5..6]), Err(Error::SecondReward { .. })));
    let mut whole = learner();
    whole.learn(&decision, &rewards).expect("fresh");
    assert_close(here.model(), whole.model(), 1e-12);
    let before = here.to_json().expect("json");
    assert!(matches!(here.merge(&there), Err(Error::SecondReward { .. })));
    assert_eq!(here.to_json().expect("json"), before);
}

/// An altered decision cannot take out what was never put in.
#[test]
fn an_altered_decision_is_refused() {
    let mut learner = learner();
    let decision = choose(&learner, 1);
    let rewards = decision.rewards(pay);
    learner.learn(&decision, &rewards).expect("fresh");
    let before = learner.to_json().expect("json");
    let mut altered = decision.clone();
    let mut features = altered.arms[2].features.to_vec();
    features[0] += 1.0;
    altered.arms[2].features = features.into();
    for result in [
        learner.unlearn(&altered, &rewards),
        learner.correct(&altered, &rewards),
        learner.learn(&altered, &rewards[2..3]),
    ] {
        assert!(matches!(result, Err(Error::DecisionChanged { t: 1, .. })), "{result:?}");
    }
    assert_eq!(learner.to_json().expect("json"), before);
}

/// Many tasks of one pool choose from one learner at once; factoring is parallel inside each choice. Held under a
/// lock, that could wait for itself for ever: a thread that waits for its part of the factoring takes up another
/// choice. The forgetting makes every round factor anew.
#[test]
fn many_tasks_can_choose_at_once() {
    use rayon::prelude::*;
    let model = Model::new(24, 16).expect("shape").with_gamma(0.9).expect("gamma");
    let algorithm = Algorithm::C2ucb(C2ucb::new(1.0, 1.0));
    let learner = Learner::with_model(algorithm, model).expect("parameters");
    let x = rows(74, 1, 40, 24);
    let choose = |t: u64| {
        let arms = Arms::new(&x, 24).expect("rows");
        bits(&learner.choose(Round::new(1, t), &arms, &Constraint::top_k(5)).expect("arms"))
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("a pool");
    let together: Vec<_> = pool.install(|| (2..600).into_par_iter().map(choose).collect());
    assert_eq!(together[400], choose(402));
}

#[test]
fn closed_rounds_take_no_more_rewards_and_cost_no_memory() {
    let mut learner = learner();
    let decisions: Vec<Decision> = (1..=3).map(|t| choose(&learner, t)).collect();
    for decision in &decisions {
        learner.learn(decision, &decision.rewards(pay)[..4]).expect("fresh");
    }
    let before = learner.to_json().expect("json").len();
    learner.close_before(3);
    assert!(learner.to_json().expect("json").len() < before);
    let rest = decisions[0].rewards(pay);
    assert_eq!(learner.learn(&decisions[0], &rest[4..]), Err(Error::RoundClosed { t: 1, open_from: 3 }));
    learner.learn(&decisions[2], &decisions[2].rewards(pay)[4..]).expect("still open");
}

#[test]
fn what_was_rewarded_is_remembered_across_a_save() {
    let mut learner = learner();
    let decision = choose(&learner, 1);
    let rewards = decision.rewards(pay);
    learner.learn(&decision, &rewards[..4]).expect("fresh");
    let mut loaded: Learner = Learner::from_json(&learner.to_json().expect("json")).expect("just written");
    assert!(matches!(loaded.learn(&decision, &rewards[..1]), Err(Error::SecondReward { t: 1, .. })));
    loaded.learn(&decision, &rewards[4..]).expect("not yet rewarded");
}

#[test]
fn a_newer_file_a_cut_file_and_a_changed_file_are_refused() {
    let text = trained(Algorithm::C2ucb(C2ucb::new(1.0, 1.0)), D, 2, 3).to_json().expect("json");
    let load = |text: &str| Learner::<Algorithm>::from_json(text).map(|_| ()).expect_err("bad file");
    assert_eq!(load(&text.replace("\"version\":3", "\"version\":6")), Error::NewerFormat { found: 6, supported: 5 });
    assert!(matches!(load(&text[..text.len() / 2]), Error::BadFormat(_)));
    assert!(matches!(load(""), Error::BadFormat(_)));
    assert!(matches!(load("{\"format\":\"something else\",\"version\":1}"), Error::BadFormat(_)));
    assert!(matches!(load(&text.replace("c2ucb", "c3ucb")), Error::BadFormat(_)));
    // Every changed digit is noticed, unless it reads as the same number (the 17th digit may).
    let original: Learner = Learner::from_json(&text).expect("just written");
    let mut noticed = 0;
    let sums = text.find("\"b\":[").expect("sums");
    let places = (sums..text.len()).filter(|&at| text.as_bytes()[at].is_ascii_digit()).step_by(37);
    for at in places {
        let digit = text.as_bytes()[at] - b'0';
        let mut changed = text.clone();
        changed.replace_range(at..=at, &((digit + 1) % 10).to_string());
        match Learner::<Algorithm>::from_json(&changed) {
            Err(Error::Damaged { .. } | Error::BadFormat(_)) => noticed += 1,
            Err(other) => panic!("digit at {at}: {other}"),
            Ok(same) => assert_eq!(same.model(), original.model(), "digit at {at}"),
        }
    }
    assert!(noticed > 20, "{noticed}");
    // A person may re-indent it.
    let value: serde_json::Value = serde_json::from_str(&text).expect("json");
    let pretty = serde_json::to_string_pretty(&value).expect("json");
    Learner::<Algorithm>::from_json(&pretty).expect("only white space differs");
}

/// d = 1,024 and M = 100: large, and still right on a diagonal case with a known answer.
#[test]
fn large_dimensions_and_many_blocks_work() {
    for (d, blocks) in [(1_024, 2), (64, 100)] {
        let algorithm = Algorithm::C2ucb(C2ucb::new(3.0, 1.0));
        let mut learner = Learner::new(algorithm, d, blocks).expect("parameters");
        let mut x = vec![0.0; 4 * d];
        (0..4).for_each(|row| x[row * d + row] = 1.0);
        let arms = Arms::new(&x, d).expect("rows");
        let everything = Constraint::top_k(4 * blocks);
        let decision = learner.choose(Round::new(1, 1), &arms, &everything).expect("arms");
        learner.learn(&decision, &decision.rewards(|arm| arm.id as f64)).expect("fresh");
        let decision = learner.choose(Round::new(1, 2), &arms, &everything).expect("arms");
        for arm in &decision.arms {
            assert!((arm.mean - arm.id as f64 / 4.0).abs() < 1e-12 && (arm.width - 0.5).abs() < 1e-12);
        }
    }
}

#[test]
fn a_reward_by_id_alone_is_enough() {
    let mut learner = learner();
    let decision = choose(&learner, 1);
    let arm = &decision.arms[3];
    learner.learn(&decision, &[Reward::new(arm.id, arm.block, 0.5)]).expect("chosen");
    assert_eq!(learner.model().blocks()[arm.block as usize].count(), 1);
}

#[test]
fn a_saved_learner_says_with_which_round_to_go_on() {
    let saved = learner();
    let next = Round::new(7, 12);
    let text = saved.to_json_with(Some(next)).expect("good");
    let (again, found) = Learner::<Algorithm>::from_json_with(&text).expect("good");
    assert_eq!(found, Some(next));
    assert_eq!(again.to_json().expect("good"), saved.to_json().expect("good"));
    // Who keeps no count reads and writes files without it.
    assert!(Learner::<Algorithm>::from_json(&text).is_ok());
    assert_eq!(Learner::<Algorithm>::from_json_with(&saved.to_json().expect("good")).expect("good").1, None);
}

#[test]
fn observations_outside_of_decisions_count_like_rewards() {
    let mut by_reward = learner();
    let decision = choose(&by_reward, 1);
    let rewards = decision.rewards(|arm| arm.features[0] - 0.5);
    by_reward.learn(&decision, &rewards).expect("good");
    let mut observed = learner();
    let arms = decision.arms.iter().zip(&rewards);
    let seen = arms.map(|(arm, r)| Observation { t: 1, block: arm.block, x: &arm.features, reward: r.reward });
    let _ = choose(&observed, 1); // leaves posteriors behind, which must not outlive what is learned
    observed.observe(&seen.collect::<Vec<_>>()).expect("good");
    assert_eq!(observed.model(), by_reward.model());
    assert_eq!(choose(&observed, 2), choose(&by_reward, 2));
}

#[test]
fn another_policy_goes_on_with_what_was_learned() {
    let mut first = learner();
    let decision = choose(&first, 1);
    first.learn(&decision, &decision.rewards(|arm| arm.features[0])).expect("good");
    let greedy = first.clone().with_policy(Algorithm::Greedy(Greedy::new(2.0))).expect("good");
    assert_eq!(greedy.model(), first.model());
    assert_eq!(greedy.policy().name(), "greedy");
    let mut again = greedy;
    assert!(again.learn(&decision, &decision.rewards(|_| 0.0)).is_err(), "the rewards stay booked");
}

/// A file of format 1, written by the version before sums of squares were kept.
const FORMAT_1: &str = include_str!("data/learner-format-1.json");

#[test]
fn a_file_of_format_1_loads_and_says_what_it_lacks() {
    let (mut old, mut new) = (Learner::<Algorithm>::from_json(FORMAT_1).expect("still readable"), learner());
    assert!(old.model().blocks().iter().all(|block| block.rr().is_none() && block.count() > 0));
    assert!(new.model().blocks().iter().all(|block| block.rr() == Some(0.0)));
    // What it lacks it lacks for ever, also when more is learned and when it is saved again.
    let x = [0.5; 7];
    old.observe(&[Observation { t: 6, block: 0, x: &x, reward: 2.0 }]).expect("good");
    old.forget(0.5).expect("good");
    let text = old.to_json().expect("json");
    assert!(text.contains("\"version\":3") && !text.contains("\"rr\""));
    let again = Learner::<Algorithm>::from_json(&text).expect("just written");
    assert_eq!(again.model(), old.model());
    // Only what the format had is in its checksum, and only that may be in the file.
    let with_rr = FORMAT_1.replacen("\"count\":", "\"rr\":1.0,\"count\":", 1);
    assert!(matches!(Learner::<Algorithm>::from_json(&with_rr), Err(Error::BadFormat(_))));
    assert!(Learner::<Algorithm>::from_json(&FORMAT_1.replacen("\"count\":2", "\"count\":3", 1)).is_err());
    // A block that knows and one that does not are together one that does not.
    let decision = choose(&new, 1);
    new.learn(&decision, &decision.rewards(pay)).expect("fresh");
    let known = new.model().clone();
    let mut merged = known.clone();
    merged.merge(&known.without_rr()).expect("one shape");
    assert!(merged.blocks().iter().all(|block| block.rr().is_none()));
    let mut merged = known.without_rr();
    merged.merge(&known).expect("one shape");
    assert!(merged.blocks().iter().all(|block| block.rr().is_none()));
}

#[test]
fn the_sum_of_squares_survives_a_save() {
    let mut saved = learner();
    let decision = choose(&saved, 1);
    saved.learn(&decision, &decision.rewards(pay)).expect("fresh");
    let loaded: Learner = Learner::from_json(&saved.to_json().expect("json")).expect("just written");
    assert_eq!(loaded.model(), saved.model());
    let squares: f64 = decision.arms.iter().filter(|arm| arm.block == 0).map(|arm| pay(arm) * pay(arm)).sum();
    let rr = loaded.model().blocks()[0].rr().expect("kept from the first reward on");
    assert!((rr - squares).abs() <= 1e-12 * squares, "{rr} {squares}");
}

mod squares {
    use armwise::{Model, Observation};
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Observe {
            t: u64,
            block: u32,
            reward: f64,
        },
        /// Of the observations so far, the one at this place, counted round and round.
        Correct {
            place: usize,
            reward: f64,
        },
        Unlearn {
            place: usize,
        },
        Merge {
            t: u64,
            block: u32,
            reward: f64,
        },
        Forget {
            factor: f64,
        },
        Advance {
            t: u64,
        },
    }

    fn step() -> impl Strategy<Value = Step> {
        let (t, block, reward) = (1..12u64, 0..2u32, -3.0..3.0f64);
        prop_oneof![
            6 => (t.clone(), block.clone(), reward.clone())
                .prop_map(|(t, block, reward)| Step::Observe { t, block, reward }),
            2 => (any::<usize>(), reward.clone()).prop_map(|(place, reward)| Step::Correct { place, reward }),
            1 => any::<usize>().prop_map(|place| Step::Unlearn { place }),
            1 => (t.clone(), block, reward).prop_map(|(t, block, reward)| Step::Merge { t, block, reward }),
            1 => (0.2..1.0f64).prop_map(|factor| Step::Forget { factor }),
            1 => t.prop_map(|t| Step::Advance { t }),
        ]
    }

    /// What a reward counts now, kept beside it and worked out from the definition.
    struct Kept {
        t: u64,
        block: u32,
        reward: f64,
        forgotten: f64,
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// rr against the sum over what is still learned, each reward by its age and by what was forgotten since.
        #[test]
        fn rr_is_the_sum_over_what_is_learned(steps in prop::collection::vec(step(), 1..60), forgets in any::<bool>()) {
            let gamma: f64 = if forgets { 0.8 } else { 1.0 };
            let empty = Model::new(1, 2).expect("shape").with_gamma(gamma).expect("gamma");
            let (mut model, mut kept, mut now) = (empty.clone(), Vec::<Kept>::new(), 0);
            // The largest sum on the way: rounding is relative to it where rewards are taken back.
            let mut largest = [0.0f64; 2];
            let x = [1.0];
            for step in steps {
                match step {
                    Step::Observe { t, block, reward } => {
                        model.observe(&Observation { t, block, x: &x, reward }).expect("good");
                        kept.push(Kept { t, block, reward, forgotten: 1.0 });
                        now = now.max(t);
                    }
                    Step::Merge { t, block, reward } => {
                        let mut other = empty.clone();
                        other.observe(&Observation { t, block, x: &x, reward }).expect("good");
                        model.merge(&other).expect("one shape");
                        kept.push(Kept { t, block, reward, forgotten: 1.0 });
                        now = now.max(t);
                    }
                    // What was forgotten by hand is not known to whoever corrects; so only what was not.
                    Step::Correct { place, reward } => {
                        if let Some(place) = place.checked_rem(kept.len()).filter(|&place| kept[place].forgotten >= 1.0) {
                            let Kept { t, block, reward: before, .. } = kept[place];
                            model.correct(&Observation { t, block, x: &x, reward: before }, reward).expect("good");
                            kept[place].reward = reward;
                        }
                    }
                    Step::Unlearn { place } => {
                        if let Some(place) = place.checked_rem(kept.len()).filter(|&place| kept[place].forgotten >= 1.0) {
                            let Kept { t, block, reward, .. } = kept.remove(place);
                            model.unlearn(&Observation { t, block, x: &x, reward }).expect("good");
                        }
                    }
                    Step::Forget { factor } => {
                        model.forget(factor).expect("good");
                        kept.iter_mut().for_each(|kept| kept.forgotten *= factor);
                    }
                    Step::Advance { t } => {
                        model.advance(t);
                        now = now.max(t);
                    }
                }
                for block in 0..2 {
                    let of = kept.iter().filter(|kept| kept.block == block);
                    let age = |kept: &Kept| i32::try_from(now - kept.t).expect("few rounds");
                    let direct: f64 =
                        of.map(|kept| kept.forgotten * gamma.powi(age(kept)) * kept.reward * kept.reward).sum();
                    let rr = model.blocks()[block as usize].rr().expect("known from the start");
                    let largest = &mut largest[block as usize];
                    *largest = largest.max(direct);
                    prop_assert!((rr - direct).abs() <= 1e-12 * *largest, "{} {}", rr, direct);
                }
            }
        }
    }
}
