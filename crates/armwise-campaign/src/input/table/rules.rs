//! How tables in files are read, where a file does not say it itself: separator, decimal mark, encoding, sheet, columns.
//!
//! What is left out is detected, and never guessed: where a file could mean two things, reading it is an error that
//! names the rule to give. The same words are used in the rules of a campaign and at every door.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What separates the fields of a text table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Separator {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// A tab, written `tab`.
    Tab,
}

/// What separates the whole part of a number in a text from its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Decimal {
    /// `.`
    Point,
    /// `,`
    Comma,
}

/// How a text table's bytes are letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Encoding {
    /// `utf-8`
    Utf8,
    /// `latin-1`, with the letters that Windows adds to it (code page 1252).
    Latin1,
    /// `utf-16le`
    Utf16Le,
    /// `utf-16be`
    Utf16Be,
}

/// How tables in files are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRules {
    /// What separates fields of text; told by the header unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<Separator>,
    /// The decimal mark of numbers in text; told by the numbers unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<Decimal>,
    /// The encoding of text; UTF-8, or what a byte order mark says, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// The sheet of a workbook; the only one that is not empty unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    /// The column of a table of responses with the customer's id; named as in the tables of customers, or `customer`,
    /// unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_column: Option<String>,
    /// The column of a table of responses with the reward; `reward` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward_column: Option<String>,
    /// The column of a table of responses with the probability with which an arm was looked at; `examined` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examined_column: Option<String>,
}

impl TableRules {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These rules, and what they leave open from others.
    #[must_use]
    pub fn or(self, others: &Self) -> Self {
        Self {
            separator: self.separator.or(others.separator),
            decimal: self.decimal.or(others.decimal),
            encoding: self.encoding.or(others.encoding),
            sheet: self.sheet.or_else(|| others.sheet.clone()),
            customer_column: self.customer_column.or_else(|| others.customer_column.clone()),
            reward_column: self.reward_column.or_else(|| others.reward_column.clone()),
            examined_column: self.examined_column.or_else(|| others.examined_column.clone()),
        }
    }
}

impl Separator {
    const ALL: [(Self, &'static str); 3] = [(Self::Comma, ","), (Self::Semicolon, ";"), (Self::Tab, "tab")];

    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
        }
    }

    pub(super) fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().map(|(separator, _)| separator).find(|separator| separator.byte() == byte)
    }
}

impl Decimal {
    const ALL: [(Self, &'static str); 2] = [(Self::Point, "."), (Self::Comma, ",")];
}

impl Encoding {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Utf8, "utf-8"), (Self::Latin1, "latin-1"), (Self::Utf16Le, "utf-16le"), (Self::Utf16Be, "utf-16be")];
}

/// The value that a word stands for.
fn named<T: Copy>(all: &[(T, &'static str)], text: &str) -> Result<T, String> {
    let found = all.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
    found.map(|(value, _)| *value).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|(_, name)| format!("{name:?}")).collect();
        format!("{text:?} is none of {}", names.join(", "))
    })
}

fn name_of<T: Copy + PartialEq>(all: &[(T, &'static str)], value: T) -> &'static str {
    all.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| name)
}

impl FromStr for Separator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "\t" { Ok(Self::Tab) } else { named(&Self::ALL, text) }
    }
}

impl FromStr for Decimal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(&Self::ALL, text)
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(&Self::ALL, text)
    }
}

impl TryFrom<String> for Separator {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for Decimal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for Encoding {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Separator> for &'static str {
    fn from(separator: Separator) -> Self {
        name_of(&Separator::ALL, separator)
    }
}

impl From<Decimal> for &'static str {
    fn from(decimal: Decimal) -> Self {
        name_of(&Decimal::ALL, decimal)
    }
}

impl From<Encoding> for &'static str {
    fn from(encoding: Encoding) -> Self {
        name_of(&Encoding::ALL, encoding)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str((*self).into())
    }
}
