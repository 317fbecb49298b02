//! Arms turned into tiles: from rows, which are transposed, or from panels laid out earlier.
//!
//! If there is enough arithmetic, a tile is put together from pieces of rows during the arithmetic of the tile before
//! it, with loads and stores only. Short rows and rows of the other precision are transposed in registers; rows whose
//! conversion has no instructions are converted first. The rows after these are prefetched meanwhile.

use super::{
    LINE,
    packed::Packed,
    tile::{Ahead, Out, Tile, Tiles, run, steps},
    vector::{Vector, Zero, fetch},
};

/// How a stored feature becomes the kernel's.
pub(crate) trait Convert<T>: Copy + Send + Sync {
    /// The nearest number.
    fn convert(self) -> T;
    /// The slice itself, where nothing needs to be converted.
    fn same(all: &[Self]) -> Option<&[T]>;
    /// The slice itself, where it is to be widened from f32.
    fn narrow(all: &[Self]) -> Option<&[f32]>;
}

macro_rules! convert {
    ($S:ty, $T:ty, $convert:expr, $same:expr, $narrow:expr) => {
        impl Convert<$T> for $S {
            #[inline(always)]
            fn convert(self) -> $T {
                $convert(self)
            }

            #[inline(always)]
            fn same(all: &[Self]) -> Option<&[$T]> {
                $same(all)
            }

            #[inline(always)]
            fn narrow(all: &[Self]) -> Option<&[f32]> {
                $narrow(all)
            }
        }
    };
}

convert!(f32, f32, |x| x, Some, |_| None);
convert!(f64, f64, |x| x, Some, |_| None);
convert!(f32, f64, f64::from, |_| None, Some);
convert!(f64, f32, |x| x as f32, |_| None, |_| None);

/// Row-major features.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, S> {
    features: &'a [S],
    dim: usize,
}

/// Rows of the kernel's own precision: each tile is made beside the arithmetic of the one before.
struct LongRows<'a, T>(Rows<'a, T>);

impl<'a, S> Rows<'a, S> {
    pub(super) fn new(features: &'a [S], dim: usize) -> Self {
        Self { features, dim }
    }

    /// The rows of the tile that starts at arm `first`, in the kernel's precision and with zeros for missing arms. All
    /// rows of the tile can be read, and `over` elements after them.
    #[inline(always)]
    fn tile_at<'b, T: Zero>(&self, first: usize, width: usize, over: usize, spare: &'b mut [T]) -> &'b [T]
    where
        S: Convert<T>,
        'a: 'b,
    {
        let size = width * self.dim;
        let rows = &self.features[first * self.dim..];
        let here = &rows[..rows.len().min(size)];
        match S::same(rows) {
            Some(rows) if rows.len() >= size + over => &rows[..size + over],
            _ => {
                for (to, from) in spare.iter_mut().zip(here) {
                    *to = from.convert();
                }
                spare[here.len()..size + over].fill(T::ZERO);
                &spare[..size + over]
            }
        }
    }
}

impl<S: Convert<V::T>, V: Vector<T: Zero + Convert<V::T>>> Tiles<V> for Rows<'_, S> {
    type Ahead = Fetch;

    #[inline(always)]
    fn rows(&self) -> usize {
        self.features.len() / self.dim
    }

    #[inline(always)]
    unsafe fn tile<const NV: usize>(&self, first: usize, room: &mut [V::T]) -> (Tile<V, NV>, Fetch) {
        let (d, width) = (self.dim, NV * V::LANES);
        let (tile, spare) = room.split_at_mut(d.max(4) * width);
        let over = 4_usize.saturating_sub(d);
        let rows = &self.features[first * d..];
        let next = &rows[rows.len().min(width * d)..];
        let widened = S::narrow(rows).filter(|rows| rows.len() >= width * d + over).is_some_and(|rows| {
            // SAFETY: all rows of the tile and `over` more elements can be read.
            unsafe { transpose::<V, NV>(tile, d, over, |at| V::four_widened(rows.as_ptr().add(at), d)) }
        });
        if !widened {
            let rows = self.tile_at(first, width, over, spare);
            // SAFETY: as above.
            unsafe { transpose::<V, NV>(tile, d, over, |at| Some(V::four(rows.as_ptr().add(at), d))) };
        }
        (Tile::ready(tile.as_ptr()), Fetch::new(&next[..next.len().min(d * width)]))
    }

    #[inline(always)]
    unsafe fn times<const NV: usize, const NORM: bool>(
        &self,
        packed: &[Packed<V::T>],
        room: &mut [V::T],
        out: &mut Out<'_, V::T>,
    ) {
        let turns: usize = packed.iter().map(Packed::turns).sum();
        // Worth it if most of the steps can be interleaved with arithmetic.
        let is_long = 3 * turns >= 2 * NV * self.dim.next_multiple_of(V::CHUNK);
        // SAFETY: the caller's contract.
        unsafe {
            match S::same(self.features) {
                Some(features) if is_long => {
                    run::<V, NV, NORM>(&LongRows(Rows::new(features, self.dim)), packed, room, out);
                }
                _ => run::<V, NV, NORM>(self, packed, room, out),
            }
        }
    }
}

