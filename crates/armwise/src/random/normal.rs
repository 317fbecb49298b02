//! Normal numbers from 64 random bits: one at a time or many, with the same bits. The ratios are those of Wichura's
//! algorithm AS 241 (PPND16, 1988).
//!
//! It uses only +, -, *, / and square roots, nothing fused, and its own logarithm. So the bits are the same on every
//! platform, and the loops can be compiled for registers of any width.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]
#![allow(clippy::needless_range_loop, reason = "short loops over registers, several arrays at once")]

/// How many draws are made at a time.
pub(super) const CHUNK: usize = 256;

/// No draw is larger than this, whatever its bits.
pub(crate) const LARGEST: f64 = 9.3;

/// Up to here the root of the tail's logarithm takes the second ratio; one draw in 10^11 lies beyond.
const NEAR: f64 = 5.0;

/// The probability of the tail beyond the draw: a number in (0, 1/2], from the upper 63 bits.
#[inline(always)]
fn tail_of_bits(bits: u64) -> f64 {
    const UNIT: f64 = 1.0 / (1u128 << 64) as f64;
    (float_of(bits >> 1) + 0.5) * UNIT
}

/// The nearest float, from its halves, each of which a float of a fixed power of two holds: few processors convert words
/// of 64 bits in their vector registers.
#[inline(always)]
fn float_of(x: u64) -> f64 {
    /// 2^84 and 2^52, whose last bits count 2^32 and 1.
    const UPPER: u64 = (1023 + 84) << 52;
    const LOWER: u64 = (1023 + 52) << 52;
    const BOTH: f64 = f64::from_bits(UPPER) + f64::from_bits(LOWER);
    (f64::from_bits(UPPER | x >> 32) - BOTH) + f64::from_bits(LOWER | x & 0xffff_ffff)
}

/// The last bit gives the sign.
#[inline(always)]
fn signed(z: f64, bits: u64) -> f64 {
    f64::from_bits(z.to_bits() ^ bits << 63)
}

/// Whether the draw lies in the tails (15% of all draws), decided from the bits alone: the probability of its tail is
/// below 0.075, up to the last bit. At the boundary either ratio is accurate.
#[inline(always)]
fn is_outer(bits: u64) -> bool {
    bits >> 1 < OUTER
}

/// What the upper 63 bits of a draw in the tails are below.
pub(super) const OUTER: u64 = (3 * (1u128 << 64) / 40) as u64;

/// Whether the third ratio may be the one: with these bits the tail is below 2^-34, and its root above 4.85.
#[inline(always)]
fn may_be_far(bits: u64) -> bool {
    bits < 1 << 30
}

/// No draw of these bits is larger than this. It takes a fraction of a draw's time and is at most 0.6 too large, except for
/// one draw in 10^9.
///
/// The probability of the tail p is at most exp(-z^2 / 2) / 2, so that z^2 <= -2 ln 2 log2(2 p); and the bits of a float
/// are a logarithm of it that is never above log2, since log2 m >= m - 1 for 1 <= m <= 2. The upper 31 bits of the draw's
/// are at most 2^32 p; as a float and after all roundings of f32 the square is off by less than 6e-5.
#[inline(always)]
pub(super) fn ceiling_of_bits(bits: u64) -> f32 {
    const TWICE: f32 = 2.0 * std::f32::consts::LN_2;
    const UNIT: f32 = TWICE / (1 << 23) as f32;
    let word = ((bits >> 33) as u32).cast_signed() as f32;
    // 2^31 has 127 + 31 for its exponent.
    let square = TWICE * 158.0 - UNIT * word.to_bits().cast_signed() as f32 + 1e-4;
    // Without a branch, so that the compiler can use vector instructions.
    let ceiling = (square.sqrt() * (1.0 + 1e-6)).min(LARGEST as f32 * (1.0 + 1e-6));
    if bits & 1 == 0 { ceiling } else { 0.0 }
}

/// Up to here from the middle, one ratio serves; 85% of all draws.
const CENTRAL: f64 = 0.425;

