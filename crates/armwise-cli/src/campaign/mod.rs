//! The commands of a campaign: parse, call, print.
//!
//! Data go to stdout, messages to stderr; with `--json` stdout is one JSON object. Exit codes: 0
//! done, 3 some rows put aside, others as in [`failure`].

mod amend;
mod backup;
mod choose;
mod config;
mod evaluate;
mod failure;
mod init;
mod learn;
mod look;
mod migrate;
mod policies;
mod refit;
mod rejects;
mod streams;
mod text;

use std::path::{Path, PathBuf};

use armwise_campaign::{
    core::Key,
    output::Protected,
    table::{Decimal, Encoding, Format, Separator, Table, TableRules},
};
use clap::{Args, Subcommand};
use failure::Failure;
use serde::Serialize;
use streams::say;

/// Some rows were put aside.
const SOME_REJECTED: u8 = 3;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Begin a campaign: read the rules, fit the features on a table, make the file.
    #[command(
        after_help = "Example: armwise init spring.armwise --from customers.parquet --promotion mail=500 --promotion call=200"
    )]
    Init(init::Arguments),
    /// Choose who gets which promotion this round.
    #[command(after_help = "Example: armwise choose spring.armwise customers.parquet --out sends.csv")]
    Choose(choose::Arguments),
    /// Learn rewards: late, in parts, in any order, repeated; each is counted once.
    #[command(
        after_help = "Example: armwise learn spring.armwise responses.csv\nColumns: decision (or customer, with promotion and round where needed), reward and, for places that may not be looked at, examined: the probability that this one was; in any case, or named by --customer-column, --reward-column and --examined-column. With --logged the customer's columns, promotion, reward and, if known, examined and probability."
    )]
    Learn(learn::Arguments),
    /// Change rewards that were learned before.
    #[command(after_help = "Example: armwise correct spring.armwise corrections.csv")]
    Correct(learn::Arguments),
    /// Mark sends that did not arrive: they are never learned as silence.
    #[command(after_help = "Example: armwise undelivered spring.armwise bounces.csv")]
    Undelivered(learn::Arguments),
    /// End a round's response window: silence becomes the default reward.
    #[command(after_help = "Example: armwise close spring.armwise --round 3")]
    Close(learn::RoundArguments),
    /// Take a round back that was never sent: no rewards, no rest, no hold-out.
    #[command(after_help = "Example: armwise revoke spring.armwise --round 3")]
    Revoke(learn::RoundArguments),
    /// Change the rules from the next round on; what was learned stays.
    #[command(after_help = "Example: armwise amend spring.armwise --config new.toml")]
    Amend(amend::Arguments),
    /// Fit other features, and express what was learned under them.
    #[command(after_help = "Example: armwise refit spring.armwise customers.parquet --config new.toml")]
    Refit(refit::Arguments),
    /// The keys of campaign.toml: what each says, its default, its range and an example.
    #[command(after_help = "Example: armwise config --explain limits.rest")]
    Config(config::Arguments),
    /// Where the rounds stand.
    #[command(after_help = "Example: armwise status spring.armwise")]
    Status(look::StatusArguments),
    /// Why a customer was chosen in a round, or was not.
    #[command(after_help = "Example: armwise why spring.armwise C00017 --round 3")]
    Why(look::WhyArguments),
    /// What was sent, what came back and what was learned, as one HTML page.
    #[command(after_help = "Example: armwise report spring.armwise --html report.html")]
    Report(look::ReportArguments),
    /// What other policies would have earned in past rounds, from the log alone.
    #[command(
        after_help = "Example: armwise evaluate spring.armwise --tables weeks --policy arm-wise-ts --param v=0.1,0.3 --policy c2ucb --html policies.html\nWithout --policy: the campaign's own and greedy. Without the tables of past rounds nothing can be said of other policies: only they have the features of those who were not chosen."
    )]
    Evaluate(evaluate::Arguments),
    /// Which algorithm to choose with: candidates compete in worlds fitted to the customers and answers.
    #[command(after_help = "Example: armwise advise spring.armwise customers.parquet --tables weeks")]
    Advise(evaluate::AdviseArguments),
    /// Write sends, the hold-out, results, the learner or the journal to a file.
    #[command(after_help = "Example: armwise export spring.armwise sends --round 3 --out sends.csv")]
    Export(look::ExportArguments),
    /// Check the file against its journal; say what is damaged and what can be recovered.
    #[command(after_help = "Example: armwise verify spring.armwise")]
    Verify(look::VerifyArguments),
    /// Sum the model anew from the journal and compare it with the hash that the journal names.
    #[command(after_help = "Example: armwise replay spring.armwise --until 12")]
    Replay(look::ReplayArguments),
    /// Copy a campaign that may be in use, as of one moment, into a new file.
    #[command(after_help = "Example: armwise backup spring.armwise copy.armwise")]
    Backup(backup::Arguments),
    /// Copy a campaign from a file to PostgreSQL or back: the same journal, verified.
    #[command(after_help = "Example: armwise copy spring.armwise 'postgres://armwise@db.example/shop#spring'")]
    Copy(backup::CopyArguments),
    /// Write a campaign of schema version 2 into a new file; the old one stays.
    #[command(after_help = "Example: armwise migrate old.armwise new.armwise")]
    Migrate(migrate::Arguments),
}

