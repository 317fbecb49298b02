//! `armwise refit`.

use std::path::PathBuf;

use armwise_campaign::{Campaign as File, config::Config, core::refit};
use clap::Args;

use super::{Campaign, Failure, KeyArgument, TableArguments, init, print, say};

/// Arguments of `refit`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    #[command(flatten)]
    table: TableArguments,
    /// The new rules, all of them, in TOML; the features in them are fitted on the table, and columns that are left out
    /// stay the same.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    key: KeyArgument,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let config = Config::parse(&init::read(&arguments.config)?, &arguments.config)?;
    let key = arguments.key.key()?;
    let table = arguments.table.open()?;
    let mut campaign = File::write(&arguments.campaign.campaign, "refit")?;
    let table = table.with(arguments.table.reading.or(&config.tables));
    let refitted = refit(&mut campaign, &table, config, key.as_ref())?;
    if arguments.campaign.json {
        print(true, &refitted, String::new);
    }
    say(&format!(
        "from round {} on there are {} features, fitted on {} customers; what {} decisions taught is expressed under them\n",
        refitted.from, refitted.features, refitted.sample, refitted.decisions
    ));
    init::left_out(&refitted.left_out);
    refitted.extremes.iter().for_each(|extreme| say(&init::warning(extreme)));
    Ok(0)
}
