//! `armwise learn`, `correct`, `undelivered` and `close`.
//!
//! Rows put aside go to rejects.csv beside the table with their line and the reason, and the exit
//! code is 3; the good rows have been applied then.

use std::path::PathBuf;

use armwise_campaign::{
    Campaign as File,
    file::EventKind,
    learn::{LearnOptions, close as close_round, learn},
};
use clap::Args;

use super::{Campaign, Failure, SOME_REJECTED, TableArguments, print, say, streams, text};

/// Arguments of `learn`, `correct` and `undelivered`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    #[command(flatten)]
    table: TableArguments,
    /// All rows are about this round.
    #[arg(long)]
    round: Option<u64>,
    /// The table lists who answered and has no reward: each answer is worth this much.
    #[arg(long, value_name = "REWARD", num_args = 0..=1, default_missing_value = "1")]
    only_responders: Option<f64>,
    /// Where rows go that are put aside; rejects.csv beside the table unless given.
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
}

/// Arguments of `close`.
#[derive(Args)]
pub(crate) struct CloseArguments {
    #[command(flatten)]
    campaign: Campaign,
    /// The round.
    #[arg(long)]
    round: u64,
}

/// Which of the three commands.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Learn,
    Correct,
    Undelivered,
}

pub(crate) fn run(arguments: &Arguments, kind: Kind) -> Result<u8, Failure> {
    let (kind, name) = match kind {
        Kind::Learn => (EventKind::Learn, "learn"),
        Kind::Correct => (EventKind::Correct, "correct"),
        Kind::Undelivered => (EventKind::Undelivered, "undelivered"),
    };
    if arguments.only_responders.is_some() && kind != EventKind::Learn {
        return Err(Failure::usage(format!("--only-responders has no meaning for {name}")));
    }
    let table = arguments.table.open()?;
    let mut campaign = File::write(&arguments.campaign.campaign, name)?;
    let options = LearnOptions { round: arguments.round, responders: arguments.only_responders };
    let (learned, rejects) = learn(&mut campaign, &table, kind, options)?;
    let beside = || match arguments.table.table.parent() {
        Some(folder) if !streams::is_stream(&arguments.table.table) => folder.join("rejects.csv"),
        _ => PathBuf::from("rejects.csv"),
    };
    if !rejects.is_empty() {
        let path = arguments.rejects.clone().unwrap_or_else(beside);
        streams::write(&rejects, &path)?;
        say(&format!("{} rows are put aside in {}\n", rejects.len(), path.display()));
    }
    if arguments.campaign.json {
        print(true, &learned, String::new);
    }
    say(&text::learned(&learned));
    Ok(if learned.rejected > 0 { SOME_REJECTED } else { 0 })
}

pub(crate) fn close(arguments: &CloseArguments) -> Result<u8, Failure> {
    let mut campaign = File::write(&arguments.campaign.campaign, "close")?;
    let closed = close_round(&mut campaign, arguments.round)?;
    if arguments.campaign.json {
        print(true, &closed, String::new);
    }
    let (round, silent, default) = (closed.round, closed.silent, closed.default);
    if closed.already {
        say(&format!("round {round} was closed already; nothing has changed\n"));
    } else {
        say(&format!("round {round} is closed: {silent} without an answer count as {default}\n"));
    }
    Ok(0)
}
