//! Times probabilities beside choices: `cargo run --release -p armwise --example inclusion_speed [quick]`
//!
//! Prints one JSON object per line: the seconds of a choice and of the probabilities of all arms, median of interleaved
//! runs on the same arms, their ratio, and how far the probabilities are from adding up to k. With `quick` the shapes are
//! a tenth as large.

use armwise::{Algorithm, Arms, Assignment, Constraint, Learner, Oracle, Round, Stream};
use serde_json::json;
use std::{error::Error, hint::black_box, time::Instant};

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Box<dyn Error>> {
    let less = if std::env::args().any(|argument| argument == "quick") { 10 } else { 1 };
    for (n, d) in [(1_000_000 / less, 51), (1_000_000 / less, 11), (2_000, 11)] {
        let k = (n / 1_000).max(100);
        println!("{}", time("top-k", (n, d, 1), &Constraint::top_k(k), k as f64, None)?);
    }
    let (rows, blocks, each) = (20_000 / less, 10, 20);
    let assignment = Constraint::Assignment(Assignment::new(vec![each; blocks]));
    println!("{}", time("assignment", (rows, 51, blocks), &assignment, (each * blocks) as f64, Some(16))?);
    println!("{}", time_slate(100, 11, 5)?);
    println!("{}", time_slate(400, 11, 10)?);
    Ok(())
}

/// A slate with the probabilities of its arms beside one without.
fn time_slate(n: usize, d: usize, k: usize) -> Result<serde_json::Value, Box<dyn Error>> {
    const RUNS: u64 = 400;
    let x: Vec<f32> = features(n, d).iter().map(|&x| x as f32).collect();
    let arms = Arms::new(&x, d)?;
    let (learner, best) = (learner(&arms, 1)?, Constraint::top_k(k));
    let (mut choose, mut more) = (Vec::new(), Vec::new());
    for t in 0..RUNS {
        let started = Instant::now();
        let mut decision = black_box(learner.choose(Round::new(1, 30 + t), &arms, &best)?);
        choose.push(started.elapsed().as_secs_f64());
        let started = Instant::now();
        black_box(learner.add_cheap_probabilities(&mut decision, &arms, &best)?);
        more.push(started.elapsed().as_secs_f64());
    }
    let (choose, more) = (median(&mut choose), median(&mut more));
    Ok(json!({ "constraint": "slate", "n": n, "d": d, "k": k, "choose_s": choose, "probabilities_s": more }))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn time(
    name: &str,
    (n, d, blocks): (usize, usize, usize),
    oracle: &dyn Oracle,
    k: f64,
    replicates: Option<usize>,
) -> Result<serde_json::Value, Box<dyn Error>> {
    const RUNS: u64 = 5;
    let wide = features(n, d);
    let x: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
    let arms = Arms::new(&x, d)?;
    let learner = learner(&arms, blocks)?;
    let (mut choose, mut inclusion) = (Vec::new(), Vec::new());
    let mut found = learner.inclusion(Round::new(1, 30), &arms, oracle, replicates)?;
    for t in 0..RUNS {
        let started = Instant::now();
        black_box(learner.choose(Round::new(1, 30 + t), &arms, oracle)?);
        choose.push(started.elapsed().as_secs_f64());
        let started = Instant::now();
        found = black_box(learner.inclusion(Round::new(1, 30 + t), &arms, oracle, replicates)?);
        inclusion.push(started.elapsed().as_secs_f64());
    }
    let (choose, inclusion) = (median(&mut choose), median(&mut inclusion));
    let sum: f64 = found.probabilities.iter().sum();
    let kept: Vec<_> = found.laws.iter().map(armwise::ThresholdLaw::kept).collect();
    let law = serde_json::to_string(&kept)?.len();
    Ok(json!({
        "constraint": name, "n": n, "d": d, "blocks": blocks, "k": k, "method": found.method.name(), "replicates": found.replicates,
        "choose_s": choose, "inclusion_s": inclusion, "times": inclusion / choose, "off": (sum - k) / k,
        "places": found.laws.iter().map(armwise::ThresholdLaw::places).sum::<usize>(), "law_bytes": law,
    }))
}

/// Normal features on the unit sphere.
fn features(n: usize, d: usize) -> Vec<f64> {
    let draws = Round::new(7, 1).draws(0, Stream(256));
    let mut x: Vec<f64> = (0..(n * d) as u64).map(|id| draws.normal(id)).collect();
    for row in x.chunks_mut(d) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
    }
    x
}

/// A learner that has seen 20 rounds.
fn learner(arms: &Arms<'_>, blocks: usize) -> Result<Learner, armwise::Error> {
    let mut learner = Learner::new(Algorithm::new("arm-wise-ts", &[])?, arms.dim(), blocks)?;
    let few = arms.slice(0..arms.len().min(2_000));
    let k = (few.len() / 20).max(1) * blocks;
    for t in 1..=20 {
        let decision = learner.choose(Round::new(3, t), &few, &Constraint::top_k(k))?;
        let rewards = decision.rewards(|arm| arm.features[0] + 0.5 * arm.features[arm.features.len() - 1]);
        learner.learn(&decision, &rewards)?;
    }
    Ok(learner)
}
