//! The numbers and whole numbers of one Arrow array, whatever their width.
//!
//! `all_finite` runs over every number of a large table, so it is compiled for the widest registers of the machine.

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
        UInt64Type,
    },
};
use arrow_schema::DataType;

/// Whether all numbers are finite.
pub(super) fn all_finite(numbers: &[f32]) -> bool {
    pulp::Arch::new().dispatch(AllFinite(numbers))
}

struct AllFinite<'a>(&'a [f32]);

impl pulp::NullaryFnOnce for AllFinite<'_> {
    type Output = bool;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]
    fn call(self) -> bool {
        const LANES: usize = 16;
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        // Runs to the end in any case: without an early exit the compiler can vectorise it.
        let mut finite = [true; LANES];
        for chunk in chunks {
            for (finite, number) in finite.iter_mut().zip(chunk) {
                *finite &= number.abs() < f32::INFINITY;
            }
        }
        finite.iter().all(|finite| *finite) && rest.iter().all(|number| number.is_finite())
    }
}

/// The numbers of a numeric array, NaN where missing.
pub(super) fn numbers_of(array: &ArrayRef) -> Option<Vec<f64>> {
    macro_rules! widen {
        ($kind:ty) => {
            array.as_primitive::<$kind>().iter().map(|number| number.map_or(f64::NAN, |number| number as f64)).collect()
        };
    }
    #[expect(clippy::cast_lossless, reason = "one rule for all types")]
    Some(match array.data_type() {
        DataType::Float64 if array.null_count() == 0 => array.as_primitive::<Float64Type>().values().to_vec(),
        DataType::Float64 => widen!(Float64Type),
        DataType::Float32 if array.null_count() == 0 => {
            array.as_primitive::<Float32Type>().values().iter().map(|&number| f64::from(number)).collect()
        }
        DataType::Float32 => widen!(Float32Type),
        DataType::Int8 => widen!(Int8Type),
        DataType::Int16 => widen!(Int16Type),
        DataType::Int32 => widen!(Int32Type),
        DataType::Int64 => widen!(Int64Type),
        DataType::UInt8 => widen!(UInt8Type),
        DataType::UInt16 => widen!(UInt16Type),
        DataType::UInt32 => widen!(UInt32Type),
        DataType::UInt64 => widen!(UInt64Type),
        DataType::Boolean => {
            let flag = |flag: Option<bool>| flag.map_or(f64::NAN, |flag| if flag { 1.0 } else { 0.0 });
            array.as_boolean().iter().map(flag).collect()
        }
        _ => return None,
    })
}

/// Whole numbers written out.
pub(super) fn whole_numbers(array: &ArrayRef) -> Option<Vec<Option<String>>> {
    macro_rules! text {
        ($kind:ty) => {
            array.as_primitive::<$kind>().iter().map(|number| number.map(|number| number.to_string())).collect()
        };
    }
    Some(match array.data_type() {
        DataType::Int8 => text!(Int8Type),
        DataType::Int16 => text!(Int16Type),
        DataType::Int32 => text!(Int32Type),
        DataType::Int64 => text!(Int64Type),
        DataType::UInt8 => text!(UInt8Type),
        DataType::UInt16 => text!(UInt16Type),
        DataType::UInt32 => text!(UInt32Type),
        DataType::UInt64 => text!(UInt64Type),
        _ => return None,
    })
}
