//! The law of the threshold as it is kept, and the probability of an arm from it.

#![allow(clippy::needless_range_loop, reason = "loops over several arrays at once, for registers")]
#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use crate::evaluate::spread::Shape;
use crate::evaluate::tail::{self, Of, Standard, run};
use crate::tasks;
use serde::{Deserialize, Serialize};

/// Arms of a task.
const TASK: usize = 1024;

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

    /// The probabilities of arms with these locations and inverse scales, added to `out`.
    pub(crate) fn of_spread(&self, shape: Shape, locations: &[f64], inverses: &[f64], out: &mut [f64]) {
        let Some(top) = self.top else { return };
        let parts = locations.chunks(TASK).zip(inverses.chunks(TASK)).zip(out.chunks_mut(TASK));
        let task = |(): &mut (), _, ((locations, inverses), out): ((&[f64], &[f64]), &mut [f64])| {
            run(shape, PartOf { part: self, locations, inverses, out });
        };
        tasks::share_parts(parts, || (), task);
        // The ends are taken one by one.
        for ((location, inverse), out) in locations.iter().zip(inverses).zip(out) {
            let top = self.from.map_or(top, |from| top.max(from));
            let chance = |at: f64| if at <= f64::MIN { 1.0 } else { tail::above(shape, (location - at) * inverse).0 };
            let above = self.to.map_or(0.0, |to| if to > top { chance(to) } else { chance(top) });
            *out = (*out + (chance(top) - above)).clamp(0.0, 1.0);
        }
    }
}

fn horner(coefficients: &[f64], q: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * (4.0 * q - 1.0) + c)
}

struct PartOf<'a> {
    part: &'a Part,
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
    }
}

/// A polynomial at many places.
#[inline(always)]
fn powers(coefficients: &[f64], x: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for c in coefficients.iter().rev() {
        for (out, x) in out.iter_mut().zip(x) {
            *out = *out * x + c;
        }
    }
}
