//! How many threads compute.

use std::num::NonZeroUsize;

use armwise::tasks;
use pyo3::prelude::*;

use crate::gate::detach;

/// Lets at most so many threads work at once.
#[pyfunction]
pub(crate) fn set_threads(threads: NonZeroUsize) {
    tasks::set_most(threads);
}

/// How many threads may work at once.
#[pyfunction]
pub(crate) fn threads(py: Python<'_>) -> usize {
    detach(py, tasks::threads)
}
