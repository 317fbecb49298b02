//! The same integral for few arms of which fewer are asked for: a slate that a request waits for. Nothing is kept, so no law
//! of the threshold is made: the others are convolved for each arm that is asked for, at all nodes side by side.

#![allow(clippy::needless_range_loop, reason = "loops over several arrays at once, for registers")]
#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use super::{Set, cuts, quadrature, range};
use crate::evaluate::tail::{self, Of, Standard, run};

/// Nodes that are looked at side by side, and how often at most.
const NODES: usize = 64;
const TIMES: usize = 4;
/// Chances to be above that change nothing.
const NOTHING: f64 = 1e-18;

impl Set {
    /// The probabilities of some arms to be among the k best, k below the number of arms. None if that takes long:
    /// arms without width, many draws with ends or arms much narrower than the threshold.
    pub(in crate::evaluate) fn few(&self, k: usize, wanted: &[usize]) -> Option<Vec<f64>> {
        if !self.points.is_empty() {
            return None;
        }
        let range = range::find(&self.field, &self.points, k);
        let cuts = cuts(&range.field, &[], range.low, range.high)?;
        let fine = |from, to| cuts.fineness(&range.field, cuts.scale(from, to), from, to).0;
        let nodes = quadrature::nodes(&cuts.at, 10, fine);
        let to = range.high;
        if nodes.len() > TIMES * NODES {
            return None;
        }
        let shape = self.field.shape;
        let top = |&arm: &usize| tail::above(shape, (self.field.locations[arm] - to) * self.field.inverses[arm]).0;
        let mut out: Vec<f64> = wanted.iter().map(top).collect();
        for nodes in nodes.chunks(NODES) {
            run(shape, Few { set: self, k, wanted, nodes, out: &mut out });
        }
        out.iter_mut().for_each(|pi| *pi = pi.clamp(0.0, 1.0));
        Some(out)
    }
}

struct Few<'a> {
    set: &'a Set,
    k: usize,
    wanted: &'a [usize],
    nodes: &'a [[f64; 2]],
    out: &'a mut [f64],
}

impl Of for Few<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Standard>(self, standard: S) {
        let (locations, inverses) = (&self.set.field.locations, &self.set.field.inverses);
        let mut at = [self.nodes[self.nodes.len() - 1][0]; NODES];
        at.iter_mut().zip(self.nodes).for_each(|(at, node)| *at = node[0]);
        // Chances to be above, of the arms that may be.
        let mut above: Vec<(usize, [f64; NODES])> = Vec::with_capacity(locations.len());
        for (arm, (location, inverse)) in locations.iter().zip(inverses).enumerate() {
            let mut own = [0.0; NODES];
            for i in 0..NODES {
                let (small, low, _) = standard.tail((location - at[i]) * inverse);
                own[i] = if low { small } else { 1.0 - small };
            }
            if own[0] > NOTHING {
                above.push((arm, own));
            }
        }
        let mut law = vec![[0.0; NODES]; self.k];
        for (&arm, out) in self.wanted.iter().zip(self.out) {
            law.iter_mut().for_each(|law| law.fill(0.0));
            law[0].fill(1.0);
            let mut seen = 0;
            for (_, q) in above.iter().filter(|(other, _)| *other != arm) {
                seen += 1;
                for n in (0..self.k.min(seen + 1)).rev() {
                    let before = if n > 0 { law[n - 1] } else { [0.0; NODES] };
                    let own = &mut law[n];
                    for i in 0..NODES {
                        own[i] = own[i] * (1.0 - q[i]) + before[i] * q[i];
                    }
                }
            }
            let mut few = [0.0; NODES];
            for law in &law {
                for i in 0..NODES {
                    few[i] += law[i];
                }
            }
            let (location, inverse) = (locations[arm], inverses[arm]);
            let mut sum = 0.0;
            for (i, [t, weight]) in self.nodes.iter().enumerate() {
                let (_, _, density) = standard.tail((location - t) * inverse);
                sum += weight * density * inverse * few[i];
            }
            *out += sum;
        }
    }
}
