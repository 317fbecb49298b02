//! The one optimum among equals.
//!
//! Compare two super arms with the same value by the first arm, in the tie order of [`Scores`], that only one of them
//! has: the one that has it is better. This total order on super arms does not depend on the order of the rows or on
//! the solver, so the answer is unique; for one block it is the tie rule of top-k.
//!
//! At optimal prices the optimal super arms are exactly those in which every row and every slot is at its best, so only
//! rows with several best choices matter here. Their arms are visited in tie order: an arm stays, or comes in by an
//! exchange along rows that are still free, or is excluded.

use super::solve::Solution;
use crate::oracle::{Pick, Scores};

/// The exchange graph of the rows with a choice, on the nodes of the network; places are row by row, block by block.
struct Exchange<'s, 'a> {
    solution: &'s mut Solution<'a>,
    /// The rows with a choice, by their place among the kept rows.
    rows: Vec<usize>,
    /// Whether an arm may still come in or leave; otherwise all remaining optima have it as it is now.
    free: Vec<bool>,
    held: Vec<bool>,
    /// How many blocks each row has.
    counts: Vec<usize>,
    /// Whether the row may also have one block fewer or more.
    with_nobody: Vec<bool>,
    /// Rows that could move from one node to another when they were pushed, for each pair with a way.
    moves: Vec<Vec<u32>>,
}

/// Turns the solution into the first one in the tie order.
pub(super) fn break_ties(solution: &mut Solution<'_>, scores: &Scores<'_>) {
    let (blocks, kept) = (scores.blocks(), solution.kept);
    let (rows, free, held, counts, with_nobody) = Default::default();
    let moves = vec![Vec::new(); solution.flow.network.pairs];
    let mut exchange = Exchange { solution, rows, free, held, counts, with_nobody, moves };
    exchange.find_choices();
    if exchange.rows.is_empty() {
        return;
    }
    let mut free: Vec<(u64, Pick, usize)> = Vec::new();
    for (row, &place) in exchange.rows.iter().enumerate() {
        for block in (0..blocks).filter(|block| exchange.free[row * blocks + block]) {
            let arm = Pick { row: kept.rows[place], block };
            free.push((scores.tie_key(arm), arm, row));
        }
    }
    free.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| scores.tie_order(a.1, b.1)));
    // The last one pushed moves first: the last in the order leaves, the first in the order enters.
    for &(_, arm, row) in &free {
        if exchange.has(row, arm.block) {
            exchange.push_from(row, arm.block);
        }
    }
    for &(_, arm, row) in free.iter().rev() {
        if exchange.can_leave(row, blocks) {
            exchange.push(row, blocks, arm.block);
        }
    }
    for (_, arm, row) in free {
        if !exchange.has(row, arm.block) {
            exchange.bring_in(row, arm.block);
        }
        exchange.free[row * blocks + arm.block] = false;
    }
    exchange.write_back();
}

impl Exchange<'_, '_> {
    fn nobody(&self) -> usize {
        self.solution.flow.network.blocks
    }

    /// The node where a row's unit in a column is.
    fn node(&self, row: usize, column: usize) -> usize {
        self.solution.flow.network.node(self.stratum(row), column)
    }

    fn stratum(&self, row: usize) -> usize {
        self.solution.kept.offers.row(self.rows[row]).stratum
    }

    fn has(&self, row: usize, block: usize) -> bool {
        self.held[row * self.nobody() + block]
    }

    /// Finds the rows that may have an arm or not have it at no loss, and frees these arms: those whose surplus
    /// equals that of the row's marginal choice.
    fn find_choices(&mut self) {
        let blocks = self.nobody();
        let Solution { flow, kept, per_row, .. } = &*self.solution;
        let offers = &kept.offers;
        for &(place, class) in &self.solution.near {
            let row = offers.row(place).blocks.iter().map(|&block| block as usize);
            let surplus = |block: usize| flow.surplus(class, block);
            let taken = &self.solution.taken[offers.places(place)];
            let (mut lowest, mut next, mut count) = (None, None, 0);
            for (block, &taken) in row.clone().zip(taken) {
                let surplus = surplus(block);
                if taken {
                    lowest = Some(lowest.map_or(surplus, |lowest: i128| lowest.min(surplus)));
                    count += 1;
                } else {
                    next = next.max(Some(surplus));
                }
            }
            let marginal = if lowest == Some(0) || (count < *per_row && next == Some(0)) {
                Some(0)
            } else {
                lowest.filter(|_| count == *per_row && lowest == next)
            };
            let Some(marginal) = marginal else { continue };
            let first = self.free.len();
            self.free.resize(first + blocks, false);
            self.held.resize(first + blocks, false);
            for (block, &taken) in row.zip(taken) {
                self.held[first + block] = taken;
                self.free[first + block] = surplus(block) == marginal;
            }
            self.rows.push(place);
            self.counts.push(count);
            self.with_nobody.push(marginal == 0);
        }
    }

