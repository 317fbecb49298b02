//! From a file of schema version 2 to a new one: the same rounds, decisions, outcomes and times.
//!
//! Every event is appended as the command it was. After each, the model must have the hash that the old log names,
//! which covers every bit, so a migration that succeeds has lost nothing. The old file stays as it is; the hash of its
//! last event goes into the first entry of the new one.

use super::{
    New, connect,
    lock::Lock,
    old::{Event, Old, model_hash},
};
use crate::{
    Campaign, Error,
    core::{Closing, Command, Draft, Kind, Migrated, OfRound, Setup, Sha, Tag},
};
use serde::Serialize;
use std::path::Path;

/// What a migration wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MigratedFile {
    /// How many events the old file had.
    pub events: u64,
    /// The hash of the last of them.
    pub old_head: Sha,
    /// How many rounds were carried over.
    pub rounds: u64,
    /// How many decisions.
    pub decisions: u64,
    /// How many outcomes.
    pub outcomes: u64,
    /// The hash of the model as the new file has it.
    pub model: Sha,
}

/// Writes a campaign of schema version 2 into a new file.
///
/// # Errors
/// [`Error::Exists`] if the new file exists, [`Error::Damaged`] if the old one is not good: restore it from a backup
/// first. The new file is there only after success.
pub fn migrate(old: &Path, new: &Path) -> Result<MigratedFile, Error> {
    if new.exists() {
        return Err(Error::Exists { path: new.to_owned() });
    }
    let (db, _) = connect(old, None)?;
    // Nobody writes to it meanwhile.
    let _lock = Lock::take(old, "migrate")?;
    let log = Old::new(db, old)?;
    let new = New::begin(new, "migrate")?;
    let done = carry_over(&log, &new)?;
    new.publish()?;
    Ok(done)
}

fn carry_over(log: &Old, new: &New) -> Result<MigratedFile, Error> {
    let bad = |event: &Event, problem: &dyn std::fmt::Display| log.damaged(format!("event {}: {problem}", event.seq));
    let (Some((first, events)), Some(last)) = (log.events.split_first(), log.events.last()) else {
        return Err(log.damaged("the log is empty".to_owned()));
    };
    if first.kind != Kind::Init {
        return Err(bad(first, &"the log does not begin with init"));
    }
    // Campaigns of that version had no tag; the same file gives the same one, however often it is migrated.
    let mut body: serde_json::Value = serde_json::from_str(&first.body).map_err(|error| bad(first, &error))?;
    body["tag"] = Tag::of(first.hash).to_string().into();
    let mut setup: Setup = serde_json::from_value(body).map_err(|error| bad(first, &error))?;
    setup.migrated = Some(Migrated { schema: super::old::VERSION.unsigned_abs(), head: last.hash });
    let mut campaign = Campaign::begin_at(Box::new(new.journal()?), setup, Some(first.at.clone()))?;
    let (mut decisions, mut outcomes) = (0, 0);
    same_model(&campaign, first).map_err(|problem| bad(first, &problem))?;
    for event in events {
        let command = command(event).map_err(|problem| bad(event, &problem))?;
        let (own_decisions, own_outcomes) = (log.decisions(event)?, log.outcomes(event)?);
        decisions += own_decisions.len() as u64;
        outcomes += own_outcomes.len() as u64;
        let (at, head) = (Some(event.at.clone()), campaign.head());
        let draft = Draft { at, decisions: &own_decisions, outcomes: &own_outcomes, ..Draft::new(command) };
        campaign.append(&head, &draft, || Ok(()))?;
        same_model(&campaign, event).map_err(|problem| bad(event, &problem))?;
    }
    let verified = campaign.verify()?;
    if let Some(finding) = verified.findings.first() {
        return Err(Error::Damaged { path: campaign.path().to_owned(), problem: finding.damaged.clone(), cause: None });
    }
    Ok(MigratedFile {
        events: log.events.len() as u64,
        old_head: last.hash,
        rounds: campaign.rounds().len() as u64,
        decisions,
        outcomes,
        model: campaign.model_hash(),
    })
}

/// Whether the model after an event is the one that the old log names, to the bit.
fn same_model(campaign: &Campaign, event: &Event) -> Result<(), String> {
    let model = campaign.model().map_err(|error| error.to_string())?;
    let found = model_hash(&model).map_err(|error| error.to_string())?;
    if found == event.model { Ok(()) } else { Err("the model after it is not the one that the log names".to_owned()) }
}

/// The command that an event was.
fn command(event: &Event) -> Result<Command, String> {
    let text = |error: serde_json::Error| error.to_string();
    let round = || event.round.ok_or_else(|| "it names no round".to_owned());
    let table = || serde_json::from_str(&event.body).map_err(text);
    Ok(match event.kind {
        Kind::Choose => {
            let mut body: serde_json::Value = serde_json::from_str(&event.body).map_err(text)?;
            body["round"] = round()?.into();
            Command::Choose(serde_json::from_value(body).map_err(text)?)
        }
        Kind::Learn => Command::Learn(table()?),
        Kind::Correct => Command::Correct(table()?),
        Kind::Undelivered => Command::Undelivered(table()?),
        Kind::Close => Command::Close(Closing::Round(OfRound { round: round()? })),
        _ => return Err(format!("a log of that version has no {} here", event.kind.name())),
    })
}
