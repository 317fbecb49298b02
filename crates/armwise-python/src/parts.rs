//! Choosing from parts of a table that lie on several machines: what each part needs, its candidates, the decision.
//!
//! The posteriors are factored once and sent, so that no bit depends on the machine that scores a part.

use armwise::{Arms, ChosenArm, Error, Features, Proof, Quality, Round};
use numpy::{
    PyArray1, PyArrayMethods, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods, ndarray::ArrayView1,
};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyList};

use crate::{
    decision::Decision,
    errors::{bad_json, raise},
    gate::detach,
    given::{Given, Ids, LentIds, X},
    oracle::AnyOracle,
    policy::AnyPolicy,
    sparse::counted_from,
};

/// A learner frozen for a round.
#[pyclass(frozen)]
pub(crate) struct Frozen {
    pub(crate) inner: armwise::Frozen<AnyPolicy>,
}

/// The arms of a part: features, ids, flags and columns.
type Part<'py> =
    (X<'py>, Option<Ids<'py>>, Option<PyReadonlyArrayDyn<'py, bool>>, Vec<(String, PyReadonlyArrayDyn<'py, f64>)>);

/// Candidates as Python takes them: ids (an array or a list of names), features, flags, columns.
type Kept<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Vec<(String, Bound<'py, PyAny>)>);

fn given((x, ids, eligible, columns): Part<'_>) -> PyResult<Given<'_>> {
    Ok(Given { x: x.matrix()?, ids, eligible, columns })
}

#[pymethods]
impl Frozen {
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map(|inner| Self { inner }).map_err(|error| bad_json("a frozen learner", error))
    }

    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner).map_err(|error| bad_json("a frozen learner", error))
    }

    #[getter]
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    /// Floors guessed from a sample that is this share of all rows.
    fn guess<'py>(
        &self,
        py: Python<'py>,
        sample: Part<'py>,
        constraint: &Bound<'py, PyAny>,
        share: f64,
    ) -> PyResult<Option<Vec<f64>>> {
        let (given, oracle) = (given(sample)?, AnyOracle::new(constraint)?);
        let lent = given.lend()?;
        oracle.with(py, |oracle| {
            let mut choosing = self.inner.choosing(oracle)?;
            choosing.guess(&lent.arms()?, share)?;
            Ok(choosing.floors())
        })
    }

    /// The rows of a part that may be chosen from the whole, and how many rows it has. The part comes in batches.
    fn candidates<'py>(
        &self,
        py: Python<'py>,
        batches: &Bound<'py, PyAny>,
        constraint: &Bound<'py, PyAny>,
        floors: Option<Vec<f64>>,
    ) -> PyResult<(usize, Option<Kept<'py>>)> {
        let AnyOracle::Constraint(constraint) = AnyOracle::new(constraint)? else {
            return Err(PyTypeError::new_err("an oracle written in Python sees all arms at once: give a constraint"));
        };
        let raise = |error: Error| raise(py, &error);
        let mut choosing = self.inner.choosing(&constraint).map_err(raise)?;
        if let Some(floors) = floors {
            choosing.set_floors(floors).map_err(raise)?;
        }
        let mut rows = 0;
        for batch in batches.try_iter()? {
            let given = given(batch?.extract()?)?;
            let lent = given.lend()?;
            let added = detach(py, || {
                let arms = lent.arms()?;
                choosing.add(&arms).map(|()| arms.len())
            });
            rows += added.map_err(|error| raise(counted_from(rows, error)))?;
        }
        let kept = choosing.candidates(|arms| Ok(kept(py, arms))).map_err(raise)?.transpose()?;
        Ok((rows, kept))
    }

    /// The decision from the candidates of all parts, which have so many more rows; or, if the floors were a guess that
    /// turns out to be wrong, the floors with which the candidates must be collected once more.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        kept: Part<'py>,
        constraint: &Bound<'py, PyAny>,
        guess: Option<Vec<f64>>,
        others: usize,
    ) -> PyResult<(Option<Decision>, Option<Vec<f64>>)> {
        let (given, oracle) = (given(kept)?, AnyOracle::new(constraint)?);
        let lent = given.lend()?;
        let (decision, floors) = oracle.with(py, |oracle| {
            let mut choosing = self.inner.choosing(oracle)?;
            if let Some(guess) = guess {
                choosing.set_floors(guess)?;
            }
            choosing.add(&lent.arms()?)?;
            choosing.skip(others);
            match choosing.prove()? {
                Proof::Done => Ok((Some(choosing.finish()?), None)),
                Proof::Again => Ok((None, choosing.floors())),
            }
        })?;
        let rows = |decision: &armwise::Decision| vec![usize::MAX; decision.arms.len()];
        Ok((
            decision.map(|decision| (rows(&decision), decision)).map(|(rows, inner)| Decision::new(inner, rows)),
            floors,
        ))
    }
}

