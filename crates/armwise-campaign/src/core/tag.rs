//! The campaign's tag: the part of a decision's id that says whose decision it is.
//!
//! Every campaign has a decision 1 of round 1. With the tag, `r1-1-k7f3q2` of one campaign is put aside by another.
//! Whatever is written has the tag; a plain `r1-1`, as people type it and as schema version 2 wrote it, is the
//! campaign's own.

use super::{DecisionId, Sha};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::{BuildHasher, Hasher},
    str::FromStr,
};

/// No letters that look like others, and no capitals.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Six letters and digits that a campaign has for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag([u8; 6]);

impl Tag {
    /// A new one, by the randomness that the system gives to hash maps. Nothing that is computed depends on it.
    #[must_use]
    pub fn new() -> Self {
        Self::from_bits(RandomState::new().build_hasher().finish())
    }

    /// The one that follows from a hash.
    #[must_use]
    pub fn of(hash: Sha) -> Self {
        Self::from_bits(hash.0.iter().take(8).fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
    }

    fn from_bits(bits: u64) -> Self {
        Self([0, 5, 10, 15, 20, 25].map(|shift| DIGITS[(bits >> shift) as usize % 32]))
    }

    /// A decision's id as people and tables see it: `r3-17-k7f3q2`.
    #[must_use]
    pub fn name(self, id: DecisionId) -> String {
        format!("{id}-{self}")
    }

    /// A whole round as people see it: `r3-k7f3q2`.
    #[must_use]
    pub fn name_round(self, round: u64) -> String {
        format!("r{round}-{self}")
    }

    /// The round that a text names as a whole, and the tag where it has one; none if it is not written as a round.
    #[must_use]
    pub fn read_round(text: &str) -> Option<(u64, Option<Self>)> {
        let text = text.trim();
        let (round, tag) = match text.split_once('-') {
            None => (text, None),
            Some((round, tag)) => (round, Some(tag.parse().ok()?)),
        };
        // The first decision of the round is one, if the round is.
        let id: DecisionId = format!("{round}-1").parse().ok()?;
        Some((id.round, tag))
    }

    /// The decision that a text names, and the tag where it has one; none if it is not written as a decision.
    #[must_use]
    pub fn read(text: &str) -> Option<(DecisionId, Option<Self>)> {
        let text = text.trim();
        match text.match_indices('-').nth(1) {
            None => Some((text.parse().ok()?, None)),
            Some((place, _)) => Some((text[..place].parse().ok()?, Some(text[place + 1..].parse().ok()?))),
        }
    }
}

impl Default for Tag {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&digit| write!(f, "{}", char::from(digit)))
    }
}

impl FromStr for Tag {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits: [u8; 6] = text.as_bytes().try_into().map_err(|_| ())?;
        if digits.iter().all(|digit| DIGITS.contains(digit)) { Ok(Self(digits)) } else { Err(()) }
    }
}

impl Serialize for Tag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| D::Error::custom("a tag has six letters or digits"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_and_nothing_else_is_one() {
        let id = DecisionId { round: 3, number: 17 };
        for tag in (0..100).map(|_| Tag::new()).chain([Tag::of(Sha::of("x"))]) {
            assert_eq!(Tag::read(&format!(" {} ", tag.name(id))), Some((id, Some(tag))));
        }
        assert_ne!(Tag::new(), Tag::new());
        let tag = Tag::new();
        assert_eq!(Tag::read_round(&tag.name_round(17)), Some((17, Some(tag))));
        assert_eq!(Tag::read_round(" r17 "), Some((17, None)));
        for bad in ["", "r", "17", "r0", "r1-", "r1-2", "r1-2-k7f3q2", "r+1", "r1-K7F3Q2", "r1073741825"] {
            assert!(Tag::read_round(bad).is_none(), "{bad}");
        }
        assert_eq!(Tag::read("r3-17"), Some((id, None)));
        for bad in [
            "",
            "r",
            "r3",
            "r3-",
            "r3-17-",
            "r3-17-short",
            "r3-17-K7F3Q2",
            "r3-17-k7f3q2-",
            "r3-17-k7f3qü",
            "3-17",
            "r0-1",
            "r1-0",
            "r+1-1",
            "r1-+1",
            "r1--1",
            "r1073741825-1",
            "r1-4294967296",
            "r99999999999999999999-1",
        ] {
            assert!(Tag::read(bad).is_none(), "{bad}");
        }
        assert!(Tag::read("r1073741824-4294967295").is_some(), "the last round and the last decision");
    }
}
