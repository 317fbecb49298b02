//! Columns side by side to rows: features as the library reads them, from Arrow columns or numpy vectors.
//!
//! Rows are written by all threads, each for some thousand of them, in blocks that stay in the first cache while every
//! column writes into them; the kind of a column is looked up once per block, not per cell.

use std::ops::Range;

use armwise::{Features, Panels, tasks::share_parts};
use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
        Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use numpy::{Element, ndarray::ArrayView1};

/// Rows of one task.
const TASK: usize = 1 << 12;
/// Bytes of a block of rows that are written together.
const BLOCK: usize = 1 << 14;

/// A column without the interpreter's lock.
pub(crate) enum Column<'a> {
    /// In parts that all columns of a table share.
    Arrow(&'a [ArrayRef]),
    F64(ArrayView1<'a, f64>),
    F32(ArrayView1<'a, f32>),
}

/// Numbers that lie side by side.
enum Plain<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
}

impl Column<'_> {
    /// Rows of a part, if they lie side by side as floats.
    fn plain(&self, part: usize, rows: Range<usize>) -> Option<Plain<'_>> {
        match self {
            Self::Arrow(parts) if parts[part].null_count() == 0 => {
                let double = parts[part].as_primitive_opt::<Float64Type>();
                let single = parts[part].as_primitive_opt::<Float32Type>();
                let double = double.and_then(|values| values.values().get(rows.clone())).map(Plain::F64);
                double.or_else(|| single.and_then(|values| values.values().get(rows)).map(Plain::F32))
            }
            Self::Arrow(_) => None,
            Self::F64(values) => values.as_slice()?.get(rows).map(Plain::F64),
            Self::F32(values) => values.as_slice()?.get(rows).map(Plain::F32),
        }
    }
}

/// Writes a column into its place in every panel.
fn spread<V: Copy>(values: &[V], place: usize, width: usize, panels: &mut [&mut [f32]], of: impl Fn(V) -> f32) {
    for (values, panel) in values.chunks(width).zip(panels) {
        let out = &mut panel[place * width..][..values.len()];
        out.iter_mut().zip(values).for_each(|(out, value)| *out = of(*value));
    }
}

/// Columns of the same length.
pub(crate) struct Columns<'a> {
    columns: Vec<Column<'a>>,
    /// Where each part begins, and the number of rows.
    starts: Vec<usize>,
}

impl<'a> Columns<'a> {
    /// Columns in parts of these lengths.
    pub(crate) fn new(columns: Vec<Column<'a>>, lengths: impl Iterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        starts.extend(lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));
        Self { columns, starts }
    }

    pub(crate) fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    pub(crate) fn dim(&self) -> usize {
        self.columns.len()
    }

    /// Writes rows from `first` on, as many as there is room for.
    pub(crate) fn fill<T: Number>(&self, first: usize, out: &mut [T]) {
        let dim = self.dim();
        share_parts(
            out.chunks_mut(TASK * dim).enumerate(),
            || (),
            |(), _, (number, out)| {
                let mut first = first + number * TASK;
                for out in out.chunks_mut((BLOCK / size_of::<T>()).max(16 * dim) / dim * dim) {
                    self.block(first, out);
                    first += out.len() / dim;
                }
            },
        );
    }

    /// These rows, in their order.
    pub(crate) fn gather<T: Number>(&self, rows: &[usize]) -> Vec<T> {
        let dim = self.dim();
        let mut all = vec![T::default(); rows.len() * dim];
        let together = |a: &usize, b: &usize| a + 1 == *b;
        let mut out = &mut all[..];
        for run in rows.chunk_by(together) {
            let (now, later) = out.split_at_mut(run.len() * dim);
            if run.len() < TASK {
                self.block(run[0], now);
            } else {
                self.fill(run[0], now);
            }
            out = later;
        }
        all
    }

