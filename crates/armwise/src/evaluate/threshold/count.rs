//! The law of a count: how many of the arms score above t, and how many of the others do.
//!
//! The count is a sum of independent events of probabilities q_j. Its law comes from the characteristic function,
//! the product of 1 + q_j (e^{iu} - 1): for small q_j (and small 1 - q_j) the logarithm is a power series, so that
//! all of them together need the sums of powers only; the others are multiplied one by one. Where the variance is large,
//! only frequencies near 0 matter.
//!
//! Leaving one arm out divides by its factor. With w = q / (1 - q) the chance that at most k - 1 of the *others* are
//! above is the sum of (-w)^j C_{k-1-j} / (1 - q) over j >= 0, C the distribution function of the count of all: a
//! smooth function of q for q <= 1/2, kept as a polynomial. For q > 1/2 the same is done from above.

#![allow(clippy::needless_range_loop, reason = "loops over several arrays at once")]

use super::sums::{POWERS, Powers};
use std::f64::consts::PI;
use std::sync::OnceLock;

/// Characteristic functions below this are nothing: -ln of it.
const NOTHING: f64 = 40.0;

/// The count's law in a window around k: `at(j)` is the probability of k + j.
pub(super) struct Count {
    half: usize,
    law: Vec<f64>,
}

/// The roots of unity of an odd order.
pub(super) struct Roots {
    half: usize,
    cosines: Vec<f64>,
    sines: Vec<f64>,
}

impl Roots {
    /// For windows that reach this far to either side.
    pub(super) fn new(half: usize) -> Self {
        let length = 2 * half + 1;
        let angle = |j: usize| 2.0 * PI * j as f64 / length as f64;
        Self {
            half,
            cosines: (0..length).map(|j| libm::cos(angle(j))).collect(),
            sines: (0..length).map(|j| libm::sin(angle(j))).collect(),
        }
    }
}

/// How far e^{iu} - 1 reaches for the frequencies that matter at this variance.
pub(super) fn reach(variance: f64) -> f64 {
    (2.0 * NOTHING / variance.max(1e-300)).sqrt().min(2.0)
}

impl Powers {
    /// The variance of the count.
    pub(super) fn variance(&self) -> f64 {
        let of = |sums: &[f64; POWERS]| sums[0] - sums[1];
        self.others.iter().fold(of(&self.above) + of(&self.below), |sum, q| sum + q * (1.0 - q))
    }
}

impl Count {
    /// The law of the count less k, where `shift` is how many arms are above for certain, less k.
    pub(super) fn new(powers: &Powers, shift: isize, roots: &Roots) -> Self {
        let (half, length) = (roots.half, 2 * roots.half + 1);
        // |phi(u)| <= exp(-variance (1 - cos u)).
        let least = NOTHING / powers.variance().max(1e-300);
        let frequencies = (1..=half).take_while(|&l| 1.0 - roots.cosines[l] <= least).count();
        let z: Vec<[f64; 2]> = (0..=frequencies).map(|l| [roots.cosines[l] - 1.0, roots.sines[l]]).collect();
        let (mut re, mut im) = (vec![1.0; frequencies + 1], vec![0.0; frequencies + 1]);
        for &q in &powers.others {
            for l in 0..=frequencies {
                let (a, b) = (1.0 + q * z[l][0], q * z[l][1]);
                (re[l], im[l]) = (re[l] * a - im[l] * b, re[l] * b + im[l] * a);
            }
        }
        let turned = (shift + powers.nearly_all.cast_signed()).rem_euclid(length.cast_signed()).unsigned_abs();
        for l in 0..=frequencies {
            let (log_re, log_im) = series(z[l], &powers.above, &powers.below);
            let (size, at) = (libm::exp(log_re), turned * l % length);
            let (c, s) = (libm::cos(log_im), libm::sin(log_im));
            let (c, s) = (c * roots.cosines[at] - s * roots.sines[at], c * roots.sines[at] + s * roots.cosines[at]);
            (re[l], im[l]) = (size * (re[l] * c - im[l] * s), size * (re[l] * s + im[l] * c));
        }
        let law = (0..length).map(|place| {
            let j = (place + length - half) % length;
            let mut sum = 0.5 * re[0];
            let mut at = 0;
            for l in 1..=frequencies {
                at += j;
                at -= if at >= length { length } else { 0 };
                sum += re[l] * roots.cosines[at] + im[l] * roots.sines[at];
            }
            2.0 * sum / length as f64
        });
        Self { half, law: law.collect() }
    }

