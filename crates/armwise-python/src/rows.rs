//! Features that are still columns of a table.
//!
//! The best few of many rows are chosen part by part, from a buffer that stays in the cache, so that nothing of the size of
//! the table is made; the decision is that of the whole, to the bit. Everything else gets the whole matrix, and so does a
//! choice that fails, for the error to speak of the rows as they are.

use armwise::{Arms, Decision, Error, Keys, Learner, Oracle, Round};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    gate,
    given::LentIds,
    interleave::{Column, Columns, Number},
    oracle::AnyOracle,
    policy::AnyPolicy,
};

/// From this many rows on, choosing part by part is worth it.
const MANY: usize = 1 << 15;
/// Rows of a part.
const PART: usize = 1 << 14;

/// A numpy vector of numbers.
#[derive(FromPyObject)]
enum Vector {
    F64(Py<PyArray1<f64>>),
    F32(Py<PyArray1<f32>>),
}

/// A vector that is being read.
enum Reading<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
}

enum Source {
    Arrow(Vec<Vec<ArrayRef>>),
    Numpy(Vec<Vector>),
}

/// The feature columns of a table.
#[pyclass(frozen)]
pub(crate) struct Rows {
    source: Source,
    rows: usize,
    /// Whether all numbers are of single precision.
    single: bool,
}

#[pymethods]
impl Rows {
    /// From numpy vectors of the same length.
    #[new]
    fn new(py: Python<'_>, columns: Vec<Vector>) -> PyResult<Self> {
        let len = |vector: &Vector| match vector {
            Vector::F64(values) => values.bind(py).len(),
            Vector::F32(values) => values.bind(py).len(),
        };
        let lengths = columns.iter().map(len).collect::<PyResult<Vec<usize>>>()?;
        let rows = lengths.first().copied().ok_or_else(no_columns)?;
        if let Some(other) = lengths.iter().find(|&&other| other != rows) {
            let text = format!("columns of {rows} and of {other} rows cannot stand side by side");
            return Err(PyValueError::new_err(text));
        }
        let single = columns.iter().all(|vector| matches!(vector, Vector::F32(_)));
        Ok(Self { source: Source::Numpy(columns), rows, single })
    }

    /// The numbers of rows and of features.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let dim = match &self.source {
            Source::Arrow(columns) => columns.len(),
            Source::Numpy(columns) => columns.len(),
        };
        (self.rows, dim)
    }

    /// All rows, row-major.
    pub(crate) fn matrix<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fn all<'py, T: Number>(py: Python<'py>, columns: &Columns<'_>) -> PyResult<Bound<'py, PyAny>> {
            let (rows, dim) = (columns.rows(), columns.dim());
            let all = gate::detach(py, || {
                let mut all = vec![T::default(); rows * dim];
                columns.fill(0, &mut all);
                all
            });
            Ok(PyArray1::from_vec(py, all).reshape([rows, dim])?.into_any())
        }
        let single = self.single;
        self.with(py, |columns| if single { all::<f32>(py, columns) } else { all::<f64>(py, columns) })?
    }
}

impl Rows {
    /// From Arrow columns of numbers, all in the same parts.
    pub(crate) fn of_arrow(columns: Vec<Vec<ArrayRef>>) -> PyResult<Self> {
        let first = columns.first().ok_or_else(no_columns)?;
        let rows = first.iter().map(|part| part.len()).sum();
        let single = columns.iter().flatten().all(|part| *part.data_type() == DataType::Float32);
        Ok(Self { source: Source::Arrow(columns), rows, single })
    }

    /// Calls `work` with the columns as they are used without the interpreter's lock.
    fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&Columns<'_>) -> R) -> PyResult<R> {
        match &self.source {
            Source::Arrow(columns) => {
                let lengths = columns.first().into_iter().flatten().map(|part| part.len());
                Ok(work(&Columns::new(columns.iter().map(|parts| Column::Arrow(parts)).collect(), lengths)))
            }
            Source::Numpy(columns) => {
                let read = |vector: &Vector| -> PyResult<Reading<'_>> {
                    Ok(match vector {
                        Vector::F64(values) => Reading::F64(values.bind(py).try_readonly()?),
                        Vector::F32(values) => Reading::F32(values.bind(py).try_readonly()?),
                    })
                };
                let reading = columns.iter().map(read).collect::<PyResult<Vec<_>>>()?;
                let view = |reading| match reading {
                    &Reading::F64(ref values) => Column::F64(values.as_array()),
                    &Reading::F32(ref values) => Column::F32(values.as_array()),
                };
                Ok(work(&Columns::new(reading.iter().map(view).collect(), [self.rows].into_iter())))
            }
        }
    }

    /// The decision, part by part; none where it must be made from the whole.
    pub(crate) fn choose(
        &self,
        py: Python<'_>,
        core: &Learner<AnyPolicy>,
        round: Round,
        ids: &LentIds<'_>,
        eligible: Option<&[bool]>,
        oracle: &AnyOracle,
    ) -> PyResult<Option<Decision>> {
        let odd = eligible.is_some_and(|flags| flags.is_empty() || !flags.len().is_multiple_of(self.rows));
        if self.rows < MANY || odd || !oracle.needs_few(self.rows) {
            return Ok(None);
        }
        let single = self.single;
        self.with(py, |columns| {
            let chosen = oracle.with(py, |oracle| {
                let keys = ids.keys(Keys::numbers(columns.rows())?)?;
                if single {
                    by_parts::<f32>(core, round, columns, keys, eligible, oracle)
                } else {
                    by_parts::<f64>(core, round, columns, keys, eligible, oracle)
                }
            });
            chosen.ok()
        })
    }
}

fn no_columns() -> PyErr {
    PyValueError::new_err("no columns are left for features; name them with features=[...]")
}

fn by_parts<T: Number>(
    core: &Learner<AnyPolicy>,
    round: Round,
    columns: &Columns<'_>,
    keys: Keys<'_>,
    eligible: Option<&[bool]>,
    oracle: &dyn Oracle,
) -> Result<Decision, Error> {
    let (rows, dim) = (columns.rows(), columns.dim());
    let per_row = eligible.map_or(0, |flags| flags.len() / rows);
    let mut choosing = core.choosing(round, oracle)?;
    let mut room = vec![T::default(); PART.min(rows) * dim];
    for first in (0..rows).step_by(PART) {
        let last = rows.min(first + PART);
        let values = &mut room[..(last - first) * dim];
        columns.fill(first, values);
        let mut part = Arms::new(T::features(values), dim)?.with_keys(keys.slice(first..last))?;
        if let Some(flags) = eligible {
            part = part.with_eligible(&flags[first * per_row..last * per_row])?;
        }
        choosing.add(&part)?;
    }
    choosing.finish()
}
