//! The range of all widths: bounds of width / |x| from the extreme eigenvalues of V.
//!
//! The bounds are proven, whatever the estimate they start from. If A + delta I has a Cholesky factor in floating
//! point, then A >= -rho I with rho = 2 delta for delta = 4 (d + 2) 2^-53 (the sum of the traces that A is made of), by
//! the backward error of Cholesky. With A = V - c I this says V >= (c - rho) I, so that width <= |x| / sqrt(c - rho);
//! with A = c I - V it says V <= (c + rho) I and width >= |x| / sqrt(c + rho). A few steps of power iteration tell
//! which c to try.
//!
//! *Computed widths* differ from exact ones by the rounding of the factor, relatively at most
//! 4 (d + 2) 2^-53 tr V |W|_F^2 (the backward errors of Cholesky and of the triangular inverse), and by that of the
//! product, at most (2d + 8) 2^-53 |W|_F |x|, where |x| <= |L|_F width and |L|_F^2 = tr V. Both together are below
//! eta = 16 (d + 2) 2^-53 tr V |W|_F^2 relatively.

use crate::{Posterior, kernel::triangle, model::cholesky};

pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;
/// How far beyond the estimate a bound is tried, the tightest first.
const BEYOND: [f64; 4] = [1.02, 1.08, 1.25, 1.75];
/// Steps of power iteration.
const STEPS: usize = 10;

/// What is known of the widths of all arms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Widths {
    /// tr V.
    pub(crate) trace: f64,
    /// |W|_F^2 = tr V^-1.
    pub(crate) inverse_trace: f64,
    /// The relative error of a computed width; the bounds mean nothing where it is not small.
    pub(crate) eta: f64,
    /// A computed width is at least this multiple of the norm,
    pub(crate) least: f64,
    /// and at most this one.
    pub(crate) most: f64,
}

impl Widths {
    pub(crate) fn new(posterior: &Posterior) -> Self {
        let (d, v, w) = (posterior.dim(), posterior.v(), posterior.factor());
        let trace: f64 = (0..d).map(|i| v[triangle(i + 1) - 1]).sum();
        let inverse_trace = w.iter().map(|w| w * w).sum::<f64>() * (1.0 + 1e-6);
        // Beyond this, squares may leave the range of f64.
        let fine = trace < 1e200 && inverse_trace < 1e200;
        let eta = if fine { 16.0 * (d as f64 + 2.0) * UNIT * trace * inverse_trace } else { f64::INFINITY };
        // These hold even if no proof below succeeds: a trace bounds the largest eigenvalue.
        let (mut most, mut least) = (inverse_trace, 1.0 / trace);
        let rho = |c: f64| 8.0 * (d as f64 + 2.0) * UNIT * (trace + c * d as f64);
        let holds = |c: f64, sign: f64| {
            let shift = 0.5 * rho(c) - sign * c;
            cholesky(d, |i, j| sign * v[triangle(i) + j] + if i == j { shift } else { 0.0 }).is_ok()
        };
        let smallest = 1.0 / largest(d, |x, y| precision(w, x, y));
        if let Some(c) = BEYOND.map(|beyond| smallest / beyond).into_iter().find(|&c| c.is_normal() && holds(c, 1.0))
            && c > 2.0 * rho(c)
        {
            most = most.min(1.0 / (c - rho(c)));
        }
        let estimate = largest(d, |x, y| symmetric(v, x, y));
        if let Some(c) = BEYOND.map(|beyond| estimate * beyond).into_iter().find(|&c| c.is_normal() && holds(c, -1.0)) {
            least = least.max(1.0 / (c + rho(c)));
        }
        let (least, most) = (least.sqrt() * (1.0 - eta - 1e-6), most.sqrt() * (1.0 + 2.0 * eta + 1e-6));
        Self { trace, inverse_trace, eta, least: least.max(0.0), most }
    }
}

/// The largest c with V >= c `earlier`, or somewhat more: one over the largest eigenvalue of W `earlier` W'.
pub(crate) fn growth(posterior: &Posterior, earlier: &[f64]) -> f64 {
    let (d, w) = (posterior.dim(), posterior.factor());
    let mut room = [vec![0.0; d], vec![0.0; d]];
    let times = |x: &[f64], y: &mut [f64]| {
        let [turned, image] = &mut room;
        turned.fill(0.0);
        image.fill(0.0);
        (0..d).for_each(|i| add(&w[triangle(i)..triangle(i + 1)], x[i], turned));
        symmetric(earlier, turned, image);
        (0..d).for_each(|i| y[i] = sum_of_products(&w[triangle(i)..triangle(i + 1)], image));
    };
    1.0 / largest(d, times)
}

