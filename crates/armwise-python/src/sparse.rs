//! Sparse rows (CSR), made dense a part at a time: a choice keeps candidates only, as from any arms that come in parts.
//!
//! A part is what fits into [`PART`] numbers. Rows are widened exactly as numpy's dense ones would be, and the library's
//! answers do not depend on parts, so the bits are those of the dense matrix.

use std::ops::Range;

use armwise::{Arms, Error, Features, Learner, Round};
use numpy::PyReadonlyArray1;
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{decision::Decision, given::Lent, oracle::AnyOracle, policy::AnyPolicy};

/// Numbers in a part: 32 MB of f64.
const PART: usize = 1 << 22;

/// The three arrays of a CSR matrix and its number of columns, borrowed.
#[derive(FromPyObject)]
pub(crate) struct Csr<'py>(Values<'py>, Places<'py>, Places<'py>, usize);

#[derive(FromPyObject)]
enum Values<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
}

#[derive(FromPyObject)]
enum Places<'py> {
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
}

impl Csr<'_> {
    /// The matrix as plain slices, checked.
    pub(crate) fn lend(&self) -> PyResult<Sparse<'_>> {
        let Self(values, columns, starts, dim) = self;
        let values = match values {
            Values::F64(values) => Features::F64(values.as_slice()?),
            Values::F32(values) => Features::F32(values.as_slice()?),
        };
        let stored = match values {
            Features::F32(x) => x.len(),
            Features::F64(x) => x.len(),
        };
        let (columns, starts) = (Slice::of(columns)?, Slice::of(starts)?);
        let starts: Vec<usize> = (0..starts.len()).map(|row| starts.get(row)).collect();
        let ends = starts.first() == Some(&0) && starts.last() == Some(&stored) && columns.len() == stored;
        if !ends || !starts.is_sorted() || (0..stored).any(|place| columns.get(place) >= *dim) {
            return Err(PyValueError::new_err("X is not a valid CSR matrix: its index arrays contradict each other"));
        }
        Ok(Sparse { values, columns, starts, dim: *dim })
    }
}

#[derive(Clone, Copy)]
enum Slice<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
}

impl<'a> Slice<'a> {
    fn of(places: &'a Places<'_>) -> PyResult<Self> {
        Ok(match places {
            Places::I32(places) => Self::I32(places.as_slice()?),
            Places::I64(places) => Self::I64(places.as_slice()?),
        })
    }

    fn len(self) -> usize {
        match self {
            Self::I32(places) => places.len(),
            Self::I64(places) => places.len(),
        }
    }

    /// A negative number, which no valid matrix has, is made too large.
    fn get(self, place: usize) -> usize {
        let wide = match self {
            Self::I32(places) => i64::from(places[place]),
            Self::I64(places) => places[place],
        };
        usize::try_from(wide).unwrap_or(usize::MAX)
    }
}

/// A CSR matrix whose index arrays fit together.
pub(crate) struct Sparse<'a> {
    values: Features<'a>,
    columns: Slice<'a>,
    /// Where each row starts, and where the last one ends.
    starts: Vec<usize>,
    dim: usize,
}

impl Sparse<'_> {
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Calls `each` with the rows of each part, dense. Row numbers in errors are those of the whole.
    pub(crate) fn parts(
        &self,
        mut each: impl FnMut(Range<usize>, Features<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let rows = (PART / self.dim.max(1)).clamp(1, self.len().max(1));
        let (mut single, mut double) = (Vec::new(), Vec::new());
        for first in (0..self.len()).step_by(rows) {
            let part = first..(first + rows).min(self.len());
            let done = match self.values {
                Features::F32(values) => each(part.clone(), Features::F32(self.dense(part, values, &mut single))),
                Features::F64(values) => each(part.clone(), Features::F64(self.dense(part, values, &mut double))),
            };
            done.map_err(|error| counted_from(first, error))?;
        }
        Ok(())
    }

    /// A number that is stored twice is added up, as everywhere in scipy.
    fn dense<'b, T: Copy + Default + std::ops::AddAssign>(
        &self,
        rows: Range<usize>,
        values: &[T],
        into: &'b mut Vec<T>,
    ) -> &'b [T] {
        into.clear();
        into.resize(rows.len() * self.dim, T::default());
        for (row, x) in rows.zip(into.chunks_exact_mut(self.dim.max(1))) {
            for place in self.starts[row]..self.starts[row + 1] {
                x[self.columns.get(place)] += values[place];
            }
        }
        into
    }

    /// The arms of a part, with the keys and the mask of the whole.
    fn arms<'b>(
        &self,
        whole: &Lent<'b>,
        keys: &Arms<'b>,
        part: Range<usize>,
        x: Features<'b>,
    ) -> Result<Arms<'b>, Error> {
        let arms = Arms::new(x, self.dim)?.with_keys(keys.slice(part.clone()).keys())?;
        match whole.eligible {
            Some(mask) => {
                let per_row = mask.len() / keys.len();
                arms.with_eligible(&mask[part.start * per_row..part.end * per_row])
            }
            None => Ok(arms),
        }
    }
}

/// The error with rows counted from the first row of the whole, not of the part.
pub(crate) fn counted_from(first: usize, mut error: Error) -> Error {
    if let Error::FeatureNotFinite { row, .. }
    | Error::FeatureTooLarge { row, .. }
    | Error::ObservedNotFinite { row, .. }
    | Error::ScoreNotFinite { row, .. }
    | Error::ScoreOverflow { row, .. } = &mut error
    {
        *row += first;
    }
    error
}

/// Chooses from sparse rows; `lent` holds their ids, mask and columns, and one placeholder for the features of each.
pub(crate) fn choose(
    py: Python<'_>,
    core: &Learner<AnyPolicy>,
    round: Round,
    rows: &Sparse<'_>,
    lent: &Lent<'_>,
    oracle: &AnyOracle,
) -> PyResult<Decision> {
    let (inner, rows) = oracle.with(py, |oracle| {
        let keys = lent.arms()?;
        let mut choosing = core.choosing(round, oracle)?;
        rows.parts(|part, x| choosing.add(&rows.arms(lent, &keys, part, x)?))?;
        let decision = choosing.finish()?;
        let rows = lent.rows(&decision);
        Ok((decision, rows))
    })?;
    Ok(Decision::new(inner, rows))
}

/// The scores of sparse rows.
pub(crate) fn scores(
    core: &Learner<AnyPolicy>,
    round: Round,
    rows: &Sparse<'_>,
    lent: &Lent<'_>,
) -> Result<Vec<f64>, Error> {
    let keys = lent.arms()?;
    let mut scores = Vec::with_capacity(rows.len() * core.model().blocks().len());
    rows.parts(|part, x| {
        scores.extend(core.scores(round, &rows.arms(lent, &keys, part, x)?)?);
        Ok(())
    })?;
    Ok(scores)
}