/// Fills a tile, taking four columns of a vector's rows at a time. `four` gives them for the place of their first
/// element. False if `four` gives none.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn transpose<V: Vector, const NV: usize>(
    tile: &mut [V::T],
    d: usize,
    over: usize,
    four: impl Fn(usize) -> Option<[V; 4]>,
) -> bool {
    let width = NV * V::LANES;
    assert!(tile.len() >= d.max(4) * width, "a whole tile");
    for v in 0..NV {
        for column in (0..d).step_by(4) {
            // The last columns go with some before them, once more; where there are none, with what follows the row.
            let column = column.min((d + over) - 4);
            let Some(four) = four(v * V::LANES * d + column) else { return false };
            for (place, x) in four.into_iter().enumerate() {
                // SAFETY: the tile has four columns or all, as was checked.
                unsafe { x.store(tile.as_mut_ptr().add((column + place) * width + v * V::LANES)) };
            }
        }
    }
    true
}

impl<V: Vector<T: Zero + Convert<V::T>>> Tiles<V> for LongRows<'_, V::T> {
    type Ahead = Gather<V>;

    #[inline(always)]
    fn rows(&self) -> usize {
        self.0.features.len() / self.0.dim
    }

    #[inline(always)]
    unsafe fn tile<const NV: usize>(&self, first: usize, room: &mut [V::T]) -> (Tile<V, NV>, Gather<V>) {
        let (d, width) = (self.0.dim, NV * V::LANES);
        let columns = d.next_multiple_of(V::CHUNK);
        let (even, rest) = room.split_at_mut(columns * width);
        let (odd, spare) = rest.split_at_mut(columns * width);
        let (tile, other) = if (first / width).is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let gather = |first: usize, spare: &mut [V::T], tile: &mut [V::T]| {
            let (rows, after) = (self.0.tile_at(first, width, columns - d, spare), (first + width) * d);
            Gather::<V>::new::<NV>(rows, self.0.features.as_ptr().wrapping_add(after), tile, d)
        };
        if first == 0 {
            // SAFETY: the room is still there.
            unsafe { steps(&mut gather(0, spare, tile), 0) };
        }
        let is_last = (first + width) * d >= self.0.features.len();
        let gather = if is_last { Gather::none() } else { gather(first + width, spare, other) };
        (Tile::pieces(tile.as_mut_ptr()), gather)
    }
}

/// Puts pieces of rows side by side, a vector at each step, and fetches the rows after them.
///
/// Pieces go through memory, since the arithmetic has all of the units that could put them together in registers.
pub(super) struct Gather<V: Vector> {
    from: *const V::T,
    to: *mut V::T,
    fetch: *const V::T,
    dim: usize,
    width: usize,
    /// How many groups of columns there are.
    groups: usize,
    /// How many of them these rows still have.
    more: usize,
    /// Which rows of each group of rows these are.
    row: usize,
    steps: usize,
}

