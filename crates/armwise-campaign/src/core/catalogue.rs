//! The catalogue of arms, as a service keeps it: each change is an entry with its rows as bytes, and the catalogue is what
//! all of them lead to. What the rows are is not looked at here.

use super::{ArmsAction, ArmsChange, Campaign, Command, Draft, Key, Kind, Sha, state::changed_arms};
use crate::Error;

/// Changes the catalogue: `rows` are the rows of this many arms, as bytes. The same request with the same `key` changes
/// nothing. Gives the entry.
///
/// # Errors
/// [`Error::KeyUsed`], [`Error::HeadMoved`], [`Error::Storage`].
pub fn change_arms(
    campaign: &mut Campaign,
    action: ArmsAction,
    arms: u64,
    rows: &[u8],
    key: Option<&Key>,
) -> Result<u64, Error> {
    let (change, against) = (ArmsChange { action, arms, digest: Sha::of(rows) }, campaign.head());
    if let Some((entry, _)) = campaign.earlier(key, |command| *command == Command::Arms(change.clone()))? {
        return Ok(entry.seq);
    }
    let draft = Draft { key, arms: Some(rows), ..Draft::new(Command::Arms(change)) };
    campaign.append(&against, &draft, || Ok(()))?;
    Ok(against.seq + 1)
}

impl Campaign {
    /// All changes of the catalogue, each with its entry and its rows as bytes, in their order, checked.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn arms_changes(&self) -> Result<Vec<(u64, ArmsChange, Vec<u8>)>, Error> {
        let (mut all, mut hash) = (Vec::new(), Sha::of(""));
        for entry in self.journal.of_kind(Kind::Arms)?.into_iter().filter(|entry| entry.seq <= self.head.seq) {
            let lost =
                || self.damaged(format!("the arms of entry {} are not those that the journal vouches for", entry.seq));
            let Ok(Command::Arms(change)) = entry.command() else { return Err(lost()) };
            let rows = self.journal.arms(entry.seq)?.filter(|rows| Sha::of(rows) == change.digest).ok_or_else(lost)?;
            hash = changed_arms(hash, entry.seq, change.digest);
            all.push((entry.seq, change, rows));
        }
        if (all.len() as u64, hash) != self.state.arms {
            return Err(self.damaged("the changes of the catalogue are not those that the journal vouches for"));
        }
        Ok(all)
    }
}
