//! A start from the prices of an earlier round.
//!
//! The promotions' prices change little from round to round, so they tell where to begin: which pairs are worth keeping, and
//! from where to correct the prices. They replace the samples of [`filter`](super::filter) and nothing else, so the
//! answer is proved as always and does not depend on them. Prices that make no sense cost a pass, or are not used at all.

use super::filter::{Estimate, sample_of};
use super::network::Network;
use crate::oracle::{Limit, Price};

/// The sample that checks the prices has one row in this many; fewer sampled rows than this are not worth it.
const GROUP: usize = 8;
const FEWEST: usize = 160;
/// Above this multiple of sampling noise, all prices are taken to have moved together.
const MOVED: f64 = 4.0;

/// The price of each block among these, if there is one for each and no other; none without.
pub(super) fn of_blocks(prices: &[Price], blocks: usize) -> Option<Vec<f64>> {
    let mut found = vec![f64::NAN; blocks];
    for price in prices {
        let Limit::Block(block) = price.of else { return None };
        *found.get_mut(block)? = price.value;
    }
    found.iter().all(|price| price.is_finite()).then_some(found)
}

/// Floors and prices near these prices of the blocks; one promotion to a row; none if there are groups, or
/// too few rows to check them.
///
/// A row's surplus is that of its best pair at the prices. As many sampled rows as the quotas want, and some more for the
/// noise of both rounds and of the sample, lie above a certain surplus: by so much the floors are below the prices.
#[expect(clippy::cast_sign_loss, reason = "counts are not negative")]
pub(super) fn estimate(values: &[f64], network: &Network, prices: &[f64]) -> Option<Estimate> {
    let blocks = network.blocks;
    if network.root() > blocks {
        return None;
    }
    let (rows, share) = sample_of(values.len() / blocks, GROUP);
    let wanted: f64 = network.spans.iter().map(|span| span.max as f64).sum();
    // Three standard deviations of the noise of both rounds and of the sample's together.
    let more: f64 = network.spans.iter().map(|span| 3.0 * (2.0 * span.max as f64).sqrt() + 2.0).sum();
    let rank = (wanted * share + (more * share).hypot(3.0 * ((wanted + more) * share).sqrt())) as usize;
    if rows.len() < FEWEST || rank as f64 >= 0.6 * rows.len() as f64 {
        return None;
    }
    let surplus = |&row: &usize| {
        let pairs = values[row * blocks..][..blocks].iter().zip(prices);
        // Not `max`, which takes several instructions for the sake of NaN.
        let better = |best: f64, surplus: f64| if surplus > best { surplus } else { best };
        pairs.fold(f64::NEG_INFINITY, |best, (score, price)| better(best, score - price))
    };
    let mut surpluses: Vec<f64> = rows.iter().map(surplus).collect();
    let falling = |a: &f64, b: &f64| b.total_cmp(a);
    let (above, &mut lowest, _) = surpluses.select_nth_unstable_by(rank, falling);
    let expected = wanted * share;
    let served = above.iter().filter(|surplus| **surplus > 0.0).count() as f64;
    let moved = if (served - expected).abs() <= MOVED * expected.sqrt() + 2.0 {
        0.0
    } else {
        *above.select_nth_unstable_by(expected as usize, falling).1
    };
    let floors: Vec<f64> = prices.iter().map(|price| price + lowest).collect();
    let prices: Vec<f64> = prices.iter().map(|price| price + moved).collect();
    let usable = floors.iter().chain(&prices).all(|price| price.is_finite());
    usable.then_some(Estimate { floors, prices: Some(prices) })
}
