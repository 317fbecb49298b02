//! Features that are still columns of a table.
//!
//! The best few of many rows are chosen part by part: most rows are dismissed as columns, before they are made, so that
//! nothing of the size of the table is made. The decision is that of the whole, to the bit. Everything else gets the whole
//! matrix, and so does a choice that fails, for the error to speak of the rows as they are.

use std::ops::Range;

use armwise::{Arms, Decision, Error, Keys, Learner, Oracle, Panels, Round, tasks::map};
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
/// Rows of the first part.
const PART: usize = 1 << 14;
/// Rows that one task screens.
const TASK: usize = 1 << 12;

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

impl Reading<'_> {
    fn column(&self) -> Column<'_> {
        match self {
            Self::F64(values) => Column::F64(values.as_array()),
            Self::F32(values) => Column::F32(values.as_array()),
        }
    }
}

enum Source {
    Arrow(Vec<Vec<ArrayRef>>),
    Numpy(Vec<Vector>),
}

/// The feature columns of a table.
#[pyclass(frozen)]
pub(crate) struct Rows {
    source: Source,
    len: usize,
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
        Ok(Self { source: Source::Numpy(columns), len: rows, single })
    }

    /// The numbers of rows and of features.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let dim = match &self.source {
            Source::Arrow(columns) => columns.len(),
            Source::Numpy(columns) => columns.len(),
        };
        (self.len, dim)
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
        let len = first.iter().map(Array::len).sum();
        let single = columns.iter().flatten().all(|part| *part.data_type() == DataType::Float32);
        Ok(Self { source: Source::Arrow(columns), len, single })
    }

    /// Calls `work` with the columns as they are used without the interpreter's lock.
    fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&Columns<'_>) -> R) -> PyResult<R> {
        match &self.source {
            Source::Arrow(columns) => {
                let lengths = columns.first().into_iter().flatten().map(Array::len);
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
                Ok(work(&Columns::new(reading.iter().map(Reading::column).collect(), [self.len].into_iter())))
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
        let odd = eligible.is_some_and(|flags| flags.is_empty() || !flags.len().is_multiple_of(self.len));
        if self.len < MANY || odd || !oracle.needs_few(self.len) {
            return Ok(None);
        }
        let single = self.single;
        self.with(py, |columns| {
            let chosen = oracle.with(py, |oracle| {
                if single {
                    by_parts::<f32>(core, round, columns, ids, eligible, oracle)
                } else {
                    by_parts::<f64>(core, round, columns, ids, eligible, oracle)
                }
            });
            chosen.ok()
        })
    }
}

fn no_columns() -> PyErr {
    PyValueError::new_err("no columns are left for features; name them with features=[...]")
}

/// The first part is given whole; it sets floors, and of the following, ever larger sections only the rows that a screen
/// marks are made.
fn by_parts<T: Number>(
    core: &Learner<AnyPolicy>,
    round: Round,
    columns: &Columns<'_>,
    ids: &LentIds<'_>,
    eligible: Option<&[bool]>,
    oracle: &dyn Oracle,
) -> Result<Decision, Error> {
    let rows = columns.rows();
    ids.keys(Keys::numbers(rows)?)?; // here ids are checked for duplicates
    let blocks = core.model().blocks().len();
    let mut choosing = core.choosing(round, oracle)?;
    let (mut first, mut section) = (0, PART);
    while first < rows {
        let last = rows.min(first + section);
        let marked: Vec<usize> = match choosing.screen() {
            None => (first..last).collect(),
            Some(screen) => {
                let task = |(panels, marked): &mut (Panels, Vec<bool>), number: usize| {
                    let first = first + number * TASK;
                    let last = last.min(first + TASK);
                    columns.panels(first..last, panels);
                    marked.clear();
                    marked.resize(last - first, false);
                    let flags = eligible.map_or(Vec::new(), |flags| pairs(flags, first..last, rows, blocks));
                    screen.mark(panels, &ids.numbers(first..last), &flags, marked);
                    (first..last).zip(&*marked).filter(|(_, marked)| **marked).map(|(row, _)| row).collect::<Vec<_>>()
                };
                map((last - first).div_ceil(TASK), Default::default, task).concat()
            }
        };
        choosing.skip(last - first - marked.len());
        for rows_of_part in marked.chunks(PART) {
            let values: Vec<T> = columns.gather(rows_of_part);
            let numbers: Vec<u64> = rows_of_part.iter().map(|&row| ids.number(row)).collect();
            let names = ids.names(rows_of_part)?;
            let part = Arms::new(T::features(&values), columns.dim())?;
            let part = match &names {
                Some(names) => part.with_names(names)?,
                None => part.with_ids(&numbers)?,
            };
            let per_row = eligible.map_or(0, |flags| flags.len() / rows);
            let flags = |flags: &[bool]| -> Vec<bool> {
                rows_of_part.iter().flat_map(|row| &flags[row * per_row..(row + 1) * per_row]).copied().collect()
            };
            match eligible.map(flags) {
                Some(flags) => choosing.add(&part.with_eligible(&flags)?)?,
                None => choosing.add(&part)?,
            }
        }
        (first, section) = (last, 4 * section);
    }
    choosing.finish()
}

/// A flag for each of these rows and each block, from flags for all rows, or for all rows and blocks.
fn pairs(flags: &[bool], part: Range<usize>, rows: usize, blocks: usize) -> Vec<bool> {
    let per_row = flags.len() / rows;
    let flags = &flags[part.start * per_row..part.end * per_row];
    if per_row == blocks { flags.to_vec() } else { flags.iter().flat_map(|&flag| vec![flag; blocks]).collect() }
}