    /// P(count <= k - 1 - j) for j = 0, 1, ..., to the end of the window.
    pub(super) fn at_most(&self) -> Vec<f64> {
        let mut sums = Vec::with_capacity(self.half);
        let mut sum = 0.0;
        for probability in &self.law[..self.half] {
            sum += probability;
            sums.push(sum);
        }
        sums.reverse();
        sums
    }

    /// P(count >= k + 1 + j) for j = 0, 1, ..., to the end of the window.
    fn at_least(&self) -> Vec<f64> {
        let mut sums = Vec::with_capacity(self.half);
        let mut sum = 0.0;
        for probability in self.law[self.half + 1..].iter().rev() {
            sum += probability;
            sums.push(sum);
        }
        sums.reverse();
        sums
    }

    /// The chance that at most k - 1 of the others are above, as a polynomial in 4 q - 1 for q <= 1/2; and 1 less it, in
    /// 4 (1 - q) - 1 for q >= 1/2.
    pub(super) fn without_one(&self) -> [Vec<f64>; 2] {
        [polynomial(&self.at_most()), polynomial(&self.at_least())]
    }
}

/// The logarithm of the product of 1 + q z over small q, and of 1 + p z' (z' conjugate to z) over small p, from their
/// sums of powers.
fn series(z: [f64; 2], above: &[f64; POWERS], below: &[f64; POWERS]) -> (f64, f64) {
    let (mut log, mut power) = ([0.0; 2], [1.0, 0.0]);
    for place in 0..POWERS {
        power = [power[0] * z[0] - power[1] * z[1], power[0] * z[1] + power[1] * z[0]];
        let sign = if place % 2 == 0 { 1.0 } else { -1.0 } / (place + 1) as f64;
        log[0] += sign * power[0] * (above[place] + below[place]);
        log[1] += sign * power[1] * (above[place] - below[place]);
    }
    (log[0], log[1])
}

/// Points at which the function of q is taken.
const POINTS: usize = 32;

/// The points, and what makes a Chebyshev series of values there.
struct Fit {
    q: [f64; POINTS],
    /// Of each term, the share of each value.
    shares: [[f64; POINTS]; POINTS],
}

fn fit() -> &'static Fit {
    static FIT: OnceLock<Fit> = OnceLock::new();
    FIT.get_or_init(|| {
        let angle = |point: usize| PI * (point as f64 + 0.5) / POINTS as f64;
        let share = |m: usize, point: usize| {
            libm::cos(m as f64 * angle(point)) * if m == 0 { 1.0 } else { 2.0 } / POINTS as f64
        };
        Fit {
            q: std::array::from_fn(|point| 0.25 * (1.0 + libm::cos(angle(point)))),
            shares: std::array::from_fn(|m| std::array::from_fn(|point| share(m, point))),
        }
    })
}

/// The sum of (-w)^j c_j / (1 - q), w = q / (1 - q), as a polynomial in x = 4 q - 1 for 0 <= q <= 1/2: by its Chebyshev
/// series, as long as its terms matter.
fn polynomial(c: &[f64]) -> Vec<f64> {
    let Fit { q, shares } = fit();
    let used = c.iter().rposition(|c| c.abs() > 1e-18).map_or(0, |last| last + 1);
    let (mut sums, mut w) = ([0.0; POINTS], [0.0; POINTS]);
    w.iter_mut().zip(q).for_each(|(w, q)| *w = q / (1.0 - q));
    for c in c[..used].iter().rev() {
        for point in 0..POINTS {
            sums[point] = c - w[point] * sums[point];
        }
    }
    let mut series = vec![0.0; POINTS];
    for point in 0..POINTS {
        sums[point] /= 1.0 - q[point];
    }
    for (term, shares) in series.iter_mut().zip(shares) {
        *term = sums.iter().zip(shares).fold(0.0, |sum, (value, share)| sum + value * share);
    }
    let last = series.iter().rposition(|a| a.abs() > 1e-15).unwrap_or(0);
    series.truncate(last + 1);
    rounded(powers_of(&series), 1e15)
}

/// To so many parts of one, which is as good as they are and short to write.
pub(super) fn rounded(mut powers: Vec<f64>, parts: f64) -> Vec<f64> {
    powers.iter_mut().for_each(|c| *c = libm::round(*c * parts) / parts);
    powers.truncate(powers.iter().rposition(|c| c.abs() > 0.0).map_or(1, |last| last + 1));
    powers
}

