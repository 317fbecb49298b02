//! Screening: finds the rows that may reach a floor from columns in f32, before their rows of features are made.
//!
//! The width is bounded by the norm alone, so a bound costs one product per block. The features in the columns may
//! be off by a few units in the last place of f32, which the error of [`bound`](super::bound) covers.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]
#![allow(clippy::needless_range_loop, reason = "short loops over registers, several arrays at once")]

use super::bound::{Formula, FromNorm, WidthSource};
use super::source::formulas_of_norms;
use crate::kernel::{EIGHT, Kernel, Packed, Products};
use crate::score::Scorer;
use std::{fmt, sync::Arc};

/// What a screen needs of a scorer, prepared once.
#[derive(Debug)]
pub(crate) struct Screening {
    directions: Vec<Vec<f64>>,
    packed: Vec<Packed<f32>>,
    formulas: Vec<Formula>,
}

impl Screening {
    /// None if the dimension is too large for bounds in f32, or if V is nearly singular.
    pub(crate) fn new(scorer: &Scorer<'_>) -> Option<Arc<Self>> {
        let directions: Vec<Vec<f64>> = scorer.blocks.iter().map(|block| block.direction.clone()).collect();
        let packed = directions.iter().map(|direction| scorer.kernel.pack_single(direction, None)).collect();
        Some(Arc::new(Self { directions, packed, formulas: formulas_of_norms(scorer)? }))
    }

    fn multiplies_like(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other) || self.directions == other.directions
    }
}

/// Tells which rows are worth making; from [`Choosing::screen`](crate::Choosing::screen).
pub struct Screen<'a> {
    pub(crate) scorer: &'a Scorer<'a>,
    pub(crate) screening: &'a Arc<Screening>,
    pub(crate) floors: Vec<f64>,
}

impl fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("floors", &self.floors).finish_non_exhaustive()
    }
}

/// Rows as columns, for a [`Screen`]: features in single precision, laid out in panels of [`width`](Self::width) rows.
/// Several screens may read the same panels.
#[derive(Debug, Default)]
pub struct Panels {
    rows: usize,
    dim: usize,
    /// The panels start at index `skip`, which lies on a cache line.
    values: Vec<f32>,
    skip: usize,
    products: Products<f32>,
    /// The screening that the products belong to.
    of: Option<Arc<Screening>>,
    room: Room,
}

/// Buffers for some rows in one block.
#[derive(Debug, Default)]
struct Room {
    ids: Vec<u64>,
    coefficients: Vec<f64>,
    places: Vec<usize>,
}

impl Panels {
    /// How many rows a panel has.
    #[must_use]
    pub fn width() -> usize {
        2 * Kernel::get().width()
    }

    /// Makes room for this many rows of this dimension and returns it panel by panel, to be filled. A panel holds the
    /// first feature of each of its [`width`](Self::width) rows, then the second feature of each, and so on.
    ///
    /// # Panics
    /// For dimension 0.
    pub fn fill(&mut self, rows: usize, dim: usize) -> std::slice::ChunksExactMut<'_, f32> {
        const LINE: usize = 16;
        assert!(dim > 0, "rows have features");
        (self.rows, self.dim, self.of) = (rows, dim, None);
        let size = rows.next_multiple_of(Self::width()) * dim;
        self.values.resize((size + LINE).max(self.values.len()), 0.0);
        self.skip = self.values.as_ptr().align_offset(4 * LINE).min(LINE);
        self.values[self.skip..self.skip + size].chunks_exact_mut(Self::width() * dim)
    }
}

