//! Why no super arm exists.
//!
//! A reason is numbers that anybody can recount from the scores and the constraint.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a price, a shortage or a reason speaks of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Limit {
    /// How many arms at most.
    K,
    /// How many arms at least.
    Min,
    /// What all arms may cost together.
    Budget,
    /// The quota or the budget of a block.
    Block(usize),
    /// The arms whose column has one of these values.
    Group {
        /// The column.
        column: String,
        /// The values.
        values: Vec<f64>,
    },
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::K => f.write_str("k"),
            Self::Min => f.write_str("min"),
            Self::Budget => f.write_str("budget"),
            Self::Block(block) => write!(f, "block = {block}"),
            Self::Group { column, values } => match &values[..] {
                [value] => write!(f, "{column} = {value}"),
                values => write!(f, "{column} = {values:?}"),
            },
        }
    }
}

/// Why no super arm exists, in numbers that can be recounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Infeasible {
    /// Fewer arms may be chosen than must be.
    TooFewArms {
        /// How many arms must be chosen.
        needed: usize,
        /// How many may be.
        eligible: usize,
    },
    /// Blocks whose minima together exceed what the rows eligible for them can fill: a Hall set.
    TooFewRows {
        /// The blocks, ascending.
        blocks: Vec<usize>,
        /// How many units they need together.
        needed: usize,
        /// How many rows are eligible for at least one of them.
        rows: usize,
        /// How many units these rows can fill, each in as many of the blocks as it is eligible for and allowed.
        places: usize,
    },
    /// The minimum of a group is more than can be chosen in it.
    GroupMinimum {
        /// The group, or [`Limit::Min`] for all arms together.
        group: Limit,
        /// Its minimum.
        needed: usize,
        /// How many arms of the group may be chosen, each alone.
        eligible: usize,
        /// How many may be chosen together, after its own maximum and those of the groups inside it.
        choosable: usize,
    },
    /// The minima inside a group add up to more than its maximum.
    GroupMaximum {
        /// The group, or [`Limit::K`] for all arms together.
        group: Limit,
        /// Its maximum.
        allowed: usize,
        /// What the minima of the groups inside it add up to.
        needed: usize,
    },
    /// Every listed super arm holds an arm that does not exist or may not be chosen.
    NoSuperArm {
        /// How many super arms are listed.
        listed: usize,
        /// How many of them name an arm that does not exist.
        unknown: usize,
        /// How many of the others hold a forbidden arm.
        forbidden: usize,
    },
    /// A linear row cannot be met by any set of arms, even alone.
    LinearRow {
        /// The row's name, or `row` and its number.
        row: String,
        /// Its lower limit, if it has one.
        lo: Option<f64>,
        /// Its upper limit, if it has one.
        hi: Option<f64>,
        /// The least value that any set of arms gives it.
        least: f64,
        /// The largest value that any set of arms gives it.
        most: f64,
    },
    /// The quotas cannot be filled within the budget.
    QuotasCost {
        /// What they cost at least, up to the tolerance of the search for the cheapest filling.
        least: f64,
        /// The budget.
        budget: f64,
    },
    /// No set of arms meets all linear rows, though none of them is out of reach by its range alone.
    LinearRows {
        /// How many rows there are, those with `per_row` written out.
        rows: usize,
    },
    /// No super arm exists among arms that came in parts. That holds for all of them, but only the candidates of the
    /// parts were kept, so the reason counts these.
    AmongCandidates {
        /// How many rows were kept.
        kept: usize,
        /// How many rows there were.
        rows: usize,
        /// The reason, counted among the kept rows.
        of_kept: Box<Infeasible>,
    },
}

impl Infeasible {
    /// Marks a reason whose numbers may be smaller than those of all rows. The other reasons have exact numbers,
    /// because all the arms that they count are kept.
    pub(crate) fn among_candidates(self, kept: usize, rows: usize) -> Self {
        match self {
            Self::TooFewRows { .. } | Self::GroupMinimum { .. } if kept < rows => {
                Self::AmongCandidates { kept, rows, of_kept: Box::new(self) }
            }
            reason => reason,
        }
    }
}

impl fmt::Display for Infeasible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewArms { needed, eligible } => {
                write!(f, "exactly {needed} arms are asked for, but only {eligible} are eligible")
            }
            Self::TooFewRows { blocks, needed, rows, places } => write!(
                f,
                "blocks {blocks:?} together need {needed} units, but the {rows} rows eligible for them can fill only {places}"
            ),
            Self::GroupMinimum { group, needed, eligible, choosable } => write!(
                f,
                "{group}: at least {needed} arms are asked for, but only {choosable} can be chosen ({eligible} are eligible)"
            ),
            Self::GroupMaximum { group, allowed, needed } => {
                write!(f, "{group}: at most {allowed} arms may be chosen, but the minima inside it add up to {needed}")
            }
            Self::NoSuperArm { listed, unknown, forbidden } => write!(
                f,
                "of {listed} listed super arms, {unknown} name an arm that does not exist and {forbidden} hold a forbidden arm"
            ),
            Self::LinearRow { row, lo, hi, least, most } => {
                let limit = |limit: &Option<f64>| limit.map_or("none".to_owned(), |limit| limit.to_string());
                let (lo, hi) = (limit(lo), limit(hi));
                write!(f, "{row}: must lie between {lo} and {hi}, but any set of arms gives between {least} and {most}")
            }
            Self::QuotasCost { least, budget } => {
                write!(f, "the quotas cost at least about {least}, which is more than the budget of {budget}")
            }
            Self::AmongCandidates { kept, rows, of_kept } => {
                write!(f, "{of_kept} (counted among the {kept} candidates kept of {rows} rows that came in parts)")
            }
            Self::LinearRows { rows } => {
                write!(
                    f,
                    "the {rows} linear rows cannot all be met by whole arms, though none is out of reach by its range alone"
                )
            }
        }
    }
}