    /// Rows as columns of single precision, for a screen.
    pub(crate) fn panels(&self, rows: Range<usize>, panels: &mut Panels) {
        let (dim, width) = (self.dim(), Panels::width());
        let mut out: Vec<&mut [f32]> = panels.fill(rows.len(), dim).collect();
        let mut room: Vec<f64> = Vec::new();
        let part = self.starts.partition_point(|&start| start <= rows.start) - 1;
        let is_inside = rows.end <= self.starts[part + 1];
        let inside = rows.start - self.starts[part]..rows.end - self.starts[part];
        for (place, column) in self.columns.iter().enumerate() {
            match column.plain(part, inside.clone()).filter(|_| is_inside) {
                Some(Plain::F64(values)) => spread(values, place, width, &mut out, |x| x as f32),
                Some(Plain::F32(values)) => spread(values, place, width, &mut out, |x| x),
                None => {
                    room.resize(rows.len(), 0.0);
                    self.column(column, rows.start, &mut room);
                    spread(&room, place, width, &mut out, |x| x as f32);
                }
            }
        }
    }

    /// Numbers of a column from row `first` on.
    fn column(&self, column: &Column<'_>, mut first: usize, mut out: &mut [f64]) {
        while !out.is_empty() {
            let part = self.starts.partition_point(|&start| start <= first) - 1;
            let rows = (self.starts[part + 1] - first).min(out.len());
            let (now, later) = out.split_at_mut(rows);
            let inside = first - self.starts[part];
            f64::write(column, part, inside..inside + rows, now, 1);
            (first, out) = (first + rows, later);
        }
    }

    fn block<T: Number>(&self, mut first: usize, mut out: &mut [T]) {
        let dim = self.dim();
        while !out.is_empty() {
            let part = self.starts.partition_point(|&start| start <= first) - 1;
            let rows = (self.starts[part + 1] - first).min(out.len() / dim);
            let (now, later) = out.split_at_mut(rows * dim);
            let inside = first - self.starts[part];
            for (place, column) in self.columns.iter().enumerate() {
                T::write(column, part, inside..inside + rows, &mut now[place..], dim);
            }
            (first, out) = (first + rows, later);
        }
    }
}

/// What features are stored as.
pub(crate) trait Number: Element + Copy + Default + Send {
    /// Writes these rows of a part of a column into every `step`-th cell.
    fn write(column: &Column<'_>, part: usize, rows: Range<usize>, out: &mut [Self], step: usize);

    /// The library's view.
    fn features(values: &[Self]) -> Features<'_>;
}

impl Number for f64 {
    fn write(column: &Column<'_>, part: usize, rows: Range<usize>, out: &mut [Self], step: usize) {
        match column {
            Column::Arrow(parts) => floats(&parts[part], rows, out, step),
            Column::F64(values) => strided(values, rows, out, step, |x| x),
            Column::F32(values) => strided(values, rows, out, step, f64::from),
        }
    }

    fn features(values: &[Self]) -> Features<'_> {
        Features::F64(values)
    }
}

/// Only for columns that are all of this type.
impl Number for f32 {
    fn write(column: &Column<'_>, part: usize, rows: Range<usize>, out: &mut [Self], step: usize) {
        match column {
            Column::Arrow(parts) => cells::<Float32Type, f32>(&parts[part], rows, out, step, f32::NAN, |x| x),
            Column::F64(values) => strided(values, rows, out, step, |x| x as f32),
            Column::F32(values) => strided(values, rows, out, step, |x| x),
        }
    }

    fn features(values: &[Self]) -> Features<'_> {
        Features::F32(values)
    }
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
    use DataType::{Boolean, Decimal32, Decimal64, Decimal128, Decimal256};
    match kind {
        Boolean | Decimal128(..) => true,
        Decimal32(..) | Decimal64(..) | Decimal256(..) => false,
        other => other.is_numeric(),
    }
}

/// Writes these rows of an array of numbers as f64 into every `step`-th cell.
fn floats(part: &ArrayRef, rows: Range<usize>, out: &mut [f64], step: usize) {
    const NAN: f64 = f64::NAN;
    match part.data_type() {
        DataType::Float64 => cells::<Float64Type, f64>(part, rows, out, step, NAN, |x| x),
        DataType::Float32 => cells::<Float32Type, f64>(part, rows, out, step, NAN, f64::from),
        DataType::Float16 => {
            cells::<Float16Type, f64>(part, rows, out, step, NAN, <Float16Type as ArrowPrimitiveType>::Native::to_f64);
        }
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
