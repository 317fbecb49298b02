//! A block of a model frozen for a round: theta_hat, and the inverse Cholesky factor W of V = lambda I + G = L L'.
//!
//! V^-1 is never formed. width = |x|_{V^-1} = |W x| with W = L^-1, which is half the work,
//! can never come out negative, and loses only the square root of the condition number. Every sum runs in
//! ascending order with fused multiply-adds, so [`Posterior::width`] gives the very bits of the scoring kernel.

use crate::{
    Draws, Error,
    error::{check, positive},
    kernel::{self, triangle},
    model::{Block, Estimate, Widths},
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
    /// What the rewards of all blocks show, where the policy asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimate: Option<Estimate>,
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
    #[serde(default)]
    estimate: Option<Estimate>,
}

impl TryFrom<Sent> for Posterior {
    type Error = Error;

    fn try_from(Sent { theta_hat, w, v, log_det, count, estimate }: Sent) -> Result<Self, Error> {
        let expected = triangle(theta_hat.len());
        if let Some(other) = [&w, &v].into_iter().find(|other| other.len() != expected) {
            let what = "numbers in the lower triangle of a posterior";
            return Err(Error::Dimension { what, expected, found: other.len() });
        }
        let numbers = theta_hat.iter().chain(&w).chain(&v).chain([&log_det]);
        if let Some(number) = numbers.into_iter().find(|number| !number.is_finite()) {
            return Err(Error::BadFormat(format!("a posterior has the number {number}")));
        }
        if let Some(Estimate { lambda, sigma, freedom, gamma }) = estimate {
            let fine = |number: f64| number.is_finite() && number > 0.0;
            if !fine(lambda) || !fine(sigma) || !freedom.is_none_or(fine) || !gamma.is_none_or(fine) {
                return Err(Error::BadFormat(format!("a posterior has the estimate {estimate:?}")));
            }
        }
        Ok(Self { theta_hat, w, v, log_det, count, estimate, widths: Found::default() })
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
        Ok(Self::of(theta.col_as_slice(0).to_vec(), v, &l, block.count))
    }

    /// From theta_hat, V and its factor L.
    fn of(theta_hat: Vec<f64>, v: Vec<f64>, l: &Mat<f64>, count: u64) -> Self {
        let d = theta_hat.len();
        let w = lower(&inverse(l));
        let log_det = 2.0 * (0..d).map(|i| libm::log(l[(i, i)])).sum::<f64>();
        Self { theta_hat, w, v, log_det, count, estimate: None, widths: Found::default() }
    }

    /// With what the rewards of all blocks show.
    pub(crate) fn with_estimate(self, estimate: Option<Estimate>) -> Self {
        Self { estimate, ..self }
    }

    /// What the rewards of all blocks show about lambda and the noise; none unless the policy asks for it.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// The posterior of the difference between this block's parameter and another's, which are independent: what an arm
    /// of this block brings beyond what it would bring in the other.
    ///
    /// # Formula
    /// ```text
    /// theta_hat = theta_hat_a - theta_hat_b,   V^-1 = V_a^-1 + V_b^-1
    /// ```
    /// # Errors
    /// [`Error::Dimension`] for a block of another dimension, [`Error::NotPositiveDefinite`] where rounding leaves no V.
    pub fn less(&self, other: &Self) -> Result<Self, Error> {
        let d = self.dim();
        if other.dim() != d {
            return Err(Error::Dimension { what: "elements of theta", expected: d, found: other.dim() });
        }
        // W' W is V^-1, for both.
        let sum = |i: usize, j: usize| {
            let products = |of: &Self| (i..d).map(|k| of.row(k)[i] * of.row(k)[j]).sum::<f64>();
            products(self) + products(other)
        };
        let failed = |pivot| Error::NotPositiveDefinite { block: 0, pivot };
        let m = inverse(&cholesky(d, sum).map_err(failed)?);
        let element = |i: usize, j: usize| (i..d).map(|k| m[(k, i)] * m[(k, j)]).sum::<f64>();
        let mut v: Vec<f64> = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect();
        // Factored from V as every posterior is, since what is known of its widths is proven for that.
        let l = factored(d, &mut v).map_err(failed)?;
        let theta_hat = self.theta_hat.iter().zip(&other.theta_hat).map(|(a, b)| a - b).collect();
        Ok(Self::of(theta_hat, v, &l, self.count).with_estimate(self.estimate))
    }

    /// The posterior of the parameter plus a shift that is known, such as a cost on a constant feature.
    ///
    /// # Errors
    /// [`Error::Dimension`] for a shift of another dimension, [`Error::Parameter`] for one that is not finite.
    pub fn plus(&self, shift: &[f64]) -> Result<Self, Error> {
        if shift.len() != self.dim() {
            return Err(Error::Dimension { what: "elements of a shift", expected: self.dim(), found: shift.len() });
        }
        shift.iter().try_for_each(|&shift| check("shift", shift, shift.is_finite(), "a finite number"))?;
        let mut shifted = self.clone();
        shifted.theta_hat.iter_mut().zip(shift).for_each(|(theta, shift)| *theta += shift);
        Ok(shifted)
    }

    /// The posterior of `factor` times the parameter: rewards in another unit.
    ///
    /// # Formula
    /// ```text
    /// theta_hat = factor theta_hat,   V = V / factor^2
    /// ```
    /// # Errors
    /// [`Error::Parameter`] unless the factor is above 0, [`Error::NotPositiveDefinite`] where rounding leaves no V.
    pub fn times(&self, factor: f64) -> Result<Self, Error> {
        positive("factor", factor)?;
        let mut v: Vec<f64> = self.v.iter().map(|v| v / (factor * factor)).collect();
        let failed = |pivot| Error::NotPositiveDefinite { block: 0, pivot };
        let l = factored(self.dim(), &mut v).map_err(failed)?;
        let theta_hat = self.theta_hat.iter().map(|theta| factor * theta).collect();
        Ok(Self::of(theta_hat, v, &l, self.count).with_estimate(self.estimate))
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

/// L^-1.
fn inverse(l: &Mat<f64>) -> Mat<f64> {
    let mut inverse = Mat::<f64>::zeros(l.nrows(), l.nrows());
    triangular_inverse::invert_lower_triangular(inverse.as_mut(), l.as_ref(), Par::Seq);
    inverse
}

/// The lower triangle row by row.
fn lower(of: &Mat<f64>) -> Vec<f64> {
    (0..of.nrows()).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|at| of[at]).collect()
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
