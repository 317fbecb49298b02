//! `armwise reproduce`.
//!
//! The report is written when everything is computed. Until then the folder holds only finished work, in a hidden
//! folder, from which a rerun of the same command continues.

use std::path::PathBuf;

use armwise_lab::{
    Error,
    data::Variant,
    reproduce::{Options, Part, run as evaluate, tables, write},
    results::Scale,
    session::{Session, Store},
};
use clap::{Args, ValueEnum};

use crate::bars::Bars;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Problem {
    /// The artificial clustered case.
    Clustered,
    /// The sending promotion problem.
    Promotions,
    /// Theorem 1 on two sets that must be taken whole.
    TwoSets,
    /// Which algorithm to use: many problems, with automatic, tuned and default parameters.
    Which,
}

/// Arguments of `reproduce`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// One problem only.
    which: Option<Problem>,
    /// A MovieLens file: ratings.csv, ratings.dat or the zip as downloaded. Without it ratings are generated.
    #[arg(long, value_name = "FILE")]
    ratings: Option<PathBuf>,
    /// How features are made: svd (the default), svd-normalised, als, als-normalised.
    #[arg(long)]
    features: Option<Variant>,
    /// A look in under a minute instead of the evaluation.
    #[arg(long, conflicts_with = "middle")]
    quick: bool,
    /// The whole grid on a few trials, in minutes for `which`.
    #[arg(long)]
    middle: bool,
    /// With `which`, these algorithms only and without variants, say `pc2ucb,arm-wise-ts`.
    #[arg(long, value_name = "ALGORITHMS", value_delimiter = ',')]
    only: Vec<String>,
    /// The report's folder.
    #[arg(long, value_name = "DIR", default_value = "armwise-report")]
    out: PathBuf,
    /// The seed of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; all processors unless given. The numbers do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print results.json instead of tables.
    #[arg(long)]
    json: bool,
}

/// Options that have no meaning for problems without ratings are refused, not ignored.
fn check(arguments: &Arguments) -> Result<(), Error> {
    if !arguments.only.is_empty() && !matches!(arguments.which, Some(Problem::Which)) {
        let must = "left out except with which, the part that compares algorithms".to_owned();
        return Err(Error::Parameter { name: "--only", value: arguments.only.join(","), must });
    }
    let problem = match arguments.which {
        Some(Problem::Clustered) => "clustered",
        Some(Problem::TwoSets) => "two-sets",
        _ => return Ok(()),
    };
    let ratings = arguments.ratings.as_ref().map(|path| ("--ratings", path.display().to_string()));
    let features = arguments.features.map(|features| ("--features", features.to_string()));
    match ratings.or(features) {
        None => Ok(()),
        Some((name, value)) => {
            let must = format!("left out with {problem}, which uses no ratings");
            Err(Error::Parameter { name, value, must })
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    check(arguments)?;
    let options = Options {
        part: arguments.which.map(|which| match which {
            Problem::Clustered => Part::Clustered,
            Problem::Promotions => Part::Promotions,
            Problem::TwoSets => Part::TwoSets,
            Problem::Which => Part::Which,
        }),
        ratings: arguments.ratings.clone(),
        features: arguments.features.unwrap_or_default(),
        scale: match (arguments.quick, arguments.middle) {
            (true, _) => Scale::Quick,
            (false, true) => Scale::Middle,
            (false, false) => Scale::Full,
        },
        only: arguments.only.clone(),
        seed: arguments.seed,
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.map_or(processors, usize::from);
    let bars = Bars::default();
    let session = Session::new(threads, Store::in_folder(&arguments.out, &Store::prefix(options.seed)), &bars);
    let results = evaluate(&options, &session)?;
    write(&results, &arguments.out)?;
    session.store().clear()?;
    if arguments.json {
        println!("{}", serde_json::to_string(&results).unwrap_or_default());
    } else {
        print!("{}", tables(&results));
        println!("The report is in {}.", arguments.out.display());
    }
    Ok(())
}
