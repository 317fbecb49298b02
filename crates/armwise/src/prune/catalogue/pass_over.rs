//! Bounds the arms of groups in the order of the groups' own bounds, until the rest cannot matter.
//!
//! An arm is looked at only as closely as it takes: its group and the bits of its draw come first, then its bytes
//! ([`Coarse`](super::coarse::Coarse)), then its draw; its features are left to whoever scores the candidates. Each group
//! is a task, and all tasks share a floor.

use super::Catalogue;
use super::coarse::{Turned, length};
use super::groups::Groups;
use crate::kernel::Products;
use crate::prune::best::{Candidate, Candidates, Floor};
use crate::prune::bound::Bound;
use crate::prune::is_few;
use crate::score::Scorer;
use crate::{Arms, tasks};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// If the bytes of more than one arm in this many would be read, bounds from remembered widths are cheaper.
const MOST: usize = 6;
/// Rounding of f64, relative to what is added up.
const SLACK: f64 = 1e-9;

/// The bound of a group: an arm with a coefficient of at most g scores at most `mean` + g `wide`, for g >= 0.
struct GroupBound {
    group: usize,
    mean: f64,
    narrow: f64,
    wide: f64,
    upper: f64,
}

/// What all tasks share.
struct Pass<'a, 'p> {
    scorer: &'a Scorer<'p>,
    arms: &'a Arms<'a>,
    groups: &'a Groups,
    turned: Turned,
    bounds: Vec<GroupBound>,
    /// The largest coefficient.
    most: f64,
    floor: Floor,
    /// How many arms' bytes were read.
    looked: AtomicUsize,
    /// A number was not finite, or too many arms were looked at.
    stop: AtomicBool,
}

/// What a task has found, and its buffers for the arms of a group.
struct State {
    candidates: Candidates,
    rows: Vec<usize>,
    keys: Vec<u64>,
    ceilings: Vec<f32>,
    coefficients: Vec<f64>,
    sums: Vec<i32>,
    /// direction . x of each arm, and how far it may be off.
    dots: Vec<(f64, f64)>,
}

impl State {
    fn new(k: usize) -> Self {
        let (rows, keys, ceilings, coefficients, sums, dots) = Default::default();
        Self { candidates: Candidates::new(k), rows, keys, ceilings, coefficients, sums, dots }
    }
}

impl Catalogue {
    /// The rows of the k best arms and some more, ascending; none if the groups do not tell enough.
    pub(super) fn pass_over(&self, scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
        let groups = self.groups.as_ref()?;
        let block = &scorer.blocks[0];
        let most = block.constant().unwrap_or(block.bonus.most);
        if !(most.is_finite() && most >= 0.0) {
            return None;
        }
        let (bounds, turned) =
            (self.bounds(scorer, groups, most)?, self.coarse.turned(&block.direction, Some(groups))?);
        let (floor, looked, stop) = (Floor::new(f64::NEG_INFINITY), AtomicUsize::new(0), AtomicBool::new(false));
        let pass = Pass { scorer, arms, groups, turned, bounds, most, floor, looked, stop };
        let states = tasks::share(pass.bounds.len(), || State::new(k), |state, task| self.task(&pass, state, task));
        if pass.stop.load(Relaxed) {
            return None;
        }
        let all = Candidates::of_all(k, f64::NEG_INFINITY, states.into_iter().map(|state| state.candidates)).arms;
        if all.len() < k || !is_few(all.len(), arms.len()) {
            return None;
        }
        let mut rows: Vec<usize> = all.iter().map(|arm: &Candidate| arm.place).collect();
        rows.sort_unstable();
        Some(rows)
    }

