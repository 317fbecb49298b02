//! Which stream number each kind of randomness of the lab takes.
//!
//! Numbers are handed out here and nowhere else, so that no two uses share draws. Numbers below
//! 256 belong to the `armwise` crate; 256 to 287 to the data, 288 and up to the worlds.

use armwise::Stream;

/// How many ratings a generated user gives.
pub(crate) const ACTIVITY: Stream = Stream(256);
/// A generated movie's weight in each topic.
pub(crate) const TOPICS: Stream = Stream(257);
/// A generated user's interest in each topic.
pub(crate) const INTERESTS: Stream = Stream(258);
/// Which movies a generated user rates.
pub(crate) const WATCHED: Stream = Stream(259);
/// How good a generated movie is and how kind a generated user.
pub(crate) const OFFSETS: Stream = Stream(260);
/// The part of a generated rating that nothing explains.
pub(crate) const NOISE: Stream = Stream(261);
/// Which movies become promotions.
pub(crate) const SPLIT: Stream = Stream(262);
/// The first block of the singular value decomposition.
pub(crate) const SVD: Stream = Stream(263);
/// The start of alternating least squares.
pub(crate) const ALS: Stream = Stream(264);
/// Which users are sampled for the distribution of cosines.
pub(crate) const COSINES: Stream = Stream(265);
/// The seeds of trials.
pub(crate) const TRIALS: Stream = Stream(288);
/// The true parameter of the clustered case.
pub(crate) const THETA: Stream = Stream(289);
/// The potential rewards of the clustered case.
pub(crate) const REWARDS: Stream = Stream(290);
/// The order of arms in the clustered case.
pub(crate) const ORDER: Stream = Stream(291);
/// How features stray from their cluster's centre.
pub(crate) const SPREAD: Stream = Stream(292);
/// The customers of a round.
pub(crate) const CUSTOMERS: Stream = Stream(293);
/// The direction in which theta* of the clustered case turns.
pub(crate) const TURN: Stream = Stream(294);
/// Whether a logged round is random.
pub(crate) const EXPLORES: Stream = Stream(295);
/// The fresh rounds from which the truth about a target comes.
pub(crate) const TRUTH: Stream = Stream(296);
