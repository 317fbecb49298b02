//! Rows, and arms, that may reach floors: one floor per block, from prices of an oracle.

use super::bound::Bound;
use super::source::{Bounds, Room};
use super::{is_few, means_for, pays};
use crate::oracle::pairs_above;
use crate::score::{Scorer, rows_per_task};
use crate::tasks::{self, share_parts};
use crate::{Arms, Error, Oracle, Scores, Ties};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The rows, ascending, that may reach the floor of a block in which they are eligible, and perhaps some that just miss
/// it. `means` and `widths` are prepared bounds. If a number is outside the range of f32, all rows are scored instead.
pub(crate) fn rows_reaching(
    scorer: &Scorer<'_>,
    [means, widths]: [Option<&Bounds>; 2],
    arms: &Arms<'_>,
    floors: &[f64],
) -> Result<Vec<usize>, Error> {
    scorer.check(arms)?;
    if let Some(widths) = widths {
        // Set once the means alone keep more than half of a part.
        let keeps_most = AtomicBool::new(false);
        let rows_per_task = 2 * rows_per_task(scorer.kernel);
        let task = |room: &mut Room, task: usize| {
            let first = task * rows_per_task;
            let part = arms.slice(first..arms.len().min(first + rows_per_task));
            let mut rows = match means.filter(|_| !keeps_most.load(Relaxed)) {
                None => reaching(scorer, widths, &part, floors, room)?,
                Some(means) => {
                    let by_means = reaching(scorer, means, &part, floors, room)?;
                    if 2 * by_means.len() > part.len() {
                        keeps_most.store(true, Relaxed);
                    }
                    if by_means.is_empty() {
                        return Some(by_means);
                    }
                    let gathered = part.gather(&by_means);
                    let rows = gathered.with_arms(|part| Ok(reaching(scorer, widths, part, floors, room)));
                    let rows = rows.ok()??;
                    rows.into_iter().map(|row| by_means[row]).collect()
                }
            };
            rows.iter_mut().for_each(|row| *row += first);
            Some(rows)
        };
        let parts = tasks::map(arms.len().div_ceil(rows_per_task), Room::default, task);
        let parts: Option<Vec<Vec<usize>>> = parts.into_iter().collect();
        if let Some(parts) = parts {
            return Ok(parts.concat());
        }
    }
    // f32 cannot bound these scores. A score that is not finite becomes an error here.
    let scores = scorer.score(arms)?;
    let reaches = |(block, score): (usize, &f64)| *score >= floors[block] && *score > f64::NEG_INFINITY;
    let rows = scores.chunks_exact(floors.len()).enumerate();
    Ok(rows.filter(|(_, scores)| scores.iter().enumerate().any(reaches)).map(|(row, _)| row).collect())
}

/// The rows of a part that may reach a floor; none if a number is outside the range of f32.
fn reaching(
    scorer: &Scorer<'_>,
    bounds: &Bounds,
    part: &Arms<'_>,
    floors: &[f64],
    room: &mut Room,
) -> Option<Vec<usize>> {
    let mut reached = vec![false; part.len()];
    let see = |block: usize, row: usize, bound: Bound| reached[row] |= bound.upper >= floors[block];
    let finite = bounds.each_reaching(scorer, part, room, |block| floors[block], see);
    finite.then(|| (0..part.len()).filter(|&row| reached[row]).collect())
}

/// The arms that may reach guessed floors, with their scores.
#[derive(Debug)]
pub(crate) struct Pairs {
    /// Arms below these are left out.
    pub(crate) floors: Vec<f64>,
    /// The kept rows, ascending.
    pub(crate) rows: Vec<usize>,
    /// The scores of these rows, row-major, -infinity for arms that are left out.
    pub(crate) scores: Vec<f64>,
}

