//! A block of a model frozen for a round: theta_hat, and the inverse Cholesky factor W of V = lambda I + G = L L'.
//!
//! V^-1 is never formed. width = |x|_{V^-1} = |W x| with W = L^-1, which is half the work,
//! can never come out negative, and loses only the square root of the condition number. Every sum runs in
//! ascending order with fused multiply-adds, so [`Posterior::width`] gives the very bits of the scoring kernel.

use crate::{
    Draws, Error,
    error::positive,
    kernel::{self, triangle},
    model::{Block, Widths},
};
use faer::{
    Mat, Par, Spec,
    dyn_stack::{MemBuffer, MemStack},
    linalg::{cholesky::llt::factor, triangular_inverse, triangular_solve},
};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The posterior N(theta_hat, v^2 V^-1) of a block.
///
/// # Formula
/// ```text
/// V = lambda I + G,   theta_hat = V^-1 b,   mean = theta_hat' x,   width = sqrt(x' V^-1 x)
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Sent")]
pub struct Posterior {
    theta_hat: Vec<f64>,
    /// W = L^-1, the lower triangle row by row.
    w: Vec<f64>,
    /// V, the lower triangle row by row.
    v: Vec<f64>,
    log_det: f64,
    count: u64,
    #[serde(skip)]
    widths: Found,
}

/// A posterior as it was read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    theta_hat: Vec<f64>,
    w: Vec<f64>,
    v: Vec<f64>,
    log_det: f64,
    count: u64,
}

impl TryFrom<Sent> for Posterior {
    type Error = Error;

    fn try_from(Sent { theta_hat, w, v, log_det, count }: Sent) -> Result<Self, Error> {
        let expected = triangle(theta_hat.len());
        if let Some(other) = [&w, &v].into_iter().find(|other| other.len() != expected) {
            let what = "numbers in the lower triangle of a posterior";
            return Err(Error::Dimension { what, expected, found: other.len() });
        }
        let numbers = theta_hat.iter().chain(&w).chain(&v).chain([&log_det]);
        if let Some(number) = numbers.into_iter().find(|number| !number.is_finite()) {
            return Err(Error::BadFormat(format!("a posterior has the number {number}")));
        }
        Ok(Self { theta_hat, w, v, log_det, count, widths: Found::default() })
    }
}

/// The range of widths, found when it is first asked for; it follows from the rest, so it is not compared.
#[derive(Debug, Clone, Default)]
struct Found(OnceLock<Widths>);

impl PartialEq for Found {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Posterior {
    /// Factors `ridge I + factor G`; `factor` is the forgetting since the sums were last touched.
    pub(crate) fn new(block: &Block, number: u32, ridge: f64, factor: f64) -> Result<Self, Error> {
        positive("lambda", ridge)?;
        let d = block.b.len();
        let element = |i, j| factor * block.g[triangle(i) + j] + if i == j { ridge } else { 0.0 };
        let mut v: Vec<f64> = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect();
        let failed = |pivot| Error::NotPositiveDefinite { block: number, pivot };
        let l = factored(d, &mut v).map_err(failed)?;

        let par = Par::Seq;
        let mut theta = Mat::from_fn(d, 1, |i, _| factor * block.b[i]);
        triangular_solve::solve_lower_triangular_in_place(l.as_ref(), theta.as_mut(), par);
        triangular_solve::solve_upper_triangular_in_place(l.transpose(), theta.as_mut(), par);

        let mut inverse = Mat::<f64>::zeros(d, d);
        triangular_inverse::invert_lower_triangular(inverse.as_mut(), l.as_ref(), par);
        let w = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|at| inverse[at]).collect();
        let log_det = 2.0 * (0..d).map(|i| libm::log(l[(i, i)])).sum::<f64>();
        Ok(Self {
            theta_hat: theta.col_as_slice(0).to_vec(),
            w,
            v,
            log_det,
            count: block.count,
            widths: Found::default(),
        })
    }

