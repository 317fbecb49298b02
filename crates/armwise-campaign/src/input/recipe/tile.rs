//! Features of rows from columns, in tiles that stay in the first cache.
//!
//! Features are computed in f64 and rounded to f32 once; choosing, storing and learning all use these f32. The
//! arithmetic of a row runs in the order of its features and involves no other row, so batches, threads and the
//! selection of rows change no bit. The panels for screening are only nearly the same: they multiply where rows divide.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]
#![allow(clippy::needless_range_loop, reason = "short loops over registers, several arrays at once")]

use super::{Recipe, apply::Values};
use armwise::Panels;

/// Rows that are made together.
const TILE: usize = 64;

/// Numbers that a loop takes at a time; panels are a multiple of it wide.
const LANES: usize = 8;

/// Does something for each pair. Chunks are copied out and back, which tells the compiler that they do not overlap.
#[inline(always)]
fn along<A: Copy, B: Copy>(to: &mut [A], values: &[B], pair: impl Fn(A, B) -> A) {
    let ((tos, to_rest), (chunks, rest)) = (to.as_chunks_mut::<LANES>(), values.as_chunks::<LANES>());
    for (to, &values) in tos.iter_mut().zip(chunks) {
        let mut out = *to;
        for lane in 0..LANES {
            out[lane] = pair(out[lane], values[lane]);
        }
        *to = out;
    }
    for (to, value) in to_rest.iter_mut().zip(rest) {
        *to = pair(*to, *value);
    }
}

/// The columns of a batch.
pub(crate) struct Columns<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) rows: usize,
    pub(super) values: Vec<Values<'a>>,
}

/// Which rows of a batch.
#[derive(Clone, Copy)]
enum Which<'a> {
    /// A number of consecutive rows.
    From(usize, usize),
    These(&'a [usize]),
}

impl Which<'_> {
    fn len(self) -> usize {
        match self {
            Self::From(_, count) => count,
            Self::These(rows) => rows.len(),
        }
    }

    /// Writes a value for each of the rows.
    #[inline(always)]
    fn each<T: Copy>(self, values: &[T], to: &mut [f64], of: impl Fn(T) -> f64) {
        match self {
            Self::From(first, count) => along(to, &values[first..first + count], |_, value| of(value)),
            Self::These(rows) => {
                for (to, &row) in to.iter_mut().zip(rows) {
                    *to = of(values[row]);
                }
            }
        }
    }

    #[inline(always)]
    fn row(self, place: usize) -> usize {
        match self {
            Self::From(first, _) => first + place,
            Self::These(rows) => rows[place],
        }
    }
}

