//! What has become of a decision.
//!
//! Silence has no row. A decision without an outcome is pending while its round is open. Once the round is closed, a
//! send is silent and has the default reward of its round. A decision of the hold-out stays pending, since nobody was
//! asked who could have been silent; only rules that take its silence for the default reward make it silent too. The decisions of a revoked round were never sent, even
//! if there are outcomes for them.

use super::Answer;
use serde::Serialize;

/// What has become of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// No outcome yet, and the window is open.
    Pending,
    /// No outcome before the window closed; silence is worth this much.
    Silent(f64),
    /// A reward came.
    Answered(Answer),
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

    /// What is learned. Silence counts as that of an arm that was looked at.
    #[must_use]
    pub fn answer(self) -> Option<Answer> {
        match self {
            Self::Answered(answer) => Some(answer),
            Self::Silent(reward) => Some(Answer::of(reward)),
            Self::Pending | Self::Undelivered | Self::Revoked => None,
        }
    }

    /// The reward that counts.
    #[must_use]
    pub fn reward(self) -> Option<f64> {
        self.answer().map(|answer| answer.reward)
    }

    /// The probability with which the arm was looked at, where an answer says it.
    #[must_use]
    pub fn examined(self) -> Option<f64> {
        self.answer().and_then(|answer| answer.examined)
    }

    /// The reward that an estimate for an arm that is looked at predicts here.
    pub(crate) fn predicted(self, mean: f64) -> f64 {
        self.examined().map_or(mean, |q| q * mean)
    }
}