    /// The dimension d.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.theta_hat.len()
    }

    /// How many observations it is made from.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The estimate theta_hat = V^-1 b.
    #[must_use]
    pub fn theta_hat(&self) -> &[f64] {
        &self.theta_hat
    }

    /// The factor W = L^-1 with V^-1 = W' W: the lower triangle row by row.
    #[must_use]
    pub fn factor(&self) -> &[f64] {
        &self.w
    }

    /// V = lambda I + G: the lower triangle row by row. Where G is so much larger than lambda that V cannot be factored
    /// in f64, a little more is added to the diagonal, at most 1e-6 of the trace.
    #[must_use]
    pub fn v(&self) -> &[f64] {
        &self.v
    }

    /// log det V.
    #[must_use]
    pub fn log_det(&self) -> f64 {
        self.log_det
    }

    /// What is known of the widths of all arms.
    pub(crate) fn widths(&self) -> &Widths {
        self.widths.0.get_or_init(|| Widths::new(self))
    }

    /// The estimated reward theta_hat' x.
    ///
    /// # Panics
    /// If x does not have `dim` elements.
    #[must_use]
    pub fn mean(&self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.dim(), "features of an arm");
        kernel::dot(&self.theta_hat, x)
    }

    /// How uncertain it is: |x|_{V^-1} = |W x|.
    ///
    /// # Panics
    /// If x does not have `dim` elements.
    #[must_use]
    pub fn width(&self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.dim(), "features of an arm");
        kernel::square(&self.w, x).sqrt()
    }

    /// A draw from N(theta_hat, v^2 V^-1): theta_hat + v W' z, with coordinate j of z the normal of id j.
    #[must_use]
    pub fn sample(&self, v: f64, draws: &Draws) -> Vec<f64> {
        let mut theta = vec![0.0; self.dim()];
        for i in 0..self.dim() {
            let z = draws.normal(i as u64);
            theta.iter_mut().zip(self.row(i)).for_each(|(sum, w)| *sum += w * z);
        }
        theta.iter_mut().zip(&self.theta_hat).for_each(|(sum, theta_hat)| *sum = theta_hat + v * *sum);
        theta
    }

    /// The standard error of each coordinate of theta_hat for noise of standard deviation `noise`:
    /// noise * sqrt((V^-1)_jj).
    #[must_use]
    pub fn standard_errors(&self, noise: f64) -> Vec<f64> {
        let mut squares = vec![0.0; self.dim()];
        for i in 0..self.dim() {
            squares.iter_mut().zip(self.row(i)).for_each(|(sum, w)| *sum += w * w);
        }
        squares.into_iter().map(|square: f64| noise * square.sqrt()).collect()
    }

    /// Row i of W.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.w[triangle(i)..triangle(i + 1)]
    }
}

/// What is added to the diagonal of a V that cannot be factored, as a share of its trace; the smallest that helps. G is
/// positive semi-definite up to the rounding of its sums, so where lambda is lost in the rounding of a far larger G,
/// one of these does help, and it changes V by no more than the rounding of the sums and of the factor has already.
const LIFTS: [f64; 5] = [1e-14, 1e-12, 1e-10, 1e-8, 1e-6];

/// L with L L' = V, where V may be lifted by one of [`LIFTS`]. The error is the first pivot that is not positive.
fn factored(d: usize, v: &mut [f64]) -> Result<Mat<f64>, usize> {
    let mut found = cholesky(d, |i, j| v[triangle(i) + j]);
    if found.is_err() {
        let diagonal: Vec<f64> = (0..d).map(|i| v[triangle(i) + i]).collect();
        let trace: f64 = diagonal.iter().sum();
        for lift in LIFTS {
            (0..d).for_each(|i| v[triangle(i) + i] = diagonal[i] + lift * trace);
            found = cholesky(d, |i, j| v[triangle(i) + j]);
            if found.is_ok() {
                break;
            }
        }
    }
    found
}

/// L with L L' = A, from the lower triangle of A. The error is the index of the first pivot that is not positive.
pub(crate) fn cholesky(d: usize, a: impl Fn(usize, usize) -> f64) -> Result<Mat<f64>, usize> {
    let mut l = Mat::<f64>::zeros(d, d);
    for i in 0..d {
        for j in 0..=i {
            l[(i, j)] = a(i, j);
        }
    }
    let params = Spec::default();
    // One thread: the order of sums, and so the bits, must not depend on how many there are.
    let par = Par::Seq;
    let mut memory = MemBuffer::new(factor::cholesky_in_place_scratch::<f64>(d, par, params));
    let stack = MemStack::new(&mut memory);
    factor::cholesky_in_place(l.as_mut(), factor::LltRegularization::default(), par, stack, params)
        .map_err(|factor::LltError::NonPositivePivot { index }| index)?;
    // A pivot that overflowed or is not a number passes above.
    (0..d).find(|&i| !l[(i, i)].is_normal()).map_or(Ok(l), Err)
}
