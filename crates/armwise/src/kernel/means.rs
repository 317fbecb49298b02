//! Products with directions and norms, without widths: d operations per arm, for cheap bounds.
//!
//! Here the lanes run along the row, so nothing is transposed or converted and memory is the only limit; in return,
//! each row ends with a sum across lanes. The sums run in another order than in `tile.rs`, so the results may serve as
//! the middle of a bound but never as a score.

use super::{
    Kernel, LINE, Path, Products,
    tiles::Convert,
    vector::{Portable, Vector, Zero, fetch},
};

/// Rows whose sums are kept in registers together.
const TOGETHER: usize = 4;
/// How many bytes ahead rows are fetched.
const AHEAD: usize = 4096;

/// Directions laid out for rows of f32 and of f64.
#[derive(Debug)]
pub(crate) struct Directions {
    dim: usize,
    blocks: usize,
    /// The size of the registers that they are laid out for.
    bytes: usize,
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
    /// Prepares directions, one for each block; none if a row has fewer features than a register has lanes.
    pub(crate) fn directions(self, directions: &[&[f64]]) -> Option<Directions> {
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
    let (dim, rows) = (directions.dim, to.rows);
    let padded_dim = padded.values.len() / directions.blocks;
    let (dots, norms) = (&mut to.dots[..rows * directions.blocks], &mut to.norms[..rows]);
    let mut first = 0;
    while first < rows {
        let here = TOGETHER.min(rows - first);
        fetch_rows(&features[first * dim..], here * dim);
        for block in 0..directions.blocks {
            let direction = &padded.values[block * padded_dim..(block + 1) * padded_dim];
            let part = &features[first * dim..(first + here) * dim];
            let dots = &mut dots[block * rows + first..block * rows + first + here];
            let norms = &mut norms[first..first + here];
            // SAFETY: this function's contract; the slices were cut to `here` rows.
            unsafe {
                match (here == TOGETHER, block == 0) {
                    (true, true) => together::<V, TOGETHER, true>(part, dim, direction, &padded.new, dots, norms),
                    (true, false) => together::<V, TOGETHER, false>(part, dim, direction, &padded.new, dots, norms),
                    (false, _) => {
                        for row in 0..here {
                            let part = &part[row * dim..(row + 1) * dim];
                            let (dots, norms) = (&mut dots[row..=row], &mut norms[row..=row]);
                            together::<V, 1, true>(part, dim, direction, &padded.new, dots, norms);
                        }
                    }
                }
            }
        }
        first += here;
    }
    norms.iter_mut().for_each(|norm| *norm = norm.sqrt());
}

/// Prefetches the rows that come a page later.
#[inline(always)]
fn fetch_rows<T>(from: &[T], count: usize) {
    for line in 0..(count * size_of::<T>()).div_ceil(LINE) {
        fetch::<true>(from.as_ptr().cast::<u8>().wrapping_add(AHEAD + line * LINE));
    }
}

/// R rows times one direction, and with `NORM` the squares of their norms.
///
/// # Safety
/// As [`run`], with R rows in `part` and R places in `dots` and `norms`.
#[inline(always)]
unsafe fn together<V: Vector<T: Zero + Convert<f32>>, const R: usize, const NORM: bool>(
    part: &[V::T],
    dim: usize,
    direction: &[V::T],
    new: &[V::T],
    dots: &mut [f32],
    norms: &mut [f32],
) {
    debug_assert!(part.len() == R * dim && dots.len() == R && norms.len() == R && dim >= V::LANES);
    // SAFETY: a row has `dim` features, at least as many as lanes; the whole lanes end before them, and the last ones
    // end with them. `direction` has that many lanes too, and `new` has one register's.
    unsafe {
        let zero = V::splat(V::T::ZERO);
        let (mut dot, mut square) = ([zero; R], [zero; R]);
        let rows = part.as_ptr();
        let whole = direction.len() / V::LANES - 1;
        for lanes in 0..whole {
            let at = lanes * V::LANES;
            let factor = V::load(direction.as_ptr().add(at));
            for row in 0..R {
                let x = V::load(rows.add(row * dim + at));
                dot[row] = x.times_plus(factor, dot[row]);
                if NORM {
                    square[row] = x.times_plus(x, square[row]);
                }
            }
        }
        let (factor, new) = (V::load(direction.as_ptr().add(whole * V::LANES)), V::load(new.as_ptr()));
        for row in 0..R {
            let x = V::load(rows.add((row + 1) * dim - V::LANES));
            dot[row] = x.times_plus(factor, dot[row]);
            if NORM {
                square[row] = x.times_plus(new, zero).times_plus(x, square[row]);
            }
        }
        for row in 0..R {
            dots[row] = dot[row].sum().convert();
            if NORM {
                norms[row] = square[row].sum().convert();
            }
        }
    }
}
