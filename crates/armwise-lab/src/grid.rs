//! The paper's grids: geometrically spaced values for every tuned parameter, each distinct setting once.
//!
//! CombLinUCB is C2UCB with lambda = sigma^2 / lambda^2 and alpha = c sigma, and CombLinTS is
//! round-wise TS with v = sigma. So of CombLinUCB's 125 settings 89 are distinct, C2UCB's 25 are among them, and
//! CombLinTS shares 11 settings with round-wise TS. Exponents are whole numbers of half decades, so that equal
//! settings are found equal without comparing rounded numbers.

use std::collections::BTreeMap;

use armwise::{Algorithm, ArmWiseTs, C2ucb, Greedy, Pc2ucb, Random, RoundWiseTs};

use crate::{play::Setting, results::Params};

/// The exponents of the paper's five values, 1e-2 to 1e2.
pub const PAPER: [i32; 5] = [-2, -1, 0, 1, 2];

/// The algorithms of the comparison in the paper's order, then `random`.
pub const NAMES: [&str; 8] = Algorithm::NAMES;

/// One setting of an algorithm's grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The parameters as the paper names them for this algorithm.
    pub params: Params,
    /// The place in [`Grid::runs`] of the setting that gives its numbers.
    pub run: usize,
}

/// All settings of all algorithms.
#[derive(Debug, Clone)]
pub struct Grid {
    /// The values tried.
    pub values: Vec<f64>,
    /// The distinct settings.
    pub runs: Vec<Setting>,
    /// The settings of each algorithm, in the order of [`NAMES`].
    pub algorithms: Vec<(&'static str, Vec<Candidate>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Greedy,
    Ucb,
    Perturbed,
    RoundWise,
    ArmWise,
    Random,
}

/// A distinct setting: what it is, and ridge and scale in half decades.
type Key = (Kind, i32, i32);

/// 10^(half / 2); the decimal number nearest to it where half is even.
fn value(half: i32) -> f64 {
    let decades = half.div_euclid(2);
    let whole: f64 = format!("1e{decades}").parse().unwrap_or(f64::NAN);
    if half.rem_euclid(2) == 0 { whole } else { whole * 10f64.sqrt() }
}

fn algorithm((kind, ridge, scale): Key) -> Algorithm {
    let (lambda, scale) = (value(ridge), value(scale));
    match kind {
        Kind::Greedy => Algorithm::Greedy(Greedy { lambda }),
        Kind::Ucb => Algorithm::C2ucb(C2ucb { lambda, alpha: scale.into() }),
        Kind::Perturbed => Algorithm::Pc2ucb(Pc2ucb { lambda, alpha: scale.into(), c: 1.0 }),
        Kind::RoundWise => Algorithm::RoundWiseTs(RoundWiseTs { lambda, v: scale.into() }),
        Kind::ArmWise => Algorithm::ArmWiseTs(ArmWiseTs { lambda, v: scale.into() }),
        Kind::Random => Algorithm::Random(Random { lambda }),
    }
}

impl Grid {
    /// The grid over 10^e for these exponents e.
    #[must_use]
    pub fn new(exponents: &[i32]) -> Self {
        let mut places: BTreeMap<Key, usize> = BTreeMap::new();
        let mut runs = Vec::new();
        let mut algorithms = Vec::new();
        for name in NAMES {
            let candidates = candidates(name, exponents).into_iter().map(|(params, key)| {
                let run = *places.entry(key).or_insert_with(|| {
                    runs.push(Setting::by_id(algorithm(key)));
                    runs.len() - 1
                });
                Candidate { params, run }
            });
            let candidates = candidates.collect();
            algorithms.push((name, candidates));
        }
        Self { values: exponents.iter().map(|e| value(2 * e)).collect(), runs, algorithms }
    }

