//! The chances of the blocks of one row at given prices: which of several independent scores, each with its own
//! handicap, is the largest, if it beats staying outside.
//!
//! ```text
//! P(j) = integral over y > V_0 of f_j(y - V_j) product over l != j of F_l(y - V_l) dy
//! ```

#![allow(clippy::needless_range_loop, reason = "loops over several arrays at once, for registers")]
#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use super::Chance;
use crate::evaluate::spread::Shape;
use crate::evaluate::tail::{self, Of, Standard, run};
use crate::evaluate::threshold::{self, nodes};

/// Below this chance that any arm of a row is above what staying outside is worth, they are taken one by one: a share of it
/// is lost at most, where the mean over fresh rounds strays by percents.
const SELDOM: f64 = 1e-7;

/// One row, and room for its work.
#[derive(Default)]
pub(super) struct Row {
    /// Block, location with the handicap, one over the scale (0 for a point).
    arms: Vec<(usize, f64, f64)>,
    shape: Option<Shape>,
    /// What staying outside is worth.
    outside: f64,
    /// The block in which the fresh round has the row: it tells how ties of points go.
    now: usize,
    nodes: Vec<[f64; 2]>,
    /// Of each arm, at each node: P(below) and density.
    below: Vec<f64>,
    density: Vec<f64>,
    /// Of each arm, at each node: the chance that all others are below.
    others: Vec<f64>,
    running: Vec<f64>,
}

impl Row {
    /// Takes a row: the laws of its arms, which of them may be chosen, what each block is worth to the others, and in
    /// which it is.
    pub(super) fn set(
        &mut self,
        shape: Shape,
        laws: &[[f64; 2]],
        eligible: impl Fn(usize) -> bool,
        worth: impl Fn(usize) -> f64,
        now: usize,
    ) {
        self.arms.clear();
        self.shape = Some(shape);
        self.outside = worth(laws.len());
        self.now = now;
        for (block, &[location, scale]) in laws.iter().enumerate() {
            let worth = worth(block);
            if eligible(block) && worth > f64::NEG_INFINITY {
                self.arms.push((block, location + worth, threshold::inverse(location, scale).unwrap_or(0.0)));
            }
        }
    }

    /// Appends the chance of each wanted block.
    pub(super) fn chances(&mut self, wanted: &[usize], out: &mut Vec<Chance>) {
        let shape = self.shape.unwrap_or(Shape::Normal);
        // Nothing of the row is random: it is where the fresh round has it.
        if self.arms.iter().all(|arm| arm.2 <= 0.0) {
            return out.extend(wanted.iter().map(|&block| Chance::certain(block == self.now)));
        }
        let [first, last] = tail::reach(shape);
        let end =
            |&(_, at, inverse): &(usize, f64, f64), reach: f64| if inverse > 0.0 { at + reach / inverse } else { at };
        // Below the highest of all lower ends something else is certainly better.
        let low = self.arms.iter().map(|arm| end(arm, first)).fold(self.outside, f64::max);
        // Of each arm as much as holds all but 1e-10 of what it has above the low end: the mean over fresh rounds strays by
        // far more.
        let most = |arm: &(usize, f64, f64)| match shape {
            Shape::Normal => {
                let z = ((low - arm.1) * arm.2).max(0.0);
                end(arm, (z * z + 46.0).sqrt().min(last))
            }
            _ => end(arm, last),
        };
        let high = self.arms.iter().map(most).fold(low, f64::max);
        if high <= low {
            // Nothing is random: a point, or staying outside.
            let best = self.arms.iter().find(|arm| arm.1 >= low && low > self.outside).map(|arm| arm.0);
            let chance = |block: &usize| match self.arm(*block) {
                _ if best == Some(*block) => Chance::certain(true),
                Some(&(_, at, inverse)) if inverse > 0.0 => Chance::told(shape, 0.0, (at - low) * inverse),
                _ => Chance::NONE,
            };
            return out.extend(wanted.iter().map(chance));
        }
        // So seldom above that no two ever meet: each is chosen whenever it is above.
        let above = |&(block, at, inverse): &(usize, f64, f64)| match inverse {
            inverse if inverse > 0.0 => tail::above(shape, (at - low) * inverse).0,
            // The low end is at least as high as every point.
            _ => f64::from(u8::from(at >= low && (at > self.outside || block == self.now))),
        };
        self.running.clear();
        self.running.extend(self.arms.iter().map(above));
        if self.running.iter().sum::<f64>() < SELDOM {
            let chance = |block: &usize| {
                let Some(number) = self.arms.iter().position(|arm| arm.0 == *block) else { return Chance::NONE };
                let (_, at, inverse) = self.arms[number];
                Chance::told(shape, self.running[number], (at - low) * inverse)
            };
            return out.extend(wanted.iter().map(chance));
        }
        let crowded = self.running.iter().sum::<f64>() > 0.05;
        self.make_nodes(shape, low, high, crowded);
        let n = self.nodes.len();
        self.below.resize(self.arms.len() * n, 0.0);
        self.density.resize(self.arms.len() * n, 0.0);
        for (place, &(_, at, inverse)) in self.arms.iter().enumerate() {
            let cut = place * n..(place + 1) * n;
            let (below, density) = (&mut self.below[cut.clone()], &mut self.density[cut]);
            if inverse > 0.0 {
                run(shape, Below { nodes: &self.nodes, at, inverse, below, density });
            } else {
                below.iter_mut().zip(&self.nodes).for_each(|(below, [y, _])| *below = f64::from(u8::from(at <= *y)));
                density.fill(0.0);
            }
        }
        self.multiply();
        for &block in wanted {
            let chance = self.chance(shape, block).clamp(0.0, 1.0);
            out.push(match self.arm(block) {
                Some(&arm) if tail::has_ends(shape) && arm.2 > 0.0 => self.with_ends(shape, arm, chance, low),
                _ => Chance::of(chance),
            });
        }
    }