/// A polynomial in as few powers as leave no more than an error of `off` in [-1, 1].
pub(super) fn economised(powers: &[f64], off: f64) -> Vec<f64> {
    let mut series = vec![0.0; powers.len()];
    // x^n by Chebyshev's polynomials, from x T_m = (T_{m-1} + T_{m+1}) / 2.
    let mut power = vec![0.0; powers.len() + 1];
    power[0] = 1.0;
    for c in powers {
        series.iter_mut().zip(&power).for_each(|(to, of)| *to += c * of);
        let mut next = vec![0.0; power.len()];
        for m in 0..power.len() - 1 {
            let share = if m == 0 { power[0] } else { 0.5 * power[m] };
            next[m + 1] += share;
            if m > 0 {
                next[m - 1] += share;
            }
        }
        power = next;
    }
    let mut left = 0.0;
    let last = series.iter().rposition(|a| {
        left += a.abs();
        left > off
    });
    series.truncate(last.map_or(1, |last| last + 1));
    powers_of(&series)
}

/// A Chebyshev series as a polynomial.
fn powers_of(series: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; series.len()];
    let (mut before, mut now) = (vec![0.0; series.len()], vec![0.0; series.len()]);
    before[0] = 1.0;
    if series.len() > 1 {
        now[1] = 1.0;
    }
    for (m, a) in series.iter().enumerate() {
        let of = if m == 0 { &before } else { &now };
        sums.iter_mut().zip(of).for_each(|(sum, of)| *sum += a * of);
        if m > 0 && m + 1 < series.len() {
            let mut next: Vec<f64> = before.iter().map(|before| -before).collect();
            (1..next.len()).for_each(|place| next[place] += 2.0 * now[place - 1]);
            (before, now) = (now, next);
        }
    }
    sums
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "small numbers")]
mod tests {
    use super::*;

    /// By convolution, one arm after the other.
    fn convolved(q: &[f64]) -> Vec<f64> {
        let mut law = vec![1.0];
        for q in q {
            let mut next = vec![0.0; law.len() + 1];
            for (n, p) in law.iter().enumerate() {
                next[n] += p * (1.0 - q);
                next[n + 1] += p * q;
            }
            law = next;
        }
        law
    }

    fn powers(q: &[f64], small: f64) -> Powers {
        let mut powers = Powers { above: [0.0; POWERS], below: [0.0; POWERS], nearly_all: 0, others: Vec::new() };
        for &q in q {
            let (sums, base) = if q <= small {
                (&mut powers.above, q)
            } else if 1.0 - q <= small {
                powers.nearly_all += 1;
                (&mut powers.below, 1.0 - q)
            } else {
                powers.others.push(q);
                continue;
            };
            (0..POWERS as i32).for_each(|power| sums[power as usize] += base.powi(power + 1));
        }
        powers
    }

    #[test]
    fn the_law_of_a_count_and_of_the_others_is_that_of_convolution() {
        let draws = crate::Round::new(3, 1).draws(0, crate::Stream(400));
        for case in 0..60_u64 {
            let n = [2, 3, 5, 9, 40, 400][case as usize % 6];
            let u = |i: u64| draws.uniform(1_000 * case + i);
            let q: Vec<f64> = (0..n).map(|i| if case % 2 == 0 { u(i) } else { libm::pow(u(i), 6.0) }).collect();
            let law = convolved(&q);
            let mean: f64 = q.iter().sum();
            let k = (mean + 3.0 * (u(900) - 0.5)).round().clamp(1.0, n as f64 - 1.0) as usize;
            let count = Count::new(&powers(&q, 0.04), -k.cast_signed(), &Roots::new(n as usize + 2));
            for (n, p) in law.iter().enumerate() {
                let found = count.law[count.half + n - k];
                assert!((found - p).abs() < 1e-13, "case {case}: P({n}) is {found}, not {p}");
            }
            let [low, high] = count.without_one();
            for (i, &q_i) in q.iter().enumerate() {
                let others: Vec<f64> = q.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, q)| *q).collect();
                let expected: f64 = convolved(&others)[..k].iter().sum();
                let horner = |of: &[f64], q: f64| of.iter().rev().fold(0.0, |sum, c| sum * (4.0 * q - 1.0) + c);
                let found = if q_i <= 0.5 { horner(&low, q_i) } else { 1.0 - horner(&high, 1.0 - q_i) };
                assert!(
                    (found - expected).abs() < 1e-13,
                    "case {case}: without {i}, q = {q_i}: {found}, not {expected}"
                );
            }
        }
    }
}
