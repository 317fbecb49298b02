//! Tails of standard laws, many at a time: P(Z > z) to full relative accuracy however far out, with the density.
//!
//! Nothing but +, -, *, / and bits, nothing fused and no branch, so that the compiler makes loops over registers of it and
//! the bits are the same on every path. The tail of the normal law is exp(-z^2 / 2) times a polynomial of degree 23 in
//! (z - 5) / (z + 5), divided by z + 5; the polynomial is the Chebyshev series of that factor over all z >= 0, computed
//! with 60 digits, and leaves an error of 5e-17.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use super::spread::Shape;
use crate::kernel::Kernel;
use crate::random::StudentTails;
use std::sync::{Arc, Mutex, PoisonError};

/// How far a standard draw reaches, for all that matters: beyond lies a probability below 1e-20.
pub(super) fn reach(shape: Shape) -> [f64; 2] {
    match shape {
        Shape::Normal => [-9.4, 9.4],
        Shape::BestNormal(of) => [-9.4, (9.4 * 9.4 + 2.0 * libm::log(f64::from(of))).sqrt()],
        Shape::Student(freedom) => {
            let reach = student(freedom).reach();
            [-reach, reach]
        }
        Shape::Uniform | Shape::BestUniform(_) => [0.0, 1.0],
    }
}

/// As [`reach`], but only as far as the law is not smooth over its own distance from the middle: the tails of Student's
/// law go on for long and vary little.
pub(super) fn core(shape: Shape) -> [f64; 2] {
    let [first, last] = reach(shape);
    if matches!(shape, Shape::Student(_)) { [first.max(-14.0), last.min(14.0)] } else { [first, last] }
}

/// The tables of the laws that were asked for last.
fn student(freedom: f64) -> Arc<StudentTails> {
    static KNOWN: Mutex<Vec<(u64, Arc<StudentTails>)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, table)) = known.iter().find(|(bits, _)| *bits == freedom.to_bits()) {
        return Arc::clone(table);
    }
    let table = Arc::new(StudentTails::new(freedom));
    known.truncate(7);
    known.insert(0, (freedom.to_bits(), Arc::clone(&table)));
    table
}

/// The length within which the law of a standard draw varies.
pub(super) fn fineness(shape: Shape) -> f64 {
    match shape {
        Shape::Normal | Shape::Uniform => 1.0,
        Shape::Student(freedom) => 1.0 - 0.5 / freedom,
        Shape::BestNormal(of) => 1.0 / (1.0 + 0.5 * (2.0 * libm::log(f64::from(of))).sqrt()),
        Shape::BestUniform(of) => 2.0 / (1.0 + f64::from(of)),
    }
}

/// Whether the law has ends, at which its density jumps.
pub(super) fn has_ends(shape: Shape) -> bool {
    matches!(shape, Shape::Uniform | Shape::BestUniform(_))
}

/// A standard law.
pub(super) trait Standard: Copy + Sync {
    /// For x = (location - t) / scale: the smaller of P(score > t) and P(score <= t), whether it is the first, and the
    /// density of the standard draw there.
    fn tail(self, x: f64) -> (f64, bool, f64);
}

/// The standard normal law.
#[derive(Clone, Copy)]
pub(super) struct Normal;

/// The uniform law on [0, 1].
#[derive(Clone, Copy)]
pub(super) struct Uniform;

/// Student's law, by the place of a normal number.
#[derive(Clone, Copy)]
pub(super) struct Student<'a>(&'a StudentTails);

/// The largest of several draws of a law.
#[derive(Clone, Copy)]
pub(super) struct Best<S>(S, f64);

/// Work that wants to know its standard law.
pub(super) trait Of {
    /// What it gives.
    type Output;
    /// Does it.
    fn call<S: Standard>(self, standard: S) -> Self::Output;
}

/// Work with its law, to be compiled for a set of instructions.
struct Run<S, W>(S, W);

impl<S: Standard, W: Of> pulp::NullaryFnOnce for Run<S, W> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.1.call(self.0)
    }
}

