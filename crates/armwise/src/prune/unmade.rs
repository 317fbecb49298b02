//! A look at arms that are not made yet: bounds for their scores from columns in f32, before any row is put together.
//!
//! The width of an arm is bounded by the [span](crate::model::Widths) of all widths, so a bound costs one
//! product per block. The error bands are those of [`rough`](crate::prune::bound): an arm that stays below a floor here has a
//! score below it in f64.

#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]
#![allow(clippy::needless_range_loop, reason = "short loops over registers, several arrays at once")]

use crate::{
    Bonus, Context, Draw, Error, Learner, Policy, Posterior, Round, Stream,
    kernel::{EIGHT, Kernel, Packed, Products},
    policy::Times,
    prune::bound::{Band, NORM},
};
use std::{fmt, sync::Arc};

/// A learner's policy made ready to bound the scores of a round; from [`Learner::look`].
pub struct Look<'p> {
    policy: &'p dyn Policy,
    posteriors: Arc<Vec<Posterior>>,
    round: Round,
    count: u64,
    kernel: Kernel,
    directions: Vec<Vec<f64>>,
    packed: Arc<Vec<Packed<f32>>>,
    bands: Vec<Band>,
    /// No width is larger than this times a norm that was found in f32.
    slopes: Vec<f64>,
}

impl fmt::Debug for Look<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look").field("round", &self.round).field("slopes", &self.slopes).finish_non_exhaustive()
    }
}

/// Arms laid out for a [`Look`], and room for what it finds.
#[derive(Debug, Default)]
pub struct Panels {
    rows: usize,
    dim: usize,
    /// They start where a cache line does, `skip` places in.
    values: Vec<f32>,
    skip: usize,
    products: Products<f32>,
    /// Whose products they are.
    of: Option<Arc<Vec<Packed<f32>>>>,
    room: Room,
}

/// Of some arms and a block.
#[derive(Debug, Default)]
struct Room {
    ids: Vec<u64>,
    coefficients: Vec<f64>,
    places: Vec<usize>,
}

impl Panels {
    /// How many arms a panel has.
    #[must_use]
    pub fn width() -> usize {
        2 * Kernel::get().width()
    }

    /// Makes room for this many arms of this dimension and lends it out, panel by panel: in each the arms' first
    /// features stand first, [`width`](Self::width) of them, then the second ones, and so on.
    ///
    /// # Panics
    /// For dimension 0.
    pub fn fill(&mut self, rows: usize, dim: usize) -> std::slice::ChunksExactMut<'_, f32> {
        const LINE: usize = 16;
        assert!(dim > 0, "arms have features");
        (self.rows, self.dim, self.of) = (rows, dim, None);
        let size = rows.next_multiple_of(Self::width()) * dim;
        self.values.resize((size + LINE).max(self.values.len()), 0.0);
        self.skip = self.values.as_ptr().align_offset(4 * LINE).min(LINE);
        self.values[self.skip..self.skip + size].chunks_exact_mut(Self::width() * dim)
    }
}

impl<P: Policy> Learner<P> {
    /// Bounds for the scores of a round, for arms that are worth making only where they can be chosen; none for
    /// dimensions beyond what f32 can tell.
    ///
    /// # Errors
    /// As [`scores`](Self::scores).
    pub fn look(&self, round: Round) -> Result<Option<Look<'_>>, Error> {
        Look::new(self.policy(), self.posteriors(round)?, round)
    }
}

impl<'p> Look<'p> {
    fn new(policy: &'p dyn Policy, posteriors: Arc<Vec<Posterior>>, round: Round) -> Result<Option<Self>, Error> {
        let kernel = Kernel::get();
        let count = posteriors.iter().map(Posterior::count).sum();
        let (mut directions, mut packed) = (Vec::new(), Vec::new());
        let (mut bands, mut slopes) = (Vec::new(), Vec::new());
        for (block, posterior) in (0..).zip(&*posteriors) {
            let at = Context { round, block, blocks: posteriors.len(), count, posterior };
            let (direction, dim) = (policy.direction(&at), posterior.dim());
            if direction.len() != dim {
                let what = "elements in the policy's direction";
                return Err(Error::Dimension { what, expected: dim, found: direction.len() });
            }
            let w = (policy.bonus(&at).times == Times::Width).then(|| posterior.factor());
            let Some(band) = Band::new(&direction, w) else { return Ok(None) };
            packed.push(kernel.pack_single(&direction, None));
            bands.push(band);
            let span = posterior.widths();
            let fine = span.eta < 0.01;
            if w.is_some() && !fine {
                return Ok(None);
            }
            slopes.push(if w.is_some() { NORM * span.most } else { 0.0 });
            directions.push(direction);
        }
        let packed = Arc::new(packed);
        Ok(Some(Self { policy, posteriors, round, count, kernel, directions, packed, bands, slopes }))
    }

    /// Shares products with another look at the same arms, where both have the same directions.
    #[must_use]
    pub fn beside(mut self, other: &Look<'_>) -> Self {
        if self.directions == other.directions {
            self.packed = Arc::clone(&other.packed);
        }
        self
    }

