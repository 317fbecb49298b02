//! Nodes and weights: where the law of the threshold is looked at.
//!
//! The range is cut wherever the law has an edge (an arm without width, the end of a uniform draw) or is as narrow as a
//! single arm; between cuts everything is smooth, and Gauss and Legendre's nodes converge faster than any power.

use std::f64::consts::PI;
use std::sync::OnceLock;

/// Nodes in (-1, 1), ascending, and their weights.
fn legendre(n: usize) -> Vec<[f64; 2]> {
    let mut nodes = vec![[0.0; 2]; n];
    for place in 0..n.div_ceil(2) {
        let mut x = libm::cos(PI * (place as f64 + 0.75) / (n as f64 + 0.5));
        let mut slope = 1.0;
        for _ in 0..100 {
            let (mut before, mut now) = (1.0, x);
            for m in 2..=n {
                let m = m as f64;
                (before, now) = (now, ((2.0 * m - 1.0) * x * now - (m - 1.0) * before) / m);
            }
            if n == 1 {
                (before, now) = (1.0, x);
            }
            slope = n as f64 * (x * now - before) / (x * x - 1.0);
            let step = now / slope;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        let weight = 2.0 / ((1.0 - x * x) * slope * slope);
        (nodes[place], nodes[n - 1 - place]) = ([-x, weight], [x, weight]);
    }
    if n % 2 == 1 {
        nodes[n / 2][0] = 0.0;
    }
    nodes
}

/// Nodes of a panel at most: a longer one is cut.
pub(super) const MOST: usize = 64;

/// The nodes and weights of a panel, found once.
fn rule(count: usize) -> &'static [[f64; 2]] {
    static RULES: [OnceLock<Vec<[f64; 2]>>; MOST + 1] = [const { OnceLock::new() }; MOST + 1];
    RULES[count].get_or_init(|| legendre(count))
}

/// The nodes of the panels between ascending cuts, at least so many in each; `fineness` gives the length within which
/// everything in a panel varies.
pub(in crate::evaluate) fn nodes(cuts: &[f64], least: usize, fineness: impl Fn(f64, f64) -> f64) -> Vec<[f64; 2]> {
    let mut nodes = Vec::new();
    for pair in cuts.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let length = to - from;
        if length <= 0.0 {
            continue;
        }
        #[expect(clippy::cast_sign_loss, reason = "a length over a length")]
        let wanted = least + (2.0 * length / fineness(from, to)).min(1e6) as usize;
        let parts = wanted.div_ceil(MOST);
        let count = if parts == 1 { wanted } else { (least + wanted / parts).min(MOST) };
        for part in 0..parts {
            let end = |part: usize| from + length * part as f64 / parts as f64;
            let (middle, half) = (0.5 * (end(part) + end(part + 1)), 0.5 * (end(part + 1) - end(part)));
            nodes.extend(rule(count).iter().map(|[x, w]| [middle + half * x, half * w]));
        }
    }
    nodes
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, reason = "small numbers")]
mod tests {
    use super::*;

    /// n nodes integrate polynomials of degree 2 n - 1.
    #[test]
    fn nodes_integrate_powers() {
        for n in 1..=64 {
            let rule = legendre(n);
            assert!(rule.windows(2).all(|pair| pair[0][0] < pair[1][0]), "{n}");
            for power in 0..2 * n as i32 {
                let sum: f64 = rule.iter().map(|[x, w]| w * x.powi(power)).sum();
                let expected = if power % 2 == 0 { 2.0 / f64::from(power + 1) } else { 0.0 };
                assert!((sum - expected).abs() < 1e-13, "{n}: x^{power} gives {sum}, not {expected}");
            }
        }
    }
}
