//! Prunes pairs that cannot matter: prices from a sample give floors, then one pass over the scores.
//!
//! The sample only saves work. A pair is pruned if its score is below the floor of its block. The solver accepts the
//! result only if its final prices are at or above the floors, which proves that no pruned pair matters; otherwise the
//! floors are lowered and the pass is repeated.

use super::grid::Scale;
use super::network::{Network, Span};
use super::newton::{Target, greedy, newton, spread};
use super::offers::Offers;
use crate::Error;
use crate::kernel::{EIGHT, Kernel};
use crate::oracle::Scores;

/// Samples below this many rows are solved from a greedy start; whole problems below it are not filtered.
const COARSEST: usize = 640;
/// Each sample has one in this many rows of the next larger one.
const GROUP: usize = 8;
/// A sample with this many units per block, on average, is large enough.
const PLENTY: usize = 100;
/// A sample takes this many consecutive rows at a time, which is fast to read.
const RUN: usize = 8;
/// Above this multiple of sampling noise, treat the sample as misleading.
const WRONG: f64 = 4.0;
/// How many runs ahead the rows of a sample are prefetched.
const AHEAD: usize = 8;
/// How many rows a pass takes at a time.
const PART: usize = 64;
/// So many places of set bits are written down at once, whether there are as many or not.
const AT_ONCE: usize = 4;

/// The kept rows, with their scores scaled below 1.
#[derive(Debug)]
pub(super) struct Kept {
    /// Row numbers among the scores, ascending.
    pub(super) rows: Vec<usize>,
    /// Their pairs at or above the floors.
    pub(super) offers: Offers,
    /// The power of two by which they were divided.
    pub(super) scale: Scale,
    /// The largest score.
    pub(super) best: f64,
    /// Scores below this are so far below all the others that they must not set the scale; usually none.
    pub(super) penalty: Option<f64>,
}

/// If all other scores are below this share of a negative one, the grid might be too coarse for them.
const PENALTY: f64 = 1.0 / (1u64 << 24) as f64;

/// What a sample says about the prices.
#[derive(Debug)]
pub(super) struct Estimate {
    /// Of the arms, one per stratum and block: most probably so low that no pair below them is needed.
    pub(super) floors: Vec<f64>,
    /// The prices of the limits in the sample; none without a sample.
    pub(super) prices: Option<Vec<f64>>,
}

/// Estimates from one row in eight, or one in sixteen if that still gives enough units of every block. Without enough
/// rows, there are no floors.
pub(super) fn estimate(values: &[f64], network: &Network, per_row: usize) -> Estimate {
    let blocks = network.blocks;
    let wanted: isize = quotas(network).iter().map(|span| span.max).sum();
    let group = if wanted / (2 * GROUP).cast_signed() >= (PLENTY * blocks).cast_signed() { 2 * GROUP } else { GROUP };
    if !worth_sampling(values.len() / blocks, network, per_row, group) {
        let prices = first_prices(values, network, per_row);
        return Estimate { floors: no_floors(network), prices };
    }
    let sample = sample(values, network, per_row, group);
    let mut floors = sample.floors(network);
    let Sample { mut prices, offers: sample, .. } = sample;
    let share = sampled(values.len() / blocks, group).1;
    let targets: Vec<Target> = network.spans.iter().map(|span| Target::share(span, share)).collect();
    newton(network, &sample, per_row, &targets, targets.iter().map(Target::noise).sum(), &mut prices);
    floors.iter_mut().filter(|floor| !floor.is_finite()).for_each(|floor| *floor = f64::NEG_INFINITY);
    Estimate { floors, prices: Some(prices) }
}

/// Floors that keep everything.
pub(super) fn no_floors(network: &Network) -> Vec<f64> {
    vec![f64::NEG_INFINITY; network.strata() * network.blocks]
}

/// The limits of the blocks.
fn quotas(network: &Network) -> &[Span] {
    &network.spans[..network.blocks]
}

/// Starting prices from a sample, for quotas that take most of the rows, so that nothing can be pruned. None if there
/// are too few rows.
pub(super) fn first_prices(values: &[f64], network: &Network, per_row: usize) -> Option<Vec<f64>> {
    let group = 2 * GROUP;
    let (runs, share) = sampled(values.len() / network.blocks, group);
    let targets: Vec<Target> = network.spans.iter().map(|span| Target::share(span, share)).collect();
    let plenty = targets[..network.blocks].iter().all(|target| target.max >= PLENTY as f64);
    if !plenty || runs * RUN < COARSEST || per_row == 0 {
        return None;
    }
    let offers = sampled_pairs(values, network, runs, group, &no_floors(network));
    let mut prices = greedy(network, &offers, per_row, &targets);
    newton(network, &offers, per_row, &targets, targets.iter().map(Target::noise).sum(), &mut prices);
    prices.iter().all(|price| price.is_finite()).then_some(prices)
}

