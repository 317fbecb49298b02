//! The sending promotion problem: Table I in both readings, figures 3, 4 and 7.
//!
//! Parameters are chosen on some splits of the movies and evaluated on others, which share no
//! trial and, where the band has movies enough, no test movie. Each reading and each k has its own grid.

use std::collections::BTreeMap;

use super::{
    Options,
    compare::{Chosen, compare, distinct, heat_maps, pairs, tune},
    plan::Plan,
    which,
};
use crate::{
    Error,
    data::{self, Customers, Features, Ratings, Source},
    grid::Grid,
    play::{Detail, Feedback, Sample},
    results::{AverageReward, Cosines, Curve, Data, HeatMap, Mean, Promotions, Protocol, Ratio, Table, TableRow},
    session::{Job, Session},
    stats::Units,
    world::{self, Purpose, Reading, Trial},
};

/// M: the number of promotions.
const PROMOTIONS: usize = 10;
/// T: the number of rounds.
const ROUNDS: u64 = 20;
/// Customers of a round for each send of a promotion: N = 100 k.
const CUSTOMERS: usize = 100;
/// Rounds that count as early.
const EARLY: u64 = 5;
/// Bins of figure 3.
const BINS: usize = 100;

/// Table I of the paper, in the order of the algorithms.
const PUBLISHED: [(usize, [f64; 7]); 4] = [
    (50, [1588.6, 2090.5, 1749.2, 2183.0, 2304.5, 2121.9, 2304.3]),
    (100, [3765.1, 5032.0, 3850.3, 4879.5, 5359.8, 4744.4, 5298.0]),
    (150, [5471.6, 7653.0, 6212.0, 7276.0, 8210.6, 7243.8, 7945.0]),
    (200, [7939.6, 10092.5, 8918.4, 9708.5, 11147.2, 9724.1, 10928.2]),
];

/// The customers of the splits: for tuning, and for evaluation.
pub(super) struct Splits {
    tuning: Vec<Customers>,
    fresh: Vec<Customers>,
}

impl Splits {
    /// The splits as the study of all algorithms takes them.
    pub(super) fn named<'s>(&'s self, ratings: &Ratings) -> which::Ratings<'s> {
        let generated = *ratings.source() == Source::Generated;
        let label = if generated { "generated ratings".to_owned() } else { ratings.source().to_string() };
        which::Ratings { label, generated, tuning: &self.tuning, fresh: &self.fresh }
    }

    /// Whether no movie is in two of them.
    fn disjoint(&self) -> bool {
        let all = self.tuning.iter().chain(&self.fresh).flat_map(Customers::movies);
        let mut movies: Vec<u32> = all.copied().collect();
        let count = movies.len();
        movies.sort_unstable();
        movies.dedup();
        movies.len() == count
    }
}

pub(super) fn splits(
    plan: &Plan,
    ratings: &Ratings,
    options: &Options,
    session: &Session<'_>,
) -> Result<Splits, Error> {
    let (tuning, fresh) = plan.splits(ratings);
    session.watch().start("promotions: features", (tuning + fresh) as u64);
    let mut made = session.install(|| {
        (0..(tuning + fresh) as u64)
            .map(|number| {
                let made = Customers::new(ratings, options.features, PROMOTIONS, options.seed, number);
                session.watch().advance(1);
                made
            })
            .collect::<Result<Vec<_>, Error>>()
    })??;
    session.watch().finish();
    let fresh = made.split_off(tuning);
    Ok(Splits { tuning: made, fresh })
}

/// What one reading and k gave.
struct Study {
    row: TableRow,
    average: AverageReward,
    tuned: Vec<Sample>,
}

