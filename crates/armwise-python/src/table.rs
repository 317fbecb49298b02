//! Arrow tables: reads features, ids, eligibility and columns from any library's tables, and exports ours.
//!
//! A fixed-size-list column is borrowed without a copy. Separate columns must be interleaved, which takes one copy,
//! made in blocks of rows that fit the cache. A missing value becomes NaN, which the library then refuses with its row
//! and column.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, PrimitiveArray,
    RecordBatch, StringArray, UInt64Array,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
        UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::{
    exceptions::{PyKeyError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyCapsule, PyDict, PyList},
};
use rayon::prelude::*;

use crate::{bridge, given::Names};

/// Features, ids, eligibility and columns, as arrays.
type Parts<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>, Bound<'py, PyDict>);

/// Reads what a choice needs from a table.
#[pyfunction]
pub(crate) fn read_table<'py>(
    table: &Bound<'py, PyAny>,
    features: Option<Vec<String>>,
    ids: Option<String>,
    eligible: Option<String>,
    columns: Vec<String>,
) -> PyResult<Parts<'py>> {
    let py = table.py();
    let batches = bridge::read(table)?;
    let schema = batches[0].schema();
    let features = features.unwrap_or_else(|| {
        let taken = |name: &str| {
            ids.as_deref() == Some(name) || eligible.as_deref() == Some(name) || columns.iter().any(|c| c == name)
        };
        schema.fields().iter().map(|field| field.name().clone()).filter(|name| !taken(name)).collect()
    });
    let x = matrix(py, &batches, &features)?;
    let ids = ids.map(|name| ids_of(py, &batches, &name)).transpose()?;
    let eligible = eligible.map(|name| eligible_of(py, &batches, &name)).transpose()?;
    let read = PyDict::new(py);
    for name in columns {
        let mut values = Vec::new();
        for part in parts(&batches, &name)? {
            values.extend(numbers(&name, part)?);
        }
        read.set_item(name, PyArray1::from_vec(py, values))?;
    }
    Ok((x, ids, eligible, read))
}

/// The arrays of a column, batch by batch.
fn parts<'a>(batches: &'a [RecordBatch], name: &str) -> PyResult<Vec<&'a ArrayRef>> {
    let part = |batch: &'a RecordBatch| {
        batch.column_by_name(name).ok_or_else(|| {
            let schema = batch.schema();
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            PyKeyError::new_err(format!("the table has no column {name:?}; it has {}", names.join(", ")))
        })
    };
    batches.iter().map(part).collect()
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn matrix<'py>(py: Python<'py>, batches: &[RecordBatch], features: &[String]) -> PyResult<Bound<'py, PyAny>> {
    if let [only] = features {
        let lists = parts(batches, only)?;
        if let DataType::FixedSizeList(field, dim) = lists[0].data_type() {
            let dim = usize::try_from(*dim).unwrap_or(0);
            return match field.data_type() {
                DataType::Float32 => list_matrix::<Float32Type>(py, only, &lists, dim, f32::NAN),
                DataType::Float64 => list_matrix::<Float64Type>(py, only, &lists, dim, f64::NAN),
                other => Err(PyTypeError::new_err(format!("column {only:?} holds lists of {other}, not of floats"))),
            };
        }
    }
    if features.is_empty() {
        return Err(PyValueError::new_err("no columns are left for features; name them with features=[...]"));
    }
    let single = |name: &String| Ok(parts(batches, name)?.iter().all(|part| *part.data_type() == DataType::Float32));
    if features.iter().map(single).collect::<PyResult<Vec<bool>>>()?.into_iter().all(|single| single) {
        columns_matrix(py, batches, features, |_, part| {
            let values = part.as_primitive::<Float32Type>();
            Ok(if values.null_count() == 0 {
                Cells::Lent(values.values())
            } else {
                Cells::Made(values.iter().map(|value| value.unwrap_or(f32::NAN)).collect())
            })
        })
    } else {
        columns_matrix(py, batches, features, |name, part| match part.as_primitive_opt::<Float64Type>() {
            Some(values) if values.null_count() == 0 => Ok(Cells::Lent(values.values())),
            _ => numbers(name, part).map(Cells::Made),
        })
    }
}