    fn arm(&self, block: usize) -> Option<&(usize, f64, f64)> {
        self.arms.iter().find(|arm| arm.0 == block)
    }

    /// The place of an arm whose draw has ends: where its own law has the chance, or how far it is from having one other
    /// than 0 or 1.
    fn with_ends(&self, shape: Shape, (block, at, inverse): (usize, f64, f64), chance: f64, low: f64) -> Chance {
        let place = if chance <= 0.0 {
            (at - low) * inverse
        } else if chance >= 1.0 {
            let others = self.arms.iter().filter(|arm| arm.0 != block);
            let end = |arm: &(usize, f64, f64)| if arm.2 > 0.0 { arm.1 + 1.0 / arm.2 } else { arm.1 };
            (at - others.map(end).fold(self.outside, f64::max)) * inverse
        } else {
            tail::place_with_ends(shape, chance)
        };
        Chance::told(shape, chance, place)
    }

    /// Of each arm, the product of the chances of all others to be below, at each node: those before it times those
    /// after it.
    fn multiply(&mut self) {
        let (n, arms) = (self.nodes.len(), self.arms.len());
        self.others.clear();
        self.others.resize(arms * n, 1.0);
        self.running.clear();
        self.running.resize(n, 1.0);
        for place in (0..arms).rev() {
            let cut = place * n..(place + 1) * n;
            self.others[cut.clone()].copy_from_slice(&self.running);
            self.running.iter_mut().zip(&self.below[cut]).for_each(|(product, below)| *product *= below);
        }
        self.running.fill(1.0);
        for place in 0..arms {
            let cut = place * n..(place + 1) * n;
            let others = &mut self.others[cut.clone()];
            for ((others, product), below) in others.iter_mut().zip(&mut self.running).zip(&self.below[cut]) {
                *others *= *product;
                *product *= below;
            }
        }
    }

    fn chance(&self, shape: Shape, block: usize) -> f64 {
        let n = self.nodes.len();
        let Some(place) = self.arms.iter().position(|arm| arm.0 == block) else { return 0.0 };
        let (_, at, inverse) = self.arms[place];
        if inverse <= 0.0 {
            if at < self.outside || at <= self.outside && block != self.now {
                return 0.0;
            }
            let below = |other: usize| match self.arms[other] {
                (_, location, inverse) if inverse > 0.0 => 1.0 - tail::above(shape, (location - at) * inverse).0,
                (other, location, _) => {
                    let first = block == self.now || other != self.now && block < other;
                    f64::from(u8::from(location < at || location <= at && first))
                }
            };
            return (0..self.arms.len()).filter(|&other| other != place).map(below).product();
        }
        let cut = place * n..(place + 1) * n;
        let (density, others) = (&self.density[cut.clone()], &self.others[cut]);
        self.nodes.iter().zip(density).zip(others).fold(0.0, |sum, ((node, dense), rest)| sum + node[1] * dense * rest)
    }

