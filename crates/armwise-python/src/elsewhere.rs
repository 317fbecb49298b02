//! Campaigns on tables that lie on other machines: the driver's table as a source, and the task of a machine.
//!
//! The driver's half is a Python object that has every machine run [`campaign_candidates`] on its part.

use armwise_campaign::{
    Error, Memory, Source,
    core::Sha,
    round::{Counts, Elsewhere, Found, Plan},
    table::{Batches, ColumnType},
};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use pyo3::{prelude::*, types::PyCapsule};

use crate::{
    bridge,
    campaign::raise,
    errors::bad_json,
    gate::{attach, detach},
};

/// What messages call the table.
const NAME: &str = "the table";

/// A table on other machines. Its methods: `sample(columns, rows)` gives rows from all over it and how many it has in all;
/// `candidates(plan)` has every machine do its task; `digest()` is a text that follows from the content.
pub(crate) struct Far {
    object: Py<PyAny>,
    /// The columns, without rows.
    empty: Memory,
}

impl Far {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let empty = Memory::new(NAME, bridge::read(&object.getattr("empty")?)?);
        let empty = empty.map_err(|error| raise(object.py(), &error))?;
        Ok(Self { object: object.clone().unbind(), empty })
    }

    /// Calls a method, in the midst of a computation without the interpreter's lock.
    fn call<R>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>) -> Result<R, Error> {
        attach(|py| work(self.object.bind(py)).map_err(|error| told(py, &error)))
    }
}

/// The text of a Python exception as the problem of the table.
fn told(py: Python<'_>, error: &PyErr) -> Error {
    Error::table(NAME, error.value(py).to_string())
}

impl Source for Far {
    fn name(&self) -> &str {
        NAME
    }

    fn columns(&self) -> Result<Vec<(String, ColumnType)>, Error> {
        self.empty.columns()
    }

    fn batches(&self, _: Option<&[String]>) -> Result<Batches, Error> {
        Err(Error::table(NAME, "its rows lie on other machines; only a choice can be made from them"))
    }

    fn spread(
        &self,
        only: &[String],
        runs: usize,
        run: usize,
        large: usize,
    ) -> Result<Option<(Batches, usize)>, Error> {
        let found = self.call(|far| {
            let found = far.call_method1("sample", (only.to_vec(), runs * run, large))?;
            if found.is_none() {
                return Ok(None);
            }
            let (sample, rows): (Bound<'_, PyAny>, usize) = found.extract()?;
            Ok(Some((bridge::read(&sample)?, rows)))
        })?;
        Ok(found.map(|(batches, rows)| {
            let schema = batches[0].schema();
            (Batches::new(NAME, schema, batches.into_iter().map(Ok)), rows)
        }))
    }

    fn digest(&self) -> Result<Sha, Error> {
        self.call(|far| far.call_method0("digest")?.extract::<String>()).map(Sha::of)
    }

    fn elsewhere(&self) -> Option<&dyn Elsewhere> {
        Some(self)
    }
}

impl Elsewhere for Far {
    fn candidates(&self, plan: &Plan) -> Result<Found, Error> {
        let (columns, customer) = (plan.columns(), plan.customer().to_owned());
        let plan = serde_json::to_string(plan).map_err(|error| Error::table(NAME, error.to_string()))?;
        self.call(|far| {
            let found: Vec<(Bound<'_, PyAny>, String)> =
                far.call_method1("candidates", (plan, columns, customer))?.extract()?;
            let mut all = Found::default();
            for (rows, counts) in found {
                if !rows.is_none() {
                    all.batches.extend(bridge::read(&rows)?);
                }
                let counts: Counts = serde_json::from_str(&counts).map_err(|error| bad_json("counts", error))?;
                all.counts.add(&counts);
            }
            Ok(all)
        })
    }
}

/// The task of a machine: the candidates of its part, as a stream of rows (none without any), and what is known of all rows.
#[pyfunction]
pub(crate) fn campaign_candidates<'py>(
    py: Python<'py>,
    plan: &str,
    name: &str,
    batches: &Bound<'py, PyAny>,
) -> PyResult<(Option<Bound<'py, PyCapsule>>, String)> {
    let plan: Plan = serde_json::from_str(plan).map_err(|error| bad_json("a plan", error))?;
    let mut batches = Stream { iterator: batches.try_iter()?.unbind().into_any(), waiting: Vec::new() };
    let Some(first) = detach(py, || batches.next()) else {
        let counts = serde_json::to_string(&Counts::default()).map_err(|error| bad_json("counts", error))?;
        return Ok((None, counts));
    };
    let first = first.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    let part = Batches::new(name, first.schema(), std::iter::once(Ok(first)).chain(batches));
    let found = detach(py, || plan.candidates(part)).map_err(|error| raise(py, &error))?;
    let rows = found.batches.into_iter().next().map(|batch| bridge::write(py, batch)).transpose()?;
    Ok((rows, serde_json::to_string(&found.counts).map_err(|error| bad_json("counts", error))?))
}

/// The batches that a Python iterator gives, read without the interpreter's lock.
struct Stream {
    iterator: Py<PyAny>,
    waiting: Vec<RecordBatch>,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.waiting.is_empty() {
            let read = attach(|py| -> PyResult<Option<Vec<RecordBatch>>> {
                match self.iterator.bind(py).try_iter()?.next() {
                    None => Ok(None),
                    Some(batch) => bridge::read(&batch?).map(Some),
                }
            });
            match read {
                Ok(Some(batches)) => {
                    self.waiting = batches.into_iter().filter(|batch| batch.num_rows() > 0).rev().collect();
                }
                Ok(None) => return None,
                Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
            }
        }
        self.waiting.pop().map(Ok)
    }
}
