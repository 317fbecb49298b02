//! Nothing is committed that does not read back: what an append wrote is read again inside its transaction and compared
//! with what was sealed.
//!
//! Everything is compared by the hashes that the entries carry, which are those that every later reader checks. So what
//! a store cannot keep (another sign of zero, a number that is none, a text cut short) is refused while it can be.

use super::{
    Changes, Command, Entry, Journal, Sha,
    campaign::digest_of,
    decision::{digest_outcomes, hear},
    original::are_there,
};
use crate::Error;

/// Whether a journal gives these entries and all that belongs to them as they were sealed.
pub(super) fn reads_back(journal: &dyn Journal, sealed: &[Entry]) -> Result<(), Error> {
    sealed.iter().try_for_each(|entry| match difference(journal, entry)? {
        None => Ok(()),
        Some(what) => {
            let problem = format!(
                "{what} of entry {} ({}) would not read back as written, so nothing was committed",
                entry.seq,
                entry.kind.name()
            );
            Err(Error::Storage { path: journal.path().to_owned(), problem, cause: None })
        }
    })
}

/// What of an entry is not as it was sealed.
fn difference(journal: &dyn Journal, entry: &Entry) -> Result<Option<&'static str>, Error> {
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
    for change in &changes.sums {
        if journal.sums(change.segment)?.map(Sha::of) != Some(change.hash) {
            return Ok(Some("the sums"));
        }
    }
    if let Command::Checkpoint(vouched) = command {
        let kept = journal.kept()?.map(|kept| (kept.seq, Sha::of(kept.state), Sha::of(kept.model)));
        if kept != Some((entry.seq, vouched.state, vouched.model)) {
            return Ok(Some("what is kept"));
        }
    }
    Ok(None)
}
