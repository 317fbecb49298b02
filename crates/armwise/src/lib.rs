//! armwise

mod arms;
mod error;
mod id;
pub mod oracle;
mod round;

pub use arms::{Arms, Column, Features};
pub use error::Error;
pub use id::{Names, id_of};
pub use oracle::{
    Budget, Constraint, Explicit, Infeasible, Linear, Oracle, Pick, Quality, Quotas, Scores, Selection, Ties, TopK,
};
pub use round::{Draws, Round, Stream};
