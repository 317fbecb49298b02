//! The numbers of rounds. Where one server writes, they are counted. Where several do, each gets a few at a time from the
//! store, so that no two choices are made for one round; those that are not used soon are left out.

use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long numbers are good for: rounds should be about in the order of their time.
const GOOD: Duration = Duration::from_secs(1);
/// Numbers are taken at once for this part of a second.
const AHEAD: u64 = 5;
/// For how long it is counted how many are needed.
const COUNTED: Duration = Duration::from_millis(100);
/// The most that are taken at once.
const MOST: u64 = 1024;

/// Where the numbers of rounds come from.
#[derive(Debug)]
pub(super) struct Numbers {
    /// Whether others take numbers too.
    shared: bool,
    block: Mutex<Block>,
}

#[derive(Debug)]
struct Block {
    next: u64,
    end: u64,
    /// When they were taken.
    at: Instant,
    /// How many were asked for since a time.
    asked: (u64, Instant),
    /// How many were asked for in a second, before that time.
    rate: u64,
}

impl Numbers {
    /// From this one on.
    pub(super) fn new(next: u64, shared: bool) -> Self {
        let end = if shared { next } else { u64::MAX };
        let now = Instant::now();
        let block = Block { next, end, at: now, asked: (0, now), rate: 0 };
        Self { shared, block: Mutex::new(block) }
    }

    fn locked(&self) -> MutexGuard<'_, Block> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number; none where the writer must get some first.
    pub(super) fn take(&self) -> Option<u64> {
        let mut block = self.locked();
        block.asked.0 += 1;
        if block.next >= block.end || self.shared && block.at.elapsed() > GOOD {
            return None;
        }
        block.next += 1;
        Some(block.next - 1)
    }

    /// The one that comes next, as far as is known.
    pub(super) fn next(&self) -> u64 {
        self.locked().next
    }

    /// How many should be got now, so that choices need not wait for them.
    pub(super) fn wanted(&self) -> Option<u64> {
        let mut block = self.locked();
        if !self.shared {
            return None;
        }
        let (asked, since) = block.asked;
        if since.elapsed() > COUNTED {
            block.rate = asked * 1000 / (since.elapsed().as_millis() as u64).max(1);
            block.asked = (0, Instant::now());
        }
        let ahead = block.rate / AHEAD;
        let left = if block.at.elapsed() > GOOD { 0 } else { block.end - block.next };
        (ahead > 1 && left * 2 < ahead).then(|| ahead.min(MOST))
    }

    /// Takes numbers that were got.
    pub(super) fn fill(&self, got: Range<u64>) {
        let mut block = self.locked();
        (block.next, block.end) = (got.start, got.end);
        block.at = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_counts_and_several_take_what_they_were_given() {
        let alone = Numbers::new(7, false);
        assert_eq!((alone.take(), alone.take(), alone.next(), alone.wanted()), (Some(7), Some(8), 9, None));
        let shared = Numbers::new(7, true);
        assert_eq!(shared.take(), None, "nothing was given yet");
        shared.fill(20..22);
        assert_eq!((shared.take(), shared.take(), shared.take()), (Some(20), Some(21), None));
    }
}
