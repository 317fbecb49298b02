//! Evidence: how probable the rewards are for a lambda, and the noise that they show, from the sums alone.
//!
//! The model is Bayesian linear regression with unknown noise (normal-inverse-gamma): theta of each block ~ N(0,
//! sigma^2 / lambda I), one sigma^2 for all blocks. With the eigenvalues of each G it costs O(d) for a lambda.
//! Everything is a pure function of the sums, by plain arithmetic and libm, so replays, replicas and other machines
//! choose the same lambda to the bit.

use super::{Block, Model, spectrum::spectrum};
use crate::{Error, kernel::triangle, tasks};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// What lambda is chosen from, as multiples of the mean of |x|^2: 10^-3, 10^-2.75, ..., 10. Weak evidence would send
/// lambda to infinity, where a choice stays random, hence the last.
const GRID: [f64; 17] = [
    0.001,
    0.001_778_279_410_038_922_8,
    0.003_162_277_660_168_379_5,
    0.005_623_413_251_903_491,
    0.01,
    0.017_782_794_100_389_23,
    0.031_622_776_601_683_79,
    0.056_234_132_519_034_91,
    0.1,
    0.177_827_941_003_892_27,
    0.316_227_766_016_837_94,
    0.562_341_325_190_349_1,
    1.0,
    1.778_279_410_038_922_8,
    3.162_277_660_168_379_5,
    5.623_413_251_903_491,
    10.0,
];

/// a0 of the prior of 1 / sigma^2; b0 is half of the mean of r^2, so that nothing depends on the unit of rewards.
const A0: f64 = 0.5;

/// What the rewards show: the ridge with the largest evidence, or the given one, and the noise under it.
///
/// # Formula
/// ```text
/// a_n = 1/2 + n / 2,   b_n = mean of r^2 / 2 + (sum r^2 - sum over blocks of b' V^-1 b) / 2
/// sigma^2 = b_n / a_n,   freedom = 2 a_n
/// theta' x ~ theta_hat' x + sigma width t,   t of Student's law with so many degrees of freedom
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// lambda; 1 before the first reward other than 0, unless it is given.
    pub lambda: f64,
    /// sigma; 1 before the first reward other than 0.
    pub sigma: f64,
    /// The degrees of freedom; none before the first reward other than 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freedom: Option<f64>,
    /// The forgetting factor that was chosen; none where it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
}

/// The rewards of a model, ready to be asked how probable they are for a lambda.
///
/// # Formula
/// With G = Q diag(g) Q' and c = Q' b of each block, a_n and b_n as for [`Estimate`]:
/// ```text
/// log p(rewards | lambda) = 1/2 sum of ln(lambda / (lambda + g)) - a_n ln b_n + a_0 ln b_0 + ln Gamma(a_n) / Gamma(a_0) - n/2 ln(2 pi)
/// ```
/// # Reference
/// Bishop, *Pattern Recognition and Machine Learning* (2006), 3.5; for the unknown noise, O'Hagan and Forster,
/// *Bayesian Inference* (2004), 11.
///
/// # Example
/// ```
/// use armwise::{Model, Observation};
/// let mut model = Model::new(1, 1)?;
/// for (t, reward) in [(1, 1.1), (2, 0.9), (3, 1.0)] {
///     model.observe(&Observation { t, block: 0, x: &[1.0], reward })?;
/// }
/// let evidence = model.evidence()?.expect("there are rewards");
/// assert!(evidence.log(0.1) > evidence.log(10.0), "theta = 1 is far from 0");
/// assert!(evidence.estimate(0.1).sigma < 1.0);
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evidence {
    /// (g, c^2) of every direction in which something was observed, with features and rewards of mean square 1.
    directions: Vec<(f64, f64)>,
    n: f64,
    /// sum r^2 in units of the mean square.
    squares: f64,
    scale: Scale,
}

/// The units in which features and rewards have a mean square of 1.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// The mean of |x|^2.
    x: f64,
    /// The mean of r^2.
    r: f64,
}

impl Model {
    /// How probable the rewards are for each lambda; none before the first reward other than 0.
    ///
    /// With a forgetting factor, rewards count by their weights, and n is the sum of weights that as many rewards in
    /// every round would have.
    ///
    /// # Errors
    /// [`Error::NoSquares`] if rewards were learned by a version that did not keep their squares.
    pub fn evidence(&self) -> Result<Option<Evidence>, Error> {
        self.evidence_at(0)
    }

    /// The evidence after so many rounds of forgetting.
    pub(crate) fn evidence_at(&self, idle: u64) -> Result<Option<Evidence>, Error> {
        let factor = self.discount(idle);
        Ok(self.scale(factor)?.map(|(scale, n)| self.evidence_in(scale, n, factor)))
    }

