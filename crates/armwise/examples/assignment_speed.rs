//! Times the assignment oracle on a generated instance and prints one line of JSON.
//!
//! Scores are multiples of 2^-20, so the other solvers can be given the same instance in
//! integers (`--out FILE` writes the scores as raw f64, row-major) and objectives can be compared exactly.
//!
//! Usage: `assignment_speed KIND N M K [--seed S] [--repeats R] [--per-row C] [--out FILE]`, where KIND is `bandit`
//! (customer effect + promotion effect + noise), `uniform`, or `clusters` (100 clusters of equal rows).
#![expect(clippy::print_stdout, reason = "a program that reports")]

use armwise::{Arms, Assignment, Oracle, Round, Scores, Stream, Ties};
use std::{error::Error, fs, time::Instant};

const GRID: f64 = (1 << 20) as f64;

struct Options {
    kind: String,
    shape: [usize; 3],
    seed: u64,
    repeats: usize,
    per_row: usize,
    out: Option<String>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().ok_or("KIND N M K");
    let kind = next()?;
    let shape = [next()?.parse()?, next()?.parse()?, next()?.parse()?];
    let mut options = Options { kind, shape, seed: 1, repeats: 5, per_row: 1, out: None };
    while let Some(name) = args.next() {
        let value = args.next().ok_or("an option needs a value")?;
        match name.as_str() {
            "--seed" => options.seed = value.parse()?,
            "--repeats" => options.repeats = value.parse()?,
            "--per-row" => options.per_row = value.parse()?,
            "--out" => options.out = Some(value),
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    Ok(options)
}

fn generate(kind: &str, rows: usize, blocks: usize, seed: u64) -> Result<Vec<f64>, Box<dyn Error>> {
    let draws = |block: usize, stream| Round::new(seed, 1).draws(block as u32, Stream(stream));
    let (customers, promotions) = (draws(0, 300), draws(0, 301));
    let noise: Vec<_> = (0..blocks).map(|block| draws(block, 302)).collect();
    let score = |row: usize, block: usize| {
        let row = row as u64;
        let score = match kind {
            "uniform" => noise[block].uniform(row),
            _ => customers.normal(row) + 0.3 * promotions.normal(block as u64) + 0.5 * noise[block].normal(row),
        };
        (score * GRID).round() / GRID
    };
    match kind {
        "bandit" | "uniform" => Ok((0..rows * blocks).map(|place| score(place / blocks, place % blocks)).collect()),
        "clusters" => {
            let cluster = |row: u64| (draws(0, 303).bits(row) % 100) as usize;
            Ok((0..rows * blocks).map(|place| score(cluster((place / blocks) as u64), place % blocks)).collect())
        }
        other => Err(format!("unknown kind {other}").into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let Options { kind, shape: [rows, blocks, k], seed, repeats, per_row, out } = options()?;
    let values = generate(&kind, rows, blocks, seed)?;
    if let Some(path) = out {
        fs::write(path, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
    }
    let features = vec![0.0; rows];
    let arms = Arms::new(&features, 1)?;
    let scores = Scores::new(&values, blocks, arms, Ties::ById, Round::new(seed, 1))?;
    let constraint = Assignment { per_row, ..Assignment::new(vec![k; blocks]) };
    let mut times = Vec::new();
    let mut objective = 0.0;
    for _ in 0..repeats {
        let start = Instant::now();
        objective = constraint.argmax(&scores)?.objective;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_unstable_by(f64::total_cmp);
    let line = serde_json::json!({
        "kind": kind, "n": rows, "m": blocks, "k": k, "per_row": per_row, "seed": seed,
        "median_ms": times[repeats / 2], "least_ms": times[0], "objective": (objective * GRID).round() as i64,
    });
    println!("{line}");
    Ok(())
}
