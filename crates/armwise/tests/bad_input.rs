//! Nonsense gets a distinct typed error that names the place, and leaves the model as it was.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, ArmWiseTs, Arms, C2ucb, Column, CombLinTs, CombLinUcb, Constraint, Context, Error, Greedy, Infeasible,
    Learner, Model, Names, Observation, Oracle, Pc2ucb, Pick, Policy, Range, Reward, Round, RoundWiseTs, Schedule,
    Scores, Selection, Theory, Ties, TopK,
};
use common::{every_algorithm, every_variant, pay, rows};

const D: usize = 3;
const ROUND: Round = Round::new(1, 1);

fn choose(x: &[f64], k: usize) -> Error {
    let mut errors = every_variant().into_iter().map(|algorithm| {
        let learner = Learner::new(algorithm, D, 2).expect("parameters");
        let arms = Arms::new(x, D).expect("rows");
        learner.choose(ROUND, &arms, &Constraint::top_k(k)).expect_err("bad input")
    });
    let first = errors.next().expect("algorithms");
    errors.for_each(|error| assert_eq!(format!("{error:?}"), format!("{first:?}"), "every algorithm says the same"));
    first
}

#[test]
fn bad_features_are_named_by_row_and_column() {
    let mut x = rows(1, 1, 40, D);
    x[17 * D + 2] = f64::NAN;
    assert!(matches!(choose(&x, 5), Error::FeatureNotFinite { row: 17, column: 2, value } if value.is_nan()));
    for infinity in [f64::INFINITY, f64::NEG_INFINITY] {
        x[17 * D + 2] = infinity;
        assert_eq!(choose(&x, 5), Error::FeatureNotFinite { row: 17, column: 2, value: infinity });
    }
    // Far down, in another task of the parallel scoring.
    let mut x = rows(1, 1, 5_000, D);
    x[4_321 * D] = f64::INFINITY;
    assert!(matches!(choose(&x, 5), Error::FeatureNotFinite { row: 4_321, column: 0, .. }));
}

/// What could not be learned later is not chosen now.
#[test]
fn absurdly_large_features_are_refused_before_anything_is_sent() {
    for value in [1e150, 1e300] {
        let x = vec![value; 4 * D];
        for algorithm in every_variant() {
            let learner = Learner::new(algorithm, D, 2).expect("parameters");
            let arms = Arms::new(&x, D).expect("rows");
            let error = learner.choose(ROUND, &arms, &Constraint::top_k(2)).expect_err("absurd");
            assert!(matches!(error, Error::FeatureTooLarge { column: 0, .. } | Error::ScoreOverflow { .. }), "{error}");
        }
    }
}

#[test]
fn a_model_from_outside_must_hold_together() {
    let good = serde_json::to_string(&Model::new(1, 1).expect("shape")).expect("json");
    serde_json::from_str::<Model>(&good).expect("just written");
    for (from, to) in [
        ("\"gamma\":1.0", "\"gamma\":7.0"),
        ("\"g\":[0.0]", "\"g\":[0.0,1.0]"),
        ("\"b\":[0.0]", "\"b\":[]"),
        ("\"dim\":1", "\"dim\":0"),
        ("{\"count\":0,\"b\":[0.0],\"g\":[0.0],\"rr\":0.0}", ""),
        ("\"rr\":0.0", "\"rr\":\"0\""),
    ] {
        assert!(good.contains(from), "{good}");
        assert!(serde_json::from_str::<Model>(&good.replace(from, to)).is_err(), "{from} -> {to}");
    }
}

#[test]
fn bad_arms_are_refused() {
    assert_eq!(Arms::new(&[] as &[f64], D).expect_err("empty"), Error::NoArms);
    let ragged = Arms::new(&[1.0; 7][..], D).expect_err("7 values, 3 to a row");
    assert_eq!(ragged, Error::Dimension { what: "features in the last row", expected: 3, found: 1 });
    assert!(matches!(Arms::new(&[1.0][..], 0), Err(Error::Dimension { .. })));

    let x = rows(1, 1, 4, D);
    let arms = Arms::new(&x, D).expect("rows");
    assert_eq!(arms.with_ids(&[5, 9, 5, 1]).expect_err("twice"), Error::DuplicateId { id: 5, first: 0, second: 2 });
    assert_eq!(arms.with_ids(&[1]).expect_err("1 of 4"), Error::Dimension { what: "ids", expected: 4, found: 1 });
    assert!(matches!(arms.with_eligible(&[true; 3]), Err(Error::Dimension { what: "eligible flags", .. })));
    assert!(matches!(arms.with_eligible(&[]), Err(Error::Dimension { .. })));
    let columns = [Column { name: "cost", values: &[1.0; 5] }];
    assert!(matches!(arms.with_columns(&columns), Err(Error::Dimension { what: "values in a column", .. })));
    let columns = [Column { name: "cost", values: &[1.0; 4] }; 2];
    assert!(matches!(arms.with_columns(&columns), Err(Error::Constraint(_))));
    assert!(matches!(Names::new(["a", "a"]), Err(Error::DuplicateName { first: 0, second: 1, .. })));

    let learner = Learner::new(every_algorithm()[0], D + 1, 2).expect("parameters");
    let error = learner.choose(ROUND, &arms, &Constraint::top_k(1)).expect_err("3 features, 4 expected");
    assert_eq!(error, Error::Dimension { what: "features per arm", expected: 4, found: 3 });
    let learner = Learner::new(every_algorithm()[0], D, 3).expect("parameters");
    let masked = arms.with_eligible(&[true; 8]).expect("2 to a row");
    assert!(matches!(learner.choose(ROUND, &masked, &Constraint::top_k(1)), Err(Error::Dimension { found: 2, .. })));
}