/// The campaign, and how to print.
#[derive(Args)]
struct Campaign {
    /// The campaign: its file, or postgres://user@host/database#campaign.
    campaign: PathBuf,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// The caller's own name for a request.
#[derive(Args)]
struct KeyArgument {
    /// Your own name for this request, up to 200 characters without spaces: after any failure, the same request with
    /// the same key gives the same answer and is carried out once.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl KeyArgument {
    fn key(&self) -> Result<Option<Key>, Failure> {
        Ok(self.key.as_deref().map(Key::new).transpose()?)
    }
}

/// A table to be read.
#[derive(Args)]
struct TableArguments {
    /// The table: Parquet, CSV (also gz), TSV, xlsx or Arrow IPC by its extension; `-` is standard input.
    table: PathBuf,
    #[command(flatten)]
    reading: Reading,
}

impl TableArguments {
    fn open(&self) -> Result<Table, Failure> {
        streams::open(&self.table, self.reading.format)
    }
}

/// How a table is read, where the file and the rules do not tell.
#[derive(Args)]
struct Reading {
    /// The table's format where the extension does not tell: parquet, csv, tsv, xlsx or arrow.
    #[arg(long)]
    format: Option<Format>,
    /// What separates columns of a text table where its header does not tell: "," or ";" or tab.
    #[arg(long)]
    separator: Option<Separator>,
    /// The decimal mark of numbers in a text table where they do not tell: "." or ",".
    #[arg(long)]
    decimal: Option<Decimal>,
    /// The encoding of a text table that is not UTF-8: latin-1, utf-16le or utf-16be.
    #[arg(long)]
    encoding: Option<Encoding>,
    /// The sheet of a workbook that has several.
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
}

impl Reading {
    /// What was said here, and the rest from the campaign's rules.
    fn or(&self, rules: &TableRules) -> TableRules {
        let Self { separator, decimal, encoding, ref sheet, .. } = *self;
        TableRules { separator, decimal, encoding, sheet: sheet.clone(), ..TableRules::default() }.or(rules)
    }
}

/// How a CSV file is written.
#[derive(Args)]
struct Spreadsheets {
    /// In CSV, put an apostrophe before texts that a spreadsheet would take for formulas (those that begin with
    /// = + - @). Ids among them do not read back then, so it is off unless given.
    #[arg(long)]
    for_spreadsheets: bool,
}

/// What a command must not write over: its campaign and the files that it reads.
fn protected<'a>(campaign: &Path, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Vec<Protected> {
    let inputs = inputs.into_iter().filter(|path| !streams::is_stream(path));
    Protected::campaign(campaign).into_iter().chain(inputs.map(|path| Protected::input(path))).collect()
}

/// Runs a command and gives its exit code.
pub(crate) fn run(command: &Command) -> u8 {
    let outcome = match command {
        Command::Init(arguments) => init::run(arguments),
        Command::Choose(arguments) => choose::run(arguments),
        Command::Learn(arguments) => learn::run(arguments, learn::Kind::Learn),
        Command::Correct(arguments) => learn::run(arguments, learn::Kind::Correct),
        Command::Undelivered(arguments) => learn::run(arguments, learn::Kind::Undelivered),
        Command::Close(arguments) => learn::close(arguments),
        Command::Revoke(arguments) => learn::revoke(arguments),
        Command::Amend(arguments) => amend::run(arguments),
        Command::Refit(arguments) => refit::run(arguments),
        Command::Config(arguments) => config::run(arguments),
        Command::Status(arguments) => look::status(arguments),
        Command::Why(arguments) => look::why(arguments),
        Command::Report(arguments) => look::report(arguments),
        Command::Evaluate(arguments) => evaluate::run(arguments),
        Command::Advise(arguments) => evaluate::advise(arguments),
        Command::Export(arguments) => look::export(arguments),
        Command::Verify(arguments) => look::verify(arguments),
        Command::Replay(arguments) => look::replay(arguments),
        Command::Backup(arguments) => backup::run(arguments),
        Command::Copy(arguments) => backup::run_copy(arguments),
        Command::Migrate(arguments) => migrate::run(arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(Failure { text, code }) => {
            say(&format!("error: {text}\n"));
            code
        }
    }
}

/// Prints a value as JSON on stdout, or `text` where people read: on stdout if it is what was asked for.
fn print(json: bool, value: &impl Serialize, text: impl FnOnce() -> String) {
    let text = if json { serde_json::to_string(value).unwrap_or_default() + "\n" } else { text() };
    streams::print(&text);
}
