//! The Arrow PyCapsule interface, both ways: the only unsafe code of the package.
//!
//! A capsule's pointer is looked up by its name; the interface fixes the name together with the type of the pointer.
//! The stream is moved out of the capsule, which is left empty, as the interface requires.

#![allow(unsafe_code, reason = "capsules hold C structures")]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader,
    ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader},
};
use arrow_schema::ArrowError;
use numpy::{Element, PyArray2, ndarray::ArrayView2};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::PyCapsule,
};

const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// The record batches of anything that has `__arrow_c_stream__`.
pub(crate) fn read(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let py = table.py();
    let capsule = table.call_method0(intern!(py, "__arrow_c_stream__"))?;
    let capsule =
        capsule.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("__arrow_c_stream__ did not return a capsule"))?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid ArrowArrayStream, and nobody else uses it while we move it out.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let bad = |error: ArrowError| PyValueError::new_err(format!("the table cannot be read: {error}"));
    let reader = RecordBatchStreamReader::try_new(stream).map_err(bad)?;
    let schema = reader.schema();
    let mut batches = reader.collect::<Result<Vec<_>, _>>().map_err(bad)?;
    batches.retain(|batch| batch.num_rows() > 0);
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Ok(batches)
}

/// A capsule with a stream of one record batch.
pub(crate) fn write(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = batch.schema();
    let reader = RecordBatchIterator::new([Ok(batch)], schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    // The stream's own release runs when the capsule is dropped, unless a consumer has moved it out.
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// Keeps Arrow memory alive for an array that borrows it.
#[pyclass(frozen)]
struct Owner {
    _array: ArrayRef,
}

/// A matrix that borrows Arrow memory, read-only.
pub(crate) fn borrow<'py, T: Element>(
    py: Python<'py>,
    owner: &ArrayRef,
    values: &[T],
    dim: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let view = ArrayView2::from_shape((values.len() / dim.max(1), dim), values)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let container = Bound::new(py, Owner { _array: Arc::clone(owner) })?.into_any();
    // SAFETY: `values` lie in the buffers of `owner`, which are immutable and live as long as the container.
    let array = unsafe { PyArray2::borrow_from_array(&view, container) }.into_any();
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}
