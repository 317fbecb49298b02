//! `armwise status`, `why`, `report`, `export`, `verify` and `replay`: they only read.

use std::path::PathBuf;

use armwise_campaign::{
    Campaign as File, Source,
    core::{self, model_hash, results, sends},
    output::{Existing, Pending},
    report::{html, report as make_report},
    store::sqlite::verify as check,
    table::{Cell, Sheet},
};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::{
    Campaign, Failure, Reading, Spreadsheets,
    failure::STORAGE,
    print, protected, say,
    streams::{self, Out},
    text,
};

/// Arguments of `status`.
#[derive(Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    campaign: Campaign,
}

/// Arguments of `why`.
#[derive(Args)]
pub(crate) struct WhyArguments {
    #[command(flatten)]
    campaign: Campaign,
    /// The customer, as in the table.
    customer: String,
    /// The round; the last in which the customer was chosen unless given.
    #[arg(long)]
    round: Option<u64>,
    /// The round's table, for a customer who was not chosen.
    #[arg(long)]
    table: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum What {
    /// The sends of a round, as choose wrote them.
    Sends,
    /// All decisions with what became of them.
    Results,
    /// What `learn --logged` learned.
    Logged,
    /// The learner as JSON, for the library and for Python's `load`.
    Learner,
    /// The journal.
    Log,
}

/// Arguments of `report`.
#[derive(Args)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    campaign: Campaign,
    /// Where the page goes.
    #[arg(long, value_name = "FILE", required_unless_present = "json")]
    html: Option<PathBuf>,
}

/// Arguments of `export`.
#[derive(Args)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    campaign: Campaign,
    /// What to write.
    what: What,
    /// The round; needed for sends.
    #[arg(long)]
    round: Option<u64>,
    /// The file: CSV (also gz), xlsx or Parquet by the extension; standard output unless given.
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    #[command(flatten)]
    spreadsheets: Spreadsheets,
}

/// Arguments of `verify`.
#[derive(Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    campaign: Campaign,
}

/// Arguments of `replay`.
#[derive(Args)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    campaign: Campaign,
    /// The last entry to be replayed; all unless given.
    #[arg(long, value_name = "ENTRY")]
    until: Option<u64>,
}

pub(crate) fn status(arguments: &StatusArguments) -> Result<u8, Failure> {
    let campaign = File::read(&arguments.campaign.campaign)?;
    let status = core::status(&campaign)?;
    print(arguments.campaign.json, &status, || text::status(&status));
    Ok(0)
}

pub(crate) fn why(arguments: &WhyArguments) -> Result<u8, Failure> {
    let campaign = File::read(&arguments.campaign.campaign)?;
    let reading = &arguments.reading;
    let open = |path: &PathBuf| {
        Ok::<_, Failure>(streams::open(path, reading.format)?.with(reading.or(&campaign.config().tables)))
    };
    let table = arguments.table.as_ref().map(open).transpose()?;
    let table = table.as_ref().map(|table| table as &dyn Source);
    let why = core::why(&campaign, &arguments.customer, arguments.round, table)?;
    print(arguments.campaign.json, &why, || text::why(&why));
    Ok(0)
}

pub(crate) fn report(arguments: &ReportArguments) -> Result<u8, Failure> {
    let campaign = File::read(&arguments.campaign.campaign)?;
    let protected = protected(&arguments.campaign.campaign, []);
    let begin = |path: &PathBuf| Pending::begin(path, Existing::Replace, &protected);
    let page = arguments.html.as_ref().map(begin).transpose()?;
    let report = make_report(&campaign)?;
    if let Some(mut page) = page {
        page.write(html(&report).as_bytes())?;
        let path = page.path().display().to_string();
        page.publish()?;
        say(&format!("the report is in {path}\n"));
    }
    print(arguments.campaign.json, &report, String::new);
    Ok(0)
}

pub(crate) fn export(arguments: &ExportArguments) -> Result<u8, Failure> {
    let campaign = File::read(&arguments.campaign.campaign)?;
    let protected = protected(&arguments.campaign.campaign, []);
    if arguments.what == What::Learner {
        if streams::is_stream(&arguments.out) {
            streams::print(&(campaign.saved_learner()? + "\n"));
        } else {
            let mut file = Pending::begin(&arguments.out, Existing::Replace, &protected)?;
            file.write(campaign.saved_learner()?.as_bytes())?;
            file.publish()?;
        }
        return Ok(0);
    }
    let for_spreadsheets = arguments.spreadsheets.for_spreadsheets;
    let out = Out::begin(&arguments.out, Existing::Replace, &protected, for_spreadsheets)?;
    let sheet = match (arguments.what, arguments.round) {
        (What::Sends, None) => return Err(Failure::usage("export sends needs --round")),
        (What::Sends, Some(round)) => sends(campaign.tag(), &campaign.sent(round)?),
        (What::Log, _) => log(&campaign)?,
        (What::Logged, _) => core::logged(&campaign)?,
        (What::Results | What::Learner, round) => results(&campaign, round)?,
    };
    out.write(&sheet)?;
    if !streams::is_stream(&arguments.out) {
        let value = json!({"out": arguments.out, "rows": sheet.len()});
        print(arguments.campaign.json, &value, String::new);
        say(&format!("{} rows in {}\n", sheet.len(), arguments.out.display()));
    }
    Ok(0)
}

fn log(campaign: &File) -> Result<Sheet, Failure> {
    let mut sheet = Sheet::new(&["entry", "at", "kind", "round", "key", "rows", "model", "hash", "body", "changes"]);
    for entry in campaign.entries()? {
        sheet.push(vec![
            Cell::Whole(entry.seq.cast_signed()),
            Cell::from(entry.at.as_str()),
            Cell::from(entry.kind.name()),
            entry.round.map_or(Cell::Nothing, |round| Cell::Whole(round.cast_signed())),
            entry.key.as_deref().map_or(Cell::Nothing, Cell::from),
            Cell::Whole(entry.rows.cast_signed()),
            Cell::Text(entry.model.to_string()),
            Cell::Text(entry.hash.to_string()),
            Cell::from(entry.body.as_str()),
            Cell::from(entry.changes.as_str()),
        ]);
    }
    Ok(sheet)
}

pub(crate) fn verify(arguments: &VerifyArguments) -> Result<u8, Failure> {
    let verified = check(&arguments.campaign.campaign)?;
    print(arguments.campaign.json, &verified, || text::verified(&verified));
    Ok(if verified.good { 0 } else { STORAGE })
}

pub(crate) fn replay(arguments: &ReplayArguments) -> Result<u8, Failure> {
    let campaign = File::read(&arguments.campaign.campaign)?;
    let entries = campaign.entries()?;
    let last = entries.len() as u64;
    let until = arguments.until.unwrap_or(last);
    let entry = entries
        .iter()
        .find(|entry| entry.seq == until)
        .ok_or_else(|| Failure::not_found(format!("entry {until} does not exist; the journal has {last}")))?;
    let found = model_hash(&campaign.replay(until)?);
    let same = found == entry.model;
    let value = json!({"until": until, "model": found, "journal": entry.model, "same": same});
    print(arguments.campaign.json, &value, || {
        let verdict = if same { "as the journal says" } else { "NOT what the journal says" };
        format!("after entry {until} the model is {found}, {verdict}\n")
    });
    Ok(if same { 0 } else { STORAGE })
}
