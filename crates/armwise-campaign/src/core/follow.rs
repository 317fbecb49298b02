//! What others appended: a campaign that shares its journal goes on to the journal's last entry.
//!
//! Every entry is checked against the chain before it counts. What it changed in the rounds at hand is done there too, so
//! that a replica knows the rounds of the others as well as its own. A journal that lacks what was seen before is refused.

use super::{
    Campaign, Changes, Closing, Command, Entry, Head, Kind, News, Sha,
    decision::{digest_outcomes, digest_sent},
    fold::{Last, Played},
    opening::{Opened, newest},
    recent::{Away, Recent},
    settled::Shelf,
    sums,
    undo::Undo,
};
use crate::Error;
use std::{collections::BTreeMap, sync::Arc};

/// Whoever is further behind begins at the newest checkpoint.
const FAR: u64 = 20_000;
/// The most decisions of a round that is kept at hand.
const MANY: usize = 1000;

impl Campaign {
    /// Whether others may append to its journal.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.journal.is_shared()
    }

    /// Goes on to the journal's last entry; how many entries that took.
    ///
    /// # Errors
    /// [`Error::WentBack`] if the journal is not the one that was seen before, [`Error::Damaged`], and those of the store.
    /// Nothing has changed then.
    pub fn follow(&mut self) -> Result<u64, Error> {
        self.follow_with(None)
    }

    /// Waits for a turn to append, and goes on to the journal's last entry, which stays the last one until this campaign
    /// appends or ends its turn; how many entries that took.
    pub(crate) fn begin_turn(&mut self) -> Result<u64, Error> {
        let found = self.journal.begin_turn(self.head.seq)?;
        self.follow_with(found)
    }

    /// As [`follow`](Self::follow), with what is known already of the journal's head and of what is new.
    fn follow_with(&mut self, mut found: Option<(Head, News)>) -> Result<u64, Error> {
        let first = self.head.seq;
        loop {
            let (head, known) = match found.take() {
                Some((head, news)) => (head, Some(news)),
                None => (self.journal.head()?, None),
            };
            if head == self.head {
                return Ok(head.seq - first);
            }
            if head.seq <= self.head.seq {
                return Err(self.went_back(&head));
            }
            if head.seq - self.head.seq > FAR {
                self.keys.get_mut().clear();
                self.begin_anew()?;
                continue;
            }
            // One of the new entries may have a key that none had before.
            self.keys.get_mut().clear();
            let news = known.map_or_else(|| self.journal.news(self.head.seq), Ok)?;
            if news.entries.first().is_none_or(|entry| entry.follows(&self.head).is_err()) {
                let own = self.journal.entry(self.head.seq)?;
                if own.is_none_or(|own| own.head() != self.head) {
                    return Err(self.went_back(&head));
                }
            }
            let (read, own) = (read(&news), self.head);
            let all = read.iter().flatten().map(|(command, changes)| (command, changes));
            let undo = Undo::of_news(&self.state, all);
            if read.and_then(|read| self.take_news(&news, &read)).is_err() {
                undo.restore(&mut self.state);
                (self.head, self.prefix) = (own, None);
                *self.recent.get_mut() = Recent::default();
                // What was put away is that of a later checkpoint, or it is damaged.
                self.begin_anew()?;
                continue;
            }
            self.obey_news(&news);
            // Whoever comes later is seen the next time.
            if self.head.seq >= head.seq {
                return Ok(self.head.seq - first);
            }
        }
    }

    /// Goes to where the journal stands as when it is opened, if it still has what was seen.
    fn begin_anew(&mut self) -> Result<(), Error> {
        self.still_has(&self.head)?;
        let Opened { state, head, prefix, checkpoint } = newest(&*self.journal)?;
        (self.state, self.head, self.prefix, self.checkpoint) = (state, head, prefix, checkpoint);
        (*self.recent.get_mut(), *self.away.get_mut()) = (Recent::default(), Away::default());
        let now = self.state.rules.last().map_or(1, |rules| rules.seq);
        if now != self.rules_now {
            self.setup.recipe = self.recipe_of_entry(u64::MAX)?.into_owned();
            self.obey(now, self.amended(now)?);
        }
        Ok(())
    }

    /// Whether the journal still has an entry that was seen before.
    ///
    /// # Errors
    /// [`Error::WentBack`] if not, and those of the store.
    pub fn still_has(&self, seen: &Head) -> Result<(), Error> {
        let found = self.journal.entry(seen.seq)?;
        if seen.seq > 0 && found.is_none_or(|entry| entry.head() != *seen) {
            let path = self.journal.path().to_owned();
            return Err(Error::WentBack { path, seen: seen.seq, found: self.head.seq });
        }
        Ok(())
    }

    fn went_back(&self, found: &Head) -> Error {
        Error::WentBack { path: self.journal.path().to_owned(), seen: self.head.seq, found: found.seq }
    }

    fn take_news(&mut self, news: &News, read: &[(Command, Changes)]) -> Result<(), String> {
        let Self { state, journal, head, prefix, checkpoint, recent, setup, .. } = self;
        let (recent, mut shelf) = (recent.get_mut(), Shelf::of(&**journal));
        let several = state.length > 1;
        let mut rules = None;
        for (entry, (command, changes)) in news.entries.iter().zip(read) {
            entry.follows(head)?;
            let changed = state.advance(entry, command, changes, &mut shelf)?;
            *head = entry.head();
            prefix.take_if(|prefix| changed.is_some_and(|segment| segment <= prefix.through));
            if entry.kind == Kind::Checkpoint {
                *checkpoint = entry.seq;
            }
            match command {
                Command::Amend(new) => {
                    if new.recipe.is_some() {
                        (*recent, *prefix) = (Recent::default(), None);
                    }
                    rules = Some(new.config.clone());
                }
                Command::Choose(chosen) if several => {
                    let config = rules.as_ref().unwrap_or(&setup.config);
                    let own = news.decisions.get(&entry.seq).filter(|own| {
                        own.len() <= MANY && own.len() as u64 == entry.rows && digest_sent(own) == entry.digest
                    });
                    recent.keep_rounds(Vec::from_iter(own.map(|own| Played {
                        round: chosen.round,
                        decisions: own.clone(),
                        last: Last::default(),
                        closed: false,
                        revoked: false,
                        default: config.reward.default + 0.0,
                        hold_out_alike: chosen.hold_out_alike,
                        hold_out_default: config.hold_out_default(),
                        aside: BTreeMap::new(),
                    })));
                    recent.keep_heard(chosen.round, Vec::new());
                }
                _ if several => recent.hear_of(entry, command, changes, news),
                _ => {}
            }
            if let Command::Close(Closing::Through(range)) = command {
                let closed =
                    |round: &u64| state.rounds.get(round).is_some_and(|info| info.closed_by == Some(entry.seq));
                let own = recent.rounds.range_mut(..=range.through).filter(|(round, _)| closed(round));
                own.for_each(|(_, played)| played.closed = true);
            }
        }
        if state.dirty.is_empty() {
            recent.summed.clear();
        }
        recent.shrink();
        Ok(())
    }

    /// Takes over the rules of the last amendment among these.
    fn obey_news(&mut self, news: &News) {
        for entry in news.entries.iter().filter(|entry| entry.kind == Kind::Amend) {
            if let Ok(Command::Amend(rules)) = entry.command() {
                self.obey(entry.seq, *rules);
            }
        }
    }
}

