//! A decision, with the rows that were chosen.
//!
//! The library's decision has ids but no row numbers, since these mean nothing a week later. Here the row numbers of
//! the call that made it are kept too, for callers that still have the table.

use std::{collections::BTreeMap, sync::OnceLock};

use armwise::{ChosenArm, Reward};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::{
    exceptions::{PyKeyError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyList, PyString, PyTuple},
};

use crate::{
    errors::{bad_json, raise},
    given::{floats, reward_of},
    oracle::{bound, missing, numbers, prices, status},
};

/// What was chosen in a round.
#[pyclass(frozen)]
pub(crate) struct Decision {
    pub(crate) inner: armwise::Decision,
    pub(crate) rows: Vec<usize>,
    /// The places of the arms by rising id, made when rewards first come by id.
    by_id: OnceLock<Vec<usize>>,
}

impl Decision {
    pub(crate) fn new(inner: armwise::Decision, rows: Vec<usize>) -> Self {
        Self { inner, rows, by_id: OnceLock::new() }
    }

    fn numbers<'py>(&self, py: Python<'py>, value: impl Fn(&ChosenArm) -> f64) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.inner.arms.iter().map(value))
    }

    /// The rewards that Python gives: one per chosen arm, or by id, or by (id, block).
    pub(crate) fn rewards(&self, given: &Bound<'_, PyAny>) -> PyResult<Vec<Reward>> {
        if let Ok(by_id) = given.cast::<PyDict>() {
            let one = |(key, reward): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                let value = reward.extract().map_err(|_| {
                    PyTypeError::new_err(format!("reward of arm {} is {reward:?}: must be a number", shown(&key)))
                })?;
                self.reward(&key, value)
            };
            return by_id.iter().map(one).collect();
        }
        let values = floats(given, "rewards")?;
        let arms = &self.inner.arms;
        if values.len() != arms.len() {
            let text = format!(
                "rewards: expected {} (one per chosen arm, in the order of the decision), found {}; give a dictionary for a part of them",
                arms.len(),
                values.len()
            );
            return Err(PyValueError::new_err(text));
        }
        let mut values = values.into_iter();
        Ok(self.inner.rewards(|_| values.next().expect("as many as arms")))
    }

    /// The blocks in which an arm was chosen.
    fn blocks_of(&self, named: &Reward) -> impl Iterator<Item = u32> {
        let arms = &self.inner.arms;
        let by_id = self.by_id.get_or_init(|| {
            let mut places: Vec<usize> = (0..arms.len()).collect();
            places.sort_by_key(|&place| arms[place].id);
            places
        });
        let first = by_id.partition_point(|&place| arms[place].id < named.id);
        let same = by_id[first..].iter().map(|&place| &arms[place]).take_while(|arm| arm.id == named.id);
        same.filter(|arm| named.name.is_none() || arm.name == named.name).map(|arm| arm.block)
    }

    fn reward(&self, key: &Bound<'_, PyAny>, reward: f64) -> PyResult<Reward> {
        let unknown = || {
            let (key, t) = (shown(key), self.inner.round.t);
            PyKeyError::new_err(format!("arm {key} was not chosen in round {t}; give rewards of chosen arms"))
        };
        if let Ok(pair) = key.cast::<PyTuple>() {
            let (id, block) = (pair.get_item(0)?, pair.get_item(1)?.extract().map_err(|_| unknown())?);
            return reward_of(&id, block, reward).ok_or_else(unknown);
        }
        let mut named = reward_of(key, 0, reward).ok_or_else(unknown)?;
        let mut blocks = self.blocks_of(&named);
        let block = blocks.next().ok_or_else(unknown)?;
        if blocks.any(|other| other != block) {
            return Err(PyValueError::new_err(format!(
                "arm {} was chosen in several blocks; give (id, block)",
                shown(key)
            )));
        }
        drop(blocks);
        named.block = block;
        Ok(named)
    }
}

/// An arm as a message calls it: a name in quotes, an id as it is.
fn shown(key: &Bound<'_, PyAny>) -> String {
    match key.cast::<PyString>() {
        Ok(name) => format!("{:?}", name.to_string_lossy()),
        Err(_) => key.to_string(),
    }
}