/// How many runs of rows a sample has, and which share of all rows they are.
fn sampled(rows: usize, group: usize) -> (usize, f64) {
    let runs = rows / (group * RUN);
    (runs, (runs * RUN) as f64 / rows as f64)
}

/// Whether one row of each group makes a sample that is large enough, and larger than what it must fill.
fn worth_sampling(rows: usize, network: &Network, per_row: usize, group: usize) -> bool {
    let (runs, share) = sampled(rows, group);
    let wanted: f64 = quotas(network).iter().map(|span| Target::raised(span, share).max).sum();
    runs * RUN >= COARSEST / GROUP && wanted < 0.6 * (runs * RUN * per_row) as f64
}

/// The result of a sample of rows.
struct Sample {
    /// Prices of the limits, too low on purpose.
    prices: Vec<f64>,
    /// With groups, prices are not too low on purpose, since a limit may raise one price and lower another: by so much
    /// they may be wrong.
    margin: f64,
    /// The pairs that reach the prices of a smaller sample.
    offers: Offers,
    /// Whether the prices fill the quotas, up to sampling noise.
    even: bool,
}

impl Sample {
    /// Floors that the arms of the whole will most probably reach.
    fn floors(&self, network: &Network) -> Vec<f64> {
        let prices = network.arm_prices(&network.potentials(&self.prices));
        prices.into_iter().map(|price| price - self.margin).collect()
    }
}

/// Prices, too low on purpose, from one row of each group, and the pairs of these rows that matter by the prices of a
/// smaller sample, which is solved first in the same way.
fn sample(values: &[f64], network: &Network, per_row: usize, group: usize) -> Sample {
    let rows = values.len() / network.blocks;
    let (runs, share) = sampled(rows, group);
    let groups = network.root() > network.blocks;
    let target = |span: &Span| if groups { Target::share(span, share) } else { Target::raised(span, share) };
    let targets: Vec<Target> = network.spans.iter().map(target).collect();
    let coarse =
        worth_sampling(rows, network, per_row, group * GROUP).then(|| sample(values, network, per_row, group * GROUP));
    let goal = targets.iter().map(Target::noise).sum();
    let from = |coarse: Option<&Sample>| {
        let floors = coarse.map_or_else(|| no_floors(network), |coarse| coarse.floors(network));
        let offers = sampled_pairs(values, network, runs, group, &floors);
        let start = coarse.map(|coarse| coarse.prices.clone());
        let mut prices = start.unwrap_or_else(|| greedy(network, &offers, per_row, &targets));
        let left = newton(network, &offers, per_row, &targets, goal, &mut prices);
        (prices, offers, left)
    };
    let (prices, offers, left) = from(coarse.as_ref());
    // If the smaller sample filled its quotas and this one does not, the smaller one pruned pairs that matter. (With
    // many equal scores, no sample of any size fills its quotas.)
    let wrong = |left: f64| left > WRONG * goal;
    let misled = wrong(left) && coarse.is_some_and(|coarse| coarse.even);
    let again = if misled { Some(from(None)).filter(|again| again.2 < left) } else { None };
    let (prices, offers, left) = again.unwrap_or((prices, offers, left));
    // The noise of the sample, three times as many units to be safe, and what is still in the wrong place.
    let margin = if groups { 2.0 * spread(network, &offers, per_row, &prices, 6.0 * goal + left) } else { 0.0 };
    Sample { prices, margin, offers, even: !wrong(left) }
}

/// The pairs of a sample's rows that reach these floors.
fn sampled_pairs(values: &[f64], network: &Network, runs: usize, group: usize, floors: &[f64]) -> Offers {
    let size = RUN * network.blocks;
    let rows = |index: usize| &values[run(index, group) * size..][..size];
    let mut pass = Pass::new(floors, network.blocks, &network.strata);
    for index in 0..runs {
        pass.take(run(index, group) * RUN, rows(index), rows((index + AHEAD).min(runs - 1)));
    }
    pass.finish().1
}

/// The rows in a sample of one row in eight, for tests that mislead it.
#[cfg(test)]
pub(crate) fn sampled_rows(rows: usize) -> Vec<usize> {
    sample_of(rows, GROUP).0
}

/// The rows of a sample with one row in so many, and which share of all rows they are.
pub(super) fn sample_of(rows: usize, group: usize) -> (Vec<usize>, f64) {
    let (runs, share) = sampled(rows, group);
    ((0..runs).flat_map(|index| run(index, group) * RUN..(run(index, group) + 1) * RUN).collect(), share)
}

