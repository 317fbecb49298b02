//! Constraints as JSON, oracles as Python callables, and the oracles alone.
//!
//! An exception in a callable is kept and raised as it is, once the library has come back.

use std::sync::{Mutex, PoisonError, atomic::AtomicBool};

use armwise::{Arms, Constraint, Error, Gamma, Needs, Oracle, Pick, Quality, Round, Scores, Selection, Ties};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyInt, PyTuple},
};

use crate::{
    errors::{bad_json, raise},
    gate,
    given::{Given, Ids, Matrix},
    interrupt::interruptible,
};

/// What may be chosen together, as Python gives it.
pub(crate) enum AnyOracle {
    /// Data.
    Constraint(Constraint),
    /// `callable(scores) -> rows`, or `-> (rows, blocks)`.
    Callable(Callable),
}

/// A Python callable as an oracle.
pub(crate) struct Callable {
    function: Py<PyAny>,
    raised: Mutex<Option<PyErr>>,
}

impl AnyOracle {
    /// From the k of the k best, from JSON or from a callable.
    pub(crate) fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(k) = given.cast::<PyInt>() {
            let k = k.extract().map_err(|_| PyValueError::new_err(format!("k is {k}: must be at least 1")))?;
            return Ok(Self::Constraint(Constraint::top_k(k)));
        }
        if let Ok(text) = given.extract::<String>() {
            return Ok(Self::Constraint(serde_json::from_str(&text).map_err(|error| bad_json("a constraint", error))?));
        }
        Ok(Self::Callable(Callable { function: given.clone().unbind(), raised: Mutex::new(None) }))
    }

    /// Whether only the best few of so many arms matter.
    pub(crate) fn needs_few(&self, arms: usize) -> bool {
        matches!(self, Self::Constraint(constraint) if matches!(constraint.needs(), Needs::Best(k) if k <= arms / 8))
    }

    /// Calls `work` with the oracle, without the interpreter's lock. Only the general solver may run for a minute, so
    /// only for it a separate thread watches for Ctrl-C.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Oracle) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let result = match self {
            Self::Constraint(Constraint::Linear(linear)) => {
                interruptible(py, |stop| gate::enter(|| work(&Stoppable { linear, stop })))?
            }
            Self::Constraint(constraint) => gate::detach(py, || work(constraint)),
            Self::Callable(callable) => {
                let result = gate::detach(py, || work(callable));
                if let Some(raised) = callable.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    return Err(raised);
                }
                result
            }
        };
        result.map_err(|error| raise(py, &error))
    }
}

struct Stoppable<'a> {
    linear: &'a armwise::Linear,
    stop: &'a AtomicBool,
}

impl Oracle for Stoppable<'_> {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        // It may take a minute, and holds no lock.
        gate::outside(|| self.linear.argmax_until(scores, self.stop))
    }
}

impl Oracle for Callable {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let picked = gate::attach(|py| self.ask(py, scores));
        let arms = picked.map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Solver("the oracle raised an exception".to_owned())
        })?;
        // Ordering a selection needs scores, and an arm that does not exist has none.
        if let Some(arm) = arms.iter().find(|arm| arm.row >= scores.len() || arm.block >= scores.blocks()) {
            let text = format!("the oracle chose row {}, block {}, which does not exist", arm.row, arm.block);
            return Err(Error::Constraint(text));
        }
        Ok(Selection::of_unknown_quality(arms, scores))
    }
}

impl Callable {
    fn ask(&self, py: Python<'_>, scores: &Scores<'_>) -> PyResult<Vec<Pick>> {
        let values = PyArray1::from_slice(py, scores.values()).into_any();
        let values = match scores.blocks() {
            1 => values,
            blocks => values.call_method1("reshape", (scores.len(), blocks))?,
        };
        let answer = self.function.bind(py).call1((values,))?;
        let (rows, blocks) = match answer.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (indices(&pair.get_item(0)?)?, indices(&pair.get_item(1)?)?),
            _ => {
                let rows = indices(&answer)?;
                let blocks = vec![0; rows.len()];
                (rows, blocks)
            }
        };
        if rows.len() != blocks.len() {
            let text = format!("the oracle gave {} rows and {} blocks", rows.len(), blocks.len());
            return Err(PyValueError::new_err(text));
        }
        Ok(rows.into_iter().zip(blocks).map(|(row, block)| Pick { row, block }).collect())
    }
}