impl Columns<'_> {
    /// How many rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Appends the features of some rows, or of all, row by row. Returns how many of these had to be shortened.
    pub(crate) fn features(&self, of: Option<&[usize]>, features: &mut Vec<f32>) -> u64 {
        let dim = self.recipe.dim();
        let count = of.map_or(self.rows, <[usize]>::len);
        let before = features.len();
        features.resize(before + count * dim, 0.0);
        let mut room = vec![0.0; dim * TILE];
        let tiles = features[before..].chunks_mut(TILE * dim).zip((0..count).step_by(TILE));
        tiles
            .map(|(x, first)| {
                let count = x.len() / dim;
                let which = of.map_or(Which::From(first, count), |rows| Which::These(&rows[first..first + count]));
                pulp::Arch::new().dispatch(MakeRows { columns: self, which, room: &mut room, x })
            })
            .sum()
    }

    /// Lays rows out in panels for screening. Returns how many would be shortened.
    pub(crate) fn panels(&self, first: usize, count: usize, panels: &mut Panels) -> u64 {
        let (dim, width) = (self.recipe.dim(), Panels::width());
        let mut room = vec![0.0; dim * width];
        let parts = panels.fill(count, dim).zip((0..count).step_by(width));
        parts
            .map(|(panel, at)| {
                let which = Which::From(first + at, width.min(count - at));
                pulp::Arch::new().dispatch(MakePanel { columns: self, which, room: &mut room, panel })
            })
            .sum()
    }

    /// Puts the features of a tile in `room`, column by column with `stride` places each, and the factor of each row in
    /// `scales`. Returns how many rows are shortened.
    #[inline(always)]
    fn put<const EXACT: bool>(&self, which: Which<'_>, room: &mut [f64], stride: usize, scales: &mut [f64]) -> u64 {
        let count = which.len();
        let mut features = room.chunks_exact_mut(stride).map(|column| &mut column[..count]);
        let mut next = || features.next().expect("a place for each feature");
        if self.recipe.bias {
            next().fill(1.0);
        }
        let mut crossed = false;
        for values in &self.values {
            match values {
                Values::Singles(numbers, standard) if EXACT => {
                    let by = *standard;
                    which.each(numbers, next(), |number| (by.clip(f64::from(number)) - by.mean) / by.sd);
                }
                Values::Singles(numbers, standard) => {
                    let (by, factor) = (*standard, 1.0 / standard.sd);
                    which.each(numbers, next(), |number| (by.clip(f64::from(number)) - by.mean) * factor);
                }
                Values::Numbers(numbers, standard) => {
                    let by = *standard;
                    which.each(numbers, next(), |number| (by.clip(number) - by.mean) / by.sd);
                }
                // Made of the others, once these are there.
                Values::Products(_) => {
                    crossed = true;
                    (0..values.dim()).for_each(|_| next().fill(0.0));
                }
                Values::Levels(levels, several) => {
                    let mut places: Vec<&mut [f64]> = (0..*several).map(|_| next()).collect();
                    places.iter_mut().for_each(|place| place.fill(0.0));
                    for at in 0..count {
                        if let Some(place) = places.get_mut(levels[which.row(at)] as usize) {
                            place[at] = 1.0;
                        }
                    }
                }
                Values::Vectors(vectors, dim) => {
                    for place in 0..*dim {
                        let column = next().iter_mut().enumerate();
                        column.for_each(|(at, x)| *x = vectors[which.row(at) * dim + place]);
                    }
                }
            }
        }
        if crossed {
            self.cross(room, stride, count);
        }
        let scales = &mut scales[..count];
        scales.fill(0.0);
        for column in room.chunks_exact(stride) {
            along(scales, &column[..count], |sum, x| sum + x * x);
        }
        let (scale, mut shortened) = (self.recipe.scale, 0);
        for own in scales {
            let length = own.sqrt() * scale;
            let too_long = length > 1.0 + 1e-12 && !self.recipe.as_given;
            shortened += u64::from(too_long);
            *own = if too_long { scale / length } else { scale };
        }
        shortened
    }

    /// Multiplies the features of crossed columns, which are in `room` already.
    #[inline(always)]
    fn cross(&self, room: &mut [f64], stride: usize, count: usize) {
        let mut to = usize::from(self.recipe.bias);
        for values in &self.values {
            let Values::Products([(left, lefts), (right, rights)]) = *values else {
                to += values.dim();
                continue;
            };
            for a in left..left + lefts {
                for b in right..right + rights {
                    let mut product = [0.0; TILE];
                    product[..count].copy_from_slice(&room[a * stride..a * stride + count]);
                    along(&mut product[..count], &room[b * stride..b * stride + count], |x, y| x * y);
                    room[to * stride..to * stride + count].copy_from_slice(&product[..count]);
                    to += 1;
                }
            }
        }
    }
}

/// A tile of rows, compiled for the widest registers of the machine, which changes no bit.
struct MakeRows<'a, 'c> {
    columns: &'a Columns<'c>,
    which: Which<'a>,
    room: &'a mut [f64],
    x: &'a mut [f32],
}

impl pulp::NullaryFnOnce for MakeRows<'_, '_> {
    type Output = u64;

    #[inline(always)]
    fn call(self) -> u64 {
        let mut scales = [0.0; TILE];
        let shortened = self.columns.put::<true>(self.which, self.room, TILE, &mut scales);
        let dim = self.room.len() / TILE;
        for ((row, x), scale) in self.x.chunks_exact_mut(dim).enumerate().zip(scales) {
            for (x, column) in x.iter_mut().zip(self.room.chunks_exact(TILE)) {
                *x = (column[row] * scale) as f32;
            }
        }
        shortened
    }
}

/// A panel, compiled likewise.
struct MakePanel<'a, 'c> {
    columns: &'a Columns<'c>,
    which: Which<'a>,
    room: &'a mut [f64],
    panel: &'a mut [f32],
}

impl pulp::NullaryFnOnce for MakePanel<'_, '_> {
    type Output = u64;

    #[inline(always)]
    fn call(self) -> u64 {
        let mut scales = [0.0; TILE];
        let width = Panels::width();
        let scales = &mut scales[..width];
        let shortened = self.columns.put::<false>(self.which, self.room, width, scales);
        for (column, unscaled) in self.panel.chunks_exact_mut(width).zip(self.room.chunks_exact(width)) {
            let (column, unscaled) = (column.as_chunks_mut::<LANES>().0, unscaled.as_chunks::<LANES>().0);
            for ((to, &x), &scale) in column.iter_mut().zip(unscaled).zip(scales.as_chunks::<LANES>().0) {
                let mut out = [0.0; LANES];
                for lane in 0..LANES {
                    out[lane] = (x[lane] * scale[lane]) as f32;
                }
                *to = out;
            }
        }
        shortened
    }
}
