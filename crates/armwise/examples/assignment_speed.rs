//! Times the assignment oracle on a generated instance and prints one line of JSON.
//!
//! Scores are multiples of 2^-20, so the other solvers can be given the same instance in
//! integers (`--out FILE` writes the scores as raw f64, row-major) and objectives can be compared exactly.
//!
//! Usage: `assignment_speed KIND N M K [--seed S] [--repeats R] [--per-row C] [--groups G] [--cells 1] [--budget B]
//! [--warm 1] [--out FILE]`, where KIND is `bandit` (customer effect + promotion effect + noise), `uniform`, or `clusters` (100
//! clusters of equal rows).
//!
//! With `--groups G` the rows fall into G groups at random; by turns a group has at most 0.4 of its fair share of all
//! units, at least 1.6 of it, or neither; `--cells 1` limits the groups in every block instead of over all blocks.
//! `--budget B` allows B of what the best arms without a budget cost, at costs of 1 to 5 that favour good arms.
//!
//! `--warm 1` also solves it with the prices of a round before, which has the same customers and promotions and other
//! noise (for `uniform`, nothing in common but the law of the scores), by turns with and without them.
#![expect(clippy::print_stdout, reason = "a program that reports")]

use armwise::oracle::{Group, OneOrMany, Quality, Selection};
use armwise::{Arms, Assignment, Column, Oracle, Round, Scores, Stream, Ties};
use std::{error::Error, fs, time::Instant};

const GRID: f64 = (1 << 20) as f64;