    /// The log Bayes factor of two spans of rounds: by how much they speak for two thetas rather than for one. Above 0
    /// they disagree. None where one of them has nothing to say yet.
    ///
    /// # Formula
    /// ```text
    /// log p(both | a theta each) - log p(both | one theta)
    /// ```
    /// each with one noise, and for the lambda that suits both together. (With a noise for each span, a span of few
    /// rare rewards would look like another world.)
    ///
    /// # Errors
    /// [`Error::NoSquares`], and [`Error::Mismatch`] for models of different shapes.
    pub fn disagreement(&self, other: &Self) -> Result<Option<f64>, Error> {
        let mut both = self.clone();
        both.merge(other)?;
        let counts = [self, other].map(|span| span.scale(1.0).map(|found| found.is_some()));
        let [Ok(true), Ok(true)] = counts else {
            return counts.into_iter().collect::<Result<Vec<_>, _>>().map(|_| None);
        };
        Ok(both.evidence_of_spans()?.map(|spans| spans.of(&[self, other]) - spans.of(&[&both])))
    }

    /// The evidence of spans of this model's rounds, with the lambda and the prior that suit the whole.
    pub(super) fn evidence_of_spans(&self) -> Result<Option<Spans>, Error> {
        Ok(self.scale(1.0)?.map(|(scale, n)| Spans { scale, lambda: self.evidence_in(scale, n, 1.0).best() }))
    }

    /// The units of the sums and the number of rewards.
    fn scale(&self, factor: f64) -> Result<Option<(Scale, f64)>, Error> {
        let unknown = self.blocks.iter().position(|block| block.rr.is_none() && block.count > 0);
        if let Some(block) = unknown {
            return Err(Error::NoSquares { block: block as u32 });
        }
        let diagonal = |block: &Block| (0..self.dim).map(|i| block.g[triangle(i) + i].max(0.0)).sum::<f64>();
        let sum = |of: &dyn Fn(&Block) -> f64| self.blocks.iter().map(of).sum::<f64>() * factor;
        let (trace, squares) = (sum(&diagonal), sum(&|block| block.rr.unwrap_or(0.0)));
        let n = self.weights() * factor;
        let scale = Scale { x: trace / n, r: squares / n };
        Ok((n > 0.0 && scale.x.is_normal() && scale.r.is_normal() && scale.r > 0.0).then_some((scale, n)))
    }

    /// The sum of the weights of all rewards, if every round had as many.
    fn weights(&self) -> f64 {
        let count: u64 = self.blocks.iter().map(Block::count).sum();
        if self.gamma >= 1.0 {
            return count as f64;
        }
        let rounds = self.t.max(1);
        count as f64 / rounds as f64 * (1.0 - self.discount(rounds)) / (1.0 - self.gamma)
    }

    fn evidence_in(&self, scale: Scale, n: f64, factor: f64) -> Evidence {
        let (of_g, of_b) = (factor / scale.x, factor / (scale.x.sqrt() * scale.r.sqrt()));
        let directions = |block: usize| -> Vec<(f64, f64)> {
            let Block { count, b, g, .. } = &self.blocks[block];
            if *count == 0 {
                return Vec::new();
            }
            let scaled = |sums: &[f64], by: f64| sums.iter().map(|sum| sum * by).collect::<Vec<f64>>();
            let (g, c) = spectrum(&scaled(g, of_g), &scaled(b, of_b));
            g.into_iter().zip(c).map(|(g, c)| (g.max(0.0), c * c)).collect()
        };
        let all = tasks::map(self.blocks.len(), || (), |(), block| directions(block));
        let squares = self.blocks.iter().map(|block| block.rr.unwrap_or(0.0) / scale.r).sum::<f64>() * factor;
        Evidence { directions: all.concat(), n, squares, scale }
    }
}

/// The units, the prior and lambda in which the evidence of several spans can be added.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spans {
    scale: Scale,
    lambda: f64,
}

impl Spans {
    /// The log evidence of spans that have a theta each, and one noise.
    pub(super) fn of(&self, spans: &[&Model]) -> f64 {
        let count = |span: &Model| span.blocks.iter().map(Block::count).sum::<u64>() as f64;
        let apart = spans.iter().map(|span| span.evidence_in(self.scale, count(span), 1.0));
        let together = apart.reduce(|mut all, own| {
            all.directions.extend(own.directions);
            Evidence { n: all.n + own.n, squares: all.squares + own.squares, ..all }
        });
        together.map_or(0.0, |all| all.log(self.lambda))
    }

    /// The log evidence of `all` if theta has moved before its last rounds, `late`, by tau times what the prior lets a
    /// theta differ from 0: a regression in 2 d dimensions, with (x, 0) of early rows and (x, tau x) of late ones.
    pub(super) fn moved(&self, all: &Model, late: &Model, tau: f64) -> f64 {
        let stacked = |(whole, late): (&Block, &Block)| -> Block {
            let d = whole.b.len();
            let mut g = Vec::with_capacity(triangle(2 * d));
            g.extend_from_slice(&whole.g);
            for i in 0..d {
                // Row i of tau G of the late rows is symmetric's: its lower part from line i, its upper part from the others.
                g.extend((0..d).map(|j| tau * late.g[triangle(i.max(j)) + i.min(j)]));
                g.extend((0..=i).map(|j| tau * tau * late.g[triangle(i) + j]));
            }
            let b = whole.b.iter().copied().chain(late.b.iter().map(|b| tau * b)).collect();
            Block { count: whole.count, b, g, rr: whole.rr }
        };
        let blocks: Vec<Block> = all.blocks.iter().zip(&late.blocks).map(stacked).collect();
        let count = all.blocks.iter().map(Block::count).sum::<u64>() as f64;
        self.log_of_blocks(&blocks, count)
    }

