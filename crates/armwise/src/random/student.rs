//! Student's law, by the place of a normal number in its own law: t = F^-1(Phi(z)).
//!
//! So whatever shares a normal number shares a t, and the largest of several is the largest. From 10,000 degrees of
//! freedom on a series in 1 / freedom is exact to 1e-13. Below, a table of exact nodes is made once for a round and
//! interpolated. Not t is in the table but w = sqrt(freedom ln(1 + t^2 / freedom)), which is almost a straight line in
//! z, so that cubic pieces are exact to 1e-9 of t out to the ends of the tails. Everything is plain arithmetic and
//! libm: the same bits everywhere.

use super::normal::normal_of_tail;
use std::f64::consts::{PI, SQRT_2};

/// From here on the series.
const MANY: f64 = 1e4;
/// Nodes for each unit of z, and how far they reach: past the largest number that is drawn.
const DENSITY: f64 = 32.0;
const REACH: usize = 14 * 32;

/// The law with so many degrees of freedom, at least 1.
#[derive(Debug)]
pub(crate) struct Student {
    freedom: f64,
    /// w and its derivative at each node; empty where the series serves.
    nodes: Vec<(f64, f64)>,
}

impl Student {
    pub(crate) fn new(freedom: f64) -> Self {
        let freedom = freedom.max(1.0);
        if freedom >= MANY {
            return Self { freedom, nodes: Vec::new() };
        }
        // The density at 0, and that of the normal law in its units.
        let log_density =
            libm::lgamma(0.5 * (freedom + 1.0)) - libm::lgamma(0.5 * freedom) - 0.5 * libm::log(freedom * PI);
        let mut nodes = vec![(0.0, libm::exp(-0.5 * libm::log(2.0 * PI) - log_density))];
        for place in 1..=REACH {
            let z = place as f64 / DENSITY;
            let (before, slope) = nodes[place - 1];
            let wanted = log_tail_of_normal(z);
            let mut w = before + slope / DENSITY;
            let mut derivative = slope;
            // Newton on the logarithm of the tail; it is nearly quadratic in w, so a few steps are enough.
            for _ in 0..8 {
                let e = w * w / freedom;
                let t = (freedom * libm::expm1(e)).sqrt();
                let log_tail = log_tail(freedom, e, t);
                let log_f = log_density - 0.5 * (freedom + 1.0) * e;
                // dt / dw.
                let stretch = w / t * libm::exp(e);
                let step = (log_tail - wanted) / (libm::exp(log_f - log_tail) * stretch);
                derivative = libm::exp(-0.5 * z * z - 0.5 * libm::log(2.0 * PI) - log_f) / stretch;
                w += step;
                if step.abs() <= 1e-15 * w {
                    break;
                }
            }
            nodes.push((w, derivative));
        }
        Self { freedom, nodes }
    }

    /// t at the place of a normal number.
    pub(crate) fn at(&self, z: f64) -> f64 {
        if self.nodes.is_empty() {
            return series(z, self.freedom);
        }
        let x = z.abs() * DENSITY;
        #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
        let place = (x as usize).min(REACH - 1);
        let (s, h) = (x - place as f64, 1.0 / DENSITY);
        let ((w0, d0), (w1, d1)) = (self.nodes[place], self.nodes[place + 1]);
        let (d0, d1) = (d0 * h, d1 * h);
        let w = w0 + s * (d0 + s * ((3.0 * (w1 - w0) - 2.0 * d0 - d1) + s * (d0 + d1 - 2.0 * (w1 - w0))));
        let t = (self.freedom * libm::expm1(w * w / self.freedom)).sqrt();
        if z < 0.0 { -t } else { t }
    }
}

/// The tails of Student's law, many at a time: P(T > t) is that of a normal number at the same place, and the place is
/// almost a straight line in w = sqrt(freedom ln(1 + t^2 / freedom)), so that cubic pieces of a fine table give it to 1e-11.
#[derive(Debug)]
pub(crate) struct StudentTails {
    freedom: f64,
    log_density: f64,
    /// z and its derivative by w at each node.
    nodes: Vec<(f64, f64)>,
}

impl StudentTails {
    /// Nodes for each unit of w, and how far they reach: a tail of 1e-300.
    const DENSITY: f64 = 128.0;
    const REACH: usize = 37 * 128;

    pub(crate) fn new(freedom: f64) -> Self {
        let freedom = freedom.clamp(1.0, 1e9);
        let log_density =
            libm::lgamma(0.5 * (freedom + 1.0)) - libm::lgamma(0.5 * freedom) - 0.5 * libm::log(freedom * PI);
        let bell = |z: f64| -0.5 * z * z - 0.5 * libm::log(2.0 * PI);
        let mut nodes = vec![(0.0, libm::exp(log_density - bell(0.0)))];
        for place in 1..=Self::REACH {
            let w = place as f64 / Self::DENSITY;
            let e = w * w / freedom;
            let t = (freedom * libm::expm1(e)).sqrt();
            let z = normal_of_tail(libm::exp(log_tail(freedom, e, t)).max(1e-307));
            // f(t) dt / dw over the density of the normal law at z.
            let slope = libm::exp(log_density - 0.5 * (freedom + 1.0) * e - bell(z)) * (w / t * libm::exp(e));
            nodes.push((z, slope));
        }
        Self { freedom, log_density, nodes }
    }

