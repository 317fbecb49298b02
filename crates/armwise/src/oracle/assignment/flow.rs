//! Exact filling of the quotas by successive shortest paths on a graph of M + 1 nodes: the blocks and "nobody".
//!
//! The graph never has a node for a row. An arc from u to v is the cheapest row that can move from u to v, found on a
//! heap per ordered pair of nodes whose stale entries are dropped when they surface. Rows with the same scores move
//! together as one class, so exact ties cost no more than other rows. Rows and slots are always at their best for the
//! current prices. Until the end, some blocks have more or fewer rows than slots; each shortest path corrects one unit
//! of that (or many, along ties).
//!
//! Moving a unit from u to v costs `raw + price[v] - price[u] >= 0` at the current prices, where raw is
//! ```text
//! row i from block j to block l      value(i, j) - value(i, l)       nobody has value 0
//! block j opens one more slot        -bonus if it is a mandatory one, else 0      (from j to nobody)
//! block j closes a slot              +bonus if it is a mandatory one, else 0      (from nobody to j)
//! ```
//! With several blocks to a row, a shortest path with the fewest arcs never moves the same row twice: two moves
//! j -> l and l' -> k of one row could be replaced by j -> k and a cycle, which costs nothing or more.

use super::grid::FORBIDDEN;
use super::quota::Slots;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The cheapest known moves from one node to another: (raw cost, class), smallest first.
type Moves = BinaryHeap<Reverse<(i128, u32)>>;

/// The state of the solver.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    pub(super) slots: &'a [Slots],
    per_row: usize,
    bonus: i128,
    /// One per block; the last one, of nobody, stays 0.
    pub(super) prices: Vec<i128>,
    /// How many slots each block offers at its price.
    pub(super) open: Vec<usize>,
    /// How many rows each block has, those outside this solver included.
    pub(super) filled: Vec<usize>,
    /// Of each class of rows in the solver, the value of each node; see [`place`](Self::place).
    values: Vec<i128>,
    /// Of each class, how many of its rows each block has, and how many more places they could take (at nobody).
    pub(super) held: Vec<usize>,
    /// Of each class, how many rows it has; above 1 only where a row has one block at most.
    pub(super) sizes: Vec<usize>,
    moves: Vec<Moves>,
}

/// How an arc is realised.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Arc {
    Row(i128, u32),
    Slot(i128),
}

impl Arc {
    fn raw(self) -> i128 {
        match self {
            Self::Row(raw, _) | Self::Slot(raw) => raw,
        }
    }
}

/// Shortest distances, with the number of arcs as the second criterion.
struct Paths {
    distance: Vec<Option<(i128, u32)>>,
    parent: Vec<usize>,
    /// The nearest node with a deficit, if one was asked for.
    target: Option<usize>,
}

impl<'a> Flow<'a> {
    /// A solver without rows, at these prices, for blocks that already have these numbers of rows.
    pub(super) fn new(
        slots: &'a [Slots],
        per_row: usize,
        bonus: i128,
        mut prices: Vec<i128>,
        mut filled: Vec<usize>,
    ) -> Self {
        let open = (slots.iter().zip(&prices).zip(&filled))
            .map(|((slots, &price), &filled)| match price {
                1.. => slots.max,
                0 => filled.clamp(slots.min, slots.max),
                _ => slots.min,
            })
            .collect();
        prices.push(0);
        filled.push(0);
        let moves = vec![Moves::new(); prices.len() * prices.len()];
        let (values, held, sizes) = Default::default();
        Self { slots, per_row, bonus, prices, open, filled, values, held, sizes, moves }
    }

    /// The number of blocks, which is also the node of nobody.
    fn nobody(&self) -> usize {
        self.slots.len()
    }

    /// Where the numbers of a class at a node are.
    pub(super) fn place(&self, class: usize, node: usize) -> usize {
        class * self.prices.len() + node
    }

    pub(super) fn value(&self, class: usize, node: usize) -> i128 {
        self.values[self.place(class, node)]
    }

    /// Takes a class of rows with these blocks and values into the solver, at its best blocks for the current prices.
    pub(super) fn add(&mut self, values: impl Iterator<Item = (usize, i128)>, size: usize) {
        let (nobody, class) = (self.nobody(), self.sizes.len());
        let first = self.place(class, 0);
        self.values.resize(first + nobody, FORBIDDEN);
        values.for_each(|(block, value)| self.values[first + block] = value);
        let mut order: Vec<(i128, usize)> = (self.values[first..].iter().zip(&self.prices).enumerate())
            .filter(|(_, (value, price))| *value > *price && **value != FORBIDDEN)
            .map(|(block, (value, price))| (value - price, block))
            .collect();
        order.sort_unstable_by_key(|&(surplus, block)| (Reverse(surplus), block));
        order.truncate(self.per_row);
        self.sizes.push(size);
        self.values.push(0);
        self.held.resize(first + nobody, 0);
        self.held.push(size * (self.per_row - order.len()));
        order.into_iter().for_each(|(_, block)| self.held[first + block] = size);
        for from in 0..=nobody {
            self.filled[from] += self.held[first + from];
            self.push_from(class, from);
        }
    }

