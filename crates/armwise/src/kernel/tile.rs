//! The kernel itself: a tile of arms times all packed blocks.
//!
//! The decision to know: arms lie in the vector lanes and every sum of an arm runs in ascending order, one fused
//! multiply-add after the other. So each arm sees the same operations whatever the tile, the row block, the
//! chunk or the width of the registers. Y = X W' is never stored: squares are summed in registers.

use super::{
    packed::Packed,
    vector::{Vector, Zero},
};

/// Where results go: for each block the products with the direction and the widths; the norms once.
pub(super) struct Out<'a, T> {
    /// Block by block, `rows` each.
    pub(super) dots: &'a mut [T],
    /// As `dots`; not written for a block without a W.
    pub(super) widths: &'a mut [T],
    /// One per row, or none.
    pub(super) norms: &'a mut [T],
}

/// Arms as the kernel reads them: tile by tile.
pub(super) trait Tiles<V: Vector> {
    /// The number of arms.
    fn rows(&self) -> usize;

    /// The tile that starts at arm `first`: column by column, `NV * LANES` arms each; and what the tile after it will
    /// be made from. `room` has space for two tiles.
    ///
    /// # Safety
    /// The processor has V's instructions; `first` is below `rows` and starts a tile.
    unsafe fn tile<const NV: usize>(&self, first: usize, room: &mut [V::T]) -> (*const V::T, Ahead);
}

/// Memory that is needed soon, fetched a line at a time: asked for all at once, it would block what is needed now.
pub(super) struct Ahead {
    at: usize,
    end: usize,
    /// How many lines at a time.
    lines: usize,
}

impl Ahead {
    #[inline(always)]
    pub(super) fn new<S>(from: &[S]) -> Self {
        let all = from.as_ptr_range();
        Self { at: all.start.addr(), end: all.end.addr(), lines: 1 }
    }

    /// How many lines at a time divide the work among `turns` calls of [`fetch`](Self::fetch).
    #[inline(always)]
    fn divided(&self, turns: usize) -> usize {
        (self.end - self.at).div_ceil(super::LINE * turns.max(1)).min(4)
    }

    #[inline(always)]
    fn fetch(&mut self) {
        for _ in 0..self.lines {
            if self.at >= self.end {
                self.lines = 0;
                break;
            }
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                // SAFETY: every x86-64 has this instruction, and it reads nothing.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(self.at)) };
            }
            self.at += super::LINE;
        }
    }
}

/// All tiles times all blocks.
///
/// # Safety
/// The processor has V's instructions. `packed` is not empty, is of the tiles' dimension, was made for row blocks of at
/// most 8 rows with one extra row (two with `NORM`), and has the expected number of values. `out` has `rows` places for
/// each block, and with `NORM` `rows` norms. `room` has space for two tiles.
#[inline(always)]
pub(super) unsafe fn run<V: Vector<T: Zero>, const NV: usize, const NORM: bool>(
    tiles: &impl Tiles<V>,
    packed: &[Packed<V::T>],
    room: &mut [V::T],
    out: &mut Out<'_, V::T>,
) {
    let rows = tiles.rows();
    let width = NV * V::LANES;
    let turns = packed.iter().map(Packed::turns).sum();
    let (mut first, mut lines) = (0, 0);
    while first < rows {
        let here = width.min(rows - first);
        // SAFETY: `first` is below `rows` and a multiple of the tile's width.
        let (tile, mut ahead) = unsafe { tiles.tile::<NV>(first, room) };
        if first == 0 {
            lines = ahead.divided(turns); // no other tile has more to fetch, and dividing is slow
        }
        ahead.lines = lines;
        for (block, packed) in packed.iter().enumerate() {
            let place = block * rows + first;
            // SAFETY: the tile has the packing's dimension, and the rest is this function's own contract.
            let sums = unsafe { one_block::<V, NV, NORM>(tile, packed, &mut ahead) };
            // SAFETY: the processor has the instructions.
            unsafe {
                write(&sums.dot, &mut out.dots[place..place + here]);
                if packed.has_width {
                    write(&roots(sums.square), &mut out.widths[place..place + here]);
                }
                if NORM && block == 0 {
                    write(&roots(sums.norm), &mut out.norms[first..first + here]);
                }
            }
        }
        first += width;
    }
}

/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn roots<V: Vector, const NV: usize>(mut squares: [V; NV]) -> [V; NV] {
    for square in &mut squares {
        // SAFETY: the caller's contract.
        *square = unsafe { square.sqrt() };
    }
    squares
}

/// Writes as many lanes as there are places.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn write<V: Vector, const NV: usize>(from: &[V; NV], to: &mut [V::T]) {
    if to.len() == NV * V::LANES {
        for (v, from) in from.iter().enumerate() {
            // SAFETY: vector v's lanes end within `to`.
            unsafe { from.store(to.as_mut_ptr().add(v * V::LANES)) };
        }
    } else if let Some(&any) = to.first() {
        let mut all = [any; 64];
        assert!(NV * V::LANES <= all.len(), "a tile has at most 64 arms");
        for (v, from) in from.iter().enumerate() {
            // SAFETY: vector v's lanes end within the array, by the assertion.
            unsafe { from.store(all.as_mut_ptr().add(v * V::LANES)) };
        }
        let here = to.len();
        to.copy_from_slice(&all[..here]);
    }
}

