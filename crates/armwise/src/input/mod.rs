//! What a caller brings to a round: arms with features, ids or names, columns; and the features that a decision keeps.

mod arms;
mod names;
mod row;

pub(crate) use arms::Stored;
pub use arms::{Arms, Column, Features};
pub use names::{Names, id_of};
pub use row::Row;
