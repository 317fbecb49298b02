//! Micro-benchmarks of the parts of a round: `cargo bench -p armwise`.
//!
//! One thread, and shapes small enough for the caches, so that what is timed is the arithmetic.
#![allow(missing_docs, reason = "a program")]

use armwise::{
    Algorithm, Arms, Assignment, C2ucb, Catalogue, Constraint, Learner, Model, Observation, Oracle, Round, Scores,
    Stream, Ties,
};
use divan::{Bencher, counter::ItemsCount};

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("no pool before");
    divan::main();
}

fn numbers(count: usize) -> Vec<f64> {
    let ids: Vec<u64> = (0..count as u64).collect();
    let mut numbers = vec![0.0; count];
    Round::new(1, 1).draws(0, Stream(256)).normals(&ids, &mut numbers);
    numbers
}

fn learner(x: &[f64], d: usize) -> Learner {
    let mut model = Model::new(d, 1).expect("shape");
    for x in x.chunks(d).take(500) {
        model.observe(&Observation { t: 1, block: 0, x, reward: x[0] }).expect("finite");
    }
    Learner::with_model(Algorithm::C2ucb(C2ucb::new(1.0, 0.5)), model).expect("parameters")
}

/// All scores in f64.
#[divan::bench(args = [11, 51, 128, 510])]
fn kernel(bencher: Bencher<'_, '_>, d: usize) {
    let n = (2_000_000 / (d * d)).max(480);
    let x = numbers(n * d);
    let (learner, arms) = (learner(&x, d), Arms::new(&x, d).expect("rows"));
    bencher.counter(ItemsCount::new(n)).bench_local(|| learner.scores(Round::new(1, 2), &arms));
}

/// The 100 best of 20,000: plain arms, then a catalogue.
#[divan::bench(args = [false, true])]
fn choose(bencher: Bencher<'_, '_>, catalogue: bool) {
    let (n, d) = (20_000, 51);
    let x = numbers(n * d);
    let arms = Arms::new(&x, d).expect("rows");
    let (learner, kept) = (learner(&x, d), Catalogue::new(&arms).expect("finite"));
    let arms = if catalogue { kept.arms() } else { arms };
    let constraint = Constraint::top_k(100);
    bencher.counter(ItemsCount::new(n)).bench_local(|| learner.choose(Round::new(1, 2), &arms, &constraint));
}

#[divan::bench(args = [100, 1_000, 10_000])]
fn top_k(bencher: Bencher<'_, '_>, k: usize) {
    let scores = numbers(1_000_000);
    let x = vec![0.0_f32; scores.len()];
    let arms = Arms::new(&x, 1).expect("rows");
    let scores = Scores::new(&scores, 1, arms, Ties::ById, Round::new(1, 1)).expect("as many");
    bencher.counter(ItemsCount::new(x.len())).bench_local(|| Constraint::top_k(k).argmax(&scores));
}

#[divan::bench(args = ["uniform", "normal"])]
fn draws(bencher: Bencher<'_, '_>, kind: &str) {
    let ids: Vec<u64> = (0..10_000).collect();
    let mut out = vec![0.0; ids.len()];
    let draws = Round::new(1, 1).draws(0, Stream::BONUS);
    bencher
        .counter(ItemsCount::new(ids.len()))
        .bench_local(|| if kind == "normal" { draws.normals(&ids, &mut out) } else { draws.uniforms(&ids, &mut out) });
}

/// The sums, then the factor: once per round.
#[divan::bench(args = [11, 51, 128, 510])]
fn update(bencher: Bencher<'_, '_>, d: usize) {
    let x = numbers(100 * d);
    let seen: Vec<_> = x.chunks(d).map(|x| Observation { t: 1, block: 0, x, reward: 1.0 }).collect();
    let mut model = Model::new(d, 1).expect("shape");
    bencher.counter(ItemsCount::new(seen.len())).bench_local(|| {
        model.observe_batch(&seen).expect("finite");
        model.posterior(0, 1.0)
    });
}

/// A history at once.
#[divan::bench(args = [11, 51, 200])]
fn history(bencher: Bencher<'_, '_>, d: usize) {
    let x = numbers(10_000 * d);
    let seen: Vec<_> = x.chunks(d).map(|x| Observation { t: 1, block: 0, x, reward: 1.0 }).collect();
    let mut model = Model::new(d, 1).expect("shape");
    bencher.counter(ItemsCount::new(seen.len())).bench_local(|| model.observe_batch(&seen));
}

#[divan::bench]
fn assignment(bencher: Bencher<'_, '_>) {
    let (n, blocks) = (20_000, 10);
    let scores = numbers(n * blocks);
    let x = vec![0.0_f32; n];
    let arms = Arms::new(&x, 1).expect("rows");
    let scores = Scores::new(&scores, blocks, arms, Ties::ById, Round::new(1, 1)).expect("as many");
    let constraint = Assignment::new(vec![100; blocks]);
    bencher.bench_local(|| constraint.argmax(&scores));
}