/// The z >= 0 with P(Z > z) = `tail`, for 0 < tail <= 1/2: Wichura's algorithm AS 241 (PPND16, 1988), by the letter.
pub(crate) fn normal_of_tail(tail: f64) -> f64 {
    let q = 0.5 - tail;
    if q <= CENTRAL { central([q])[0] } else { outer(root(tail)) }
}

pub(crate) fn normal_of_bits(bits: u64) -> f64 {
    let tail = tail_of_bits(bits);
    signed(if is_outer(bits) { outer(root(tail)) } else { central([0.5 - tail])[0] }, bits)
}

fn root(tail: f64) -> f64 {
    (-ln([tail])[0]).sqrt()
}

fn outer(r: f64) -> f64 {
    if r <= NEAR { ratio([r - 1.6], &MIDDLE)[0] } else { ratio([r - 5.0], &FAR)[0] }
}

/// Room for the tails of a chunk.
pub(super) struct Tails {
    bits: [u64; CHUNK],
    z: [f64; CHUNK],
}

impl Tails {
    pub(super) const fn new() -> Self {
        Self { bits: [0; CHUNK], z: [0.0; CHUNK] }
    }
}

/// As [`normal_of_bits`], at most [`CHUNK`] of them: the middle for all, `L` side by side, then the tails of those that have
/// one, `K` side by side. `places` are those of the tails, which [`is_outer`] tells.
#[inline(always)]
pub(super) fn normals_of_bits<const L: usize, const K: usize>(
    bits: &[u64],
    places: &[u16],
    Tails { bits: tails, z }: &mut Tails,
    out: &mut [f64],
) {
    let n = bits.len().min(out.len());
    let (bits, out) = (&bits[..n.min(CHUNK)], &mut out[..n.min(CHUNK)]);
    let ((some, rest), (some_out, rest_out)) = (bits.as_chunks::<L>(), out.as_chunks_mut::<L>());
    // Loops, not `for_each`: its body would be a function of its own, outside of the dispatch, with narrow registers.
    for (bits, out) in some.iter().zip(some_out) {
        *out = middle(bits);
    }
    if !rest.is_empty() {
        let mut last = [0; L];
        last[..rest.len()].copy_from_slice(rest);
        rest_out.copy_from_slice(&middle(&last)[..rest.len()]);
    }

    let count = places.len().min(CHUNK);
    for (tail, &place) in tails.iter_mut().zip(places) {
        *tail = bits[usize::from(place)];
    }
    // Whole groups of K are computed, so that what lies past the last one must be an ordinary number.
    let whole = count.next_multiple_of(K).min(CHUNK);
    tails[count..whole].fill(1 << 62);
    let mut far = 0;
    let tails = tails[..whole].as_chunks::<K>().0;
    // Numbers go through arrays: measured, gathering and scattering in this loop takes half as long again on AVX2.
    for (bits, z) in tails.iter().zip(z[..whole].as_chunks_mut::<K>().0) {
        let mut r = [0.0; K];
        for l in 0..K {
            r[l] = tail_of_bits(bits[l]);
            far |= u64::from(may_be_far(bits[l]));
        }
        r = ln(r);
        for l in 0..K {
            r[l] = (-r[l]).sqrt() - 1.6;
        }
        *z = ratio(r, &MIDDLE);
        for l in 0..K {
            z[l] = signed(z[l], bits[l]);
        }
    }
    for (&place, &z) in places.iter().zip(&*z) {
        if let Some(out) = out.get_mut(usize::from(place)) {
            *out = z;
        }
    }
    if far != 0 {
        out.iter_mut().zip(bits).for_each(|(out, &bits)| *out = normal_of_bits(bits));
    }
}

#[inline(always)]
fn middle<const L: usize>(bits: &[u64; L]) -> [f64; L] {
    let mut q = [0.0; L];
    for l in 0..L {
        q[l] = 0.5 - tail_of_bits(bits[l]);
    }
    let mut z = central(q);
    for l in 0..L {
        z[l] = signed(z[l], bits[l]);
    }
    z
}

// Plain loops over the lanes from here on: of closures the compiler makes no registers.