    /// Marks the arms that may reach the floor of a block in which they are eligible, and perhaps some that just miss
    /// it. `ids` are the arms', `eligible` has a flag for each arm and block, or none at all. Arms with a number that is
    /// not finite are marked, too, eligible or not.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn reach(&self, arms: &mut Panels, ids: &[u64], eligible: &[bool], floors: &[f64], reached: &mut [bool]) {
        let blocks = self.packed.len();
        assert!(floors.len() == blocks && ids.len() == arms.rows && reached.len() == arms.rows, "one for each");
        assert_eq!(arms.dim, self.posteriors[0].dim(), "features to an arm");
        assert!(eligible.is_empty() || eligible.len() == arms.rows * blocks, "a flag for each arm and block");
        let Panels { rows, values, skip, products, of, room, .. } = arms;
        if !of.as_ref().is_some_and(|of| Arc::ptr_eq(of, &self.packed)) {
            self.kernel.approximate_panels(&values[*skip..], *rows, &self.packed, products);
            *of = Some(Arc::clone(&self.packed));
        }
        let norms = products.norms();
        reached.iter_mut().zip(norms).for_each(|(reached, norm)| *reached |= !norm.is_finite());
        let posteriors = (0..).zip(&*self.posteriors).zip(floors);
        for ((block, posterior), &floor) in posteriors {
            let at = Context { round: self.round, block, blocks, count: self.count, posterior };
            let bonus = self.policy.bonus(&at);
            let block = block as usize;
            let dots = products.dots(block);
            let (band, slope) = (self.bands[block], self.slopes[block]);
            room.places.clear();
            let (times, mut most) = (bonus.times, [bonus.most]);
            if bonus.draw == Draw::None {
                bonus.coefficients(&mut most);
            }
            let [most] = most;
            let few = Few { band, slope, times, most, floor, dots, norms, reached, places: &mut room.places };
            pulp::Arch::new().dispatch(few);
            if !eligible.is_empty() {
                room.places.retain(|&row| eligible[row * blocks + block]);
            }
            if bonus.draw == Draw::None {
                room.places.iter().for_each(|&row| reached[row] = true);
                continue;
            }
            self.draw(&bonus, block, ids, room);
            for (&row, &coefficient) in room.places.iter().zip(&room.coefficients) {
                // Not `>=`: what is no number is not below.
                let below = upper(band, times, slope, coefficient, dots[row], norms[row]) < floor;
                reached[row] |= !below;
            }
        }
    }

    /// The coefficients of the arms in `places`, from their own draws.
    fn draw(&self, bonus: &Bonus<'_>, block: usize, ids: &[u64], room: &mut Room) {
        let Room { ids: own, coefficients, places } = room;
        own.clear();
        own.extend(places.iter().map(|&row| ids[row]));
        coefficients.clear();
        coefficients.resize(own.len(), 0.0);
        let draws = self.round.draws(block as u32, Stream::BONUS);
        match bonus.draw {
            Draw::None => {}
            Draw::Uniform => draws.uniforms(own, coefficients),
            Draw::Normal => draws.normals(own, coefficients),
        }
        bonus.coefficients(coefficients);
    }
}

/// A bound of a score from its coefficient. A width is not negative, so a negative coefficient adds nothing at best; an
/// infinite one is left to make the bound no number.
#[inline(always)]
fn upper(band: Band, times: Times, slope: f64, coefficient: f64, dot: f32, norm: f32) -> f64 {
    let (dot, norm) = (f64::from(dot), f64::from(norm));
    let nothing = times == Times::Width && coefficient < 0.0 && coefficient.is_finite();
    let coefficient = if nothing { 0.0 } else { coefficient };
    let scan = dot + times.of(coefficient, slope * norm);
    scan + band.of(scan, norm, coefficient)
}

/// The arms that may reach a floor with the largest coefficient there is, those that are marked already left out.
struct Few<'a> {
    band: Band,
    slope: f64,
    times: Times,
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
        let Self { band, slope, times, most, floor, dots, norms, reached, places } = self;
        if most == f64::INFINITY {
            places.extend((0..reached.len()).filter(|&row| !reached[row]));
            return;
        }
        let (some_dots, dots_rest) = dots.as_chunks::<EIGHT>();
        let (some_norms, norms_rest) = norms.as_chunks::<EIGHT>();
        let upper = |dot: f32, norm: f32| upper(band, times, slope, most, dot, norm);
        for (first, (dots, norms)) in (0..).step_by(EIGHT).zip(some_dots.iter().zip(some_norms)) {
            let mut below = [false; EIGHT];
            for lane in 0..EIGHT {
                // Not `>=`: what is no number is not below.
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
    use crate::{Algorithm, ArmWiseTs, Arms, C2ucb, Greedy, Model, Observation, Pc2ucb, Random, RoundWiseTs};

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
            Algorithm::Greedy(Greedy { lambda: 1.0 }),
            Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: 0.5.into() }),
            Algorithm::Pc2ucb(Pc2ucb { lambda: 1.0, alpha: 0.5.into(), c: 1.0 }),
            Algorithm::RoundWiseTs(RoundWiseTs { lambda: 1.0, v: 0.3.into() }),
            Algorithm::ArmWiseTs(ArmWiseTs { lambda: 1.0, v: 0.3.into() }),
            Algorithm::Random(Random { lambda: 1.0 }),
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
            let look = learner.look(round).expect("a look").expect("few dimensions");
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
                look.reach(&mut panels, &ids, &eligible, &floors, &mut reached);
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