/// A fixed-size-list column: borrowed if it is contiguous, otherwise copied.
fn list_matrix<'py, P>(
    py: Python<'py>,
    name: &str,
    lists: &[&ArrayRef],
    dim: usize,
    nan: P::Native,
) -> PyResult<Bound<'py, PyAny>>
where
    P: ArrowPrimitiveType,
    P::Native: Element,
{
    let cells = |list: &FixedSizeListArray| list.values().as_primitive::<P>().slice(0, list.len() * dim);
    let list_of = |part: &ArrayRef| part.as_fixed_size_list_opt().cloned();
    let apart = || PyTypeError::new_err(format!("column {name:?} is not a fixed-size list throughout"));
    if let [part] = lists {
        let list = list_of(part).ok_or_else(apart)?;
        if list.is_empty() {
            return Ok(PyArray1::<P::Native>::from_vec(py, Vec::new()).reshape([0, dim])?.into_any());
        }
        let values: PrimitiveArray<P> = cells(&list);
        if list.null_count() == 0 && values.null_count() == 0 {
            let owner: ArrayRef = Arc::new(values.clone());
            return bridge::borrow(py, &owner, values.values(), dim);
        }
    }
    let mut all: Vec<P::Native> = Vec::new();
    for part in lists {
        let list = list_of(part).ok_or_else(apart)?;
        if list.is_empty() {
            continue;
        }
        let values = cells(&list);
        let value = |cell: usize| {
            if list.is_null(cell / dim) || values.is_null(cell) { nan } else { values.value(cell) }
        };
        all.extend((0..values.len()).map(value));
    }
    let rows = all.len() / dim.max(1);
    Ok(PyArray1::from_vec(py, all).reshape([rows, dim])?.into_any())
}

/// The values of a column in one batch.
enum Cells<'a, T> {
    Lent(&'a [T]),
    Made(Vec<T>),
}

impl<T> Cells<'_, T> {
    fn as_slice(&self) -> &[T] {
        match self {
            Self::Lent(values) => values,
            Self::Made(values) => values,
        }
    }
}

/// Columns side by side, interleaved.
fn columns_matrix<'py, T: Element + Copy + Default>(
    py: Python<'py>,
    batches: &[RecordBatch],
    features: &[String],
    cells: impl for<'a> Fn(&str, &'a ArrayRef) -> PyResult<Cells<'a, T>>,
) -> PyResult<Bound<'py, PyAny>> {
    /// Rows that are interleaved at a time: 1024 of 50 features are 400 kB.
    const TOGETHER: usize = 1024;
    let dim = features.len();
    let mut all: Vec<T> = vec![T::default(); rows(batches) * dim];
    let mut rest = all.as_mut_slice();
    for batch in batches {
        let (out, tail) = rest.split_at_mut(batch.num_rows() * dim);
        rest = tail;
        let part = |name: &String| cells(name, parts(std::slice::from_ref(batch), name)?[0]);
        let columns = features.iter().map(part).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| {
            out.par_chunks_mut(TOGETHER * dim).enumerate().for_each(|(number, out)| {
                for (place, column) in columns.iter().enumerate() {
                    let values = &column.as_slice()[number * TOGETHER..];
                    out[place..].iter_mut().step_by(dim).zip(values).for_each(|(out, value)| *out = *value);
                }
            });
        });
    }
    let rows = rows(batches);
    Ok(PyArray1::from_vec(py, all).reshape([rows, dim])?.into_any())
}

/// A column of numbers as f64, missing ones as NaN.
fn numbers(name: &str, part: &ArrayRef) -> PyResult<Vec<f64>> {
    fn of<P: ArrowPrimitiveType>(part: &ArrayRef, widen: impl Fn(P::Native) -> f64) -> Vec<f64> {
        part.as_primitive::<P>().iter().map(|value| value.map_or(f64::NAN, &widen)).collect()
    }
    Ok(match part.data_type() {
        DataType::Float64 => of::<Float64Type>(part, |x| x),
        DataType::Float32 => of::<Float32Type>(part, f64::from),
        DataType::Int8 => of::<Int8Type>(part, f64::from),
        DataType::Int16 => of::<Int16Type>(part, f64::from),
        DataType::Int32 => of::<Int32Type>(part, f64::from),
        DataType::Int64 => of::<Int64Type>(part, |x| x as f64),
        DataType::UInt8 => of::<UInt8Type>(part, f64::from),
        DataType::UInt16 => of::<UInt16Type>(part, f64::from),
        DataType::UInt32 => of::<UInt32Type>(part, f64::from),
        DataType::UInt64 => of::<UInt64Type>(part, |x| x as f64),
        DataType::Boolean => {
            let one = |value: Option<bool>| value.map_or(f64::NAN, |value| f64::from(u8::from(value)));
            part.as_boolean().iter().map(one).collect()
        }
        other => return Err(PyTypeError::new_err(format!("column {name:?} is of type {other}: must be numbers"))),
    })
}

