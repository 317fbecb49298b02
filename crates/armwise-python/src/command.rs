//! The command `armwise`, for the program that the package installs.

use std::{ffi::OsString, panic::catch_unwind};

use pyo3::prelude::*;

/// The exit code of a program that panics.
const PANICKED: u8 = 101;

/// Runs the command with these arguments, the first of which is its name, and gives its exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| catch_unwind(|| armwise_cli::run(arguments)).unwrap_or(PANICKED))
}
