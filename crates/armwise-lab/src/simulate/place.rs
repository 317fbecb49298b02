//! Positions in a file, for error messages.
//!
//! Places are `file:line:column`, counted from 1, as compilers write them.

use crate::Error;

/// A file's name and text, to say where in it something is wrong.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) name: &'s str,
    pub(super) text: &'s str,
}

impl Source<'_> {
    /// The error for something at a byte offset.
    pub(super) fn error(&self, at: usize, what: impl Into<String>) -> Error {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Error::Study { place: format!("{}:{line}:{column}", self.name), what: what.into() }
    }

    /// The error for TOML that cannot be read.
    pub(super) fn toml(&self, error: &toml::de::Error) -> Error {
        let what = error.message().lines().collect::<Vec<_>>().join(" ");
        match error.span() {
            Some(span) => self.error(span.start, what),
            None => Error::Study { place: self.name.to_owned(), what },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let source = Source { name: "f", text: "ab\ncdé x\n" };
        assert_eq!(source.error(0, "w").to_string(), "f:1:1: w");
        assert_eq!(source.error(source.text.find('x').unwrap(), "w").to_string(), "f:2:5: w");
    }
}
