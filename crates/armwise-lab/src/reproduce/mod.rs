//! The paper's evaluation (section VII) from one call: figures' numbers, Table I, verdicts.
//!
//! [`run`] computes [`Results`] and touches no file but the store of finished work; a folder is
//! written by [`write()`] only when everything is there, so there is never a partial report.

mod clustered;
mod compare;
mod figures;
mod plan;
mod promotions;
mod text;
mod verdicts;
mod write;

pub use text::tables;
pub use write::write;

use std::{collections::BTreeMap, path::PathBuf, time::Instant};

use crate::{
    Error,
    data::{Ratings, Variant},
    results::{Results, Run, Scale},
    session::Session,
};
use plan::Plan;

/// Which part of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Section VII-A1 and the figures that go with it.
    Clustered,
    /// Section VII-A2.
    Promotions,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// One part, or everything.
    pub part: Option<Part>,
    /// A MovieLens file; without one, ratings are generated.
    pub ratings: Option<PathBuf>,
    /// How features are made from ratings.
    pub features: Variant,
    /// How much is run.
    pub scale: Scale,
    /// The seed of everything.
    pub seed: u64,
}

/// Runs the evaluation.
///
/// # Errors
/// A typed error for a ratings file that cannot be used; nothing has been written then.
pub fn run(options: &Options, session: &Session<'_>) -> Result<Results, Error> {
    let start = Instant::now();
    let plan = Plan::of(options.scale);
    // Bad input, and ratings from which no features can be made, must be found before an hour of work, not after it.
    let data = if options.part == Some(Part::Clustered) {
        None
    } else {
        let ratings = read(options, session, &plan)?;
        let splits = promotions::splits(&plan, &ratings, options, session)?;
        Some((ratings, splits))
    };
    let mut rounds_per_second = BTreeMap::new();
    let mut timed = |name: &str, start: Instant, before: u64| {
        let rounds = session.rounds().0 - before;
        if rounds > 0 {
            rounds_per_second.insert(name.to_owned(), rounds as f64 / start.elapsed().as_secs_f64());
        }
    };
    let clustered = if options.part == Some(Part::Promotions) {
        None
    } else {
        let start = Instant::now();
        let found = clustered::run(&plan, options.seed, session)?;
        timed("clustered", start, 0);
        Some(found)
    };
    let promotions = match data {
        None => None,
        Some((ratings, splits)) => {
            let (start, before) = (Instant::now(), session.rounds().0);
            let found = promotions::run(&plan, &ratings, &splits, options.seed, session)?;
            timed("promotions", start, before);
            Some(found)
        }
    };
    let (rounds, rounds_kept) = session.rounds();
    let run = Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scale: options.scale,
        seed: options.seed,
        threads: session.threads(),
        machine: machine(),
        wall_seconds: start.elapsed().as_secs_f64(),
        rounds,
        rounds_kept,
        rounds_per_second,
    };
    let verdicts = verdicts::of(clustered.as_ref(), promotions.as_ref());
    Ok(Results { run, clustered, promotions, verdicts })
}

fn read(options: &Options, session: &Session<'_>, plan: &Plan) -> Result<Ratings, Error> {
    session.watch().start("reading ratings", 1);
    let ratings = match &options.ratings {
        Some(path) => Ratings::read(path),
        None => Ratings::generate(&plan.generated, options.seed),
    };
    session.watch().finish();
    ratings
}

fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} {}, {processors} processors", std::env::consts::OS, std::env::consts::ARCH)
}
