//! Requests with a key that are being answered: the same key again must wait, since its answer is not known yet.

use crate::{Error, core::Key};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// The keys of requests under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Flights(Arc<Mutex<HashSet<String>>>);

/// A request with a key that is under way until this is dropped.
#[derive(Debug)]
pub(super) struct Flight {
    flights: Flights,
    key: String,
}

impl Flights {
    /// Takes off; refuses a key that is under way.
    pub(super) fn take(&self, key: Option<&Key>) -> Result<Option<Flight>, Error> {
        let Some(key) = key else { return Ok(None) };
        let key = key.to_string();
        if !self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            return Err(Error::InFlight { key });
        }
        Ok(Some(Flight { flights: self.clone(), key }))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
