//! A campaign from one place to another, from a file to a database or back: the same entries, so the same chain and the
//! same model.
//!
//! Entries are appended to the new journal as they are, with their rows, a bounded number at a time; nothing is judged anew. The
//! copy is then verified from its first entry to its last. It gets its name when it is complete.

use super::{place::Place, sqlite};
use crate::{
    Campaign, Error,
    core::{Changes, Command, Entry, Head, Journal, Kept, Kind, Original, Outcome, Record, Rows, Sent, Sha},
};
use serde::Serialize;
use std::path::Path;

/// The most rows in one append.
const ROWS: u64 = 50_000;
/// The most entries in one append.
const ENTRIES: usize = 1000;

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// The last entry.
    pub head: Head,
    /// How many rounds there are.
    pub rounds: u64,
    /// The hash of the model.
    pub model: Sha,
}

/// Copies a campaign to a place where there is none, and verifies the copy.
///
/// # Errors
/// [`Error::Exists`] if there is one, [`Error::Damaged`] if what is copied is not good, and those of the stores.
pub fn copy(from: &Path, to: &Path) -> Result<Copied, Error> {
    let source = Campaign::read(from)?;
    let (head, model) = (source.head(), source.model_hash());
    let write = |target: &mut dyn Journal| carry_over(source.journal(), target, &head);
    match Place::of(to)? {
        Place::File(path) => sqlite::filled(&path, "copy", write)?,
        #[cfg(feature = "postgres")]
        Place::Postgres(address) => super::postgres::filled(&address, write)?,
    }
    let copied = Campaign::read(to)?;
    let verified = copied.verify()?;
    let bad = |problem: String| Error::Damaged { path: copied.path().to_owned(), problem, cause: None };
    if let Some(finding) = verified.findings.first() {
        return Err(bad(finding.damaged.clone()));
    }
    if (copied.head(), copied.model_hash()) != (head, model) {
        return Err(bad("the copy is not the campaign that was copied".to_owned()));
    }
    Ok(Copied { head, rounds: copied.count_rounds(), model })
}

/// An entry with its rows.
struct Whole {
    entry: Entry,
    decisions: Vec<Sent>,
    outcomes: Vec<Outcome>,
    originals: Vec<Original>,
    arms: Option<Vec<u8>>,
}

impl Whole {
    fn of(journal: &dyn Journal, entry: Entry) -> Result<Self, Error> {
        let has_rows = entry.rows > 0;
        let (mut decisions, mut originals) = (Vec::new(), Vec::new());
        if matches!(entry.kind, Kind::Choose | Kind::Logged) && has_rows {
            let round = if entry.kind == Kind::Logged { 0 } else { entry.round.unwrap_or(0) };
            decisions = journal.decisions(round)?;
            originals = journal.originals(round)?.into_iter().map(|(_, own)| own).collect();
        }
        let outcomes = if has_rows { journal.outcomes(entry.seq)? } else { Vec::new() };
        let arms = if entry.kind == Kind::Arms { journal.arms(entry.seq)? } else { None };
        Ok(Self { entry, decisions, outcomes, originals, arms })
    }
}

fn carry_over(from: &dyn Journal, to: &mut dyn Journal, last: &Head) -> Result<(), Error> {
    let (mut part, mut rows, mut head) = (Vec::new(), 0, Head::none());
    let kept = from.kept()?.filter(|kept| kept.seq <= last.seq);
    let mut beside = Beside::of(from, last, kept)?;
    let mut failed = None;
    from.each_entry(0, &mut |entry| {
        if entry.seq > last.seq {
            return Ok(());
        }
        rows += entry.rows;
        let is_last = entry.seq == last.seq;
        part.push(Whole::of(from, entry)?);
        if is_last || rows >= ROWS || part.len() >= ENTRIES {
            head = put(to, &head, &part, is_last.then_some(&mut beside))?;
            part.clear();
            rows = 0;
        }
        Ok(())
    })
    .unwrap_or_else(|error| failed = Some(error));
    failed.map_or(Ok(()), Err)
}

/// What is stored beside entries, which goes with the last one.
struct Beside {
    sums: Vec<(u64, Vec<u8>)>,
    settled: Vec<(u64, Vec<u8>)>,
    kept: Option<Kept>,
}

impl Beside {
    fn of(journal: &dyn Journal, last: &Head, kept: Option<Kept>) -> Result<Self, Error> {
        let (mut segments, mut length, mut round) = (std::collections::BTreeSet::new(), 1, 0);
        journal.each_entry(0, &mut |entry| {
            if entry.seq <= last.seq {
                if let Ok(Command::Init(setup)) = entry.command() {
                    length = setup.rounds_per_segment.max(1);
                }
                round = round.max(entry.round.unwrap_or(0));
                let changes: Changes = serde_json::from_str(&entry.changes).unwrap_or_default();
                segments.extend(changes.sums.iter().map(|change| change.segment));
            }
            Ok(())
        })?;
        let (mut sums, mut settled) = (Vec::new(), Vec::new());
        for segment in segments {
            sums.extend(journal.sums(segment)?.map(|bytes| (segment, bytes)));
        }
        if length > 1 {
            for segment in 1..=round.div_ceil(length) {
                settled.extend(journal.settled(segment)?.map(|bytes| (segment, bytes)));
            }
        }
        Ok(Self { sums, settled, kept })
    }
}

/// Appends entries as they are; what is stored beside them goes with the last.
fn put(to: &mut dyn Journal, against: &Head, part: &[Whole], beside: Option<&mut Beside>) -> Result<Head, Error> {
    let rows: Vec<Rows<'_>> = part
        .iter()
        .map(|own| Rows {
            seq: own.entry.seq,
            decisions: &own.decisions,
            outcomes: &own.outcomes,
            originals: &own.originals,
            arms: own.arms.as_deref(),
        })
        .collect();
    let mut records: Vec<Record> = part.iter().map(|own| Record::new(own.entry.clone())).collect();
    if let (Some(beside), Some(last)) = (beside, records.last_mut()) {
        (last.sums, last.settled) = (std::mem::take(&mut beside.sums), std::mem::take(&mut beside.settled));
        last.kept = beside.kept.take();
    }
    to.append(against, &rows, &mut || Ok(records.clone()), &mut |_| Ok(()))?;
    Ok(part.last().map_or(*against, |own| own.entry.head()))
}
