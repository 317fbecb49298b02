//! The clock and all the randomness of a round.
//!
//! There is no generator to pass around. A draw is a pure function of
//! (seed, t, block, id, stream), so the same arm gets the same draw on any thread, in any chunk, in any row order.
//! Philox is written here because the product needs it as a stateless function of a counter, which no generator
//! crate offers; the published known-answer vectors are tested below.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::{
    kernel::{FACTORS, Kernel, Philox},
    random::normal::{CHUNK, OUTER, Tails, ceiling_of_bits, normal_of_bits, normals_of_bits},
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// A round: the seed of the whole run and the round's number t, counted from 1 as in the paper.
///
/// # Example
/// ```
/// use armwise::{Round, Stream};
/// let draws = Round::new(7, 1).draws(0, Stream::BONUS);
/// assert_eq!(draws.normal(42), Round::new(7, 1).draws(0, Stream::BONUS).normal(42));
/// assert_ne!(draws.normal(42), Round::new(7, 2).draws(0, Stream::BONUS).normal(42));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// The seed of the run.
    pub seed: u64,
    /// The round's number.
    pub t: u64,
}

/// What a draw is for; draws of different streams are independent.
///
/// Numbers below 256 are reserved for this library; callers use 256 and up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stream(pub u32);

impl Stream {
    /// The shared draw of a round: coordinates of the direction.
    pub const DIRECTION: Self = Self(0);
    /// The own draw of an arm: its bonus.
    pub const BONUS: Self = Self(1);
    /// The order of arms with equal scores.
    pub const TIES: Self = Self(2);
    /// The seeds of fresh rounds, by which probabilities are counted: none of their draws is one of the round's own.
    pub const REPLICATE: Self = Self(16);
    /// The draw that all arms of a round share, in all blocks.
    pub const SHARED: Self = Self(3);
    /// The draw that the arms of a group share, in all blocks.
    pub const GROUP: Self = Self(4);
    /// The own draw of an arm that stands for the largest of several.
    pub const BEST: Self = Self(5);
}

/// All draws of one (seed, t, block, stream), indexed by arm id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    key: [u32; 2],
    tail: [u32; 2],
}

impl Round {
    /// The round `t` of the run with this `seed`.
    #[must_use]
    pub const fn new(seed: u64, t: u64) -> Self {
        Self { seed, t }
    }

    /// The draws of this round for a block and a stream.
    ///
    /// The first Philox call spends (t, block, stream) under the seed and gives 128 bits; they become the key and
    /// the upper counter half of the call that spends the arm's id.
    #[must_use]
    pub fn draws(self, block: u32, stream: Stream) -> Draws {
        let [a, b, c, d] = philox([lo(self.t), hi(self.t), block, stream.0], [lo(self.seed), hi(self.seed)]);
        Draws { key: [a, b], tail: [c, d] }
    }
}

impl Draws {
    /// 64 random bits.
    #[must_use]
    #[inline(always)]
    pub fn bits(&self, id: u64) -> u64 {
        let [a, b, _, _] = philox([lo(id), hi(id), self.tail[0], self.tail[1]], self.key);
        u64::from(a) | u64::from(b) << 32
    }

    /// A uniform number in [0, 1), a multiple of 2^-53.
    #[must_use]
    #[inline]
    pub fn uniform(&self, id: u64) -> f64 {
        uniform_of_bits(self.bits(id))
    }

    /// A standard normal number, by the inverse distribution function.
    ///
    /// One bit gives the sign and 63 bits the probability of the tail, so the law is exactly symmetric and reaches
    /// past 9 standard deviations.
    #[must_use]
    #[inline]
    pub fn normal(&self, id: u64) -> f64 {
        normal_of_bits(self.bits(id))
    }

    /// The normal numbers of many ids: the bits of [`normal`](Self::normal), in less time.
    ///
    /// # Panics
    /// If there are not as many places as ids.
    pub fn normals(&self, ids: &[u64], out: &mut [f64]) {
        self.many(Kernel::get(), ids, out, true);
    }

    /// The uniform numbers of many ids: the bits of [`uniform`](Self::uniform), in less time.
    ///
    /// # Panics
    /// If there are not as many places as ids.
    pub fn uniforms(&self, ids: &[u64], out: &mut [f64]) {
        self.many(Kernel::get(), ids, out, false);
    }

