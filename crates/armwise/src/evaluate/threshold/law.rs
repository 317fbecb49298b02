//! The law of the threshold as it is kept, and the probability of an arm from it.

#![allow(clippy::needless_range_loop, reason = "loops over several arrays at once, for registers")]
#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use super::count::{economised, rounded};
use super::panel::{Digits, Panel, Places, condensed, trimmed};
use crate::evaluate::spread::Shape;
use crate::evaluate::tail::{Of, Standard, run};
use serde::{Deserialize, Serialize};

/// How far a probability from a law as it is kept may be off.
pub(crate) const KEPT: f64 = 1e-6;
/// How far each polynomial of it may be off.
const SHORT: f64 = 2e-8;
/// Arms of a task.
const TASK: usize = 512;

/// The law for scores above `from` and not above `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<f64>,
    /// Every score above it is chosen; none if no score is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) top: Option<f64>,
    pub(super) nodes: Vec<Node>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) points: Vec<Point>,
    /// The pieces of the range, in the order of the nodes; not kept.
    #[serde(skip)]
    pub(super) panels: Vec<Panel>,
}

/// A place of the threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub(super) at: f64,
    pub(super) weight: f64,
    /// The chance that few enough others are above, by powers of 4 q - 1, for q <= 1/2.
    pub(super) low: Vec<f64>,
    /// 1 less it, by powers of 3 - 4 q, for q > 1/2.
    pub(super) high: Vec<f64>,
}

/// A place where arms without width are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Point {
    pub(super) at: f64,
    /// How many of the tied arms are chosen for certain, the first ones.
    pub(super) first: usize,
    /// The probabilities of those after them; the remaining ones are never chosen.
    pub(super) then: Vec<f64>,
    pub(super) tied: usize,
}

impl Point {
    /// `at_most[r]` is the chance that r of the tied arms and one more fit.
    pub(super) fn new(at: f64, at_most: &[f64], tied: usize) -> Self {
        let known = &at_most[..tied.min(at_most.len())];
        let first = known.iter().take_while(|&&p| p > 1.0 - 1e-15).count();
        let last = known.iter().rposition(|&p| p > 1e-18).map_or(first, |last| last + 1).max(first);
        Self { at, first, then: known[first..last].iter().map(|p| p.clamp(0.0, 1.0)).collect(), tied }
    }

    fn probability(&self, rank: Rank) -> f64 {
        match rank {
            Rank::Place(place) if place < self.first => 1.0,
            Rank::Place(place) => self.then.get(place - self.first).copied().unwrap_or(0.0),
            Rank::Any => (self.first as f64 + self.then.iter().sum::<f64>()) / self.tied as f64,
        }
    }
}

/// Which of several arms without width that have the same score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// The one in this place of the tie rule, counted from 0.
    Place(usize),
    /// Any of them, with equal chances.
    Any,
}

impl Part {
    /// In how many places it is kept.
    pub(crate) fn places(&self) -> usize {
        self.nodes.len() + self.points.len()
    }

    /// The probability of an arm without width.
    pub(crate) fn of_point(&self, at: f64, rank: Rank) -> f64 {
        if self.from.is_some_and(|from| at <= from) || self.to.is_some_and(|to| at > to) {
            return 0.0;
        }
        let Some(top) = self.top else { return 0.0 };
        if let Some(point) = self.points.iter().find(|point| point.at.total_cmp(&(at + 0.0)).is_eq()) {
            return point.probability(rank);
        }
        if at >= top {
            return 1.0;
        }
        // Not one of the round's own points: what an arm there would have met.
        let nearest = self.nodes.iter().min_by(|a, b| (a.at - at).abs().total_cmp(&(b.at - at).abs()));
        nearest.filter(|_| self.nodes[0].at < at).map_or(0.0, |node| horner(&node.low, 0.0))
    }

    /// The same law at fewer places and with fewer digits: probabilities differ by less than [`KEPT`].
    pub(crate) fn kept(&self) -> Self {
        if let ([panel], true) = (&self.panels[..], self.points.is_empty() && self.from.is_none() && self.to.is_none())
            && panel.plain
            && let Some((panel, nodes)) = trimmed(panel, &self.nodes)
        {
            let top = Some(panel.to);
            return Self { top, panels: vec![Panel { plain: false, ..panel }], nodes, ..self.clone() }.kept();
        }
        let (mut nodes, mut own) = (Vec::new(), &self.nodes[..]);
        for panel in &self.panels {
            let (first, rest) = own.split_at(panel.nodes.min(own.len()));
            own = rest;
            match panel.places(Digits::Kept) {
                Some(count) if count < first.len() => {
                    nodes.extend(condensed(first, &Places::new(panel.from, panel.to, count)));
                }
                _ => nodes.extend_from_slice(first),
            }
        }
        nodes.extend_from_slice(own);
        for node in &mut nodes {
            node.low = rounded(economised(&node.low, SHORT), 1e9);
            node.high = rounded(economised(&node.high, SHORT), 1e9);
        }
        // Far below and far above nothing depends on a node: a low one of zeros adds nothing.
        nodes.retain(|node| node.low.iter().any(|c| c.abs() > 0.0) || node.high.len() > 1);
        Self { nodes, panels: Vec::new(), ..self.clone() }
    }

