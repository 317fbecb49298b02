//! Rows that are equal: the same blocks, scores and costs.
//!
//! Customers that a model cannot tell apart come in classes, and then a round of a hundred thousand rows is a problem of
//! a hundred kinds with a number each. Classes are in the order of their contents and rows in that of the tie rule, so
//! nothing here depends on the order of the arms.

use super::problem::{Arm, Problem, tie};
use crate::Scores;
use std::collections::HashMap;
use std::ops::Range;

/// Classes pay if there are this many rows to a class.
const ROWS: usize = 4;

/// Equal rows.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// The arms of each row, in the order of the tie rule.
    pub(super) rows: Vec<Range<usize>>,
}

impl Class {
    /// The arms of its first row, which stand for those of all.
    pub(super) fn arms<'a>(&self, problem: &'a Problem) -> &'a [Arm] {
        &problem.arms[self.rows[0].clone()]
    }
}

/// The classes of a problem; with `few`, none if the rows differ too much for classes to pay.
pub(super) fn find(problem: &Problem, scores: &Scores<'_>, few: bool) -> Option<Vec<Class>> {
    let most = if few { problem.rows().count() / ROWS } else { usize::MAX };
    let mut classes: Vec<Class> = Vec::new();
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    for row in problem.rows() {
        let arms = &problem.arms[row.clone()];
        let same = known.entry(hash(arms)).or_default();
        if let Some(&class) = same.iter().find(|&&class| kinds(classes[class].arms(problem)).eq(kinds(arms))) {
            classes[class].rows.push(row);
        } else if classes.len() < most {
            same.push(classes.len());
            classes.push(Class { rows: vec![row] });
        } else {
            return None;
        }
    }
    let pick = |row: &Range<usize>| problem.arms[row.start].pick;
    classes.iter_mut().for_each(|class| class.rows.sort_unstable_by(|a, b| tie(pick(a), pick(b), scores)));
    classes.sort_unstable_by(|a, b| kinds(a.arms(problem)).cmp(kinds(b.arms(problem))));
    Some(classes)
}

/// What makes two rows equal.
fn kinds(arms: &[Arm]) -> impl Iterator<Item = (usize, u64, u64)> {
    arms.iter().map(|arm| (arm.pick.block, arm.score.to_bits(), arm.cost.to_bits()))
}

/// FNV-1a over the kinds, a word at a time.
fn hash(arms: &[Arm]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        mixed ^ mixed >> 29
    };
    kinds(arms).fold(0xcbf2_9ce4_8422_2325, |hash, (block, score, cost)| mix(mix(mix(hash, block as u64), score), cost))
}
