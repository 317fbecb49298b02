//! Arms turned into tiles: from rows, transposed on the way, or as laid out earlier.
//!
//! The decision to know: rows of the other precision are converted first and transposed after, both within the
//! first-level cache; while a tile is computed, the rows of the next one are fetched.

use super::{
    tile::{Ahead, Tiles},
    vector::{Vector, Zero},
};

/// How a stored feature becomes the kernel's.
pub(crate) trait Convert<T>: Copy + Send + Sync {
    /// The nearest number.
    fn convert(self) -> T;
    /// The slice itself, where nothing needs to be converted.
    fn same(all: &[Self]) -> Option<&[T]>;
}

macro_rules! convert {
    ($S:ty, $T:ty, $convert:expr, $same:expr) => {
        impl Convert<$T> for $S {
            #[inline(always)]
            fn convert(self) -> $T {
                $convert(self)
            }

            #[inline(always)]
            fn same(all: &[Self]) -> Option<&[$T]> {
                $same(all)
            }
        }
    };
}

convert!(f32, f32, |x| x, Some);
convert!(f64, f64, |x| x, Some);
convert!(f32, f64, f64::from, |_| None);
convert!(f64, f32, |x| x as f32, |_| None);

/// Row-major features.
pub(super) struct Rows<'a, S> {
    features: &'a [S],
    dim: usize,
    count: usize,
}

impl<'a, S> Rows<'a, S> {
    pub(super) fn new(features: &'a [S], dim: usize) -> Self {
        Self { features, dim, count: features.len() / dim }
    }
}

impl<S: Convert<V::T>, V: Vector<T: Zero>> Tiles<V> for Rows<'_, S> {
    #[inline(always)]
    fn rows(&self) -> usize {
        self.count
    }

    #[inline(always)]
    unsafe fn tile<const NV: usize>(&self, first: usize, room: &mut [V::T]) -> (*const V::T, Ahead) {
        let (d, width) = (self.dim, NV * V::LANES);
        let (tile, spare) = room.split_at_mut(d * width);
        let here = width.min(self.count - first);
        let from = &self.features[first * d..(first + here) * d];
        let rows = match S::same(from) {
            Some(rows) if here == width => rows,
            _ => {
                for (to, from) in spare.iter_mut().zip(from) {
                    *to = from.convert();
                }
                spare[from.len()..d * width].fill(V::T::ZERO);
                &spare[..d * width]
            }
        };
        for v in 0..NV {
            let (rows, tile) = (&rows[v * V::LANES * d..], &mut tile[v * V::LANES..]);
            if d < V::CHUNK {
                for column in 0..d {
                    for lane in 0..V::LANES {
                        tile[column * width + lane] = rows[lane * d + column];
                    }
                }
                continue;
            }
            for column in (0..d).step_by(V::CHUNK) {
                // The last columns go with some before them, once more.
                let column = column.min(d - V::CHUNK);
                // SAFETY: LANES rows of d features are left in `rows`, CHUNK columns of this vector in `tile`.
                unsafe {
                    V::transpose(rows.as_ptr().add(column), d, tile.as_mut_ptr().add(column * width), width);
                }
            }
        }
        let next = &self.features[(first + here) * d..];
        (tile.as_ptr(), Ahead::new(&next[..next.len().min(d * width)]))
    }
}

/// Tiles laid out earlier, one after the other.
pub(super) struct Panels<'a, T> {
    pub(super) values: &'a [T],
    pub(super) rows: usize,
    pub(super) dim: usize,
}

impl<V: Vector> Tiles<V> for Panels<'_, V::T> {
    #[inline(always)]
    fn rows(&self) -> usize {
        self.rows
    }

    #[inline(always)]
    unsafe fn tile<const NV: usize>(&self, first: usize, _: &mut [V::T]) -> (*const V::T, Ahead) {
        let (tile, rest) = self.values[first * self.dim..].split_at(NV * V::LANES * self.dim);
        (tile.as_ptr(), Ahead::new(&rest[..rest.len().min(tile.len())]))
    }
}