pub(super) fn run(
    plan: &Plan,
    ratings: &Ratings,
    splits: &Splits,
    seed: u64,
    session: &Session<'_>,
) -> Result<Promotions, Error> {
    let grid = Grid::new(&plan.exponents)?;
    let cosines = session.install(|| cosines(&splits.tuning[0], plan.cosine_users, seed))?;
    let mut tables = Vec::new();
    let mut average_reward = Vec::new();
    let mut sensitivity: (Vec<HeatMap>, String) = Default::default();
    for reading in Reading::ALL {
        let mut rows = Vec::new();
        for &k in &plan.ks {
            let study = study(plan, splits, seed, session, &grid, reading, k)?;
            if reading == Reading::Independent {
                sensitivity = (heat_maps(&grid, &study.tuned), format!("{reading}, k = {k}"));
            }
            rows.push(study.row);
            average_reward.push(study.average);
        }
        tables.push(Table { reading: reading.name().to_owned(), rows });
    }
    let users = splits.tuning[0].users();
    let most = plan.ks.iter().max().map_or(0, |k| CUSTOMERS * k);
    let data = Data {
        label: ratings.source().to_string(),
        generated: *ratings.source() == Source::Generated,
        fingerprint: format!("{:016x}", ratings.fingerprint()),
        users,
        movies: ratings.movies(),
        ratings: ratings.len(),
        features: splits.tuning[0].features().variant().name().to_owned(),
        d: Features::DIMENSION,
        tuning_splits: splits.tuning.len(),
        fresh_splits: splits.fresh.len(),
        disjoint_splits: splits.disjoint(),
        sampling: if most <= users {
            "distinct".to_owned()
        } else {
            format!("distinct up to N = {users}, with replacement beyond")
        },
    };
    Ok(Promotions {
        data,
        promotions: PROMOTIONS,
        rounds: ROUNDS,
        grid: grid.values,
        cosines,
        tables,
        average_reward,
        sensitivity: sensitivity.0,
        sensitivity_of: sensitivity.1,
    })
}

