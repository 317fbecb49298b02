//! Features as bytes, from which means are bounded: exactly how far a byte is off is known of each arm.
//!
//! Most of the time of a round goes into reading features, so a second, shorter copy of them is kept: of each arm the
//! difference e from the centre of its group (from zero where arms do not lie in groups), as whole numbers q times a
//! scale of its own. For a direction that is rounded to whole numbers p of 16 bits times a unit, p . q is exact, and
//!
//! ```text
//! |direction . e - unit scale p . q|  <=  |direction| |e - scale q|  +  |direction - unit p| |scale q|
//! ```
//!
//! where |direction - unit p| <= sqrt(d) unit / 2 <= |direction| sqrt(d) / (2 largest p), whatever the direction. So one
//! number for each arm, times |direction|, bounds the error; [`SLACK`] is added for what f64 rounds here and in a score.

#![allow(clippy::needless_range_loop, reason = "short loops over registers, several arrays at once")]
#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use super::groups::Groups;
use crate::Arms;
use crate::kernel::{AHEAD, BYTES, Kernel, LINE, dot};
use crate::prune::bound::rounded_up;
use crate::tasks::share_parts;
use std::ops::Range;

/// Rounding of f64, relative to the sum of the lengths of a centre and of the difference from it.
const SLACK: f64 = 1e-9;
/// The largest byte.
const LARGEST: f64 = 127.0;
/// Arms whose bytes are made in one task.
const ROWS: usize = 4_096;

/// The features of a catalogue as bytes, row by row.
#[derive(Debug)]
pub(super) struct Coarse {
    bytes: Vec<i8>,
    /// Where the first row begins, so that no row of a cache line or less lies in two lines.
    start: usize,
    /// Bytes of a row; those past the last feature are zero.
    length: usize,
    /// What a byte is multiplied by, and the bound of the error as a multiple of the direction's length.
    scales: Vec<[f32; 2]>,
    /// The group of each arm; empty where there is one, around zero.
    groups: Vec<u32>,
}

/// A direction as whole numbers.
pub(super) struct Turned {
    factors: Vec<i16>,
    unit: f64,
    /// The length of the direction, or a little more.
    pub(super) length: f64,
    /// direction . centre of each group.
    dots: Vec<f64>,
}

/// An upper bound of the length of a vector.
#[inline(always)]
pub(super) fn length(x: impl Iterator<Item = f64>) -> f64 {
    // For what squares lose, below the range of f64 too.
    x.map(|x| x * x).sum::<f64>().sqrt() * (1.0 + 1e-9) + 1e-150
}

/// The largest whole number of a direction: a sum of its products with bytes fits into 32 bits.
fn largest_factor(length: usize) -> f64 {
    f64::from(i16::MAX).min((f64::from(i32::MAX) / (LARGEST * length as f64)).floor())
}

impl Coarse {
    pub(super) fn new(arms: &Arms<'_>, groups: Option<&Groups>) -> Self {
        let (n, d) = (arms.len(), arms.dim());
        let length = d.next_multiple_of(BYTES);
        let (mut bytes, mut scales) = (vec![0; n * length + LINE], vec![[0.0; 2]; n]);
        let start = bytes.as_ptr().align_offset(LINE).min(LINE);
        let of_rows = groups.map(|groups| groups.of_rows(n)).unwrap_or_default();
        let zero = vec![0.0; d];
        let parts = bytes[start..start + n * length].chunks_mut(ROWS * length).zip(scales.chunks_mut(ROWS));
        share_parts(parts, Vec::new, |x: &mut Vec<f64>, part, (bytes, scales)| {
            for ((row, bytes), scales) in (part * ROWS..).zip(bytes.chunks_mut(length)).zip(scales) {
                let centre = groups.map_or(&zero[..], |groups| groups.centre(of_rows[row] as usize));
                x.clear();
                arms.row_onto(row, x);
                *scales = Kernel::get().dispatch(
                    #[inline(always)]
                    || narrowed(x, centre, bytes),
                );
            }
        });
        Self { bytes, start, length, scales, groups: of_rows }
    }

    /// A direction for these arms; none if it is beyond ordinary numbers.
    pub(super) fn turned(&self, direction: &[f64], groups: Option<&Groups>) -> Option<Turned> {
        let largest = direction.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let unit = if largest == 0.0 { 1.0 } else { largest / largest_factor(self.length) };
        let own = length(direction.iter().copied());
        if !(unit.is_normal() && own.is_finite()) {
            return None;
        }
        let mut factors = vec![0; self.length];
        factors.iter_mut().zip(direction).for_each(|(to, x)| *to = (x / unit).round() as i16);
        let centres = groups.map_or(0, |groups| groups.radii.len());
        let dots = (0..centres).filter_map(|group| Some(dot(direction, groups?.centre(group)))).collect();
        Some(Turned { factors, unit, length: own, dots })
    }

    /// direction . x of these rows and how far each may be off; `sums` is a buffer.
    pub(super) fn dots(
        &self,
        kernel: Kernel,
        turned: &Turned,
        rows: &[usize],
        sums: &mut Vec<i32>,
        dots: &mut Vec<(f64, f64)>,
    ) {
        let ahead = rows.iter().copied().skip(AHEAD);
        kernel.byte_sums(&self.bytes[self.start..], &turned.factors, rows.iter().copied(), ahead, sums);
        let dot = |(&row, &sum): (&usize, &i32)| {
            let [scale, off] = self.scales[row].map(f64::from);
            let centre = self.groups.get(row).map_or(0.0, |&group| turned.dots[group as usize]);
            (centre + f64::from(sum) * (scale * turned.unit), turned.length * off)
        };
        dots.clear();
        dots.extend(rows.iter().zip(&*sums).map(dot));
    }

