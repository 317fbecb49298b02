//! Where a campaign is: the path of a file, or `postgres://host/database#campaign`.
//!
//! A place is written as a path everywhere, so that every door of the project that takes a campaign's file takes the
//! other store too. What begins with `postgres://` or `postgresql://` is never a file.

#[cfg(feature = "postgres")]
use super::postgres::{Address, Postgres};
use super::sqlite::{self, Sqlite};
use crate::{
    Campaign, Error,
    core::{Head, Journal, Setup, Verified},
};
use std::path::{Path, PathBuf};

/// Where a campaign is.
#[derive(Debug, Clone)]
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// In a PostgreSQL database.
    #[cfg(feature = "postgres")]
    Postgres(Address),
}

impl Place {
    /// Reads what a caller named.
    ///
    /// # Errors
    /// [`Error::Usage`] for an address that cannot be one, or that this build knows nothing of.
    pub fn of(path: &Path) -> Result<Self, Error> {
        match path.to_str().filter(|_| is_database(path)) {
            None => Ok(Self::File(path.to_owned())),
            #[cfg(feature = "postgres")]
            Some(text) => Ok(Self::Postgres(Address::parse(text)?)),
            #[cfg(not(feature = "postgres"))]
            Some(_) => Err(Error::Usage("this program was built without PostgreSQL".to_owned())),
        }
    }

    /// The file; an error for a campaign that is in none.
    ///
    /// # Errors
    /// [`Error::Usage`], with what was to be done in its text.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "without PostgreSQL all are in files"))]
    pub fn file(path: &Path, what: &str) -> Result<PathBuf, Error> {
        match Self::of(path)? {
            Self::File(path) => Ok(path),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Err(Error::Usage(format!("{what} is for files, and the campaign is in PostgreSQL"))),
        }
    }

    /// How messages call it: without a password.
    #[must_use]
    pub fn shown(&self) -> &Path {
        match self {
            Self::File(path) => path,
            #[cfg(feature = "postgres")]
            Self::Postgres(address) => address.shown(),
        }
    }
}

/// Whether a path names a database and no file.
#[must_use]
pub fn is_database(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("postgres://") || text.starts_with("postgresql://"))
}

/// The journal at a place. `writer` is the name in a file's lock; without one it is only read, as it was when it was
/// opened.
fn open(path: &Path, writer: Option<&str>) -> Result<Box<dyn Journal>, Error> {
    Ok(match Place::of(path)? {
        Place::File(path) => Box::new(Sqlite::open(&path, writer)?),
        #[cfg(feature = "postgres")]
        Place::Postgres(address) => match writer {
            Some(_) => Box::new(Postgres::write(&address)?),
            None => Box::new(Postgres::read(&address)?),
        },
    })
}

/// The last entry of the campaign at a place.
pub(crate) fn head(path: &Path) -> Result<Head, Error> {
    open(path, None)?.head()
}

/// Checks a campaign.
///
/// # Errors
/// [`Error::NoCampaign`], or [`Error::Storage`] if it cannot be read at all; damage is not an error but a finding.
pub fn verify(path: &Path) -> Result<Verified, Error> {
    Verified::of(Campaign::read(path))
}

impl Campaign {
    /// Makes a campaign at a place where there is none.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Storage`] if it cannot be written, [`Error::Unavailable`].
    pub fn create(path: &Path, setup: Setup) -> Result<Self, Error> {
        match Place::of(path)? {
            Place::File(path) => sqlite::create(&path, setup),
            #[cfg(feature = "postgres")]
            Place::Postgres(address) => {
                let exists = || Error::Exists { path: address.shown().to_owned() };
                match Self::begin(Box::new(Postgres::create(&address)?), setup) {
                    // Another one was faster.
                    Err(Error::HeadMoved { .. }) => Err(exists()),
                    // What was written must read back before anyone is told of it.
                    made => {
                        drop(made?);
                        Self::write(path, "init")
                    }
                }
            }
        }
    }

    /// Opens a campaign for reading, as it is now. Any number of readers may be open at once, and writers too.
    ///
    /// # Errors
    /// [`Error::NoCampaign`], [`Error::Damaged`], [`Error::OldSchema`], [`Error::Storage`], [`Error::Unavailable`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::open(open(path, None)?)
    }

    /// Opens a campaign for writing; `writer` is the name in a file's lock.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`Error::Locked`].
    pub fn write(path: &Path, writer: &str) -> Result<Self, Error> {
        Self::open(open(path, Some(writer))?)
    }
}
