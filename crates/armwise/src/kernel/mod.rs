//! Many arms times a direction and a triangular W at once: the inner loop of scoring, and all `unsafe` of the library.
//!
//! The widest registers that the processor has are found at run time, and every path gives
//! the same bits in f64. `ARMWISE_KERNEL` (avx512, avx2 or portable) forces a path, for tests.

#![allow(unsafe_code, reason = "vector instructions; each block says why it is sound")]
#![allow(clippy::needless_range_loop, reason = "short loops over registers, several arrays at once")]
#![allow(clippy::inline_always, reason = "generic code must be compiled inside the function with the instruction set")]

mod below;
mod bytes;
mod columns;
mod line;
mod means;
mod order;
mod packed;
mod philox;
mod reach;
mod scalar;
mod sums;
#[cfg(test)]
mod tests;
mod tile;
mod tiles;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use bytes::{AHEAD, BYTES};
pub(crate) use columns::{Line, sum_of};
pub(crate) use line::Few;
pub(crate) use means::Directions;
pub(crate) use order::{ordered, unordered};
pub(crate) use packed::{Packed, triangle};
pub(crate) use philox::{FACTORS, Philox};
pub(crate) use reach::EIGHT;
pub(crate) use scalar::{dot, square};
use tiles::Convert;

use std::sync::OnceLock;
use tile::{Out, Tiles};
use tiles::{Panels, Rows};
use vector::{Portable, Zero};

/// A set of vector instructions that this processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel(Path);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// The results of the kernel for some arms.
#[derive(Debug, Default)]
pub(crate) struct Products<T> {
    rows: usize,
    dots: Vec<T>,
    widths: Vec<T>,
    norms: Vec<T>,
    /// Room for tiles.
    room: Vec<T>,
}

impl<T> Products<T> {
    /// direction . x of a block, arm by arm.
    pub(crate) fn dots(&self, block: usize) -> &[T] {
        &self.dots[block * self.rows..(block + 1) * self.rows]
    }

    /// |W x| of a block, arm by arm; meaningless for a block without a W.
    pub(crate) fn widths(&self, block: usize) -> &[T] {
        &self.widths[block * self.rows..(block + 1) * self.rows]
    }
}

impl Kernel {
    /// Every path that this processor has, the widest first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                all.push(Self(Path::Avx512));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self(Path::Avx2));
            }
        }
        all.push(Self(Path::Portable));
        all
    }

    /// The widest path, or the one that the environment names.
    pub(crate) fn get() -> Self {
        static KERNEL: OnceLock<Kernel> = OnceLock::new();
        *KERNEL.get_or_init(|| {
            let asked = std::env::var("ARMWISE_KERNEL").unwrap_or_default();
            let all = Self::all();
            all.iter().find(|kernel| kernel.name() == asked).copied().unwrap_or(all[0])
        })
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => "avx2",
            Path::Portable => "portable",
        }
    }

    /// Whether its registers hold eight numbers in f64.
    pub(crate) fn is_wide(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 == Path::Avx512;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Does work of plain loops, compiled for this path's registers. Only what is always inlined into it is.
    pub(crate) fn dispatch<W: pulp::NullaryFnOnce>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        match (self.0, pulp::x86::V4::try_new(), pulp::x86::V3::try_new()) {
            (Path::Avx512, Some(v4), _) => return v4.vectorize(work),
            (Path::Avx512 | Path::Avx2, _, Some(v3)) => return v3.vectorize(work),
            _ => {}
        }
        work.call()
    }

    /// How many rows of W the registers hold sums for.
    fn height(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => 8,
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => 6,
            Path::Portable => 4,
        }
    }

    /// How many arms a tile has in f64; in f32 it has twice as many.
    pub(crate) fn width(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => 24,
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => 8,
            Path::Portable => 8,
        }
    }

    /// Packs a direction and, where widths are wanted, the triangle W.
    pub(crate) fn pack(self, direction: &[f64], w: Option<&[f64]>) -> Packed<f64> {
        Packed::new(direction, w, self.height(), 1, |w| w)
    }

    /// As [`pack`](Self::pack), rounded to f32 and with a place for the norm.
    pub(crate) fn pack_single(self, direction: &[f64], w: Option<&[f64]>) -> Packed<f32> {
        Packed::new(direction, w, self.height(), 2, |w| w as f32)
    }

    /// Products and norms in f32, of row-major features rounded to f32.
    pub(crate) fn approximate<S: Convert<f32>>(self, features: &[S], packed: &[Packed<f32>], to: &mut Products<f32>) {
        let rows = Rows::new(features, packed[0].dim);
        to.prepare(features.len() / packed[0].dim, packed, 2 * self.width(), true);
        let Products { dots, widths, norms, room, .. } = to;
        let room = aligned(room);
        let mut out = Out { dots, widths, norms };
        // SAFETY: `prepare` checked the packing and made room for the results; the path is one that the processor has.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => avx512_f32(&rows, packed, room, &mut out),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => avx2_f32(&rows, packed, room, &mut out),
                Path::Portable => Tiles::<Portable<f32, 16>>::times::<1, true>(&rows, packed, room, &mut out),
            }
        }
    }

    /// As [`approximate`](Self::approximate), of `rows` arms in panels of twice [`width`](Self::width) arms, column by
    /// column; values past the last arm are ignored.
    pub(crate) fn approximate_panels(
        self,
        panels: &[f32],
        rows: usize,
        packed: &[Packed<f32>],
        to: &mut Products<f32>,
    ) {
        let panels = Panels { values: panels, rows, dim: packed[0].dim };
        let width = 2 * self.width();
        assert!(panels.values.len() >= rows.next_multiple_of(width) * panels.dim, "whole panels");
        to.prepare(rows, packed, width, true);
        let Products { dots, widths, norms, .. } = to;
        let mut out = Out { dots, widths, norms };
        // SAFETY: as in `approximate`; the panels are whole and need no room.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => avx512_f32(&panels, packed, &mut [], &mut out),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => avx2_f32(&panels, packed, &mut [], &mut out),
                Path::Portable => Tiles::<Portable<f32, 16>>::times::<1, true>(&panels, packed, &mut [], &mut out),
            }
        }
    }

    /// Exact products in f64, of row-major features.
    pub(crate) fn products<S: Convert<f64>>(
        self,
        features: &[S],
        packed: &[Packed<f64>],
        products: &mut Products<f64>,
    ) {
        let rows = Rows::new(features, packed[0].dim);
        products.prepare(features.len() / packed[0].dim, packed, self.width(), false);
        let Products { dots, widths, norms, room, .. } = products;
        let room = aligned(room);
        let mut out = Out { dots, widths, norms };
        // SAFETY: `prepare` checked the packing and made room for the results; the path is one that the processor has.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => avx512_f64(&rows, packed, room, &mut out),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => avx2_f64(&rows, packed, room, &mut out),
                Path::Portable => Tiles::<Portable<f64, 8>>::times::<1, false>(&rows, packed, room, &mut out),
            }
        }
    }
}

