//! Solves one budget instance from standard input (JSON) and prints answer and time as JSON: the Rust side of
//! `bench/budget.py`.

use armwise::{Arms, Budget, Column, Oracle, Quality, Round, Scores, Ties};
use std::io::Read;
use std::time::Instant;

#[derive(serde::Deserialize)]
struct Instance {
    blocks: usize,
    scores: Vec<f64>,
    costs: Vec<f64>,
    constraint: Budget,
    /// How often to solve it; the median time is printed.
    repeat: usize,
}

#[expect(clippy::print_stdout, reason = "the answer")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let instance: Instance = serde_json::from_str(&text)?;
    let rows = instance.scores.len() / instance.blocks;
    let features = vec![0.0_f32; rows];
    let columns = [Column { name: &instance.constraint.cost, values: &instance.costs }];
    let arms = Arms::new(&features, 1)?.with_columns(&columns)?;
    let scores = Scores::new(&instance.scores, instance.blocks, arms, Ties::ById, Round::new(1, 1))?;
    let mut seconds = Vec::new();
    let mut found = None;
    for _ in 0..instance.repeat.max(1) {
        let started = Instant::now();
        found = Some(instance.constraint.argmax(&scores)?);
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_unstable_by(f64::total_cmp);
    let found = found.ok_or("nothing solved")?;
    let chosen: Vec<[usize; 2]> = found.arms.iter().map(|arm| [arm.row, arm.block]).collect();
    let answer = serde_json::json!({
        "objective": found.objective,
        "upper_bound": found.upper_bound,
        "optimal": found.quality == Quality::Optimal,
        "seconds": seconds[seconds.len() / 2],
        "chosen": chosen,
    });
    println!("{answer}");
    Ok(())
}
