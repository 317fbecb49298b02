//! A first look in f32 for quotas per promotion: only pairs that can reach the price of their promotion are scored in
//! f64.
//!
//! The answer is exact. The first look gives intervals that hold the scores; floors for their upper
//! ends come from the lower ends of a sample. Without the pairs below the floors the solver finds prices, and where these are no lower than the
//! floors they prove that the pairs left out are in no best super arm, and the prices are those of all pairs. Where
//! they are not, all pairs are scored.

use crate::{
    Arms, Assignment, Error,
    oracle::Promising,
    prune::best::{FEW, glance, is_worthwhile},
    prune::bound::{Room, Rough},
    score::share_parts,
    score::{Scorer, rows_per_task},
};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The pairs that can matter, with their scores: row-major for the rows kept, -infinity for all other pairs. None if
/// it is better, or needed, to score all pairs.
pub(crate) fn shortlist(
    scorer: &Scorer<'_>,
    arms: &Arms<'_>,
    assignment: &Assignment,
) -> Result<Option<(Promising, Vec<f64>)>, Error> {
    let blocks = scorer.blocks.len();
    if blocks == 1 || !is_worthwhile(scorer, arms) || scorer.check(arms).is_err() {
        return Ok(None);
    }
    let few =
        |promising: &Promising| promising.of_block.iter().map(Vec::len).sum::<usize>() * FEW <= arms.len() * blocks;
    let promising = |rough: Rough<'_, '_>| {
        let (upper, lower) = intervals(&rough, arms)?;
        assignment.promising(&upper, &lower, blocks).filter(few)
    };
    let glanced = glance(scorer, arms).and_then(promising);
    let Some(promising) = glanced.or_else(|| promising(Rough::new(scorer)?)) else { return Ok(None) };
    let mut scores = vec![f64::NEG_INFINITY; promising.rows.len() * blocks];
    for (block, places) in promising.of_block.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
        let rows: Vec<usize> = places.iter().map(|&place| promising.rows[place]).collect();
        let Some(own) = scorer.score_block(&arms.gather(&rows).arms()?, block) else { return Ok(None) };
        places.iter().zip(own).for_each(|(place, score)| scores[place * blocks + block] = score);
    }
    Ok(Some((promising, scores)))
}

