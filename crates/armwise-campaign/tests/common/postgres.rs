//! The database of the tests: `ARMWISE_POSTGRES` is its address. Every test has campaigns with names of their own.

use armwise_campaign::store::postgres::Address;
use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::SystemTime,
};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The address of the database. Without one there is nothing to test, except where everything must be tested.
pub(crate) fn url() -> Option<String> {
    let url = std::env::var("ARMWISE_POSTGRES").ok().filter(|url| !url.is_empty());
    let must = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(url.is_some() || !must, "ARMWISE_POSTGRES must name a database");
    if url.is_none() {
        eprintln!("no ARMWISE_POSTGRES: PostgreSQL is not tested");
    }
    url
}

/// A campaign that is not there yet.
pub(crate) fn address(name: &str) -> Option<Address> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{name}-{}-{now:x}-{number}", std::process::id());
    url().map(|url| Address::parse(&format!("{url}#{name}")).unwrap())
}

/// The same as a path.
pub(crate) fn place(name: &str) -> Option<PathBuf> {
    address(name).map(|address| address.path())
}
