//! The arms of a round as Python gives them: arrays that are borrowed, never copied.
//!
//! [`Given`] holds the Python objects and [`Lent`] the plain slices, which can be used without the interpreter's lock.

use std::{borrow::Cow, ops::Range};

use armwise::{Arms, Column, Error, Features, Keys, id_of};
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::{Borrowed, exceptions::PyTypeError, intern, prelude::*, types::PyString};

use crate::{errors::raise, gate, rows::Rows};

/// Names of arms, hashed once.
#[pyclass(frozen)]
pub(crate) struct Names {
    pub(crate) names: armwise::Names,
}

#[pymethods]
impl Names {
    #[new]
    fn new(py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        let names = gate::detach(py, || armwise::Names::new(names)).map_err(|error| raise(py, &error))?;
        Ok(Self { names })
    }

    fn __len__(&self) -> usize {
        self.names.ids().len()
    }
}

/// Row-major features, f32 or f64.
pub(crate) enum Matrix<'py> {
    F64(PyReadonlyArray2<'py, f64>),
    F32(PyReadonlyArray2<'py, f32>),
}

/// Written by hand: the derived version is slow, because it formats an error message for every f32 array that is not
/// f64.
impl<'py> FromPyObject<'_, 'py> for Matrix<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(x) = given.cast::<PyArray2<f64>>() {
            return Ok(Self::F64(x.try_readonly()?));
        }
        match given.cast::<PyArray2<f32>>() {
            Ok(x) => Ok(Self::F32(x.try_readonly()?)),
            Err(_) => Err(PyTypeError::new_err("features must be a matrix of float32 or float64")),
        }
    }
}

impl Matrix<'_> {
    /// The values and the number of columns.
    pub(crate) fn lend(&self) -> PyResult<(Features<'_>, usize)> {
        let apart = |error| PyTypeError::new_err(format!("features must be a C-contiguous array: {error}"));
        Ok(match self {
            Self::F64(x) => (Features::F64(x.as_slice().map_err(apart)?), x.shape()[1]),
            Self::F32(x) => (Features::F32(x.as_slice().map_err(apart)?), x.shape()[1]),
        })
    }
}

/// Features as a matrix, or as columns of a table.
pub(crate) enum X<'py> {
    Matrix(Matrix<'py>),
    Rows(Bound<'py, Rows>),
}

impl<'py> FromPyObject<'_, 'py> for X<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(rows) = given.cast::<Rows>() {
            return Ok(Self::Rows(rows.to_owned()));
        }
        Ok(Self::Matrix(given.extract()?))
    }
}

impl<'py> X<'py> {
    /// The matrix; made here where the features are columns.
    pub(crate) fn matrix(self) -> PyResult<Matrix<'py>> {
        match self {
            Self::Matrix(matrix) => Ok(matrix),
            Self::Rows(rows) => rows.get().matrix(rows.py())?.extract(),
        }
    }
}

/// What identifies a row across rounds.
#[derive(FromPyObject)]
pub(crate) enum Ids<'py> {
    Ids(PyReadonlyArray1<'py, u64>),
    Names(Py<Names>),
}

/// The arms of a round as they come from Python.
pub(crate) struct Given<'py> {
    pub(crate) x: Matrix<'py>,
    pub(crate) ids: Option<Ids<'py>>,
    pub(crate) eligible: Option<PyReadonlyArrayDyn<'py, bool>>,
    pub(crate) columns: Vec<(String, PyReadonlyArrayDyn<'py, f64>)>,
}

/// The same as plain slices.
pub(crate) struct Lent<'a> {
    features: Features<'a>,
    dim: usize,
    ids: LentIds<'a>,
    pub(crate) eligible: Option<&'a [bool]>,
    columns: Vec<Column<'a>>,
}

/// What identifies a row, as plain slices.
pub(crate) enum LentIds<'a> {
    Rows,
    Ids(&'a [u64]),
    Names(&'a armwise::Names),
}

impl<'a> LentIds<'a> {
    pub(crate) fn of(ids: Option<&'a Ids<'_>>) -> PyResult<Self> {
        let apart = |_| PyTypeError::new_err("ids must be a C-contiguous array");
        Ok(match ids {
            None => Self::Rows,
            Some(Ids::Ids(ids)) => Self::Ids(ids.as_slice().map_err(apart)?),
            Some(Ids::Names(names)) => Self::Names(&names.get().names),
        })
    }

    /// The number that identifies a row.
    pub(crate) fn number(&self, row: usize) -> u64 {
        match self {
            Self::Rows => row as u64,
            Self::Ids(ids) => ids[row],
            Self::Names(names) => names.ids()[row],
        }
    }

    /// The name of a row, if rows have names.
    pub(crate) fn name(&self, row: usize) -> Option<&str> {
        match self {
            Self::Names(names) => Some(names.get(row)),
            _ => None,
        }
    }

    /// The numbers that identify these rows.
    pub(crate) fn numbers(&self, rows: Range<usize>) -> Cow<'_, [u64]> {
        match self {
            Self::Rows => rows.map(|row| row as u64).collect(),
            Self::Ids(ids) => Cow::Borrowed(&ids[rows]),
            Self::Names(names) => Cow::Borrowed(&names.ids()[rows]),
        }
    }

    /// The names of these rows, if rows have names.
    pub(crate) fn names(&self, rows: &[usize]) -> Result<Option<armwise::Names>, Error> {
        let Self::Names(names) = self else { return Ok(None) };
        armwise::Names::new(rows.iter().map(|&row| names.get(row).to_owned()).collect::<Vec<_>>()).map(Some)
    }

    /// The library's view; here ids are checked for duplicates.
    pub(crate) fn keys<'k>(&'k self, rows: Keys<'k>) -> Result<Keys<'k>, Error> {
        match self {
            Self::Rows => Ok(rows),
            Self::Ids(ids) => rows.with_ids(ids),
            Self::Names(names) => rows.with_names(names),
        }
    }
}

