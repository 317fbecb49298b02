//! What a campaign is, without a file: commands become entries of a journal, and everything else follows from them.
//!
//! ```text
//! command -> judge -> entry (journal) -> state
//!                       rows -> fold -> sums per segment -> model
//! ```
//!
//! A [`Campaign`] is opened over a [`Journal`], the one thing a store must be. [`learn()`], [`close()`], [`revoke()`],
//! [`amend()`] and a round's commit are the commands; [`status()`], [`why()`], [`results()`] and
//! [`Campaign::verify`] only read. The model is not logged: it is a function of which decision has which reward
//! ([`fold`]), so it does not depend on when or in which order rewards came.

mod amend;
mod append;
mod aside;
mod back;
mod blocks;
mod bytes;
mod campaign;
pub(crate) mod clock;
mod close;
mod command;
mod decision;
mod entry;
mod fail;
mod fate;
mod find;
pub mod fold;
mod hash;
mod journal;
mod judge;
mod key;
mod learn;
mod logged;
mod model;
mod origin;
mod original;
mod refit;
mod refusal;
mod rejection;
mod results;
mod revoke;
mod state;
mod status;
pub mod sums;
mod tag;
mod verify;
mod why;

pub use amend::{Amended, amend};
pub use aside::{Flaw, PutAside};
pub use campaign::Campaign;
pub use close::{Closed, close};
pub use command::{ChooseRequest, Chosen, Command, Kind, Logged, Migrated, OfRound, Responses, Rules, Setup, Vouched};
pub use decision::{DecisionId, Heard, LAST_GIVEN_ROUND, LAST_ROUND, Outcome, Sent};
pub use entry::{Changes, Entry, Head, RoundChange, SumsChange};
pub use fate::Fate;
pub use fold::Counts;
pub use hash::Sha;
pub use journal::{Check, EachDecision, Journal, Kept, Named, Record, Rows, Seal};
pub use key::Key;
pub use learn::{Feedback, LearnOptions, Learned, learn, learn_with};
pub use logged::{learn_logged, logged};
pub use origin::{Origin, SavedLearner};
pub use original::{KeptColumns, Original, Originals};
pub use refit::{Refitted, refit};
pub use refusal::{Frozen, Refusal};
pub use rejection::Rejection;
pub use results::{fates, results, sends};
pub use revoke::{Revoked, revoke};
pub use state::RoundInfo;
pub use status::{RoundStatus, Status, status};
pub use sums::model_hash;
pub use tag::Tag;
pub use verify::{Finding, Verified};
pub use why::{Contribution, Why, WhyPromotion, why};

pub(crate) use append::Draft;
pub(crate) use decision::{digest_outcomes, digest_sent, feature_bytes};
pub(crate) use fail::failpoint;
pub(crate) use original::{collect, texts};