impl Products<f32> {
    /// |x|, arm by arm.
    pub(crate) fn norms(&self) -> &[f32] {
        &self.norms
    }
}

impl<T: Zero> Products<T> {
    /// Makes room for `rows` arms, after a check that the packing is what the kernel relies on.
    fn prepare(&mut self, rows: usize, packed: &[Packed<T>], width: usize, norms: bool) {
        let dim = packed[0].dim;
        for packed in packed {
            assert!(packed.dim == dim && packed.values.len() == packed.expected(), "a packing of another shape");
            let (last, others) = packed.heights.split_last().expect("a packing has at least the direction");
            assert!(others.iter().all(|height| (1..=8).contains(height)) && (1..=8).contains(last));
        }
        self.rows = rows;
        self.dots.resize(rows * packed.len(), T::ZERO);
        self.widths.resize(rows * packed.len(), T::ZERO);
        self.norms.resize(if norms { rows } else { 0 }, T::ZERO);
        // Tiles have whole groups of two or four columns.
        let columns = dim.next_multiple_of(4);
        self.room.resize(3 * columns * width + LINE / size_of::<T>(), T::ZERO);
    }
}

/// Bytes of a cache line. Loads of registers this wide are fast only if they are aligned to a line.
pub(crate) const LINE: usize = 64;

fn aligned<T>(room: &mut [T]) -> &mut [T] {
    let skip = room.as_ptr().align_offset(LINE).min(LINE / size_of::<T>());
    &mut room[skip..]
}

/// # Safety
/// As [`tile::run`]; the processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512_f64(
    tiles: &impl Tiles<std::arch::x86_64::__m512d>,
    packed: &[Packed<f64>],
    room: &mut [f64],
    out: &mut Out<'_, f64>,
) {
    // SAFETY: the caller's contract.
    unsafe { tiles.times::<3, false>(packed, room, out) }
}

/// # Safety
/// As [`tile::run`]; the processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2_f64(
    tiles: &impl Tiles<std::arch::x86_64::__m256d>,
    packed: &[Packed<f64>],
    room: &mut [f64],
    out: &mut Out<'_, f64>,
) {
    // SAFETY: the caller's contract.
    unsafe { tiles.times::<2, false>(packed, room, out) }
}

/// # Safety
/// As [`tile::run`]; the processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512_f32(
    tiles: &impl Tiles<std::arch::x86_64::__m512>,
    packed: &[Packed<f32>],
    room: &mut [f32],
    out: &mut Out<'_, f32>,
) {
    // SAFETY: the caller's contract.
    unsafe { tiles.times::<3, true>(packed, room, out) }
}

/// # Safety
/// As [`tile::run`]; the processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2_f32(
    tiles: &impl Tiles<std::arch::x86_64::__m256>,
    packed: &[Packed<f32>],
    room: &mut [f32],
    out: &mut Out<'_, f32>,
) {
    // SAFETY: the caller's contract.
    unsafe { tiles.times::<2, true>(packed, room, out) }
}
