//! Solves problems from standard input, one JSON object a line, and prints an answer a line: the library's side of
//! `bench/exactness.py` and `bench/budget.py`, and a way to try a constraint from a terminal.
//!
//! A problem: `{"constraint": {...}, "blocks": M, "scores": [N x M numbers, null for forbidden],
//! "columns": {"cost": [...]}, "repeat": 1}`. Only `constraint` and `scores` are needed.

use armwise::{Arms, Column, Constraint, Error, Oracle, Quality, Round, Scores, Ties};
use std::{collections::BTreeMap, io, time::Instant};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Problem {
    constraint: Constraint,
    #[serde(default = "one")]
    blocks: usize,
    scores: Vec<Option<f64>>,
    #[serde(default)]
    columns: BTreeMap<String, Vec<f64>>,
    /// How often to solve it; the median time is printed.
    #[serde(default = "one")]
    repeat: usize,
}

fn one() -> usize {
    1
}

fn solve(problem: &Problem) -> Result<serde_json::Value, Error> {
    let values: Vec<f64> = problem.scores.iter().map(|score| score.unwrap_or(f64::NEG_INFINITY)).collect();
    let features = vec![0.0_f32; values.len() / problem.blocks.max(1)];
    let columns: Vec<Column<'_>> = problem.columns.iter().map(|(name, values)| Column { name, values }).collect();
    let arms = Arms::new(&features, 1)?.with_columns(&columns)?;
    let scores = Scores::new(&values, problem.blocks, arms, Ties::ById, Round::new(1, 1))?;
    let mut seconds = Vec::new();
    let mut found = None;
    for _ in 0..problem.repeat.max(1) {
        let start = Instant::now();
        found = Some(problem.constraint.argmax(&scores));
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_unstable_by(f64::total_cmp);
    let found = match found.expect("solved at least once") {
        Ok(found) => found,
        Err(Error::Infeasible(reason)) => return Ok(serde_json::json!({ "infeasible": reason })),
        Err(error) => return Err(error),
    };
    let chosen: Vec<[usize; 2]> = found.arms.iter().map(|arm| [arm.row, arm.block]).collect();
    Ok(serde_json::json!({
        "objective": found.objective,
        "upper_bound": found.upper_bound,
        "optimal": found.quality == Quality::Optimal,
        "seconds": seconds[seconds.len() / 2],
        "chosen": chosen,
        "prices": found.prices,
        "missing": found.missing,
    }))
}

#[expect(clippy::print_stdout, reason = "the answers")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in io::stdin().lines() {
        let answer = match solve(&serde_json::from_str(&line?)?) {
            Ok(answer) => answer,
            Err(error) => serde_json::json!({ "error": error.to_string() }),
        };
        println!("{answer}");
    }
    Ok(())
}