impl Screen<'_> {
    /// Marks the rows that may reach the floor of a block in which they are eligible, and perhaps some that just miss
    /// it. `ids` are the ids of the rows; `eligible` has a flag for each row and block, or is empty. Rows with a number
    /// that is not finite are marked too, eligible or not.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn mark(&self, rows: &mut Panels, ids: &[u64], eligible: &[bool], marked: &mut [bool]) {
        let blocks = self.floors.len();
        assert!(ids.len() == rows.rows && marked.len() == rows.rows, "one for each row");
        assert_eq!(rows.dim, self.scorer.dim, "features to a row");
        assert!(eligible.is_empty() || eligible.len() == rows.rows * blocks, "a flag for each row and block");
        let Panels { rows, values, skip, products, of, room, .. } = rows;
        if !of.as_ref().is_some_and(|of| of.multiplies_like(self.screening)) {
            self.scorer.kernel.approximate_panels(&values[*skip..], *rows, &self.screening.packed, products);
            *of = Some(Arc::clone(self.screening));
        }
        let norms = products.norms();
        marked.iter_mut().zip(norms).for_each(|(marked, norm)| *marked |= !norm.is_finite());
        for (block, (&floor, own)) in self.floors.iter().zip(&self.scorer.blocks).enumerate() {
            let (dots, formula, bonus) = (products.dots(block), self.screening.formulas[block], &own.bonus);
            let constant = own.constant();
            let most = constant.unwrap_or(bonus.most);
            let Room { ids: own_ids, coefficients, places } = room;
            places.clear();
            self.scorer.kernel.dispatch(Few { formula, most, floor, dots, norms, reached: marked, places });
            if !eligible.is_empty() {
                places.retain(|&row| eligible[row * blocks + block]);
            }
            own_ids.clear();
            own_ids.extend(places.iter().map(|&row| ids[row]));
            if constant.is_some() || own.coefficients_of_ids(own_ids, coefficients).is_none() {
                places.iter().for_each(|&row| marked[row] = true);
                continue;
            }
            for (&row, &coefficient) in places.iter().zip(&*coefficients) {
                // Not `>=`: NaN must not count as below the floor.
                let below = upper(formula, coefficient, dots[row], norms[row]) < floor;
                marked[row] |= !below;
            }
        }
    }
}

/// The upper end of a score's bound.
#[inline(always)]
fn upper(formula: Formula, coefficient: f64, dot: f32, norm: f32) -> f64 {
    let (dot, norm) = (f64::from(dot), f64::from(norm));
    formula.bound(dot, norm, coefficient, FromNorm.range(formula, 0, norm)).upper
}

/// The rows that may reach a floor even with the largest coefficient, without those already marked.
struct Few<'a> {
    formula: Formula,
    most: f64,
    floor: f64,
    dots: &'a [f32],
    norms: &'a [f32],
    reached: &'a [bool],
    places: &'a mut Vec<usize>,
}

