//! Tables: features, ids, eligibility and columns from any library's Arrow stream; ours exported as one.
//!
//! A fixed-size-list column is borrowed without a copy. Separate columns must be interleaved (`interleave.rs`), which
//! takes one copy. A missing value becomes NaN, which the library then refuses with its row and column.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, PrimitiveArray,
    RecordBatch, StringArray, UInt64Array,
    cast::AsArray,
    types::{ArrowPrimitiveType, Float32Type, Float64Type},
};
use arrow_schema::{DataType, Schema};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::{
    exceptions::{PyKeyError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyCapsule, PyList},
};

use crate::{
    bridge,
    ids::Ids,
    interleave::{is_number, numbers},
    rows::Rows,
};

/// A table, read once.
#[pyclass(frozen)]
pub(crate) struct Table {
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// The rows of anything that has `__arrow_c_stream__`.
    #[new]
    fn new(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { batches: bridge::read(table)? })
    }

    /// The names of all columns, without those that pandas wrote for its index.
    #[getter]
    fn names(&self) -> Vec<String> {
        let schema = self.batches[0].schema();
        let index = index_of_pandas(&schema);
        schema.fields().iter().map(|field| field.name().clone()).filter(|name| !index.contains(name)).collect()
    }

    /// The features: `Rows` of these columns, or a matrix that borrows one column of fixed-size lists.
    fn rows<'py>(&self, py: Python<'py>, features: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        if let [only] = &features[..] {
            let lists = self.parts(only)?;
            if let DataType::FixedSizeList(field, dim) = lists[0].data_type() {
                let dim = usize::try_from(*dim).unwrap_or(0);
                return match field.data_type() {
                    DataType::Float32 => list_matrix::<Float32Type>(py, only, &lists, dim, f32::NAN),
                    DataType::Float64 => list_matrix::<Float64Type>(py, only, &lists, dim, f64::NAN),
                    other => {
                        let text = format!("column {only:?} holds lists of {other}: cast them to lists of floats");
                        Err(PyTypeError::new_err(text))
                    }
                };
            }
        }
        let columns = features.iter().map(|name| self.parts(name)).collect::<PyResult<Vec<_>>>()?;
        for (name, parts) in features.iter().zip(&columns) {
            if !is_number(parts[0].data_type()) {
                let kind = parts[0].data_type();
                let text = format!(
                    "column {name:?} is of type {kind}: features must be numbers; encode or cast it, or name the feature columns with features=[...]"
                );
                return Err(PyTypeError::new_err(text));
            }
        }
        let columns = columns.into_iter().map(|parts| parts.into_iter().cloned().collect()).collect();
        Ok(Bound::new(py, Rows::of_arrow(columns)?)?.into_any())
    }

    /// Ids as numbers or as names.
    fn ids<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.batches[0].schema();
        let uuid = schema.field_with_name(name).is_ok_and(|field| field.extension_type_name() == Some("arrow.uuid"));
        let mut ids = Ids::new(name, uuid);
        self.parts(name)?.into_iter().try_for_each(|part| ids.add(part))?;
        ids.finish(py)
    }

    /// A column of true and false. A missing flag counts as false: it does not tell that the arm may be chosen.
    fn flags<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let mut flags: Vec<bool> = Vec::new();
        for part in self.parts(name)? {
            let values: &BooleanArray = part.as_boolean_opt().ok_or_else(|| {
                PyTypeError::new_err(format!("column {name:?} is of type {}: must be true or false", part.data_type()))
            })?;
            flags.extend(values.iter().map(|flag| flag.unwrap_or(false)));
        }
        Ok(PyArray1::from_vec(py, flags).into_any())
    }

    /// A column of numbers; or of strings, as a number for each and the list that says what the numbers mean.
    #[expect(clippy::type_complexity, reason = "a pair for Python")]
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<(Bound<'py, PyArray1<f64>>, Option<Vec<String>>)> {
        let parts = self.parts(name)?;
        if let Some(strings) = strings(&parts) {
            let (codes, labels) = strings;
            return Ok((PyArray1::from_vec(py, codes), Some(labels)));
        }
        let mut values = Vec::new();
        for part in parts {
            if !is_number(part.data_type()) {
                let text = format!("column {name:?} is of type {}: must be numbers or strings", part.data_type());
                return Err(PyTypeError::new_err(text));
            }
            values.extend(numbers(part));
        }
        Ok((PyArray1::from_vec(py, values), None))
    }
}

impl Table {
    /// The arrays of a column, batch by batch.
    fn parts(&self, name: &str) -> PyResult<Vec<&ArrayRef>> {
        let part = |batch: &'_ RecordBatch| batch.schema().index_of(name);
        let missing = |_| {
            let schema = self.batches[0].schema();
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            PyKeyError::new_err(format!("the table has no column {name:?}; it has {}", names.join(", ")))
        };
        let place = part(&self.batches[0]).map_err(missing)?;
        Ok(self.batches.iter().map(|batch| batch.column(place)).collect())
    }
}

/// The columns that pandas wrote for its index, as it says in the schema.
fn index_of_pandas(schema: &Schema) -> Vec<String> {
    let written = schema.metadata().get("pandas").and_then(|text| serde_json::from_str(text).ok());
    let written: serde_json::Value = written.unwrap_or_default();
    let names = written["index_columns"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// A number for each different string, and the strings in the order of these numbers; a missing string is NaN. None
/// unless all parts hold strings.
fn strings(parts: &[&ArrayRef]) -> Option<(Vec<f64>, Vec<String>)> {
    fn number<'a>(known: &mut HashMap<&'a str, usize>, labels: &mut Vec<String>, text: &'a str) -> f64 {
        let next = known.len();
        let number = *known.entry(text).or_insert(next);
        if number == next {
            labels.push(text.to_owned());
        }
        number as f64
    }
    let (mut known, mut labels, mut codes) = (HashMap::new(), Vec::new(), Vec::new());
    for part in parts {
        let texts: Box<dyn Iterator<Item = Option<&str>>> = texts(part)?;
        codes.extend(texts.map(|text| text.map_or(f64::NAN, |text| number(&mut known, &mut labels, text))));
    }
    Some((codes, labels))
}

/// The strings of an array, dictionary-encoded or not; none if it holds something else.
pub(crate) fn texts(part: &ArrayRef) -> Option<Box<dyn Iterator<Item = Option<&str>> + '_>> {
    Some(match part.data_type() {
        DataType::Utf8 => Box::new(part.as_string::<i32>().iter()),
        DataType::LargeUtf8 => Box::new(part.as_string::<i64>().iter()),
        DataType::Utf8View => Box::new(part.as_string_view().iter()),
        DataType::Dictionary(..) => {
            let dictionary = part.as_any_dictionary();
            let values: Vec<Option<&str>> = texts(dictionary.values())?.collect();
            if values.is_empty() {
                return Some(Box::new((0..part.len()).map(|_| None)));
            }
            let keys = dictionary.normalized_keys();
            Box::new(
                keys.into_iter().enumerate().map(move |(row, key)| if part.is_null(row) { None } else { values[key] }),
            )
        }
        _ => return None,
    })
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
