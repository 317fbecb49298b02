//! The data of the sending promotion problem (section VII-A2): from ratings to features and rewards.
//!
//! A real MovieLens file and the generated set are both [`Ratings`] and go through the very
//! same pipeline; only the label tells them apart.
//!
//! ```text
//! Ratings -> Split (test movies | training ratings) -> Svd or Als -> Features    \
//!                  \-> rewards: the rating of a test movie, or 0                  > Customers
//! ```

mod als;
mod blocks;
mod cosines;
mod customers;
mod features;
mod generated;
mod krylov;
mod lines;
mod movielens;
mod ratings;
mod sparse;
mod split;
mod svd;

pub use als::Als;
pub use cosines::Cosines;
pub use customers::Customers;
pub use features::{Features, Variant};
pub use generated::Generated;
pub use ratings::{Ratings, Source};
pub use split::{Band, Split};
pub use svd::Svd;
