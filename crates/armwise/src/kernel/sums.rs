//! Sums of products with rows, G += w x x' and b += w r x: a tile of sums stays in registers while it walks along rows.
//!
//! Every sum is added to in the order of the rows, and product and sum are rounded one after the other. So a batch gives
//! the bits of one row at a time, whatever the tile, the slice of rows or the path.

use super::{
    Kernel, Path,
    vector::{Portable, Vector},
};

/// How many numbers of the rows are packed at a time: they stay in the second-level cache while all tiles walk along.
const SLICE: usize = 1 << 14;

/// Rows as the tiles read them.
struct Slice<'a> {
    /// Row by row, with zeros up to `columns`.
    x: &'a [f64],
    columns: usize,
    /// Row by row, one for each line.
    factors: &'a [f64],
    rows: usize,
}

impl Kernel {
    /// `line[j] += factor * x[j]` for each of `rows` rows in their order, where each row has a factor for every line; lines
    /// may be of different lengths. `give` writes the x of a row and its factors.
    pub(crate) fn add_rows(self, lines: &mut [&mut [f64]], rows: usize, give: impl Fn(usize, &mut [f64], &mut [f64])) {
        let longest = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        // Whole registers, and an odd number of cache lines, since rows at multiples of 4 KiB displace each other.
        let columns = (longest.div_ceil(8) | 1) * 8;
        let mut sums = vec![0.0; lines.len() * columns];
        for (sums, line) in sums.chunks_mut(columns).zip(&*lines) {
            sums[..line.len()].copy_from_slice(line);
        }
        let ends: Vec<usize> = lines.iter().map(|line| line.len()).collect();
        let most = (SLICE / columns).clamp(16, 512).min(rows);
        let (mut x, mut factors) = (vec![0.0; most * columns], vec![0.0; most * lines.len()]);
        for first in (0..rows).step_by(most.max(1)) {
            let here = most.min(rows - first);
            for row in 0..here {
                let factors = &mut factors[row * lines.len()..(row + 1) * lines.len()];
                give(first + row, &mut x[row * columns..row * columns + longest], factors);
            }
            let slice = Slice { x: &x, columns, factors: &factors, rows: here };
            // SAFETY: the path is one that the processor has; the slice was made above, for these lines.
            unsafe {
                match self.0 {
                    #[cfg(target_arch = "x86_64")]
                    Path::Avx512 => avx512(&mut sums, &ends, &slice),
                    #[cfg(target_arch = "x86_64")]
                    Path::Avx2 => avx2(&mut sums, &ends, &slice),
                    Path::Portable => walk::<Portable<f64, 8>, 4, 1>(&mut sums, &ends, &slice),
                }
            }
        }
        for (line, sums) in lines.iter_mut().zip(sums.chunks(columns)) {
            let end = line.len();
            line.copy_from_slice(&sums[..end]);
        }
    }
}

/// # Safety
/// As [`walk`]; the processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(sums: &mut [f64], ends: &[usize], slice: &Slice<'_>) {
    // SAFETY: the caller's contract.
    unsafe { walk::<std::arch::x86_64::__m512d, 8, 3>(sums, ends, slice) }
}

/// # Safety
/// As [`walk`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(sums: &mut [f64], ends: &[usize], slice: &Slice<'_>) {
    // SAFETY: the caller's contract.
    unsafe { walk::<std::arch::x86_64::__m256d, 6, 2>(sums, ends, slice) }
}

/// Adds a slice to all sums, `H` lines and `NV` registers at a time where there are as many.
///
/// # Safety
/// The processor has V's instructions. There is a line of `slice.columns` sums for each of `ends`, which say where lines
/// end; the slice has x and factors for all of its rows; `columns` is a multiple of V's lanes.
#[inline(always)]
unsafe fn walk<V: Vector<T = f64>, const H: usize, const NV: usize>(
    sums: &mut [f64],
    ends: &[usize],
    slice: &Slice<'_>,
) {
    let (lines, columns) = (ends.len(), slice.columns);
    assert!(sums.len() == lines * columns && slice.x.len() >= slice.rows * columns && columns.is_multiple_of(V::LANES));
    assert!(slice.factors.len() >= slice.rows * lines && ends.iter().all(|end| *end <= columns));
    let mut line = 0;
    while line < lines {
        let height = if lines - line >= H { H } else { 1 + 3 * usize::from(lines - line >= 4) };
        let end = ends[line..line + height].iter().fold(0, |end, &line| line.max(end)).next_multiple_of(V::LANES);
        let mut column = 0;
        while column < end {
            let width = NV.min((end - column) / V::LANES);
            // SAFETY: these lines, and the columns to `end`, are within the sums and the slice, by the assertions.
            unsafe {
                let at = (line, column);
                match (height, width) {
                    (1, 1) => tile::<V, 1, 1>(sums, lines, at, slice),
                    (1, 2) => tile::<V, 1, 2>(sums, lines, at, slice),
                    (1, _) => tile::<V, 1, NV>(sums, lines, at, slice),
                    (4, 1) => tile::<V, 4, 1>(sums, lines, at, slice),
                    (4, 2) => tile::<V, 4, 2>(sums, lines, at, slice),
                    (4, _) => tile::<V, 4, NV>(sums, lines, at, slice),
                    (_, 1) => tile::<V, H, 1>(sums, lines, at, slice),
                    (_, 2) => tile::<V, H, 2>(sums, lines, at, slice),
                    _ => tile::<V, H, NV>(sums, lines, at, slice),
                }
            }
            column += width * V::LANES;
        }
        line += height;
    }
}

/// R lines and N registers of sums along all rows of the slice.
///
/// # Safety
/// As [`walk`]; from `at`, a line and a column, there are R lines and N registers.
#[inline(always)]
unsafe fn tile<V: Vector<T = f64>, const R: usize, const N: usize>(
    sums: &mut [f64],
    lines: usize,
    at: (usize, usize),
    slice: &Slice<'_>,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let sums = sums.as_mut_ptr().add(at.0 * slice.columns + at.1);
        let (x, factors) = (slice.x.as_ptr().add(at.1), slice.factors.as_ptr().add(at.0));
        let mut tile = [[V::splat(0.0); N]; R];
        for r in 0..R {
            for v in 0..N {
                tile[r][v] = V::load(sums.add(r * slice.columns + v * V::LANES));
            }
        }
        for row in 0..slice.rows {
            let mut here = tile[0];
            for v in 0..N {
                here[v] = V::load(x.add(row * slice.columns + v * V::LANES));
            }
            for r in 0..R {
                let factor = V::splat(*factors.add(row * lines + r));
                for v in 0..N {
                    tile[r][v] = factor.times(here[v]).plus(tile[r][v]);
                }
            }
        }
        for r in 0..R {
            for v in 0..N {
                tile[r][v].store(sums.add(r * slice.columns + v * V::LANES));
            }
        }
    }
}
