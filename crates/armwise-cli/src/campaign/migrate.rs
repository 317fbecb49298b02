//! `armwise migrate`.

use std::path::PathBuf;

use armwise_campaign::store::sqlite::migrate;
use clap::Args;

use super::{Failure, print, say};

/// Arguments of `migrate`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The campaign's file of schema version 2.
    old: PathBuf,
    /// The new file.
    new: PathBuf,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let migrated = migrate(&arguments.old, &arguments.new)?;
    if arguments.json {
        print(true, &migrated, String::new);
    }
    say(&format!(
        "{}: {} rounds, {} decisions, {} outcomes carried over; the model is the same to the bit\n",
        arguments.new.display(),
        migrated.rounds,
        migrated.decisions,
        migrated.outcomes
    ));
    Ok(0)
}
