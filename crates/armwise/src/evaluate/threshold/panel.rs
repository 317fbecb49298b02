//! A piece of the range between two cuts, and two rules for it: many places where the law of the count varies, few where
//! single arms do.
//!
//! The chance that few enough others are above, G(t, q), may rise from 0 to 1 within a hundredth of an arm's scale, while
//! what belongs to the arm, f(t) and q(t), hardly changes. So the integral of f(t) G(t, q(t)) takes G at many nodes t_j and
//! the arm at few places s_g only, between which the arm's part is interpolated:
//!
//! ```text
//! sum_j w_j f(t_j) G(t_j, q(t_j))  =  sum_g f(s_g) G_g(q(s_g)),     G_g(q) = sum_j w_j l_g(t_j) G(t_j, q)
//! ```
//! with Lagrange's polynomials l_g of Chebyshev's places. Sums over all arms are smooth in the same way and are interpolated
//! from the same places.

use super::{law::Node, quadrature};
use std::f64::consts::PI;

/// A piece of the range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Panel {
    pub(super) from: f64,
    pub(super) to: f64,
    /// The smallest scale of an arm in it, and the length within which everything varies.
    pub(super) scale: f64,
    pub(super) fine: f64,
    /// The least variance of the count.
    pub(super) variance: f64,
    /// How many nodes it has.
    pub(super) nodes: usize,
    /// Whether these are Gauss and Legendre's.
    pub(super) plain: bool,
}

/// Chebyshev's places between two ends, ascending, and the weights of interpolation between them.
pub(super) struct Places {
    pub(super) at: Vec<f64>,
    weights: Vec<f64>,
}

impl Places {
    pub(super) fn new(from: f64, to: f64, count: usize) -> Self {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let angle = |place: usize| PI * (place as f64 + 0.5) / count as f64;
        let sign = |place: usize| if place.is_multiple_of(2) { 1.0 } else { -1.0 };
        Self {
            at: (0..count).map(|place| middle - half * libm::cos(angle(place))).collect(),
            weights: (0..count).map(|place| sign(place) * libm::sin(angle(place))).collect(),
        }
    }

    /// Lagrange's polynomials at t.
    pub(super) fn shares(&self, t: f64) -> Vec<f64> {
        if let Some(own) = self.at.iter().position(|at| at.total_cmp(&t).is_eq()) {
            return (0..self.at.len()).map(|place| f64::from(u8::from(place == own))).collect();
        }
        let terms: Vec<f64> = self.at.iter().zip(&self.weights).map(|(at, weight)| weight / (t - at)).collect();
        let sum: f64 = terms.iter().sum();
        terms.into_iter().map(|term| term / sum).collect()
    }
}

/// The least variance of the count for which a law is condensed, for work and for what is kept. G is followed from two
/// sides, q <= 1/2 and above. At the arm's own q(t) both are the same, between places they are taken at another q, where
/// they differ by the product of all |1 - 2 q_j|: less than exp(-2 variance).
const ENOUGH: [f64; 2] = [20.0, 10.0];

impl Panel {
    /// How many places show everything that is no narrower than the smallest scale: to 13 digits for work, to 8 for what
    /// is kept. None if the count varies too little for places to stand for nodes.
    pub(super) fn places(&self, digits: Digits) -> Option<usize> {
        let lengths = 0.5 * (self.to - self.from) / self.scale;
        // Short ones by how fast a power series converges, long ones by how fine a bell is.
        let (count, enough) = match digits {
            Digits::All => ((10.0 + 14.0 * lengths).min(26.0 + 11.0 * lengths), ENOUGH[0]),
            Digits::Kept => ((6.0 + 8.0 * lengths).min(10.0 + 6.0 * lengths), ENOUGH[1]),
        };
        #[expect(clippy::cast_sign_loss, reason = "a length over a length")]
        let count = count.min(1e6) as usize;
        (self.variance >= enough).then_some(count)
    }
}

/// How many digits of a probability are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Digits {
    All,
    Kept,
}

/// As far as a kept law looks at what is 0 or 1: up to this.
const SURE: f64 = 1e-9;

