//! The native half of the Python package `armwise`: it converts types and errors, and calls the library.
//!
//! Everything a user sees (classes, defaults, docstrings) is written in Python, in
//! `python/armwise/`; the classes here are private to it. Every call that computes gives up the interpreter's lock
//! first, and this crate never holds a lock while Python code runs.

mod bridge;
mod campaign;
mod catalogue;
mod command;
mod decision;
mod elsewhere;
mod errors;
mod evaluation;
mod gate;
mod given;
mod ids;
mod inclusion;
mod interleave;
mod interrupt;
mod lab;
mod learner;
mod oracle;
mod own;
mod parts;
mod policy;
mod rows;
mod sparse;
mod table;
mod threads;

use pyo3::prelude::*;

/// The module `armwise._armwise`.
#[pymodule]
fn _armwise(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ALGORITHMS", armwise::Algorithm::NAMES.to_vec())?;
    module.add("InfeasibleError", module.py().get_type::<errors::InfeasibleError>())?;
    module.add_class::<campaign::Campaign>()?;
    module.add_class::<campaign::Sheet>()?;
    module.add_function(wrap_pyfunction!(campaign::explain, module)?)?;
    module.add_function(wrap_pyfunction!(campaign::draft, module)?)?;
    module.add_class::<catalogue::Catalogue>()?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<given::Names>()?;
    module.add_class::<lab::Problem>()?;
    module.add_class::<learner::Learner>()?;
    module.add_class::<own::Context>()?;
    module.add_class::<parts::Frozen>()?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(gate::after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(gate::before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(elsewhere::campaign_candidates, module)?)?;
    module.add_function(wrap_pyfunction!(evaluation::evaluate_log, module)?)?;
    module.add_function(wrap_pyfunction!(inclusion::inclusion, module)?)?;
    module.add_function(wrap_pyfunction!(inclusion::with_probabilities, module)?)?;
    module.add_function(wrap_pyfunction!(inclusion::probability_by_law, module)?)?;
    module.add_function(wrap_pyfunction!(oracle::solve, module)?)?;
    module.add_function(wrap_pyfunction!(parts::decision_of_rows, module)?)?;
    module.add_function(wrap_pyfunction!(policy::check_algorithm, module)?)?;
    module.add_function(wrap_pyfunction!(policy::numbers_of, module)?)?;
    module.add_function(wrap_pyfunction!(policy::caution, module)?)?;
    module.add_function(wrap_pyfunction!(table::export, module)?)?;
    module.add_function(wrap_pyfunction!(lab::mean, module)?)?;
    module.add_function(wrap_pyfunction!(lab::paired, module)?)?;
    module.add_function(wrap_pyfunction!(threads::set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads::threads, module)?)?;
    Ok(())
}
