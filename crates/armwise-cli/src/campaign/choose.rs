//! `armwise choose`.
//!
//! The files of the sends and of the hold-out are opened before anything else is done. They are complete on the disk,
//! under temporary names, before the round is committed, and get their final names after it. If something fails in between, `armwise export`
//! writes them again, and so does the same command if it has a `--key`.

use std::path::{Path, PathBuf};

use armwise_campaign::{
    Campaign as File,
    core::{hold_out as hold_out_of, sends},
    output::Existing,
    round::{ChoiceFiles, ChooseOptions, choose},
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
    /// Where the hold-out goes, whose outcomes are needed for uplift; unless given, beside the file of the sends:
    /// sends.hold-out.csv for sends.csv.
    #[arg(long, value_name = "FILE")]
    hold_out: Option<PathBuf>,
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
    /// Choose even though the last round has no outcome at all.
    #[arg(long)]
    again: bool,
    /// Threads; all processors unless given. The sends do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

#[expect(clippy::too_many_lines, reason = "what is printed, line by line")]
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
    let begin = |out: &Path| Out::begin(out, Existing::Replace, &protected, for_spreadsheets);
    let hold_out = match (&arguments.hold_out, &arguments.out) {
        (Some(_), _) if campaign.config().limits.hold_out <= 0.0 => {
            return Err(Failure::usage("--hold-out: the campaign has no hold-out; the rules set limits.hold_out"));
        }
        (Some(file), Some(out)) if file == out => {
            return Err(Failure::usage("--hold-out and --out are the same file"));
        }
        (Some(file), _) if streams::is_stream(file) => return Err(Failure::usage("--hold-out needs a file")),
        (Some(file), _) => Some(file.clone()),
        (None, Some(out)) if campaign.config().limits.hold_out > 0.0 && !streams::is_stream(out) => {
            Some(ChoiceFiles::beside(out))
        }
        (None, _) => None,
    };
    let out = out.map(begin).transpose()?;
    let hold_out = match hold_out.as_deref().map(begin).transpose()? {
        Some(Out::File(file)) => Some(file),
        _ => None,
    };
    let options = ChooseOptions {
        round: arguments.round,
        seed: arguments.seed,
        key: arguments.key.key()?,
        again: arguments.again || arguments.dry_run,
    };
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
    // Short times are not worth a line.
    let took = choice.probabilities_took().filter(|took| took.as_secs() >= 1);
    let aside = hold_out.as_ref().map(|file| file.path().display().to_string());
    let summary = if arguments.dry_run {
        if let Some(out) = out {
            out.write(&sends(campaign.tag(), &choice.sent))?;
        }
        if let Some(file) = hold_out {
            Out::File(file).write(&hold_out_of(campaign.tag(), &choice.sent))?;
        }
        choice.summary
    } else {
        let (file, stream) = match out {
            Some(Out::File(file)) => (Some(file), None),
            out => (None, out),
        };
        let sheet = stream.is_some().then(|| sends(campaign.tag(), &choice.sent));
        let summary = choice.commit(&mut campaign, Some(ChoiceFiles { sends: file, hold_out }))?;
        if let (Some(stream), Some(sheet)) = (stream, sheet) {
            stream.write(&sheet)?;
        }
        summary
    };
    if arguments.campaign.json {
        print(true, &summary, String::new);
    }
    say(&text::chosen(&summary, arguments.dry_run));
    if let (Some(took), Some(method)) = (took, summary.probabilities) {
        let seconds = took.as_secs_f64();
        say(&format!("  the probabilities of the sends ({}) took {seconds:.1} s of it\n", method.name()));
    }
    match aside {
        Some(file) => say(&format!("  the hold-out is in {file}: uplift needs its outcomes too\n")),
        None if summary.hold_out > 0 => {
            say("  uplift needs the outcomes of the hold-out too: `armwise export ... hold-out` writes it\n");
        }
        None => {}
    }
    if formulas > 0 {
        say(&format!(
            "  note: {formulas} sends have a name that a spreadsheet takes for a formula; --for-spreadsheets prevents it\n"
        ));
    }
    Ok(0)
}
