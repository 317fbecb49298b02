//! The keys of a round's rows: ids or names, and the columns that constraints refer to by name.
//!
//! An oracle sees these and the scores, and nothing else.

use super::Names;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What identifies a row across rounds.
#[derive(Debug, Clone, Copy)]
enum Who<'a> {
    /// The id is the row number, counted from this one.
    Numbers(u64),
    Ids(&'a [u64]),
    /// These names from this row on.
    Names(&'a Names, usize),
}

/// A chosen arm: a row in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pick {
    /// The row among the scores.
    pub row: usize,
    /// The block (promotion).
    pub block: usize,
}

/// A number per row, or per row and block, that a constraint refers to by name: a cost, a group.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The name by which a constraint refers to it.
    pub name: &'a str,
    /// One value per row, or one per row and block in row-major order.
    pub values: &'a [f64],
}

/// The ids or names of some rows and their columns, borrowed.
///
/// # Example
/// ```
/// use armwise::{Column, Keys};
/// let cost = [Column { name: "cost", values: &[2.0, 3.0] }];
/// let keys = Keys::numbers(2)?.with_ids(&[17, 4])?.with_columns(&cost)?;
/// assert_eq!((keys.id(1), keys.column("cost")), (4, Some((&[2.0, 3.0][..], 1))));
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    who: Who<'a>,
    len: usize,
    columns: &'a [Column<'a>],
    /// Where these rows begin in the columns, which are not sliced with them.
    first_row: usize,
    rows_of_columns: usize,
}

impl<'a> Keys<'a> {
    /// This many rows, whose ids are their numbers until ids or names are given.
    ///
    /// # Errors
    /// [`Error::NoArms`] for no rows.
    pub fn numbers(len: usize) -> Result<Self, Error> {
        if len == 0 {
            return Err(Error::NoArms);
        }
        Ok(Self { who: Who::Numbers(0), len, columns: &[], first_row: 0, rows_of_columns: len })
    }

    /// Gives every row a stable id.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of ids than rows, [`Error::DuplicateId`] if an id appears twice.
    pub fn with_ids(self, ids: &'a [u64]) -> Result<Self, Error> {
        if let Some((id, first, second)) = first_duplicate(ids) {
            return Err(Error::DuplicateId { id, first, second });
        }
        self.with_unique_ids(ids)
    }

    /// As [`with_ids`](Self::with_ids), but skips the duplicate check; the caller guarantees unique ids.
    pub(crate) fn with_unique_ids(self, ids: &'a [u64]) -> Result<Self, Error> {
        same_length("ids", self.len, ids.len())?;
        Ok(Self { who: Who::Ids(ids), ..self })
    }

    /// Gives every row a name; its id is [`id_of`](crate::id_of) the name.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of names than rows.
    pub fn with_names(self, names: &'a Names) -> Result<Self, Error> {
        same_length("names", self.len, names.ids().len())?;
        Ok(Self { who: Who::Names(names, 0), ..self })
    }

    /// Attaches the columns that constraints refer to by name.
    ///
    /// # Errors
    /// [`Error::Dimension`] if a column is not a whole number of values per row, [`Error::Constraint`] if two columns
    /// have the same name.
    pub fn with_columns(self, columns: &'a [Column<'a>]) -> Result<Self, Error> {
        for (place, column) in columns.iter().enumerate() {
            if columns[..place].iter().any(|earlier| earlier.name == column.name) {
                return Err(Error::Constraint(format!("two columns have the name {:?}", column.name)));
            }
            let (what, found) = ("values in a column", column.values.len());
            if found == 0 || !found.is_multiple_of(self.len) {
                return Err(Error::Dimension { what, expected: self.len, found });
            }
        }
        Ok(Self { columns, first_row: 0, rows_of_columns: self.len, ..self })
    }

    /// The rows of a range; the columns stay whole.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let who = match self.who {
            Who::Numbers(first) => Who::Numbers(first + rows.start as u64),
            Who::Ids(ids) => Who::Ids(&ids[rows.clone()]),
            Who::Names(names, first) => Who::Names(names, first + rows.start),
        };
        Self { who, len: rows.len(), first_row: self.first_row + rows.start, ..*self }
    }

    /// Rows whose ids are their numbers, counted from this one.
    pub(crate) fn numbered_from(self, first: u64) -> Self {
        Self { who: Who::Numbers(first), ..self }
    }

    /// The number of rows.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a round has at least one row")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The id of a row.
    #[must_use]
    #[inline]
    pub fn id(&self, row: usize) -> u64 {
        match self.who {
            Who::Numbers(first) => first + row as u64,
            Who::Ids(ids) => ids[row],
            Who::Names(names, first) => names.ids()[first + row],
        }
    }

    /// The ids of all rows.
    pub(crate) fn ids_into(&self, ids: &mut Vec<u64>) {
        ids.clear();
        match self.who {
            Who::Numbers(first) => ids.extend(first..first + self.len as u64),
            Who::Ids(all) => ids.extend_from_slice(all),
            Who::Names(names, first) => ids.extend_from_slice(&names.ids()[first..first + self.len]),
        }
    }

    /// The ids of some rows.
    pub(crate) fn ids_of_rows(&self, rows: impl Iterator<Item = usize>, ids: &mut Vec<u64>) {
        ids.clear();
        match self.who {
            Who::Numbers(first) => ids.extend(rows.map(|row| first + row as u64)),
            Who::Ids(all) => ids.extend(rows.map(|row| all[row])),
            Who::Names(names, first) => ids.extend(rows.map(|row| names.ids()[first + row])),
        }
    }

    /// The name of a row, where names were given.
    #[must_use]
    pub fn name(&self, row: usize) -> Option<&'a str> {
        match self.who {
            Who::Names(names, first) => Some(names.get(first + row)),
            _ => None,
        }
    }

    /// The row numbers that serve as ids, where neither ids nor names were given.
    pub(crate) fn row_numbers(&self) -> Option<Range<u64>> {
        match self.who {
            Who::Numbers(first) => Some(first..first + self.len as u64),
            _ => None,
        }
    }

    /// The values of a column for these rows, and how many there are to a row.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<(&'a [f64], usize)> {
        let values = self.columns.iter().find(|column| column.name == name)?.values;
        let per_row = values.len() / self.rows_of_columns;
        Some((&values[self.first_row * per_row..(self.first_row + self.len) * per_row], per_row))
    }

    /// The names of the attached columns.
    pub fn column_names(&self) -> impl Iterator<Item = &'a str> {
        self.columns.iter().map(|column| column.name)
    }
}

fn same_length(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Dimension { what, expected, found }) }
}

/// The smallest repeated id with its first two rows. Ids in ascending order, the common case, cost one pass.
fn first_duplicate(ids: &[u64]) -> Option<(u64, usize, usize)> {
    if ids.windows(2).all(|pair| pair[0] < pair[1]) {
        return None;
    }
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0] < pair[1]) {
        return None;
    }
    let mut sorted: Vec<(u64, usize)> = ids.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let pair = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
    Some((pair[0].0, pair[0].1, pair[1].1))
}
