//! A length of time in the rules: a whole number and a unit, `"30m"`, `"24h"`, `"90d"`.
//!
//! It is written as it was read, since rules are hashed as text.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A length of time of 1 second to 36,500 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span {
    count: u32,
    unit: char,
}

impl Span {
    /// The units with their seconds.
    const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    const LONGEST: u64 = 36_500 * 86_400;

    /// How many seconds it has.
    #[must_use]
    pub fn seconds(self) -> u64 {
        let unit = Self::UNITS.iter().find(|(unit, _)| *unit == self.unit).map_or(1, |(_, seconds)| *seconds);
        u64::from(self.count) * unit
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let refused =
            || format!("{text:?} is not a time such as \"30m\", \"24h\" or \"90d\" (s, m, h or d, at most 36500d)");
        let (place, unit) = text.char_indices().next_back().ok_or_else(refused)?;
        let digits = &text[..place];
        let known = Self::UNITS.iter().any(|(known, _)| *known == unit);
        // One way to write it, without signs and leading zeros.
        let plain = !digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit());
        let count = digits.parse().ok().filter(|_| known && plain).ok_or_else(refused)?;
        Some(Self { count, unit }).filter(|span| span.seconds() <= Self::LONGEST).ok_or_else(refused)
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.count, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn a_time_is_a_whole_number_and_a_unit_and_is_written_as_it_was_read() {
        for (text, seconds) in
            [("1s", 1), ("30m", 1800), ("24h", 86_400), ("90d", 7_776_000), ("36500d", 3_153_600_000)]
        {
            let span = Span::try_from(text.to_owned());
            assert_eq!(span.as_ref().map(|span| (span.seconds(), span.to_string())), Ok((seconds, text.to_owned())));
        }
        for bad in ["", "h", "0s", "01h", "+1h", "1", "1 h", "1.5h", "1w", "36501d", "99999999999s", "1ü"] {
            assert!(Span::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