    /// The place of |t| as a normal number, and the density.
    #[inline]
    pub(crate) fn at(&self, t: f64) -> (f64, f64) {
        let e = libm::log1p(t * t / self.freedom);
        let x = (self.freedom * e).sqrt() * Self::DENSITY;
        #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
        let place = (x as usize).min(Self::REACH - 1);
        let (s, h) = ((x - place as f64).min(1.0), 1.0 / Self::DENSITY);
        let ((z0, d0), (z1, d1)) = (self.nodes[place], self.nodes[place + 1]);
        let (d0, d1) = (d0 * h, d1 * h);
        let z = z0 + s * (d0 + s * ((3.0 * (z1 - z0) - 2.0 * d0 - d1) + s * (d0 + d1 - 2.0 * (z1 - z0))));
        (z, libm::exp(self.log_density - 0.5 * (self.freedom + 1.0) * e))
    }

    /// The t beyond which lies a probability below 1e-20.
    pub(crate) fn reach(&self) -> f64 {
        let w = self.nodes.partition_point(|node| node.0 < 9.4) as f64 / Self::DENSITY;
        (self.freedom * libm::expm1(w * w / self.freedom)).sqrt().min(1e150)
    }
}

/// Fisher's expansion of t in powers of 1 / freedom.
fn series(z: f64, freedom: f64) -> f64 {
    let (x, q) = (z * z, 1.0 / freedom);
    let first = (x + 1.0) / 4.0;
    let second = ((5.0 * x + 16.0) * x + 3.0) / 96.0;
    let third = (((3.0 * x + 19.0) * x + 17.0) * x - 15.0) / 384.0;
    let fourth = ((((79.0 * x + 776.0) * x + 1482.0) * x - 1920.0) * x - 945.0) / 92_160.0;
    z * (1.0 + q * (first + q * (second + q * (third + q * fourth))))
}

fn log_tail_of_normal(z: f64) -> f64 {
    libm::log(0.5 * libm::erfc(z / SQRT_2))
}

/// ln P(T > t) for t > 0, with e = ln(1 + t^2 / freedom): half of the incomplete beta function I_x(freedom / 2, 1 / 2)
/// at x = exp(-e), by its continued fraction on the side where that converges fast.
fn log_tail(freedom: f64, e: f64, t: f64) -> f64 {
    let (a, b) = (0.5 * freedom, 0.5);
    let (x, rest) = (libm::exp(-e), t * t / (freedom + t * t));
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) - a * e + b * libm::log(rest);
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front - libm::log(2.0 * a) - libm::log(fraction(a, b, x))
    } else {
        libm::log(0.5 - 0.5 * libm::exp(log_front) / (b * fraction(b, a, rest)))
    }
}

/// The continued fraction 1 + d1 / (1 + d2 / (1 + ...)) of the incomplete beta function, from the front (modified
/// Lentz).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let (mut value, mut c, mut d) = (1.0_f64, 1.0_f64, 0.0_f64);
    for m in 0..10_000 {
        let (k, half) = (f64::from(m / 2), m % 2 == 0);
        let term = if half {
            -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0))
        } else {
            let k = k + 1.0;
            k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k))
        };
        d = 1.0 / (1.0 + term * d);
        c = 1.0 + term / c;
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From printed tables, and by the closed forms of one and two degrees of freedom.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let z = 1.959_963_984_540_054; // 0.975
        for (freedom, expected) in [
            (1.0, 12.706_204_736_174_7),
            (2.0, 4.302_652_729_749_464),
            (5.0, 2.570_581_835_636_314),
            (30.0, 2.042_272_456_301_238),
            (100.0, 1.983_971_518_523_552),
            (1000.0, 1.962_339_080_826_409),
        ] {
            let (up, down) = (Student::new(freedom).at(z), Student::new(freedom).at(-z));
            assert!((up - expected).abs() < 1e-9 * expected, "{freedom}: {up}, not {expected}");
            assert!((up + down).abs() < 1e-300, "symmetric");
        }
    }

    #[test]
    fn one_and_two_degrees_of_freedom_have_closed_forms() {
        let (one, two) = (Student::new(1.0), Student::new(2.0));
        for step in 1..=930 {
            let z = f64::from(step) / 100.0 - 0.003;
            let tail = 0.5 * libm::erfc(z / SQRT_2);
            // P(T > t) = 1/2 - arctan(t) / pi, and (1 - t / sqrt(2 + t^2)) / 2.
            let cauchy = 1.0 / (PI * tail).tan();
            let second = (1.0 - 2.0 * tail) / (2.0 * tail * (1.0 - tail)).sqrt();
            for (found, expected) in [(one.at(z), cauchy), (two.at(z), second)] {
                assert!((found - expected).abs() <= 2e-9 * expected, "z = {z}: {found}, not {expected}");
            }
        }
    }

    /// Where the series begins, both methods agree, and the law is nearly normal.
    #[test]
    fn the_series_takes_over_without_a_step() {
        let table = Student::new(MANY - 1e-6);
        assert!(!table.nodes.is_empty());
        for step in 0..=1300 {
            let z = f64::from(step) / 100.0;
            let (found, expected) = (table.at(z), series(z, MANY));
            assert!((found - expected).abs() <= 1e-9 * expected.max(1e-9), "z = {z}: {found}, not {expected}");
        }
        assert!((Student::new(1e12).at(3.0) - 3.0).abs() < 1e-10);
    }

    /// ln P(T > t) at a node's t is what the node stands for, by the other side of the incomplete beta function.
    #[test]
    fn tails_are_exact_between_nodes() {
        for freedom in [1.0, 1.7, 3.0, 8.0, 40.0, 300.0, 5000.0] {
            let law = Student::new(freedom);
            for step in 1..=520 {
                let z = f64::from(step) / 40.0 - 0.011;
                let t = law.at(z);
                let e = libm::log1p(t * t / freedom);
                let (found, expected) = (log_tail(freedom, e, t), log_tail_of_normal(z));
                assert!((found - expected).abs() <= 2e-8, "{freedom}, z = {z}: {found}, not {expected}");
            }
        }
    }
}