/// Which run of a group of runs is sampled: a fixed hash decides, so that a period in the data cannot coincide with a
/// period of the sample.
fn run(index: usize, group: usize) -> usize {
    index * group + (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % group
}

/// The rows that reach a floor, ascending, and of each block the places of its rows among them.
pub(crate) fn pairs_above(values: &[f64], floors: &[f64]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut pass = Pass::new(floors, floors.len(), &[]);
    pass.all(values);
    let (rows, offers, _) = pass.finish();
    let mut of_block = vec![Vec::new(); floors.len()];
    for (place, row) in offers.rows().enumerate() {
        row.blocks.iter().for_each(|&block| of_block[block as usize].push(place));
    }
    (rows, of_block)
}

/// Keeps the pairs with a score at or above the floor of their stratum and block, and checks all scores on the way.
pub(super) fn keep(scores: &Scores<'_>, network: &Network, floors: &[f64]) -> Result<Kept, Error> {
    let values = scores.values();
    let mut pass = Pass::new(floors, network.blocks, &network.strata);
    pass.all(values);
    let (rows, mut offers, fine) = pass.finish();
    if !fine {
        let bad = |score: &f64| score.is_nan() || *score == f64::INFINITY;
        let place = values.iter().position(bad).expect("a bad score was seen");
        return Err(scores.not_finite(scores.pick(place)));
    }
    let kept = &offers.scores;
    let (least, best) = range(kept);
    let largest = best.max(-least).max(0.0);
    let penalty = -PENALTY * largest;
    let drowns = best < -penalty && kept.iter().any(|&score| score >= penalty && score != 0.0);
    let scale = Scale::new(largest);
    offers.scores.iter_mut().for_each(|score| *score = scale.down(*score));
    Ok(Kept { rows, offers, scale, best, penalty: drowns.then_some(penalty) })
}

/// The smallest and the largest of these numbers; infinite without any.
fn range(scores: &[f64]) -> (f64, f64) {
    const LANES: usize = 8;
    let (mut least, mut most) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    let (chunks, rest) = scores.as_chunks::<LANES>();
    for chunk in chunks.iter().copied().chain(rest.iter().map(|&score| [score; LANES])) {
        for lane in 0..LANES {
            least[lane] = if chunk[lane] < least[lane] { chunk[lane] } else { least[lane] };
            most[lane] = if chunk[lane] > most[lane] { chunk[lane] } else { most[lane] };
        }
    }
    (least.into_iter().fold(f64::INFINITY, f64::min), most.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

/// A pass over scores that keeps the pairs at or above the floors.
struct Pass<'a> {
    blocks: usize,
    kernel: Kernel,
    /// The floors of each stratum, one per block.
    of_strata: Vec<f64>,
    /// The stratum of each row; empty if there is only one.
    strata: &'a [u32],
    /// The floors of eight rows, so that they fill whole vectors whatever the number of blocks; of a part's rows, where
    /// there are strata.
    floors: Vec<f64>,
    /// Of each place among the scores of a part, its row there.
    row_of: Vec<u8>,
    /// Of each score of a part, whether it reaches its floor.
    bits: Vec<u8>,
    /// Room for the places of those that do.
    places: Vec<u32>,
    /// Room for their rows and where the pairs of each end, from the second place on.
    seen: [(usize, usize); PART + 1],
    rows: Vec<usize>,
    offers: Offers,
    /// Whether all scores are finite or -infinity.
    fine: bool,
}

impl<'a> Pass<'a> {
    fn new(floors: &[f64], blocks: usize, strata: &'a [u32]) -> Self {
        // A finite floor, so that no forbidden pair reaches it.
        let of_strata: Vec<f64> = floors.iter().map(|floor| floor.max(f64::MIN)).collect();
        let floors = of_strata.iter().copied().take(blocks).cycle().take(EIGHT * blocks).collect();
        Self {
            blocks,
            kernel: Kernel::get(),
            of_strata,
            strata,
            floors,
            row_of: (0..PART as u8).flat_map(|row| std::iter::repeat_n(row, blocks)).collect(),
            bits: vec![0; PART / EIGHT * blocks],
            places: vec![0; PART * blocks + AT_ONCE],
            seen: [(0, 0); PART + 1],
            rows: Vec::new(),
            offers: Offers::default(),
            fine: true,
        }
    }

    /// The rows with a pair, their pairs, and whether all scores were finite or -infinity.
    fn finish(mut self) -> (Vec<usize>, Offers, bool) {
        if !self.strata.is_empty() {
            self.offers.of_strata(self.rows.iter().map(|&row| self.strata[row]));
        }
        (self.rows, self.offers, self.fine)
    }

    /// Takes all rows.
    fn all(&mut self, scores: &[f64]) {
        let mut parts = scores.chunks(PART * self.blocks).enumerate();
        while let Some((part, scores)) = parts.next() {
            self.take(part * PART, scores, parts.clone().next().map_or(&[], |(_, ahead)| ahead));
        }
    }

    /// Takes the next rows, at most [`PART`] of them, beginning with number `first`; prefetches the rows in `ahead`.
    fn take(&mut self, first: usize, scores: &[f64], ahead: &[f64]) {
        let eight = EIGHT * self.blocks;
        let whole = scores.len() / eight * eight;
        self.take_eights(first, &scores[..whole], ahead);
        if whole < scores.len() {
            let mut padded = scores[whole..].to_vec();
            padded.resize(eight, f64::NEG_INFINITY);
            self.take_eights(first + whole / self.blocks, &padded, &[]);
        }
    }

    fn take_eights(&mut self, first: usize, scores: &[f64], ahead: &[f64]) {
        if scores.is_empty() {
            return;
        }
        let Self { blocks, kernel, of_strata, strata, floors, row_of, bits, places, seen, rows, offers, fine } = self;
        if !strata.is_empty() {
            floors.clear();
            for row in first..first + scores.len() / *blocks {
                // Beyond the last row there are only paddings, which are -infinity.
                let stratum = strata.get(row).map_or(0, |&stratum| stratum as usize);
                floors.extend_from_slice(&of_strata[stratum * *blocks..][..*blocks]);
            }
        }
        let bits = &mut bits[..scores.len() / EIGHT];
        *fine &= kernel.reach(scores, floors, ahead, bits);
        // Without a branch for each pair: which pairs are kept, and which of them begin a row, cannot be predicted.
        let mut found = 0;
        let mut word_at = |mut word: u64, base: usize| {
            let count = word.count_ones() as usize;
            let mut room = &mut places[found..];
            for _ in 0..count.div_ceil(AT_ONCE) {
                let (some, rest) = room.split_at_mut(AT_ONCE);
                for place in some {
                    *place = (base + word.trailing_zeros() as usize) as u32;
                    word &= word.wrapping_sub(1);
                }
                room = rest;
            }
            found += count;
        };
        let (words, rest) = bits.as_chunks();
        words.iter().enumerate().for_each(|(place, &word)| word_at(u64::from_le_bytes(word), place * 64));
        rest.iter().enumerate().for_each(|(place, &byte)| word_at(byte.into(), words.len() * 64 + place * EIGHT));
        let places = &places[..found];
        let (mut count, mut last) = (0, usize::MAX);
        for (end, &place) in (1..).zip(places) {
            let row = usize::from(row_of[place as usize]);
            count += usize::from(row != last);
            last = row;
            seen[count] = (first + row, end);
        }
        let seen = &seen[1..=count];
        rows.extend(seen.iter().map(|(row, _)| row));
        let pair = |&place: &u32| {
            let row = usize::from(row_of[place as usize]);
            (place - (row * *blocks) as u32, scores[place as usize])
        };
        offers.extend(seen.iter().map(|(_, end)| *end), places.iter().map(pair));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arms, Assignment, Oracle, Round, Stream, Ties};

    /// The sampled rows are the best or the worst of all. The answer must be the same as for these rows in another
    /// order, for which the sample is fair.
    #[test]
    fn a_sample_that_misleads_is_found_out() {
        let (rows, blocks) = (6_400, 3);
        let round = Round::new(5, 1);
        for (boost, quota) in [(10.0, 500), (10.0, 40), (-10.0, 500), (-10.0, 40)] {
            let mut extra = vec![0.0; rows];
            sampled_rows(rows).into_iter().for_each(|row| extra[row] = boost);
            let noise = |place: usize| round.draws((place % blocks) as u32, Stream(7)).normal((place / blocks) as u64);
            let values: Vec<f64> = (0..rows * blocks).map(|place| extra[place / blocks] + noise(place)).collect();
            let solve = |order: &[u64]| {
                let values: Vec<f64> = order
                    .iter()
                    .flat_map(|&id| &values[id as usize * blocks..(id as usize + 1) * blocks])
                    .copied()
                    .collect();
                let features = vec![0.0; rows];
                let arms = Arms::new(&features, 1)?.with_ids(order)?;
                let scores = Scores::new(&values, blocks, arms, Ties::ById, round)?;
                let best = Assignment::new(vec![quota; blocks]).argmax(&scores)?;
                let arms: Vec<(u64, usize)> = best.arms.iter().map(|arm| (order[arm.row], arm.block)).collect();
                Ok::<_, Error>((arms, best.prices))
            };
            let straight: Vec<u64> = (0..rows as u64).collect();
            let mut shuffled = straight.clone();
            shuffled.sort_unstable_by_key(|&id| round.draws(0, Stream(8)).bits(id));
            assert_eq!(solve(&straight).unwrap(), solve(&shuffled).unwrap(), "boost {boost}, quota {quota}");
        }
    }
}