    /// Puts what the rows have now into the solution.
    fn write_back(self) {
        let (blocks, offers) = (self.nobody(), &self.solution.kept.offers);
        for (&row, held) in self.rows.iter().zip(self.held.chunks_exact(blocks)) {
            for (place, &block) in offers.places(row).zip(offers.row(row).blocks) {
                self.solution.taken[place] = held[block as usize];
            }
        }
    }

    fn can_leave(&self, row: usize, column: usize) -> bool {
        if column == self.nobody() {
            self.with_nobody[row] && self.counts[row] < self.solution.per_row
        } else {
            self.has(row, column) && self.free[row * self.nobody() + column]
        }
    }

    fn can_enter(&self, row: usize, column: usize) -> bool {
        if column == self.nobody() {
            self.with_nobody[row]
        } else {
            !self.has(row, column) && self.free[row * self.nobody() + column]
        }
    }

    fn push(&mut self, row: usize, from: usize, to: usize) {
        if from != to && self.can_enter(row, to) {
            let pair = self.solution.flow.network.pair(self.node(row, from), self.node(row, to));
            self.moves[pair].push(row as u32);
        }
    }

    fn push_from(&mut self, row: usize, from: usize) {
        if self.can_leave(row, from) {
            for to in 0..=self.nobody() {
                self.push(row, from, to);
            }
        }
    }

    /// Whether a node may hand on one unit more (or one fewer) at no loss.
    fn limit(&self, from: usize, to: usize) -> bool {
        let flow = &self.solution.flow;
        flow.limit(from, to).is_some_and(|(raw, _)| raw + flow.prices[to] == flow.prices[from])
    }

    /// A row that can move between two nodes.
    fn mover(&mut self, from: usize, to: usize, pair: usize) -> Option<usize> {
        let network = self.solution.flow.network;
        let (left, entered) = (network.column(from), network.column(to));
        while let Some(&row) = self.moves[pair].last() {
            let row = row as usize;
            if self.can_leave(row, left) && self.can_enter(row, entered) {
                return Some(row);
            }
            self.moves[pair].pop();
        }
        None
    }

    fn apply(&mut self, row: usize, from: usize, to: usize) {
        let nobody = self.nobody();
        if from < nobody {
            self.held[row * nobody + from] = false;
            self.counts[row] -= 1;
        }
        if to < nobody {
            self.held[row * nobody + to] = true;
            self.counts[row] += 1;
        }
        for node in 0..=nobody {
            self.push_from(row, node);
        }
    }

    /// Gives the row the block if an exchange of free arms allows it: the shortest one, which needs no row twice.
    fn bring_in(&mut self, row: usize, block: usize) {
        let network = self.solution.flow.network;
        let (stratum, start) = (self.stratum(row), self.node(row, block));
        let unseen = network.root() + 1;
        let mut parent = vec![unseen; network.root() + 1];
        let mut queue = vec![start];
        parent[start] = start;
        let mut head = 0;
        let end = loop {
            let Some(&node) = queue.get(head) else { return };
            let column = network.column(node);
            // The row's own unit closes the exchange where it is.
            if node != start && network.node(stratum, column) == node && self.can_leave(row, column) {
                break node;
            }
            head += 1;
            for &(to, pair) in &network.ways[node] {
                let to = to as usize;
                if parent[to] == unseen && (self.limit(node, to) || self.mover(node, to, pair as usize).is_some()) {
                    parent[to] = node;
                    queue.push(to);
                }
            }
        };
        let mut node = end;
        while node != start {
            let from = parent[node];
            if self.limit(from, node) {
                self.solution.flow.hand_on(from, node, 1);
            } else {
                let mover = self.mover(from, node, network.pair(from, node)).expect("the arc was found in the search");
                self.apply(mover, network.column(from), network.column(node));
            }
            node = from;
        }
        self.apply(row, network.column(end), block);
    }
}
