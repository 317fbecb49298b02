//! What one row does at given prices: which blocks it takes, and its cheapest change to another choice.
//!
//! "No block" is node M with price 0, called nobody. So leaving a block, entering one and changing blocks are all moves
//! between two nodes.

use super::offers::Row;

/// The cheapest move of a row away from its best blocks at given prices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Move {
    /// The node that is left: a block, or M for nobody.
    pub(super) from: u32,
    /// The node that is entered.
    pub(super) to: u32,
    /// What the row loses by it.
    pub(super) loss: f64,
}

/// Takes the up to `per_row` best blocks with a surplus above zero, calling `take` with the place in the row and the
/// block of each. There is one price for each block.
#[inline]
pub(super) fn choose(
    row: Row<'_>,
    prices: &[f64],
    per_row: usize,
    buffer: &mut Vec<(f64, usize)>,
    mut take: impl FnMut(usize, usize),
) -> Move {
    let nobody = prices.len() as u32;
    if per_row == 1 {
        let none = usize::MAX;
        let (mut best, mut second) = ((0.0, nobody), (f64::NEG_INFINITY, nobody));
        let mut place = none;
        // Conditional moves instead of branches: which block is best cannot be predicted.
        for (index, (block, surplus)) in row.surpluses(prices).enumerate() {
            let block = block as u32;
            let (first, next) = (surplus > best.0, surplus > second.0);
            second.1 = select(first, best.1, select(next, block, second.1));
            let lower = if surplus < best.0 { surplus } else { best.0 };
            second.0 = if lower > second.0 { lower } else { second.0 };
            best.1 = select(first, block, best.1);
            best.0 = if first { surplus } else { best.0 };
            place = select(first, index, place);
        }
        if place != none {
            take(place, best.1 as usize);
        }
        return Move { from: best.1, to: second.1, loss: best.0 - second.0 };
    }
    buffer.clear();
    buffer.extend(row.surpluses(prices).enumerate().map(|(place, (_, surplus))| (surplus, place)));
    if per_row < buffer.len() {
        buffer.select_nth_unstable_by(per_row - 1, |a, b| b.0.total_cmp(&a.0));
    }
    let (mut lowest, mut next) = ((f64::INFINITY, nobody), (f64::NEG_INFINITY, nobody));
    let mut count = 0;
    for (index, &(surplus, place)) in buffer.iter().enumerate() {
        let block = row.blocks[place];
        if index < per_row && surplus > 0.0 {
            take(place, block as usize);
            count += 1;
            if surplus < lowest.0 {
                lowest = (surplus, block);
            }
        } else if surplus > next.0 {
            next = (surplus, block);
        }
    }
    cheapest(lowest, next, count < per_row, nobody)
}

#[inline]
fn select<T: Copy>(condition: bool, yes: T, no: T) -> T {
    std::hint::select_unpredictable(condition, yes, no)
}

/// The cheapest move of a row whose lowest taken block and best other block are these.
fn cheapest(lowest: (f64, u32), next: (f64, u32), spare: bool, nobody: u32) -> Move {
    let leave = Move { from: lowest.1, to: nobody, loss: lowest.0 };
    let enter = if spare {
        Move { from: nobody, to: next.1, loss: -next.0 }
    } else {
        Move { from: lowest.1, to: next.1, loss: lowest.0 - next.0 }
    };
    if leave.loss < enter.loss { leave } else { enter }
}

/// The least that a row loses by any change of the blocks it holds; negative if they are not its best.
#[inline]
pub(super) fn slack(row: Row<'_>, prices: &[f64], taken: &[bool], spare: bool) -> f64 {
    let (mut lowest, mut next) = (f64::INFINITY, f64::NEG_INFINITY);
    for ((_, surplus), &taken) in row.surpluses(prices).zip(taken) {
        let (held, free) = if taken { (surplus, f64::NEG_INFINITY) } else { (f64::INFINITY, surplus) };
        lowest = if held < lowest { held } else { lowest };
        next = if free > next { free } else { next };
    }
    let enter = if spare { -next } else { lowest - next };
    if lowest < enter { lowest } else { enter }
}
