//! `armwise amend`.

use std::path::PathBuf;

use armwise_campaign::{Campaign as File, config::Config, core::amend};
use clap::Args;

use crate::visible::on_one_line;

use super::{Campaign, Failure, KeyArgument, print, say};

/// Arguments of `amend`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    /// The new rules, all of them, in TOML; features may be left out, they stay.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    key: KeyArgument,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let config = Config::parse(&super::init::read(&arguments.config)?, &arguments.config)?;
    let key = arguments.key.key()?;
    let mut campaign = File::write(&arguments.campaign.campaign, "amend")?;
    let amended = amend(&mut campaign, config, key.as_ref())?;
    if arguments.campaign.json {
        print(true, &amended, String::new);
    }
    if amended.changed.is_empty() {
        say("these rules hold already; nothing has changed\n");
    } else {
        say(&format!("from round {} on other rules hold: {}\n", amended.from, amended.changed.join(", ")));
        for (names, what) in [(&amended.added, "new"), (&amended.retired, "retired; what was learned of them stays")] {
            if !names.is_empty() {
                say(&format!("  promotions {what}: {}\n", on_one_line(&names.join(", "))));
            }
        }
    }
    Ok(0)
}