    /// How many rows of a class can leave a node.
    fn at(&self, class: usize, node: usize) -> usize {
        self.held[self.place(class, node)]
    }

    /// Whether a row of the class can enter a node.
    fn can_enter(&self, class: usize, node: usize) -> bool {
        node == self.nobody() || (self.at(class, node) < self.sizes[class] && self.value(class, node) != FORBIDDEN)
    }

    fn push(&mut self, class: usize, from: usize, to: usize) {
        if from != to && self.can_enter(class, to) {
            let raw = self.value(class, from) - self.value(class, to);
            let nodes = self.nobody() + 1;
            self.moves[from * nodes + to].push(Reverse((raw, class as u32)));
        }
    }

    /// Offers all moves of a class away from a node.
    fn push_from(&mut self, class: usize, from: usize) {
        if self.at(class, from) > 0 {
            for to in 0..=self.nobody() {
                self.push(class, from, to);
            }
        }
    }

    /// Moves rows of a class and offers the moves that this makes possible.
    fn apply(&mut self, class: usize, from: usize, to: usize, count: usize) {
        let nobody = self.nobody();
        let arrived = self.at(class, to) == 0;
        let was_full = from < nobody && self.at(class, from) == self.sizes[class];
        let (left, entered) = (self.place(class, from), self.place(class, to));
        (self.held[left], self.filled[from]) = (self.held[left] - count, self.filled[from] - count);
        (self.held[entered], self.filled[to]) = (self.held[entered] + count, self.filled[to] + count);
        if arrived {
            self.push_from(class, to);
        }
        if was_full {
            for other in (0..=nobody).filter(|&other| !(arrived && other == to)) {
                if self.at(class, other) > 0 {
                    self.push(class, other, from);
                }
            }
        }
    }

    /// The cheapest arc between two nodes.
    fn arc(&mut self, from: usize, to: usize) -> Option<Arc> {
        let nobody = self.nobody();
        let place = from * (nobody + 1) + to;
        let row = loop {
            let Some(&Reverse((raw, class))) = self.moves[place].peek() else { break None };
            if self.at(class as usize, from) > 0 && self.can_enter(class as usize, to) {
                break Some((raw, class));
            }
            self.moves[place].pop();
        };
        let bonus = self.bonus;
        let slot = if to == nobody {
            let (open, slots) = (self.open[from], self.slots[from]);
            (open < slots.max).then_some(if open < slots.min { -bonus } else { 0 })
        } else if from == nobody {
            let (open, slots) = (self.open[to], self.slots[to]);
            (open > 0).then_some(if open <= slots.min { bonus } else { 0 })
        } else {
            None
        };
        match (row, slot) {
            (Some((raw, class)), Some(slot)) if raw < slot => Some(Arc::Row(raw, class)),
            (_, Some(slot)) => Some(Arc::Slot(slot)),
            (row, None) => row.map(|(raw, class)| Arc::Row(raw, class)),
        }
    }

    /// The cheapest arc between two nodes, if it costs nothing at the current prices, and how many units it takes.
    fn free_arc(&mut self, from: usize, to: usize) -> Option<(Arc, usize)> {
        let arc = self.arc(from, to)?;
        if arc.raw() + self.prices[to] != self.prices[from] {
            return None;
        }
        let room = match arc {
            Arc::Row(_, class) => {
                let class = class as usize;
                let entered = if to == self.nobody() { 0 } else { self.at(class, to) };
                self.at(class, from).min(self.sizes[class] - entered)
            }
            Arc::Slot(_) if to == self.nobody() => {
                let (open, slots) = (self.open[from], self.slots[from]);
                if open < slots.min { slots.min - open } else { slots.max - open }
            }
            Arc::Slot(_) => {
                let (open, slots) = (self.open[to], self.slots[to]);
                if open <= slots.min { open } else { open - slots.min }
            }
        };
        Some((arc, room))
    }

    /// More rows than slots (above 0) or fewer, of each node; the sum over all nodes is 0.
    fn excess(&self) -> Vec<isize> {
        let excess = self.filled.iter().zip(&self.open).map(|(filled, open)| filled.cast_signed() - open.cast_signed());
        let mut excess: Vec<isize> = excess.collect();
        excess.push(-excess.iter().sum::<isize>());
        excess
    }

