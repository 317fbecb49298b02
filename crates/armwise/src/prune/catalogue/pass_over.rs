//! Visits the groups of a catalogue in the order of their bounds, until the rest cannot matter.

use super::groups::Groups;
use super::{Catalogue, by_upper};
use crate::kernel::Products;
use crate::prune::best::{Candidate, Candidates};
use crate::score::{Scorer, rows_per_task};
use crate::{Arms, Draw, tasks};

/// If more than one arm in this many would be scored, bounds of single arms are cheaper.
const MOST: usize = 6;
/// Arms that are scored together, at least.
const BATCH: usize = 1_024;

/// Buffers for the arms of a group.
#[derive(Default)]
struct Room {
    keys: Vec<u64>,
    ceilings: Vec<f32>,
    coefficients: Vec<f64>,
}

/// The bound of a group: an arm with a coefficient of at most g scores at most `mean` + g `width`, for g >= 0.
struct GroupBound {
    group: usize,
    mean: f64,
    width: f64,
    upper: f64,
}

impl Catalogue {
    /// The rows of the k best arms and perhaps some more, ascending; none if the groups do not tell enough.
    pub(super) fn pass_over(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
        let groups = self.groups.as_ref()?;
        let block = &scorer.blocks[0];
        let most = block.constant().unwrap_or(block.bonus.most);
        if !(most.is_finite() && most >= 0.0) {
            return None;
        }
        let bounds = self.bounds(scorer, groups, most)?;
        let (mut best, mut scored) = (Candidates::new(k), 0);
        let (mut room, mut next) = (Room::default(), 0);
        // How many arms of groups were compared with a floor, and how many of them were left.
        let (mut looked, mut kept) = (0, 0);
        while next < bounds.len() && bounds[next].upper >= best.floor {
            let mut batch: Vec<usize> = Vec::new();
            while next < bounds.len() && bounds[next].upper >= best.floor && batch.len() < BATCH.max(k) {
                let before = batch.len();
                room.members(scorer, arms, groups, &bounds[next], best.floor, &mut batch);
                if best.floor > f64::NEG_INFINITY {
                    looked += groups.rows(bounds[next].group).len();
                    kept += batch.len() - before;
                }
                next += 1;
            }
            scored += batch.len();
            if MOST * scored > arms.len() {
                return None;
            }
            let parts: Vec<&[usize]> = batch.chunks(rows_per_task(self.kernel)).collect();
            let score = |(): &mut (), part: usize| {
                arms.gather(parts[part]).with_arms(|arms| Ok(scorer.score_block(arms, 0))).ok().flatten()
            };
            let scores = tasks::map(parts.len(), || (), score).into_iter().collect::<Option<Vec<_>>>()?;
            for (&row, score) in batch.iter().zip(scores.into_iter().flatten()) {
                best.push(by_upper(row, score));
            }
            best.cut();
            let rest = bounds[next..].iter().take_while(|bound| bound.upper >= best.floor);
            let rest: usize = rest.map(|bound| groups.rows(bound.group).len()).sum();
            let share = |of: usize| if block.constant().is_some() { of } else { of * kept / looked.max(1) };
            // Normal draws dismiss ever more arms of a group, which the share of those before would not tell.
            if block.bonus.draw != Draw::Normal && MOST * (scored + share(rest)) > arms.len() {
                return None;
            }
        }
        if best.arms.len() < k {
            return None;
        }
        let mut rows: Vec<usize> = best.arms.iter().map(|arm: &Candidate| arm.place).collect();
        rows.sort_unstable();
        Some(rows)
    }

    /// The bounds of all groups, the largest first; none if a number is not finite.
    fn bounds(&self, scorer: &Scorer<'_>, groups: &Groups, most: f64) -> Option<Vec<GroupBound>> {
        let (block, widths, d) = (&scorer.blocks[0], scorer.posteriors[0].widths(), scorer.dim);
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt() * (1.0 + 1e-9) + 1e-150;
        let direction = norm(&block.direction);
        let mut products = Products::default();
        self.kernel.products(&groups.centres, &scorer.packed, &mut products);
        let bound = |group: usize| {
            let radius = groups.radii[group];
            let (dot, width) = (products.dots(0)[group], products.widths(0)[group]);
            if radius == f64::INFINITY {
                return Some(GroupBound { group, mean: radius, width: radius, upper: radius });
            }
            // The last term covers the rounding of f64 in the score and here.
            let length = direction * (norm(&groups.centres[group * d..(group + 1) * d]) + radius);
            let mean = dot + direction * radius + 1e-9 * length;
            let width = (width + widths.most * radius) * (1.0 + 4.0 * widths.eta + 1e-9);
            let upper = mean + most * width + 1e-9 * (mean.abs() + most * width);
            upper.is_finite().then_some(GroupBound { group, mean, width, upper })
        };
        let mut bounds = (0..groups.radii.len()).map(bound).collect::<Option<Vec<_>>>()?;
        bounds.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper));
        Some(bounds)
    }
}

impl Room {
    /// Adds the eligible rows of a group that may reach the floor.
    fn members(
        &mut self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        groups: &Groups,
        bound: &GroupBound,
        floor: f64,
        to: &mut Vec<usize>,
    ) {
        let Self { keys, ceilings, coefficients } = self;
        let first = to.len();
        let rows = groups.rows(bound.group).iter().map(|&row| row as usize);
        to.extend(rows.filter(|&row| arms.is_eligible(row, 0)));
        let block = &scorer.blocks[0];
        if !(bound.mean.is_finite() && floor.is_finite()) || block.constant().is_some() {
            return;
        }
        if let Some((base, factor)) = block.ceilings(arms, to[first..].iter().copied(), keys, ceilings) {
            coefficients.clear();
            coefficients.extend(ceilings.iter().map(|&z| base + factor * f64::from(z)));
        } else {
            // Draws cost little beside what they save: the features of an arm and its width.
            block.coefficients_of_rows(arms, to[first..].iter().copied(), keys, coefficients);
        }
        let mut kept = first;
        for (place, coefficient) in (first..).zip(&*coefficients) {
            let upper = bound.mean + coefficient.max(0.0) * bound.width;
            to[kept] = to[place];
            let is_below = upper + 1e-9 * upper.abs() < floor;
            // Not `>=`: NaN must not count as below the floor.
            kept += usize::from(!is_below);
        }
        to.truncate(kept);
    }
}
