//! What the clock does in a campaign in service: response windows end, and single decisions of long ago are given up.
//!
//! Only the writer looks at the clock, and only entries remember what it said, so that a replay needs none.

use super::writer::Writer;
use crate::{
    Error,
    config::Span,
    core::{clock, close_through, compact},
};
use std::time::{Duration, Instant};

/// How often the clock is looked at.
const EVERY: Duration = Duration::from_millis(500);
/// How many rounds are looked at at once, so that commands do not wait long.
const MOST: u64 = 1 << 15;
/// Rounds that were activated late, and decisions to be given up, are looked for only so often.
const SELDOM: u64 = 16;
/// After so long, a number that is missing does not come any more: it is good for a while, and then it is tried for a while.
const LATE: Duration = Duration::from_secs(15);

/// What the clock has done.
#[derive(Debug, Default)]
pub(super) struct Clockwork {
    last: Option<Instant>,
    ticks: u64,
    /// The windows of all rounds up to this one have ended, but for those that were activated late.
    ended: u64,
}

impl Writer {
    /// How long until the clock is to be looked at; none if no rule speaks of time.
    pub(super) fn until_tick(&self) -> Option<Duration> {
        let config = self.campaign.config();
        if !self.campaign.is_shared() && config.reward.window.is_none() && config.keep_decisions.is_none() {
            return None;
        }
        Some(self.clockwork.last.map_or(Duration::ZERO, |last| EVERY.saturating_sub(last.elapsed())))
    }

    /// Does what is due. What cannot be written now is done later.
    pub(super) fn tick(&mut self) {
        let begun = Instant::now();
        self.clockwork.last = Some(begun);
        self.clockwork.ticks += 1;
        // Of several servers, one does it.
        let duty = self.campaign.journal_mut().duty(true);
        self.following.duty = duty.inspect_err(|error| self.note_silence(begun, error)).unwrap_or(false);
        if !self.following.duty {
            return;
        }
        self.due();
        let _ = self.campaign.journal_mut().duty(false);
    }

    fn due(&mut self) {
        let seldom = self.clockwork.ticks % SELDOM == 1;
        let config = self.campaign.config();
        let (window, keep) = (config.reward.window, config.keep_decisions);
        if let Some(before) = window.and_then(|window| self.before(window)) {
            let _ = self.retried(|writer| writer.end_windows(&before, seldom));
        }
        if let Some(before) = keep.filter(|_| seldom).and_then(|keep| self.before(keep)) {
            let _ = self.retried(|writer| compact(&mut writer.campaign, &before));
        }
    }

    /// The time so long ago, as entries have it.
    fn before(&self, span: Span) -> Option<String> {
        let now = (self.shared.options.clock)();
        now.checked_sub(Duration::from_secs(span.seconds())).map(clock::at)
    }

    /// Closes the rounds that were chosen, or activated, before a time.
    fn end_windows(&mut self, before: &str, seldom: bool) -> Result<(), Error> {
        let first = self.clockwork.ended.max(self.campaign.compacted()) + 1;
        let mut due = self.clockwork.ended;
        // Where several servers write, a number that is missing may still come, for as long as a number is good.
        let late = if self.campaign.is_shared() { LATE } else { Duration::ZERO };
        let earlier = clock::before(before, late);
        let mut gap = false;
        for round in first..self.campaign.next_round().min(first + MOST) {
            match self.campaign.round(round) {
                Ok(info) if *info.at <= *if gap { earlier.as_str() } else { before } => due = round,
                Ok(_) => break,
                // A number that was given to a choice that failed, or to one that is not written yet.
                Err(Error::NotFound { .. }) => gap = true,
                Err(error) => return Err(error),
            }
        }
        if due > self.clockwork.ended || (seldom && due > 0) {
            close_through(&mut self.campaign, due, Some(before))?;
            self.clockwork.ended = due;
        }
        Ok(())
    }
}