impl<V: Vector> Gather<V> {
    /// Rows for a whole tile, each of which can be read up to a multiple of `CHUNK`; what to fetch; and the tile.
    #[inline(always)]
    fn new<const NV: usize>(rows: &[V::T], fetch: *const V::T, tile: &mut [V::T], dim: usize) -> Self {
        let (groups, width) = (dim.div_ceil(V::CHUNK), NV * V::LANES);
        let over = groups * V::CHUNK - dim;
        assert!(rows.len() >= width * dim + over && tile.len() >= groups * V::CHUNK * width, "whole tiles");
        let steps = groups * V::CHUNK * NV;
        Self { from: rows.as_ptr(), to: tile.as_mut_ptr(), fetch, dim, width, groups, more: groups, row: 0, steps }
    }

    /// Nothing to do.
    #[inline(always)]
    fn none() -> Self {
        let (from, to, fetch) = (std::ptr::null(), std::ptr::null_mut(), std::ptr::null());
        Self { from, to, fetch, dim: 0, width: 0, groups: 0, more: 0, row: 0, steps: 0 }
    }
}

impl<V: Vector> Ahead for Gather<V> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.steps
    }

    #[inline(always)]
    unsafe fn step(&mut self) {
        fetch::<false>(self.fetch.cast());
        self.fetch = self.fetch.wrapping_add(V::LANES);
        for piece in 0..V::LANES / V::CHUNK {
            // SAFETY: `new` has checked that all rows of the tile can be read to the end of the last group, and written.
            unsafe {
                let from = self.from.add(piece * V::CHUNK * self.dim).cast::<u8>();
                let to = self.to.add(piece * V::CHUNK).cast::<u8>();
                to.copy_from_nonoverlapping(from, V::CHUNK * size_of::<V::T>());
            }
        }
        self.from = self.from.wrapping_add(V::CHUNK);
        self.to = self.to.wrapping_add(V::CHUNK * self.width);
        self.steps -= 1;
        self.more -= 1;
        if self.more == 0 {
            std::hint::cold_path();
            // Back to the first group, of the next row of each group of rows or of the next vector.
            let columns = self.groups * V::CHUNK;
            self.more = self.groups;
            self.from = self.from.wrapping_sub(columns).wrapping_add(self.dim);
            self.to = self.to.wrapping_sub(columns * self.width).wrapping_add(self.width);
            self.row += 1;
            if self.row == V::CHUNK {
                self.row = 0;
                self.from = self.from.wrapping_add((V::LANES - V::CHUNK) * self.dim);
                self.to = self.to.wrapping_sub(V::CHUNK * self.width).wrapping_add(V::LANES);
            }
        }
    }
}

/// Prefetches memory that is needed soon, two lines per step: fetching it all at once would delay what is needed now.
pub(super) struct Fetch {
    at: *const u8,
    steps: usize,
}

impl Fetch {
    #[inline(always)]
    fn new<S>(from: &[S]) -> Self {
        Self { at: from.as_ptr().cast(), steps: size_of_val(from).div_ceil(2 * LINE) }
    }
}

impl Ahead for Fetch {
    #[inline(always)]
    fn left(&self) -> usize {
        self.steps
    }

    #[inline(always)]
    unsafe fn step(&mut self) {
        for _ in 0..2 {
            fetch::<true>(self.at);
            self.at = self.at.wrapping_add(LINE);
        }
        self.steps -= 1;
    }
}

/// Tiles laid out earlier, one after the other.
pub(super) struct Panels<'a, T> {
    pub(super) values: &'a [T],
    pub(super) rows: usize,
    pub(super) dim: usize,
}

impl<V: Vector> Tiles<V> for Panels<'_, V::T> {
    type Ahead = Fetch;

    #[inline(always)]
    fn rows(&self) -> usize {
        self.rows
    }

    #[inline(always)]
    unsafe fn tile<const NV: usize>(&self, first: usize, _: &mut [V::T]) -> (Tile<V, NV>, Fetch) {
        let (tile, rest) = self.values[first * self.dim..].split_at(NV * V::LANES * self.dim);
        (Tile::ready(tile.as_ptr()), Fetch::new(&rest[..rest.len().min(tile.len())]))
    }
}
