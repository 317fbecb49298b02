//! What a filling says: how many arms each limit has, what is missing, what one more unit would be worth.
//!
//! Everything here speaks of limits as the user gave them: a group over all blocks counts chosen arms, though the
//! network counts where they are not.

use super::flow::Flow;
use super::grid::{Grid, Scale};
use super::network::Network;
use crate::oracle::{Missing, Pick, Price};

/// The best filling: as many mandatory units as possible, then the largest sum.
pub(super) struct Filling<'a> {
    pub(super) arms: Vec<Pick>,
    pub(super) network: &'a Network,
    /// The price of each limit that proves it, mandatory units aside.
    pub(super) prices: Vec<f64>,
    pub(super) per_row: usize,
    /// What one more unit would add to (mandatory units, sum of scores) for each limit.
    pub(super) worth: Vec<(bool, f64)>,
    /// The largest score.
    pub(super) best: f64,
    /// Scores below this must not set the scale; usually none.
    pub(super) penalty: Option<f64>,
}

/// What one more unit of each limit would add at these prices, for limits that one more unit can reach.
pub(super) fn worth(flow: &Flow<'_>, grid: &Grid, scale: Scale, reached: &[bool]) -> Vec<(bool, f64)> {
    let network = flow.network;
    let of = |limit: usize| {
        if !reached[limit] {
            return (false, 0.0);
        }
        let price = flow.prices[limit] - flow.prices[network.parents[limit]];
        let price = if network.counts_down(limit) { -price } else { price };
        let score = |price: i128| scale.up(grid.score(price));
        // How many mandatory units one more unit of the limit fills here or elsewhere; below 0, it is one that cannot be
        // filled.
        match (price + grid.bonus / 2).div_euclid(grid.bonus) {
            0 => (true, score(price)),
            filled @ 1.. => (true, score(price - filled * grid.bonus)),
            filled => (false, score((price - filled * grid.bonus).max(0))),
        }
    };
    (0..network.root()).map(of).collect()
}

impl Filling<'_> {
    /// How many arms count towards each limit.
    pub(super) fn counts(&self) -> Vec<usize> {
        self.network.counts(&self.arms)
    }

    /// How many mandatory units are filled.
    pub(super) fn mandatory(&self) -> usize {
        let bounds = &self.network.bounds;
        self.counts().iter().zip(bounds).map(|(&chosen, bounds)| bounds.0.min(chosen)).sum()
    }

    /// How far each limit is below its minimum.
    pub(super) fn missing(&self) -> Vec<Missing> {
        let Network { bounds, names, .. } = self.network;
        let short = self.counts().into_iter().enumerate().filter(|&(limit, chosen)| chosen < bounds[limit].0);
        short.map(|(limit, chosen)| Missing { of: names[limit].clone(), needed: bounds[limit].0, chosen }).collect()
    }

    /// The floors of the blocks, where there are no groups: the prices of filled quotas, lowered by more than the
    /// rounding error. More rows only raise the prices, so an arm that scores below a floor never matters. A quota that
    /// cannot be raised has no floor. Nor has a range of which only the minimum is filled, at a price of 0, since that
    /// may have taken arms with negative scores.
    pub(super) fn floors(&self) -> Option<Vec<f64>> {
        let floor = |(block, chosen): (usize, usize)| {
            let (exact, min) = (self.network.spans[block].exact, self.network.bounds[block].0);
            let told = |price: &f64| exact || min == 0 || chosen > min || *price > 0.0;
            let price = self.price(block, chosen, false).filter(told);
            price.map_or(f64::NEG_INFINITY, |price| price - 1e-9 * (1.0 + price.abs()))
        };
        let only_blocks = self.network.root() == self.network.blocks;
        only_blocks.then(|| self.counts().into_iter().enumerate().map(floor).collect())
    }

    pub(super) fn told(&self, fill: bool) -> Vec<Price> {
        let price = |(limit, chosen): (usize, usize)| {
            Some(Price { of: self.network.names[limit].clone(), value: self.price(limit, chosen, fill)? })
        };
        self.counts().into_iter().enumerate().filter_map(price).collect()
    }

    /// What one more unit of a limit is worth; none for an exact one that cannot be raised.
    fn price(&self, limit: usize, chosen: usize, fill: bool) -> Option<f64> {
        let (fills, worth) = self.worth[limit];
        if self.network.spans[limit].exact {
            return (fills || fill).then_some(worth);
        }
        let min = self.network.bounds[limit].0;
        Some(match fills {
            false => 0.0,
            true if limit < self.network.blocks => worth.max(0.0),
            // Of a group's range, one more unit of the bound that binds.
            true if chosen <= min && min > 0 => worth.min(0.0),
            true => worth.max(0.0),
        })
    }
}
