//! Times choosing: `cargo run --release -p armwise --example choose_speed [N,d,k,M,threads,policy,storage]...`
//!
//! Prints one JSON object per line, for each shape: the peak of fused multiply-adds in f64 on one thread, by a loop that
//! lives in registers; the seconds of `scores` (all in f64) and of `choose`, median and minimum; and the part of the peak
//! that `scores` reaches, counting d (d + 1) / 2 + d multiply-adds an arm and block where the
//! policy needs widths; and, with one block, the mean seconds of a choice over the first 20 rounds of a learner, from a
//! catalogue and from plain arms. Without arguments it times the usual shapes.

#![allow(unsafe_code, reason = "the peak is measured with the processor's vector unit by name")]

use armwise::{Algorithm, Arms, Catalogue, Constraint, Learner, Round, Stream};
use serde_json::json;
use std::{error::Error, hint::black_box, time::Instant};

const USUAL: [&str; 10] = [
    "2000,11,100,1,1,c2ucb,f64",
    "20000,51,200,1,1,c2ucb,f64",
    "20000,51,200,1,1,arm-wise-ts,f64",
    "1000000,51,1000,1,1,c2ucb,f32",
    "1000000,51,1000,1,1,c2ucb,f64",
    "1000000,51,1000,1,2,c2ucb,f32",
    "200000,128,1000,1,1,c2ucb,f32",
    "50000,510,500,1,1,c2ucb,f32",
    "20000,51,200,10,1,c2ucb,f64",
    "20000,51,200,10,2,c2ucb,f64",
];

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let shapes = if asked.is_empty() { USUAL.map(str::to_owned).to_vec() } else { asked };
    for shape in &shapes {
        println!("{}", time(shape)?);
    }
    Ok(())
}

fn time(shape: &str) -> Result<serde_json::Value, Box<dyn Error>> {
    let [n, d, k, m, threads, policy, storage] = shape.split(',').collect::<Vec<_>>()[..] else {
        return Err(format!("{shape:?} is not N,d,k,M,threads,policy,storage").into());
    };
    let [n, d, k, m, threads] = [n.parse()?, d.parse()?, k.parse()?, m.parse()?, threads.parse::<usize>()?];
    let algorithm: Algorithm = serde_json::from_value(json!({ "name": policy }))?;
    let wide = features(n, d);
    let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
    let arms = if storage == "f32" { Arms::new(&narrow, d)? } else { Arms::new(&wide, d)? };
    let constraint = Constraint::top_k(k);
    let learner = learner(algorithm, &arms, m)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let run = |what: &mut (dyn FnMut(u64) + Send)| pool.install(|| seconds(what));
    // Right beside what it is compared with, and the better of before and after: the clock of a processor changes.
    let before = fma_peak();
    let scores = run(&mut |t| {
        black_box(learner.scores(Round::new(1, t), &arms)).expect("good arms");
    });
    let peak = before.max(fma_peak());
    let choose = run(&mut |t| {
        black_box(learner.choose(Round::new(1, t), &arms, &constraint)).expect("good arms");
    });
    let catalogue = if m == 1 { Some(pool.install(|| rounds(algorithm, &arms, &constraint))?) } else { None };
    let per_arm = if algorithm.description().uses_width { d * (d + 1) / 2 } else { 0 } + d;
    let fmas = (n * m * per_arm) as f64;
    Ok(json!({
        "n": n, "d": d, "k": k, "m": m, "threads": threads, "policy": policy, "storage": storage,
        "peak_gfma_per_s": peak / 1e9, "scores_median_s": scores.0, "scores_min_s": scores.1, "scores_of_peak": fmas / scores.1 / peak / threads as f64,
        "choose_median_s": choose.0, "choose_min_s": choose.1,
        "rounds_catalogue_mean_s": catalogue.map(|(catalogue, _)| catalogue),
        "rounds_plain_mean_s": catalogue.map(|(_, plain)| plain),
    }))
}

