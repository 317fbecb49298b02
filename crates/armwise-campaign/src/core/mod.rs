//! What a campaign is, without a file: commands become entries of a journal, and everything else follows from them.
//!
//! ```text
//! command -> judge -> entry (journal) -> state
//!                       rows -> fold -> sums per segment -> model
//! ```
//!
//! A [`Campaign`] is opened over a [`Journal`], the one thing a store must be. [`learn()`], [`close()`], [`revoke()`],
//! [`amend()`], [`activate()`], [`fold()`], [`compact()`] and a round's commit are the commands; [`status()`], [`why()`], [`results()`] and
//! [`Campaign::verify`] only read. The model is not logged: it is a function of which decision has which reward
//! ([`mod@fold`]), so it does not depend on when or in which order rewards came.

mod activate;
mod ahead;
mod amend;
mod append;
mod aside;
mod back;
mod blocks;
mod bytes;
mod campaign;
mod candidates;
mod catalogue;
pub(crate) mod clock;
mod close;
mod command;
mod compact;
mod counts;
mod decision;
mod drift;
mod entry;
mod fail;
mod fate;
mod find;
pub mod fold;
mod folding;
mod follow;
mod hash;
mod in_force;
mod journal;
mod judge;
mod key;
mod learn;
mod log;
mod logged;
mod model;
mod opening;
mod origin;
mod original;
mod plan;
mod recent;
mod refit;
mod refusal;
mod rejection;
#[cfg(test)]
mod replicas;
mod results;
mod revoke;
mod rows;
mod settled;
mod state;
mod state_bytes;
mod status;
pub mod sums;
mod tag;
mod tell;
mod together;
mod undo;
mod verify;
mod why;

pub use activate::{Activated, activate};
pub use amend::{Amended, amend};
pub use append::Draft;
pub use aside::{Flaw, PutAside};
pub use campaign::Campaign;
pub use catalogue::change_arms;
pub use close::{Closed, ClosedThrough, close, close_through, close_up_to};
pub use command::{
    ArmsAction, ArmsChange, Candidates, ChooseRequest, Chosen, Closing, Command, Compacted, Folded, Kind, Logged,
    Migrated, OfRound, Responses, Rules, Setup, SilenceOf, Through, Vouched,
};
pub use compact::compact;
pub use counts::{Counts, HoldOutCounts};
pub use decision::{Answer, DecisionId, Heard, LAST_GIVEN_ROUND, LAST_ROUND, Outcome, Sent};
pub use drift::Disagreement;
pub use entry::{Changes, Entry, Head, RoundChange, SumsChange};
pub use fate::Fate;
pub use folding::fold;
pub use hash::Sha;
pub use journal::{Ahead, Check, EachDecision, EachEntry, Journal, Kept, Named, News, Record, Rows, Seal, Wanted};
pub use key::Key;
pub use learn::{Feedback, LearnOptions, Learned, learn, learn_with};
pub use log::log;
pub use logged::{learn_logged, logged};
pub use origin::{Origin, SavedLearner};
pub use original::{KeptColumns, Original, Originals};
pub use refit::{Refitted, refit};
pub use refusal::{Frozen, Refusal};
pub use rejection::Rejection;
pub use results::{fates, hold_out, results, sends};
pub use revoke::{Revoked, revoke};
pub use state::RoundInfo;
pub use state_bytes::StateFormat;
pub use status::{HoldOutStatus, RoundStatus, Status, status};
pub use sums::model_hash;
pub use tag::Tag;
pub use tell::{Line, LineOutcome, Told};
pub use together::Together;
pub use verify::{Finding, Verified};
pub use why::{Contribution, Why, WhyPromotion, why};

pub(crate) use blocks::NO_SEND;
pub(crate) use decision::{digest_outcomes, digest_sent, feature_bytes};
pub(crate) use fail::failpoint;
pub(crate) use original::{collect, texts};
pub(crate) use tell::tell;
