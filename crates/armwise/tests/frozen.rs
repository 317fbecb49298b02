//! Choosing from parts on machines that know only a frozen learner gives the decision of one machine, to the bit.

use armwise::{
    Algorithm, Arms, Assignment, Column, Constraint, Decision, Frozen, Learner, Oracle, Proof, Round, Stream, Ties,
};
use serde_json::json;

const N: usize = 1_200;
const D: usize = 5;
const BLOCKS: usize = 2;

fn learner(name: &str, ties: Ties) -> Learner {
    let algorithm: Algorithm = serde_json::from_value(json!({ "name": name })).expect("a name of the library");
    let mut learner = Learner::new(algorithm, D, BLOCKS).expect("parameters").with_ties(ties);
    let draws = Round::new(4, 1).draws(0, Stream(300));
    let x: Vec<f64> = (0..(40 * D) as u64).map(|id| draws.normal(id)).collect();
    let decision = learner
        .choose(Round::new(3, 1), &Arms::new(&x[..], D).expect("rows"), &Assignment::new(vec![20, 20]))
        .expect("a choice");
    let rewards = decision.rewards(|arm| arm.features[0] - arm.features[1]);
    learner.learn(&decision, &rewards).expect("rewards");
    learner
}

/// What a machine sends to the one that decides.
struct Kept {
    x: Vec<f64>,
    ids: Vec<u64>,
    cost: Vec<f64>,
}

/// Decides from parts, each with a copy of the learner that was read from text; counts the passes.
fn from_parts(sent: &str, arms: &[Kept], oracle: &dyn Oracle, guess: Option<Vec<f64>>) -> (Decision, usize) {
    let (mut floors, mut guessed, mut passes) = (guess, true, 0);
    guessed &= floors.is_some();
    loop {
        passes += 1;
        assert!(passes <= 2, "certain floors need no third pass");
        let mut all = Kept { x: Vec::new(), ids: Vec::new(), cost: Vec::new() };
        for part in arms {
            let frozen: Frozen = serde_json::from_str(sent).expect("as it was written");
            let mut choosing = frozen.choosing(oracle).expect("a policy");
            if let Some(floors) = &floors {
                choosing.set_floors(floors.clone()).expect("a floor per block");
            }
            choosing.add(&with(part, &column(part))).expect("good rows");
            let kept = choosing.candidates(|kept| {
                for row in 0..kept.len() {
                    all.x.extend(kept.row(row));
                    all.ids.push(kept.id(row));
                    all.cost.push(kept.keys().column("cost").expect("given").0[row]);
                }
                Ok(())
            });
            kept.expect("arms");
        }
        let frozen: Frozen = serde_json::from_str(sent).expect("as it was written");
        let mut choosing = frozen.choosing(oracle).expect("a policy");
        if guessed {
            choosing.set_floors(floors.clone().expect("guessed")).expect("a floor per block");
        }
        choosing.add(&with(&all, &column(&all))).expect("good rows");
        choosing.skip(N - all.ids.len());
        match choosing.prove().expect("feasible") {
            Proof::Done => return (choosing.finish().expect("proven"), passes),
            Proof::Again => (floors, guessed) = (choosing.floors(), false),
        }
    }
}

fn column(of: &Kept) -> [Column<'_>; 1] {
    [Column { name: "cost", values: &of.cost }]
}

fn with<'a>(of: &'a Kept, columns: &'a [Column<'a>]) -> Arms<'a> {
    let arms = Arms::new(&of.x[..], D).and_then(|arms| arms.with_ids(&of.ids));
    arms.and_then(|arms| arms.with_columns(columns)).expect("good arms")
}