#[test]
fn impossible_k_is_refused() {
    let x = rows(1, 1, 4, D);
    assert_eq!(choose(&x, 0), Error::Parameter { name: "k", value: 0.0, must: "at least 1" });
    assert_eq!(choose(&x, 9), Error::Infeasible(Infeasible::TooFewArms { needed: 9, eligible: 8 }));
    let learner = Learner::new(every_algorithm()[3], D, 1).expect("parameters");
    let arms = Arms::new(&x, D).expect("rows").with_eligible(&[true, false, false, true]).expect("mask");
    let error = learner.choose(ROUND, &arms, &Constraint::top_k(3)).expect_err("2 are eligible");
    assert_eq!(error, Error::Infeasible(Infeasible::TooFewArms { needed: 3, eligible: 2 }));
}

#[test]
fn bad_scores_are_refused() {
    let x = [0.0; 3];
    let arms = Arms::new(&x[..], 1).expect("rows");
    for value in [f64::NAN, f64::INFINITY] {
        for at_most in [false, true] {
            let scores = [0.5, 0.1, value];
            let scores = Scores::new(&scores, 1, arms, Ties::ById, ROUND).expect("3 scores");
            let error = TopK { at_most, ..TopK::exactly(1) }.argmax(&scores).expect_err("bad score");
            assert!(matches!(error, Error::ScoreNotFinite { row: 2, block: 0, .. }));
        }
    }
    assert!(matches!(Scores::new(&[0.5], 1, arms, Ties::ById, ROUND), Err(Error::Dimension { what: "scores", .. })));
}

#[test]
fn bad_rewards_are_refused_and_nothing_is_learned() {
    for algorithm in every_variant() {
        let mut learner = Learner::new(algorithm, D, 2).expect("parameters");
        let x = rows(1, 1, 10, D);
        let arms = Arms::new(&x, D).expect("rows");
        let decision = learner.choose(ROUND, &arms, &Constraint::top_k(4)).expect("arms");
        let good = decision.rewards(pay);
        learner.learn(&decision, &good[..1]).expect("fresh");
        let before = learner.to_json().expect("json");
        let (id, block) = (good[1].id, good[1].block);

        let nan = learner.learn(&decision, &[good[2].clone(), Reward { reward: f64::NAN, ..good[1].clone() }]);
        assert!(matches!(nan, Err(Error::RewardNotFinite { id: found, block: at, .. }) if (found, at) == (id, block)));
        let unknown = [good[2].clone(), Reward::new(999, 0, 1.0)];
        assert_eq!(learner.learn(&decision, &unknown), Err(Error::UnknownArm { id: 999, block: 0, t: 1 }));
        let (id, block, reward) = (good[0].id, good[0].block, good[0].reward);
        let again = [good[2].clone(), good[0].clone()];
        assert_eq!(learner.learn(&decision, &again), Err(Error::SecondReward { id, block, t: 1, reward }));
        let twice = [good[2].clone(), good[2].clone()];
        assert!(matches!(learner.learn(&decision, &twice), Err(Error::SecondReward { .. })));
        assert!(matches!(learner.correct(&decision, &good[3..4]), Err(Error::NoReward { .. })));
        assert!(matches!(learner.unlearn(&decision, &good[3..4]), Err(Error::NoReward { .. })));
        assert_eq!(learner.to_json().expect("json"), before, "{}: nothing changed", algorithm.name());
    }
}

