//! `armwise backup`.

use std::path::PathBuf;

use armwise_campaign::store::sqlite::backup;
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

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let made = backup(&arguments.campaign.campaign, &arguments.to)?;
    if arguments.campaign.json {
        print(true, &made, String::new);
    }
    let (seq, to) = (made.head.seq, arguments.to.display());
    say(&format!("{to}: a copy as of entry {seq}, with {} rounds\n", made.rounds));
    Ok(0)
}
