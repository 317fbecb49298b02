//! The arms of a round: a borrowed view of feature rows with stable ids.
//!
//! Nothing is copied and the storage may be f32 or f64; every row is widened to f64 before
//! arithmetic, so the same values give the same bits whichever way they are stored. Features are checked where
//! they are first read (a bad one makes its row's mean not finite), which saves a pass over memory.

use super::{Column, Keys, Names, OwnedArms};
use crate::Error;
use std::ops::Range;

/// Row-major features in either precision.
#[derive(Debug, Clone, Copy)]
pub enum Features<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

impl<'a> From<&'a [f32]> for Features<'a> {
    fn from(values: &'a [f32]) -> Self {
        Self::F32(values)
    }
}

impl<'a> From<&'a [f64]> for Features<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self::F64(values)
    }
}

impl<'a> From<&'a Vec<f32>> for Features<'a> {
    fn from(values: &'a Vec<f32>) -> Self {
        Self::F32(values)
    }
}

impl<'a> From<&'a Vec<f64>> for Features<'a> {
    fn from(values: &'a Vec<f64>) -> Self {
        Self::F64(values)
    }
}

/// The rows x_t(i) of a round, borrowed.
///
/// # Example
/// ```
/// use armwise::Arms;
/// let x = [1.0, 0.0, 0.6, 0.8];
/// let arms = Arms::new(&x[..], 2)?.with_ids(&[17, 4])?;
/// assert_eq!((arms.len(), arms.id(1)), (2, 4));
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Arms<'a> {
    features: Features<'a>,
    dim: usize,
    keys: Keys<'a>,
    /// One flag per row, or one per row and block.
    eligible: Option<&'a [bool]>,
}

impl<'a> From<Arms<'a>> for Keys<'a> {
    fn from(arms: Arms<'a>) -> Self {
        arms.keys
    }
}

impl<'a> Arms<'a> {
    /// Takes row-major features, `dim` to a row. The id of a row is its number until ids or names are given.
    ///
    /// # Errors
    /// [`Error::NoArms`] without rows, [`Error::Dimension`] unless there is a whole number of rows.
    pub fn new(features: impl Into<Features<'a>>, dim: usize) -> Result<Self, Error> {
        let features = features.into();
        let values = match features {
            Features::F32(x) => x.len(),
            Features::F64(x) => x.len(),
        };
        if values > 0 && (dim == 0 || !values.is_multiple_of(dim)) {
            let what = "features in the last row";
            return Err(Error::Dimension { what, expected: dim, found: values.checked_rem(dim).unwrap_or(values) });
        }
        let keys = Keys::numbers(values.checked_div(dim).unwrap_or(0))?;
        Ok(Self { features, dim, keys, eligible: None })
    }

    /// Takes the ids or names and the columns of these keys, one for each row.
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of rows.
    pub fn with_keys(self, keys: Keys<'a>) -> Result<Self, Error> {
        if keys.len() == self.len() {
            return Ok(Self { keys, ..self });
        }
        Err(Error::Dimension { what: "rows of the keys", expected: self.len(), found: keys.len() })
    }

    /// Gives every row a stable id: see [`Keys::with_ids`].
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of ids than rows, [`Error::DuplicateId`] if an id appears twice.
    pub fn with_ids(self, ids: &'a [u64]) -> Result<Self, Error> {
        Ok(Self { keys: self.keys.with_ids(ids)?, ..self })
    }

    /// Gives every row a name: see [`Keys::with_names`].
    ///
    /// # Errors
    /// [`Error::Dimension`] for another number of names than rows.
    pub fn with_names(self, names: &'a Names) -> Result<Self, Error> {
        Ok(Self { keys: self.keys.with_names(names)?, ..self })
    }

