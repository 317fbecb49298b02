//! The clock and all the randomness of a round.
//!
//! The decision to know: there is no generator to pass around. A draw is a pure function of
//! (seed, t, block, id, stream), so the same arm gets the same draw on any thread, in any chunk, in any row order.
//! Philox is written here because the product needs it as a stateless function of a counter, which no generator
//! crate offers; the published known-answer vectors are tested below.

use serde::{Deserialize, Serialize};

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
/// Numbers below 256 belong to this library; a caller's own randomness takes 256 and up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stream(pub u32);

impl Stream {
    /// The shared draw of a round: coordinates of the direction.
    pub const DIRECTION: Self = Self(0);
    /// The own draw of an arm: its bonus.
    pub const BONUS: Self = Self(1);
    /// The order of arms with equal scores.
    pub const TIES: Self = Self(2);
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
    #[inline]
    pub fn bits(&self, id: u64) -> u64 {
        let [a, b, _, _] = philox([lo(id), hi(id), self.tail[0], self.tail[1]], self.key);
        u64::from(a) | u64::from(b) << 32
    }

    /// A uniform number in [0, 1), a multiple of 2^-53.
    #[must_use]
    #[inline]
    pub fn uniform(&self, id: u64) -> f64 {
        const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits(id) >> 11) as f64 * UNIT
    }

    /// A standard normal number, by the inverse distribution function.
    ///
    /// One bit gives the sign and 63 bits the probability of the tail, so the law is exactly symmetric and reaches
    /// past 9 standard deviations.
    #[must_use]
    #[inline]
    pub fn normal(&self, id: u64) -> f64 {
        const UNIT: f64 = 1.0 / (1u128 << 64) as f64;
        let bits = self.bits(id);
        let tail = ((bits >> 1) as f64 + 0.5) * UNIT;
        let z = normal_of_tail(tail);
        if bits & 1 == 0 { z } else { -z }
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
#[expect(clippy::inline_always, reason = "inlined into the vectorised scoring loop")]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let p0 = u64::from(counter[0]) * 0xD251_1F53;
        let p1 = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [hi(p1) ^ counter[1] ^ key[0], lo(p1), hi(p0) ^ counter[3] ^ key[1], lo(p0)];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// The z >= 0 with P(Z > z) = `tail`, for 0 < tail <= 1/2: Wichura's algorithm AS 241 (PPND16, 1988).
///
/// Only +, *, /, sqrt and the pure-Rust `libm::log`, so the bits are the same on every platform.
fn normal_of_tail(tail: f64) -> f64 {
    let q = 0.5 - tail;
    if q <= 0.425 {
        return q * ratio(0.180_625 - q * q, &CENTRE);
    }
    let r = (-libm::log(tail)).sqrt();
    if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &FAR) }
}

fn ratio(r: f64, [numerator, denominator]: &[[f64; 8]; 2]) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * r + c);
    horner(numerator) / horner(denominator)
}

#[expect(clippy::excessive_precision, reason = "the published digits")]
const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_608_0,
        1.331_416_678_917_843_774_5e2,
        1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4,
        4.592_195_393_154_987_145_7e4,
        6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4,
        2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091_125_2e1,
        6.871_870_074_920_579_083_0e2,
        5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4,
        3.930_789_580_009_271_061_0e4,
        2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561_0e3,
    ],
];
#[expect(clippy::excessive_precision, reason = "the published digits")]
const MIDDLE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_90,
        5.769_497_221_460_691_405_50,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_70e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_40e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_40,
        6.897_673_349_851_000_045_50e-1,
        1.481_039_764_274_800_745_90e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946_00e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
];
#[expect(clippy::excessive_precision, reason = "the published digits")]
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103_777_20,
        5.463_784_911_164_114_369_90,
        1.784_826_539_917_291_335_80,
        2.965_605_718_285_048_912_30e-1,
        2.653_218_952_657_612_309_30e-2,
        1.242_660_947_388_078_438_60e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879_376_90e-1,
        1.369_298_809_227_358_053_10e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591_00e-4,
        1.846_318_317_510_054_681_80e-5,
        1.421_511_758_316_445_888_70e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
];

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

    /// P(Z > z) by the complementary error function, a method of its own.
    fn upper_tail(z: f64) -> f64 {
        0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
    }

    #[test]
    fn inverse_tail_inverts_the_exact_distribution_out_to_nine_sigma() {
        for step in 0..=9_000 {
            let z = f64::from(step) / 1_000.0;
            let tail = upper_tail(z);
            let back = normal_of_tail(tail);
            assert!((back - z).abs() <= 4e-15 * z.max(1.0) + 1e-16 / tail.max(1e-3), "z = {z}, back = {back}");
        }
    }

    #[test]
    fn extreme_bits_stay_finite() {
        let smallest = normal_of_tail(0.5 / (1u128 << 64) as f64);
        assert!((9.0..9.3).contains(&smallest), "{smallest}");
        assert!(normal_of_tail(0.5).abs() < f64::MIN_POSITIVE);
    }
}
