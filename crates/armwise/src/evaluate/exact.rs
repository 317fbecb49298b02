//! Exact probabilities: the sets of a constraint, the law of each set's threshold, and the arms asked for.

use super::Inclusion;
use super::law::{self, ThresholdLaw};
use super::spread::Spread;
use super::tail;
use super::threshold::{self, Part, Rank, Set};
use crate::kernel::Products;
use crate::oracle::Separate;
use crate::score::{Scorer, blame, rows_per_task};
use crate::{Arms, Error, Features, Learner, Method, Pick, Policy, Scores, Ties, tasks};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What is known of the arms of a round: direction . x and width of every arm, row-major, and what follows from them.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) spreads: &'a [Spread],
    pub(super) measured: &'a [[f64; 2]],
}

impl Known<'_> {
    /// Location and scale of an arm's score.
    #[inline]
    pub(super) fn law(&self, arm: usize) -> [f64; 2] {
        let [dot, width] = self.measured[arm];
        self.spreads[arm % self.spreads.len()].at(dot, width)
    }

    /// Of all arms.
    pub(super) fn laws(&self) -> Vec<[f64; 2]> {
        (0..self.measured.len()).map(|arm| self.law(arm)).collect()
    }
}

/// Probabilities that a task finds.
const TASK: usize = 4096;

/// The arms of a set that a task has met: which, and what their scores may be.
#[derive(Default)]
struct Met {
    at: Vec<usize>,
    locations: Vec<f64>,
    inverses: Vec<f64>,
    out: Vec<f64>,
}

impl<P: Policy> Learner<P> {
    /// The probabilities of picks, or of all arms, where the constraint falls into sets of arms that compete among
    /// themselves only.
    pub(super) fn exact(
        &self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        (of, limits): &Separate,
        known: Known<'_>,
        picks: Option<&[Pick]>,
    ) -> Result<Option<Inclusion>, Error> {
        let blocks = known.spreads.len();
        let shape = known.spreads[0].shape;
        let mut found: Vec<ThresholdLaw> = Vec::with_capacity(limits.len());
        for (set, (limit, [min, max])) in limits.iter().enumerate() {
            let own = of.iter().enumerate().filter(|(_, of)| **of == set as u32).map(|(arm, _)| known.law(arm));
            let Some(parts) = Set::new(shape, own).between(*min, *max) else { return Ok(None) };
            found.push(ThresholdLaw { limit: limit.clone(), spreads: known.spreads.to_vec(), parts });
        }
        let arm_of = |place: usize| picks.map_or(place, |picks| picks[place].row * blocks + picks[place].block);
        let count = picks.map_or(of.len(), <[Pick]>::len);
        let (mut probabilities, points) = (vec![0.0; count], Mutex::new(Vec::new()));
        let [_, last] = tail::reach(shape);
        let bottom = |law: &ThresholdLaw| law.parts.iter().map(Part::bottom).fold(f64::INFINITY, f64::min);
        let bottoms: Vec<f64> = found.iter().map(bottom).collect();
        let task = |room: &mut Vec<Met>, number: usize, out: &mut [f64]| {
            for place in 0..out.len() {
                let arm = arm_of(number * TASK + place);
                let Some(met) = room.get_mut(of[arm] as usize) else { continue };
                let [location, scale] = known.law(arm);
                match threshold::inverse(location, scale) {
                    Some(_) if location + last * scale <= bottoms[of[arm] as usize] => {}
                    Some(inverse) => {
                        met.at.push(place);
                        met.locations.push(location);
                        met.inverses.push(inverse);
                    }
                    None => points.lock().unwrap_or_else(PoisonError::into_inner).push(number * TASK + place),
                }
            }
            for (met, law) in room.iter_mut().zip(&found).filter(|(met, _)| !met.at.is_empty()) {
                met.out.clear();
                met.out.resize(met.at.len(), 0.0);
                let Met { at, locations, inverses, out: own } = met;
                law.parts.iter().for_each(|part| part.of_spread(shape, locations, inverses, own));
                at.iter().zip(own).for_each(|(&place, pi)| out[place] = *pi);
                [locations, inverses].into_iter().for_each(Vec::clear);
                at.clear();
            }
        };
        let room = || (0..limits.len()).map(|_| Met::default()).collect();
        tasks::share_parts(probabilities.chunks_mut(TASK), room, task);
        let points = points.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !points.is_empty() {
            let laws = known.laws();
            let values = may_be_chosen(arms, &laws, blocks);
            let scores = Scores::new(&values, blocks, *arms, self.ties, scorer.round)?;
            let ranks: Vec<_> = (0..limits.len()).map(|set| ranks(&scores, of, set as u32, &laws, self.ties)).collect();
            for place in points {
                let arm = arm_of(place);
                let set = of[arm] as usize;
                let rank = ranks[set].get(&arm).copied().unwrap_or(Rank::Any);
                let [location, scale] = laws[arm];
                probabilities[place] = law::probability(&found[set].parts, shape, location, scale, rank);
            }
        }
        let certain = (0..of.len()).all(|arm| of[arm] == u32::MAX || known.law(arm)[1] <= 0.0);
        let zero_or_one = |pi: &f64| *pi <= 0.0 || *pi >= 1.0;
        let method = if certain && probabilities.iter().all(zero_or_one) { Method::Degenerate } else { Method::Exact };
        let (standard_errors, replicates) = (Vec::new(), 0);
        Ok(Some(Inclusion { method, probabilities, standard_errors, replicates, laws: found }))
    }
}

