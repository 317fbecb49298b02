//! Times the k best of N scores on one thread: `cargo run --release --example top_k_speed [N] [k]`, N = 1e8 by default
//! (1.2 GB of memory).

use armwise::{Arms, Oracle, Round, Scores, Stream, Ties, TopK};
use std::time::Instant;

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let n = arguments.first().copied().unwrap_or(100_000_000);
    let k = arguments.get(1).copied().unwrap_or(1_000);
    let features = vec![0.0_f32; n];
    let arms = Arms::new(&features, 1)?;
    let draws = Round::new(1, 1).draws(0, Stream(256));
    let random: Vec<f64> = (0..n as u64).map(|id| draws.uniform(id)).collect();
    for (name, ties) in [("by id", Ties::ById), ("random", Ties::Random)] {
        let scores = Scores::new(&random, 1, arms, ties, Round::new(1, 1))?;
        let mut seconds = Vec::new();
        for _ in 0..5 {
            let started = Instant::now();
            let found = TopK::exactly(k).argmax(&scores)?;
            seconds.push(started.elapsed().as_secs_f64());
            assert_eq!(found.arms.len(), k);
        }
        seconds.sort_unstable_by(f64::total_cmp);
        println!("top {k} of {n} scores, ties {name}: {:.3} s (median of 5, one thread)", seconds[2]);
    }
    Ok(())
}
