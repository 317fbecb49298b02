//! Where a journal stands: from its newest checkpoint on, or from its first entry.

use super::{Command, Entry, Head, Journal, Kept, Kind, Sha, campaign::Prefix, settled::Shelf, state::State, sums};
use crate::Error;

/// What opening finds.
pub(super) struct Opened {
    pub(super) state: State,
    pub(super) head: Head,
    pub(super) prefix: Option<Prefix>,
    pub(super) checkpoint: u64,
}

/// Where a journal stands: from its newest checkpoint on, or from its first entry.
pub(super) fn newest(journal: &dyn Journal) -> Result<Opened, Error> {
    let kept = match journal.kept()? {
        Some(kept) => from_checkpoint(journal, &kept)?,
        None => None,
    };
    kept.map_or_else(|| Ok(walk(journal)?.0), Ok)
}

/// The state that a checkpoint vouches for, led on by the entries after it; none if what is stored is damaged.
fn from_checkpoint(journal: &dyn Journal, kept: &Kept) -> Result<Option<Opened>, Error> {
    let mut entries = journal.entries(kept.seq.saturating_sub(2))?.into_iter();
    let (Some(before), Some(entry)) = (entries.next(), entries.next()) else { return Ok(None) };
    if entry.seq != kept.seq || entry.follows(&before.head()).is_err() {
        return Ok(None);
    }
    let Ok(Command::Checkpoint(vouched)) = entry.command() else { return Ok(None) };
    if Sha::of(&kept.state) != vouched.state || Sha::of(&kept.model) != vouched.model {
        return Ok(None);
    }
    let read = State::decode(&kept.state, vouched.format).zip(sums::decode(&kept.model));
    let Some((state, model)) = read else { return Ok(None) };
    let prefix = Some(Prefix { through: vouched.through, model });
    let mut opened = Opened { state, head: entry.head(), prefix, checkpoint: entry.seq };
    let mut shelf = Shelf::of(journal);
    for entry in entries {
        opened.follow(&entry, &mut shelf).map_err(|problem| shelf.error(journal.path(), problem))?;
    }
    Ok(Some(opened))
}

/// The state that all entries lead to, and the rounds that they put away.
pub(super) fn walk(journal: &dyn Journal) -> Result<(Opened, Shelf<'static>), Error> {
    let mut opened = Opened { state: State::new(), head: Head::none(), prefix: None, checkpoint: 0 };
    let mut shelf = Shelf::default();
    journal.each_entry(0, &mut |entry| {
        let damaged = |problem| Error::Damaged { path: journal.path().to_owned(), problem, cause: None };
        opened.follow(&entry, &mut shelf).map_err(damaged)
    })?;
    Ok((opened, shelf))
}

impl Opened {
    fn follow(&mut self, entry: &Entry, shelf: &mut Shelf<'_>) -> Result<(), String> {
        entry.follows(&self.head)?;
        let changed = self.state.apply(entry, shelf)?;
        self.head = entry.head();
        self.prefix.take_if(|prefix| changed.is_some_and(|segment| segment <= prefix.through));
        if entry.kind == Kind::Checkpoint {
            // The bytes are missing or damaged, so the model of the checkpoint is unusable too.
            (self.checkpoint, self.prefix) = (entry.seq, None);
        }
        Ok(())
    }
}