/// The commands of entries and what they changed.
fn read(news: &News) -> Result<Vec<(Command, Changes)>, String> {
    let of = |entry: &Entry| Ok((entry.command()?, serde_json::from_str(&entry.changes)?));
    let bad = |entry: &Entry, error: serde_json::Error| format!("entry {} ({}): {error}", entry.seq, entry.kind.name());
    news.entries.iter().map(|entry| of(entry).map_err(|error| bad(entry, error))).collect()
}

impl Recent {
    /// What an entry of another replica changed in rounds that are at hand.
    fn hear_of(&mut self, entry: &Entry, command: &Command, changes: &Changes, news: &News) {
        for change in &changes.sums {
            let bytes = news.sums.get(&change.segment).filter(|bytes| Sha::of(bytes) == change.hash);
            if let Some(sums) = bytes.and_then(|bytes| sums::decode(bytes)) {
                self.keep_sums(change.segment, change.hash, Arc::new(sums));
            }
        }
        let nothing = Vec::new();
        let outcomes = news.outcomes.get(&entry.seq).unwrap_or(&nothing);
        let known = entry.rows == outcomes.len() as u64 && digest_outcomes(outcomes) == entry.digest;
        if known {
            self.hear(entry.seq, entry.kind, outcomes);
        }
        for change in &changes.rounds {
            if !known {
                // It is read again when it is needed.
                self.forget(change.round);
                continue;
            }
            let Some(played) = self.rounds.get_mut(&change.round) else { continue };
            outcomes.iter().filter(|own| own.decision.round == change.round).for_each(|own| played.last.hear(own));
            match command {
                Command::Learn(told) | Command::Correct(told) | Command::Undelivered(told) => {
                    for put in told.aside.iter().filter(|put| put.round == change.round) {
                        played.aside.extend(put.decisions.iter().map(|&number| (number, put.flaw)));
                    }
                }
                Command::Close(Closing::Round(_)) => played.closed = true,
                Command::Revoke(_) => played.revoked = true,
                _ => {}
            }
        }
    }
}
