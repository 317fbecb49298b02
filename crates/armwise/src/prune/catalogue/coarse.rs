//! Features rounded to 16 bits, from which means are computed when the direction has changed.
//!
//! Most of the time of a round goes into reading the features, so a second, shorter copy of them is kept: the upper
//! half of an f32, rounded to nearest, with a relative error of at most 2^-8. Arms that this copy cannot prune are
//! scored in f64.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::{Features, kernel::Kernel};

/// Arms in a panel.
pub(super) const PANEL: usize = 64;
/// The error of direction . x due to the rounding of x, as a multiple of |direction| |x|: a little more than 2^-8,
/// since an f64 feature is rounded to f32 first.
pub(super) const OFF: f64 = 1.01 / 256.0;

/// The features of a catalogue in panels of arms, column by column, padded with zeros.
#[derive(Debug)]
pub(super) struct Coarse {
    values: Vec<u16>,
    dim: usize,
}

impl Coarse {
    pub(super) fn new(features: Features<'_>, dim: usize) -> Self {
        let values = match features {
            Features::F32(x) => panels(x, dim, |x| x),
            Features::F64(x) => panels(x, dim, |x| x as f32),
        };
        Self { values, dim }
    }

    /// direction . x of `out.len()` arms from `first` on, which begins a panel.
    pub(super) fn dots(&self, kernel: Kernel, first: usize, direction: &[f32], out: &mut [f32]) {
        assert!(first.is_multiple_of(PANEL) && direction.len() == self.dim, "whole panels");
        let panels = &self.values[first * self.dim..];
        kernel.dispatch(Dots { panels, direction, out });
    }
}

fn panels<T: Copy>(x: &[T], dim: usize, narrow: impl Fn(T) -> f32) -> Vec<u16> {
    let rows = x.len() / dim;
    let mut values = vec![0; rows.next_multiple_of(PANEL) * dim];
    for (row, x) in x.chunks_exact(dim).enumerate() {
        let panel = &mut values[row / PANEL * PANEL * dim..];
        for (column, &x) in x.iter().enumerate() {
            panel[column * PANEL + row % PANEL] = rounded(narrow(x));
        }
    }
    values
}

/// The upper half of the bits, rounded to nearest, ties to even.
fn rounded(x: f32) -> u16 {
    let bits = x.to_bits();
    ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) as u16
}

#[inline(always)]
fn widened(x: u16) -> f32 {
    f32::from_bits(u32::from(x) << 16)
}

/// Compiled for the registers of a path.
struct Dots<'a> {
    panels: &'a [u16],
    direction: &'a [f32],
    out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let panels = self.panels.chunks_exact(PANEL * self.direction.len());
        for (panel, out) in panels.zip(self.out.chunks_mut(PANEL)) {
            let mut sums = [0.0; PANEL];
            for (x, &factor) in panel.as_chunks::<PANEL>().0.iter().zip(self.direction) {
                for lane in 0..PANEL {
                    sums[lane] += widened(x[lane]) * factor;
                }
            }
            let here = out.len();
            out.copy_from_slice(&sums[..here]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Round, Stream};

    #[test]
    fn rounding_loses_at_most_what_is_said() {
        let mut x = 1e-30_f64;
        while x < 1e30 {
            for x in [x, -x] {
                let found = f64::from(widened(rounded(x as f32)));
                assert!((found - x).abs() <= OFF * x.abs(), "{x} became {found}");
            }
            x *= 1.000_7;
        }
        assert_eq!(rounded(0.0), 0);
    }

    #[test]
    fn dots_are_within_the_rounding() {
        for (rows, dim) in [(1, 1), (63, 5), (64, 17), (200, 33)] {
            let draws = Round::new(4, 1).draws(0, Stream(300));
            let x: Vec<f64> = (0..(rows * dim) as u64).map(|id| draws.normal(id)).collect();
            let direction: Vec<f32> = (0..dim as u64).map(|id| draws.normal(1 << 40 | id) as f32).collect();
            let coarse = Coarse::new(Features::F64(&x), dim);
            for first in (0..rows).step_by(PANEL) {
                let mut out = vec![0.0; rows - first];
                coarse.dots(Kernel::get(), first, &direction, &mut out);
                for (found, x) in out.iter().zip(x.chunks(dim).skip(first)) {
                    let products = || x.iter().zip(&direction).map(|(x, &factor)| x * f64::from(factor));
                    let size: f64 = products().map(f64::abs).sum();
                    let off = (f64::from(*found) - products().sum::<f64>()).abs();
                    assert!(off <= 1.01 * OFF * size, "{rows} x {dim}: off by {off} of {size}");
                }
            }
        }
    }
}
