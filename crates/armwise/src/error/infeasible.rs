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
        /// The block that is meant; none for all of them together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<usize>,
    },
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::K => f.write_str("k"),
            Self::Min => f.write_str("min"),
            Self::Budget => f.write_str("budget"),
            Self::Block(block) => write!(f, "block = {block}"),
            Self::Group { column, values, block } => {
                match &values[..] {
                    [value] => write!(f, "{column} = {value}"),
                    values => write!(f, "{column} = {values:?}"),
                }?;
                block.map_or(Ok(()), |block| write!(f, " in block {block}"))
            }
        }
    }
}

/// Why no super arm exists, in numbers that can be recounted; the message says what each of them counts.
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Infeasible {
    /// Fewer arms may be chosen than must be.
    #[error("exactly {needed} arms are asked for, but only {eligible} are eligible")]
    TooFewArms { needed: usize, eligible: usize },
    /// Blocks, ascending, whose minima together exceed what the rows eligible for at least one of them can fill, each
    /// in as many of the blocks as it is eligible for and allowed: a Hall set.
    #[error(
        "blocks {blocks:?} together need {needed} units, but the {rows} rows eligible for them can fill only {places}"
    )]
    TooFewRows { blocks: Vec<usize>, needed: usize, rows: usize, places: usize },
    /// The minimum of a group, or of all arms together ([`Limit::Min`]), is more than can be chosen in it: `eligible`
    /// arms, each alone, and `choosable` together, after its own maximum and those of the groups inside it.
    #[error(
        "{group}: at least {needed} arms are asked for, but only {choosable} can be chosen ({eligible} are eligible)"
    )]
    GroupMinimum { group: Limit, needed: usize, eligible: usize, choosable: usize },
    /// The minima inside a group, or of all groups together ([`Limit::K`]), add up to more than its maximum.
    #[error("{group}: at most {allowed} arms may be chosen, but the minima inside it add up to {needed}")]
    GroupMaximum { group: Limit, allowed: usize, needed: usize },
    /// Minima that add up to more than the maxima and the rows allow: a minimum cut. Count for every arm the minima
    /// that it is in, less the maxima that it is in; `rows` rows have eligible arms that count above 0, and their best
    /// ones together count `places`. So `needed` can be at most `allowed + places`.
    #[error(
        "{} together ask for at least {needed}, but {}{} allow only {}",
        listed(minima),
        if maxima.is_empty() { String::new() } else { format!("the limits of {} ({allowed} together) and ", listed(maxima)) },
        format_args!("{rows} rows with {places} places"),
        allowed + places
    )]
    Contradiction { minima: Vec<Limit>, needed: usize, maxima: Vec<Limit>, allowed: usize, rows: usize, places: usize },
    /// No set of arms meets all quotas and groups, though those of them that are nested can be met together.
    #[error("the {limits} quotas and groups cannot all be met together: some of the groups cross each other")]
    Crossing { limits: usize },
    /// Every listed super arm holds an arm that does not exist or, if all exist, one that may not be chosen.
    #[error(
        "of {listed} listed super arms, {unknown} name an arm that does not exist and {forbidden} hold a forbidden arm"
    )]
    NoSuperArm { listed: usize, unknown: usize, forbidden: usize },
    /// A linear row, by its name or number, cannot be met by any set of arms, even alone.
    #[error(
        "{row}: must lie between {} and {}, but any set of arms gives between {least} and {most}",
        limit(*lo),
        limit(*hi)
    )]
    LinearRow { row: String, lo: Option<f64>, hi: Option<f64>, least: f64, most: f64 },
    /// The quotas cannot be filled within the budget. The least cost is known up to the tolerance of the search for the
    /// cheapest filling.
    #[error("the quotas cost at least about {least}, which is more than the budget of {budget}")]
    QuotasCost { least: f64, budget: f64 },
    /// No set of arms meets all linear rows, those with `per_row` written out, though none of them is out of reach by
    /// its range alone.
    #[error("the {rows} linear rows cannot all be met by whole arms, though none is out of reach by its range alone")]
    LinearRows { rows: usize },
    /// No super arm exists among arms that came in parts. That holds for all of them, but only the candidates of the
    /// parts were kept, so the reason counts these.
    #[error("{of_kept} (counted among the {kept} candidates kept of {rows} rows that came in parts)")]
    AmongCandidates { kept: usize, rows: usize, of_kept: Box<Infeasible> },
}

fn listed(limits: &[Limit]) -> String {
    limits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn limit(limit: Option<f64>) -> String {
    limit.map_or("none".to_owned(), |limit| limit.to_string())
}

impl Infeasible {
    /// Marks a reason whose numbers may be smaller than those of all rows. The other reasons have exact numbers,
    /// because all the arms that they count are kept.
    pub(crate) fn among_candidates(self, kept: usize, rows: usize) -> Self {
        match self {
            Self::TooFewRows { .. } | Self::GroupMinimum { .. } | Self::Contradiction { .. } if kept < rows => {
                Self::AmongCandidates { kept, rows, of_kept: Box::new(self) }
            }
            reason => reason,
        }
    }
}
