//! Segments that are put away: of their rounds, the state keeps counts and a hash, and a side table the rounds
//! themselves.
//!
//! A checkpoint puts away all segments but the last few, so the state does not grow with the rounds. A round that changes
//! later comes back alone; a segment of which many have come back is put away anew by the next checkpoint. What is put
//! away is a state of these rounds alone, as bytes.

use super::{Counts, Journal, RoundInfo, Sha, fold::segment_of, state::State, state_bytes::StateFormat};
use crate::Error;
use std::{cell::RefCell, collections::BTreeMap, path::Path, sync::Arc};

/// How many of the last segments a checkpoint leaves as they are, because rewards still come for them.
pub(super) const OPEN_SEGMENTS: u64 = 8;
/// A segment is put away anew when this share of its rounds has come back.
const SHARE: u64 = 16;
/// When so many rounds have come back, every segment that they belong to is put away anew.
const MOST: usize = 1 << 15;

/// A segment that is put away.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settled {
    /// How many rounds it has.
    pub(super) rounds: u64,
    /// How many of them are neither closed nor revoked.
    pub(super) open: u64,
    /// How many of these are held back.
    pub(super) held: u64,
    /// How many decisions they have.
    pub(super) decisions: u64,
    /// The first entry that chose one of them.
    pub(super) seq: u64,
    /// When its first round was chosen.
    pub(super) at: String,
    /// What became of their decisions, all together.
    pub(super) counts: Counts,
    /// SHA-256 of the rounds as bytes.
    pub(super) bytes: Sha,
}

/// Where the bytes of segments that are put away are found, and where new ones go.
#[derive(Debug, Default)]
pub(super) struct Shelf<'a> {
    /// Without a journal everything stays in memory, which is how entries are followed from the first one on.
    pub(super) journal: Option<&'a dyn Journal>,
    /// What was put away since.
    pub(super) put: BTreeMap<u64, Vec<u8>>,
    /// Why the journal could not be asked: that is no damage, and may go better next time.
    failed: RefCell<Option<Error>>,
}

impl<'a> Shelf<'a> {
    pub(super) fn of(journal: &'a dyn Journal) -> Self {
        Self { journal: Some(journal), ..Self::default() }
    }

    /// The error behind a problem: that of the journal if it could not be asked, otherwise damage.
    pub(super) fn error(&self, path: &Path, problem: String) -> Error {
        let damaged = || Error::Damaged { path: path.to_owned(), problem, cause: None };
        self.failed.take().unwrap_or_else(damaged)
    }

    fn ask<T>(&self, asked: Result<T, Error>) -> Result<T, String> {
        asked.map_err(|error| {
            let text = error.to_string();
            self.failed.replace(Some(error));
            text
        })
    }

    /// The rounds of a segment, if they are those that were put away.
    pub(super) fn take(&self, segment: u64, settled: &Settled) -> Result<State, String> {
        let put = match (self.put.get(&segment), self.journal) {
            (Some(bytes), _) => read(bytes, settled),
            (None, None) => None,
            (None, Some(journal)) => {
                let stored = self.ask(journal.settled(segment))?;
                let mut own = stored.and_then(|bytes| read(&bytes, settled));
                // The bytes only save time: the entries say the same. Where others write, the bytes are likelier those of a later
                // checkpoint, which whoever asks goes on to first.
                if own.is_none() && !journal.is_shared() {
                    let walked = self.ask(super::opening::walk(journal))?;
                    own = walked.1.put.get(&segment).and_then(|bytes| read(bytes, settled));
                }
                own
            }
        };
        put.ok_or_else(|| format!("the rounds of segment {segment} are not those that were put away"))
    }
}

/// The rounds in these bytes, if they are those that were put away.
fn read(bytes: &[u8], settled: &Settled) -> Option<State> {
    if Sha::of(bytes) == settled.bytes { State::decode(bytes, StateFormat::NOW) } else { None }
}

impl State {
    /// Brings a round back that is put away; whether the round is known.
    pub(super) fn bring(&mut self, round: u64, shelf: &Shelf<'_>) -> Result<bool, String> {
        if self.rounds.contains_key(&round) {
            return Ok(true);
        }
        let segment = segment_of(round, self.length);
        let Some(settled) = self.settled.get(&segment) else { return Ok(false) };
        let mut own = shelf.take(segment, settled)?;
        Ok(self.bring_from(round, &mut own))
    }