/// Arms as arrays; rows are few, so they are copied.
fn kept<'py>(py: Python<'py>, arms: &Arms<'_>) -> PyResult<Kept<'py>> {
    let (rows, keys) = (arms.len(), arms.keys());
    let ids = match keys.name(0) {
        Some(_) => PyList::new(py, (0..rows).map(|row| keys.name(row).unwrap_or_default()))?.into_any(),
        None => PyArray1::from_iter(py, (0..rows).map(|row| keys.id(row))).into_any(),
    };
    let x = match arms.features() {
        Features::F32(x) => PyArray1::from_slice(py, x).reshape([rows, arms.dim()])?.into_any(),
        Features::F64(x) => PyArray1::from_slice(py, x).reshape([rows, arms.dim()])?.into_any(),
    };
    let flags = |flags: &[bool]| shaped(PyArray1::from_slice(py, flags), rows);
    let eligible = arms.eligible().map(flags).transpose()?;
    let column = |name: &str| -> Option<PyResult<(String, Bound<'py, PyAny>)>> {
        let (values, _) = keys.column(name)?;
        Some(shaped(PyArray1::from_slice(py, values), rows).map(|values| (name.to_owned(), values)))
    };
    let columns = keys.column_names().filter_map(column).collect::<PyResult<_>>()?;
    Ok((ids, x, eligible, columns))
}

/// One value to a row as a vector, several as a matrix.
fn shaped<T: numpy::Element>(values: Bound<'_, PyArray1<T>>, rows: usize) -> PyResult<Bound<'_, PyAny>> {
    let per_row = values.len() / rows;
    if per_row == 1 { Ok(values.into_any()) } else { Ok(values.reshape([rows, per_row])?.into_any()) }
}

/// A decision that has what learning needs and no more: the round, and the id, block and features of each arm.
#[pyfunction]
pub(crate) fn decision_of_rows(
    seed: u64,
    t: u64,
    ids: Ids<'_>,
    blocks: Vec<u32>,
    x: PyReadonlyArray2<'_, f64>,
) -> PyResult<Decision> {
    let (keys, x) = (LentIds::of(Some(&ids))?, x.as_array());
    let arm = |((row, x), block): ((usize, ArrayView1<'_, f64>), u32)| ChosenArm {
        id: keys.number(row),
        name: keys.name(row).map(str::to_owned),
        block,
        mean: f64::NAN,
        width: f64::NAN,
        draw: None,
        score: f64::NAN,
        probability: None,
        features: x.to_vec().into(),
    };
    let arms: Vec<ChosenArm> = x.rows().into_iter().enumerate().zip(blocks).map(arm).collect();
    let rows = vec![usize::MAX; arms.len()];
    let inner = armwise::Decision {
        round: Round::new(seed, t),
        arms,
        objective: f64::NAN,
        upper_bound: f64::NAN,
        quality: Quality::Unknown,
        prices: Vec::new(),
        missing: Vec::new(),
        method: None,
        auto: None,
    };
    Ok(Decision::new(inner, rows))
}
