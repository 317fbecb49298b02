//! What commands that wait will need, read in one step before they are judged.
//!
//! A store that is far away answers one question as slowly as a hundred. So the rounds of all rewards that wait, and the
//! entries that may have their keys, are asked for at once and kept at hand. Rows count only if they have their digest; what
//! does not is left out, and whoever needs it reads it alone and says what is wrong with it.

use super::{
    Campaign, Heard, Sent, Tag, Wanted,
    decision::{digest_sent, hear_all},
    fold::{Last, Played},
};
use crate::Error;
use std::{borrow::Cow, collections::BTreeSet};

/// A round with more decisions is read when it is needed.
const MANY: u64 = 1000;
/// The most decisions that are read ahead at once.
const MOST: u64 = 20_000;
/// How many rounds of a segment are read at once.
const PART: usize = 1000;

impl Campaign {
    /// The round that a decision's name is about, if it is one of this campaign.
    pub(crate) fn round_named(&self, decision: &str) -> Option<u64> {
        let named = Tag::read_round(decision).or_else(|| Tag::read(decision).map(|(id, tag)| (id.round, tag)));
        named.filter(|(_, tag)| tag.is_none_or(|tag| tag == self.tag())).map(|(round, _)| round)
    }

    /// Reads ahead what commands with these keys, about these rounds, will need. What cannot be read is read when it is
    /// needed.
    pub(crate) fn read_ahead(&mut self, rounds: &BTreeSet<u64>, keys: Vec<String>) -> Result<(), Error> {
        self.keys.get_mut().clear();
        if !self.journal.is_shared() {
            return Ok(());
        }
        let missing = self.missing(rounds);
        if missing.is_empty() && keys.is_empty() {
            return Ok(());
        }
        let wanted = Wanted { rounds: missing, keys };
        let Some(mut ahead) = self.journal.ahead(&wanted)? else { return Ok(()) };
        for round in wanted.rounds {
            let decisions = ahead.decisions.remove(&round).unwrap_or_default();
            let heard = ahead.heard.remove(&round).unwrap_or_default();
            self.keep_read(round, decisions, heard)?;
        }
        self.recent.get_mut().shrink_but(rounds);
        let keys = self.keys.get_mut();
        keys.extend(wanted.keys.into_iter().map(|key| (key, None)));
        for entry in ahead.keyed {
            if let Some(key) = entry.key.clone() {
                keys.insert(key, Some(entry));
            }
        }
        Ok(())
    }

    /// Sums what the next fold will need, before others are kept waiting for it. What an entry touches after that is summed
    /// again by the fold.
    pub(crate) fn sum_dirty(&mut self) -> Result<(), Error> {
        if !self.journal.is_shared() {
            return Ok(());
        }
        for segment in self.state.dirty.clone() {
            if self.known_sums(segment).is_some() {
                continue;
            }
            let rounds = self.rounds_in(segment)?;
            for part in rounds.chunks(PART) {
                self.read_ahead(&part.iter().copied().collect(), Vec::new())?;
            }
            self.summed(segment)?;
        }
        // The fold merges these with the sums of all segments that the prefix does not have.
        let Some(&first) = self.state.dirty.first() else { return Ok(()) };
        let merged = self.prefix.as_ref().map(|prefix| prefix.through).filter(|&through| through < first);
        let others = self.state.sums.range(merged.map_or(0, |through| through + 1)..);
        for (&segment, &hash) in others.filter(|(segment, _)| !self.state.dirty.contains(segment)) {
            self.sums_of(segment, hash)?;
        }
        Ok(())
    }

    /// Those of these rounds that are not at hand and small enough to be.
    fn missing(&self, rounds: &BTreeSet<u64>) -> Vec<u64> {
        let (recent, mut most) = (self.recent.borrow(), MOST);
        let wanted = |&round: &u64| {
            let at_hand = recent.rounds.contains_key(&round) && recent.heard.contains_key(&round);
            if at_hand || round == 0 || round <= self.state.compacted {
                return false;
            }
            // What cannot be read is told to whoever needs it.
            let info = self.find_round(round).ok().flatten();
            let size = info.map(|info| info.decisions).filter(|&size| size <= MANY);
            let Some(left) = size.and_then(|size| most.checked_sub(size)) else { return false };
            most = left;
            true
        };
        rounds.iter().copied().filter(wanted).collect()
    }

    /// Has a round at hand, if its rows are those that the journal vouches for.
    fn keep_read(&mut self, round: u64, decisions: Vec<(u64, Sent)>, mut heard: Vec<Heard>) -> Result<(), Error> {
        let Some(info) = self.find_round(round)?.map(Cow::into_owned) else { return Ok(()) };
        heard.retain(|heard| heard.seq <= self.head.seq);
        let own = decisions.iter().all(|(seq, _)| *seq == info.seq);
        let decisions: Vec<Sent> = decisions.into_iter().map(|(_, sent)| sent).collect();
        let good = own && decisions.len() as u64 == info.decisions && digest_sent(&decisions) == info.digest;
        // After another recipe, features are made anew, which is done where they are needed.
        let anew = self.recipe_seq(u64::MAX) > self.recipe_seq(info.seq);
        if !good || anew || hear_all(&heard) != info.heard {
            return Ok(());
        }
        let config = self.config_of(round)?;
        let played = Played {
            round,
            last: Last::of(&heard),
            closed: info.closed(),
            revoked: info.revoked(),
            default: config.reward.default + 0.0,
            hold_out_alike: info.hold_out_alike,
            hold_out_default: config.hold_out_default(),
            aside: self.aside(round, u64::MAX)?,
            decisions,
        };
        let recent = self.recent.get_mut();
        recent.keep_rounds(vec![played]);
        recent.keep_heard(round, heard);
        Ok(())
    }
}
