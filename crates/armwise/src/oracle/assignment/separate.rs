//! Promotions that do not compete: if a customer may be in all of them, each takes its own best customers.
//!
//! No prices and no grid are needed, so scores are compared as they are. One pass over the scores keeps the best rows
//! of each block, one more than its quota, since the first row left out says what one more unit would be worth.

use super::{Filling, network::Network};
use crate::Error;
use crate::oracle::{Pick, Scores, top_k::Best};

/// The best filling of every block on its own.
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "the negation is what catches a NaN")]
pub(super) fn fill<'a>(scores: &Scores<'_>, network: &'a Network) -> Result<Filling<'a>, Error> {
    let (rows, blocks) = (scores.len(), scores.blocks());
    // No more than there are rows, and one more for the price.
    let bounds: Vec<(usize, usize)> = network.bounds.iter().map(|&(min, max)| (min.min(rows), max.min(rows))).collect();
    let mut columns: Vec<Best> = bounds.iter().map(|&(_, max)| Best::new((max + 1).min(rows), f64::MIN)).collect();
    let mut bars = vec![f64::MIN; blocks];
    for (row, values) in scores.values().chunks_exact(blocks).enumerate() {
        // `!(score < bar)` keeps a NaN, so that it becomes an error later. No early exit, so that the compiler can use
        // vector instructions.
        let above = values.iter().zip(&bars).fold(0, |above, (score, bar)| above | u8::from(!(score < bar)));
        if above == 0 {
            continue;
        }
        for (block, (column, bar)) in columns.iter_mut().zip(&mut bars).enumerate() {
            if !(values[block] < *bar) {
                if !values[block].is_finite() {
                    return Err(scores.not_finite(Pick { row, block }));
                }
                column.offer(row * blocks + block, scores);
                *bar = column.bar;
            }
        }
    }
    let mut arms = Vec::new();
    let mut worth = Vec::with_capacity(blocks);
    let mut largest = f64::NEG_INFINITY;
    for (column, (min, max)) in columns.into_iter().zip(bounds) {
        let best = column.sorted(scores);
        largest = best.first().map_or(largest, |&arm| largest.max(scores.get(arm)));
        let gains = best.iter().take(max).take_while(|&&arm| scores.get(arm) > 0.0).count();
        let chosen = gains.max(min).min(best.len());
        // After the chosen ones comes what one more slot would take.
        worth.push(best.get(chosen).map_or((false, 0.0), |&next| (true, scores.get(next))));
        arms.extend_from_slice(&best[..chosen]);
    }
    let prices = worth.iter().map(|worth: &(bool, f64)| worth.1).collect();
    Ok(Filling { arms, network, prices, per_row: blocks, worth, best: largest, penalty: None })
}

#[cfg(test)]
mod tests {
    use crate::{Arms, Assignment, Oracle, Quota, Round, Scores, Stream, Ties};

    /// Against sorting every block, on sizes where the buffers are cut many times; scores are coarse, so ties abound.
    #[test]
    fn agrees_with_sorting_each_block() {
        const BLOCKS: usize = 3;
        let draws = Round::new(5, 1).draws(0, Stream(999));
        for case in 0..40u64 {
            let rows = 1 + 37 * case as usize;
            let uniform = |i: u64| draws.uniform(10_000 * case + i);
            let score = |i| if uniform(i) < 0.1 { f64::NEG_INFINITY } else { (uniform(i) * 40.0).floor() - 30.0 };
            let values: Vec<f64> = (0..(rows * BLOCKS) as u64).map(score).collect();
            let ties = if case % 2 == 0 { Ties::ById } else { Ties::Random };
            let features = vec![0.0; rows];
            let arms = Arms::new(&features[..], 1).unwrap();
            let scores = Scores::new(&values, BLOCKS, arms, ties, Round::new(1, 1)).unwrap();
            let bounds = [(rows / 7, rows / 7), (0, rows / 3), (rows / 9, rows)];
            let quotas =
                bounds.map(|(min, max)| if min == max { Quota::Exactly(min) } else { Quota::between(min, max) });
            let oracle = Assignment { per_row: BLOCKS + 1, ..Assignment::new(quotas.to_vec()) };
            let found = oracle.argmax(&scores).unwrap();
            let mut expected = Vec::new();
            for (block, (min, max)) in bounds.into_iter().enumerate() {
                let mut order: Vec<_> = (0..rows).map(|row| crate::Pick { row, block }).collect();
                order.retain(|&arm| scores.get(arm) > f64::NEG_INFINITY);
                order.sort_by(|&a, &b| scores.rank(a, b));
                let wanted = |place: usize| place < min || (place < max && scores.get(order[place]) > 0.0);
                expected.extend((0..order.len()).filter(|&place| wanted(place)).map(|place| order[place]));
            }
            assert_eq!(found.arms, expected, "case {case}");
        }
    }
}
