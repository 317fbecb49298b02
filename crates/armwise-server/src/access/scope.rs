//! What a token may do.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use utoipa::ToSchema;

/// What a token may do with a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Look at it.
    Read,
    /// Ask for decisions, activate and take back held ones.
    Decide,
    /// Give rewards, correct them, say what did not arrive.
    Reward,
    /// Everything: make it, change its rules and arms, close rounds; tokens, if it is for all campaigns.
    Admin,
}

impl Scope {
    /// All scopes with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Read, "read"), (Self::Decide, "decide"), (Self::Reward, "reward"), (Self::Admin, "admin")];

    /// Its name in the document, in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(scope, _)| *scope == self).map_or("", |(_, name)| name)
    }

    /// Whether this scope allows what needs `needed`.
    #[must_use]
    pub fn covers(self, needed: Self) -> bool {
        self == needed || self == Self::Admin
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found.map(|(scope, _)| *scope).ok_or_else(|| format!("{text:?} is none of read, decide, reward, admin"))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