/// The law between the places where it is neither 0 nor 1, at other nodes; `nodes` are Gauss and Legendre's in equal parts
/// of the panel.
pub(super) fn trimmed(panel: &Panel, nodes: &[Node]) -> Option<(Panel, Vec<Node>)> {
    let near = |of: &[f64], value: f64| {
        let first = of.first().map_or(0.0, |c| (c - value).abs());
        first + of.iter().skip(1).map(|c| c.abs()).sum::<f64>() < SURE
    };
    let none = |node: &Node| near(&node.low, 0.0) && near(&node.high, 1.0);
    let all = |node: &Node| near(&node.low, 1.0) && near(&node.high, 0.0);
    let from = nodes.iter().take_while(|node| none(node)).last().map_or(panel.from, |node| node.at);
    let to = nodes.iter().rev().take_while(|node| all(node)).last().map_or(panel.to, |node| node.at);
    if from >= to {
        return None;
    }
    #[expect(clippy::cast_sign_loss, reason = "a length over a length")]
    let enough = ((8.0 + 1.3 * (to - from) / panel.fine) as usize).min(quadrature::MOST);
    let wanted = if panel.places(Digits::Kept).is_some() { quadrature::MOST } else { enough };
    let parts = nodes.len().div_ceil(quadrature::MOST);
    let (count, length) = (nodes.len() / parts, (panel.to - panel.from) / parts as f64);
    // Weights of interpolation between Legendre's nodes.
    let weights: Vec<f64> = (0..count)
        .map(|place| {
            let x = 2.0 * (nodes[place].at - panel.from) / length - 1.0;
            let sign = if place.is_multiple_of(2) { 1.0 } else { -1.0 };
            sign * ((1.0 - x * x) * nodes[place].weight).max(0.0).sqrt()
        })
        .collect();
    let made = quadrature::nodes(&[from, to], wanted, |_, _| f64::INFINITY).into_iter().map(|[at, weight]| {
        #[expect(clippy::cast_sign_loss, reason = "within the panel")]
        let part = (((at - panel.from) / length) as usize).min(parts - 1);
        let own = &nodes[part * count..(part + 1) * count];
        let places = Places { at: own.iter().map(|node| node.at).collect(), weights: weights.clone() };
        let mut node = Node { at, weight, low: Vec::new(), high: Vec::new() };
        for (of, share) in own.iter().zip(places.shares(at)) {
            add(&mut node.low, &of.low, share);
            add(&mut node.high, &of.high, share);
        }
        node
    });
    let made: Vec<Node> = made.collect();
    Some((Panel { from, to, nodes: made.len(), ..panel.clone() }, made))
}

/// Adds a multiple of a polynomial.
fn add(to: &mut Vec<f64>, of: &[f64], times: f64) {
    to.resize(to.len().max(of.len()), 0.0);
    to.iter_mut().zip(of).for_each(|(to, c)| *to += times * c);
}

/// The nodes of the same integral at other places.
pub(super) fn condensed(nodes: &[Node], places: &Places) -> Vec<Node> {
    let empty = |&at: &f64| Node { at, weight: 0.0, low: Vec::new(), high: Vec::new() };
    let mut all: Vec<Node> = places.at.iter().map(empty).collect();
    for node in nodes {
        for (to, share) in all.iter_mut().zip(places.shares(node.at)) {
            let weight = node.weight * share;
            to.weight += weight;
            add(&mut to.low, &node.low, weight);
            add(&mut to.high, &node.high, weight);
        }
    }
    for node in &mut all {
        let weight = node.weight;
        node.low.iter_mut().chain(&mut node.high).for_each(|c| *c /= weight);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_interpolated_exactly() {
        for count in 1..30 {
            let places = Places::new(-0.3, 2.1, count);
            assert!(places.at.windows(2).all(|pair| pair[0] < pair[1]));
            for t in [-0.3, 0.0, 0.77, 2.1, places.at[count / 2]] {
                let shares = places.shares(t);
                for power in 0..i32::try_from(count).expect("a small number") {
                    let sum: f64 = shares.iter().zip(&places.at).map(|(share, at)| share * at.powi(power)).sum();
                    let expected = t.powi(power);
                    let size = 2.1_f64.powi(power);
                    assert!((sum - expected).abs() < 1e-13 * size, "{count} places, t = {t}: {sum}, not {expected}");
                }
            }
        }
    }
}