#[pymethods]
impl Decision {
    fn __len__(&self) -> usize {
        self.inner.arms.len()
    }

    #[getter]
    fn t(&self) -> u64 {
        self.inner.round.t
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.round.seed
    }

    /// How many features the arms have; 0 if there are no arms.
    #[getter]
    fn dim(&self) -> usize {
        self.inner.arms.first().map_or(0, |arm| arm.features.len())
    }

    /// Names as a list; ids as int64, or as uint64 where one is too large for that.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let arms = &self.inner.arms;
        if arms.iter().any(|arm| arm.name.is_some()) {
            let names = arms.iter().map(|arm| arm.name.as_deref().unwrap_or_default());
            return Ok(PyList::new(py, names.collect::<Vec<_>>())?.into_any());
        }
        let signed: Result<Vec<i64>, _> = arms.iter().map(|arm| i64::try_from(arm.id)).collect();
        Ok(match signed {
            Ok(ids) => PyArray1::from_vec(py, ids).into_any(),
            Err(_) => PyArray1::from_iter(py, arms.iter().map(|arm| arm.id)).into_any(),
        })
    }

    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        numbers(py, self.rows.iter().copied())
    }

    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.inner.arms.iter().map(|arm| i64::from(arm.block)))
    }

    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, |arm| arm.score)
    }

    #[getter]
    fn means<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, |arm| arm.mean)
    }

    #[getter]
    fn widths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, |arm| arm.width)
    }

    /// NaN if the policy makes no draw per arm.
    #[getter]
    fn draws<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, |arm| arm.draw.unwrap_or(f64::NAN))
    }

    /// NaN where it was not asked for.
    #[getter]
    fn probability<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, |arm| arm.probability.unwrap_or(f64::NAN))
    }

    /// How the probabilities were found; none where they were not.
    #[getter]
    fn method(&self) -> Option<&'static str> {
        self.inner.method.map(armwise::Method::name)
    }

    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let arms = &self.inner.arms;
        let cells = arms.iter().flat_map(|arm| arm.features.iter().copied());
        PyArray1::from_iter(py, cells).reshape([arms.len(), self.dim()])
    }

    /// With the features of each arm multiplied by the probability that its place was examined.
    fn examined(&self, py: Python<'_>, probabilities: Vec<f64>) -> PyResult<Self> {
        let inner = self.inner.examined(&probabilities).map_err(|error| raise(py, &error))?;
        Ok(Self::new(inner, self.rows.clone()))
    }

    #[getter]
    fn auto(&self) -> Option<BTreeMap<&'static str, f64>> {
        self.inner.auto.map(named)
    }

    #[getter]
    fn objective(&self) -> f64 {
        self.inner.objective
    }

    #[getter]
    fn bound(&self) -> Option<f64> {
        bound(self.inner.quality, self.inner.upper_bound)
    }

    #[getter]
    fn status(&self) -> &'static str {
        status(self.inner.quality)
    }

    #[getter]
    fn prices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        prices(py, &self.inner.prices)
    }

    #[getter]
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        missing(py, &self.inner.missing)
    }

    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner).map_err(|error| bad_json("a decision", error))
    }

    /// A decision read from JSON; the rows are those given, or unknown.
    #[staticmethod]
    fn from_json(text: &str, rows: Option<Vec<i64>>) -> PyResult<Self> {
        let inner: armwise::Decision = serde_json::from_str(text).map_err(|error| bad_json("a decision", error))?;
        let rows = rows.unwrap_or_else(|| vec![-1; inner.arms.len()]);
        let row = |row: i64| usize::try_from(row).unwrap_or(usize::MAX);
        Ok(Self::new(inner, rows.into_iter().map(row).collect()))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner && self.rows == other.rows
    }
}

/// What a policy chose by itself, by name.
pub(crate) fn named(auto: armwise::Auto) -> BTreeMap<&'static str, f64> {
    let armwise::Auto { lambda, sigma, v, alpha, freedom, gamma } = auto;
    let always = [("lambda", Some(lambda)), ("sigma", Some(sigma))];
    let all = always.into_iter().chain([("v", v), ("alpha", alpha), ("freedom", freedom), ("gamma", gamma)]);
    all.filter_map(|(name, value)| Some((name, value?))).collect()
}