/// Does work for a law, compiled for the widest registers.
pub(super) fn run<W: Of>(shape: Shape, work: W) -> W::Output {
    let kernel = Kernel::get();
    match shape {
        Shape::Normal => kernel.dispatch(Run(Normal, work)),
        Shape::Uniform => kernel.dispatch(Run(Uniform, work)),
        Shape::Student(freedom) => kernel.dispatch(Run(Student(&student(freedom)), work)),
        Shape::BestNormal(of) => kernel.dispatch(Run(Best(Normal, f64::from(of)), work)),
        Shape::BestUniform(of) => kernel.dispatch(Run(Best(Uniform, f64::from(of)), work)),
    }
}

impl Standard for Normal {
    #[inline(always)]
    fn tail(self, x: f64) -> (f64, bool, f64) {
        let z = x.abs().min(40.0);
        let bell = bell(z);
        let r = 1.0 / (z + 5.0);
        let y = (z - 5.0) * r;
        let mut g = 0.0;
        for place in (0..MILLS.len()).rev() {
            g = g * y + MILLS[place];
        }
        (bell * g * r, x < 0.0, bell * ROOT)
    }
}

impl Standard for Uniform {
    #[inline(always)]
    fn tail(self, x: f64) -> (f64, bool, f64) {
        let above = (1.0 + x).clamp(0.0, 1.0);
        let below = (-x).clamp(0.0, 1.0);
        let inside = (-1.0..=0.0).contains(&x);
        (above.min(below), above < below, if inside { 1.0 } else { 0.0 })
    }
}

impl Standard for Student<'_> {
    #[inline(always)]
    fn tail(self, x: f64) -> (f64, bool, f64) {
        let (z, density) = self.0.at(x);
        let (small, _, _) = Normal.tail(z);
        (small, x < 0.0, density)
    }
}

impl<S: Standard> Standard for Best<S> {
    /// All of them are below with probability F^M. libm's functions keep the digits of either tail.
    #[inline(always)]
    fn tail(self, x: f64) -> (f64, bool, f64) {
        let (small, low, density) = self.0.tail(x);
        let log = if low { libm::log1p(-small) } else { libm::log(small.max(f64::MIN_POSITIVE)) };
        let below = libm::exp(self.1 * log);
        let above = -libm::expm1(self.1 * log);
        (above.min(below), above < below, self.1 * libm::exp((self.1 - 1.0) * log) * density)
    }
}

/// 1 / sqrt(2 pi).
const ROOT: f64 = 0.398_942_280_401_432_7;

/// exp(-z^2 / 2) for 0 <= z <= 40. The square is taken in two parts, the first of them exact.
#[inline(always)]
fn bell(z: f64) -> f64 {
    const LOG2E: f64 = std::f64::consts::LOG2_E;
    /// Adding it rounds to a whole number, which is then in the last bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    /// ln 2 in two parts; the first ends in 21 zero bits.
    const LN2: [f64; 2] = [f64::from_bits(0x3FE6_2E42_FEE0_0000), 1.908_214_929_270_587_7e-10];
    let top = f64::from_bits(z.to_bits() & !((1 << 27) - 1));
    let (high, low) = (-0.5 * top * top, -0.5 * (z - top) * (z + top));
    let shifted = high * LOG2E + SHIFT;
    let n = shifted - SHIFT;
    let r = (high - n * LN2[0]) - n * LN2[1] + low;
    let mut e = 0.0;
    for place in (0..EXP.len()).rev() {
        e = e * r + EXP[place];
    }
    // In two steps, since 2^n may be below the smallest normal number.
    let half = 0.5 * n + SHIFT;
    let first = half.to_bits().wrapping_sub(SHIFT.to_bits());
    let second = shifted.to_bits().wrapping_sub(SHIFT.to_bits()).wrapping_sub(first);
    let power = |m: u64| f64::from_bits(m.wrapping_add(1023) << 52);
    e * power(first) * power(second)
}

