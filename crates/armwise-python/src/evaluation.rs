//! A log as arrays, evaluated: the estimators of the library for `armwise.evaluate`.

use armwise::evaluate::{Confidence, Design, Log, LoggedArm, LoggedRound, Wanted};
use numpy::PyReadonlyArray1;
use pyo3::{exceptions::PyValueError, prelude::*};
use std::collections::BTreeMap;

use crate::{
    errors::{plain, raise},
    gate,
};

type Numbers<'py> = PyReadonlyArray1<'py, f64>;
type Whole<'py> = PyReadonlyArray1<'py, u64>;

/// A column as numbers.
fn numbers(column: &Numbers<'_>) -> Vec<f64> {
    column.as_array().to_vec()
}

fn whole(column: &Whole<'_>) -> Vec<u64> {
    column.as_array().to_vec()
}

/// `arms` are round, id, block, segment, and reward, probability, target, mean; `wanted` round, block, segment, and count,
/// reward, unsupported, unseen, thin. `parts` are blocks or segments to be evaluated by themselves. Gives the evaluation of the
/// whole and of each part, and the estimates of each round.
#[pyfunction]
pub(crate) fn evaluate_log<'py>(
    py: Python<'py>,
    arms: ([Whole<'py>; 4], [Numbers<'py>; 4]),
    wanted: ([Whole<'py>; 3], [Numbers<'py>; 5]),
    design: &str,
    level: f64,
    parts: (Vec<u32>, Vec<u32>),
) -> PyResult<Bound<'py, PyAny>> {
    let design = match design {
        "fixed-counts" => Design::FixedCounts,
        "independent" => Design::Independent,
        "shared" => Design::Shared,
        other => {
            let text = format!("design {other:?}: must be \"fixed-counts\", \"independent\" or \"shared\"");
            return Err(PyValueError::new_err(text));
        }
    };
    let (keys, values) = (arms.0.each_ref().map(whole), arms.1.each_ref().map(numbers));
    let (wanted_keys, wanted_values) = (wanted.0.each_ref().map(whole), wanted.1.each_ref().map(numbers));
    let lengths = keys.iter().map(Vec::len).chain(values.iter().map(Vec::len));
    let wanted_lengths = wanted_keys.iter().map(Vec::len).chain(wanted_values.iter().map(Vec::len));
    if lengths.clone().any(|length| length != keys[0].len())
        || wanted_lengths.clone().any(|length| length != wanted_keys[0].len())
    {
        return Err(PyValueError::new_err("the columns of a log must have the same length"));
    }
    let found = gate::detach(py, || {
        let mut rounds: BTreeMap<u64, LoggedRound> = BTreeMap::new();
        let empty = |t: u64| LoggedRound { t, arms: Vec::new(), wanted: Vec::new() };
        for place in 0..keys[0].len() {
            let [t, id, block, segment] = keys.each_ref().map(|column| column[place]);
            let [reward, probability, target, mean] = values.each_ref().map(|column| column[place]);
            let (block, segment) = (block as u32, segment as u32);
            let arm = LoggedArm { id, block, segment, reward, probability, target, mean };
            rounds.entry(t).or_insert_with(|| empty(t)).arms.push(arm);
        }
        for place in 0..wanted_keys[0].len() {
            let [t, block, segment] = wanted_keys.each_ref().map(|column| column[place]);
            let [count, reward, unsupported, unseen, thin] = wanted_values.each_ref().map(|column| column[place]);
            let (block, segment) = (block as u32, segment as u32);
            let wanted = Wanted { block, segment, count, reward, unsupported, unseen, thin };
            rounds.entry(t).or_insert_with(|| empty(t)).wanted.push(wanted);
        }
        let log = Log::new(rounds.into_values().collect(), design)?;
        let confidence = Confidence { level, ..Confidence::default() };
        let mut all = vec![log.evaluate(&confidence)?];
        for &block in &parts.0 {
            all.push(log.of_block(block).evaluate(&confidence)?);
        }
        for &segment in &parts.1 {
            all.push(log.of_segment(segment).evaluate(&confidence)?);
        }
        Ok((all, log.by_round()))
    });
    plain(py, &found.map_err(|error: armwise::Error| raise(py, &error))?)
}
