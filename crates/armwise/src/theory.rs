//! The theory in numbers: beta_t(delta) and the explicit regret bounds behind Theorems 1 to 4.
//!
//! The theorems state orders; the constants here are those of the appendix's proofs. Where
//! the proof of Theorem 1 writes beta_t(delta/(4T)) but the theorem sets v_t = beta_t(delta/(4NT)), the larger v_t
//! is taken, which both cover. For 1 <= lambda <= k the proofs' V-bar and Lemma 5 are used, for lambda >= k Lemma 6.
//!
//! Theorem 1 does not hold for every S_t ([`Problem::arm_wise_ts_bound`] says which step of its proof fails, and where the
//! bound is still a fair guide); Theorems 2 to 4 do.

use crate::error::{Error, check, non_negative};
use std::f64::consts::{E, PI};

/// The constants of a problem that the theory knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Problem {
    /// d: the dimension of theta* (with M blocks, d times M).
    pub d: usize,
    /// k: the most arms that a round chooses.
    pub k: usize,
    /// lambda: the ridge.
    pub lambda: f64,
    /// R: the noise is R-sub-Gaussian.
    pub r: f64,
    /// S: a bound on |theta*|.
    pub s: f64,
}

/// p = 1 / (4 sqrt(e pi)): the probability of an optimistic draw in Lemma 8 is at least p / 2.
pub(crate) fn optimistic() -> f64 {
    1.0 / (4.0 * (E * PI).sqrt())
}

impl Problem {
    /// beta_t(delta) = R sqrt(d log((1 + k t / lambda) / delta)) + sqrt(lambda) S, for lambda > 0 and 0 < delta < 1.
    ///
    /// # Reference
    /// Section VI, first display.
    #[must_use]
    pub fn beta(&self, t: u64, delta: f64) -> f64 {
        let inside = libm::log((1.0 + self.k as f64 * t as f64 / self.lambda) / delta);
        self.r * (self.d as f64 * inside).sqrt() + self.lambda.sqrt() * self.s
    }

    /// A bound on the sum of widths over T rounds: Lemma 6 for lambda >= k, Lemma 5 for lambda <= k.
    #[must_use]
    pub fn widths_bound(&self, rounds: u64) -> f64 {
        let (d, k, t) = (self.d as f64, self.k as f64, rounds as f64);
        (2.0 * d * k * t * libm::log(1.0 + k * t / d) * (k / self.lambda).max(1.0)).sqrt()
    }

    /// The bound of Azuma's inequality on the martingale of widths, at probability delta / 2.
    fn azuma(&self, rounds: u64, delta: f64) -> f64 {
        let k = self.k as f64;
        (8.0 * k * rounds as f64 * (k / self.lambda).max(1.0) * libm::log(4.0 / delta)).sqrt()
    }

    /// The regret of arm-wise Thompson sampling with v_t = beta_t(delta / (4NT)) after T rounds is at most this,
    /// with probability at least 1 - delta.
    ///
    /// # Formula
    /// ```text
    /// (4 gamma / p) (W + A) + gamma W + beta_T(delta/(4T)) W,   gamma = sqrt(2 d log(2 d N 4T / delta)) v_T
    /// W: widths_bound,   A = sqrt(8 k T log(4/delta) max(1, k/lambda)),   p = 1 / (4 sqrt(e pi))
    /// ```
    /// # Where it fails
    /// The proof needs that the draws are optimistic with a probability of at least p / 2 in every round, and takes this from
    /// Lemma 8, which is about one draw of a vector whose mean is off by at most beta in the norm of V. For N draws together the
    /// vector has dN coordinates, and its mean is off by beta in each of the N blocks at once, in the same direction:
    /// ```text
    /// how far I* may be underrated:   beta |sum of x(i), i in I*|   in the norm of V^-1, up to k beta width
    /// spread of its N draws:          beta sqrt(sum of |x(i)|^2),   only sqrt(k) beta width
    /// ```
    /// So the bound of Lemma 8 is lost by a factor of sqrt(k) within the exponent. On two sets of k look-alikes of which one must
    /// be taken whole, lambda = k, the better one is missed for exp(k) rounds: with k = 1000, T = 1e10, delta = 0.1 the regret
    /// exceeds this bound with probability 0.99. Where arms have substitutes (the k best of many alike), the maximum over
    /// them supplies the optimism. Round-wise draws, scopes in which arms share a draw, and PC2UCB are not
    /// concerned.
    ///
    /// # Errors
    /// [`Error::Parameter`] outside the theorem's assumptions (lambda >= 1, 0 < delta < 1).
    ///
    /// # Reference
    /// Theorem 1 and its proof; docs/paper-map.md.
    pub fn arm_wise_ts_bound(&self, rounds: u64, n: usize, delta: f64) -> Result<f64, Error> {
        check("n", n as f64, n > 0, "at least 1")?;
        let v = self.beta(rounds, delta / (4.0 * n as f64 * rounds as f64));
        self.ts_bound(rounds, n as f64, v, delta)
    }

