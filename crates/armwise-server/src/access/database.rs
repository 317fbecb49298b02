//! The tokens of servers that share a database: there, hashed as in the file.
//!
//! They are read once when the server starts and then every second beside the requests, so that no request waits for the
//! database to be let in. Once there was a token, nobody gets in without one: a row without a name remembers it.

use super::token::Token;
use crate::problem::Fault;
use armwise_campaign::store::postgres::{Address, put_token, tokens};
use std::sync::{Arc, Mutex, PoisonError};

/// All tokens; none if there never was one.
type All = Option<Arc<Vec<Token>>>;

/// The tokens of a database.
#[derive(Debug)]
pub(super) struct Database {
    address: Address,
    read: Mutex<Option<All>>,
}

impl Database {
    pub(super) fn of(address: &Address) -> Self {
        Self { address: address.clone(), read: Mutex::new(None) }
    }

    pub(super) fn all(&self) -> Result<All, Fault> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match read {
            Some(all) => Ok(all),
            None => self.refresh(),
        }
    }

    /// Asks the database.
    pub(super) fn refresh(&self) -> Result<All, Fault> {
        let found = tokens(&self.address)?;
        let bad = |error: serde_json::Error| Fault::internal(format!("a token in the database: {error}"));
        let named = found.iter().filter(|(name, _)| !name.is_empty());
        let read: Vec<Token> =
            named.map(|(_, body)| serde_json::from_str(body)).collect::<Result<_, _>>().map_err(bad)?;
        let all = (!found.is_empty()).then(|| Arc::new(read));
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(all.clone());
        Ok(all)
    }

    /// Whether there was none of this name.
    pub(super) fn add(&self, token: &Token) -> Result<bool, Fault> {
        let text = serde_json::to_string(token).map_err(|error| Fault::internal(error.to_string()))?;
        put_token(&self.address, "", Some(""))?;
        let added = put_token(&self.address, &token.name, Some(&text))?;
        self.refresh()?;
        Ok(added)
    }

    /// Whether there was one of this name.
    pub(super) fn revoke(&self, name: &str) -> Result<bool, Fault> {
        let gone = !name.is_empty() && put_token(&self.address, name, None)?;
        self.refresh()?;
        Ok(gone)
    }
}
