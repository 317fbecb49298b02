//! What a caller brings to a round: arms with features, keys (ids or names, and columns); and the features that a
//! decision keeps.

mod arms;
mod keys;
mod names;
mod owned;
mod row;

pub use arms::{Arms, Features};
pub use keys::{Column, Keys, Pick};
pub use names::{Names, id_of, number_of};
pub(crate) use owned::OwnedArms;
pub use row::Row;
