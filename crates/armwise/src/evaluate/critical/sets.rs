//! The best of sets, where quadrature would take too long: an arm must pass the k-th best of the others.

use super::{Averages, Chance, Problem};
use crate::evaluate::{Inclusion, threshold};
use crate::oracle::Separate;
use crate::{Error, Learner, Limit, Pick, Policy, Scores};

impl<P: Policy> Learner<P> {
    pub(in crate::evaluate) fn critical_in_sets(
        &self,
        problem: &Problem<'_>,
        (of, limits): &Separate,
        picks: &[Pick],
    ) -> Result<Inclusion, Error> {
        let (blocks, shape) = (problem.spreads.len(), problem.spreads[0].shape);
        let mut averages = Averages::new(shape, picks.len());
        let has_points = picks.iter().any(|pick| {
            let [location, scale] = problem.laws[pick.row * blocks + pick.block];
            threshold::inverse(location, scale).is_none()
        });
        for number in problem.rounds.clone() {
            let (round, scores) = self.fresh_scores(problem, number)?;
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
            let chosen = if has_points {
                let scores = Scores::new(&scores, blocks, *problem.arms, self.ties, round)?;
                chosen(&scores, of, limits)
            } else {
                Vec::new()
            };
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
                    // The rule of ties has decided.
                    None => Chance::certain(chosen[place]),
                }
            };
            averages.add(picks.iter().map(chance));
        }
        Ok(averages.inclusion())
    }
}

/// Which arms a round chooses, ties included.
fn chosen(scores: &Scores<'_>, of: &[u32], limits: &[(Limit, [usize; 2])]) -> Vec<bool> {
    let mut chosen = vec![false; of.len()];
    for (set, (_, [min, max])) in limits.iter().enumerate() {
        let mut own: Vec<usize> = (0..of.len()).filter(|&place| of[place] == set as u32).collect();
        own.sort_unstable_by(|&a, &b| scores.rank(scores.pick(a), scores.pick(b)));
        for (rank, &place) in own.iter().take(*max).enumerate() {
            chosen[place] = rank < *min || scores.get(scores.pick(place)) > 0.0;
        }
    }
    chosen
}

/// The k-th best: +infinity for none, -infinity if there are fewer.
fn best(scores: &mut [f64], k: usize) -> f64 {
    match k {
        0 => f64::INFINITY,
        k if k > scores.len() => f64::NEG_INFINITY,
        k => *scores.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use super::*;
    use crate::evaluate::{exact, spread::Spread};
    use crate::{Algorithm, Arms, Round};

    /// Three arms are above 0 as three coins fall; rows of zeros take the other places of four, the smaller ids first. They
    /// had no chance at all, since none of them is above the bar that they are themselves.
    #[test]
    fn rows_of_zeros_at_the_bar_go_by_the_rule_of_ties() {
        let learner = Learner::new(Algorithm::new("arm-wise-ts", &[("v", 0.5)]).unwrap(), 2, 1).unwrap();
        let x = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.6, 0.8];
        let arms = Arms::new(&x[..], 2).unwrap();
        let round = Round::new(1, 1);
        let scorer = learner.scorer(round).unwrap();
        let spreads = Spread::of(&scorer).unwrap();
        let measured = exact::measured(&scorer, &arms).unwrap();
        let laws = exact::Known { spreads: &spreads, measured: &measured }.laws();
        let problem =
            Problem { arms: &arms, spreads: &spreads, measured: &measured, laws: &laws, round, rounds: 0..4_000 };
        let picks: Vec<Pick> = (0..8).map(|row| Pick { row, block: 0 }).collect();
        let sets = (vec![0; 8], vec![(Limit::K, [4, 4])]);
        let found = learner.critical_in_sets(&problem, &sets, &picks).unwrap().probabilities;
        let expected = [1.0, 0.875, 0.5, 0.125, 0.0, 0.5, 0.5, 0.5];
        for (found, expected) in found.iter().zip(expected) {
            // 4,000 coins, four standard errors.
            assert!((found - expected).abs() < 4.0 * 0.5 / 4_000_f64.sqrt(), "{found}, not {expected}");
        }
        assert_eq!((found[0], found[4]), (1.0, 0.0));
    }
}
