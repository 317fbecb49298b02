//! Exact filling of the limits by successive shortest paths on the nodes of the network.
//!
//! The graph never has a node for a row. An arc from u to v is the cheapest row that can move from u to v, found on a
//! heap per pair of nodes whose stale entries are dropped when they surface. Rows of a stratum with the same scores move
//! together as one class, so exact ties cost no more than other rows. Rows and limits are always at their best for the
//! current prices. Until the end, some nodes get more or fewer units than they hand on; each shortest path corrects one
//! unit of that (or many, along ties).
//!
//! Moving a unit from u to v costs `raw + price[v] - price[u] >= 0` at the current prices, where raw is
//! ```text
//! row i from column j to column l           value(i, j) - value(i, l)       nobody has value 0
//! one more unit from a node to its parent   -bonus below min, 0 up to max, bonus beyond
//! one unit fewer                            the negative of that            (from the parent to the node)
//! ```
//! With several blocks to a row, a shortest path with the fewest arcs never moves the same row twice: two moves
//! j -> l and l' -> k of one row could be replaced by j -> k and a cycle, which costs nothing or more.

use super::grid::FORBIDDEN;
use super::network::Network;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Room for so many moves is made at once: most pairs of nodes have a few.
const MOVES: usize = 16;

/// The cheapest known moves from one node to another: (raw cost, class), smallest first.
type Moves = BinaryHeap<Reverse<(i128, u32)>>;

/// The state of the solver.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    pub(super) network: &'a Network,
    per_row: usize,
    bonus: i128,
    /// One per node; the last one, of the root, stays 0.
    pub(super) prices: Vec<i128>,
    /// How many units each node but the root hands on at its price.
    pub(super) open: Vec<isize>,
    /// How many units each node gets from rows, those outside this solver included; a chosen unit counts -1 at nobody.
    pub(super) filled: Vec<isize>,
    /// Of each class of rows in the solver, its stratum and the value of each column; see [`place`](Self::place).
    strata: Vec<usize>,
    values: Vec<i128>,
    /// Of each class, how many of its rows each block has, and how many more places they could take (at nobody).
    pub(super) held: Vec<usize>,
    /// Of each class, how many rows it has; above 1 only where a row has one block at most.
    pub(super) sizes: Vec<usize>,
    /// Of each pair of nodes with a way.
    moves: Vec<Moves>,
    /// A buffer for the blocks of a class.
    order: Vec<(i128, usize)>,
}

/// How an arc is realised.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Arc {
    Row(i128, u32),
    Limit(i128),
}