    /// Dijkstra's algorithm on the dense graph, up to the nearest node with a deficit if there is one.
    fn shortest(&mut self, sources: impl Iterator<Item = usize>, deficit: impl Fn(usize) -> bool) -> Paths {
        let nodes = self.nobody() + 1;
        let mut paths = Paths { distance: vec![None; nodes], parent: vec![nodes; nodes], target: None };
        let mut done = vec![false; nodes];
        sources.for_each(|node| paths.distance[node] = Some((0, 0)));
        loop {
            let next = (0..nodes).filter(|&node| !done[node]);
            let next = next.filter_map(|node| paths.distance[node].map(|distance| (distance, node))).min();
            let Some(((length, arcs), node)) = next else { return paths };
            done[node] = true;
            if deficit(node) {
                paths.target = Some(node);
                return paths;
            }
            for to in (0..nodes).filter(|&to| !done[to]) {
                let Some(arc) = self.arc(node, to) else { continue };
                let reduced = arc.raw() + self.prices[to] - self.prices[node];
                assert!(reduced >= 0, "prices are dual feasible");
                let through = (length + reduced, arcs + 1);
                if paths.distance[to].is_none_or(|distance| through < distance) {
                    paths.distance[to] = Some(through);
                    paths.parent[to] = node;
                }
            }
        }
    }

    /// Fills all slots: afterwards every block has as many rows as open slots. False if that needs more rows. This
    /// cannot happen if all rows are in the solver, since a row can always leave, and a slot can open or close.
    pub(super) fn balance(&mut self) -> bool {
        let mut excess = self.excess();
        while excess.iter().any(|&excess| excess > 0) {
            let sources: Vec<usize> = (0..excess.len()).filter(|&node| excess[node] > 0).collect();
            let paths = self.shortest(sources.into_iter(), |node| excess[node] < 0);
            let Some(target) = paths.target else { return false };
            let (length, _) = paths.distance[target].expect("the target was reached");
            self.lower(&paths, length);
            self.augment(&paths, target, &mut excess);
        }
        true
    }

    /// Lowers the prices by the distances, none by more than `most`, then shifts all so that nobody's price is 0 again.
    fn lower(&mut self, paths: &Paths, most: i128) {
        for (price, distance) in self.prices.iter_mut().zip(&paths.distance) {
            *price -= distance.map_or(most, |(length, _)| length.min(most));
        }
        let zero = self.prices[self.nobody()];
        self.prices.iter_mut().for_each(|price| *price -= zero);
    }

    /// Moves units along a shortest path for as long as it costs the same. If earlier units have used up an arc of the
    /// path, a unit waits at the node before that arc.
    fn augment(&mut self, paths: &Paths, target: usize, excess: &mut [isize]) {
        let mut hops = Vec::new();
        let mut node = target;
        while paths.parent[node] < excess.len() {
            hops.push((paths.parent[node], node));
            node = paths.parent[node];
        }
        hops.reverse();
        let source = node;
        while excess[source] > 0 && excess[target] < 0 {
            let mut units = excess[source].min(-excess[target]).unsigned_abs();
            for &(from, to) in &hops {
                units = units.min(self.free_arc(from, to).map_or(0, |(_, room)| room));
            }
            if units == 0 {
                break;
            }
            let mut at = source;
            for &(from, to) in &hops {
                match self.free_arc(from, to).filter(|&(_, room)| room >= units) {
                    Some((arc, _)) => self.take(arc, from, to, units),
                    None => break,
                }
                at = to;
            }
            excess[source] -= units.cast_signed();
            excess[at] += units.cast_signed();
            if at != target {
                break;
            }
        }
    }

    /// Moves units along an arc.
    fn take(&mut self, arc: Arc, from: usize, to: usize, units: usize) {
        match arc {
            Arc::Slot(_) if to == self.nobody() => self.open[from] += units,
            Arc::Slot(_) => self.open[to] -= units,
            Arc::Row(_, class) => self.apply(class as usize, from, to, units),
        }
    }

    /// Lowers the prices to the least that prove the same optimum, and says which blocks one more unit can reach.
    pub(super) fn least_prices(&mut self) -> Vec<bool> {
        let nobody = self.nobody();
        let paths = self.shortest(std::iter::once(nobody), |_| false);
        let farthest = paths.distance.iter().flatten().map(|&(length, _)| length).max().unwrap_or(0);
        self.lower(&paths, farthest);
        paths.distance[..nobody].iter().map(Option::is_some).collect()
    }
}
