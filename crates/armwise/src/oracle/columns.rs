//! Columns as a constraint reads them: one number per arm, looked up by name.
//!
//! `block` is a column that always exists, the arm's block number.

use super::{Pick, Scores};
use crate::Error;

/// The name of the built-in column.
pub(super) const BLOCK: &str = "block";

/// The values of a column for every arm of some scores.
#[derive(Debug, Clone, Copy)]
pub(super) enum Values<'a> {
    Block,
    PerRow(&'a [f64]),
    PerArm(&'a [f64], usize),
}

impl<'a> Values<'a> {
    /// The column of this name.
    pub(super) fn of(scores: &Scores<'a>, name: &str) -> Result<Self, Error> {
        let column = scores.keys().column(name);
        if name == BLOCK {
            return match column {
                None => Ok(Self::Block),
                Some(_) => Err(Error::Constraint(format!(
                    "{BLOCK:?} means the block number; give the attached column another name"
                ))),
            };
        }
        match column {
            None => Err(Error::UnknownColumn {
                column: name.to_owned(),
                attached: scores.keys().column_names().collect::<Vec<_>>().join(", "),
            }),
            Some((values, 1)) => Ok(Self::PerRow(values)),
            Some((values, per_row)) if per_row == scores.blocks() => Ok(Self::PerArm(values, per_row)),
            Some((_, per_row)) => {
                Err(Error::Dimension { what: "values of a column per row", expected: scores.blocks(), found: per_row })
            }
        }
    }

    /// The value at an arm; -0 counts as 0.
    #[inline]
    pub(super) fn get(&self, arm: Pick) -> f64 {
        match self {
            Self::Block => arm.block as f64,
            Self::PerRow(values) => values[arm.row] + 0.0,
            Self::PerArm(values, blocks) => values[arm.row * blocks + arm.block] + 0.0,
        }
    }

    /// The value at an arm, refused unless it is finite and at least `least`.
    #[inline]
    pub(super) fn checked(&self, name: &str, arm: Pick, least: f64) -> Result<f64, Error> {
        let value = self.get(arm);
        if value.is_finite() && value >= least {
            return Ok(value);
        }
        let must = if least >= 0.0 { "a finite number of at least 0" } else { "a finite number" };
        Err(Error::ColumnValue { column: name.to_owned(), row: arm.row, block: arm.block, value, must })
    }
}

/// Calls `visit` for every arm that may be chosen, in the order of the scores.
///
/// # Errors
/// [`Error::ScoreNotFinite`] for a NaN or +infinity, and the errors of `visit`.
pub(super) fn each_eligible(
    scores: &Scores<'_>,
    mut visit: impl FnMut(Pick, f64) -> Result<(), Error>,
) -> Result<(), Error> {
    let blocks = scores.blocks();
    for (row, values) in scores.values().chunks_exact(blocks).enumerate() {
        for (block, &score) in values.iter().enumerate() {
            let arm = Pick { row, block };
            if score.is_finite() {
                visit(arm, score + 0.0)?;
            } else if score.is_nan() || score > 0.0 {
                return Err(scores.not_finite(arm));
            }
        }
    }
    Ok(())
}
