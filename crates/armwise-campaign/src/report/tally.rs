//! What came back of some sends.

use crate::core::Fate;
use serde::Serialize;

/// 97.5 % of a standard normal lie below.
pub(super) const Z: f64 = 1.959_963_984_540_054;

/// What came back of some sends.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Tally {
    /// How many there were.
    pub sends: u64,
    /// How many arrived, as far as is known.
    pub delivered: u64,
    /// How many answered.
    pub answered: u64,
    /// How many were silent when the window ended.
    pub silent: u64,
    /// How many may still answer.
    pub pending: u64,
    /// The mean reward of those that have one.
    pub mean: Option<f64>,
    /// Half the width of its 95 % interval.
    pub half_width: Option<f64>,
}

impl Tally {
    /// Counts.
    pub(super) fn of(fates: impl Iterator<Item = Fate>) -> Self {
        let mut tally = Self::default();
        // Welford's running mean and sum of squares.
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for fate in fates {
            tally.sends += 1;
            tally.delivered += u64::from(fate != Fate::Undelivered);
            match fate {
                Fate::Answered(_) => tally.answered += 1,
                Fate::Silent(_) => tally.silent += 1,
                Fate::Pending => tally.pending += 1,
                Fate::Undelivered | Fate::Revoked => {}
            }
            if let Some(reward) = fate.reward() {
                count += 1.0;
                let off = reward - mean;
                mean += off / count;
                squares += off * (reward - mean);
            }
        }
        tally.mean = (count > 0.0).then_some(mean);
        tally.half_width = (count > 1.0).then(|| Z * (squares / (count - 1.0) / count).sqrt());
        tally
    }
}
