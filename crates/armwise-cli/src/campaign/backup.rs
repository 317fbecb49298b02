//! `armwise backup` and `armwise copy`.

use std::path::PathBuf;

use armwise_campaign::store::{Place, copy, sqlite::backup};
use clap::Args;

use super::{Campaign, Failure, print, say};

/// Arguments of `backup`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    /// The copy, a new file.
    to: PathBuf,
}

/// Arguments of `copy`.
#[derive(Args)]
pub(crate) struct CopyArguments {
    /// The campaign: a file, or postgres://user@host/database#campaign.
    from: PathBuf,
    /// Where the copy goes, where there is none: a file, or postgres://user@host/database#campaign.
    to: PathBuf,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_copy(arguments: &CopyArguments) -> Result<u8, Failure> {
    let made = copy(&arguments.from, &arguments.to)?;
    if arguments.json {
        print(true, &made, String::new);
    }
    let (seq, to) = (made.head.seq, Place::of(&arguments.to)?);
    let rounds = made.rounds;
    say(&format!("{}: the same campaign up to entry {seq}, with {rounds} rounds, verified\n", to.shown().display()));
    Ok(0)
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    Place::file(&arguments.campaign.campaign, "`armwise backup`").map_err(|_| {
        Failure::usage("`armwise backup` copies a file; `armwise copy` copies a campaign of PostgreSQL")
    })?;
    let made = backup(&arguments.campaign.campaign, &arguments.to)?;
    if arguments.campaign.json {
        print(true, &made, String::new);
    }
    let (seq, to) = (made.head.seq, arguments.to.display());
    say(&format!("{to}: a copy as of entry {seq}, with {} rounds\n", made.rounds));
    Ok(0)
}