    /// That of one span whose rewards have these weights together.
    pub(super) fn weighed(&self, span: &Model, weights: f64) -> f64 {
        self.log_of_blocks(&span.blocks, weights)
    }

    fn log_of_blocks(&self, blocks: &[Block], weights: f64) -> f64 {
        let (lambda, scale) = (self.lambda / self.scale.x, self.scale);
        let (of_g, of_b) = (1.0 / scale.x, 1.0 / (scale.x.sqrt() * scale.r.sqrt()));
        let (mut shrunk, mut explained, mut squares) = (0.0, 0.0, 0.0);
        for block in blocks.iter().filter(|block| block.count > 0) {
            let (log_det, own) = determined(&block.g, &block.b, (of_g, of_b), lambda);
            shrunk += block.b.len() as f64 * libm::log(lambda) - log_det;
            explained += own;
            squares += block.rr.unwrap_or(0.0) / scale.r;
        }
        log_of(shrunk, 0.5 + 0.5 * (squares - explained).max(0.0), weights, scale)
    }
}

/// log det V and b' V^-1 b for V = lambda I + G, after G and b are multiplied with these factors: for one lambda, where
/// eigenvalues would cost ten times as much. V = L D L' by plain loops, row by row.
fn determined(g: &[f64], b: &[f64], (of_g, of_b): (f64, f64), lambda: f64) -> (f64, f64) {
    let d = b.len();
    let mut rows: Vec<f64> = g.iter().map(|g| g * of_g).collect();
    let (mut pivots, mut solved) = (vec![0.0; d], vec![0.0; d]);
    let (mut log_det, mut explained) = (0.0, 0.0);
    for i in 0..d {
        let (above, row) = rows.split_at_mut(triangle(i));
        let row = &mut row[..=i];
        for j in 0..i {
            let of_j = &above[triangle(j)..triangle(j) + j];
            row[j] -= row[..j].iter().zip(of_j).map(|(a, b)| a * b).sum::<f64>();
        }
        // So far L times D; the last one divides.
        let (mut pivot, mut rest) = (row[i] + lambda, b[i] * of_b);
        for j in 0..i {
            let l = row[j] / pivots[j];
            pivot -= l * row[j];
            rest -= l * solved[j];
            row[j] = l;
        }
        // Rounding may leave less than lambda, which exact sums cannot.
        pivots[i] = pivot.max(lambda);
        solved[i] = rest;
        log_det += libm::log(pivots[i]);
        explained += rest * rest / pivots[i];
    }
    (log_det, explained)
}

/// log p(rewards): from the sum of ln(lambda / (lambda + g)), b_n and the number of rewards.
fn log_of(shrunk: f64, b_n: f64, n: f64, scale: Scale) -> f64 {
    let a_n = A0 + 0.5 * n;
    let constant = libm::lgamma(a_n) - libm::lgamma(A0) - 0.5 * n * libm::log(2.0 * PI * scale.r);
    0.5 * shrunk - a_n * libm::log(b_n) + A0 * libm::log(0.5) + constant
}

impl Evidence {
    /// log p(rewards | lambda).
    #[must_use]
    pub fn log(&self, lambda: f64) -> f64 {
        let lambda = lambda / self.scale.x;
        let shrunk: f64 = self.directions.iter().map(|(g, _)| libm::log(lambda / (lambda + g))).sum();
        log_of(shrunk, self.b_n(lambda), self.n, self.scale)
    }

    /// The lambda with the largest evidence, among 17 from 0.001 to 10 times the mean of |x|^2.
    #[must_use]
    pub fn best(&self) -> f64 {
        let mut best = (f64::NEG_INFINITY, 1.0);
        for times in GRID {
            let log = self.log(times * self.scale.x);
            if log > best.0 {
                best = (log, times);
            }
        }
        best.1 * self.scale.x
    }

    /// The noise under a lambda.
    #[must_use]
    pub fn estimate(&self, lambda: f64) -> Estimate {
        let a_n = A0 + 0.5 * self.n;
        let sigma = (self.b_n(lambda / self.scale.x) / a_n).sqrt() * self.scale.r.sqrt();
        Estimate { lambda, sigma, freedom: Some(2.0 * a_n), gamma: None }
    }

    /// b_n, in units of the mean of r^2.
    fn b_n(&self, lambda: f64) -> f64 {
        let explained: f64 = self.directions.iter().map(|(g, c2)| c2 / (lambda + g)).sum();
        0.5 + 0.5 * (self.squares - explained).max(0.0)
    }
}