/// The running sums of a tile.
struct Sums<V, const NV: usize> {
    dot: [V; NV],
    square: [V; NV],
    norm: [V; NV],
}

/// A tile times one packed block.
///
/// # Safety
/// As [`run`].
#[inline(always)]
unsafe fn one_block<V: Vector<T: Zero>, const NV: usize, const NORM: bool>(
    tile: *const V::T,
    packed: &Packed<V::T>,
    ahead: &mut Ahead,
) -> Sums<V, NV> {
    // SAFETY: the processor has the instructions.
    let zero = unsafe { V::splat(V::T::ZERO) };
    let mut sums = Sums { dot: [zero; NV], square: [zero; NV], norm: [zero; NV] };
    let mut w = packed.values.as_ptr();
    let mut first = if packed.has_width { 0 } else { packed.dim };
    let (&last, others) = packed.heights.split_last().expect("a packing has at least the direction");
    for &height in others {
        // SAFETY: `w` points at the values of this row block, which starts at row `first` and ends before row d.
        w = unsafe {
            match height {
                1 => rows::<V, NV, 1, false, false>(tile, first, w, &mut sums, ahead),
                2 => rows::<V, NV, 2, false, false>(tile, first, w, &mut sums, ahead),
                3 => rows::<V, NV, 3, false, false>(tile, first, w, &mut sums, ahead),
                4 => rows::<V, NV, 4, false, false>(tile, first, w, &mut sums, ahead),
                5 => rows::<V, NV, 5, false, false>(tile, first, w, &mut sums, ahead),
                6 => rows::<V, NV, 6, false, false>(tile, first, w, &mut sums, ahead),
                7 => rows::<V, NV, 7, false, false>(tile, first, w, &mut sums, ahead),
                _ => rows::<V, NV, 8, false, false>(tile, first, w, &mut sums, ahead),
            }
        };
        first += height;
    }
    // SAFETY: as above; the last block ends with row d - 1 of W and holds the direction.
    unsafe {
        match last - 1 - usize::from(NORM) {
            0 => rows::<V, NV, 0, true, NORM>(tile, first, w, &mut sums, ahead),
            1 => rows::<V, NV, 1, true, NORM>(tile, first, w, &mut sums, ahead),
            2 => rows::<V, NV, 2, true, NORM>(tile, first, w, &mut sums, ahead),
            3 => rows::<V, NV, 3, true, NORM>(tile, first, w, &mut sums, ahead),
            4 => rows::<V, NV, 4, true, NORM>(tile, first, w, &mut sums, ahead),
            5 => rows::<V, NV, 5, true, NORM>(tile, first, w, &mut sums, ahead),
            6 => rows::<V, NV, 6, true, NORM>(tile, first, w, &mut sums, ahead),
            _ => rows::<V, NV, 7, true, NORM>(tile, first, w, &mut sums, ahead),
        }
    };
    sums
}

/// R rows of W from row `first`, with `LAST` the direction too, and with `NORM` the norm of x.
///
/// # Safety
/// The tile has at least `first + R` columns, and `w` as many values as these rows take.
#[inline(always)]
unsafe fn rows<V: Vector<T: Zero>, const NV: usize, const R: usize, const LAST: bool, const NORM: bool>(
    mut tile: *const V::T,
    first: usize,
    mut w: *const V::T,
    sums: &mut Sums<V, NV>,
    ahead: &mut Ahead,
) -> *const V::T {
    // SAFETY: every read of the tile is below column `first + R`, every read of `w` is the next of its values.
    unsafe {
        let mut y = [[V::splat(V::T::ZERO); NV]; R];
        let (mut dot, mut norm) = (sums.dot, sums.norm);
        for _ in 0..first {
            ahead.fetch();
            w = column::<V, NV, R, LAST, NORM>(tile, 0, w, &mut y, &mut dot, &mut norm);
            tile = tile.add(NV * V::LANES);
        }
        for from in 0..R {
            w = column::<V, NV, R, LAST, NORM>(tile, from, w, &mut y, &mut dot, &mut norm);
            tile = tile.add(NV * V::LANES);
        }
        for y in y {
            for v in 0..NV {
                sums.square[v] = y[v].times_plus(y[v], sums.square[v]);
            }
        }
        (sums.dot, sums.norm) = (dot, norm);
        w
    }
}

/// One column of the tile into the rows from `from` on.
///
/// # Safety
/// As [`rows`], for this column.
#[inline(always)]
unsafe fn column<V: Vector, const NV: usize, const R: usize, const LAST: bool, const NORM: bool>(
    tile: *const V::T,
    from: usize,
    mut w: *const V::T,
    y: &mut [[V; NV]; R],
    dot: &mut [V; NV],
    norm: &mut [V; NV],
) -> *const V::T {
    // SAFETY: the caller's contract.
    unsafe {
        let mut x = *dot;
        for v in 0..NV {
            x[v] = V::load(tile.add(v * V::LANES));
        }
        for y in &mut y[from..] {
            let factor = V::splat(*w);
            w = w.add(1);
            for v in 0..NV {
                y[v] = factor.times_plus(x[v], y[v]);
            }
        }
        if LAST {
            let direction = V::splat(*w);
            w = w.add(1);
            for v in 0..NV {
                dot[v] = direction.times_plus(x[v], dot[v]);
            }
        }
        if NORM {
            for v in 0..NV {
                norm[v] = x[v].times_plus(x[v], norm[v]);
            }
        }
        w
    }
}