/// 1 / n!.
const EXP: [f64; 14] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// exp(z^2 / 2) P(Z > z) (z + 5) by powers of (z - 5) / (z + 5).
const MILLS: [f64; 24] = [
    0.769_193_049_750_063,
    -0.665_382_502_890_057,
    0.495_305_615_969_980_5,
    -0.313_533_156_671_281_4,
    0.165_020_366_170_195_17,
    -0.069_118_638_707_071_62,
    0.020_795_066_803_234_04,
    -0.002_993_376_758_978_478,
    -0.000_797_869_427_747_529_7,
    0.000_544_898_968_373_562_9,
    -5.937_558_833_377_767e-5,
    -4.976_232_792_457_951_5e-5,
    1.668_085_271_992_539_4e-5,
    3.979_361_513_829_216e-6,
    -2.768_878_783_672_091_5e-6,
    -3.335_427_141_231_054e-7,
    4.334_766_428_513_756_7e-7,
    3.857_144_856_725_758_7e-8,
    -6.741_689_051_823_604e-8,
    -6.940_847_374_044_867e-9,
    9.275_082_241_537_343e-9,
    1.271_375_926_027_823_1e-9,
    -7.854_458_583_247_658e-10,
    -1.331_210_743_010_702e-10,
];

/// P(score > t) and the density of the standard draw at it, one arm at a time.
pub(super) fn above(shape: Shape, x: f64) -> (f64, f64) {
    let (small, low, density) = match shape {
        Shape::Normal => Normal.tail(x),
        Shape::Uniform => Uniform.tail(x),
        Shape::Student(freedom) => Student(&student(freedom)).tail(x),
        Shape::BestNormal(of) => Best(Normal, f64::from(of)).tail(x),
        Shape::BestUniform(of) => Best(Uniform, f64::from(of)).tail(x),
    };
    (if low { small } else { 1.0 - small }, density)
}

/// The x at which [`above`] gives this chance, between 0 and 1, for a law that has ends.
pub(super) fn place_with_ends(shape: Shape, chance: f64) -> f64 {
    match shape {
        Shape::BestUniform(of) => -libm::pow(1.0 - chance, 1.0 / f64::from(of)),
        _ => chance - 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against libm's complementary error function and exponential, out to where numbers end.
    #[test]
    fn the_normal_tail_is_accurate_relative_to_itself() {
        let mut worst: f64 = 0.0;
        for step in 0..=370_000 {
            let z = f64::from(step) / 10_000.0;
            let (tail, low, density) = Normal.tail(-z);
            // libm's argument is rounded, which costs z^2 / 2 times 2^-53 at most; ours is not.
            let expected = 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
            let allowed = 4e-15 + z * z * 4e-16;
            assert!(((tail - expected) / expected).abs() < allowed, "z = {z}: {tail:e}, not {expected:e}");
            assert_eq!(low, z > 0.0);
            let bell = libm::exp(-0.5 * z * z) * ROOT;
            worst = worst.max(((density - bell) / bell).abs() / (4e-15 + z * z * 2e-16));
        }
        assert!(worst < 1.0, "{worst}");
        // The derivative of the tail is the density: by the known continued fraction's first terms far out.
        let z: f64 = 30.0;
        let (tail, _, density) = Normal.tail(-z);
        let series = 1.0 - 1.0 / 900.0 + 3.0 / 810_000.0 - 15.0 / 7.29e8 + 105.0 / 6.561e11;
        assert!((tail * z / density - series).abs() < 1e-11);
        assert_eq!(Normal.tail(-50.0).0.to_bits(), Normal.tail(-40.0).0.to_bits());
    }

    /// Against statrs, another implementation, and against the closed form with two degrees of freedom far out.
    #[test]
    fn students_tail_is_that_of_another_implementation() {
        use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};
        for freedom in [1.0, 2.0, 3.7, 10.0, 100.0, 5_000.0] {
            let law = StudentsT::new(0.0, 1.0, freedom).expect("a law");
            let table = student(freedom);
            for step in -80..=80 {
                let t = f64::from(step) / 10.0;
                let (small, low, density) = Student(&table).tail(t);
                let above = if low { small } else { 1.0 - small };
                assert!((above - law.cdf(t)).abs() < 1e-10, "{freedom}, {t}: {above}, not {}", law.cdf(t));
                assert!((density - law.pdf(t)).abs() < 1e-10 * law.pdf(t), "{freedom}, {t}");
            }
        }
        let table = student(2.0);
        for t in [1.0_f64, 10.0, 1e3, 1e6] {
            let exact = 1.0 / (t * t + 2.0 + t * (t * t + 2.0).sqrt());
            let (small, _, _) = Student(&table).tail(-t);
            assert!((small / exact - 1.0).abs() < 1e-9, "{t}: {small:e}, not {exact:e}");
        }
    }
}
