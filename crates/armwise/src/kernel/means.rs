//! Products with directions and norms, without widths: d operations per arm, for cheap bounds.
//!
//! Here the lanes run along the row, so nothing is transposed or converted and memory is the only limit; in return,
//! each row ends with a sum across lanes, four rows at a time. The sums run in another order than in `tile.rs`, so the results may serve as
//! the middle of a bound but never as a score.

use super::{
    Kernel, LINE, Path, Products,
    tiles::Convert,
    vector::{Portable, Vector, Zero, fetch},
};

/// Rows whose sums are kept in registers together, as many as [`Vector::sums`] takes.
const TOGETHER: usize = 4;
/// How many bytes ahead rows are fetched.
const AHEAD: usize = 4096;
/// Numbers of so many rows stay in the second-level cache, or come in order without being asked for.
const CACHE: usize = 1 << 16;

/// Directions laid out for rows of f32 and of f64.
#[derive(Debug)]
pub(crate) struct Directions {
    dim: usize,
    blocks: usize,
    /// The size of the registers that they are laid out for.
    bytes: usize,
    /// Whether rows are fetched ahead.
    ahead: bool,
    narrow: Padded<f32>,
    wide: Padded<f64>,
}

/// Directions laid out for registers of a given number of lanes. The last register of a row may overlap the one before;
/// the lanes that come twice are zero.
#[derive(Debug)]
struct Padded<T> {
    /// Block by block.
    values: Vec<T>,
    /// For each lane of the last register: 1 if it is new, 0 if it comes twice.
    new: Vec<T>,
}

impl<T: Zero> Padded<T> {
    fn new(directions: &[&[f64]], lanes: usize, convert: impl Fn(f64) -> T) -> Self {
        let dim = directions[0].len();
        let whole = dim.div_ceil(lanes) - 1;
        let twice = (whole + 1) * lanes - dim;
        let mut values = Vec::new();
        for direction in directions {
            let (first, last) = direction.split_at(whole * lanes);
            values.extend(first.iter().map(|&x| convert(x)));
            values.extend(std::iter::repeat_n(T::ZERO, twice));
            values.extend(last.iter().map(|&x| convert(x)));
        }
        let new = (0..lanes).map(|lane| convert(if lane < twice { 0.0 } else { 1.0 })).collect();
        Self { values, new }
    }
}

/// Features that need no conversion.
pub(crate) trait Native: Sized {
    /// Products and norms of row-major features, in f32.
    fn look(kernel: Kernel, features: &[Self], directions: &Directions, to: &mut Products<f32>);
}

impl Kernel {
    /// Prepares directions, one for each block, for so many rows, of which parts may be looked at one by one; none if a row
    /// has fewer features than a register has lanes.
    pub(crate) fn directions(self, directions: &[&[f64]], rows: usize) -> Option<Directions> {
        let dim = directions.first()?.len();
        assert!(directions.iter().all(|direction| direction.len() == dim), "directions of one dimension");
        let row = dim * size_of::<f32>();
        let bytes = match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => 32,
            // Registers of half the size for rows that are too short for whole ones.
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 if row < 64 && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") => 32,
            _ => 64,
        };
        (row >= bytes).then(|| Directions {
            dim,
            blocks: directions.len(),
            bytes,
            ahead: rows * dim > CACHE,
            narrow: Padded::new(directions, bytes / size_of::<f32>(), |x| x as f32),
            wide: Padded::new(directions, bytes / size_of::<f64>(), |x| x),
        })
    }

    /// Products with the directions, and norms, of row-major features; there are no widths.
    pub(crate) fn means<S: Native>(self, features: &[S], directions: &Directions, to: &mut Products<f32>) {
        to.rows = features.len() / directions.dim;
        to.dots.resize(to.rows * directions.blocks, 0.0);
        to.norms.resize(to.rows, 0.0);
        S::look(self, features, directions, to);
    }
}

macro_rules! native {
    ($T:ty, $padded:ident, $avx512:ident, $wide:ident, $avx2:ident, $half:ident, $lanes:literal) => {
        impl Native for $T {
            fn look(kernel: Kernel, features: &[Self], directions: &Directions, to: &mut Products<f32>) {
                // SAFETY: the path is one that the processor has, and so are registers of half the size where the
                // directions are laid out for these; `means` made room for the results.
                unsafe {
                    match kernel.0 {
                        #[cfg(target_arch = "x86_64")]
                        Path::Avx512 if directions.bytes == 64 => {
                            $avx512(features, directions, &directions.$padded, to);
                        }
                        #[cfg(target_arch = "x86_64")]
                        Path::Avx512 | Path::Avx2 => $avx2(features, directions, &directions.$padded, to),
                        Path::Portable => {
                            run::<Portable<$T, $lanes>>(features, directions, &directions.$padded, to);
                        }
                    }
                }
            }
        }

        /// # Safety
        /// As [`run`]; the processor has AVX-512F.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        unsafe fn $avx512(x: &[$T], directions: &Directions, padded: &Padded<$T>, to: &mut Products<f32>) {
            // SAFETY: the caller's contract.
            unsafe { run::<std::arch::x86_64::$wide>(x, directions, padded, to) }
        }

        /// # Safety
        /// As [`run`]; the processor has AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $avx2(x: &[$T], directions: &Directions, padded: &Padded<$T>, to: &mut Products<f32>) {
            // SAFETY: the caller's contract.
            unsafe { run::<std::arch::x86_64::$half>(x, directions, padded, to) }
        }
    };
}

