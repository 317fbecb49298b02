//! The paper's evaluation (section VII) from one call: figures' numbers, Table I, verdicts; Theorem 1 on two sets; which
//! algorithm to use.
//!
//! [`run`] computes [`Results`] and touches no file but the store of finished work; a folder is
//! written by [`write()`] only when everything is there, so there is never a partial report.

mod clustered;
mod compare;
mod figures;
mod plan;
mod promotions;
mod text;
mod two_sets;
mod verdicts;
mod which;
mod write;

pub use text::tables;
pub use write::write;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Instant,
};

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
    /// Theorem 1 on two sets that must be taken whole.
    TwoSets,
    /// Which algorithm to use, with automatic, tuned and default parameters.
    Which,
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
    /// The algorithms that [`Part::Which`] compares, as they are; all of them and their variants if none is named.
    pub only: Vec<String>,
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
    let players = which::players(&options.only)?;
    // Bad input, and ratings from which no features can be made, must be found before an hour of work, not after it.
    let wanted = |part: Part| options.part.is_none_or(|only| only == part);
    let data = if wanted(Part::Promotions) || wanted(Part::Which) {
        let ratings = read(options.ratings.as_deref(), options, session, &plan)?;
        let splits = promotions::splits(&plan, &ratings, options, session)?;
        Some((ratings, splits))
    } else {
        None
    };
    let mut rounds_per_second = BTreeMap::new();
    let mut timed = |name: &str, start: Instant, before: u64| {
        let rounds = session.rounds().0 - before;
        if rounds > 0 {
            rounds_per_second.insert(name.to_owned(), rounds as f64 / start.elapsed().as_secs_f64());
        }
    };
    let clustered = if wanted(Part::Clustered) {
        let start = Instant::now();
        let found = clustered::run(&plan, options.seed, session)?;
        timed("clustered", start, 0);
        Some(found)
    } else {
        None
    };
    let promotions = match &data {
        Some((ratings, splits)) if wanted(Part::Promotions) => {
            let (start, before) = (Instant::now(), session.rounds().0);
            let found = promotions::run(&plan, ratings, splits, options.seed, session)?;
            timed("promotions", start, before);
            Some(found)
        }
        _ => None,
    };
    let two_sets = if wanted(Part::TwoSets) { Some(two_sets::run(&plan, options.seed, session)?) } else { None };
    let which = match &data {
        Some((ratings, splits)) if wanted(Part::Which) => {
            Some(which(options, &plan, &players, ratings, splits, session)?)
        }
        _ => None,
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
    let verdicts = verdicts::of(clustered.as_ref(), promotions.as_ref(), two_sets.as_ref());
    Ok(Results { run, clustered, promotions, two_sets, which, verdicts })
}

/// The study on the given ratings and, beside them, on generated ones.
fn which(
    options: &Options,
    plan: &Plan,
    players: &[which::Player],
    ratings: &Ratings,
    splits: &promotions::Splits,
    session: &Session<'_>,
) -> Result<crate::results::Which, Error> {
    let made = match options.ratings {
        Some(_) => {
            let generated = read(None, options, session, plan)?;
            Some((promotions::splits(plan, &generated, options, session)?, generated))
        }
        None => None,
    };
    let mut all: Vec<which::Ratings<'_>> = made.iter().map(|(splits, ratings)| splits.named(ratings)).collect();
    all.push(splits.named(ratings));
    which::run(plan, players, &all, options.seed, session)
}

fn read(path: Option<&Path>, options: &Options, session: &Session<'_>, plan: &Plan) -> Result<Ratings, Error> {
    session.watch().start("reading ratings", 1);
    let ratings = match path {
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