    /// The candidates of an algorithm.
    #[must_use]
    pub fn of(&self, name: &str) -> &[Candidate] {
        self.algorithms.iter().find(|(known, _)| *known == name).map_or(&[], |(_, candidates)| candidates)
    }
}

fn candidates(name: &str, exponents: &[i32]) -> Vec<(Params, Key)> {
    let params = |pairs: &[(&str, i32)]| -> Params {
        pairs.iter().map(|(name, half)| ((*name).to_owned(), value(*half))).collect()
    };
    let mut found = Vec::new();
    let pairs = || exponents.iter().flat_map(|&a| exponents.iter().map(move |&b| (a, b)));
    match name {
        "greedy" => found.extend(exponents.iter().map(|&l| (params(&[("lambda", 2 * l)]), (Kind::Greedy, 2 * l, 0)))),
        "comblin-ucb" => {
            for (l, s) in pairs() {
                for &c in exponents {
                    let params = params(&[("lambda2", 2 * l), ("sigma2", 2 * s), ("c", 2 * c)]);
                    found.push((params, (Kind::Ucb, 2 * (s - l), 2 * c + s)));
                }
            }
        }
        "comblin-ts" => {
            for (l, s) in pairs() {
                found.push((params(&[("lambda2", 2 * l), ("sigma2", 2 * s)]), (Kind::RoundWise, 2 * (s - l), s)));
            }
        }
        "random" => found.push((Params::new(), (Kind::Random, 0, 0))),
        _ => {
            let (kind, scale) = match name {
                "c2ucb" => (Kind::Ucb, "alpha"),
                "pc2ucb" => (Kind::Perturbed, "alpha"),
                "round-wise-ts" => (Kind::RoundWise, "v"),
                _ => (Kind::ArmWise, "v"),
            };
            for (l, a) in pairs() {
                let mut params = params(&[("lambda", 2 * l), (scale, 2 * a)]);
                if kind == Kind::Perturbed {
                    params.insert("c".to_owned(), 1.0);
                }
                found.push((params, (kind, 2 * l, 2 * a)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use armwise::{CombLinTs, CombLinUcb, Policy};

    use super::*;

    #[test]
    fn the_papers_grid_has_the_known_counts() {
        let grid = Grid::new(&PAPER);
        let counts: Vec<usize> = grid.algorithms.iter().map(|(_, candidates)| candidates.len()).collect();
        assert_eq!(counts, [5, 125, 25, 25, 25, 25, 25, 1]);
        let distinct: BTreeSet<usize> = grid.of("comblin-ucb").iter().map(|candidate| candidate.run).collect();
        assert_eq!(distinct.len(), 89);
        assert!(grid.of("c2ucb").iter().all(|candidate| distinct.contains(&candidate.run)));
        // greedy 5, UCB 89, PC2UCB 25, round-wise 25 + 25 - 11, arm-wise 25, random 1
        assert_eq!(grid.runs.len(), 184);
    }

    /// The run that stands in for a setting has its ridge and its scale.
    #[test]
    fn stand_ins_are_what_they_stand_for() {
        let grid = Grid::new(&PAPER);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b;
        for candidate in grid.of("comblin-ucb") {
            let p = |name: &str| candidate.params[name];
            let wen = CombLinUcb { lambda2: p("lambda2"), sigma2: p("sigma2"), c: p("c") };
            let Algorithm::C2ucb(C2ucb { lambda, alpha: armwise::Schedule::Constant(alpha) }) =
                grid.runs[candidate.run].algorithm
            else {
                panic!("{candidate:?}")
            };
            assert!(close(lambda, wen.ridge()) && close(alpha, wen.c * wen.sigma2.sqrt()));
        }
        for candidate in grid.of("comblin-ts") {
            let p = |name: &str| candidate.params[name];
            let wen = CombLinTs { lambda2: p("lambda2"), sigma2: p("sigma2") };
            let Algorithm::RoundWiseTs(RoundWiseTs { lambda, v: armwise::Schedule::Constant(v) }) =
                grid.runs[candidate.run].algorithm
            else {
                panic!("{candidate:?}")
            };
            assert!(close(lambda, wen.ridge()) && close(v, wen.sigma2.sqrt()));
        }
    }
}
