//! The name of a campaign in a path: what may become part of a file's name.

use crate::problem::Fault;
use std::{fmt, path::Path};

/// A name of 1 to 64 letters, digits, `-` and `_` that begins with a letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

/// What a campaign's file is called after its name.
const EXTENSION: &str = "armwise";

impl Name {
    /// The name as a pattern, for the document of the API.
    pub const PATTERN: &'static str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";

    /// A name.
    ///
    /// # Errors
    /// [`Fault`] for a text that is none. Nothing that could lead out of the folder of the data is one.
    pub fn new(text: &str) -> Result<Self, Fault> {
        let good = |(place, byte): (usize, u8)| byte.is_ascii_alphanumeric() || (place > 0 && b"-_".contains(&byte));
        if (1..=64).contains(&text.len()) && text.bytes().enumerate().all(good) {
            return Ok(Self(text.to_owned()));
        }
        Err(Fault::invalid("a name has 1 to 64 letters, digits, - and _, and begins with a letter or a digit")
            .value(text))
    }

    /// The name that a file has, if it is a campaign's.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let is_campaign = path.extension().is_some_and(|extension| extension == EXTENSION);
        path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_campaign).and_then(|stem| Self::new(stem).ok())
    }

    /// The name of its file.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}.{EXTENSION}", self.0)
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for good in ["a", "Spring-2026", "7_x", &"n".repeat(64)] {
            assert!(Name::new(good).is_ok_and(|name| Name::of(Path::new(&name.file())) == Some(name)), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "a\\b", "a.b", "-a", "_a", "a b", "ä", "a\0", "%2e", "C:", &"n".repeat(65)] {
            assert!(Name::new(bad).is_err(), "{bad:?}");
        }
        for other in ["tokens.json", "a.armwise-wal", "a.armwise.lock", ".armwise"] {
            assert_eq!(Name::of(Path::new(other)), None, "{other}");
        }
    }
}
