//! `armwise learn`, `correct`, `undelivered`, `close` and `revoke`.
//!
//! Rows put aside go to a file of their own with their line and the reason, and the exit code is 3; the good rows have
//! been applied then. See [`rejects`](super::rejects) for where.

use std::path::PathBuf;

use armwise_campaign::{
    Campaign as File,
    core::{Feedback, LearnOptions, close as close_round, learn_logged, learn_with, revoke as revoke_round},
};
use clap::Args;

use super::{
    Campaign, Failure, KeyArgument, SOME_REJECTED, Spreadsheets, TableArguments, print, rejects::Rejects, say, text,
};

/// Arguments of `learn`, `correct` and `undelivered`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    #[command(flatten)]
    table: TableArguments,
    /// The column with the customer's id, if it is not named as in the tables of customers.
    #[arg(long, value_name = "COLUMN")]
    customer_column: Option<String>,
    /// The column with the reward, if it is not named reward.
    #[arg(long, value_name = "COLUMN")]
    reward_column: Option<String>,
    /// The column with the probability that the row was looked at, if it is not named examined.
    #[arg(long, value_name = "COLUMN")]
    examined_column: Option<String>,
    /// All rows are about this round. Needed for a table without decisions and rounds if several rounds are open.
    #[arg(long)]
    round: Option<u64>,
    /// The table lists who answered and has no reward: each answer is worth this much.
    #[arg(long, value_name = "REWARD", num_args = 0..=1, default_missing_value = "1")]
    only_responders: Option<f64>,
    /// The table is a log of past sends, learned before the first round: the customers' columns, promotion, reward and, if
    /// known, examined and the probability with which each was sent.
    #[arg(long, conflicts_with_all = ["round", "only_responders"])]
    logged: bool,
    /// Where rows go that are put aside, a file that does not exist yet; unless given, the first free name of
    /// rejects.csv, rejects-2.csv, ... beside the table.
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgument,
    #[command(flatten)]
    spreadsheets: Spreadsheets,
}

/// Arguments of `close` and `revoke`.
#[derive(Args)]
pub(crate) struct RoundArguments {
    #[command(flatten)]
    campaign: Campaign,
    /// The round.
    #[arg(long)]
    round: u64,
    #[command(flatten)]
    key: KeyArgument,
}

/// Which of the three commands.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Learn,
    Correct,
    Undelivered,
}

pub(crate) fn run(arguments: &Arguments, kind: Kind) -> Result<u8, Failure> {
    let (feedback, name) = match (kind, arguments.only_responders) {
        (Kind::Learn, None) => (Feedback::Rewards, "learn"),
        (Kind::Learn, Some(worth)) => (Feedback::Responders { worth }, "learn"),
        (Kind::Correct, None) => (Feedback::Corrections, "correct"),
        (Kind::Undelivered, None) => (Feedback::Undelivered, "undelivered"),
        (_, Some(_)) => return Err(Failure::usage("--only-responders has a meaning for learn only")),
    };
    if arguments.logged && name != "learn" {
        return Err(Failure::usage("--logged has a meaning for learn only"));
    }
    let key = arguments.key.key()?;
    let table = arguments.table.open()?;
    let mut campaign = File::write(&arguments.campaign.campaign, name)?;
    let out = Rejects::begin(
        arguments.rejects.as_deref(),
        &arguments.table.table,
        &arguments.campaign.campaign,
        arguments.spreadsheets.for_spreadsheets,
    )?;
    let table = table.with(arguments.table.reading.or(&campaign.config().tables));
    let (learned, rejects) = if arguments.logged {
        learn_logged(&mut campaign, &table, key.as_ref())?
    } else {
        let options = LearnOptions {
            round: arguments.round,
            key,
            customer_column: arguments.customer_column.clone(),
            reward_column: arguments.reward_column.clone(),
            examined_column: arguments.examined_column.clone(),
        };
        learn_with(&mut campaign, &table, feedback, &options)?
    };
    let written = if rejects.is_empty() { None } else { out.write(&rejects)? };
    if let Some(path) = &written {
        say(&format!("{} rows are put aside in {}\n", rejects.len(), path.display()));
    }
    if arguments.campaign.json {
        let mut value = serde_json::to_value(&learned).unwrap_or_default();
        value["rejects"] = serde_json::json!(written);
        print(true, &value, String::new);
    }
    say(&text::learned(&learned));
    Ok(if learned.rejected > 0 { SOME_REJECTED } else { 0 })
}

pub(crate) fn close(arguments: &RoundArguments) -> Result<u8, Failure> {
    let key = arguments.key.key()?;
    let mut campaign = File::write(&arguments.campaign.campaign, "close")?;
    let closed = close_round(&mut campaign, arguments.round, key.as_ref())?;
    if arguments.campaign.json {
        print(true, &closed, String::new);
    }
    let (round, silent, default) = (closed.round, closed.silent, closed.default);
    if closed.already {
        say(&format!("round {round} was closed already; nothing has changed\n"));
    } else {
        say(&format!("round {round} is closed: {silent} without an answer count as {default}\n"));
    }
    for (flaw, decisions) in &closed.aside {
        let some = decisions.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if decisions.len() > 3 { ", ..." } else { "" };
        say(&format!(
            "  {} stay pending, {}: {some}{more}; mend the rows that were put aside and learn them\n",
            decisions.len(),
            flaw.text()
        ));
    }
    say(&text::hold_out(&closed));
    Ok(0)
}

pub(crate) fn revoke(arguments: &RoundArguments) -> Result<u8, Failure> {
    let key = arguments.key.key()?;
    let mut campaign = File::write(&arguments.campaign.campaign, "revoke")?;
    let revoked = revoke_round(&mut campaign, arguments.round, key.as_ref())?;
    if arguments.campaign.json {
        print(true, &revoked, String::new);
    }
    let (round, sends, rewards) = (revoked.round, revoked.sends, revoked.rewards);
    if revoked.already {
        say(&format!("round {round} was revoked already; nothing has changed\n"));
    } else {
        say(&format!("round {round} is revoked: {sends} sends are taken back, and {rewards} rewards with them\n"));
        if revoked.hold_out > 0 {
            say(&format!("{} outcomes of the hold-out do not count any more\n", revoked.hold_out));
        }
    }
    Ok(0)
}
