//! Exact probabilities: the sets of a constraint, the law of each set's threshold, and the arms asked for.

use super::Inclusion;
use super::law::{self, ThresholdLaw};
use super::spread::Spread;
use super::threshold::{self, Rank, Set};
use crate::kernel::Products;
use crate::oracle::Separate;
use crate::score::{Scorer, blame, rows_per_task};
use crate::{Arms, Error, Features, Learner, Method, Pick, Policy, Scores, Ties, tasks};
use std::collections::HashMap;

impl<P: Policy> Learner<P> {
    /// The probabilities of picks, where the constraint falls into sets of arms that compete among themselves only.
    pub(super) fn exact(
        &self,
        scorer: &Scorer<'_>,
        spreads: &[Spread],
        arms: &Arms<'_>,
        (of, limits): &Separate,
        laws: &[[f64; 2]],
        picks: &[Pick],
    ) -> Result<Option<Inclusion>, Error> {
        let blocks = spreads.len();
        let scores = may_be_chosen(arms, laws, blocks);
        let scores = Scores::new(&scores, blocks, *arms, self.ties, scorer.round)?;
        let shape = spreads[0].shape;
        let mut found: Vec<ThresholdLaw> = Vec::with_capacity(limits.len());
        for (set, (limit, [min, max])) in limits.iter().enumerate() {
            let own = of.iter().zip(laws).filter(|(of, _)| **of == set as u32).map(|(_, law)| *law);
            let Some(parts) = Set::new(shape, own).between(*min, *max) else { return Ok(None) };
            found.push(ThresholdLaw { limit: limit.clone(), spreads: spreads.to_vec(), parts });
        }
        let mut probabilities = vec![0.0; picks.len()];
        for (set, law) in found.iter().enumerate() {
            let (mut at, mut locations, mut inverses) = (Vec::new(), Vec::new(), Vec::new());
            let mut points = Vec::new();
            for (place, pick) in picks.iter().enumerate() {
                let arm = pick.row * blocks + pick.block;
                if of[arm] != set as u32 {
                    continue;
                }
                let [location, scale] = laws[arm];
                match threshold::inverse(location, scale) {
                    Some(inverse) => {
                        at.push(place);
                        locations.push(location);
                        inverses.push(inverse);
                    }
                    None => points.push((place, *pick)),
                }
            }
            let mut out = vec![0.0; at.len()];
            law.parts.iter().for_each(|part| part.of_spread(shape, &locations, &inverses, &mut out));
            at.iter().zip(out).for_each(|(&place, pi)| probabilities[place] = pi);
            if points.is_empty() {
                continue;
            }
            let ranks = ranks(&scores, of, set as u32, laws, self.ties);
            for (place, pick) in points {
                let rank = ranks.get(&(pick.row * blocks + pick.block)).copied().unwrap_or(Rank::Any);
                let [location, scale] = laws[pick.row * blocks + pick.block];
                probabilities[place] = law::probability(&law.parts, shape, location, scale, rank);
            }
        }
        let certain = laws.iter().zip(of).all(|(law, of)| *of == u32::MAX || law[1] <= 0.0);
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