impl Pairs {
    /// The arms that may reach the floors that the oracle guesses from the lower ends of all bounds. None if scoring
    /// all arms is cheaper, or if the bounds fail.
    pub(crate) fn new(
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        ties: Ties,
    ) -> Result<Option<Self>, Error> {
        let blocks = scorer.blocks.len();
        if blocks == 1 || !pays(scorer, arms) {
            return Ok(None);
        }
        let reaching = |bounds: Bounds| {
            let AllEnds { uppers: upper, lowers: lower } = ends(scorer, &bounds, arms)?;
            let lower = Scores::new(&lower, blocks, *arms, ties, scorer.round).ok()?;
            let floors = oracle.guess_floors(&lower, 1.0).ok()??;
            let pairs = if floors.len() == blocks { pairs_above(&upper, &floors) } else { return None };
            let few = is_few(pairs.1.iter().map(Vec::len).sum(), upper.len());
            few.then_some((floors, pairs))
        };
        let by_means = means_for(scorer, arms.len()).and_then(reaching);
        let found = by_means.or_else(|| Bounds::from_widths(scorer).and_then(reaching));
        let Some((floors, (rows, of_block))) = found else { return Ok(None) };
        let mut scores = vec![f64::NEG_INFINITY; rows.len() * blocks];
        for (block, places) in of_block.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
            let own: Vec<usize> = places.iter().map(|&place| rows[place]).collect();
            let own = arms.gather(&own).with_arms(|arms| Ok(scorer.score_block(arms, block)))?;
            let Some(own) = own else { return Ok(None) };
            places.iter().zip(own).for_each(|(place, score)| scores[place * blocks + block] = score);
        }
        Ok(Some(Self { floors, rows, scores }))
    }

    /// Whether floors that are certain prove that none of the arms left out matters.
    pub(crate) fn are_proven_by(&self, certain: Option<&[f64]>) -> bool {
        certain.is_some_and(|certain| certain.iter().zip(&self.floors).all(|(certain, guessed)| certain >= guessed))
    }
}

/// The bounds of all scores.
struct AllEnds {
    /// The upper ends, row-major, -infinity where an arm is not eligible.
    uppers: Vec<f64>,
    /// The lower ends.
    lowers: Vec<f64>,
}