/// The mean seconds of a choice over the first 20 rounds of a learner, from a catalogue and from plain arms.
fn rounds(algorithm: Algorithm, arms: &Arms<'_>, constraint: &Constraint) -> Result<(f64, f64), armwise::Error> {
    const ROUNDS: u64 = 20;
    let catalogue = Catalogue::new(arms)?;
    let mut learner = Learner::new(algorithm, arms.dim(), 1)?;
    let mut seconds = [0.0; 2];
    for t in 1..=ROUNDS {
        let mut decisions = Vec::new();
        for (place, seconds) in seconds.iter_mut().enumerate() {
            let (learner, round) = (learner.clone(), Round::new(1, t));
            let started = Instant::now();
            decisions.push(match place {
                0 => learner.choose_from(&catalogue, round, &catalogue.arms(), constraint)?,
                _ => learner.choose(round, arms, constraint)?,
            });
            *seconds += started.elapsed().as_secs_f64() / ROUNDS as f64;
        }
        assert_eq!(decisions[0], decisions[1], "a catalogue chooses the same");
        learner.learn(&decisions[0], &decisions[0].rewards(|arm| arm.features[0] - 0.5 * arm.features[1]))?;
    }
    Ok((seconds[0], seconds[1]))
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
fn learner(algorithm: Algorithm, arms: &Arms<'_>, blocks: usize) -> Result<Learner, armwise::Error> {
    let mut learner = Learner::new(algorithm, arms.dim(), blocks)?;
    let few = arms.slice(0..arms.len().min(2_000));
    for t in 1..=20 {
        let decision = learner.choose(Round::new(3, t), &few, &Constraint::top_k(100 * blocks))?;
        let rewards = decision.rewards(|arm| arm.features[0] + 0.5 * arm.features[arm.features.len() - 1]);
        learner.learn(&decision, &rewards)?;
    }
    Ok(learner)
}

/// Median and minimum of at least 5 runs and at least half a second.
fn seconds(work: &mut (dyn FnMut(u64) + Send)) -> (f64, f64) {
    let (mut all, begun) = (Vec::new(), Instant::now());
    while all.len() < 5 || (begun.elapsed().as_secs_f64() < 0.5 && all.len() < 2_000) {
        let started = Instant::now();
        work(100 + all.len() as u64);
        all.push(started.elapsed().as_secs_f64());
    }
    all.sort_unstable_by(f64::total_cmp);
    (all[all.len() / 2], all[0])
}

/// Fused multiply-adds a second on one thread.
fn fma_peak() -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return rate(8 * CHAINS, |times| unsafe { avx512_chains(times) });
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return rate(4 * CHAINS, |times| unsafe { avx2_chains(times) });
        }
    }
    rate(CHAINS, plain_chains)
}

/// Independent sums in registers: more than latency times units.
const CHAINS: usize = 12;

fn rate(per_turn: usize, run: impl Fn(u64) -> f64) -> f64 {
    const TURNS: u64 = 20_000_000;
    let best = (0..5).map(|_| {
        let started = Instant::now();
        black_box(run(black_box(TURNS)));
        started.elapsed().as_secs_f64()
    });
    (TURNS as usize * per_turn) as f64 / best.fold(f64::INFINITY, f64::min)
}

/// # Safety
/// The processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512_chains(turns: u64) -> f64 {
    use std::arch::x86_64::{_mm512_add_pd, _mm512_fmadd_pd, _mm512_reduce_add_pd, _mm512_set1_pd};
    let (a, b) = (_mm512_set1_pd(black_box(0.999)), _mm512_set1_pd(black_box(1e-9)));
    let mut sums = [_mm512_set1_pd(0.5); CHAINS];
    for _ in 0..turns {
        for sum in &mut sums {
            *sum = _mm512_fmadd_pd(*sum, a, b);
        }
    }
    let mut all = sums[0];
    for sum in &sums[1..] {
        all = _mm512_add_pd(all, *sum);
    }
    _mm512_reduce_add_pd(all)
}

/// # Safety
/// The processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2_chains(turns: u64) -> f64 {
    use std::arch::x86_64::{_mm256_add_pd, _mm256_cvtsd_f64, _mm256_fmadd_pd, _mm256_set1_pd};
    let (a, b) = (_mm256_set1_pd(black_box(0.999)), _mm256_set1_pd(black_box(1e-9)));
    let mut sums = [_mm256_set1_pd(0.5); CHAINS];
    for _ in 0..turns {
        for sum in &mut sums {
            *sum = _mm256_fmadd_pd(*sum, a, b);
        }
    }
    let mut all = sums[0];
    for sum in &sums[1..] {
        all = _mm256_add_pd(all, *sum);
    }
    _mm256_cvtsd_f64(all)
}

/// What the compiler makes of it where neither is there.
fn plain_chains(turns: u64) -> f64 {
    let mut sums = [0.5; CHAINS];
    for _ in 0..turns {
        for sum in &mut sums {
            *sum = f64::mul_add(*sum, 0.999, 1e-9);
        }
    }
    sums.iter().sum()
}
