//! Why quotas cannot be met, in numbers that a user can check: a Hall set.
//!
//! The set is read off the best filling there is. Start from the blocks that are short and
//! add every block that could give up a row to one of them; no row outside can then help, so the rows eligible for
//! these blocks fill exactly the places that are filled, which are too few. The set is the same for every best
//! filling, because it is the smallest cut on the side of the quotas.

use crate::oracle::{Infeasible, Scores};

/// The smallest set of blocks that explains the shortfall, given the units each block needs and the blocks of each
/// row in a filling that leaves as few of them open as possible.
pub(super) fn explain(scores: &Scores<'_>, per_row: usize, needs: &[usize], chosen: &[Vec<usize>]) -> Infeasible {
    let blocks = needs.len();
    let eligible = |row: usize, block: usize| scores.values()[row * blocks + block] > f64::NEG_INFINITY;
    let mut filled = vec![0; blocks];
    chosen.iter().flatten().for_each(|&block| filled[block] += 1);
    let mut inside: Vec<bool> = (0..blocks).map(|block| filled[block] < needs[block]).collect();
    loop {
        let mut grown = false;
        for (row, held) in chosen.iter().enumerate() {
            if held.iter().all(|&block| inside[block]) {
                continue;
            }
            let helps = |block: usize| inside[block] && !held.contains(&block) && eligible(row, block);
            if (0..blocks).any(helps) {
                for &block in held {
                    inside[block] = true;
                }
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    let set: Vec<usize> = (0..blocks).filter(|&block| inside[block]).collect();
    let (rows, places) = capacity(scores, per_row, &set);
    let needed = set.iter().fold(0usize, |sum, &block| sum.saturating_add(needs[block]));
    Infeasible::TooFewRows { blocks: set, needed, rows, places }
}

/// How many rows are eligible for any of these blocks, and how many of the blocks' places these rows can fill.
fn capacity(scores: &Scores<'_>, per_row: usize, blocks: &[usize]) -> (usize, usize) {
    let (mut rows, mut places) = (0, 0);
    for row in scores.values().chunks_exact(scores.blocks()) {
        let eligible = blocks.iter().filter(|&&block| row[block] > f64::NEG_INFINITY).count();
        rows += usize::from(eligible > 0);
        places += eligible.min(per_row);
    }
    (rows, places)
}