fn study(
    plan: &Plan,
    splits: &Splits,
    seed: u64,
    session: &Session<'_>,
    grid: &Grid,
    reading: Reading,
    k: usize,
) -> Result<Study, Error> {
    let n = CUSTOMERS * k;
    let play = |customers: &[Customers], purpose, trials, settings, detail, stage: &str| {
        let world = world::Promotions::new(customers, seed, reading, k, n, ROUNDS)?;
        let trials = Trial::of(seed, purpose, trials);
        let job = Job { world: &world, trials, settings, feedback: Feedback::AT_ONCE, detail };
        Ok::<_, Error>(session.play(&format!("promotions: {reading}, k = {k}, {stage}"), &[job])?.swap_remove(0))
    };
    let trials = plan.promotions_tuning();
    let tuned = play(&splits.tuning, Purpose::Tuning, trials, grid.runs.clone(), Detail::Totals, "grid")?;
    let chosen = tune(grid, &tuned);
    let (runs, places) = distinct(&chosen);
    let settings = runs.iter().map(|&run| grid.runs[run]).collect();
    let trials = plan.promotions_fresh;
    let fresh = play(&splits.fresh, Purpose::Evaluation, trials, settings, Detail::Rounds, "fresh trials")?;
    let groups = splits.fresh.len();
    let comparisons = vec![
        compare(Protocol::Paper, &chosen, |place| chosen[place].candidate.run, &tuned, splits.tuning.len()),
        compare(Protocol::Fresh, &chosen, |place| places[place], &fresh, groups),
    ];

    let published = published(k);
    let ratio = |(a, b): (&str, &str)| {
        let of = |protocol: Protocol| {
            let comparison = comparisons.iter().find(|comparison| comparison.protocol == protocol)?;
            comparison.paired.iter().find(|pair| pair.a == a && pair.b == b).map(|pair| pair.ratio)
        };
        let known = published.get(a).zip(published.get(b)).map(|(a, b)| a / b);
        let fresh = of(Protocol::Fresh)?;
        Some(Ratio { a: a.to_owned(), b: b.to_owned(), published: known, paper: of(Protocol::Paper), fresh })
    };
    let ratios = [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")].into_iter().filter_map(ratio).collect();
    let average = average(reading, k, &chosen, &places, &fresh, groups);
    Ok(Study { row: TableRow { k, n, published, comparisons, ratios }, average, tuned })
}

fn published(k: usize) -> BTreeMap<String, f64> {
    let row = PUBLISHED.iter().find(|(known, _)| *known == k);
    let named = |(_, row): &(usize, [f64; 7])| {
        crate::grid::SEVEN.iter().zip(row).map(|(name, value)| ((*name).to_owned(), *value)).collect()
    };
    row.map(named).unwrap_or_default()
}

/// Figure 4.
fn average(
    reading: Reading,
    k: usize,
    chosen: &[Chosen],
    places: &[usize],
    samples: &[Sample],
    groups: usize,
) -> AverageReward {
    let units = |value: &dyn Fn(&Sample) -> f64| Units::new(&samples.iter().map(value).collect::<Vec<_>>(), groups);
    let points = |rewards: &dyn Fn(&Sample) -> Vec<f64>| -> Vec<Mean> {
        let so_far = |t: usize| units(&|sample| rewards(sample)[..=t].iter().sum::<f64>() / (t + 1) as f64).mean();
        (0..ROUNDS as usize).map(so_far).collect()
    };
    let curve = |(place, chosen): (usize, &Chosen)| Curve {
        algorithm: chosen.name.to_owned(),
        params: chosen.candidate.params.clone(),
        ties: "by-id".to_owned(),
        points: points(&|sample| sample.played[places[place]].reward.clone()),
    };
    let early = |(place, chosen): (usize, &Chosen)| {
        (chosen.name, units(&|sample| sample.played[places[place]].reward[..EARLY as usize].iter().sum()))
    };
    let early: Vec<(&str, Units)> = chosen.iter().enumerate().map(early).collect();
    AverageReward {
        reading: reading.name().to_owned(),
        k,
        trials: samples.len(),
        curves: chosen.iter().enumerate().map(curve).collect(),
        oracle: points(&|sample| sample.best.clone()),
        early_rounds: EARLY,
        early: pairs(&early),
    }
}

/// Figure 3.
fn cosines(customers: &Customers, users: usize, seed: u64) -> Cosines {
    let found = data::Cosines::new(customers.features(), users, BINS, seed);
    let pairs = found.pairs();
    let share: Vec<f64> = found.bins.iter().map(|&count| count as f64 / pairs as f64).collect();
    let edges: Vec<f64> = (0..=BINS).map(|bin| found.edge(bin)).collect();
    let near = |bin: &usize| edges[*bin] > -0.1 - 1e-9 && edges[bin + 1] < 0.1 + 1e-9;
    let near_orthogonal = (0..BINS).filter(near).map(|bin| share[bin]).sum();
    Cosines {
        users: found.users,
        pairs,
        near_orthogonal,
        near_orthogonal_random: random_share(Features::FACTORS, 0.1),
        edges,
        share,
    }
}

/// The probability that the cosine of two random directions in d dimensions is within `bound` of 0: the density is
/// proportional to (1 - u^2)^((d - 3) / 2), summed by the midpoint rule.
fn random_share(d: usize, bound: f64) -> f64 {
    const STEPS: u32 = 100_000;
    let density = |u: f64| libm::pow(1.0 - u * u, (d as f64 - 3.0) / 2.0);
    let sum = |to: f64| (0..STEPS).map(|i| density((f64::from(i) + 0.5) / f64::from(STEPS) * to)).sum::<f64>() * to;
    sum(bound) / sum(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In 3 dimensions the cosine is uniform; in 50 it is nearly normal with variance 1/50.
    #[test]
    fn shares_of_random_directions() {
        assert!((random_share(3, 0.1) - 0.1).abs() < 1e-9);
        let normal = 1.0 - libm::erfc(0.1 * 50f64.sqrt() / std::f64::consts::SQRT_2);
        assert!((random_share(50, 0.1) - normal).abs() < 0.01);
    }

    #[test]
    fn published_numbers_go_by_name() {
        let row = published(50);
        assert_eq!(
            (row.len(), row["greedy"].to_bits(), row["arm-wise-ts"].to_bits()),
            (7, 1588.6f64.to_bits(), 2304.3f64.to_bits())
        );
        assert!(published(60).is_empty());
    }
}