#[test]
fn bad_observations_are_refused_and_nothing_is_learned() {
    let mut model = Model::new(2, 1).expect("shape");
    let good = Observation { t: 1, block: 0, x: &[1.0, 0.0], reward: 1.0 };
    model.observe(&good).expect("finite");
    let before = model.clone();
    let mut refuse = |bad: Observation<'_>| model.observe_batch(&[good, bad]).expect_err("bad observation");
    assert_eq!(refuse(Observation { block: 3, ..good }), Error::UnknownBlock { block: 3, last: 0 });
    assert!(matches!(refuse(Observation { x: &[1.0], ..good }), Error::Dimension { expected: 2, found: 1, .. }));
    let infinite = refuse(Observation { x: &[1.0, f64::INFINITY], ..good });
    assert!(matches!(infinite, Error::FeatureNotFinite { row: 1, column: 1, .. }));
    assert!(matches!(
        refuse(Observation { reward: f64::NAN, ..good }),
        Error::ObservedNotFinite { row: 1, block: 0, .. }
    ));
    assert_eq!(
        refuse(Observation { x: &[1e200, 0.0], ..good }),
        Error::FeatureTooLarge { row: 1, column: 0, value: 1e200 }
    );
    assert!(matches!(refuse(Observation { reward: 1e200, ..good }), Error::Parameter { name: "|reward|", .. }));
    assert_eq!(model, before);
    assert_eq!(Model::new(2, 1).expect("shape").unlearn(&good), Err(Error::NothingLearned { block: 0 }));
    assert!(matches!(model.merge(&Model::new(3, 1).expect("shape")), Err(Error::Mismatch { what: "dim", .. })));
    assert!(matches!(Model::new(0, 1), Err(Error::Parameter { name: "dim", .. })));
    assert!(matches!(Model::new(1, 0), Err(Error::Parameter { name: "blocks", .. })));
    for gamma in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(matches!(before.clone().with_gamma(gamma), Err(Error::Parameter { name: "gamma", .. })));
    }
}

#[test]
fn bad_parameters_are_named() {
    let theory = Theory { r: 1.0, s: 1.0, delta: 0.1, k: 5, n: Some(10), rounds: Some(10) };
    let one = Schedule::Constant(1.0);
    let bad = [
        ("lambda", Algorithm::Greedy(Greedy::new(-1.0))),
        ("lambda", Algorithm::C2ucb(C2ucb::new(f64::NAN, one))),
        ("alpha", Algorithm::C2ucb(C2ucb::new(1.0, -0.1))),
        ("c", Algorithm::Pc2ucb(Pc2ucb::new(1.0, one, -1.0))),
        ("v", Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, f64::INFINITY))),
        ("lambda2", Algorithm::CombLinTs(CombLinTs { lambda2: 0.0, sigma2: 1.0 })),
        ("sigma2", Algorithm::CombLinUcb(CombLinUcb { lambda2: 1.0, sigma2: 0.0, c: 1.0 })),
        ("delta", Algorithm::C2ucb(C2ucb::new(1.0, Schedule::Theory(Theory { delta: 1.0, ..theory })))),
        ("n", Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, Schedule::Theory(Theory { n: None, ..theory })))),
        ("rounds", Algorithm::RoundWiseTs(RoundWiseTs::new(1.0, Schedule::Theory(Theory { rounds: None, ..theory })))),
    ];
    for (parameter, algorithm) in bad {
        let error = Learner::new(algorithm, D, 1).map(|_| ()).expect_err("bad parameter");
        assert!(matches!(error, Error::Parameter { name, .. } if name == parameter), "{parameter}: {error}");
    }
}

/// An oracle of one's own that gets it wrong.
struct Broken(Vec<Pick>);

impl Oracle for Broken {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let objective = 0.0;
        Ok(Selection { arms: self.0.clone(), objective, ..TopK::exactly(1).argmax(scores)? })
    }
}

#[test]
fn a_broken_oracle_is_found_out() {
    let x = rows(1, 1, 4, D);
    let arms = Arms::new(&x, D).expect("rows").with_eligible(&[true, true, true, false]).expect("mask");
    let learner = Learner::new(every_algorithm()[3], D, 2).expect("parameters");
    let pick = |row, block| Pick { row, block };
    for bad in [vec![pick(4, 0)], vec![pick(0, 2)], vec![pick(3, 0)], vec![pick(1, 1), pick(0, 0), pick(1, 1)]] {
        let error = learner.choose(ROUND, &arms, &Broken(bad)).expect_err("bad selection");
        assert!(matches!(error, Error::Constraint(_)), "{error}");
    }
    learner.choose(ROUND, &arms, &Broken(vec![pick(1, 1), pick(0, 0), pick(1, 0)])).expect("good selection");
}

/// A policy of one's own that gets it wrong.
struct Crooked(Vec<f64>);

impl Policy for Crooked {
    fn ridge(&self) -> f64 {
        1.0
    }