/// The largest eigenvalue of a symmetric matrix, or somewhat less.
fn largest(d: usize, mut times: impl FnMut(&[f64], &mut [f64])) -> f64 {
    // An irregular start, so that no ordinary matrix has an eigenvector orthogonal to it.
    let mut x: Vec<f64> = (0..d).map(|i| 0.5 + (i as f64 * 0.618_033_988_75).fract()).collect();
    let mut y = vec![0.0; d];
    let mut found = 0.0;
    for _ in 0..STEPS {
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x /= norm);
        y.fill(0.0);
        times(&x, &mut y);
        found = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        std::mem::swap(&mut x, &mut y);
    }
    found
}

/// y += A x for a symmetric A, given as its lower triangle.
fn symmetric(a: &[f64], x: &[f64], y: &mut [f64]) {
    for i in 0..x.len() {
        let row = &a[triangle(i)..triangle(i + 1) - 1];
        y[i] += sum_of_products(row, x) + a[triangle(i + 1) - 1] * x[i];
        add(row, x[i], y);
    }
}

/// y += W' W x.
fn precision(w: &[f64], x: &[f64], y: &mut [f64]) {
    for i in 0..x.len() {
        let row = &w[triangle(i)..triangle(i + 1)];
        add(row, sum_of_products(row, x), y);
    }
}

fn add(row: &[f64], factor: f64, to: &mut [f64]) {
    to.iter_mut().zip(row).for_each(|(to, a)| *to += factor * a);
}

/// Sums in no particular order, so that the compiler can use vector instructions.
fn sum_of_products(row: &[f64], x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let ((row, row_rest), (x, x_rest)) = (row.as_chunks::<8>(), x[..row.len()].as_chunks::<8>());
    for (row, x) in row.iter().zip(x) {
        for lane in 0..8 {
            sums[lane] += row[lane] * x[lane];
        }
    }
    sums.iter().sum::<f64>() + row_rest.iter().zip(x_rest).map(|(a, x)| a * x).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, Observation, Round, Stream};

    /// Where computed widths are 0, the lower bound must be 0 too.
    #[test]
    fn numbers_beyond_the_range_of_squares_have_no_range() {
        for ridge in [1e300, 1e-300] {
            let posterior = Model::new(16, 1).and_then(|model| model.posterior(0, ridge)).expect("factors");
            assert!(Widths::new(&posterior).eta.is_infinite(), "{ridge:e}");
        }
    }

    /// Against widths of many arms: none is outside, and on ordinary features the bounds are within a tenth of what the
    /// eigenvalues allow.
    #[test]
    fn widths_are_within_their_range() {
        for (d, decay, rows) in
            [(1, 1.0, 5), (3, 1.0, 40), (20, 1.0, 400), (20, 0.5, 400), (64, 0.9, 30), (64, 1.0, 900)]
        {
            let draws = Round::new(3, 1).draws(0, Stream(300));
            let feature = |id: u64| draws.normal(id) * f64::powi(decay, (id % d as u64) as i32);
            let mut model = Model::new(d, 1).expect("shape");
            for row in 0..rows {
                let x: Vec<f64> = (0..d as u64).map(|column| feature(row * d as u64 + column)).collect();
                model.observe(&Observation { t: 1, block: 0, x: &x, reward: 0.0 }).expect("finite");
            }
            let posterior = model.posterior(0, 0.5).expect("factors");
            let range = Widths::new(&posterior);
            let ratio = |x: &[f64]| posterior.width(x) / x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let within = |x: &[f64]| (range.least..=range.most).contains(&ratio(x));
            for row in 0..500 {
                let x: Vec<f64> = (0..d as u64).map(|column| draws.normal(1 << 40 | row << 8 | column)).collect();
                assert!(within(&x), "{} of {range:?} for d = {d}", ratio(&x));
            }
            // Power iteration with many steps finds the extremes themselves.
            let extreme = |times: &dyn Fn(&[f64], &mut [f64])| {
                let mut x = vec![1.0; d];
                x[0] = 1.5;
                for _ in 0..3_000 {
                    let mut y = vec![0.0; d];
                    times(&x, &mut y);
                    let norm = y.iter().map(|y| y * y).sum::<f64>().sqrt();
                    x = y.into_iter().map(|y| y / norm).collect();
                }
                x
            };
            let narrow = extreme(&|x, y| symmetric(posterior.v(), x, y));
            let wide = extreme(&|x, y| precision(posterior.factor(), x, y));
            assert!(within(&narrow) && within(&wide), "{} and {} of {range:?}", ratio(&narrow), ratio(&wide));
            assert!(
                range.least > 0.87 * ratio(&narrow) && range.most < 1.15 * ratio(&wide),
                "{range:?} is loose, d = {d}"
            );
        }
    }
}