    /// The regret of round-wise Thompson sampling with v_t = beta_t(delta / (4T)): as
    /// [`arm_wise_ts_bound`](Self::arm_wise_ts_bound) without N.
    ///
    /// # Errors
    /// [`Error::Parameter`] outside the theorem's assumptions (lambda >= 1, 0 < delta < 1).
    ///
    /// # Reference
    /// Theorem 2 and its proof.
    pub fn round_wise_ts_bound(&self, rounds: u64, delta: f64) -> Result<f64, Error> {
        let v = self.beta(rounds, delta / (4.0 * rounds as f64));
        self.ts_bound(rounds, 1.0, v, delta)
    }

    fn ts_bound(&self, rounds: u64, n: f64, v: f64, delta: f64) -> Result<f64, Error> {
        self.validate(rounds, delta)?;
        let d = self.d as f64;
        let delta_prime = delta / (4.0 * rounds as f64);
        let gamma = (2.0 * d * libm::log(2.0 * d * n / delta_prime)).sqrt() * v;
        let w = self.widths_bound(rounds);
        let opt = 4.0 * gamma / optimistic() * (w + self.azuma(rounds, delta));
        let alg = gamma * w;
        let est = self.beta(rounds, delta_prime) * w;
        Ok(opt + alg + est)
    }

    /// The regret of PC2UCB with alpha_t = beta_t(delta) after T rounds is at most (2 + c) beta_T(delta) W, with
    /// probability at least 1 - delta.
    ///
    /// # Errors
    /// [`Error::Parameter`] outside the theorem's assumptions (lambda >= 1, 0 < delta < 1, c >= 0).
    ///
    /// # Reference
    /// Theorem 3 and its proof, for any c (the proof's last step is written for c = 1).
    pub fn pc2ucb_bound(&self, rounds: u64, c: f64, delta: f64) -> Result<f64, Error> {
        self.validate(rounds, delta)?;
        non_negative("c", c)?;
        Ok((2.0 + c) * self.beta(rounds, delta) * self.widths_bound(rounds))
    }

    /// The regret of C2UCB with alpha_t = beta_t(delta): [`pc2ucb_bound`](Self::pc2ucb_bound) with c = 0.
    ///
    /// # Errors
    /// [`Error::Parameter`] outside the theorem's assumptions (lambda >= 1, 0 < delta < 1).
    ///
    /// # Reference
    /// Theorem 4.
    pub fn c2ucb_bound(&self, rounds: u64, delta: f64) -> Result<f64, Error> {
        self.pc2ucb_bound(rounds, 0.0, delta)
    }

    fn validate(&self, rounds: u64, delta: f64) -> Result<(), Error> {
        check("d", self.d as f64, self.d > 0, "at least 1")?;
        check("k", self.k as f64, self.k > 0, "at least 1")?;
        check("rounds", rounds as f64, rounds > 0, "at least 1")?;
        check("lambda", self.lambda, self.lambda >= 1.0 && self.lambda.is_finite(), "at least 1")?;
        non_negative("r", self.r)?;
        non_negative("s", self.s)?;
        check("delta", delta, delta > 0.0 && delta < 1.0, "above 0 and below 1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Problem = Problem { d: 11, k: 100, lambda: 100.0, r: 1.0, s: 1.0 };

    /// The two cases of every theorem meet at lambda = k.
    #[test]
    fn the_two_cases_agree_where_lambda_is_k() {
        let below = Problem { lambda: 100.0 - 1e-9, ..PAPER };
        for (a, b) in [
            (PAPER.c2ucb_bound(10, 0.1), below.c2ucb_bound(10, 0.1)),
            (PAPER.arm_wise_ts_bound(10, 2000, 0.1), below.arm_wise_ts_bound(10, 2000, 0.1)),
        ] {
            let (a, b) = (a.expect("lambda >= 1"), b.expect("lambda >= 1"));
            assert!((a - b).abs() < 1e-6 * a, "{a} {b}");
        }
    }

    /// Theorem 3 and Theorem 4 differ by c only; Theorem 1 and 2 by N only.
    #[test]
    fn bounds_are_ordered_as_the_theorems_say() {
        let c2ucb = PAPER.c2ucb_bound(10, 0.1).expect("lambda >= 1");
        let pc2ucb = PAPER.pc2ucb_bound(10, 1.0, 0.1).expect("lambda >= 1");
        assert!((pc2ucb / c2ucb - 1.5).abs() < 1e-12);
        let round_wise = PAPER.round_wise_ts_bound(10, 0.1).expect("lambda >= 1");
        let arm_wise = PAPER.arm_wise_ts_bound(10, 2000, 0.1).expect("lambda >= 1");
        let one_arm = PAPER.arm_wise_ts_bound(10, 1, 0.1).expect("lambda >= 1");
        assert!(round_wise < arm_wise && (one_arm - round_wise).abs() < 1e-9 * round_wise);
    }

    #[test]
    fn outside_the_assumptions_there_is_no_bound() {
        let error = Problem { lambda: 0.5, ..PAPER }.c2ucb_bound(10, 0.1).expect_err("lambda < 1");
        assert_eq!(error, Error::Parameter { name: "lambda", value: 0.5, must: "at least 1" });
    }
}