impl pulp::NullaryFnOnce for Few<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { formula, most, floor, dots, norms, reached, places } = self;
        if most == f64::INFINITY {
            places.extend((0..reached.len()).filter(|&row| !reached[row]));
            return;
        }
        let (some_dots, dots_rest) = dots.as_chunks::<EIGHT>();
        let (some_norms, norms_rest) = norms.as_chunks::<EIGHT>();
        let upper = |dot: f32, norm: f32| upper(formula, most, dot, norm);
        for (first, (dots, norms)) in (0..).step_by(EIGHT).zip(some_dots.iter().zip(some_norms)) {
            let mut below = [false; EIGHT];
            for lane in 0..EIGHT {
                // Not `>=`: NaN must not count as below the floor.
                below[lane] = upper(dots[lane], norms[lane]) < floor;
            }
            if below != [true; EIGHT] {
                places
                    .extend((0..EIGHT).filter(|&lane| !below[lane] && !reached[first + lane]).map(|lane| first + lane));
            }
        }
        let first = some_dots.len() * EIGHT;
        for (row, (&dot, &norm)) in (first..).zip(dots_rest.iter().zip(norms_rest)) {
            let below = upper(dot, norm) < floor;
            if !below && !reached[row] {
                places.push(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Algorithm, ArmWiseTs, Arms, C2ucb, Greedy, Learner, Model, Observation, Pc2ucb, Random, Round, RoundWiseTs,
        Stream,
    };

    const D: usize = 12;
    const BLOCKS: usize = 3;

    fn draws() -> crate::Draws {
        Round::new(3, 1).draws(0, Stream(300))
    }

    fn model(seen: usize) -> Model {
        let mut model = Model::new(D, BLOCKS).expect("a shape");
        for i in 0..seen as u64 {
            let x: Vec<f64> = (0..D as u64).map(|j| draws().normal(1 << 40 | i << 8 | j) / (1 + j) as f64).collect();
            let (block, reward) = ((i % 3) as u32, x[0] + draws().normal(1 << 50 | i));
            model.observe(&Observation { t: 1, block, x: &x, reward }).expect("finite");
        }
        model
    }

    /// Whatever reaches its floor in f64 is marked, and little else is; numbers that are not finite are marked.
    #[test]
    fn all_that_reach_a_floor_are_marked() {
        let algorithms = [
            Algorithm::Greedy(Greedy::new(1.0)),
            Algorithm::C2ucb(C2ucb::new(1.0, 0.5)),
            Algorithm::Pc2ucb(Pc2ucb::new(1.0, 0.5, 1.0)),
            Algorithm::RoundWiseTs(RoundWiseTs::new(1.0, 0.3)),
            Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.3)),
            Algorithm::Random(Random::new(1.0)),
        ];
        let rows = 1_000;
        let x: Vec<f64> = (0..(rows * D) as u64).map(|id| draws().normal(id)).collect();
        let ids: Vec<u64> = (0..rows as u64).map(|id| id * 0x9E37_79B9_7F4A_7C15).collect();
        let eligible: Vec<bool> = (0..rows * BLOCKS).map(|place| !place.is_multiple_of(7)).collect();
        let arms = Arms::new(&x, D).and_then(|arms| arms.with_ids(&ids)).expect("arms");
        let arms = arms.with_eligible(&eligible).expect("flags");
        for (seen, algorithm) in [0, 600].into_iter().flat_map(|seen| algorithms.map(|algorithm| (seen, algorithm))) {
            let learner = Learner::with_model(algorithm, model(seen)).expect("parameters");
            let round = Round::new(5, 2);
            let scores = learner.scores(round, &arms).expect("finite");
            let floors: Vec<f64> = (0..BLOCKS)
                .map(|block| {
                    let mut own: Vec<f64> = scores.iter().skip(block).step_by(BLOCKS).copied().collect();
                    own.sort_unstable_by(|a, b| b.total_cmp(a));
                    own[20]
                })
                .collect();
            let posteriors = (0..BLOCKS as u32).map(|block| learner.posterior(block).expect("factors")).collect();
            let scorer = Scorer::new(learner.policy(), Arc::new(posteriors), round).expect("directions");
            let screening = Screening::new(&scorer).expect("few dimensions");
            let screen = Screen { scorer: &scorer, screening: &screening, floors: floors.clone() };
            let mut panels = Panels::default();
            let mut lay_out = |bad: Option<usize>| {
                let panel = Panels::width();
                for (first, panel_of) in (0..).step_by(panel).zip(panels.fill(rows, D)) {
                    for (place, to) in panel_of.iter_mut().enumerate() {
                        let (row, column) = (first + place % panel, place / panel);
                        *to = x.get(row * D + column).map_or(0.0, |&x| x as f32);
                        if bad == Some(row) {
                            *to = f32::NAN;
                        }
                    }
                }
                let mut reached = vec![false; rows];
                screen.mark(&mut panels, &ids, &eligible, &mut reached);
                reached
            };
            let reached = lay_out(None);
            let wanted = scores.chunks_exact(BLOCKS).map(|scores| scores.iter().zip(&floors).any(|(s, f)| s >= f));
            let wanted: Vec<bool> = wanted.collect();
            let missed = (0..rows).find(|&row| wanted[row] && !reached[row]);
            assert_eq!(missed, None, "{algorithm:?} after {seen}");
            let (marked, of) = (reached.iter().filter(|&&r| r).count(), wanted.iter().filter(|&&w| w).count());
            assert!(marked <= 4 * of, "{marked} marked for {of}: {algorithm:?} after {seen}");
            assert!(lay_out(Some(777))[777], "{algorithm:?}: not finite");
        }
    }
}
