//! Plays a scripted run with every algorithm and prints each choice and the saved learner, a JSON object a line: the
//! Rust side of `python/tests/test_parity.py`, which plays the same run in Python and compares bits.
//!
//! With a path, it reads a saved learner instead and prints what it chooses next from the same arms, after which it
//! writes the learner back: a file goes from Python to Rust and back.

use armwise::{Algorithm, Arms, Assignment, Constraint, Description, Learner, Model, Names, Round, Stream, Ties};
use serde_json::json;

const DIM: usize = 7;
const ROWS: usize = 60;

/// Features of a round: multiples of 2^-10, so that Python can make the very same ones from the printed numbers.
fn features(t: u64) -> Vec<f64> {
    let draws = Round::new(99, t).draws(0, Stream(300));
    (0..(ROWS * DIM) as u64).map(|place| (draws.uniform(place) * 1024.0).floor() / 1024.0 - 0.5).collect()
}

/// What an arm pays; any fixed function of its features will do.
fn pay(x: &[f64], block: u32) -> f64 {
    x[0] - x[1] * f64::from(block + 1)
}

/// Every algorithm, with the parameters that `python/tests/conftest.py` gives it.
fn algorithms() -> Result<Vec<Algorithm>, armwise::Error> {
    let of = |description: &&Description| {
        let value = |name: &str| match (description.name, name) {
            (_, "lambda") => Some(0.7),
            (_, "lambda2") => Some(0.5),
            (_, "sigma2") => Some(0.25),
            (_, "alpha" | "v") => Some(0.3),
            ("comblin-ucb", "c") => Some(1.5),
            ("pc2ucb", "c") => Some(0.9),
            _ => None,
        };
        let given =
            description.parameters.iter().filter_map(|parameter| Some((parameter.name, value(parameter.name)?)));
        Algorithm::new(description.name, &given.collect::<Vec<_>>())
    };
    // Those that take one arm after another cannot play quotas of promotions.
    Algorithm::ALL.iter().filter(|description| !description.in_turn).map(of).collect()
}

fn constraint(blocks: usize) -> Constraint {
    if blocks == 1 { Constraint::top_k(6) } else { Constraint::Assignment(Assignment::new(vec![4; blocks])) }
}

#[expect(clippy::print_stdout, reason = "the answers")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names = Names::new((0..ROWS).map(|row| format!("customer-{row}")))?;
    if let Some(path) = std::env::args().nth(1) {
        let (learner, next) = Learner::<Algorithm>::from_json_with(&std::fs::read_to_string(&path)?)?;
        let round = next.ok_or("the file says no round to go on with")?;
        let x = features(round.t);
        let arms = Arms::new(&x, DIM)?.with_names(&names)?;
        let decision = learner.choose(round, &arms, &constraint(learner.model().blocks().len()))?;
        println!("{}", serde_json::to_string(&decision)?);
        std::fs::write(&path, learner.to_json_with(Some(Round::new(round.seed, round.t + 1)))?)?;
        return Ok(());
    }
    for algorithm in algorithms()? {
        for (blocks, ties, gamma) in [(1, Ties::ById, 1.0), (3, Ties::Random, 0.9)] {
            let model = Model::new(DIM, blocks)?.with_gamma(gamma)?;
            let mut learner = Learner::with_model(algorithm, model)?.with_ties(ties);
            let mut rounds = Vec::new();
            for t in 1..=5 {
                let x = features(t);
                let arms = Arms::new(&x, DIM)?.with_names(&names)?;
                let decision = learner.choose(Round::new(5, t), &arms, &constraint(blocks))?;
                let rewards = decision.rewards(|arm| pay(&arm.features, arm.block));
                learner.learn(&decision, &rewards)?;
                rounds.push(json!({ "features": x, "decision": decision }));
            }
            let learner = learner.to_json_with(Some(Round::new(5, 6)))?;
            let line = json!({
                "algorithm": algorithm, "blocks": blocks, "ties": ties, "gamma": gamma, "rounds": rounds,
                "learner": learner,
            });
            println!("{line}");
        }
    }
    Ok(())
}