    /// The bounds of all groups, the largest first; none if a number is not finite.
    fn bounds(&self, scorer: &Scorer<'_>, groups: &Groups, most: f64) -> Option<Vec<GroupBound>> {
        let (block, widths) = (&scorer.blocks[0], scorer.posteriors[0].widths());
        let direction = length(block.direction.iter().copied());
        let mut products = Products::default();
        self.kernel.products(&groups.centres, &scorer.packed, &mut products);
        let bound = |group: usize| {
            let radius = groups.radii[group];
            let (dot, width) = (products.dots(0)[group], products.widths(0)[group]);
            if radius == f64::INFINITY {
                return Some(GroupBound { group, mean: radius, narrow: 0.0, wide: radius, upper: radius });
            }
            let size = direction * (length(groups.centre(group).iter().copied()) + radius);
            let mean = dot + direction * radius + SLACK * size;
            let (off, rounding) = (widths.most * radius, 4.0 * widths.eta + SLACK);
            let narrow = (width * (1.0 - rounding) - off).max(0.0) * (1.0 - rounding);
            let wide = (width + off) * (1.0 + rounding);
            let upper = mean + most * wide + SLACK * (mean.abs() + most * wide);
            upper.is_finite().then_some(GroupBound { group, mean, narrow, wide, upper })
        };
        let mut bounds = (0..groups.radii.len()).map(bound).collect::<Option<Vec<_>>>()?;
        bounds.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper));
        Some(bounds)
    }

    /// Adds the arms of a group that may reach the floor to the candidates.
    fn task(&self, pass: &Pass<'_, '_>, state: &mut State, task: usize) {
        let Pass { scorer, arms, .. } = *pass;
        let (block, bound) = (&scorer.blocks[0], &pass.bounds[task]);
        let floor = pass.floor.raise(&mut state.candidates);
        if bound.upper < floor || pass.stop.load(Relaxed) {
            return;
        }
        state.members(pass, bound, floor);
        let State { candidates, rows, keys, coefficients, sums, dots, .. } = state;
        let before = pass.looked.fetch_add(rows.len(), Relaxed);
        if MOST * (before + rows.len()) > arms.len() {
            return pass.stop.store(true, Relaxed);
        }
        self.coarse.dots(self.kernel, &pass.turned, rows, sums, dots);
        let most = scorer.posteriors[0].widths().most;
        let wide = |row: usize| {
            // Of arms that are close to nothing the norm tells; the numbers are for its rounding to f32.
            if bound.wide.is_finite() { bound.wide } else { most * (1.001 * f64::from(self.norms[row]) + 1e-37) }
        };
        let mut kept = 0;
        for (place, coefficient) in coefficients.iter().enumerate() {
            let ((dot, off), row) = (dots[place], rows[place]);
            let wide = coefficient.max(0.0) * wide(row);
            (dots[kept], rows[kept]) = (dots[place], row);
            let is_below = dot + off + wide + SLACK * (dot.abs() + wide) < floor;
            // Not `>=`: NaN must not count as below the floor.
            kept += usize::from(!is_below);
        }
        rows.truncate(kept);
        block.coefficients_of_rows(arms, rows.iter().copied(), keys, coefficients);
        for ((&row, &(dot, off)), &g) in rows.iter().zip(&*dots).zip(&*coefficients) {
            let (narrow, wide) = (g * bound.narrow, g * wide(row));
            let error = off + SLACK * (dot.abs() + narrow.abs() + wide.abs());
            let own = Bound { upper: dot + narrow.max(wide) + error, lower: dot + narrow.min(wide) - error };
            if !(own.upper.is_finite() && own.lower.is_finite()) {
                return pass.stop.store(true, Relaxed);
            }
            if own.upper >= candidates.floor {
                pass.floor.push(candidates, Candidate { bound: own, place: row });
            }
        }
    }
}

impl State {
    /// The eligible rows of a group that may reach the floor, with what their coefficients are at most.
    fn members(&mut self, pass: &Pass<'_, '_>, bound: &GroupBound, floor: f64) {
        let Self { rows, keys, ceilings, coefficients, .. } = self;
        let Pass { scorer, arms, groups, .. } = *pass;
        rows.clear();
        let members = groups.rows(bound.group).iter().map(|&row| row as usize);
        rows.extend(members);
        if arms.eligible_per_row() > 0 {
            rows.retain(|&row| arms.is_eligible(row, 0));
        }
        let block = &scorer.blocks[0];
        if !(bound.mean.is_finite() && floor.is_finite()) || block.constant().is_some() {
            coefficients.clear();
            coefficients.resize(rows.len(), pass.most);
            return;
        }
        if let Some((base, factor)) = block.ceilings(arms, rows.iter().copied(), keys, ceilings) {
            coefficients.clear();
            coefficients.extend(ceilings.iter().map(|&z| base + factor * f64::from(z)));
        } else {
            // Draws cost little beside what they save.
            block.coefficients_of_rows(arms, rows.iter().copied(), keys, coefficients);
        }
        let mut kept = 0;
        for place in 0..rows.len() {
            let upper = bound.mean + coefficients[place].max(0.0) * bound.wide;
            (rows[kept], coefficients[kept]) = (rows[place], coefficients[place]);
            let is_below = upper + SLACK * upper.abs() < floor;
            // Not `>=`: NaN must not count as below the floor.
            kept += usize::from(!is_below);
        }
        rows.truncate(kept);
        coefficients.truncate(kept);
    }
}
