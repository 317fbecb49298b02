//! Errors of the library as Python exceptions of the right kind.
//!
//! Bad values are a `ValueError` (with `row` and `column` as attributes if known), and a missing name is a `KeyError`.
//! The message is always the library's.

use armwise::{Decision, Error};
use pyo3::{
    create_exception,
    exceptions::{PyFileNotFoundError, PyKeyError, PyOSError, PyRuntimeError, PyTimeoutError, PyValueError},
    intern,
    prelude::*,
};
use serde::Serialize;

create_exception!(armwise, InfeasibleError, PyValueError, "No super arm satisfies the constraint.");

/// The exception for an error.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Infeasible(reason) => {
            let exception = InfeasibleError::new_err(text);
            match plain(py, reason) {
                Ok(reason) => attach(py, exception, &[("reason", reason)]),
                Err(error) => error,
            }
        }
        Error::FeatureNotFinite { row, column, .. } | Error::FeatureTooLarge { row, column, .. } => {
            attach(py, PyValueError::new_err(text), &[("row", *row), ("column", *column)])
        }
        Error::ScoreNotFinite { row, block, .. } | Error::ScoreOverflow { row, block, .. } => {
            attach(py, PyValueError::new_err(text), &[("row", *row), ("block", *block)])
        }
        Error::UnknownArm { .. }
        | Error::NoReward { .. }
        | Error::UnknownBlock { .. }
        | Error::UnknownColumn { .. } => PyKeyError::new_err(text),
        Error::TimeLimit { .. } => PyTimeoutError::new_err(text),
        Error::Solver(_) | Error::Cancelled | Error::FeatureMissing(_) => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception for an error of the lab.
pub(crate) fn raise_lab(py: Python<'_>, error: &armwise_lab::Error) -> PyErr {
    use armwise_lab::Error as Lab;
    let text = error.to_string();
    match error {
        Lab::Armwise(error) => raise(py, error),
        Lab::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        Lab::Io { .. } => PyOSError::new_err(text),
        Lab::Numerical { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception for text that is not the JSON of what it should be.
pub(crate) fn bad_json(what: &str, error: serde_json::Error) -> PyErr {
    let (line, column) = (error.line(), error.column());
    PyValueError::new_err(format!("the text is not {what} as armwise writes it: see line {line}, column {column}"))
}

/// As [`raise`], for rewards of a decision: an arm that has a name is called by it.
pub(crate) fn raise_of(py: Python<'_>, error: &Error, decision: &Decision) -> PyErr {
    let exception = raise(py, error);
    let (id, block) = match error {
        Error::UnknownArm { id, block, .. }
        | Error::SecondReward { id, block, .. }
        | Error::NoReward { id, block, .. }
        | Error::DecisionChanged { id, block, .. }
        | Error::RewardNotFinite { id, block, .. } => (*id, *block),
        _ => return exception,
    };
    let arm = decision.arms.iter().find(|arm| arm.id == id && arm.block == block);
    let Some(name) = arm.and_then(|arm| arm.name.as_ref()) else { return exception };
    let text = error.to_string().replacen(&format!("arm {id} "), &format!("arm {name:?} "), 1);
    PyErr::from_type(exception.get_type(py), text)
}

/// What serialises, as dictionaries, lists, texts and numbers of Python.
pub(crate) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    py.import(intern!(py, "json"))?.call_method1(intern!(py, "loads"), (text,))
}

fn attach<'py, V>(py: Python<'py>, exception: PyErr, facts: &[(&str, V)]) -> PyErr
where
    V: Clone + IntoPyObject<'py>,
{
    for (name, value) in facts {
        if let Err(error) = exception.value(py).setattr(*name, value.clone()) {
            return error;
        }
    }
    exception
}
