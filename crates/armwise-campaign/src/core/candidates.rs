//! The rows that a round was chosen from, where the rules keep them: bytes beside the round's entry, which vouches for them.

use super::{Campaign, Candidates, Command, Entry, Sha};
use crate::Error;

impl Campaign {
    /// The rows that a round was chosen from, as bytes, checked; none where they were not kept.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn candidates(&self, round: u64) -> Result<Option<(Candidates, Vec<u8>)>, Error> {
        match self.journal.entry(self.round(round)?.seq)? {
            Some(entry) => self.candidates_of(&entry),
            None => Ok(None),
        }
    }

    /// Those of an entry.
    pub(super) fn candidates_of(&self, entry: &Entry) -> Result<Option<(Candidates, Vec<u8>)>, Error> {
        let Ok(Command::Choose(chosen)) = entry.command() else { return Ok(None) };
        let Some(kept) = chosen.candidates else { return Ok(None) };
        let rows = self.journal.arms(entry.seq)?.filter(|rows| Sha::of(rows) == kept.digest);
        match rows {
            Some(rows) => Ok(Some((kept, rows))),
            None => Err(self
                .damaged(format!("the candidates of entry {} are not those that the journal vouches for", entry.seq))),
        }
    }
}