    fn direction(&self, _: &Context<'_>) -> Vec<f64> {
        self.0.clone()
    }
}

#[test]
fn a_broken_policy_is_found_out() {
    let x = rows(1, 1, 4, D);
    let arms = Arms::new(&x, D).expect("rows");
    let choose = |direction: Vec<f64>| {
        let learner = Learner::new(Crooked(direction), D, 1).expect("parameters");
        learner.choose(ROUND, &arms, &Constraint::top_k(1)).map(|_| ())
    };
    assert!(matches!(choose(vec![1.0; D + 1]), Err(Error::Dimension { expected: D, found: 4, .. })));
    assert!(matches!(choose(vec![f64::NAN; D]), Err(Error::ScoreOverflow { row: 0, block: 0, .. })));
    choose(vec![1.0; D]).expect("good direction");
}

/// Names in TOML and JSON are exact: a misspelt algorithm or parameter is an error, not a default.
#[test]
fn misspelt_names_are_refused() {
    let parse = |text: &str| toml::from_str::<Algorithm>(text);
    let good = parse("name = \"pc2ucb\"\nlambda = 2\nalpha = { r = 1.0, s = 1.0, delta = 0.1, k = 5 }").expect("good");
    assert_eq!(good.name(), "pc2ucb");
    assert_eq!(parse("name = \"arm-wise-ts\"").expect("defaults"), Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1)));
    for bad in ["name = \"c3ucb\"", "lambda = 1.0", "name = \"c2ucb\"\nv = 1.0", "name = \"c2ucb\"\nlambda = \"x\""] {
        parse(bad).expect_err(bad);
    }
    assert!(serde_json::from_str::<Constraint>(r#"{"kind": "top-k", "k": 3, "atmost": true}"#).is_err());
    assert!(serde_json::from_str::<Constraint>(r#"{"kind": "top-q", "k": 3}"#).is_err());
    for algorithm in every_variant() {
        let text = serde_json::to_string(&algorithm).expect("json");
        assert_eq!(serde_json::from_str::<Algorithm>(&text).expect("just written"), algorithm);
    }
}

/// Every message says what and where.
#[test]
fn messages_name_the_place() {
    let mut x = rows(1, 1, 4, D);
    x[5] = f64::NAN;
    assert_eq!(choose(&x, 1).to_string(), "feature at row 1, column 2 is NaN; features must be finite numbers");
}

/// The registry says of every algorithm what serde and the constructors do.
#[test]
fn descriptions_are_what_the_algorithms_are() {
    assert_eq!(Algorithm::ALL.iter().map(|description| description.name).collect::<Vec<_>>(), Algorithm::NAMES);
    for description in Algorithm::ALL {
        let name = description.name;
        let bare: Algorithm = serde_json::from_value(serde_json::json!({ "name": name })).expect("all have defaults");
        assert_eq!(bare.description(), *description);
        let written = serde_json::to_value(bare).expect("json");
        let fields: Vec<&String> = written.as_object().expect("a table").keys().collect();
        assert_eq!(fields.len(), description.parameters.len() + 1, "{name}: {fields:?}");
        for parameter in description.parameters {
            assert_eq!(written[parameter.name].as_f64(), Some(parameter.default), "{name}: {}", parameter.name);
            for bad in [-1.0, f64::NAN, f64::INFINITY] {
                let error = Algorithm::new(name, &[(parameter.name, bad)]).expect_err("outside every range");
                assert!(matches!(error, Error::Parameter { name, .. } if name == parameter.name), "{name}: {error}");
            }
            // Zero is where the ranges part, through serde as well.
            let zero: Algorithm =
                serde_json::from_value(serde_json::json!({ "name": name, (parameter.name): 0.0 })).expect("a number");
            assert_eq!(zero.validate().is_ok(), parameter.range == Range::NonNegative, "{name}: {}", parameter.name);
        }
    }
}

#[test]
fn an_unknown_name_is_never_another_algorithm() {
    for name in ["", "ucb", "C2UCB", "c2ucb ", "own"] {
        let error = Algorithm::new(name, &[]).expect_err("no such algorithm");
        assert_eq!(error, Error::UnknownAlgorithm { name: name.to_owned(), known: Algorithm::NAMES });
        assert!(serde_json::from_value::<Algorithm>(serde_json::json!({ "name": name })).is_err(), "{name}");
        assert!(toml::from_str::<Algorithm>(&format!("name = {name:?}")).is_err(), "{name}");
    }
    let error = Algorithm::new("c2ucb", &[("v", 1.0)]).expect_err("c2ucb has alpha");
    assert_eq!(error.to_string(), "c2ucb has no v; its parameters are lambda, alpha");
}