    /// Attaches the columns that constraints refer to by name: see [`Keys::with_columns`].
    ///
    /// # Errors
    /// [`Error::Dimension`] if a column is not a whole number of values per row, [`Error::Constraint`] if two columns
    /// have the same name.
    pub fn with_columns(self, columns: &'a [Column<'a>]) -> Result<Self, Error> {
        Ok(Self { keys: self.keys.with_columns(columns)?, ..self })
    }

    /// Says which rows may be chosen (one flag per row), or which pairs (one per row and block, row-major).
    ///
    /// # Errors
    /// [`Error::Dimension`] if the mask is not a whole number of flags per row.
    pub fn with_eligible(self, eligible: &'a [bool]) -> Result<Self, Error> {
        if eligible.is_empty() || !eligible.len().is_multiple_of(self.len()) {
            return Err(Error::Dimension { what: "eligible flags", expected: self.len(), found: eligible.len() });
        }
        Ok(Self { eligible: Some(eligible), ..self })
    }

    /// The rows of a range, with their ids, flags and columns.
    ///
    /// # Panics
    /// If the range is empty or reaches past the last row.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        assert!(rows.start < rows.end && rows.end <= self.len(), "rows {rows:?} of {}", self.len());
        let cut = rows.start * self.dim..rows.end * self.dim;
        let per_row = self.eligible_per_row();
        Self {
            features: match self.features {
                Features::F32(x) => Features::F32(&x[cut]),
                Features::F64(x) => Features::F64(&x[cut]),
            },
            eligible: self.eligible.map(|mask| &mask[rows.start * per_row..rows.end * per_row]),
            keys: self.keys.slice(rows),
            dim: self.dim,
        }
    }

    /// Copies of some rows.
    pub(crate) fn gather(&self, rows: &[usize]) -> OwnedArms {
        let mut gathered = OwnedArms::default();
        gathered.extend(self, rows);
        gathered
    }

    /// The number of rows.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "arms are never empty")]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of features of a row, d.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The ids or names and the columns of the rows, without their features.
    #[must_use]
    pub fn keys(&self) -> Keys<'a> {
        self.keys
    }

    /// The id of a row.
    #[must_use]
    #[inline]
    pub fn id(&self, row: usize) -> u64 {
        self.keys.id(row)
    }

    /// The name of a row, where names were given.
    #[must_use]
    pub fn name(&self, row: usize) -> Option<&'a str> {
        self.keys.name(row)
    }

    /// The features of these arms.
    #[must_use]
    pub fn features(&self) -> Features<'a> {
        self.features
    }

    /// The features of a row, widened to f64.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<f64> {
        let mut features = Vec::with_capacity(self.dim);
        self.row_onto(row, &mut features);
        features
    }

    /// Appends the features of a row to `to`.
    pub(crate) fn row_onto(&self, row: usize, to: &mut Vec<f64>) {
        let cut = row * self.dim..(row + 1) * self.dim;
        match self.features {
            Features::F32(x) => to.extend(x[cut].iter().map(|&x| f64::from(x))),
            Features::F64(x) => to.extend_from_slice(&x[cut]),
        }
    }

    /// The mask, if there is one: a flag for each row, or row by row one for each block.
    #[must_use]
    pub fn eligible(&self) -> Option<&'a [bool]> {
        self.eligible
    }

    /// How many eligible flags a row has: 0 (no mask), 1, or the number of blocks.
    pub(crate) fn eligible_per_row(&self) -> usize {
        self.eligible.map_or(0, |mask| mask.len() / self.len())
    }

    /// Whether row `row` may be chosen in block `block`.
    #[must_use]
    pub fn is_eligible(&self, row: usize, block: usize) -> bool {
        match (self.eligible, self.eligible_per_row()) {
            (None, _) => true,
            (Some(mask), 1) => mask[row],
            (Some(mask), blocks) => mask[row * blocks + block],
        }
    }

    /// Whether these features share their memory with the given ones, rather than being a copy.
    pub(crate) fn has_features_of(&self, other: &Self) -> bool {
        let place = |features: Features<'_>| match features {
            Features::F32(x) => (x.as_ptr().cast::<u8>(), x.len(), 4),
            Features::F64(x) => (x.as_ptr().cast::<u8>(), x.len(), 8),
        };
        place(self.features) == place(other.features)
    }
}
