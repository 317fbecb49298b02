//! One arm after another: which may still be taken, for policies whose scores change with every arm that is taken.
//!
//! What may be taken is what keeps the arms taken so far part of a super arm. The sets here are such that an arm that
//! may not be taken never may again, and one that no minimum demands is never demanded later, so a queue may drop it
//! for good.

use super::{Limit, Missing, Pick};

/// The arms taken so far, and which may follow: what a constraint of your own gives
/// ([`Oracle::taking`](super::Oracle::taking)) for policies that take one arm after another.
pub trait Taking {
    /// Whether an arm may be taken; and if so, whether a minimum demands it, whatever its score.
    fn may(&self, arm: Pick) -> Option<bool>;

    /// Takes an arm that may be taken.
    fn take(&mut self, arm: Pick);

    /// Whether the super arm is full.
    fn is_full(&self) -> bool;

    /// The minima that are not met, where the constraint allows that.
    fn missing(&self) -> Vec<Missing> {
        Vec::new()
    }
}

/// Any arms, up to so many.
pub(super) struct AnyArms {
    pub(super) k: usize,
    pub(super) taken: usize,
    pub(super) demanded: bool,
}

impl Taking for AnyArms {
    fn may(&self, _: Pick) -> Option<bool> {
        (self.taken < self.k).then_some(self.demanded)
    }

    fn take(&mut self, _: Pick) {
        self.taken += 1;
    }

    fn is_full(&self) -> bool {
        self.taken >= self.k
    }

    fn missing(&self) -> Vec<Missing> {
        let short = Missing { of: Limit::K, needed: self.k, chosen: self.taken };
        if self.demanded && self.taken < self.k { vec![short] } else { Vec::new() }
    }
}