#[test]
fn decisions_from_parts_elsewhere_are_those_of_the_whole() {
    let draws = Round::new(9, 1).draws(0, Stream(300));
    // Half of the rows are copies, so that scores tie.
    let number = |id: u64| if id < (N / 2 * D) as u64 { draws.normal(id % D as u64) } else { draws.normal(id) };
    let x: Vec<f64> = (0..(N * D) as u64).map(number).collect();
    let ids: Vec<u64> = (0..N as u64).map(|row| row * 7 % 1_201).collect();
    let cost: Vec<f64> = (0..N).map(|row| 1.0 + (row % 4) as f64).collect();
    let whole = Kept { x, ids, cost };
    let round = Round::new(3, 8);
    let constraints = [
        json!({ "kind": "top-k", "k": 30 }),
        json!({ "kind": "assignment", "quotas": [20, 10] }),
        json!({ "kind": "assignment", "quotas": [20, 10], "cost": "cost", "budget": 50.0 }),
        json!({ "kind": "budget", "cost": "cost", "budget": 40.0, "k": 20 }),
    ];
    for (constraint, name, ties) in constraints.iter().flat_map(|constraint| {
        [("greedy", Ties::ById), ("arm-wise-ts", Ties::Random), ("c2ucb", Ties::Random)]
            .map(|(name, ties)| (constraint, name, ties))
    }) {
        let constraint: Constraint = serde_json::from_value(constraint.clone()).expect("a constraint");
        let learner = learner(name, ties);
        let own = column(&whole);
        let arms = with(&whole, &own);
        let expected = learner.choose(round, &arms, &constraint).expect("a choice");
        let sent = serde_json::to_string(&learner.freeze(round).expect("factors")).expect("text");
        let cut = |parts: usize| -> Vec<Kept> {
            let rows: Vec<usize> = (0..N).collect();
            let part = |rows: &[usize]| Kept {
                x: rows.iter().flat_map(|row| &whole.x[row * D..(row + 1) * D]).copied().collect(),
                ids: rows.iter().map(|&row| whole.ids[row]).collect(),
                cost: rows.iter().map(|&row| whole.cost[row]).collect(),
            };
            rows.chunks(N.div_ceil(parts)).map(part).collect()
        };
        let same = |found: &Decision, text: &str| {
            assert_eq!(found.arms, expected.arms, "{name}, {constraint:?}, {text}");
            assert_eq!(found.objective.to_bits(), expected.objective.to_bits(), "{name}, {constraint:?}, {text}");
        };
        for parts in [1, 7] {
            same(&from_parts(&sent, &cut(parts), &constraint, None).0, "no guess");
        }
        // Floors above all scores leave nothing, and the second pass finds everything.
        let (found, passes) = from_parts(&sent, &cut(3), &constraint, Some(vec![1e9; BLOCKS]));
        same(&found, "a guess far too high");
        assert_eq!(passes, 2);
        let low = vec![-1e9; BLOCKS];
        same(&from_parts(&sent, &cut(3), &constraint, Some(low)).0, "a guess that prunes nothing");
    }
}

#[test]
fn a_frozen_learner_that_does_not_fit_together_is_refused() {
    let frozen = learner("arm-wise-ts", Ties::ById).freeze(Round::new(1, 1)).expect("factors");
    let good = serde_json::to_value(&frozen).expect("text");
    let read = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut text = good.clone();
        change(&mut text);
        serde_json::from_value::<Frozen>(text).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(read(&|_| {}), Ok(()));
    for (change, told) in [
        (
            &(|text: &mut serde_json::Value| text["posteriors"] = json!([])) as &dyn Fn(&mut serde_json::Value),
            "a block",
        ),
        (&|text| text["posteriors"][0]["w"] = json!([1.0]), "lower triangle"),
        (&|text| text["posteriors"][1]["theta_hat"] = json!([]), "lower triangle"),
        (&|text| text["posteriors"][0]["v"][0] = json!(null), "null"),
        (&|text| text["policy"]["v"] = json!(-1.0), "v"),
        (&|text| text["more"] = json!(1), "more"),
    ] {
        let refused = read(change).expect_err("refused");
        assert!(refused.contains(told), "{refused}");
    }
    let constraint = Constraint::top_k(1);
    assert!(frozen.choosing(&constraint).expect("a policy").set_floors(vec![0.0]).is_err(), "a floor per block");
}
