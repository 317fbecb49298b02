//! What became of a round's decisions, in numbers, the sends and the hold-out apart.
//!
//! An entry carries the counts of the rounds it changed, so they must stay readable: entries of earlier programs say
//! only how many of the hold-out there are (`controls`), and [`HoldOutCounts::counted`] is false then.

use super::Fate;
use serde::{Deserialize, Serialize};

/// What became of a round's decisions, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// How many sends there were.
    pub sends: u64,
    /// How many answered.
    pub answered: u64,
    /// How many were silent when the window ended.
    pub silent: u64,
    /// How many may still answer.
    pub pending: u64,
    /// How many did not arrive.
    pub undelivered: u64,
    /// The sum of the rewards, in the order of the decisions.
    pub rewards: f64,
    /// What became of the hold-out's decisions.
    #[serde(default, alias = "controls")]
    pub hold_out: HoldOutCounts,
    /// How many of the pending sends answered, but the answer was put aside.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub aside: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// What became of the decisions of a round's hold-out, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct HoldOutCounts {
    /// How many customers of the hold-out would have been chosen.
    pub chosen: u64,
    /// How many have an outcome of their own.
    pub answered: u64,
    /// How many have the default reward, because the rules take their silence for one.
    pub silent: u64,
    /// How many have no outcome.
    pub pending: u64,
    /// How many would not have been reached.
    pub undelivered: u64,
    /// The sum of the rewards, in the order of the decisions.
    pub rewards: f64,
    /// Whether more than `chosen` is known.
    #[serde(skip)]
    pub counted: bool,
}

impl Default for HoldOutCounts {
    fn default() -> Self {
        Self { chosen: 0, answered: 0, silent: 0, pending: 0, undelivered: 0, rewards: 0.0, counted: true }
    }
}

/// How entries say it, now and before.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Chosen(u64),
    All { chosen: u64, answered: u64, silent: u64, pending: u64, undelivered: u64, rewards: f64 },
}

impl From<Written> for HoldOutCounts {
    fn from(written: Written) -> Self {
        match written {
            Written::Chosen(chosen) => Self::only_chosen(chosen),
            Written::All { chosen, answered, silent, pending, undelivered, rewards } => {
                Self { chosen, answered, silent, pending, undelivered, rewards, counted: true }
            }
        }
    }
}

impl HoldOutCounts {
    /// As earlier programs wrote it down.
    pub(super) fn only_chosen(chosen: u64) -> Self {
        Self { chosen, counted: chosen == 0, ..Self::default() }
    }

    /// How many have a reward.
    #[must_use]
    pub fn heard(&self) -> u64 {
        self.answered + self.silent
    }
}

impl Counts {
    /// Of a round that was just chosen.
    pub(super) fn chosen(sends: u64, hold_out: u64) -> Self {
        let hold_out = HoldOutCounts { chosen: hold_out, pending: hold_out, ..HoldOutCounts::default() };
        Self { sends, pending: sends, hold_out, ..Self::default() }
    }

    /// How many have a reward.
    #[must_use]
    pub fn heard(&self) -> u64 {
        self.answered + self.silent
    }

    /// Counts one decision more; `aside` says whether its answer was put aside.
    pub(super) fn add(&mut self, hold_out: bool, fate: Fate, aside: bool) {
        self.aside += u64::from(aside && !hold_out && fate == Fate::Pending);
        let Self { sends, answered, silent, pending, undelivered, rewards, hold_out: held, .. } = self;
        let [all, answered, silent, pending, undelivered] = if hold_out {
            [&mut held.chosen, &mut held.answered, &mut held.silent, &mut held.pending, &mut held.undelivered]
        } else {
            [sends, answered, silent, pending, undelivered]
        };
        *all += 1;
        *(if hold_out { &mut held.rewards } else { rewards }) += fate.reward().unwrap_or(0.0);
        match fate {
            Fate::Pending => *pending += 1,
            Fate::Silent(_) => *silent += 1,
            Fate::Answered(_) => *answered += 1,
            Fate::Undelivered => *undelivered += 1,
            Fate::Revoked => {}
        }
    }

    /// After the end of the window by the clock: whoever may still answer is silent. Only of rounds about which no row was
    /// put aside.
    pub(super) fn close(&mut self, default: f64, hold_out: Option<f64>) {
        let Self { silent, pending, rewards, hold_out: held, .. } = self;
        *rewards += *pending as f64 * default;
        *silent += std::mem::take(pending);
        if let Some(default) = hold_out {
            held.rewards += held.pending as f64 * default;
            held.silent += std::mem::take(&mut held.pending);
        }
    }

    /// Adds the counts of another round.
    pub(crate) fn add_all(&mut self, other: &Self) {
        let Self { sends, answered, silent, pending, undelivered, rewards, hold_out, aside } = other;
        self.sends += sends;
        self.answered += answered;
        self.silent += silent;
        self.pending += pending;
        self.undelivered += undelivered;
        self.rewards += rewards;
        self.aside += aside;
        let held = &mut self.hold_out;
        held.chosen += hold_out.chosen;
        held.answered += hold_out.answered;
        held.silent += hold_out.silent;
        held.pending += hold_out.pending;
        held.undelivered += hold_out.undelivered;
        held.rewards += hold_out.rewards;
        held.counted &= hold_out.counted;
    }

    /// Whether an entry that says `written` counted the same.
    pub(super) fn is_written_as(&self, written: &Self) -> bool {
        let Self { hold_out, .. } = written;
        let known = if hold_out.counted {
            *self
        } else {
            Self { hold_out: HoldOutCounts::only_chosen(self.hold_out.chosen), ..*self }
        };
        known == *written
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
mod tests {
    use super::*;

    #[test]
    fn counts_of_earlier_programs_are_read_and_compared_as_far_as_they_go() {
        let old =
            "{\"sends\":6,\"answered\":1,\"silent\":2,\"pending\":3,\"undelivered\":0,\"controls\":2,\"rewards\":1.5}";
        let old: Counts = serde_json::from_str(old).unwrap();
        assert_eq!((old.sends, old.hold_out.chosen, old.hold_out.counted), (6, 2, false));
        let mut now = Counts { sends: 6, answered: 1, silent: 2, pending: 3, rewards: 1.5, ..Counts::default() };
        assert!(!now.is_written_as(&old), "the hold-out is missing");
        now.add(true, Fate::Answered(crate::core::Answer::of(0.5)), false);
        now.add(true, Fate::Pending, false);
        assert!(now.is_written_as(&old) && now.is_written_as(&now) && now != old);
        let read: Counts = serde_json::from_str(&serde_json::to_string(&now).unwrap()).unwrap();
        assert_eq!((read, read.hold_out.answered, read.hold_out.heard()), (now, 1, 1));
        now.sends += 1;
        assert!(!now.is_written_as(&old));
    }
}