    /// Upper bounds of direction . x of all rows of a range; `sums` is a buffer.
    pub(super) fn uppers(
        &self,
        kernel: Kernel,
        turned: &Turned,
        rows: Range<usize>,
        sums: &mut Vec<i32>,
        uppers: &mut Vec<f32>,
    ) {
        kernel.byte_sums(&self.bytes[self.start..], &turned.factors, rows.clone(), rows.start + AHEAD.., sums);
        uppers.resize(rows.len(), 0.0);
        let groups = self.groups.get(rows.clone()).unwrap_or_default();
        kernel.dispatch(Uppers { turned, sums, scales: &self.scales[rows], groups, out: uppers });
    }
}

/// Upper bounds of direction . x, compiled for the registers of a path.
struct Uppers<'a> {
    turned: &'a Turned,
    sums: &'a [i32],
    scales: &'a [[f32; 2]],
    groups: &'a [u32],
    out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Uppers<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.out.len();
        let (sums, scales, Turned { unit, length, dots, .. }) = (&self.sums[..n], &self.scales[..n], self.turned);
        let upper = |row: usize, centre: f64| {
            let [scale, off] = [f64::from(scales[row][0]), f64::from(scales[row][1])];
            rounded_up(centre + f64::from(sums[row]) * (scale * unit) + length * off)
        };
        if self.groups.is_empty() {
            for row in 0..n {
                self.out[row] = upper(row, 0.0);
            }
        } else {
            for row in 0..n {
                self.out[row] = upper(row, dots[self.groups[row] as usize]);
            }
        }
    }
}

/// Writes x - centre as bytes; returns their scale and the bound of the error.
#[inline(always)]
fn narrowed(x: &mut [f64], centre: &[f64], bytes: &mut [i8]) -> [f32; 2] {
    let d = x.len();
    let far = length(centre.iter().copied());
    x.iter_mut().zip(centre).for_each(|(x, c)| *x -= c);
    let size = length(x.iter().copied());
    let scale = (x.iter().fold(0.0, |most: f64, x| most.max(x.abs())) / LARGEST) as f32;
    let wide = f64::from(scale);
    if scale > 0.0 {
        let one = 1.0 / wide;
        let narrow = |x: f64| (x * one).round_ties_even().clamp(-LARGEST, LARGEST);
        bytes.iter_mut().zip(&*x).for_each(|(to, &x)| *to = narrow(x) as i8);
    }
    x.iter_mut().zip(&*bytes).for_each(|(x, &byte)| *x -= wide * f64::from(byte));
    let off = length(x.iter().copied());
    let turned = 0.501 * (d as f64).sqrt() / largest_factor(bytes.len());
    [scale, rounded_up(off + turned * (size + off) + SLACK * (far + size))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Round, Stream};

    /// With and without groups, for sizes at both ends of f32.
    #[test]
    fn dots_are_within_what_they_may_be_off() {
        for (rows, dim, size) in [(1, 1, 1.0), (63, 5, 1e-36), (64, 17, 1e30), (3_000, 33, 1.0), (40, 700, 1.0)] {
            let draws = Round::new(4, 1).draws(0, Stream(300));
            let ball = |id: u64| {
                let place = id / dim as u64 % 20 * dim as u64 + id % dim as u64;
                size * (draws.normal(place) + 0.05 * draws.normal(1 << 41 | id))
            };
            let x: Vec<f64> = (0..(rows * dim) as u64).map(ball).collect();
            let arms = Arms::new(&x, dim).expect("rows");
            let groups = Groups::new(&arms);
            assert_eq!(groups.is_some(), rows == 3_000);
            let direction: Vec<f64> = (0..dim as u64).map(|id| draws.normal(1 << 40 | id)).collect();
            for groups in [None, groups.as_ref()] {
                let coarse = Coarse::new(&arms, groups);
                let turned = coarse.turned(&direction, groups).expect("ordinary");
                let (mut sums, mut dots, mut uppers) = Default::default();
                coarse.dots(Kernel::get(), &turned, &(0..rows).rev().collect::<Vec<_>>(), &mut sums, &mut dots);
                coarse.uppers(Kernel::get(), &turned, 0..rows, &mut sums, &mut uppers);
                assert_eq!((dots.len(), uppers.len()), (rows, rows));
                let mut most = 0.0_f64;
                for ((x, &(found, off)), &upper) in x.chunks(dim).zip(dots.iter().rev()).zip(&uppers) {
                    let exact: f64 = x.iter().zip(&direction).map(|(x, y)| x * y).sum();
                    assert!((found - exact).abs() <= off, "{rows} x {dim}: {found} is not {exact}, within {off}");
                    let upper = f64::from(upper);
                    assert!(upper >= exact && upper <= found + 1.001 * off + 1e-6 * found.abs() + 1e-44, "{upper}");
                    most = most.max(off / (turned.length * length(x.iter().copied())));
                }
                // Wide intervals would prove nothing.
                assert!(most < if groups.is_some() { 0.001 } else { 0.012 }, "{rows} x {dim}: off by {most}");
            }
        }
        let coarse = Coarse::new(&Arms::new(&[1.0, 2.0][..], 2).expect("rows"), None);
        assert!(coarse.turned(&[0.0, 0.0], None).is_some());
        let strange = [[f64::NAN, 1.0], [f64::INFINITY, 0.0], [1e-310, 0.0]];
        assert!(strange.iter().all(|direction| coarse.turned(direction, None).is_none()));
    }
}
