//! From played trials to comparisons: choosing parameters, then means and pairs.
//!
//! Among settings with the same mean the first in the grid is chosen, so that the choice never
//! depends on a sort.

use armwise::Algorithm;

use crate::{
    grid::{Candidate, Grid},
    play::Sample,
    results::{Comparison, HeatMap, Paired, Protocol, Tuned},
    stats::Units,
};

/// The algorithms that randomize arm by arm: what the paper proposes.
pub(super) const PROPOSED: [&str; 2] = ["pc2ucb", "arm-wise-ts"];
/// What the paper compares with.
pub(super) const BASELINES: [&str; 5] = ["greedy", "comblin-ucb", "comblin-ts", "c2ucb", "round-wise-ts"];

/// An algorithm with the parameters chosen for it.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) name: &'static str,
    pub(super) candidate: Candidate,
    pub(super) settings: usize,
}

/// The best average reward over the grid, algorithm by algorithm.
pub(super) fn tune(grid: &Grid, samples: &[Sample]) -> Vec<Chosen> {
    let mean = |run: usize| samples.iter().map(|sample| sample.played[run].total_reward()).sum::<f64>();
    let means: Vec<f64> = (0..grid.runs.len()).map(mean).collect();
    let best = |&(name, ref candidates): &(&'static str, Vec<Candidate>)| {
        let better = |best: &&Candidate, next: &&Candidate| means[next.run] > means[best.run];
        let best = candidates.iter().reduce(|best, next| if better(&best, &next) { next } else { best });
        best.map(|candidate| Chosen { name, candidate: candidate.clone(), settings: candidates.len() })
    };
    grid.algorithms.iter().filter_map(best).collect()
}

/// The distinct runs among the chosen, and for each chosen algorithm its place among them: tuned CombLinUCB is often
/// tuned C2UCB, and need not be played twice.
pub(super) fn distinct(chosen: &[Chosen]) -> (Vec<usize>, Vec<usize>) {
    let mut runs: Vec<usize> = Vec::new();
    let place = |chosen: &Chosen| {
        let run = chosen.candidate.run;
        runs.iter().position(|known| *known == run).unwrap_or_else(|| {
            runs.push(run);
            runs.len() - 1
        })
    };
    let places = chosen.iter().map(place).collect();
    (runs, places)
}

/// Means, standard errors and pairs of chosen algorithms; `run` finds an algorithm among the played ones.
pub(super) fn compare(
    protocol: Protocol,
    chosen: &[Chosen],
    run: impl Fn(usize) -> usize,
    samples: &[Sample],
    groups: usize,
) -> Comparison {
    let units = |value: &dyn Fn(&Sample) -> f64| {
        let values: Vec<f64> = samples.iter().map(value).collect();
        Units::new(&values, groups)
    };
    let rewards: Vec<(&str, Units)> = chosen
        .iter()
        .enumerate()
        .map(|(place, chosen)| (chosen.name, units(&|sample| sample.played[run(place)].total_reward())))
        .collect();
    let tuned = |(place, chosen): (usize, &Chosen)| Tuned {
        algorithm: chosen.name.to_owned(),
        params: chosen.candidate.params.clone(),
        settings: chosen.settings,
        trials: samples.len(),
        cumulative_reward: rewards[place].1.mean(),
        regret: units(&|sample| sample.played[run(place)].total_regret()).mean(),
    };
    Comparison {
        protocol,
        algorithms: chosen.iter().enumerate().map(tuned).collect(),
        oracle: units(&Sample::total_best).mean(),
        paired: pairs(&rewards),
    }
}

/// The pairs that verdicts and ratios rest on.
pub(super) fn pairs(rewards: &[(&str, Units)]) -> Vec<Paired> {
    let wanted = [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")];
    let others = PROPOSED.into_iter().flat_map(|a| BASELINES.map(|b| (a, b)));
    let rest = [("pc2ucb", "arm-wise-ts"), ("greedy", "c2ucb")];
    let all = wanted.into_iter().chain(others.filter(|pair| !wanted.contains(pair))).chain(rest);
    let find = |name: &str| rewards.iter().find(|(known, _)| *known == name).map(|(_, units)| units);
    let pair = |(a, b): (&str, &str)| {
        let (x, y) = (find(a)?, find(b)?);
        Some(Paired { a: a.to_owned(), b: b.to_owned(), difference: x.less(y).interval(), ratio: x.ratio(y) })
    };
    all.filter_map(pair).collect()
}

/// Mean reward over lambda and alpha or v, for the algorithms that are tuned in lambda and one more parameter.
pub(super) fn heat_maps(grid: &Grid, samples: &[Sample]) -> Vec<HeatMap> {
    let side = grid.values.len();
    let map = |(algorithm, candidates): &(&'static str, Vec<Candidate>)| {
        let tuned: Vec<&str> = Algorithm::describe(algorithm).ok()?.tuned().map(|parameter| parameter.name).collect();
        let ["lambda", parameter] = tuned[..] else { return None };
        let mean = |candidate: &Candidate| {
            samples.iter().map(|sample| sample.played[candidate.run].total_reward()).sum::<f64>() / samples.len() as f64
        };
        let means: Vec<f64> = candidates.iter().map(mean).collect();
        Some(HeatMap {
            algorithm: (*algorithm).to_owned(),
            parameter: parameter.to_owned(),
            lambda: grid.values.clone(),
            values: grid.values.clone(),
            trials: samples.len(),
            reward: means.chunks(side).map(<[f64]>::to_vec).collect(),
        })
    };
    grid.algorithms.iter().filter_map(map).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::Played;

    fn samples(grid: &Grid) -> Vec<Sample> {
        let played = |run: usize, trial: usize| Played {
            reward: vec![((run * 7919 + trial * 31) % 1009) as f64],
            regret: vec![0.0],
            clusters: Vec::new(),
        };
        (0..3)
            .map(|trial| Sample {
                best: vec![0.0],
                played: (0..grid.runs.len()).map(|run| played(run, trial)).collect(),
            })
            .collect()
    }

    #[test]
    fn tuning_takes_the_best_mean_and_compares_it() {
        let grid = Grid::new(&crate::grid::PAPER).unwrap();
        let samples = samples(&grid);
        let chosen = tune(&grid, &samples);
        let comparison = compare(Protocol::Paper, &chosen, |place| chosen[place].candidate.run, &samples, 1);
        for (tuned, (_, candidates)) in comparison.algorithms.iter().zip(&grid.algorithms) {
            let mean = |run: usize| samples.iter().map(|s| s.played[run].reward[0]).sum::<f64>() / 3.0;
            let best = candidates.iter().map(|candidate| mean(candidate.run)).fold(f64::MIN, f64::max);
            assert!((tuned.cumulative_reward.mean - best).abs() < 1e-9);
        }
        // C2UCB's grid is part of CombLinUCB's.
        let of = |name| comparison.algorithms.iter().find(|t| t.algorithm == name).unwrap().cumulative_reward.mean;
        assert!(of("comblin-ucb") >= of("c2ucb"));
        let map = &heat_maps(&grid, &samples)[0];
        assert_eq!((map.reward.len(), map.reward[0].len()), (5, 5));
        let maps: Vec<_> = heat_maps(&grid, &samples).into_iter().map(|map| (map.algorithm, map.parameter)).collect();
        let four = [("c2ucb", "alpha"), ("pc2ucb", "alpha"), ("round-wise-ts", "v"), ("arm-wise-ts", "v")];
        assert!(four.iter().all(|(a, p)| maps.contains(&((*a).to_owned(), (*p).to_owned()))), "{maps:?}");
    }
}
