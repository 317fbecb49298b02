//! Where a campaign's journal is kept. A store keeps what the core gives it and finds it again; it judges nothing.
//!
//! [`sqlite`] keeps it in a file, and is the only place in the project with SQL. [`memory`] keeps nothing beyond the
//! process: for tests, and as the shortest example of a store.

pub mod memory;
pub mod sqlite;
