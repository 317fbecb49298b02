//! The kernel itself: a tile of arms times all packed blocks.
//!
//! Arms lie in the vector lanes and every sum of an arm runs in ascending order, one fused
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
    /// See [`Ahead`].
    type Ahead: Ahead;

    /// The number of arms.
    fn rows(&self) -> usize;

    /// The tile that starts at arm `first`, and the work to be done before the next one is requested. If tiles are
    /// made, `room` has space for three of them; it is the same for all calls.
    ///
    /// # Safety
    /// The processor has V's instructions; `first` is 0 or the next tile's, and below `rows`.
    unsafe fn tile<const NV: usize>(&self, first: usize, room: &mut [V::T]) -> (Tile<V, NV>, Self::Ahead);

    /// All tiles times all blocks: as [`run`], unless there is a better way to make the tiles for these blocks.
    ///
    /// # Safety
    /// As [`run`].
    #[inline(always)]
    unsafe fn times<const NV: usize, const NORM: bool>(
        &self,
        packed: &[Packed<V::T>],
        room: &mut [V::T],
        out: &mut Out<'_, V::T>,
    ) where
        V::T: Zero,
        Self: Sized,
    {
        // SAFETY: the caller's contract.
        unsafe { run::<V, NV, NORM>(self, packed, room, out) }
    }
}

/// Work for later tiles, interleaved with the arithmetic of this one, which leaves the load and store units idle half
/// of the time.
pub(super) trait Ahead {
    /// How many steps are left.
    fn left(&self) -> usize;

    /// Does the next step.
    ///
    /// # Safety
    /// There is one left, and `room` is still there.
    unsafe fn step(&mut self);
}

/// A tile: column by column, `NV * LANES` arms each.
pub(super) struct Tile<V: Vector, const NV: usize> {
    at: *mut V::T,
    /// How many columns have an arm in each lane. Those after them come in groups of `CHUNK` columns that hold pieces
    /// of rows side by side, still to be transposed.
    ready: usize,
}

impl<V: Vector, const NV: usize> Tile<V, NV> {
    /// A tile with nothing left to do.
    pub(super) fn ready(at: *const V::T) -> Self {
        Self { at: at.cast_mut(), ready: usize::MAX }
    }

    /// A tile of pieces of rows.
    pub(super) fn pieces(at: *mut V::T) -> Self {
        Self { at, ready: 0 }
    }

    /// Makes the columns before `end` ready.
    ///
    /// # Safety
    /// The processor has V's instructions, and the tile has these columns, in whole groups.
    #[inline(always)]
    unsafe fn make_ready(&mut self, end: usize) {
        while self.ready < end {
            for v in 0..NV {
                // SAFETY: the caller's contract.
                unsafe {
                    let at = self.at.add((self.ready * NV + v) * V::LANES);
                    let mut group = [V::load(at); 4];
                    for column in 1..V::CHUNK {
                        group[column] = V::load(at.add(column * NV * V::LANES));
                    }
                    for (column, x) in V::transpose(group)[..V::CHUNK].iter().enumerate() {
                        x.store(at.add(column * NV * V::LANES));
                    }
                }
            }
            self.ready += V::CHUNK;
        }
    }
}

/// All tiles times all blocks.
///
/// # Safety
/// The processor has V's instructions. `packed` is not empty, is of the tiles' dimension, was made for row blocks of at
/// most 8 rows with one extra row (two with `NORM`), and has the expected number of values. `out` has `rows` places for
/// each block, and with `NORM` `rows` norms. `room` has space for three tiles where tiles are made.
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
    let mut first = 0;
    while first < rows {
        let here = width.min(rows - first);
        // SAFETY: `first` is below `rows` and a multiple of the tile's width; all steps are done.
        let (mut tile, mut ahead) = unsafe { tiles.tile::<NV>(first, room) };
        // SAFETY: nothing but steps and tiles uses the room. Steps that cannot be interleaved come first, so that their
        // writes have left the store buffer by the time they are read.
        unsafe { steps(&mut ahead, turns) };
        for (block, packed) in packed.iter().enumerate() {
            let place = block * rows + first;
            // SAFETY: the tile has the packing's dimension, and the rest is this function's own contract.
            let sums = unsafe { one_block::<V, NV, NORM>(&mut tile, packed, &mut ahead) };
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
        // SAFETY: as above.
        unsafe { steps(&mut ahead, 0) };
        first += width;
    }
}

/// Does all steps except the last `but`.
///
/// # Safety
/// As [`Ahead::step`].
#[inline(always)]
pub(super) unsafe fn steps(ahead: &mut impl Ahead, but: usize) {
    for _ in but..ahead.left() {
        // SAFETY: the caller's contract.
        unsafe { ahead.step() };
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
    tile: &mut Tile<V, NV>,
    packed: &Packed<V::T>,
    ahead: &mut impl Ahead,
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
    tile: &mut Tile<V, NV>,
    first: usize,
    mut w: *const V::T,
    sums: &mut Sums<V, NV>,
    ahead: &mut impl Ahead,
) -> *const V::T {
    // SAFETY: every read of the tile is below column `first + R`, every read of `w` is the next of its values.
    unsafe {
        tile.make_ready(first + R);
        let mut tile = tile.at.cast_const();
        let mut y = [[V::splat(V::T::ZERO); NV]; R];
        let (mut dot, mut norm) = (sums.dot, sums.norm);
        let both = first.min(ahead.left());
        for _ in 0..both {
            ahead.step();
            w = column::<V, NV, R, LAST, NORM>(tile, 0, w, &mut y, &mut dot, &mut norm);
            tile = tile.add(NV * V::LANES);
        }
        for _ in both..first {
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