native!(f32, narrow, avx512_f32, __m512, avx2_f32, __m256, 16);
native!(f64, wide, avx512_f64, __m512d, avx2_f64, __m256d, 8);

/// # Safety
/// The processor has V's instructions; `padded` was made for V's lanes from directions of no fewer features; `to` has
/// room for all rows.
#[inline(always)]
unsafe fn run<V: Vector<T: Zero + Convert<f32>>>(
    features: &[V::T],
    directions: &Directions,
    padded: &Padded<V::T>,
    to: &mut Products<f32>,
) {
    let (dim, blocks, rows) = (directions.dim, directions.blocks, to.rows);
    let padded_dim = padded.values.len() / blocks;
    let (dots, norms) = (&mut to.dots[..rows * blocks], &mut to.norms[..rows]);
    assert!(features.len() == rows * dim && padded_dim >= V::LANES && padded.new.len() == V::LANES);
    let lines = if directions.ahead { (TOGETHER * dim * size_of::<V::T>()).div_ceil(LINE) } else { 0 };
    let whole = rows / TOGETHER * TOGETHER;
    // SAFETY: this function's contract, and the lengths that were just looked at: from each row that is taken there are as
    // many as are taken together, or one.
    unsafe {
        let new = V::load(padded.new.as_ptr());
        let direction =
            |block: usize| Direction { values: padded.values.as_ptr().add(block * padded_dim), padded_dim, new };
        // Loops that count for themselves: stepped ranges take half as many instructions as the arithmetic of short rows.
        let mut first = 0;
        while first < whole {
            let row = features.as_ptr().add(first * dim);
            for line in 0..lines {
                fetch::<true>(row.cast::<u8>().wrapping_add(AHEAD + line * LINE));
            }
            let [dot, square] = direction(0).times::<TOGETHER, true>(row, dim);
            V::sums(dot, dots.as_mut_ptr().add(first));
            V::sums(square, norms.as_mut_ptr().add(first));
            for block in 1..blocks {
                let [dot, _] = direction(block).times::<TOGETHER, false>(row, dim);
                V::sums(dot, dots.as_mut_ptr().add(block * rows + first));
            }
            first += TOGETHER;
        }
        for row in whole..rows {
            for block in 0..blocks {
                let [[dot], [square]] = direction(block).times::<1, true>(features.as_ptr().add(row * dim), dim);
                (dots[block * rows + row], norms[row]) = (dot.sum().convert(), square.sum().convert());
            }
        }
    }
    norms.iter_mut().for_each(|norm| *norm = norm.sqrt());
}

/// A direction of [`Padded`].
struct Direction<V: Vector> {
    values: *const V::T,
    padded_dim: usize,
    /// 1 in the lanes of the last register that are new.
    new: V,
}

impl<V: Vector<T: Zero>> Direction<V> {
    /// Products of R rows, and with `NORM` the squares of their norms, lane by lane.
    ///
    /// # Safety
    /// As [`run`]: `values` has `padded_dim` numbers, and there are R rows of `dim` features, at least as many as lanes.
    #[inline(always)]
    unsafe fn times<const R: usize, const NORM: bool>(self, rows: *const V::T, dim: usize) -> [[V; R]; 2] {
        // SAFETY: the whole registers of a row end before its last feature, and the last one ends with it.
        unsafe {
            let zero = V::splat(V::T::ZERO);
            let (mut dot, mut square) = ([zero; R], [zero; R]);
            let last = self.padded_dim - V::LANES;
            let mut at_row = [rows; R];
            for row in 1..R {
                at_row[row] = at_row[row - 1].add(dim);
            }
            let mut at = 0;
            while at < last {
                let factor = V::load(self.values.add(at));
                for row in 0..R {
                    let x = V::load(at_row[row].add(at));
                    dot[row] = x.times_plus(factor, dot[row]);
                    if NORM {
                        square[row] = x.times_plus(x, square[row]);
                    }
                }
                at += V::LANES;
            }
            let factor = V::load(self.values.add(last));
            for row in 0..R {
                let x = V::load(at_row[row].add(dim - V::LANES));
                dot[row] = x.times_plus(factor, dot[row]);
                if NORM {
                    square[row] = x.times(self.new).times_plus(x, square[row]);
                }
            }
            [dot, square]
        }
    }
}