/// The place of each point of a set among those of the same score; empty for ties that are drawn.
fn ranks(scores: &Scores<'_>, of: &[u32], set: u32, laws: &[[f64; 2]], ties: Ties) -> HashMap<usize, Rank> {
    if ties == Ties::Random {
        return HashMap::new();
    }
    let is_point = |place: &usize| of[*place] == set && threshold::inverse(laws[*place][0], laws[*place][1]).is_none();
    let mut points: Vec<usize> = (0..laws.len()).filter(is_point).collect();
    points.sort_by(|&a, &b| scores.rank(scores.pick(a), scores.pick(b)));
    let mut ranks = HashMap::with_capacity(points.len());
    for tied in points.chunk_by(|&a, &b| scores.get(scores.pick(a)).total_cmp(&scores.get(scores.pick(b))).is_eq()) {
        ranks.extend(tied.iter().enumerate().map(|(rank, &place)| (place, Rank::Place(rank))));
    }
    ranks
}

/// The locations of arms that may be chosen, -infinity for the others.
pub(super) fn may_be_chosen(arms: &Arms<'_>, laws: &[[f64; 2]], blocks: usize) -> Vec<f64> {
    let may = |place: usize| arms.is_eligible(place / blocks, place % blocks);
    laws.iter().enumerate().map(|(place, law)| if may(place) { law[0] } else { f64::NEG_INFINITY }).collect()
}

/// direction . x and the width of every arm, row-major.
pub(super) fn measured(scorer: &Scorer<'_>, arms: &Arms<'_>) -> Result<Vec<[f64; 2]>, Error> {
    let blocks = scorer.blocks.len();
    let mut all = vec![[0.0; 2]; arms.len() * blocks];
    let rows = rows_per_task(scorer.kernel);
    let task = |products: &mut Products<f64>, number: usize, out: &mut [[f64; 2]]| {
        let part = arms.slice(number * rows..number * rows + out.len() / blocks);
        match part.features() {
            Features::F32(x) => scorer.kernel.products(x, &scorer.packed, products),
            Features::F64(x) => scorer.kernel.products(x, &scorer.packed, products),
        }
        for block in 0..blocks {
            let has_width = scorer.packed[block].has_width;
            let arms = products.dots(block).iter().zip(products.widths(block));
            for (out, (dot, width)) in out[block..].iter_mut().step_by(blocks).zip(arms) {
                *out = [*dot, if has_width { *width } else { 0.0 }];
            }
        }
    };
    tasks::share_parts(all.chunks_mut(rows * blocks), Products::default, task);
    match all.iter().position(|of| !(of[0].is_finite() && of[1].is_finite())) {
        Some(place) => Err(blame(arms, place / blocks, place % blocks, all[place][0])),
        None => Ok(all),
    }
}