/// The bounds of all scores; none if a number is outside the range of f32.
fn ends(scorer: &Scorer<'_>, bounds: &Bounds, arms: &Arms<'_>) -> Option<AllEnds> {
    let (blocks, rows_per_task) = (scorer.blocks.len(), rows_per_task(scorer.kernel));
    let (mut uppers, mut lowers) = (vec![0.0; arms.len() * blocks], vec![0.0; arms.len() * blocks]);
    let beyond = AtomicBool::new(false);
    let task = |room: &mut Room, task: usize, (uppers, lowers): (&mut [f64], &mut [f64])| {
        let part = arms.slice(task * rows_per_task..task * rows_per_task + uppers.len() / blocks);
        let finite = bounds.each_block(scorer, &part, room, |block, upper, lower| {
            let masked = |row: usize, end: f64| if part.is_eligible(row, block) { end } else { f64::NEG_INFINITY };
            for (ends, of_block) in [(&mut *uppers, upper), (&mut *lowers, lower)] {
                let places = ends[block..].iter_mut().step_by(blocks).zip(of_block).enumerate();
                places.for_each(|(row, (to, end))| *to = masked(row, *end));
            }
        });
        if !finite {
            beyond.store(true, Relaxed);
        }
    };
    let size = rows_per_task * blocks;
    share_parts(uppers.chunks_mut(size).zip(lowers.chunks_mut(size)), Room::default, task);
    (!beyond.load(Relaxed)).then_some(AllEnds { uppers, lowers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Algorithm, Assignment, C2ucb, Learner, Model, Observation, Posterior, Round, Stream, oracle::sampled_rows,
    };
    use std::sync::Arc;

    fn posteriors(model: &Model) -> Arc<Vec<Posterior>> {
        let blocks = 0..model.blocks().len() as u32;
        Arc::new(blocks.map(|block| model.posterior(block, 1.0).expect("factors")).collect())
    }

    /// On ordinary features few arms are kept beyond the quotas. If all were kept, the exactness tests would not test
    /// pruning.
    #[test]
    fn few_arms_are_kept_and_only_arms_below_the_floors_are_left_out() {
        const N: usize = 8_000;
        const D: usize = 30;
        const BLOCKS: usize = 4;
        let round = Round::new(1, 2);
        let draws = Round::new(1, 1).draws(0, Stream(300));
        let x: Vec<f64> = (0..(N * D) as u64).map(|id| draws.normal(id)).collect();
        let mut model = Model::new(D, BLOCKS).expect("shape");
        for (place, x) in x.chunks(D).take(400).enumerate() {
            let block = (place % BLOCKS) as u32;
            model.observe(&Observation { t: 1, block, x, reward: x[place % 3] }).expect("finite");
        }
        let policy = Algorithm::C2ucb(C2ucb::new(1.0, 0.5));
        let scorer = Scorer::new(&policy, posteriors(&model), round).expect("direction");
        let arms = Arms::new(&x, D).expect("rows");
        let quotas = Assignment::new(vec![100; BLOCKS]);
        let pairs = Pairs::new(&scorer, &arms, &quotas, Ties::ById).expect("arms").expect("pays");
        let kept = pairs.scores.iter().filter(|score| score.is_finite()).count();
        assert!((400..=2_000).contains(&kept), "{kept} arms");
        let all = scorer.score(&arms).expect("finite");
        for (place, score) in pairs.scores.iter().enumerate().filter(|(_, score)| score.is_finite()) {
            let (row, block) = (pairs.rows[place / BLOCKS], place % BLOCKS);
            assert_eq!(score.to_bits(), all[row * BLOCKS + block].to_bits());
        }
        let kept = |row: usize, block: usize| {
            pairs.rows.binary_search(&row).is_ok_and(|place| pairs.scores[place * BLOCKS + block].is_finite())
        };
        let missed = (0..N * BLOCKS)
            .find(|&place| all[place] >= pairs.floors[place % BLOCKS] && !kept(place / BLOCKS, place % BLOCKS));
        assert_eq!(missed, None, "an arm above its floor was left out");
    }

    /// The sampled rows have the largest scores, so the guessed floors come out too high. The certain floors then do
    /// not prove the answer, all arms are scored, and the choice is still the right one.
    #[test]
    fn a_sample_that_misleads_is_found_out() {
        const N: usize = 6_400;
        const D: usize = 20;
        const BLOCKS: usize = 3;
        let draws = Round::new(2, 1).draws(0, Stream(300));
        let mut x: Vec<f64> = (0..(N * D) as u64).map(|id| 0.01 * draws.normal(id)).collect();
        sampled_rows(N).into_iter().for_each(|row| x[row * D..(row + 1) * D].iter_mut().for_each(|x| *x *= 100.0));
        let policy = Algorithm::C2ucb(C2ucb::new(1.0, 0.5));
        let mut model = Model::new(D, BLOCKS).expect("shape");
        for place in 0..300 {
            let x: Vec<f64> = (0..D as u64).map(|id| draws.normal(1 << 40 | place << 8 | id)).collect();
            let (block, reward) = ((place % 3) as u32, x[place as usize % 3]);
            model.observe(&Observation { t: 1, block, x: &x, reward }).expect("finite");
        }
        let (arms, round) = (Arms::new(&x, D).expect("rows"), Round::new(1, 2));
        let scorer = Scorer::new(&policy, posteriors(&model), round).expect("direction");
        let quotas = Assignment::new(vec![100; BLOCKS]);
        let all = scorer.score(&arms).expect("finite");
        let all = Scores::new(&all, BLOCKS, arms, Ties::ById, round).expect("shape");
        let best = quotas.argmax(&all).expect("feasible");
        let pairs = Pairs::new(&scorer, &arms, &quotas, Ties::ById).expect("arms").expect("pays");
        assert!(!pairs.are_proven_by(best.floors.as_deref()), "the floors are too high");
        let kept = arms.gather(&pairs.rows);
        let kept = kept.plain().expect("rows");
        let kept = Scores::new(&pairs.scores, BLOCKS, kept, Ties::ById, round).expect("shape");
        let proven = quotas.argmax(&kept).is_ok_and(|found| pairs.are_proven_by(found.floors.as_deref()));
        assert!(!proven, "what was kept proves nothing");
        let learner = Learner::with_model(policy, model).expect("valid");
        let decision = learner.choose(round, &arms, &quotas).expect("feasible");
        let chosen: Vec<(u64, u32)> = decision.arms.iter().map(|arm| (arm.id, arm.block)).collect();
        assert_eq!(chosen, best.arms.iter().map(|arm| (arm.row as u64, arm.block as u32)).collect::<Vec<_>>());
        assert_eq!(decision.prices, best.prices);
    }
}
