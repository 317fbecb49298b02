//! Holds today's decisions and sums: what was chosen and learned once must be chosen and learned for ever.
//!
//! `data/same_bits.json` was made by this file with `ARMWISE_SAME_BITS=write`; without it, the test plays every case
//! again and compares. Write it anew only where decisions are meant to change, and say so in the changelog. A
//! decision is a list of arms, not of numbers, so it holds on every processor; a seed is taken only if a model that is
//! off by one part in a billion decides alike.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, Arms, Bonus, Catalogue, Column, Constraint, Context, Decision, Error, Learner, Model, Names, Policy,
    Round, Ties,
};
use common::{draws, every_algorithm, pay, rows};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt::Write, hash::Hasher, path::PathBuf};

const ROUNDS: u64 = 3;

#[derive(Serialize, Deserialize)]
struct Held {
    about: String,
    cases: Vec<Case>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Case {
    algorithm: Algorithm,
    constraint: Value,
    rows: usize,
    dim: usize,
    blocks: usize,
    gamma: f64,
    ties: Ties,
    names: bool,
    f32: bool,
    source: Source,
    seed: u64,
    /// A round each: `arm/block`, in the order of the decision.
    decisions: Vec<String>,
    /// XXH64 of the bits of the sums.
    sums: String,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Whole,
    Parts,
    Catalogue,
}

/// The features of a round, in both storages. The last quarter of the rows repeats the first, so that there are ties.
/// Lengths differ: among rows of one length, rounding alone would decide what an upper confidence bound takes first.
fn features(case: &Case, t: u64) -> (Vec<f32>, Vec<f64>) {
    let mut x = rows(case.seed, t, case.rows, case.dim);
    let length = draws(case.seed, 1_000 + t);
    for (row, x) in x.chunks_mut(case.dim).enumerate() {
        x.iter_mut().for_each(|x| *x *= 0.3 + 0.7 * length.uniform(row as u64));
    }
    let quarter = case.rows / 4 * case.dim;
    let end = x.len();
    x.copy_within(..quarter, end - quarter);
    (x.iter().map(|&x| x as f32).collect(), x)
}

/// A cost and a group per row, alike for rows that repeat each other.
fn columns(case: &Case) -> (Vec<f64>, Vec<f64>) {
    let draws = draws(case.seed, 0);
    let place = |row: usize| row % (case.rows - case.rows / 4);
    let cost = |row| 0.1 + draws.uniform(place(row) as u64);
    ((0..case.rows).map(cost).collect(), (0..case.rows).map(|row| (place(row) % 3) as f64).collect())
}

/// Plays a case: what was chosen in each round, and the sums in the end.
fn play<P: Policy>(case: &Case, policy: P) -> Result<(Vec<String>, String), Error> {
    let model = Model::new(case.dim, case.blocks)?.with_gamma(case.gamma)?;
    let mut learner = Learner::with_model(policy, model)?.with_ties(case.ties);
    let names = Names::new((0..case.rows).map(|row| format!("c{row}")))?;
    let ids: Vec<u64> = (0..case.rows as u64).map(|row| row * 31 + 7).collect();
    let (cost, group) = columns(case);
    let columns = [Column { name: "cost", values: &cost }, Column { name: "group", values: &group }];
    let catalogue = match case.source {
        Source::Catalogue => {
            let (narrow, wide) = features(case, 1);
            let arms = if case.f32 { Arms::new(&narrow, case.dim)? } else { Arms::new(&wide, case.dim)? };
            let keyed = if case.names { arms.with_names(&names)? } else { arms.with_ids(&ids)? };
            Some(Catalogue::new(&keyed)?)
        }
        Source::Whole | Source::Parts => None,
    };
    let constraint: Constraint = serde_json::from_value(case.constraint.clone()).expect("a constraint");
    let mut decisions: Vec<Decision> = Vec::new();
    for t in 1..=ROUNDS {
        let round = Round::new(case.seed, t);
        let (narrow, wide) = features(case, t);
        let fresh = if case.f32 { Arms::new(&narrow, case.dim)? } else { Arms::new(&wide, case.dim)? };
        let fresh = if case.names { fresh.with_names(&names)? } else { fresh.with_ids(&ids)? };
        let arms = catalogue.as_ref().map_or(fresh, Catalogue::arms).with_columns(&columns)?;
        let decision = if case.source == Source::Parts {
            let mut choosing = learner.choosing(round, &constraint)?;
            let size = case.rows.div_ceil(3);
            for first in (0..case.rows).step_by(size) {
                choosing.add(&arms.slice(first..case.rows.min(first + size)))?;
            }
            choosing.finish()?
        } else {
            learner.choose(round, &arms, &constraint)?
        };
        // All rewards but the first at once; the first a round later, then corrected, and the second taken back.
        let rewards = decision.rewards(pay);
        assert!(rewards.len() >= 2, "a case that chooses too little to tell anything");
        learner.learn(&decision, &rewards[1..])?;
        if let Some(earlier) = decisions.last() {
            let rewards = earlier.rewards(pay);
            learner.learn(earlier, &rewards[..1])?;
            learner.correct(earlier, &earlier.rewards(|arm| 1.0 - pay(arm))[..1])?;
            learner.unlearn(earlier, &rewards[1..2])?;
        }
        decisions.push(decision);
    }
    Ok((decisions.iter().map(|decision| written(case, decision)).collect(), hash(learner.model())))
}

fn written(case: &Case, decision: &Decision) -> String {
    let mut text = String::new();
    for arm in &decision.arms {
        let key = arm.name.clone().unwrap_or_else(|| arm.id.to_string());
        assert_eq!(arm.name.is_some(), case.names);
        let gap = if text.is_empty() { "" } else { " " };
        write!(text, "{gap}{key}/{}", arm.block).expect("a string takes all");
    }
    text
}

/// Over the numbers themselves, not over a saved file, so that a new format keeps the hash.
fn hash(model: &Model) -> String {
    let mut hasher = twox_hash::XxHash64::with_seed(0);
    hasher.write(&model.t().to_le_bytes());
    for block in model.blocks() {
        hasher.write(&block.count().to_le_bytes());
        block.b().iter().chain(block.g()).for_each(|sum| hasher.write(&sum.to_bits().to_le_bytes()));
    }
    format!("{:016x}", hasher.finish())
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/same_bits.json")
}

#[test]
fn decisions_and_sums_are_those_that_were_written_down() {
    if std::env::var("ARMWISE_SAME_BITS").is_ok_and(|value| value == "write") {
        return write_down();
    }
    let text = std::fs::read_to_string(path()).expect("the data is committed");
    let held: Held = serde_json::from_str(&text).expect("as it was written");
    assert_eq!(held.cases.len(), 128);
    for case in held.cases {
        let told = serde_json::to_string(&Case { decisions: Vec::new(), ..case.clone() }).expect("json");
        let (decisions, sums) = play(&case, case.algorithm).expect("it was played before");
        assert_eq!(decisions, case.decisions, "{told}");
        assert_eq!(sums, case.sums, "{told}");
    }
}

/// A policy whose model is slightly off, up or down.
struct Nudged(Algorithm, f64);

impl Policy for Nudged {
    fn ridge(&self) -> f64 {
        self.0.ridge() * (1.0 + self.1)
    }

    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        let sign = |place: usize| if place.is_multiple_of(2) { 1.0 } else { -1.0 };
        self.0.direction(at).iter().enumerate().map(|(place, x)| x + sign(place) * self.1).collect()
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        self.0.bonus(at)
    }
}