    /// Below this score no arm is chosen.
    pub(crate) fn bottom(&self) -> f64 {
        let first = self.nodes.first().map_or(f64::INFINITY, |node| node.at);
        self.points.first().map_or(first, |point| first.min(point.at)).min(self.top.unwrap_or(f64::INFINITY))
    }

    /// The probabilities of arms with these locations and inverse scales, added to `out`.
    pub(crate) fn of_spread(&self, shape: Shape, locations: &[f64], inverses: &[f64], out: &mut [f64]) {
        let Some(top) = self.top else { return };
        let parts = locations.chunks(TASK).zip(inverses.chunks(TASK)).zip(out.chunks_mut(TASK));
        for ((locations, inverses), out) in parts {
            run(shape, PartOf { part: self, top, locations, inverses, out });
        }
    }
}

fn horner(coefficients: &[f64], q: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * (4.0 * q - 1.0) + c)
}

struct PartOf<'a> {
    part: &'a Part,
    top: f64,
    locations: &'a [f64],
    inverses: &'a [f64],
    out: &'a mut [f64],
}

impl Of for PartOf<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Standard>(self, standard: S) {
        let n = self.locations.len();
        let (locations, inverses, out) = (&self.locations[..n], &self.inverses[..n], &mut self.out[..n]);
        let (mut smalls, mut lows, mut densities) = ([0.0; TASK], [0.0; TASK], [0.0; TASK]);
        let (mut first, mut second) = ([0.0; TASK], [0.0; TASK]);
        // Slices of one length, so that no bound is checked inside the loops.
        let (smalls, lows, densities) = (&mut smalls[..n], &mut lows[..n], &mut densities[..n]);
        let (first, second) = (&mut first[..n], &mut second[..n]);
        for node in &self.part.nodes {
            for i in 0..n {
                let (small, low, density) = standard.tail((locations[i] - node.at) * inverses[i]);
                smalls[i] = 4.0 * small - 1.0;
                lows[i] = if low { 1.0 } else { 0.0 };
                densities[i] = density * inverses[i] * node.weight;
            }
            // Most tasks need one side only. Counted apart: a sum inside the loop above would keep it out of registers.
            let low = lows.iter().filter(|low| **low > 0.5).count();
            if low > 0 {
                powers(&node.low, smalls, first);
            }
            if low < n {
                powers(&node.high, smalls, second);
            }
            for i in 0..n {
                let chance = if lows[i] > 0.5 { first[i] } else { 1.0 - second[i] };
                out[i] += densities[i] * chance;
            }
        }
        // Every score above the range is chosen, if it is in this part.
        let top = self.part.from.map_or(self.top, |from| self.top.max(from));
        let above = |t: f64, to: &mut [f64]| {
            for i in 0..n {
                let (small, low, _) = standard.tail((locations[i] - t) * inverses[i]);
                to[i] = if low { small } else { 1.0 - small };
            }
        };
        if top <= f64::MIN {
            first.fill(1.0);
        } else {
            above(top, first);
        }
        match self.part.to {
            Some(to) => above(to.max(top), second),
            None => second.fill(0.0),
        }
        for i in 0..n {
            out[i] = (out[i] + (first[i] - second[i])).clamp(0.0, 1.0);
        }
    }
}

/// A polynomial at many places.
#[inline(always)]
fn powers(coefficients: &[f64], x: &[f64], out: &mut [f64]) {
    const LANES: usize = 16;
    let ((x, rest), (out, last)) = (x.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
    for (x, out) in x.iter().zip(out) {
        let mut sums = [0.0; LANES];
        for c in coefficients.iter().rev() {
            for lane in 0..LANES {
                sums[lane] = sums[lane] * x[lane] + c;
            }
        }
        *out = sums;
    }
    for (x, out) in rest.iter().zip(last) {
        *out = coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    }
}
