//! Many rounds told of together: by the hour, or by the day where there are many hours. A campaign with one round to a
//! segment is told of round by round.
//!
//! A segment that is put away counts as a whole to the hour of its first round, so nothing of it is read.

use super::{Campaign, Counts, RoundInfo};
use crate::Error;
use std::{collections::BTreeMap, ops::RangeInclusive};

/// With more hours than this, rounds are told of by the day.
const HOURS: usize = 48;

/// Rounds that are told of together.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// How many they are.
    pub rounds: u64,
    /// When the first of them was chosen.
    pub at: String,
    /// The hour or the day, `2026-03-02 09:00` or `2026-03-02`.
    pub name: String,
    /// Whether all response windows have ended.
    pub closed: bool,
    /// Whether all of them were taken back.
    pub revoked: bool,
    /// What became of their decisions.
    pub counts: Counts,
}

impl Together {
    fn of(info: &RoundInfo) -> Self {
        Self {
            first: info.round,
            last: info.round,
            rounds: 1,
            at: info.at.clone(),
            name: hour(&info.at),
            closed: info.closed() || info.revoked(),
            revoked: info.revoked(),
            counts: info.counts,
        }
    }

    fn add(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.rounds += other.rounds;
        self.closed &= other.closed;
        self.revoked &= other.revoked;
        self.counts.add_all(&other.counts);
    }
}

/// The hour of a time, as people read it.
fn hour(at: &str) -> String {
    format!("{} {}:00", at.get(..10).unwrap_or(at), at.get(11..13).unwrap_or("00"))
}

fn grouped(all: Vec<Together>, name: impl Fn(&Together) -> String) -> Vec<Together> {
    let mut groups: BTreeMap<String, Together> = BTreeMap::new();
    for own in all {
        let name = name(&own);
        match groups.get_mut(&name) {
            Some(group) => group.add(&own),
            None => {
                groups.insert(name.clone(), Together { name, ..own });
            }
        }
    }
    groups.into_values().collect()
}

impl Campaign {
    /// Whether its rounds are told of together.
    #[must_use]
    pub fn is_told_together(&self) -> bool {
        self.state.length > 1
    }

    /// The rounds in a range, by the hour or by the day.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn together(&self, range: RangeInclusive<u64>) -> Result<Vec<Together>, Error> {
        let mut all = Vec::new();
        for segment in self.segments(u64::MAX).into_iter().filter(|&segment| segment > 0) {
            let (first, last) = self.span(segment);
            let inside = range.contains(&first) && range.contains(&last);
            let back = self.rounds().range(first..=last).next().is_some();
            if let Some(settled) = self.state.settled.get(&segment).filter(|_| inside && !back) {
                all.push(Together {
                    first,
                    last,
                    rounds: settled.rounds,
                    at: settled.at.clone(),
                    name: hour(&settled.at),
                    closed: settled.open == 0,
                    revoked: false,
                    counts: settled.counts,
                });
            } else {
                let (first, last) = (first.max(*range.start()), last.min(*range.end()));
                self.each_round(first..=last, &mut |info| {
                    all.push(Together::of(info));
                    Ok(())
                })?;
            }
        }
        let hours = grouped(all, |own| own.name.clone());
        if hours.len() <= HOURS {
            return Ok(hours);
        }
        Ok(grouped(hours, |own| own.name.get(..10).unwrap_or(&own.name).to_owned()))
    }
}