#[inline(always)]
fn central<const L: usize>(mut q: [f64; L]) -> [f64; L] {
    let mut r = [0.0; L];
    for l in 0..L {
        r[l] = 0.180_625 - q[l] * q[l];
    }
    let ratio = ratio(r, &CENTRE);
    for l in 0..L {
        q[l] *= ratio[l];
    }
    q
}

/// The natural logarithm of positive normal numbers, by x = 2^e m with m near 1 and
/// ln m = 2 artanh(s) = 2 s + s^3 (2/3 + 2/5 s^2 + ...), s = (m - 1) / (m + 1).
#[inline(always)]
fn ln<const L: usize>(x: [f64; L]) -> [f64; L] {
    /// The bits of sqrt(1/2): m lies between it and sqrt(2), so that s^2 < 0.0295.
    const ROOT: u64 = 0x3FE6_A09E_667F_3BCD;
    /// ln 2 in two parts; the first ends in 21 zero bits, so that its product with e is exact.
    const LN2: [f64; 2] = [f64::from_bits(0x3FE6_2E42_FEE0_0000), 1.908_214_929_270_587_7e-10];
    const ONE: u64 = 1023 << 52;
    /// 2^52, whose last bit counts 1.
    const WHOLE: u64 = (1023 + 52) << 52;
    let (mut e, mut s, mut z, mut series) = ([0.0; L], [0.0; L], [0.0; L], [SERIES[SERIES.len() - 1]; L]);
    for l in 0..L {
        let bits = x[l].to_bits();
        // e + 1023, which is never negative.
        let power = (bits + (ONE - ROOT)) >> 52;
        let f = f64::from_bits(bits + ONE - (power << 52)) - 1.0;
        e[l] = f64::from_bits(WHOLE | power) - (f64::from_bits(WHOLE) + 1023.0);
        s[l] = f / (2.0 + f);
    }
    for l in 0..L {
        z[l] = s[l] * s[l];
    }
    for place in (0..SERIES.len() - 1).rev() {
        for l in 0..L {
            series[l] = series[l] * z[l] + SERIES[place];
        }
    }
    for l in 0..L {
        series[l] = e[l] * LN2[0] + (2.0 * s[l] + (e[l] * LN2[1] + s[l] * z[l] * series[l]));
    }
    series
}

/// 2/3, 2/5, 2/7, ...: enough terms that the next one would not change the last bit.
const SERIES: [f64; 10] = [
    2.0 / 3.0,
    2.0 / 5.0,
    2.0 / 7.0,
    2.0 / 9.0,
    2.0 / 11.0,
    2.0 / 13.0,
    2.0 / 15.0,
    2.0 / 17.0,
    2.0 / 19.0,
    2.0 / 21.0,
];

