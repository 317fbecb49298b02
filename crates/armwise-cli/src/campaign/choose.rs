//! `armwise choose`.
//!
//! The sends are complete on the disk, under a temporary name, before the round is committed, and get their final name
//! after it. If something fails in between, `armwise export` writes them again, and so does the same command if it has
//! a `--key`.

use std::path::{Path, PathBuf};

use armwise_campaign::{
    Campaign as File,
    core::sends,
    round::{ChooseOptions, choose},
};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Campaign, Failure, KeyArgument, TableArguments, print, say, streams, text};

/// Arguments of `choose`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    #[command(flatten)]
    table: TableArguments,
    /// Where the sends go: CSV or Parquet by the extension; standard output unless given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Choose and show, but write nothing.
    #[arg(long)]
    dry_run: bool,
    /// The round's number; the next one unless given.
    #[arg(long)]
    round: Option<u64>,
    /// The seed of this round's draws; the campaign's unless given.
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    key: KeyArgument,
    /// Threads; all processors unless given. The sends do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    if let Some(threads) = arguments.threads {
        // Fails only if the pool is already there, which it is not: this runs first.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global();
    }
    let path = &arguments.campaign.campaign;
    let table = arguments.table.open()?;
    let mut campaign = if arguments.dry_run { File::read(path)? } else { File::write(path, "choose")? };
    let options = ChooseOptions { round: arguments.round, seed: arguments.seed, key: arguments.key.key()? };
    let bar = ProgressBar::new_spinner();
    bar.set_style(
        ProgressStyle::with_template("{spinner} {human_pos} customers read, {per_sec}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let choice = choose(&campaign, &table, options, &|rows| bar.set_position(rows));
    bar.finish_and_clear();
    let choice = choice?;
    // With --json the object is on stdout, so the sends go to a file or nowhere.
    let out = match (&arguments.out, arguments.campaign.json) {
        (Some(out), _) => Some(out.as_path()),
        (None, false) => Some(Path::new("-")),
        (None, true) => None,
    };
    let (file, to_stdout) = (out.filter(|out| !streams::is_stream(out)), out.is_some_and(streams::is_stream));
    if choice.is_repeated() {
        say("this request was carried out before under the same key: its round and its sends once more\n");
        if campaign.round(choice.summary.round)?.revoked() {
            say("warning: the round was revoked since, so nothing should be sent\n");
        }
    }
    let sheet = (to_stdout || arguments.dry_run).then(|| sends(campaign.tag(), &choice.sent));
    let summary = match (&sheet, file) {
        (Some(sheet), Some(file)) if arguments.dry_run => {
            streams::write(sheet, file)?;
            choice.summary
        }
        _ if arguments.dry_run => choice.summary,
        _ => choice.commit(&mut campaign, file)?,
    };
    if let Some(sheet) = sheet.filter(|_| to_stdout) {
        streams::write(&sheet, Path::new("-"))?;
    }
    if arguments.campaign.json {
        print(true, &summary, String::new);
    }
    say(&text::chosen(&summary, arguments.dry_run));
    Ok(0)
}