    fn make_nodes(&mut self, shape: Shape, low: f64, high: f64, crowded: bool) {
        /// An arm that varies within less of the range than this is narrow: the range is cut around it.
        const NARROW: f64 = 0.05;
        let [first, last] = tail::core(shape);
        let fine = tail::fineness(shape);
        let (mut cuts, mut narrow, mut wide) = (vec![low, high], Vec::new(), f64::INFINITY);
        for &(_, at, inverse) in &self.arms {
            if inverse <= 0.0 {
                cuts.push(at);
                continue;
            }
            let (begin, end, scale) = (at + first / inverse, at + last / inverse, fine / inverse);
            if scale < NARROW * (high - low) {
                cuts.extend([begin, end, 0.5 * (begin + end)]);
                narrow.push([begin, end, scale]);
            } else {
                wide = wide.min(scale);
                if tail::has_ends(shape) {
                    cuts.extend([begin, end]);
                }
            }
        }
        cuts.retain(|cut| *cut >= low && *cut <= high);
        cuts.sort_unstable_by(f64::total_cmp);
        // Where several arms may be above, products of their laws vary faster than each.
        let (least, share) = if crowded { (10, 0.7) } else { (7, 1.0) };
        self.nodes = nodes(&cuts, least, |from, to| {
            let narrow = narrow.iter().filter(|[begin, end, _]| *end > from && *begin < to).map(|of| of[2]);
            share * narrow.fold(wide, f64::min).min(to - from)
        });
    }
}

#[expect(clippy::struct_field_names, reason = "what lies below, and the density there")]
struct Below<'a> {
    nodes: &'a [[f64; 2]],
    at: f64,
    inverse: f64,
    below: &'a mut [f64],
    density: &'a mut [f64],
}

impl Of for Below<'_> {
    type Output = ();

    #[inline(always)]
    fn call<S: Standard>(self, standard: S) {
        let n = self.nodes.len();
        let (below, density) = (&mut self.below[..n], &mut self.density[..n]);
        for node in 0..n {
            let (small, low, dense) = standard.tail((self.at - self.nodes[node][0]) * self.inverse);
            below[node] = if low { 1.0 - small } else { small };
            density[node] = dense * self.inverse;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chances(laws: &[[f64; 2]], outside: f64, now: usize) -> Vec<f64> {
        let (mut row, mut found) = (Row::default(), Vec::new());
        row.set(Shape::Normal, laws, |_| true, |block| if block == laws.len() { outside } else { 0.0 }, now);
        row.chances(&(0..laws.len()).collect::<Vec<_>>(), &mut found);
        found.iter().map(|chance| chance.chance).collect()
    }

    /// A block without width beside one that is seldom better: it had no chance, since none was above the low end, which it
    /// is itself.
    #[test]
    fn a_point_beside_an_arm_that_is_seldom_better_is_chosen() {
        let found = chances(&[[0.5, 0.0], [-5.0, 0.1]], 0.0, 0);
        assert!((found[0] - 1.0).abs() < 1e-9 && found[1] < 1e-9, "{found:?}");
        let found = chances(&[[0.5, 0.0], [0.5, 0.1]], 0.0, 0);
        assert!((found[0] - 0.5).abs() < 1e-9 && (found[1] - 0.5).abs() < 1e-9, "{found:?}");
    }

    /// A point that is worth as much as staying outside is where the fresh round has the row.
    #[test]
    fn ties_of_points_go_as_the_fresh_round_went() {
        assert_eq!(chances(&[[0.0, 0.0], [0.0, 0.0]], 0.0, 1), [0.0, 1.0]);
        assert_eq!(chances(&[[0.0, 0.0], [0.0, 0.0]], 0.0, 2), [0.0, 0.0]);
        let found = chances(&[[0.0, 0.0], [0.0, 1.0]], 0.0, 0);
        assert!((found[0] - 0.5).abs() < 1e-9 && (found[1] - 0.5).abs() < 1e-9, "{found:?}");
        assert_eq!(chances(&[[0.0, 0.0], [-9.0, 0.1]], 0.0, 2)[..1], [0.0]);
    }
}
