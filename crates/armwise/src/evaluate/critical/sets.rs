//! The best of sets, where quadrature would take too long: an arm must pass the k-th best of the others.

use super::{Averages, Chance, Problem};
use crate::evaluate::{Inclusion, threshold};
use crate::oracle::Separate;
use crate::{Error, Learner, Pick, Policy};

impl<P: Policy> Learner<P> {
    pub(in crate::evaluate) fn critical_in_sets(
        &self,
        problem: &Problem<'_>,
        (of, limits): &Separate,
        picks: &[Pick],
    ) -> Result<Inclusion, Error> {
        let (blocks, shape) = (problem.spreads.len(), problem.spreads[0].shape);
        let mut averages = Averages::new(shape, picks.len());
        for number in 0..problem.replicates {
            let (_, scores) = self.fresh_scores(problem, number)?;
            // Of each set the scores of the min-th and max-th best, and of the ones after them.
            let mut members: Vec<Vec<f64>> = vec![Vec::new(); limits.len()];
            of.iter()
                .zip(&scores)
                .filter(|(set, _)| **set != u32::MAX)
                .for_each(|(&s, &x)| members[s as usize].push(x));
            let bars: Vec<[[f64; 2]; 2]> = members
                .iter_mut()
                .zip(limits)
                .map(|(scores, (_, limits))| limits.map(|k| [best(scores, k), best(scores, k + 1)]))
                .collect();
            let chance = |pick: &Pick| {
                let place = pick.row * blocks + pick.block;
                if of[place] == u32::MAX {
                    return Chance::NONE;
                }
                let score = scores[place];
                // The k-th best of the others: the next one, where the arm is among the k itself.
                let bar = |[own, next]: [f64; 2]| if score >= own { next } else { own };
                let [least, most] = bars[of[place] as usize];
                let critical = bar(least).min(bar(most).max(0.0));
                let [location, scale] = problem.laws[place];
                match threshold::inverse(location, scale) {
                    Some(_) if critical.is_infinite() => Chance::certain(critical < 0.0),
                    Some(inverse) => Chance::at(shape, (location - critical) * inverse),
                    None => Chance::certain(location > critical),
                }
            };
            averages.add(picks.iter().map(chance));
        }
        Ok(averages.inclusion())
    }
}

/// The k-th best: +infinity for none, -infinity if there are fewer.
fn best(scores: &mut [f64], k: usize) -> f64 {
    match k {
        0 => f64::INFINITY,
        k if k > scores.len() => f64::NEG_INFINITY,
        k => *scores.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1,
    }
}
