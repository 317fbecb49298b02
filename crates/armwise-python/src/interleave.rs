//! Columns side by side to rows: features as the library reads them, from Arrow columns or numpy vectors.
//!
//! The one copy that a table costs. It is made by all threads, each for some thousand rows, in blocks of rows that stay
//! in the first cache while every column writes into them; the kind of a column is looked up once per block, not per cell.

use std::ops::Range;

use armwise::tasks::share_parts;
use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
        Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, ndarray::ArrayView1};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::gate;

/// Rows of one task.
const TASK: usize = 1 << 13;
/// Bytes of a block of rows that are written together.
const BLOCK: usize = 1 << 14;

/// Writes all columns of these rows of a part: `(part, rows, out)`.
fn interleaved<'py, T: Element + Copy + Default>(
    py: Python<'py>,
    lengths: &[usize],
    dim: usize,
    write: impl Fn(usize, Range<usize>, &mut [T]) + Sync + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let rows: usize = lengths.iter().sum();
    let block = (BLOCK / (dim.max(1) * size_of::<T>())).max(16);
    let all = gate::detach(py, || {
        let mut all: Vec<T> = vec![T::default(); rows * dim];
        let mut tasks: Vec<(usize, usize, &mut [T])> = Vec::new();
        let mut rest = all.as_mut_slice();
        for (part, &length) in lengths.iter().enumerate() {
            let (out, tail) = rest.split_at_mut(length * dim);
            rest = tail;
            let chunks = out.chunks_mut(TASK * dim.max(1)).enumerate();
            tasks.extend(chunks.map(|(number, out)| (part, number * TASK, out)));
        }
        share_parts(
            tasks.into_iter(),
            || (),
            |(), _, (part, first, out)| {
                for (number, out) in out.chunks_mut(block * dim).enumerate() {
                    let first = first + number * block;
                    write(part, first..first + out.len() / dim, out);
                }
            },
        );
        all
    });
    Ok(PyArray1::from_vec(py, all).reshape([rows, dim])?.into_any())
}

/// Columns of Float32, each in the same parts.
pub(crate) fn arrow_f32<'py>(py: Python<'py>, columns: &[Vec<&ArrayRef>]) -> PyResult<Bound<'py, PyAny>> {
    arrow(py, columns, |part, rows, out, dim| cells::<Float32Type, f32>(part, rows, out, dim, f32::NAN, |x| x))
}

/// Columns of any numbers, each in the same parts.
pub(crate) fn arrow_f64<'py>(py: Python<'py>, columns: &[Vec<&ArrayRef>]) -> PyResult<Bound<'py, PyAny>> {
    arrow(py, columns, floats)
}

fn arrow<'py, T: Element + Copy + Default>(
    py: Python<'py>,
    columns: &[Vec<&ArrayRef>],
    write: impl Fn(&ArrayRef, Range<usize>, &mut [T], usize) + Sync + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(first) = columns.first() else {
        return Err(PyValueError::new_err("no columns are left for features; name them with features=[...]"));
    };
    let lengths: Vec<usize> = first.iter().map(|part| part.len()).collect();
    let dim = columns.len();
    interleaved(py, &lengths, dim, |part, rows, out| {
        for (place, column) in columns.iter().enumerate() {
            write(column[part], rows.clone(), &mut out[place..], dim);
        }
    })
}

/// Writes these rows of an array into every `step`-th cell.
fn cells<P: ArrowPrimitiveType, T: Copy>(
    part: &ArrayRef,
    rows: Range<usize>,
    out: &mut [T],
    step: usize,
    nan: T,
    of: impl Fn(P::Native) -> T,
) {
    let values = part.as_primitive::<P>();
    let out = out.iter_mut().step_by(step);
    if values.null_count() == 0 {
        out.zip(&values.values()[rows]).for_each(|(out, value)| *out = of(*value));
    } else {
        out.zip(rows).for_each(|(out, row)| *out = if values.is_null(row) { nan } else { of(values.value(row)) });
    }
}

/// Whether [`floats`] knows this type.
pub(crate) fn is_number(kind: &DataType) -> bool {
    matches!(kind, DataType::Boolean | DataType::Decimal128(..))
        || (kind.is_numeric() && kind.primitive_width() <= Some(8) && !is_small_decimal(kind))
}

fn is_small_decimal(kind: &DataType) -> bool {
    matches!(kind, DataType::Decimal32(..) | DataType::Decimal64(..))
}