fn write_down() {
    let about = "cases that tests/same_bits.rs plays again; made with ARMWISE_SAME_BITS=write".to_owned();
    let mut text = format!("{{\"about\": {about:?}, \"cases\": [\n");
    let cases: Vec<String> =
        cases().into_iter().map(|case| serde_json::to_string(&settle(case)).expect("json")).collect();
    text.push_str(&cases.join(",\n"));
    text.push_str("\n]}\n");
    std::fs::write(path(), text).expect("a place to write");
}

/// Every algorithm with every constraint, one block and three, twice each; the rest by draws.
fn cases() -> Vec<Case> {
    let constraints = [
        r#"{"kind": "top-k", "k": 7}"#,
        r#"{"kind": "assignment", "quotas": 3}"#,
        r#"{"kind": "quotas", "k": 7, "groups": [{"column": "group", "value": 1, "min": 4}, {"column": "group", "value": 2, "max": 1}]}"#,
        r#"{"kind": "budget", "cost": "cost", "budget": 2.0}"#,
    ];
    let mut cases = Vec::new();
    for algorithm in every_algorithm() {
        for (of, constraint) in constraints.iter().enumerate() {
            for blocks in [1, 3] {
                for twice in [false, true] {
                    let coin = |place: u64| draws(77, cases.len() as u64).uniform(place) < 0.5;
                    // Large enough for bounds of scores to leave out arms, where the constraint can be solved so.
                    let (rows, dim) = if twice && of < 3 { (4_200, 32) } else { (400, 7) };
                    cases.push(Case {
                        algorithm,
                        constraint: serde_json::from_str(constraint).expect("a constraint"),
                        rows,
                        dim,
                        blocks,
                        gamma: if coin(0) { 1.0 } else { 0.9 },
                        ties: if coin(1) { Ties::ById } else { Ties::Random },
                        names: coin(2),
                        f32: coin(3),
                        source: match (coin(4), coin(5)) {
                            (true, _) => Source::Whole,
                            (false, true) => Source::Parts,
                            (false, false) => Source::Catalogue,
                        },
                        seed: 1,
                        decisions: Vec::new(),
                        sums: String::new(),
                    });
                }
            }
        }
    }
    cases
}

/// Plays a case with the first seed whose decisions are the same when the model is off by 1e-9.
fn settle(mut case: Case) -> Case {
    loop {
        let nudged = |by: f64| play(&case, Nudged(case.algorithm, by)).expect("a case that can be played");
        let (decisions, sums) = play(&case, case.algorithm).expect("a case that can be played");
        if [-1e-9, 1e-9].into_iter().all(|by| nudged(by).0 == decisions) {
            return Case { decisions, sums, ..case };
        }
        case.seed += 1;
        assert!(case.seed < 20, "a case whose decisions are always close");
    }
}
