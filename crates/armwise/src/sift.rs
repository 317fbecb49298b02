//! Leaving out rows that do not reach given floors, before they are scored in f64.
//!
//! The decision to know: the first look is in f32 with the intervals of [`scan`](crate::scan), so a row is left out
//! only where its f64 scores are certain to be below the floors; a few rows that miss a floor by less than the
//! interval may stay.

use crate::{
    Arms, Error, Features, Learner, Policy, Round,
    kernel::{Packed, Products},
    scan::{Band, Intervals},
    scoring::{Scorer, rows_per_task},
};
use rayon::prelude::*;

impl<P: Policy> Learner<P> {
    /// Rows that matter to someone who knows a floor for the scores of each block, ascending: all rows that reach the
    /// floor of a block in which they are eligible, and perhaps some that just miss it.
    ///
    /// For tables that are read in parts: the prices of an [`Assignment`](crate::Assignment) over the rows seen so far
    /// are such floors for the rows to come, since more rows only raise them.
    ///
    /// # Errors
    /// As [`scores`](Self::scores), and [`Error::Dimension`] for another number of floors than blocks.
    ///
    /// # Example
    /// ```
    /// use armwise::{Algorithm, Arms, Greedy, Learner, Model, Observation, Round};
    /// let mut model = Model::new(1, 1)?;
    /// model.observe(&Observation { t: 1, block: 0, x: &[1.0], reward: 1.0 })?;
    /// let learner = Learner::with_model(Algorithm::Greedy(Greedy { lambda: 1.0 }), model)?;
    /// let x = [0.2, 0.8, 0.4, 0.6];
    /// assert_eq!(learner.sift(Round::new(1, 2), &Arms::new(&x[..], 1)?, &[0.25])?, [1, 3]); // scores are x / 2
    /// # Ok::<(), armwise::Error>(())
    /// ```
    pub fn sift(&self, round: Round, arms: &Arms<'_>, floors: &[f64]) -> Result<Vec<usize>, Error> {
        let posteriors = self.posteriors(round)?;
        let scorer = Scorer::new(self.policy(), &posteriors, round)?;
        scorer.check(arms)?;
        if floors.len() != posteriors.len() {
            return Err(Error::Dimension { what: "floors", expected: posteriors.len(), found: floors.len() });
        }
        if let Some(sift) = Sift::new(&scorer, floors) {
            let rows_per_task = rows_per_task(scorer.kernel);
            let task = |room: &mut Room, task: usize| {
                let first = task * rows_per_task;
                let mut rows = sift.part(&arms.slice(first..arms.len().min(first + rows_per_task)), room)?;
                rows.iter_mut().for_each(|row| *row += first);
                Some(rows)
            };
            let tasks = (0..arms.len().div_ceil(rows_per_task)).into_par_iter();
            let parts: Option<Vec<Vec<usize>>> = tasks.map_init(Room::default, task).collect();
            if let Some(parts) = parts {
                return Ok(parts.concat());
            }
        }
        // Beyond what f32 can tell; what is not finite gets its error here.
        let scores = scorer.score(arms)?;
        let reaches = |(block, score): (usize, &f64)| *score >= floors[block] && *score > f64::NEG_INFINITY;
        let rows = scores.chunks_exact(floors.len()).enumerate();
        Ok(rows.filter(|(_, scores)| scores.iter().enumerate().any(reaches)).map(|(row, _)| row).collect())
    }
}

/// What all tasks share.
struct Sift<'a, 'p> {
    scorer: &'a Scorer<'p>,
    floors: &'a [f64],
    packed: Vec<Packed<f32>>,
    bands: Vec<Band>,
}

/// What a task needs room for.
#[derive(Default)]
struct Room {
    products: Products<f32>,
    ids: Vec<u64>,
    coefficients: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
    reached: Vec<bool>,
}

impl<'a, 'p> Sift<'a, 'p> {
    fn new(scorer: &'a Scorer<'p>, floors: &'a [f64]) -> Option<Self> {
        let packed = scorer.blocks.iter().map(|block| scorer.kernel.pack_single(&block.direction, block.w())).collect();
        let bands = scorer.blocks.iter().map(|block| Band::new(&block.direction, block.w()));
        Some(Self { scorer, floors, packed, bands: bands.collect::<Option<_>>()? })
    }

    /// The rows of a part that may reach a floor; none if a number is beyond f32.
    fn part(&self, part: &Arms<'_>, room: &mut Room) -> Option<Vec<usize>> {
        let Room { products, ids, coefficients, upper, lower, reached } = room;
        match part.features() {
            Features::F32(x) => self.scorer.kernel.approximate(x, &self.packed, products),
            Features::F64(x) => self.scorer.kernel.approximate(x, &self.packed, products),
        }
        part.ids_into(ids);
        upper.resize(part.len(), 0.0);
        lower.resize(part.len(), 0.0);
        reached.clear();
        reached.resize(part.len(), false);
        let masked = part.eligible_per_row() > 0;
        for (block, scorer) in self.scorer.blocks.iter().enumerate() {
            scorer.coefficients(ids, coefficients);
            let intervals = Intervals {
                times: scorer.bonus.times,
                band: self.bands[block],
                dots: products.dots(block),
                widths: products.widths(block),
                norms: products.norms(),
                coefficients,
                upper,
                lower,
            };
            if !pulp::Arch::new().dispatch(intervals) {
                return None;
            }
            let floor = self.floors[block];
            for (row, (reached, upper)) in reached.iter_mut().zip(&*upper).enumerate() {
                *reached |= *upper >= floor && (!masked || part.is_eligible(row, block));
            }
        }
        Some((0..part.len()).filter(|&row| reached[row]).collect())
    }
}
