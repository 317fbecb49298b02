//! Nothing is committed that does not read back: what an append wrote is read again inside its transaction and compared
//! with what was sealed.
//!
//! Everything is compared by the hashes that the entries carry, which are those that every later reader checks. So what
//! a store cannot keep (another sign of zero, a number that is none, a text cut short) is refused while it can be.

use super::{
    Changes, Command, Entry, Journal, Record, Sha,
    decision::{digest_outcomes, hear},
    original::are_there,
    rows::digest_of,
};
use crate::Error;
use std::collections::BTreeMap;

/// What must read back.
#[derive(Debug)]
pub(super) struct Expected {
    entry: Entry,
    /// The hashes of what was put away.
    settled: Vec<(u64, Sha)>,
}

impl Expected {
    pub(super) fn of(record: &Record) -> Self {
        let settled = record.settled.iter().map(|(segment, bytes)| (*segment, Sha::of(bytes))).collect();
        Self { entry: record.entry.clone(), settled }
    }
}

/// Whether a journal gives these entries and all that belongs to them as they were sealed.
pub(super) fn reads_back(journal: &dyn Journal, sealed: &[Expected]) -> Result<(), Error> {
    // Of several entries that change a segment, the last says what its sums are.
    let mut sums = BTreeMap::new();
    let differs = |what: &str, entry: &Entry| {
        let (seq, kind) = (entry.seq, entry.kind.name());
        let problem =
            format!("{what} of entry {seq} ({kind}) would not read back as written, so nothing was committed");
        Err(Error::Storage { path: journal.path().to_owned(), problem, cause: None })
    };
    for Expected { entry, settled } in sealed {
        if let Some(what) = difference(journal, entry, settled, &mut sums)? {
            return differs(what, entry);
        }
    }
    for (segment, (entry, hash)) in sums {
        if journal.sums(segment)?.map(Sha::of) != Some(hash) {
            return differs("the sums", entry);
        }
    }
    Ok(())
}

/// What of an entry is not as it was sealed.
fn difference<'a>(
    journal: &dyn Journal,
    entry: &'a Entry,
    settled: &[(u64, Sha)],
    sums: &mut BTreeMap<u64, (&'a Entry, Sha)>,
) -> Result<Option<&'static str>, Error> {
    if journal.entry(entry.seq)?.as_ref() != Some(entry) {
        return Ok(Some("the record"));
    }
    // A number that JSON does not have, such as NaN, is written as something that no later reader takes.
    let Ok(command) = entry.command() else { return Ok(Some("the body")) };
    if command.body().ok().as_ref() != Some(&entry.body) {
        return Ok(Some("the body"));
    }
    let Ok(changes) = serde_json::from_str::<Changes>(&entry.changes) else { return Ok(Some("the changes")) };
    let found = if let (Command::Choose(_) | Command::Logged(_), Some(round)) = (&command, entry.round) {
        digest_of(journal, round, entry.seq, &mut drop)?
    } else {
        let outcomes = journal.outcomes(entry.seq)?;
        (outcomes.len() as u64, digest_outcomes(&outcomes))
    };
    if found != (entry.rows, entry.digest) {
        return Ok(Some("the rows"));
    }
    if let (Command::Logged(_), Some(round)) = (&command, changes.rounds.first()) {
        let outcomes = journal.outcomes(entry.seq)?;
        if round.heard != hear(Sha::of(""), entry.seq, entry.kind, digest_outcomes(&outcomes)) {
            return Ok(Some("the rewards"));
        }
    }
    if !are_there(journal, entry, &command)? {
        return Ok(Some("the original columns"));
    }
    sums.extend(changes.sums.iter().map(|change| (change.segment, (entry, change.hash))));
    for (segment, hash) in settled {
        if journal.settled(*segment)?.map(Sha::of) != Some(*hash) {
            return Ok(Some("the rounds that were put away"));
        }
    }
    if let Command::Compact(compacted) = &command
        && journal.count_through(compacted.round)? != (0, 0, 0)
    {
        return Ok(Some("the rows that were given up"));
    }
    if let Command::Arms(change) = &command
        && journal.arms(entry.seq)?.map(Sha::of) != Some(change.digest)
    {
        return Ok(Some("the arms"));
    }
    if let Command::Checkpoint(vouched) = command {
        let kept = journal.kept()?.map(|kept| (kept.seq, Sha::of(kept.state), Sha::of(kept.model)));
        if kept != Some((entry.seq, vouched.state, vouched.model)) {
            return Ok(Some("what is kept"));
        }
    }
    Ok(None)
}