impl Arc {
    fn raw(self) -> i128 {
        match self {
            Self::Row(raw, _) | Self::Limit(raw) => raw,
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
    /// A solver without rows, at these prices of the nodes, which already get these numbers of units.
    pub(super) fn new(
        network: &'a Network,
        per_row: usize,
        bonus: i128,
        mut prices: Vec<i128>,
        filled: Vec<isize>,
    ) -> Self {
        prices[network.root()] = 0;
        let mut open = vec![0; network.root()];
        let mut through = filled.clone();
        for &node in &network.inside_out {
            let (span, parent) = (network.spans[node], network.parents[node]);
            open[node] = match prices[node] - prices[parent] {
                1.. => span.max,
                0 => through[node].clamp(span.min, span.max),
                _ => span.min,
            };
            through[parent] += open[node];
        }
        let moves = vec![Moves::new(); network.pairs];
        let (strata, values, held, sizes, order) = Default::default();
        Self { network, per_row, bonus, prices, open, filled, strata, values, held, sizes, moves, order }
    }

    /// The column of nobody, which is also the number of blocks.
    fn nobody(&self) -> usize {
        self.network.blocks
    }

    /// Where the numbers of a class in a column are.
    pub(super) fn place(&self, class: usize, column: usize) -> usize {
        class * (self.nobody() + 1) + column
    }

    pub(super) fn value(&self, class: usize, column: usize) -> i128 {
        self.values[self.place(class, column)]
    }

    /// What an arm of the class is worth beyond its price.
    pub(super) fn surplus(&self, class: usize, block: usize) -> i128 {
        let price = |column| self.prices[self.network.node(self.strata[class], column)];
        self.value(class, block) - (price(block) - price(self.nobody()))
    }

    /// Takes a class of rows with these blocks and values into the solver, at its best blocks for the current prices.
    pub(super) fn add(&mut self, stratum: usize, values: impl Iterator<Item = (usize, i128)>, size: usize) {
        let (nobody, class) = (self.nobody(), self.sizes.len());
        let first = self.place(class, 0);
        self.strata.push(stratum);
        self.sizes.push(size);
        self.values.resize(first + nobody, FORBIDDEN);
        values.for_each(|(block, value)| self.values[first + block] = value);
        self.values.push(0);
        let mut order = std::mem::take(&mut self.order);
        let offered = (0..nobody).filter(|&block| self.values[first + block] != FORBIDDEN);
        order.clear();
        order.extend(offered.map(|block| (self.surplus(class, block), block)).filter(|(surplus, _)| *surplus > 0));
        order.sort_unstable_by_key(|&(surplus, block)| (Reverse(surplus), block));
        order.truncate(self.per_row);
        self.held.resize(first + nobody, 0);
        self.held.push(size * (self.per_row - order.len()));
        for &(_, block) in &order {
            self.held[first + block] = size;
            self.filled[self.network.node(stratum, block)] += size.cast_signed();
            self.filled[self.network.node(stratum, nobody)] -= size.cast_signed();
        }
        self.order = order;
        (0..=nobody).for_each(|from| self.push_from(class, from));
    }

    /// How many rows of a class can leave a column.
    fn at(&self, class: usize, column: usize) -> usize {
        self.held[self.place(class, column)]
    }

    /// Whether a row of the class can enter a column.
    fn can_enter(&self, class: usize, column: usize) -> bool {
        column == self.nobody()
            || (self.at(class, column) < self.sizes[class] && self.value(class, column) != FORBIDDEN)
    }

    fn push(&mut self, class: usize, from: usize, to: usize) {
        if from != to && self.can_enter(class, to) {
            let raw = self.value(class, from) - self.value(class, to);
            let node = |column| self.network.node(self.strata[class], column);
            let moves = &mut self.moves[self.network.pair(node(from), node(to))];
            if moves.is_empty() {
                moves.reserve(MOVES);
            }
            moves.push(Reverse((raw, class as u32)));
        }
    }

    /// Offers all moves of a class away from a column.
    fn push_from(&mut self, class: usize, from: usize) {
        if self.at(class, from) > 0 {
            for to in 0..=self.nobody() {
                self.push(class, from, to);
            }
        }
    }

    /// Moves rows of a class between columns and offers the moves that this makes possible.
    fn apply(&mut self, class: usize, from: usize, to: usize, count: usize) {
        let nobody = self.nobody();
        let arrived = self.at(class, to) == 0;
        let was_full = from < nobody && self.at(class, from) == self.sizes[class];
        let (left, entered) = (self.place(class, from), self.place(class, to));
        let node = |column| self.network.node(self.strata[class], column);
        let (left_node, entered_node) = (node(from), node(to));
        self.held[left] -= count;
        self.held[entered] += count;
        self.filled[left_node] -= count.cast_signed();
        self.filled[entered_node] += count.cast_signed();
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

    /// What one more unit from a node to its parent costs, or one fewer (from the parent to the node), and how many
    /// units cost the same. None if the nodes are not parent and child, or there is no room.
    pub(super) fn limit(&self, from: usize, to: usize) -> Option<(i128, usize)> {
        let network = self.network;
        let of = |node: usize| (self.open[node], network.spans[node]);
        let (raw, room) = if network.parents.get(from) == Some(&to) {
            let (open, span) = of(from);
            if open < span.min {
                (-self.bonus, span.min - open)
            } else if open < span.max {
                (0, span.max - open)
            } else {
                (self.bonus, span.most - open)
            }
        } else if network.parents.get(to) == Some(&from) {
            let (open, span) = of(to);
            if open > span.max {
                (-self.bonus, open - span.max)
            } else if open > span.min {
                (0, open - span.min)
            } else {
                (self.bonus, open - span.least)
            }
        } else {
            return None;
        };
        (room > 0).then_some((raw, room.unsigned_abs()))
    }

    /// Hands on one more unit, or one fewer, from one node to another.
    pub(super) fn hand_on(&mut self, from: usize, to: usize, units: usize) {
        if self.network.parents.get(from) == Some(&to) {
            self.open[from] += units.cast_signed();
        } else {
            self.open[to] -= units.cast_signed();
        }
    }

    /// The cheapest arc between two nodes.
    fn arc(&mut self, from: usize, to: usize, pair: usize) -> Option<Arc> {
        let columns = (self.network.column(from), self.network.column(to));
        let row = loop {
            let Some(&Reverse((raw, class))) = self.moves[pair].peek() else { break None };
            if self.at(class as usize, columns.0) > 0 && self.can_enter(class as usize, columns.1) {
                break Some((raw, class));
            }
            self.moves[pair].pop();
        };
        match (row, self.limit(from, to)) {
            (Some((raw, class)), Some((limit, _))) if raw < limit => Some(Arc::Row(raw, class)),
            (_, Some((limit, _))) => Some(Arc::Limit(limit)),
            (row, None) => row.map(|(raw, class)| Arc::Row(raw, class)),
        }
    }

    /// The cheapest arc between two nodes, if it costs nothing at the current prices, and how many units it takes.
    fn free_arc(&mut self, from: usize, to: usize) -> Option<(Arc, usize)> {
        let arc = self.arc(from, to, self.network.pair(from, to))?;
        if arc.raw() + self.prices[to] != self.prices[from] {
            return None;
        }
        let room = match arc {
            Arc::Row(_, class) => {
                let (class, column) = (class as usize, self.network.column(to));
                let entered = if column == self.nobody() { 0 } else { self.at(class, column) };
                self.at(class, self.network.column(from)).min(self.sizes[class] - entered)
            }
            Arc::Limit(_) => self.limit(from, to).map_or(0, |(_, room)| room),
        };
        Some((arc, room))
    }

    /// More units than are handed on (above 0) or fewer, of each node; the sum over all nodes is 0.
    fn excess(&self) -> Vec<isize> {
        let mut excess = self.filled.clone();
        for (node, &open) in self.open.iter().enumerate() {
            excess[node] -= open;
            excess[self.network.parents[node]] += open;
        }
        excess
    }

    /// Dijkstra's algorithm, up to the nearest node with a deficit if there is one.
    fn shortest(&mut self, sources: impl Iterator<Item = usize>, deficit: impl Fn(usize) -> bool) -> Paths {
        let network = self.network;
        let nodes = network.root() + 1;
        let mut paths = Paths { distance: vec![None; nodes], parent: vec![nodes; nodes], target: None };
        let mut done = vec![false; nodes];
        let mut queue = BinaryHeap::new();
        for node in sources {
            paths.distance[node] = Some((0, 0));
            queue.push(Reverse(((0, 0), node)));
        }
        while let Some(Reverse(((length, arcs), node))) = queue.pop() {
            if std::mem::replace(&mut done[node], true) {
                continue;
            }
            if deficit(node) {
                paths.target = Some(node);
                return paths;
            }
            for &(to, pair) in &network.ways[node] {
                let to = to as usize;
                if done[to] {
                    continue;
                }
                let Some(arc) = self.arc(node, to, pair as usize) else { continue };
                let reduced = arc.raw() + self.prices[to] - self.prices[node];
                assert!(reduced >= 0, "prices are dual feasible");
                let through = (length + reduced, arcs + 1);
                if paths.distance[to].is_none_or(|distance| through < distance) {
                    paths.distance[to] = Some(through);
                    paths.parent[to] = node;
                    queue.push(Reverse((through, to)));
                }
            }
        }
        paths
    }

    /// Balances all nodes: afterwards each hands on what it gets. False if that needs more rows. This cannot happen if
    /// all rows are in the solver, since a row can always leave, and no maximum forbids to choose nothing.
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

    /// Lowers the prices by the distances, none by more than `most`, then shifts all so that the root's price is 0.
    fn lower(&mut self, paths: &Paths, most: i128) {
        for (price, distance) in self.prices.iter_mut().zip(&paths.distance) {
            *price -= distance.map_or(most, |(length, _)| length.min(most));
        }
        let zero = self.prices[self.network.root()];
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
            Arc::Limit(_) => self.hand_on(from, to, units),
            Arc::Row(_, class) => {
                self.apply(class as usize, self.network.column(from), self.network.column(to), units);
            }
        }
    }

    /// Lowers the prices to the least that prove the same optimum, and says which nodes one more unit can reach.
    pub(super) fn least_prices(&mut self) -> Vec<bool> {
        let root = self.network.root();
        let paths = self.shortest(std::iter::once(root), |_| false);
        let farthest = paths.distance.iter().flatten().map(|&(length, _)| length).max().unwrap_or(0);
        self.lower(&paths, farthest);
        paths.distance[..root].iter().map(Option::is_some).collect()
    }
}
