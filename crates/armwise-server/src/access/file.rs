//! The file of tokens, `tokens.json` in the folder of the data: readable by its owner only, replaced in one step. Servers that
//! share a database have their tokens there ([`database`](super::database)), in the same form.
//!
//! A server notices within a second that the file is another one, so a token that is revoked from the command line ends
//! there and then. Once the file is there, even without a token in it, nobody gets in without one.

use super::{
    database::Database,
    token::{Token, fingerprint},
};
use crate::problem::Fault;
use armwise_campaign::{
    output::{Existing, Pending},
    store::postgres::Address,
};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// How long a file is believed to be the one that was read.
const BELIEVED: Duration = Duration::from_secs(1);

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tokens: Vec<Token>,
}

/// The tokens of a folder of data, or of a database.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    read: Mutex<Option<Seen>>,
    database: Option<Database>,
}

/// What was in the file when it was last looked at.
#[derive(Debug, Clone)]
struct Seen {
    /// None without a file.
    tokens: Option<Arc<Vec<Token>>>,
    stamp: Option<Stamp>,
    at: Instant,
}

type Stamp = (SystemTime, u64);

impl Tokens {
    /// Those of a folder.
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self { path: data.join("tokens.json"), read: Mutex::new(None), database: None }
    }

    /// Those of a database.
    #[must_use]
    pub fn in_database(address: &Address) -> Self {
        Self { path: PathBuf::new(), read: Mutex::new(None), database: Some(Database::of(address)) }
    }

    /// Asks a database what it has now. Until it can be reached again, what it had is believed.
    pub(crate) fn refresh(&self) {
        if let Some(database) = &self.database {
            let _ = database.refresh();
        }
    }

    /// All of them; none if there is no file.
    ///
    /// # Errors
    /// [`Fault`] for a file that cannot be read, so that nobody gets in by damaging it.
    pub fn all(&self) -> Result<Option<Arc<Vec<Token>>>, Fault> {
        if let Some(database) = &self.database {
            return database.all();
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = read.as_ref().filter(|seen| seen.at.elapsed() < BELIEVED) {
            return Ok(seen.tokens.clone());
        }
        let stamp = self.stamp()?;
        let at = Instant::now();
        if let Some(seen) = read.as_mut().filter(|seen| seen.stamp == stamp) {
            seen.at = at;
            return Ok(seen.tokens.clone());
        }
        let tokens = self.load()?.map(|written| Arc::new(written.tokens));
        *read = Some(Seen { tokens: tokens.clone(), stamp, at });
        Ok(tokens)
    }

    /// The token that was sent.
    pub(super) fn find(tokens: &[Token], sent: &str) -> Option<Token> {
        let sent = fingerprint(sent);
        // All are compared, so that the time tells nothing about which one it is.
        tokens.iter().fold(None, |found, token| if token.is(&sent) { Some(token.clone()) } else { found })
    }

    /// Adds a token.
    ///
    /// # Errors
    /// [`Fault`] if there is one of this name, or the file cannot be written.
    pub fn add(&self, token: Token) -> Result<(), Fault> {
        let twice = |name: &str| {
            Fault::conflict(format!("there is a token {name:?} already; revoke it or choose another name"))
        };
        if let Some(database) = &self.database {
            return if database.add(&token)? { Ok(()) } else { Err(twice(&token.name)) };
        }
        self.change(|tokens| {
            if tokens.iter().any(|other| other.name == token.name) {
                return Err(twice(&token.name));
            }
            tokens.push(token);
            Ok(())
        })
    }

    /// Takes a token away.
    ///
    /// # Errors
    /// [`Fault`] if there is none of this name, or the file cannot be written.
    pub fn revoke(&self, name: &str) -> Result<(), Fault> {
        let missing = || Fault::not_found(format!("there is no token {name:?}"));
        if let Some(database) = &self.database {
            return if database.revoke(name)? { Ok(()) } else { Err(missing()) };
        }
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.name != name);
            if tokens.len() == before { Err(missing()) } else { Ok(()) }
        })
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Token>) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let _alone = self.lock()?;
        let mut written = self.load()?.unwrap_or_default();
        change(&mut written.tokens)?;
        let text = serde_json::to_string_pretty(&written).map_err(|error| Fault::internal(error.to_string()))?;
        let mut file = Pending::begin(&self.path, Existing::Replace, &[])?;
        file.for_owner_only()?;
        file.write(text.as_bytes())?;
        file.publish()?;
        *read = None;
        Ok(())
    }

    /// Keeps other processes from changing the file until it is dropped: two that read the same tokens and write their own
    /// would bring a revoked one back.
    fn lock(&self) -> Result<Option<fs::File>, Fault> {
        let path = self.path.with_extension("json.lock");
        let mut how = fs::OpenOptions::new();
        how.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
        match how.open(&path).and_then(|file| file.lock().map(|()| file)) {
            Ok(file) => Ok(Some(file)),
            // Without the folder there are no tokens that could change.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Fault::internal(format!("{}: {error}", path.display()))),
        }
    }

    fn stamp(&self) -> Result<Option<Stamp>, Fault> {
        match fs::metadata(&self.path) {
            Ok(about) => Ok(Some((about.modified().unwrap_or(SystemTime::UNIX_EPOCH), about.len()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unreadable(&error.to_string())),
        }
    }

    fn load(&self) -> Result<Option<Written>, Fault> {
        match fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| self.unreadable(&error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unreadable(&error.to_string())),
        }
    }

    fn unreadable(&self, problem: &str) -> Fault {
        Fault::internal(format!("{}: {problem}", self.path.display()))
    }
}