    /// Numbers that the normal numbers of these ids do not exceed, in less time than the numbers themselves.
    pub(crate) fn ceilings(&self, ids: &[u64], out: &mut [f32]) {
        let (kernel, philox) = (Kernel::get(), self.philox());
        CHUNKS.with_borrow_mut(|Chunk { bits, .. }| {
            for (ids, out) in ids.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                let bits = &mut bits[..ids.len()];
                philox.bits(kernel, ids, bits);
                kernel.dispatch(Ceilings(bits, out));
            }
        });
    }

    fn philox(&self) -> Philox {
        let mut keys = [self.key; 10];
        (1..10).for_each(|round| keys[round] = next_key(keys[round - 1]));
        Philox::new(self.tail, keys)
    }

    pub(super) fn many(&self, kernel: Kernel, ids: &[u64], out: &mut [f64], normal: bool) {
        assert_eq!(ids.len(), out.len(), "a place for each id");
        let philox = self.philox();
        CHUNKS.with_borrow_mut(|Chunk { bits, places, tails }| {
            for (ids, out) in ids.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                let bits = &mut bits[..ids.len()];
                philox.bits(kernel, ids, bits);
                if !normal {
                    kernel.dispatch(Uniforms(bits, out));
                    continue;
                }
                let count = kernel.places_below(bits, OUTER, places);
                let places = &places[..count];
                // Measured: two wide registers side by side, or one narrow one and two for the tails.
                if kernel.is_wide() {
                    kernel.dispatch(Normals::<16, 16> { bits, places, tails, out });
                } else {
                    kernel.dispatch(Normals::<4, 8> { bits, places, tails, out });
                }
            }
        });
    }
}

/// The buffers of a chunk of draws.
struct Chunk {
    bits: [u64; CHUNK],
    places: [u16; CHUNK],
    tails: Tails,
}

thread_local! {
    /// Clearing them at every call would take as long as twenty draws.
    static CHUNKS: RefCell<Chunk> =
        const { RefCell::new(Chunk { bits: [0; CHUNK], places: [0; CHUNK], tails: Tails::new() }) };
}

#[inline(always)]
fn uniform_of_bits(bits: u64) -> f64 {
    const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
    // Signed, since more processors can turn that into a float; the number is below 2^53.
    (bits >> 11).cast_signed() as f64 * UNIT
}

/// Many draws from their bits, compiled for the registers of a path, which changes no bit. Each is a function of its own:
/// in a larger one the compiler leaves the loops as they are.
struct Uniforms<'a>(&'a [u64], &'a mut [f64]);

impl pulp::NullaryFnOnce for Uniforms<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (out, bits) in self.1.iter_mut().zip(self.0) {
            *out = uniform_of_bits(*bits);
        }
    }
}

/// As [`Draws::ceilings`].
struct Ceilings<'a>(&'a [u64], &'a mut [f32]);

impl pulp::NullaryFnOnce for Ceilings<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (out, bits) in self.1.iter_mut().zip(self.0) {
            *out = ceiling_of_bits(*bits);
        }
    }
}

/// As [`normals_of_bits`].
struct Normals<'a, const L: usize, const K: usize> {
    bits: &'a [u64],
    places: &'a [u16],
    tails: &'a mut Tails,
    out: &'a mut [f64],
}

impl<const L: usize, const K: usize> pulp::NullaryFnOnce for Normals<'_, L, K> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        normals_of_bits::<L, K>(self.bits, self.places, self.tails, self.out);
    }
}

#[inline]
const fn lo(x: u64) -> u32 {
    x as u32
}

#[inline]
const fn hi(x: u64) -> u32 {
    (x >> 32) as u32
}

/// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#[inline(always)]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let p0 = u64::from(counter[0]) * u64::from(FACTORS[0]);
        let p1 = u64::from(counter[2]) * u64::from(FACTORS[1]);
        counter = [hi(p1) ^ counter[1] ^ key[0], lo(p1), hi(p0) ^ counter[3] ^ key[1], lo(p0)];
        key = next_key(key);
    }
    counter
}

#[inline(always)]
fn next_key(key: [u32; 2]) -> [u32; 2] {
    [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The three published vectors of Random123's `kat_vectors` for `philox4x32 10`.
    #[test]
    fn philox_gives_the_published_known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    /// Every path against one call at a time.
    #[test]
    fn many_bits_are_the_bits_of_one_at_a_time() {
        for (seed, count) in [(0, 0), (1, 1), (2, 3), (3, 8), (4, 15), (5, 64), (6, 1_000)] {
            let draws = Round::new(seed, 7).draws(seed as u32, Stream::BONUS);
            let ids: Vec<u64> = (0..count).map(|id: u64| id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (id % 60)).collect();
            let expected: Vec<u64> = ids.iter().map(|&id| draws.bits(id)).collect();
            for kernel in Kernel::all() {
                let mut found = vec![0; ids.len()];
                draws.philox().bits(kernel, &ids, &mut found);
                assert_eq!(found, expected, "{kernel:?}, {count}");
            }
        }
    }
}
