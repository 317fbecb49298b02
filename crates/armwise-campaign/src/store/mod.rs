//! Where a campaign's journal is kept. A store keeps what the core gives it and finds it again; it judges nothing.
//!
//! [`sqlite`] keeps it in a file, `postgres` (a feature) in a database for several servers; these two are the only places
//! in the project with SQL. [`memory`] keeps nothing beyond the process: for tests, and as the shortest example of a store.
//! [`Place`] says which of them a caller means.

mod copy;
#[cfg(test)]
pub(crate) mod flaky;
pub mod memory;
mod place;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod sqlite;

pub use copy::{Copied, copy};
pub(crate) use place::head;
pub use place::{Place, is_database, verify};