impl Given<'_> {
    pub(crate) fn lend(&self) -> PyResult<Lent<'_>> {
        let (features, dim) = self.x.lend()?;
        let apart = |what: &str| PyTypeError::new_err(format!("{what} must be a C-contiguous array"));
        let ids = LentIds::of(self.ids.as_ref())?;
        let eligible = self.eligible.as_ref().map(|mask| mask.as_slice().map_err(|_| apart("eligible"))).transpose()?;
        let column = |(name, values): &'_ (String, PyReadonlyArrayDyn<'_, f64>)| -> PyResult<()> {
            values.as_slice().map(|_| ()).map_err(|_| apart(name))
        };
        self.columns.iter().try_for_each(column)?;
        let columns = self.columns.iter();
        let columns = columns.filter_map(|(name, values)| Some(Column { name, values: values.as_slice().ok()? }));
        Ok(Lent { features, dim, ids, eligible, columns: columns.collect() })
    }
}

impl Lent<'_> {
    /// The library's view.
    pub(crate) fn arms(&self) -> Result<Arms<'_>, Error> {
        let mut arms = Arms::new(self.features, self.dim)?;
        arms = arms.with_keys(self.ids.keys(arms.keys())?)?;
        if let Some(eligible) = self.eligible {
            arms = arms.with_eligible(eligible)?;
        }
        arms.with_columns(&self.columns)
    }

    /// The rows of the chosen arms, which decisions do not keep.
    pub(crate) fn rows(&self, decision: &armwise::Decision) -> Vec<usize> {
        self.ids.rows(decision)
    }
}

impl LentIds<'_> {
    /// The rows of the chosen arms, which decisions do not keep.
    pub(crate) fn rows(&self, decision: &armwise::Decision) -> Vec<usize> {
        let ids = match self {
            Self::Rows => return decision.arms.iter().map(|arm| arm.id as usize).collect(),
            Self::Ids(ids) => ids,
            Self::Names(names) => names.ids(),
        };
        let mut rows = vec![usize::MAX; decision.arms.len()];
        let mut places: Vec<(u64, usize)> = decision.arms.iter().map(|arm| arm.id).zip(0..).collect();
        places.sort_unstable();
        // Few rows are chosen, so a small table of bits rules out most of the others with one lookup.
        let bits = (16 * places.len().max(4)).next_power_of_two();
        let slot = |id: u64| (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (bits - 1);
        let mut seen = vec![false; bits];
        for &(id, _) in &places {
            seen[slot(id)] = true;
        }
        for (row, &id) in ids.iter().enumerate().filter(|(_, id)| seen[slot(**id)]) {
            let first = places.partition_point(|&(other, _)| other < id);
            for &(_, place) in places[first..].iter().take_while(|&&(other, _)| other == id) {
                let same = match self {
                    Self::Names(names) => decision.arms[place].name.as_deref() == Some(names.get(row)),
                    _ => true,
                };
                if same {
                    rows[place] = row;
                }
            }
        }
        rows
    }
}

/// Numbers from anything that numpy accepts as a vector.
pub(crate) fn floats(values: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f64>> {
    let py = values.py();
    let array = py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "ascontiguousarray"), (values, "float64"))?;
    let array: PyReadonlyArray1<'_, f64> =
        array.extract().map_err(|_| PyTypeError::new_err(format!("{what} must be one number per element")))?;
    Ok(array.as_slice()?.to_vec())
}

/// The id of an arm by name, or by number.
pub(crate) fn reward_of(key: &Bound<'_, PyAny>, block: u32, reward: f64) -> Option<armwise::Reward> {
    if let Ok(name) = key.cast::<PyString>() {
        let name = name.to_str().ok()?.to_owned();
        return Some(armwise::Reward { id: id_of(&name), name: Some(name), block, reward });
    }
    let id = key.extract::<u64>().ok()?;
    Some(armwise::Reward { id, name: None, block, reward })
}