/// Ids as numbers or as names.
fn ids_of<'py>(py: Python<'py>, batches: &[RecordBatch], name: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut ids: Vec<u64> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut first = 0;
    for part in parts(batches, name)? {
        if let Some(row) = (0..part.len()).find(|&row| part.is_null(row)) {
            return Err(PyValueError::new_err(format!("id at row {} of column {name:?} is missing", first + row)));
        }
        match part.data_type() {
            DataType::Utf8 => names.extend(part.as_string::<i32>().iter().flatten().map(str::to_owned)),
            DataType::LargeUtf8 => names.extend(part.as_string::<i64>().iter().flatten().map(str::to_owned)),
            DataType::Utf8View => names.extend(part.as_string_view().iter().flatten().map(str::to_owned)),
            DataType::UInt64 => ids.extend(part.as_primitive::<UInt64Type>().values().iter()),
            DataType::UInt32 => ids.extend(part.as_primitive::<UInt32Type>().values().iter().map(|&id| u64::from(id))),
            DataType::Int64 => whole(&mut ids, name, part.as_primitive::<Int64Type>().values().iter().copied())?,
            DataType::Int32 => {
                whole(&mut ids, name, part.as_primitive::<Int32Type>().values().iter().map(|&id| i64::from(id)))?;
            }
            other => {
                let text = format!("column {name:?} is of type {other}: ids must be integers or strings");
                return Err(PyTypeError::new_err(text));
            }
        }
        first += part.len();
    }
    if names.is_empty() {
        return Ok(PyArray1::from_vec(py, ids).into_any());
    }
    let names = py.detach(|| armwise::Names::new(names)).map_err(|error| crate::errors::raise(py, &error))?;
    Ok(Bound::new(py, Names { names })?.into_any())
}

fn whole(ids: &mut Vec<u64>, name: &str, values: impl Iterator<Item = i64>) -> PyResult<()> {
    for value in values {
        let row = ids.len();
        let bad =
            |_| PyValueError::new_err(format!("id at row {row} of column {name:?} is {value}: must not be negative"));
        ids.push(u64::try_from(value).map_err(bad)?);
    }
    Ok(())
}

fn eligible_of<'py>(py: Python<'py>, batches: &[RecordBatch], name: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut flags: Vec<bool> = Vec::new();
    for part in parts(batches, name)? {
        let values: &BooleanArray = part.as_boolean_opt().ok_or_else(|| {
            PyTypeError::new_err(format!("column {name:?} is of type {}: must be true or false", part.data_type()))
        })?;
        // A missing flag does not tell whether the arm may be chosen.
        flags.extend(values.iter().map(|flag| flag.unwrap_or(false)));
    }
    Ok(PyArray1::from_vec(py, flags).into_any())
}

/// Columns as an Arrow stream of one batch: arrays of float64, int64, uint64, or lists of strings.
#[pyfunction]
pub(crate) fn export<'py>(
    py: Python<'py>,
    columns: Vec<(String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let array = |values: &Bound<'py, PyAny>| -> PyResult<ArrayRef> {
        if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f64>>() {
            return Ok(Arc::new(Float64Array::from(values.as_slice()?.to_vec())));
        }
        if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f32>>() {
            return Ok(Arc::new(Float32Array::from(values.as_slice()?.to_vec())));
        }
        if let Ok(values) = values.extract::<PyReadonlyArray1<'_, i64>>() {
            return Ok(Arc::new(Int64Array::from(values.as_slice()?.to_vec())));
        }
        if let Ok(values) = values.extract::<PyReadonlyArray1<'_, u64>>() {
            return Ok(Arc::new(UInt64Array::from(values.as_slice()?.to_vec())));
        }
        let list = values.cast::<PyList>()?;
        Ok(Arc::new(StringArray::from(list.extract::<Vec<String>>()?)))
    };
    let arrays =
        columns.iter().map(|(name, values)| Ok((name.clone(), array(values)?))).collect::<PyResult<Vec<_>>>()?;
    let batch = RecordBatch::try_from_iter(arrays).map_err(|error| PyValueError::new_err(error.to_string()))?;
    bridge::write(py, batch)
}
