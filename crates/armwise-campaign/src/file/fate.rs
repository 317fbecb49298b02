//! What has become of a decision.
//!
//! Silence is not a row. A decision without an outcome is pending while its round is open and
//! silent, with the default reward, once it is closed.

use super::EventKind;
use serde::Serialize;

/// What has become of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Nothing was heard, and the window is open.
    Pending,
    /// Nothing was heard before the window closed.
    Silent,
    /// A reward came.
    Answered(f64),
    /// It did not arrive.
    Undelivered,
}

impl Fate {
    /// The fate after the last of a decision's outcomes.
    #[must_use]
    pub fn after(last: Option<(EventKind, Option<f64>)>, closed: bool) -> Self {
        match last {
            Some((EventKind::Undelivered, _) | (_, None)) => Self::Undelivered,
            Some((_, Some(reward))) => Self::Answered(reward),
            None if closed => Self::Silent,
            None => Self::Pending,
        }
    }

    /// The reward that counts, where `default` is what silence is worth.
    #[must_use]
    pub fn reward(self, default: f64) -> Option<f64> {
        match self {
            Self::Answered(reward) => Some(reward),
            Self::Silent => Some(default),
            Self::Pending | Self::Undelivered => None,
        }
    }
}
