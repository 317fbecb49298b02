//! A user's own study: problem, algorithms with parameters or grids, trials, seeds, ties, from TOML.
//!
//! The study is read and checked whole, every value with its place, before anything is played.
//! A list of values makes a grid: every combination is played and shown, and the best of each `[[algorithm]]` by
//! mean reward takes part in the paired differences. It is the best on the very trials that are compared, which
//! flatters larger grids; for a fair number run the chosen setting again with another seed.

mod place;
mod run;
mod spec;

pub use run::{Entry, Estimate, PairedEntry, Simulation};

use std::path::Path;

use crate::{Error, session::Watch};

/// Reads a study and runs it.
///
/// # Errors
/// [`Error::Study`] with file, line and column for whatever is wrong with the study; other errors for its data.
pub fn simulate(path: &Path, watch: &dyn Watch) -> Result<Simulation, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let study = spec::Study::read(&path.display().to_string(), &text)?;
    run::run(&study, path, watch)
}
