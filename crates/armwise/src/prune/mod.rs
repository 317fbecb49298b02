//! Leaving out arms that cannot be chosen before they are scored exactly.

pub(crate) mod best;
pub(crate) mod bound;
mod catalogue;
mod floors;
pub(crate) mod pairs;
mod unmade;

pub use catalogue::Catalogue;
pub use unmade::{Look, Panels};
