//! Why a command is refused: the facts. The text for people is made from them in one place, here.

use super::decision::{LAST_GIVEN_ROUND, LAST_ROUND};
use crate::table::short;
use std::fmt;

/// Why a command is refused.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// Rounds count from 1 to [`LAST_ROUND`]; a number that is given is at most [`LAST_GIVEN_ROUND`].
    BadRound(u64),
    /// A round can have 2^32 - 1 decisions.
    TooManyDecisions(u64),
    /// A segment has 1 to [`LAST_ROUND`] rounds.
    BadSegment(u64),
    /// A key has 1 to 200 visible ASCII characters.
    BadKey(String),
    /// An answer must be worth a number that can be learned.
    BadWorth(f64),
    /// The round was chosen before.
    RoundExists {
        /// The round.
        round: u64,
        /// The last round.
        last: u64,
    },
    /// Rounds are chosen in ascending order.
    RoundBefore {
        /// The round.
        round: u64,
        /// The last round.
        last: u64,
    },
    /// The last round has no outcome at all, so nothing would be learned from it.
    NothingHeard(u64),
    /// The round was taken back, so it has no response window.
    Revoked(u64),
    /// The round is held back, so its window does not run.
    Held(u64),
    /// The round is not held back, so it cannot be activated.
    NotHeld(u64),
    /// Single decisions of the round were given up.
    Compacted {
        /// The round.
        round: u64,
        /// The last round of which they were.
        through: u64,
    },
    /// An amendment may not change this.
    Frozen(Frozen),
    /// A new recipe needs a column that was not kept.
    NotKept {
        /// The first round of which it was not; 0 is the logged table.
        round: u64,
        /// The column.
        column: String,
    },
    /// The campaign began with a saved learner, whose customers are not in the journal.
    BegunWithLearner,
    /// Past sends are learned before the first round.
    LoggedLate,
    /// Another table of past sends was learned already.
    LoggedBefore,
}

/// What an amendment may not change, because decisions, sums and draws of earlier rounds depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frozen {
    /// The column with the customer's id.
    Customer,
    /// The features.
    Features,
    /// The forgetting factor.
    Gamma,
    /// The seed.
    Seed,
    /// How many rounds a segment has.
    RoundsPerSegment,
}

impl Frozen {
    /// The field of the rules.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Features => "features",
            Self::Gamma => "gamma",
            Self::Seed => "seed",
            Self::RoundsPerSegment => "rounds_per_segment",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRound(round) => write!(
                f,
                "round {round}: rounds count from 1 to {LAST_ROUND}, and a number that is given may be at most \
                 {LAST_GIVEN_ROUND}"
            ),
            Self::TooManyDecisions(count) => {
                write!(f, "{count} decisions are too many: a round can have {}; lower the quotas", u32::MAX)
            }
            Self::BadSegment(rounds) => write!(f, "a segment of {rounds} rounds: it has 1 to {LAST_ROUND}"),
            Self::BadKey(key) => write!(
                f,
                "the key {:?} has {} bytes; a key has 1 to 200 visible ASCII characters and no spaces",
                short(key),
                key.len()
            ),
            Self::BadWorth(worth) => {
                write!(f, "an answer cannot be worth {worth}; give a finite number of at most 1e100 in size")
            }
            Self::RoundExists { round, last } => write!(f, "round {round} was chosen already (the last is {last})"),
            Self::RoundBefore { round, last } => write!(f, "round {round} is before the last one (the last is {last})"),
            Self::NothingHeard(round) => write!(
                f,
                "round {round} has no outcome yet, so another round would be chosen by what was known before it; give its \
                 answers, close it, take it back if it was never sent, or choose again all the same"
            ),
            Self::Revoked(round) => write!(f, "round {round} was revoked, so it cannot be closed"),
            Self::Held(round) => {
                write!(f, "round {round} is held back, so it cannot be closed; activate it, or take it back")
            }
            Self::NotHeld(round) => write!(f, "round {round} is not held back, so it cannot be activated"),
            Self::Compacted { round, through } => write!(
                f,
                "the single decisions of round {round} were given up: those of rounds up to {through} are older than the rules \
                 keep them; what was learned from them stays"
            ),
            Self::Frozen(frozen @ (Frozen::Features | Frozen::Gamma)) => write!(
                f,
                "{} cannot be amended, since what was learned depends on it; fit the campaign anew instead, which expresses \
                 what was learned under other features",
                frozen.field()
            ),
            Self::Frozen(Frozen::Seed) => {
                write!(
                    f,
                    "seed stays as the campaign began, since the hold-out is drawn by it; a round may have a seed of its own"
                )
            }
            Self::Frozen(frozen) => {
                write!(f, "{} stays as the campaign began; begin another campaign for another one", frozen.field())
            }
            Self::NotKept { round: 0, column } => {
                write!(f, "the column {column:?} of the logged table was not kept, so nothing can be made of it now")
            }
            Self::NotKept { round, column } => write!(
                f,
                "the column {column:?} was not kept of the customers chosen in round {round}, so nothing can be made of it now; \
                 columns are kept by the rules' key keep"
            ),
            Self::BegunWithLearner => write!(
                f,
                "the campaign began with a saved learner, and what that one had learned cannot be expressed anew, since its \
                 customers are not in this campaign"
            ),
            Self::LoggedLate => {
                write!(f, "past sends are learned before the first round is chosen; begin another campaign with them")
            }
            Self::LoggedBefore => write!(
                f,
                "another table of past sends was learned already, and there can be one; begin another campaign with all of \
                 them in one table"
            ),
        }
    }
}
