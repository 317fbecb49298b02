//! `armwise choose`.
//!
//! The file of the sends is opened before anything else is done. They are complete on the disk, under a temporary name,
//! before the round is committed, and get their final name after it. If something fails in between, `armwise export`
//! writes them again, and so does the same command if it has a `--key`.

use std::path::{Path, PathBuf};

use armwise_campaign::{
    Campaign as File,
    core::sends,
    output::Existing,
    round::{ChooseOptions, choose},
    table::is_formula,
};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    Campaign, Failure, KeyArgument, Spreadsheets, TableArguments, print, protected, say,
    streams::{self, Out},
    text,
};

/// Arguments of `choose`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    #[command(flatten)]
    table: TableArguments,
    /// Where the sends go: CSV (also gz), xlsx or Parquet by the extension; standard output unless given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    spreadsheets: Spreadsheets,
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
    let table = table.with(arguments.table.reading.or(&campaign.config().tables));
    // With --json the object is on stdout, so the sends go to a file or nowhere.
    let out = match (&arguments.out, arguments.campaign.json) {
        (Some(out), _) => Some(out.as_path()),
        (None, false) => Some(Path::new("-")),
        (None, true) => None,
    };
    let protected = protected(path, [&arguments.table.table]);
    let for_spreadsheets = arguments.spreadsheets.for_spreadsheets;
    let out = out.map(|out| Out::begin(out, Existing::Replace, &protected, for_spreadsheets)).transpose()?;
    let options = ChooseOptions { round: arguments.round, seed: arguments.seed, key: arguments.key.key()? };
    let bar = ProgressBar::new_spinner();
    bar.set_style(
        ProgressStyle::with_template("{spinner} {human_pos} customers read, {per_sec}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let choice = choose(&campaign, &table, options, &|rows| bar.set_position(rows));
    bar.finish_and_clear();
    let choice = choice?;
    let formulas = if for_spreadsheets || arguments.out.as_deref().is_none_or(streams::has_typed_cells) {
        0
    } else {
        choice.sent.iter().filter(|sent| is_formula(&sent.customer) || is_formula(&sent.promotion)).count()
    };
    if choice.is_repeated() {
        say("this request was carried out before under the same key: its round and its sends once more\n");
        if campaign.round(choice.summary.round)?.revoked() {
            say("warning: the round was revoked since, so nothing should be sent\n");
        }
    }
    let summary = match out {
        Some(Out::File(file)) if !arguments.dry_run => choice.commit(&mut campaign, Some(file))?,
        out => {
            let sheet = out.is_some().then(|| sends(campaign.tag(), &choice.sent));
            let summary = if arguments.dry_run { choice.summary } else { choice.commit(&mut campaign, None)? };
            if let (Some(out), Some(sheet)) = (out, sheet) {
                out.write(&sheet)?;
            }
            summary
        }
    };
    if arguments.campaign.json {
        print(true, &summary, String::new);
    }
    say(&text::chosen(&summary, arguments.dry_run));
    if formulas > 0 {
        say(&format!(
            "  note: {formulas} sends have a name that a spreadsheet takes for a formula; --for-spreadsheets prevents it\n"
        ));
    }
    Ok(0)
}