    /// Brings back all open rounds of a segment up to one.
    pub(super) fn bring_open(&mut self, segment: u64, through: u64, shelf: &Shelf<'_>) -> Result<(), String> {
        let Some(settled) = self.settled.get(&segment) else { return Ok(()) };
        let mut own = shelf.take(segment, settled)?;
        let open = own.rounds.range(..=through).filter(|(_, info)| !info.closed() && !info.revoked());
        for round in open.map(|(&round, _)| round).collect::<Vec<_>>() {
            if !self.rounds.contains_key(&round) {
                self.bring_from(round, &mut own);
            }
        }
        Ok(())
    }

    fn bring_from(&mut self, round: u64, own: &mut Self) -> bool {
        let Some(info) = own.rounds.remove(&round) else { return false };
        self.rounds.insert(round, info);
        self.aside.extend(own.aside.remove_entry(&round));
        self.held.extend(own.held.remove_entry(&round));
        true
    }

    /// Puts away all segments but the last few.
    pub(super) fn settle(&mut self, shelf: &mut Shelf<'_>) -> Result<(), String> {
        let Some(newest) = self.rounds.keys().next_back().filter(|_| self.length > 1) else { return Ok(()) };
        let end = (segment_of(*newest, self.length)).saturating_sub(OPEN_SEGMENTS) * self.length;
        let mut back: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for &round in self.rounds.range(..=end).map(|(round, _)| round) {
            back.entry(segment_of(round, self.length)).or_default().push(round);
        }
        let few = back.values().map(Vec::len).sum::<usize>() < MOST;
        let many = (self.length / SHARE).max(1) as usize;
        for (segment, rounds) in back {
            let mut own = match self.settled.get(&segment) {
                Some(_) if few && rounds.len() < many => continue,
                Some(settled) => shelf.take(segment, settled)?,
                None => Self::new(),
            };
            for round in rounds {
                own.rounds.extend(self.rounds.remove_entry(&round));
                own.aside.extend(self.aside.remove_entry(&round));
                own.held.extend(self.held.remove_entry(&round));
            }
            let bytes = own.encode(StateFormat::NOW);
            Arc::make_mut(&mut self.settled).insert(segment, Settled::of(&own, Sha::of(&bytes)));
            shelf.put.insert(segment, bytes);
        }
        Ok(())
    }
}

/// A hash over hashes.
pub(super) fn over(hashes: impl Iterator<Item = Sha>) -> Sha {
    Sha::of(hashes.flat_map(|hash| hash.0).collect::<Vec<u8>>())
}

impl State {
    /// What giving up the single decisions up to a round vouches for: hashes over the rounds and the sums of the segments
    /// that are given up now. The error says why they may not be.
    pub(super) fn given_up(&self, through: u64) -> Result<(Sha, Sha), String> {
        let (first, last) = (segment_of(self.compacted, self.length), segment_of(through, self.length));
        let whole = self.length > 1 && last > first && through == last * self.length;
        if !whole {
            return Err(format!("round {through} is not the end of a segment whose decisions are there"));
        }
        let own = || self.settled.range(first + 1..=last);
        let open = own().any(|(segment, settled)| settled.open > 0 || self.dirty.contains(segment));
        let back = self.rounds.range(..=through).any(|(_, info)| !info.closed() && !info.revoked());
        if open || back || own().next().is_none() {
            return Err(format!("not all rounds up to {through} are closed, learned and put away"));
        }
        let sums = self.sums.range(first + 1..=last).map(|(_, &hash)| hash);
        Ok((over(own().map(|(_, settled)| settled.bytes)), over(sums)))
    }
}

impl Settled {
    /// Of these rounds.
    fn of(own: &State, bytes: Sha) -> Self {
        let first = own.rounds.values().next();
        let is_open = |info: &&RoundInfo| !info.closed() && !info.revoked();
        let is_held = |info: &&RoundInfo| own.held.get(&info.round).is_some_and(|held| held.is_held(u64::MAX));
        let mut counts = Counts::default();
        own.rounds.values().for_each(|info| counts.add_all(&info.counts));
        Self {
            rounds: own.rounds.len() as u64,
            open: own.rounds.values().filter(is_open).count() as u64,
            held: own.rounds.values().filter(is_open).filter(is_held).count() as u64,
            decisions: own.rounds.values().map(|info| info.decisions).sum(),
            seq: own.rounds.values().map(|info| info.seq).min().unwrap_or(0),
            at: first.map_or_else(String::new, |info| info.at.clone()),
            counts,
            bytes,
        }
    }
}
