//! The k best rows of every block, each block on its own: the paper's formula of S in section VII-A2.
//!
//! The decision to know: blocks do not compete, so the exact answer is one top-k per block; a row may be chosen in
//! several blocks.

use armwise::{Error, Infeasible, Oracle, Pick, Scores, Selection};

/// Exactly k rows in every block.
///
/// # Formula
/// ```text
/// S = { I(1) u ... u I(M) : |I(j)| = k }
/// ```
/// # Reference
/// Section VII-A2, the definition of S and S(j).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerBlock {
    /// Rows per block.
    pub k: usize,
}

impl Oracle for PerBlock {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        let mut arms: Vec<Pick> = Vec::with_capacity(self.k * scores.blocks());
        let mut column: Vec<f64> = Vec::with_capacity(scores.len());
        for block in 0..scores.blocks() {
            let picks = (0..scores.len()).map(|row| Pick { row, block });
            column.clear();
            for arm in picks.clone() {
                let score = scores.get(arm);
                if score > f64::NEG_INFINITY && score < f64::INFINITY {
                    column.push(score);
                } else if score.is_nan() || score > 0.0 {
                    return Err(scores.not_finite(arm));
                }
            }
            if column.len() < self.k || self.k == 0 {
                let eligible = column.len();
                return Err(Error::Infeasible(Infeasible::TooFewArms { needed: self.k, eligible }));
            }
            let (_, &mut bar, _) = column.select_nth_unstable_by(self.k - 1, |a, b| b.total_cmp(a));
            let first = arms.len();
            arms.extend(picks.clone().filter(|&arm| scores.get(arm) > bar));
            let mut equal: Vec<Pick> = picks.filter(|&arm| scores.get(arm).total_cmp(&bar).is_eq()).collect();
            equal.sort_unstable_by(|&a, &b| scores.tie_order(a, b));
            let missing = self.k - (arms.len() - first);
            arms.extend(&equal[..missing]);
        }
        Ok(Selection::optimal(arms, scores))
    }
}

#[cfg(test)]
mod tests {
    use armwise::{Arms, Round, Stream, Ties};

    use super::*;

    /// Against sorting every block by the order of arms; scores are coarse, so ties abound.
    #[test]
    fn agrees_with_sorting_each_block() {
        let draws = Round::new(5, 1).draws(0, Stream(999));
        let ids: Vec<f64> = vec![0.0; 60];
        for (case, ties) in [(0u64, Ties::ById), (1, Ties::Random), (2, Ties::ById), (3, Ties::Random)] {
            let values: Vec<f64> = (0..180).map(|i| (draws.uniform(1000 * case + i) * 6.0).floor()).collect();
            let scores = Scores::new(&values, 3, Arms::new(&ids, 1).unwrap(), ties, Round::new(1, 1)).unwrap();
            let found = PerBlock { k: 7 }.argmax(&scores).unwrap();
            let mut expected = Vec::new();
            for block in 0..3 {
                let mut rows: Vec<Pick> = (0..60).map(|row| Pick { row, block }).collect();
                rows.sort_by(|&a, &b| scores.rank(a, b));
                expected.extend_from_slice(&rows[..7]);
            }
            assert_eq!(found.arms, expected);
        }
    }

    #[test]
    fn too_few_rows_are_counted() {
        let scores = [1.0, f64::NEG_INFINITY, 2.0];
        let arms = Arms::new(&[0.0; 3][..], 1).unwrap();
        let scores = Scores::new(&scores, 1, arms, Ties::ById, Round::new(1, 1)).unwrap();
        let error = PerBlock { k: 3 }.argmax(&scores).unwrap_err();
        assert_eq!(error, Error::Infeasible(Infeasible::TooFewArms { needed: 3, eligible: 2 }));
    }
}
