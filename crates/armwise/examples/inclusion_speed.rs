//! Times probabilities beside choices: `cargo run --release -p armwise --example inclusion_speed [quick] [check]`
//!
//! Prints one JSON object per line: the seconds of a choice and of the probabilities of all arms, median of interleaved
//! runs on the same arms, their ratio and the largest that is allowed, how far the probabilities are from adding up to k, and the
//! most memory that the program has held so far beside that of the features. With `quick` the shapes are a tenth as large; with
//! `check` a ratio above what is allowed fails.

use armwise::{Algorithm, Arms, Assignment, Constraint, Learner, Oracle, Round, Stream};
use serde_json::json;
use std::{error::Error, hint::black_box, time::Instant};

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Box<dyn Error>> {
    let less = if std::env::args().any(|argument| argument == "quick") { 10 } else { 1 };
    let check = std::env::args().any(|argument| argument == "check");
    let mut slow = Vec::new();
    let mut told = |line: serde_json::Value| {
        println!("{line}");
        if line["times"].as_f64() > line["at_most"].as_f64() && line["at_most"].is_number() {
            slow.push(line);
        }
    };
    for (n, d, at_most) in [(1_000_000 / less, 51, Some(15.0)), (1_000_000 / less, 11, Some(15.0)), (2_000, 11, None)] {
        let k = (n / 1_000).max(100);
        told(time("top-k", (n, d, 1), &Constraint::top_k(k), (k as f64, at_most), None)?);
    }
    let (rows, blocks, each) = (20_000 / less, 10, 20);
    let assignment = Constraint::Assignment(Assignment::new(vec![each; blocks]));
    told(time("assignment", (rows, 51, blocks), &assignment, ((each * blocks) as f64, Some(40.0)), Some(16))?);
    told(time_slate(100, 11, 5)?);
    told(time_slate(400, 11, 10)?);
    if check && !slow.is_empty() {
        return Err(format!("slower than allowed: {slow:?}").into());
    }
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
    (k, at_most): (f64, Option<f64>),
    replicates: Option<usize>,
) -> Result<serde_json::Value, Box<dyn Error>> {
    const RUNS: u64 = 5;
    let x: Vec<f32> = features(n, d).iter().map(|&x| x as f32).collect();
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
        "at_most": at_most, "peak_mb": peak(), "features_mb": (x.len() * 4) >> 20,
        "places": found.laws.iter().map(armwise::ThresholdLaw::places).sum::<usize>(), "law_bytes": law,
    }))
}

/// The most memory that the program has held, in MB; none where the system does not tell.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes >> 10)
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