/// The ends of intervals that hold the scores, upper and lower, row-major, -infinity where an arm is not eligible; none
/// where f32 cannot tell.
fn intervals(rough: &Rough<'_, '_>, arms: &Arms<'_>) -> Option<(Vec<f64>, Vec<f64>)> {
    let (blocks, rows_per_task) = (rough.scorer.blocks.len(), rows_per_task(rough.scorer.kernel));
    let (mut uppers, mut lowers) = (vec![0.0; arms.len() * blocks], vec![0.0; arms.len() * blocks]);
    let beyond = AtomicBool::new(false);
    let task = |room: &mut Room, task: usize, (uppers, lowers): (&mut [f64], &mut [f64])| {
        let part = arms.slice(task * rows_per_task..task * rows_per_task + uppers.len() / blocks);
        let finite = rough.bounds(&part, room, |block, upper, lower| {
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
    (!beyond.load(Relaxed)).then_some((uppers, lowers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Algorithm, C2ucb, Learner, Model, Observation, Oracle, Round, Scores, Stream, Ties, oracle::looked_at,
    };

    /// On ordinary features few pairs are kept beyond the quotas; otherwise the tests of exactness would be idle.
    #[test]
    fn the_shortlist_is_short_and_leaves_out_only_pairs_below_the_floors() {
        const N: usize = 8_000;
        const D: usize = 30;
        const BLOCKS: usize = 4;
        let draws = Round::new(1, 1).draws(0, Stream(300));
        let x: Vec<f64> = (0..(N * D) as u64).map(|id| draws.normal(id)).collect();
        let mut model = Model::new(D, BLOCKS).expect("shape");
        for (place, x) in x.chunks(D).take(400).enumerate() {
            let block = (place % BLOCKS) as u32;
            model.observe(&Observation { t: 1, block, x, reward: x[place % 3] }).expect("finite");
        }
        let posteriors: Vec<_> =
            (0..BLOCKS as u32).map(|block| model.posterior(block, 1.0).expect("factors")).collect();
        let policy = Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: 0.5.into() });
        let scorer = Scorer::new(&policy, &posteriors, Round::new(1, 2)).expect("direction");
        let arms = Arms::new(&x, D).expect("rows");
        let quotas = Assignment::new(vec![100; BLOCKS]);
        let (promising, scores) = shortlist(&scorer, &arms, &quotas).expect("arms").expect("worthwhile");
        let pairs = promising.of_block.iter().map(Vec::len).sum::<usize>();
        assert!((400..=2_000).contains(&pairs), "{pairs} pairs");
        assert_eq!(scores.iter().filter(|score| score.is_finite()).count(), pairs);
        let all = scorer.score(&arms).expect("finite");
        for (place, score) in scores.iter().enumerate().filter(|(_, score)| score.is_finite()) {
            let (row, block) = (promising.rows[place / BLOCKS], place % BLOCKS);
            assert_eq!(score.to_bits(), all[row * BLOCKS + block].to_bits());
        }
        let kept = |row: usize, block: usize| {
            promising.rows.binary_search(&row).is_ok_and(|place| scores[place * BLOCKS + block].is_finite())
        };
        let missed = (0..N * BLOCKS)
            .find(|&place| all[place] >= promising.floors[place % BLOCKS] && !kept(place / BLOCKS, place % BLOCKS));
        assert_eq!(missed, None, "a pair above its floor was left out");
    }

    /// The rows that are looked at first have the largest scores, so the floors come out too high: the prices do not
    /// prove the answer, and the choice is that of all scores all the same.
    #[test]
    fn a_sample_that_misleads_is_found_out() {
        const N: usize = 6_400;
        const D: usize = 20;
        const BLOCKS: usize = 3;
        let draws = Round::new(2, 1).draws(0, Stream(300));
        let mut x: Vec<f64> = (0..(N * D) as u64).map(|id| 0.01 * draws.normal(id)).collect();
        looked_at(N).into_iter().for_each(|row| x[row * D..(row + 1) * D].iter_mut().for_each(|x| *x *= 100.0));
        let algorithm = Algorithm::C2ucb(C2ucb { lambda: 1.0, alpha: 0.5.into() });
        let mut model = Model::new(D, BLOCKS).expect("shape");
        for place in 0..300 {
            let x: Vec<f64> = (0..D as u64).map(|id| draws.normal(1 << 40 | place << 8 | id)).collect();
            let (block, reward) = ((place % 3) as u32, x[place as usize % 3]);
            model.observe(&Observation { t: 1, block, x: &x, reward }).expect("finite");
        }
        let learner = Learner::with_model(algorithm, model).expect("valid");
        let posteriors: Vec<_> = (0..BLOCKS as u32).map(|block| learner.posterior(block).expect("factors")).collect();
        let (arms, round) = (Arms::new(&x, D).expect("rows"), Round::new(1, 2));
        let scorer = Scorer::new(&algorithm, &posteriors, round).expect("direction");
        let quotas = Assignment::new(vec![100; BLOCKS]);
        let all = scorer.score(&arms).expect("finite");
        let all = Scores::new(&all, BLOCKS, arms, Ties::ById, round).expect("shape");
        let best = quotas.argmax(&all).expect("feasible");
        let (promising, scores) = shortlist(&scorer, &arms, &quotas).expect("arms").expect("worthwhile");
        assert!(!promising.is_proven_by(&best.prices), "the floors are too high");
        let kept = arms.gather(&promising.rows);
        let kept = Scores::new(&scores, BLOCKS, kept.arms().expect("rows"), Ties::ById, round).expect("shape");
        let proven = quotas.argmax(&kept).is_ok_and(|found| promising.is_proven_by(&found.prices));
        assert!(!proven, "what was kept proves nothing");
        let decision = learner.choose(round, &arms, &quotas).expect("feasible");
        let chosen: Vec<(u64, u32)> = decision.arms.iter().map(|arm| (arm.id, arm.block)).collect();
        assert_eq!(chosen, best.arms.iter().map(|arm| (arm.row as u64, arm.block as u32)).collect::<Vec<_>>());
        assert_eq!(decision.prices, best.prices);
    }
}