/// Writes these rows of an array of numbers as f64 into every `step`-th cell.
fn floats(part: &ArrayRef, rows: Range<usize>, out: &mut [f64], step: usize) {
    const NAN: f64 = f64::NAN;
    match part.data_type() {
        DataType::Float64 => cells::<Float64Type, f64>(part, rows, out, step, NAN, |x| x),
        DataType::Float32 => cells::<Float32Type, f64>(part, rows, out, step, NAN, f64::from),
        DataType::Float16 => cells::<Float16Type, f64>(part, rows, out, step, NAN, |x| x.to_f64()),
        DataType::Int8 => cells::<Int8Type, f64>(part, rows, out, step, NAN, f64::from),
        DataType::Int16 => cells::<Int16Type, f64>(part, rows, out, step, NAN, f64::from),
        DataType::Int32 => cells::<Int32Type, f64>(part, rows, out, step, NAN, f64::from),
        DataType::Int64 => cells::<Int64Type, f64>(part, rows, out, step, NAN, |x| x as f64),
        DataType::UInt8 => cells::<UInt8Type, f64>(part, rows, out, step, NAN, f64::from),
        DataType::UInt16 => cells::<UInt16Type, f64>(part, rows, out, step, NAN, f64::from),
        DataType::UInt32 => cells::<UInt32Type, f64>(part, rows, out, step, NAN, f64::from),
        DataType::UInt64 => cells::<UInt64Type, f64>(part, rows, out, step, NAN, |x| x as f64),
        DataType::Decimal128(_, scale) => {
            let unit = 10_f64.powi(i32::from(*scale));
            cells::<Decimal128Type, f64>(part, rows, out, step, NAN, |x| x as f64 / unit);
        }
        _ => {
            let flags = part.as_boolean_opt();
            let flag = |row: usize| flags.filter(|flags| flags.is_valid(row)).map(|flags| flags.value(row));
            let out = out.iter_mut().step_by(step);
            out.zip(rows).for_each(|(out, row)| *out = flag(row).map_or(NAN, |flag| f64::from(u8::from(flag))));
        }
    }
}

/// An array of numbers as f64, missing ones as NaN.
pub(crate) fn numbers(part: &ArrayRef) -> Vec<f64> {
    let mut all = vec![0.0; part.len()];
    floats(part, 0..part.len(), &mut all, 1);
    all
}

/// A numpy vector of numbers.
#[derive(FromPyObject)]
pub(crate) enum Vector<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
}

/// The same without the interpreter's lock.
enum View<'a> {
    F64(ArrayView1<'a, f64>),
    F32(ArrayView1<'a, f32>),
}

impl<'a> View<'a> {
    fn of(vector: &'a Vector<'_>) -> Self {
        match vector {
            Vector::F64(values) => Self::F64(values.as_array()),
            Vector::F32(values) => Self::F32(values.as_array()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::F32(values) => values.len(),
        }
    }
}

/// Row-major features from vectors of the same length: float32 if all are, else float64.
#[pyfunction]
pub(crate) fn interleave<'py>(py: Python<'py>, columns: Vec<Vector<'py>>) -> PyResult<Bound<'py, PyAny>> {
    let views: Vec<View<'_>> = columns.iter().map(View::of).collect();
    let Some(rows) = views.first().map(View::len) else {
        return Err(PyValueError::new_err("no columns are left for features; name them with features=[...]"));
    };
    if let Some(other) = views.iter().map(View::len).find(|&other| other != rows) {
        return Err(PyValueError::new_err(format!("columns of {rows} and of {other} rows cannot stand side by side")));
    }
    let dim = views.len();
    if views.iter().all(|view| matches!(view, View::F32(_))) {
        return interleaved(py, &[rows], dim, |_, rows, out: &mut [f32]| {
            for (place, view) in views.iter().enumerate() {
                if let View::F32(values) = view {
                    strided(values, rows.clone(), &mut out[place..], dim, |x| x);
                }
            }
        });
    }
    interleaved(py, &[rows], dim, |_, rows, out: &mut [f64]| {
        for (place, view) in views.iter().enumerate() {
            match view {
                View::F64(values) => strided(values, rows.clone(), &mut out[place..], dim, |x| x),
                View::F32(values) => strided(values, rows.clone(), &mut out[place..], dim, f64::from),
            }
        }
    })
}

fn strided<V: Copy, T>(
    values: &ArrayView1<'_, V>,
    rows: Range<usize>,
    out: &mut [T],
    step: usize,
    of: impl Fn(V) -> T,
) {
    let out = out.iter_mut().step_by(step);
    match values.as_slice() {
        Some(values) => out.zip(&values[rows]).for_each(|(out, value)| *out = of(*value)),
        None => out.zip(rows).for_each(|(out, row)| *out = of(values[row])),
    }
}