#[inline(always)]
fn ratio<const L: usize>(r: [f64; L], [numerator, denominator]: &[[f64; 8]; 2]) -> [f64; L] {
    let (mut above, mut below) = ([numerator[7]; L], [denominator[7]; L]);
    for place in (0..7).rev() {
        for l in 0..L {
            above[l] = above[l] * r[l] + numerator[place];
        }
        for l in 0..L {
            below[l] = below[l] * r[l] + denominator[place];
        }
    }
    for l in 0..L {
        above[l] /= below[l];
    }
    above
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
    use crate::{Round, Stream, kernel::Kernel};

    /// Choosing the ratio by the bits agrees with choosing it by the tail, except exactly at the boundary.
    #[test]
    fn bits_and_tails_agree() {
        let draws = Round::new(9, 1).draws(0, Stream(300));
        let edge = (3 * (1u128 << 65) / 40) as u64;
        for bits in (0..100_000).map(|id| draws.bits(id)).chain((0..2_000).map(|step| edge - 1_000_000 + step * 1_000))
        {
            let (found, expected) = (normal_of_bits(bits), signed(normal_of_tail(tail_of_bits(bits)), bits));
            assert!((found - expected).abs() <= 1e-15 * expected.abs(), "{bits:x}: {found}, not {expected}");
        }
    }

    /// P(Z > z) by the complementary error function, an independent method.
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
        assert!((9.0..LARGEST).contains(&smallest), "{smallest}");
        assert!(normal_of_tail(0.5).abs() < f64::MIN_POSITIVE);
    }

    /// Against another implementation, over the whole range that is used and past it.
    #[test]
    fn the_logarithm_is_one() {
        let mut x: f64 = 1e-25;
        while x < 1e25 {
            let (found, expected) = (ln([x])[0], libm::log(x));
            assert!((found - expected).abs() <= 4e-16 * expected.abs().max(0.5), "ln {x} = {found}, not {expected}");
            x *= 1.000_7;
        }
    }

    #[test]
    fn many_at_a_time_are_the_bits_of_one_at_a_time() {
        let draws = Round::new(5, 1).draws(3, Stream::BONUS);
        for count in [0, 1, 7, 255, 256, 257, 100_000] {
            let ids: Vec<u64> = (0..count).map(|id| id * 0x9E37_79B9_7F4A_7C15).collect();
            let mut out = vec![0.0; ids.len()];
            for kernel in Kernel::all() {
                draws.many(kernel, &ids, &mut out, true);
                assert!(out.iter().zip(&ids).all(|(z, &id)| z.to_bits() == draws.normal(id).to_bits()), "{kernel:?}");
                draws.many(kernel, &ids, &mut out, false);
                assert!(out.iter().zip(&ids).all(|(u, &id)| u.to_bits() == draws.uniform(id).to_bits()), "{kernel:?}");
            }
        }
        // Bits that no seed will find: the ends of the middle, of the tail and of the far tail.
        let bits = [0, 1, 2, 3, u64::MAX, u64::MAX - 1, 1 << 63, 1 << 28, 1 << 29, 1 << 30, 0x2666_6666_6666_6666];
        let shifted = bits.into_iter().flat_map(|bits| (0..64).map(move |shift| bits >> shift));
        let bits: Vec<u64> = bits.into_iter().chain(shifted).collect();
        let mut out = vec![0.0; bits.len()];
        for make in [normals_of_bits::<1, 1>, normals_of_bits::<4, 8>, normals_of_bits::<16, 16>] {
            for (bits, out) in bits.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                let places: Vec<u16> = (0..).zip(bits).filter(|(_, bits)| is_outer(**bits)).map(|(p, _)| p).collect();
                make(bits, &places, &mut Tails::new(), out);
            }
            assert!(out.iter().zip(&bits).all(|(z, &bits)| z.to_bits() == normal_of_bits(bits).to_bits()));
        }
    }

    #[test]
    fn no_draw_is_above_its_ceiling_and_few_are_far_below_it() {
        let draws = Round::new(7, 1).draws(0, Stream(300));
        let ends =
            (0..64).flat_map(|shift| [u64::MAX >> shift, 1 << shift, (1 << shift) - 1, (1 << shift) + 1, 6 << shift]);
        // The middle too, where squares are small.
        let middle = (0..100_000).map(|id| u64::MAX - (draws.bits(id) >> (20 + id % 40) | 1));
        for bits in (0..100_000).map(|id| draws.bits(id) >> (id % 40)).chain(ends).chain(middle) {
            let (draw, ceiling) = (normal_of_bits(bits), f64::from(ceiling_of_bits(bits)));
            assert!(draw <= ceiling, "{bits:x}: {draw} above {ceiling}");
            assert!(ceiling <= draw.max(0.0) + 0.6 || bits < 1 << 35, "{bits:x}: {ceiling} for {draw}");
        }
    }

    /// Against the conversion that the processor has.
    #[test]
    fn words_become_the_nearest_floats() {
        let draws = Round::new(6, 1).draws(0, Stream(300));
        let some = (0..100_000).map(|id| draws.bits(id) >> (id % 63));
        let ends = (0..64).flat_map(|shift| [u64::MAX >> shift, 1 << shift, (1 << shift) - 1, (1 << shift) + 1]);
        for x in some.chain(ends) {
            assert_eq!(float_of(x).to_bits(), (x as f64).to_bits(), "{x}");
        }
    }
}
