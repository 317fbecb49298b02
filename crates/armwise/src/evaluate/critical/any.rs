//! Any additive constraint of the library: an arm that is chosen is left out and the rest solved again, an arm that is not
//! is made so good that it must be chosen. One more solution for each arm and round, so it serves for the arms of a log
//! rather than for all arms of a table.

use super::{Averages, Chance, Problem};
use crate::evaluate::{Inclusion, threshold};
use crate::{Constraint, Error, Learner, Oracle, Pick, Policy, Quality, Scores, Selection};
use std::collections::HashSet;

/// Scores that are looked at, at most, which takes minutes; otherwise it is counted.
const WORK: usize = 4_000_000_000;

impl<P: Policy> Learner<P> {
    /// None if there would be too much to solve, or if the oracle cannot prove its answers.
    pub(in crate::evaluate) fn critical_in_any(
        &self,
        problem: &Problem<'_>,
        oracle: &dyn Oracle,
        picks: &[Pick],
    ) -> Result<Option<Inclusion>, Error> {
        let (blocks, shape) = (problem.spreads.len(), problem.spreads[0].shape);
        let solutions = problem.rounds.len().saturating_mul(picks.len());
        if solutions.saturating_mul(problem.laws.len()) > WORK {
            return Ok(None);
        }
        // Mandatory units come before all scores there; of other constraints that miss a minimum nothing is assumed.
        let fills_first = matches!(oracle.data(), Some(Constraint::Assignment(assignment))
            if assignment.budget.is_none() && assignment.groups.is_empty());
        let mut averages = Averages::new(shape, picks.len());
        for number in problem.rounds.clone() {
            let (round, mut scores) = self.fresh_scores(problem, number)?;
            let solve = |scores: &[f64]| oracle.argmax(&Scores::new(scores, blocks, *problem.arms, self.ties, round)?);
            let best = solve(&scores)?;
            if best.quality != Quality::Optimal || short(&best) > 0 && !fills_first {
                return Ok(None);
            }
            let chosen: HashSet<Pick> = best.arms.iter().copied().collect();
            let largest = scores.iter().filter(|score| score.is_finite()).fold(0.0_f64, |most, s| most.max(s.abs()));
            // More than any change of the other arms can make up for.
            let certain = 4.0 * largest * (best.arms.len() + 2) as f64;
            let mut chances = Vec::with_capacity(picks.len());
            for pick in picks {
                let place = pick.row * blocks + pick.block;
                let own = scores[place];
                if own == f64::NEG_INFINITY {
                    chances.push(Chance::NONE);
                    continue;
                }
                let is_chosen = chosen.contains(pick);
                scores[place] = if is_chosen { f64::NEG_INFINITY } else { certain };
                let other = solve(&scores);
                scores[place] = own;
                let critical = match other {
                    // Without it nothing fits; or with it.
                    Err(Error::Infeasible(_)) => {
                        if is_chosen {
                            f64::NEG_INFINITY
                        } else {
                            f64::INFINITY
                        }
                    }
                    Err(error) => return Err(error),
                    Ok(other) if other.quality != Quality::Optimal => return Ok(None),
                    // Without it a minimum is missed that comes before all scores.
                    Ok(other) if is_chosen && short(&other) > short(&best) => f64::NEG_INFINITY,
                    Ok(other) if is_chosen => other.objective - (best.objective - own),
                    Ok(other) if other.arms.contains(pick) => best.objective - (other.objective - certain),
                    Ok(_) => f64::INFINITY,
                };
                let [location, scale] = problem.laws[place];
                chances.push(match threshold::inverse(location, scale) {
                    Some(_) if critical.is_infinite() => Chance::certain(critical < 0.0),
                    Some(inverse) => Chance::at(shape, (location - critical) * inverse),
                    None => Chance::certain(is_chosen),
                });
            }
            averages.add(chances.into_iter());
        }
        Ok(Some(averages.inclusion()))
    }
}

/// How many units of its minima a selection misses.
fn short(selection: &Selection) -> usize {
    selection.missing.iter().map(|missing| missing.needed - missing.chosen).sum()
}
