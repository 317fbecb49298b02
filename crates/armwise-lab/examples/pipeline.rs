//! Runs the data pipeline and prints sizes, spectrum, times and peak memory.
//!
//! ```text
//! cargo run --release -p armwise-lab --example pipeline -- [FILE | USERS,MOVIES,RATINGS] [VARIANT]...
//! ```
//! Without a file the default generated set is taken. `138493,26744,20000263` has the size of ml-20m.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::{path::Path, time::Instant};

use armwise_lab::data::{Band, Cosines, Features, Generated, Ratings, Split, Svd, Variant};

fn main() -> Result<(), armwise_lab::Error> {
    let mut arguments = std::env::args().skip(1).peekable();
    let start = Instant::now();
    let ratings = match arguments.next_if(|argument| argument.parse::<Variant>().is_err()) {
        None => Ratings::generate(&Generated::default(), 1)?,
        Some(argument) => {
            let sizes: Vec<usize> = argument.split(',').filter_map(|size| size.parse().ok()).collect();
            match sizes[..] {
                [users, movies, ratings] => Ratings::generate(&Generated { users, movies, ratings }, 1)?,
                _ => Ratings::read(Path::new(&argument))?,
            }
        }
    };
    lap("ratings", start);
    println!("{}: {} users, {} movies, {} ratings", ratings.source(), ratings.users(), ratings.movies(), ratings.len());
    let band = Band::of(ratings.users());
    println!("fingerprint {:016x}", ratings.fingerprint());
    println!("{} movies rated by {} to {} users", band.movies(&ratings).len(), band.least, band.most);

    let start = Instant::now();
    let split = Split::draw(&ratings, 10, 1, 0)?;
    lap("split", start);
    let mean = split.rewards.iter().map(|reward| f64::from(*reward)).sum::<f64>() / split.rewards.len() as f64;
    println!("mean reward {mean:.4}");

    let start = Instant::now();
    let svd = Svd::new(&split, Features::FACTORS, 1)?;
    lap("svd", start);
    println!("basis {}, residual {:.1e}, sigma {:.1?}", svd.basis, svd.residual, svd.sigma);
    drop(svd);

    for variant in arguments {
        let variant: Variant = variant.parse()?;
        let start = Instant::now();
        let features = Features::new(&split, variant, 1)?;
        lap(variant.name(), start);
        let mut lengths: Vec<f64> = (0..features.users()).map(|user| length(features.factors(user))).collect();
        lengths.sort_by(f64::total_cmp);
        let at = |share: usize| lengths[share * (lengths.len() - 1) / 100];
        println!("length of factors: {:.4} (10%) {:.4} (50%) {:.4} (90%) {:.4} (99%)", at(10), at(50), at(90), at(99));
        let start = Instant::now();
        let cosines = Cosines::new(&features, 10_000, 20, 1);
        lap("cosines", start);
        let share = |count: &u64| 100.0 * *count as f64 / cosines.pairs() as f64;
        println!("% of pairs per 0.1 of cosine: {:.1?}", cosines.bins.iter().map(share).collect::<Vec<_>>());
    }
    Ok(())
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Prints the time since `start` and, where the system tells, the peak of memory so far.
fn lap(what: &str, start: Instant) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!("[{what}: {:.2} s, peak memory {peak}]", start.elapsed().as_secs_f64());
}
