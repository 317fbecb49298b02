//! What all threads choose with: the model in force, published by the writer.
//!
//! A choice takes what is published at that moment and keeps it to its end, so that the model never changes under it.

use super::catalogue::Shelf;
use crate::{
    Campaign, Error,
    core::{Sha, model_hash},
    round::Chooser,
};
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock},
    time::{Duration, Instant},
};

/// The model in force.
#[derive(Debug)]
pub(super) struct Published {
    /// The entry whose model it is.
    pub(super) model: u64,
    /// The hash that its sums have.
    pub(super) hash: Sha,
    /// The entry whose rules they are.
    pub(super) rules: u64,
    pub(super) chooser: Chooser,
    /// The catalogue; none if the campaign never had one.
    pub(super) shelf: Option<Arc<Shelf>>,
}

impl Published {
    /// What a campaign chooses with after its last entry.
    pub(super) fn of(campaign: &Campaign, shelf: Option<Arc<Shelf>>) -> Result<Self, Error> {
        let own = campaign.model()?;
        let chooser = Chooser::new(campaign, &own)?;
        chooser.warm(campaign.next_round())?;
        if let Some(shelf) = &shelf {
            // Arms that the recipe cannot use are refused when they come, so there is nothing to say here.
            let _ = shelf.features(campaign.recipe());
        }
        let (model, hash) = (campaign.model_seq(), model_hash(&own));
        Ok(Self { model, hash, rules: campaign.rules_seq(), chooser, shelf })
    }
}

/// How far the journal has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached {
    /// The last entry.
    pub(super) seq: u64,
    /// The last entry whose rewards the model in force knows.
    pub(super) learned: u64,
}

/// Where the writer puts what the others read.
#[derive(Debug)]
pub(super) struct Board {
    now: RwLock<Arc<Published>>,
    reached: Mutex<Reached>,
    moved: Condvar,
}

impl Board {
    pub(super) fn new(first: Published, seq: u64) -> Self {
        let reached = Reached { seq, learned: seq };
        Self { now: RwLock::new(Arc::new(first)), reached: Mutex::new(reached), moved: Condvar::new() }
    }

    pub(super) fn now(&self) -> Arc<Published> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn publish(&self, published: Published) {
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(published);
    }

    fn locked(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reached(&self) -> Reached {
        *self.locked()
    }

    pub(super) fn reach(&self, reached: Reached) {
        *self.locked() = reached;
        self.moved.notify_all();
    }

    /// Waits until the model in force knows an entry.
    pub(super) fn wait_for(&self, seq: u64, most: Duration) -> Result<(), Error> {
        let end = Instant::now() + most;
        let mut reached = self.locked();
        while reached.learned < seq {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::NotYet { seq, now: reached.learned });
            }
            reached = self.moved.wait_timeout(reached, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}
