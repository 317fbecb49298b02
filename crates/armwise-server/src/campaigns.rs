//! The campaigns that are served: those of a database, or a file of the folder each; opened when the server starts or when
//! they are first asked for.
//!
//! A campaign that cannot be opened, because another process writes to it or because it is damaged, is tried again with
//! the next request; the others do not suffer.

use crate::{name::Name, problem::Fault};
use armwise_campaign::{
    Error,
    config::Config,
    live::{Features, Live, LiveOptions},
    store::{
        is_database,
        postgres::{self, Address},
    },
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, RwLock},
};

/// The campaigns of a folder.
#[derive(Debug)]
pub(crate) struct Campaigns {
    home: Home,
    options: LiveOptions,
    open: RwLock<BTreeMap<Name, Live>>,
    /// Held while a campaign is opened or made, so that each is opened once.
    opening: Mutex<()>,
}

/// Where campaigns are.
#[derive(Debug)]
enum Home {
    Folder(PathBuf),
    /// With the names that it had when it was last asked.
    Database(Address, Mutex<Vec<Name>>),
}

impl Campaigns {
    pub(crate) fn of(data: &Path, store: Option<&Address>, options: LiveOptions) -> Self {
        let home = match store {
            None => Home::Folder(data.to_owned()),
            Some(address) => Home::Database(address.clone(), Mutex::default()),
        };
        Self { home, options, open: RwLock::default(), opening: Mutex::new(()) }
    }

    /// Where a campaign is.
    fn place(&self, name: &Name) -> PathBuf {
        match &self.home {
            Home::Folder(data) => data.join(name.file()),
            Home::Database(address, _) => address.with(name.as_str()).path(),
        }
    }

    /// Asks a database for the names of its campaigns, which others may have made. This may take long.
    pub(crate) fn refresh(&self) -> Result<(), Fault> {
        if let Home::Database(address, names) = &self.home {
            let found = postgres::names(address)?;
            let found = found.iter().filter_map(|name| Name::new(name).ok()).collect();
            *names.lock().unwrap_or_else(PoisonError::into_inner) = found;
        }
        Ok(())
    }

    /// A campaign that is open.
    pub(crate) fn open(&self, name: &Name) -> Option<Live> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// A campaign, opened if it is not open yet. This may take long.
    pub(crate) fn get(&self, name: &Name) -> Result<Live, Fault> {
        if let Some(live) = self.open(name) {
            return Ok(live);
        }
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = self.open(name) {
            return Ok(live);
        }
        let path = self.place(name);
        // What another process has begun has its name only when it is complete.
        if !is_database(&path) && !path.is_file() {
            return Err(Error::NoCampaign { path }.into());
        }
        let live = Live::open(&path, self.options.clone())?;
        self.keep(name, &live);
        Ok(live)
    }

    /// Makes a campaign, unless it is there; says whether it was made.
    pub(crate) fn make(&self, name: &Name, config: Config, features: Features<'_>) -> Result<(Live, bool), Fault> {
        match self.get(name) {
            Ok(live) => return same(live, config, features).map(|live| (live, false)),
            Err(fault) if fault.kind() == "not-found" => {}
            Err(fault) => return Err(fault),
        }
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = self.open(name) {
            return same(live, config, features).map(|live| (live, false));
        }
        let begun = Live::begin(&self.place(name), config.clone(), features.clone(), self.options.clone());
        match begun {
            // Another server was faster.
            Err(Error::Exists { .. }) if matches!(self.home, Home::Database(..)) => {
                let live = Live::open(&self.place(name), self.options.clone())?;
                self.keep(name, &live);
                same(live, config, features).map(|live| (live, false))
            }
            begun => {
                let live = begun?;
                self.keep(name, &live);
                Ok((live, true))
            }
        }
    }

    fn keep(&self, name: &Name, live: &Live) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), live.clone());
    }

    /// The names of all campaigns, open or not.
    pub(crate) fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = match &self.home {
            Home::Folder(data) => {
                let files = fs::read_dir(data).into_iter().flatten().flatten();
                files.filter_map(|entry| Name::of(&entry.path())).collect()
            }
            Home::Database(_, names) => names.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        names.extend(self.open.read().unwrap_or_else(PoisonError::into_inner).keys().cloned());
        names.sort_unstable();
        names.dedup();
        names
    }

    /// All that are open.
    pub(crate) fn all_open(&self) -> Vec<(Name, Live)> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.iter().map(|(name, live)| (name.clone(), live.clone())).collect()
    }

    /// Why a journal cannot be reached at this moment, if one cannot.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.all_open().into_iter().find_map(|(name, live)| Some(format!("{name}: {}", live.trouble()?)))
    }

    /// Opens all, one after the other.
    pub(crate) fn open_all(&self) {
        for name in self.names() {
            match self.get(&name) {
                Ok(live) => tracing::info!(campaign = name.as_str(), seq = live.seq(), "open"),
                Err(fault) => tracing::error!(campaign = name.as_str(), kind = fault.kind(), %fault, "not open"),
            }
        }
    }

    /// Stops all: what was accepted is finished first.
    pub(crate) fn stop(&self) {
        let open = std::mem::take(&mut *self.open.write().unwrap_or_else(PoisonError::into_inner));
        for (name, live) in open {
            live.stop();
            tracing::info!(campaign = name.as_str(), "closed");
        }
    }
}

/// The campaign, if it was begun with these rules and features.
fn same(live: Live, config: Config, features: Features<'_>) -> Result<Live, Fault> {
    if live.began_with(config, features)? {
        return Ok(live);
    }
    Err(Fault::conflict("the campaign exists and was begun with other rules or features")
        .help("GET it to see its rules, PATCH it to change them, or choose another name"))
}
