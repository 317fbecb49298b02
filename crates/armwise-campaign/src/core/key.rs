//! A key: the caller's own name for a request, so that it can be sent again after any failure.
//!
//! A command that is given a key becomes an entry with this key, even if it changed nothing else. The same request with
//! the same key then gets the same answer and changes nothing; another request with it is refused. What makes two
//! requests the same is written down in the entry, so it holds across restarts and programs.

use super::{Campaign, Command, Entry, Head, Refusal};
use crate::Error;
use std::{fmt, str::FromStr};

/// The name of a request: 1 to 200 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The most characters that a key may have.
    pub const LONGEST: usize = 200;

    /// A key.
    ///
    /// # Errors
    /// [`Refusal::BadKey`] for a text that is none.
    pub fn new(text: &str) -> Result<Self, Error> {
        if (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::BadKey(text.to_owned()).into())
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(text)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Campaign {
    /// The entry and the command of an earlier request with this key; `same` says whether it is the same request.
    ///
    /// # Errors
    /// [`Error::KeyUsed`] if it is another one, [`Error::HeadMoved`] if the entry came after the campaign was opened,
    /// [`Error::Damaged`].
    pub(crate) fn earlier(
        &self,
        key: Option<&Key>,
        same: impl FnOnce(&Command) -> bool,
    ) -> Result<Option<(Entry, Command)>, Error> {
        let Some(key) = key else { return Ok(None) };
        let known = self.keys.borrow().get(key.as_str()).cloned();
        let found = known.map_or_else(|| self.journal.keyed(key.as_str()), Ok)?;
        let Some(entry) = found else { return Ok(None) };
        let path = || self.journal.path().to_owned();
        if entry.seq > self.head.seq {
            return Err(Error::HeadMoved { path: path(), expected: self.head.seq, found: entry.seq });
        }
        let before = match self.journal.entry(entry.seq.saturating_sub(1))? {
            Some(before) => before.head(),
            None => Head::none(),
        };
        entry.follows(&before).map_err(|problem| self.damaged(problem))?;
        let command = entry.command().map_err(|error| self.damaged(format!("entry {}: {error}", entry.seq)))?;
        if entry.key.as_deref() != Some(key.as_str()) || !same(&command) {
            return Err(Error::KeyUsed { path: path(), key: key.to_string() });
        }
        Ok(Some((entry, command)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_visible_ascii_of_a_stated_length() {
        for good in ["a", "2026-w12", "~!\"'{}", &"k".repeat(200)] {
            assert!(Key::new(good).is_ok_and(|key| key.as_str() == good), "{good}");
        }
        for bad in ["", " ", "two words", "tab\t", "line\n", "\u{7f}", "ä", "\0", &"k".repeat(201)] {
            assert!(matches!(Key::new(bad), Err(Error::Refused(Refusal::BadKey(_)))), "{bad:?}");
        }
    }
}
