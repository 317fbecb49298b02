//! Everything that can go wrong, as one enum: facts in fields, a message that says what, where and what to do.
//!
//! An error is always raised before anything changes, so after an error the model is what
//! it was.

mod infeasible;

pub use infeasible::{Infeasible, Limit};

/// What went wrong, where, and with which value.
///
/// The fields are what the message names. Rows and columns are counted from 0 among the arms, observations or scores
/// given, blocks from 0; `t` is the round of the decision; `value` and `found` are what was given instead of what is
/// `expected` or `must` be.
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A feature is NaN or infinite.
    #[error("feature at row {row}, column {column} is {value}; features must be finite numbers")]
    FeatureNotFinite { row: usize, column: usize, value: f64 },
    /// A feature is so large that sums of squares would overflow.
    #[error(
        "feature at row {row}, column {column} is {value}; the most is 1e100, and |x| <= 1 is what the theory assumes: scale the features"
    )]
    FeatureTooLarge { row: usize, column: usize, value: f64 },
    /// Finite features gave a score that is not.
    #[error(
        "score of row {row}, block {block} is {value} though its features are finite; scale the features so that |x| <= 1, and see that the policy's direction and bonus are finite"
    )]
    ScoreOverflow { row: usize, block: usize, value: f64 },
    /// A score handed to an oracle is NaN or +infinity.
    #[error("score at row {row}, block {block} is {value}; scores must be finite, or -infinity for a forbidden arm")]
    ScoreNotFinite { row: usize, block: usize, value: f64 },
    /// A reward is NaN or infinite.
    #[error("reward of arm {id} in block {block} is {value}; rewards must be finite numbers")]
    RewardNotFinite { id: u64, block: u32, value: f64 },
    /// A reward given straight to a model is NaN or infinite.
    #[error("observed reward at row {row}, block {block} is {value}; rewards must be finite numbers")]
    ObservedNotFinite { row: usize, block: u32, value: f64 },
    /// Something has the wrong length, for example `features per arm`.
    #[error("{what}: expected {expected}, found {found}")]
    Dimension { what: &'static str, expected: usize, found: usize },
    /// Arms that are not those of the catalogue.
    #[error("the arms are not those of the catalogue; take them from `Catalogue::arms`")]
    NotOfCatalogue,
    /// Floors guessed from a sample turned out too high.
    #[error("the floors guessed from a sample were too high; give all parts once more before finishing")]
    GuessRefuted,
    /// There are no arms to choose from.
    #[error("no arms were given; a round needs at least one")]
    NoArms,
    /// Two rows have the same id.
    #[error("id {id} appears in rows {first} and {second}; ids must be unique within a round")]
    DuplicateId { id: u64, first: usize, second: usize },
    /// Two rows have the same name.
    #[error("name {name:?} appears in rows {first} and {second}; names must be unique within a round")]
    DuplicateName { name: String, first: usize, second: usize },
    /// A parameter, named as in the paper and in TOML, is outside its range.
    #[error("{name} = {value}: must be {must}")]
    Parameter { name: &'static str, value: f64, must: &'static str },
    /// No algorithm has this name.
    #[error("algorithm {name:?} is unknown; it must be one of {}", known.join(", "))]
    UnknownAlgorithm { name: String, known: &'static [&'static str] },
    /// A parameter that an algorithm does not have.
    #[error("{algorithm} has no {name}; its parameters are {}", known.join(", "))]
    UnknownParameter { algorithm: &'static str, name: String, known: Vec<&'static str> },
    /// A constraint contradicts itself or the data.
    #[error("constraint: {0}")]
    Constraint(String),
    /// A constraint refers to a column that the arms do not have; `attached` are those they have, separated by commas.
    #[error("column {column:?} is not attached to the arms; attached are: {attached}")]
    UnknownColumn { column: String, attached: String },
    /// A value in a column does not fit the constraint that reads it.
    #[error("column {column:?}, row {row}, block {block} is {value}: must be {must}")]
    ColumnValue { column: String, row: usize, block: usize, value: f64, must: &'static str },
    /// Two groups share arms and neither holds the other. The rows are those of the part, where arms come in parts.
    #[error(
        "groups \"{}\" and \"{}\" cross: of the eligible arms in {rows} rows {both} are in both, {only_first} only in the first, {only_second} only in the second; groups must be nested or disjoint",
        groups[0], groups[1]
    )]
    CrossingGroups { groups: Box<[Limit; 2]>, rows: usize, both: usize, only_first: usize, only_second: usize },
    /// The constraint needs a part of the library that was not compiled in.
    #[error("this constraint needs the cargo feature {0:?}; build armwise with it")]
    FeatureMissing(&'static str),
    /// The time limit passed before any super arm was found.
    #[error("no super arm was found within {seconds} s; raise `time_limit` or simplify the constraint")]
    TimeLimit { seconds: f64 },
    /// The caller stopped the search.
    #[error("the search was cancelled")]
    Cancelled,
    /// The external solver failed.
    #[error("the solver failed: {0}")]
    Solver(String),
    /// No super arm satisfies the constraint.
    #[error("no super arm satisfies the constraint: {0}")]
    Infeasible(Infeasible),
    /// A block number is out of range.
    #[error("block {block} does not exist; the model has blocks 0 to {last}")]
    UnknownBlock { block: u32, last: u32 },
    /// A reward names an arm that the decision did not choose.
    #[error("arm {id} in block {block} was not chosen in round {t}; rewards are taken for chosen arms only")]
    UnknownArm { id: u64, block: u32, t: u64 },
    /// Two chosen arms share an id because their names hash alike; the reward must give the name.
    #[error("id {id} in block {block} fits two chosen arms of round {t} whose names hash alike; give the name")]
    AmbiguousArm { id: u64, block: u32, t: u64 },
    /// The arm of this decision has its reward already.
    #[error("arm {id} in block {block} of round {t} already has reward {reward}; use `correct` to change it")]
    SecondReward { id: u64, block: u32, t: u64, reward: f64 },
    /// A correction or a retraction of a reward that was never learned.
    #[error("arm {id} in block {block} of round {t} has no reward yet; use `learn` first")]
    NoReward { id: u64, block: u32, t: u64 },
    /// Something is to be unlearned or corrected in a block that has learned nothing.
    #[error("block {block} has learned nothing, so nothing can be unlearned or corrected in it")]
    NothingLearned { block: u32 },
    /// The decision is not the one that the reward was learned from.
    #[error("arm {id} in block {block} of round {t} was learned with other features; the decision was altered")]
    DecisionChanged { id: u64, block: u32, t: u64 },
    /// The round was closed by `close_before`.
    #[error("round {t} is closed: rewards are taken from round {open_from} on")]
    RoundClosed { t: u64, open_from: u64 },
    /// The sums of a block are not those of any observations, by more than rounding explains.
    #[error(
        "G of block {block} is not positive semi-definite at pivot {pivot}, as a sum of x x' must be: something was unlearned that was never learned, or that was so large that only its rounding is left, or the sums were made by other means"
    )]
    NotPositiveDefinite { block: u32, pivot: usize },
    /// A log without rounds.
    #[error("the log has no rounds; there is nothing to evaluate a policy on")]
    NoRounds,
    /// A value of a log cannot be used; `arm` is its id and block, none for what is said of the whole round.
    #[error("round {t}{}: the {what} is {value}; it must be {must}", of_arm(*arm))]
    Logged { t: u64, arm: Option<(u64, u32)>, what: &'static str, value: f64, must: &'static str },
    /// A log has a round, or an arm of a round, twice.
    #[error("round {t}{} is in the log twice", of_arm(*arm))]
    LoggedTwice { t: u64, arm: Option<(u64, u32)> },
    /// The noise is to be estimated, but the squares of some rewards were not kept.
    #[error(
        "the noise of block {block} cannot be estimated, since some of its rewards were learned before their squares were kept: give lambda, alpha and v as numbers, and the noise as known"
    )]
    NoSquares { block: u32 },
    /// Two models that do not fit together.
    #[error("models cannot be merged: {what} is {left} on one side and {right} on the other")]
    Mismatch { what: &'static str, left: f64, right: f64 },
    /// The saved file comes from a newer version.
    #[error("saved by a newer armwise: format version {found}, this one reads up to {supported}; upgrade armwise")]
    NewerFormat { found: u64, supported: u64 },
    /// The saved file cannot be read.
    #[error("not a readable armwise file: {0}")]
    BadFormat(String),
    /// The saved file was changed or cut after it was written.
    #[error("the file is damaged: its content gives checksum {found}, but {expected} was written")]
    Damaged { expected: String, found: String },
}

/// The place of an arm in a log.
fn of_arm(arm: Option<(u64, u32)>) -> String {
    arm.map_or(String::new(), |(id, block)| format!(", arm {id} in block {block}"))
}

/// Refuses a parameter that is not a finite number above zero.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), Error> {
    check(name, value, value.is_finite() && value > 0.0, "a finite number above 0")
}

/// Refuses a parameter that is not a finite number of at least zero.
pub(crate) fn non_negative(name: &'static str, value: f64) -> Result<(), Error> {
    check(name, value, value.is_finite() && value >= 0.0, "a finite number of at least 0")
}

/// Refuses a parameter for which `ok` is false.
pub(crate) fn check(name: &'static str, value: f64, ok: bool, must: &'static str) -> Result<(), Error> {
    if ok { Ok(()) } else { Err(Error::Parameter { name, value, must }) }
}
