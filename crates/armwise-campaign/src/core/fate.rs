//! What has become of a decision.
//!
//! Silence is not a row. A decision without an outcome is pending while its round is open and silent, with the default
//! reward of its round, once it is closed. In a revoked round nothing was sent, whatever was heard.

use serde::Serialize;

/// What has become of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Nothing was heard, and the window is open.
    Pending,
    /// Nothing was heard before the window closed, which is worth this much.
    Silent(f64),
    /// A reward came.
    Answered(f64),
    /// It did not arrive.
    Undelivered,
    /// Its round was revoked: it was never sent.
    Revoked,
}

impl Fate {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Silent(_) => "silent",
            Self::Answered(_) => "answered",
            Self::Undelivered => "undelivered",
            Self::Revoked => "revoked",
        }
    }

    /// The reward that counts.
    #[must_use]
    pub fn reward(self) -> Option<f64> {
        match self {
            Self::Answered(reward) | Self::Silent(reward) => Some(reward),
            Self::Pending | Self::Undelivered | Self::Revoked => None,
        }
    }
}
