//! A first look in f32 for quotas per promotion: only pairs that can reach the price of their promotion are scored in
//! f64.
//!
//! The decision to know: the answer is exact. The first look gives bounds that no score exceeds; floors for them come
//! from a sample. Without the pairs below the floors the solver finds prices, and where these are no lower than the
//! floors they prove that the pairs left out are in no best super arm, and the prices are those of all pairs. Where
//! they are not, all pairs are scored.

use crate::{
    Arms, Assignment, Error,
    oracle::Promising,
    rough::{Room, Rough},
    scan::{FEW, is_worthwhile},
    scoring::{Scorer, rows_per_task},
};
use rayon::prelude::*;

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
    let promising = upper_bounds(scorer, arms).and_then(|upper| assignment.promising(&upper, blocks));
    let Some(promising) = promising else { return Ok(None) };
    if promising.of_block.iter().map(Vec::len).sum::<usize>() * FEW > arms.len() * blocks {
        return Ok(None);
    }
    let mut scores = vec![f64::NEG_INFINITY; promising.rows.len() * blocks];
    for (block, places) in promising.of_block.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
        let rows: Vec<usize> = places.iter().map(|&place| promising.rows[place]).collect();
        let Some(own) = scorer.score_block(&arms.gather(&rows).arms()?, block) else { return Ok(None) };
        places.iter().zip(own).for_each(|(place, score)| scores[place * blocks + block] = score);
    }
    Ok(Some((promising, scores)))
}

/// Bounds that the scores do not exceed, row-major, -infinity where an arm is not eligible; none where f32 cannot tell.
fn upper_bounds(scorer: &Scorer<'_>, arms: &Arms<'_>) -> Option<Vec<f64>> {
    let (blocks, rows_per_task) = (scorer.blocks.len(), rows_per_task(scorer.kernel));
    let rough = Rough::new(scorer)?;
    let mut bounds = vec![0.0; arms.len() * blocks];
    let task = |room: &mut Room, (task, out): (usize, &mut [f64])| {
        let part = arms.slice(task * rows_per_task..task * rows_per_task + out.len() / blocks);
        rough.bounds(&part, room, |block, upper| {
            out[block..].iter_mut().step_by(blocks).zip(upper).for_each(|(out, upper)| *out = *upper);
        })
    };
    let tasks = bounds.par_chunks_mut(rows_per_task * blocks).enumerate();
    if !tasks.map_init(Room::default, task).all(|finite| finite) {
        return None;
    }
    if arms.eligible_per_row() > 0 {
        for (place, bound) in bounds.iter_mut().enumerate() {
            if !arms.is_eligible(place / blocks, place % blocks) {
                *bound = f64::NEG_INFINITY;
            }
        }
    }
    Some(bounds)
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