fn indices(values: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let list = if values.hasattr("tolist")? { values.call_method0("tolist")? } else { values.clone() };
    list.extract().map_err(|_| {
        PyTypeError::new_err("an oracle must return row numbers, or a tuple of row numbers and block numbers")
    })
}

/// Scores of arms, one or several to a row.
#[derive(FromPyObject)]
pub(crate) enum ScoresGiven<'py> {
    One(PyReadonlyArray1<'py, f64>),
    Many(PyReadonlyArray2<'py, f64>),
}

/// The best super arm for given scores.
#[pyfunction]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    scores: ScoresGiven<'py>,
    constraint: &Bound<'py, PyAny>,
    ids: Option<Ids<'py>>,
    columns: Vec<(String, numpy::PyReadonlyArrayDyn<'py, f64>)>,
    ties: &str,
    seed: u64,
    t: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let (values, blocks) = match &scores {
        ScoresGiven::One(values) => (values.as_slice()?, 1),
        ScoresGiven::Many(values) => (values.as_slice()?, values.shape()[1]),
    };
    if values.is_empty() {
        return Err(raise(py, &Error::NoArms));
    }
    // An oracle never reads features, so one placeholder per row is enough.
    let features = PyArray1::<f32>::zeros(py, values.len() / blocks, false).reshape([values.len() / blocks, 1])?;
    let given = Given { x: Matrix::F32(features.readonly()), ids, eligible: None, columns };
    let lent = given.lend()?;
    let (ties, round) = (ties_of(ties)?, Round::new(seed, t));
    let oracle = AnyOracle::new(constraint)?;
    let found = oracle.with(py, |oracle| {
        let arms: Arms<'_> = lent.arms()?;
        let scores = Scores::new(values, blocks, arms, ties, round)?;
        let found = oracle.argmax(&scores)?;
        match found.arms.iter().find(|&&arm| !scores.get(arm).is_finite()) {
            Some(&arm) => Err(scores.not_finite(arm)),
            None => Ok(found),
        }
    })?;
    let result = PyDict::new(py);
    result.set_item("rows", numbers(py, found.arms.iter().map(|arm| arm.row)))?;
    result.set_item("blocks", numbers(py, found.arms.iter().map(|arm| arm.block)))?;
    result.set_item("objective", found.objective)?;
    result.set_item("bound", bound(found.quality, found.upper_bound))?;
    result.set_item("status", status(found.quality))?;
    result.set_item("prices", prices(py, &found.prices)?)?;
    result.set_item("missing", missing(py, &found.missing)?)?;
    Ok(result)
}

/// Row or block numbers in the type that numpy indexes with; -1 for an unknown one.
pub(crate) fn numbers(py: Python<'_>, numbers: impl Iterator<Item = usize>) -> Bound<'_, PyArray1<i64>> {
    PyArray1::from_vec(py, numbers.map(|number| i64::try_from(number).unwrap_or(-1)).collect())
}

/// The forgetting factor; none is the one by evidence.
pub(crate) fn gamma_of(gamma: Option<f64>) -> Gamma {
    gamma.map_or(Gamma::Auto, Gamma::Value)
}

/// The tie rule of a name.
pub(crate) fn ties_of(name: &str) -> PyResult<Ties> {
    match name {
        "by-id" => Ok(Ties::ById),
        "random" => Ok(Ties::Random),
        _ => Err(PyValueError::new_err(format!("ties = {name:?}: must be \"by-id\" or \"random\""))),
    }
}

/// The name of a tie rule.
pub(crate) fn name_of(ties: Ties) -> &'static str {
    match ties {
        Ties::ById => "by-id",
        Ties::Random => "random",
    }
}

/// The name of a quality.
pub(crate) fn status(quality: Quality) -> &'static str {
    match quality {
        Quality::Optimal => "optimal",
        Quality::Gap => "gap",
        Quality::Unknown => "unknown",
    }
}

/// The upper bound; none where the oracle gives none.
pub(crate) fn bound(quality: Quality, upper_bound: f64) -> Option<f64> {
    (quality != Quality::Unknown).then_some(upper_bound)
}

/// Prices by limit.
pub(crate) fn prices<'py>(py: Python<'py>, prices: &[armwise::Price]) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    prices.iter().try_for_each(|price| result.set_item(price.of.to_string(), price.value))?;
    Ok(result)
}

/// (needed, chosen) by limit.
pub(crate) fn missing<'py>(py: Python<'py>, missing: &[armwise::Missing]) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    missing.iter().try_for_each(|missing| result.set_item(missing.of.to_string(), (missing.needed, missing.chosen)))?;
    Ok(result)
}