struct Options {
    kind: String,
    shape: [usize; 3],
    seed: u64,
    repeats: usize,
    per_row: usize,
    groups: usize,
    cells: bool,
    budget: Option<f64>,
    warm: bool,
    out: Option<String>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().ok_or("KIND N M K");
    let kind = next()?;
    let shape = [next()?.parse()?, next()?.parse()?, next()?.parse()?];
    let mut options = Options {
        kind,
        shape,
        seed: 1,
        repeats: 5,
        per_row: 1,
        groups: 0,
        cells: false,
        budget: None,
        warm: false,
        out: None,
    };
    while let Some(name) = args.next() {
        let value = args.next().ok_or("an option needs a value")?;
        match name.as_str() {
            "--seed" => options.seed = value.parse()?,
            "--repeats" => options.repeats = value.parse()?,
            "--per-row" => options.per_row = value.parse()?,
            "--groups" => options.groups = value.parse()?,
            "--cells" => options.cells = value == "1",
            "--budget" => options.budget = Some(value.parse()?),
            "--warm" => options.warm = value == "1",
            "--out" => options.out = Some(value),
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    Ok(options)
}

/// The scores of a round; `noise` tells rounds with the same customers and promotions apart.
fn generate(kind: &str, rows: usize, blocks: usize, seed: u64, noise: u32) -> Result<Vec<f64>, Box<dyn Error>> {
    let draws = |block: usize, stream| Round::new(seed, 1).draws(block as u32, Stream(stream));
    let (customers, promotions) = (draws(0, 300), draws(0, 301));
    let noise: Vec<_> = (0..blocks).map(|block| draws(block, noise)).collect();
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
    let Options { kind, shape: [rows, blocks, k], seed, repeats, per_row, groups, cells, budget, warm, out } =
        options()?;
    let values = generate(&kind, rows, blocks, seed, 302)?;
    let written = out.is_some();
    if let Some(path) = out {
        fs::write(path, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
    }
    let features = vec![0.0; rows];
    let region: Vec<f64> = (0..rows as u64).map(|row| group_of(seed, row, groups.max(1)) as f64).collect();
    let costs: Vec<f64> = values.iter().map(|value| (value.clamp(-2.0, 2.0) + 3.0).floor()).collect();
    let columns = [Column { name: "region", values: &region }, Column { name: "cost", values: &costs }];
    let arms = Arms::new(&features, 1)?.with_columns(&columns)?;
    let scores = Scores::new(&values, blocks, arms, Ties::ById, Round::new(seed, 1))?;
    let plain = Assignment { per_row, ..Assignment::new(vec![k; blocks]) };
    let (of_plain, best) = timed(repeats, &plain, &scores)?;
    let mut line = serde_json::json!({
        "kind": kind, "n": rows, "m": blocks, "k": k, "per_row": per_row, "seed": seed,
        "median_ms": of_plain[repeats / 2], "least_ms": of_plain[0], "objective": (best.objective * GRID).round() as i64,
    });
    if warm {
        let before = generate(&kind, rows, blocks, seed, 305)?;
        let last = plain.argmax(&Scores::new(&before, blocks, arms, Ties::ById, Round::new(seed, 1))?)?.prices;
        let (cold, warm) = (|| plain.argmax(&scores), || plain.argmax_near(&scores, &last));
        // By turns, so that a busy machine slows both alike.
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..repeats.max(1) {
            for (times, warm_now) in times.iter_mut().zip([false, true]) {
                let start = Instant::now();
                let found = if warm_now { warm()? } else { cold()? };
                times.push(start.elapsed().as_secs_f64() * 1e3);
                if found != best {
                    return Err("warm prices changed the answer".into());
                }
            }
        }
        times.iter_mut().for_each(|times| times.sort_unstable_by(f64::total_cmp));
        line["warm"] = serde_json::json!({
            "cold_ms": times[0][repeats / 2], "median_ms": times[1][repeats / 2], "least_ms": times[1][0],
        });
    }
    if groups > 0 {
        let mut constraint = Assignment { groups: limits(groups, blocks, k, cells), ..plain };
        let (times, found) = timed(repeats, &constraint, &scores)?;
        line["groups"] = told(&times, &found);
        if written {
            line["region"] = (0..rows as u64).map(|row| group_of(seed, row, groups)).collect();
        }
        if let Some(share) = budget {
            let spent: f64 = found.arms.iter().map(|arm| costs[arm.row * blocks + arm.block]).sum();
            constraint = constraint.within("cost", (share * spent).floor());
            let (times, found) = timed(repeats, &constraint, &scores)?;
            line["budget"] = told(&times, &found);
        }
    }
    println!("{line}");
    Ok(())
}

fn group_of(seed: u64, row: u64, groups: usize) -> u64 {
    Round::new(seed, 1).draws(0, Stream(304)).bits(row) % groups as u64
}

/// The limits of the groups, by turns a maximum, a minimum and none.
fn limits(groups: usize, blocks: usize, k: usize, cells: bool) -> Vec<Group> {
    let blocks_of =
        |group: usize| if cells { (0..blocks).map(|b| (group, Some(b))).collect() } else { vec![(group, None)] };
    let group = |(group, block): (usize, Option<usize>)| {
        let fair = k * if cells { 1 } else { blocks } / groups;
        let min = (group % 3 == 1).then_some(fair * 8 / 5);
        let max = (group % 3 == 0).then_some(fair * 2 / 5);
        let value = Some(OneOrMany::One(group as f64));
        Group { column: "region".to_owned(), value, block, min, max, exactly: None }
    };
    (0..groups).flat_map(blocks_of).map(group).collect()
}

fn timed(repeats: usize, of: &Assignment, scores: &Scores<'_>) -> Result<(Vec<f64>, Selection), armwise::Error> {
    let mut times = Vec::new();
    let mut found = None;
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        found = Some(of.argmax(scores)?);
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok((times, found.expect("solved at least once")))
}

fn told(times: &[f64], found: &Selection) -> serde_json::Value {
    serde_json::json!({
        "median_ms": times[times.len() / 2], "least_ms": times[0], "objective": found.objective,
        "upper_bound": found.upper_bound, "optimal": found.quality == Quality::Optimal,
        "gap": (found.upper_bound - found.objective) / found.objective.abs(),
    })
}
