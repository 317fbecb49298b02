//! The paper's grids: geometrically spaced values for every tuned parameter, each distinct setting once.
//!
//! CombLinUCB is C2UCB with lambda = sigma^2 / lambda^2 and alpha = c sigma, and CombLinTS is
//! round-wise TS with v = sigma. So of CombLinUCB's 125 settings 89 are distinct, C2UCB's 25 are among them, and
//! CombLinTS shares 11 settings with round-wise TS. Exponents are whole numbers of half decades, so that equal
//! settings are found equal without comparing rounded numbers.

use std::collections::BTreeMap;

use armwise::{Algorithm, ArmWiseTs, C2ucb, CombLinTs, CombLinUcb, Description, Greedy, Pc2ucb, RoundWiseTs};

use crate::{Error, play::Setting, results::Params};

/// The exponents of the paper's five values, 1e-2 to 1e2.
pub const PAPER: [i32; 5] = [-2, -1, 0, 1, 2];

/// The seven algorithms that the paper compares, in its order.
pub const SEVEN: [&str; 7] = [
    Greedy::DESCRIPTION.name,
    CombLinUcb::DESCRIPTION.name,
    CombLinTs::DESCRIPTION.name,
    C2ucb::DESCRIPTION.name,
    Pc2ucb::DESCRIPTION.name,
    RoundWiseTs::DESCRIPTION.name,
    ArmWiseTs::DESCRIPTION.name,
];

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
    /// The settings of each algorithm, in the order of [`Algorithm::ALL`].
    pub algorithms: Vec<(&'static str, Vec<Candidate>)>,
}

/// A distinct setting: an algorithm, and its tuned parameters in half decades.
type Key = (&'static str, Vec<i32>);

/// 10^(half / 2); the decimal number nearest to it where half is even.
fn value(half: i32) -> f64 {
    let decades = half.div_euclid(2);
    let whole: f64 = format!("1e{decades}").parse().unwrap_or(f64::NAN);
    if half.rem_euclid(2) == 0 { whole } else { whole * 10f64.sqrt() }
}

fn algorithm((name, halves): &Key) -> Result<Algorithm, Error> {
    let tuned = Algorithm::describe(name)?.tuned();
    let values: Vec<(&str, f64)> = tuned.zip(halves).map(|(parameter, half)| (parameter.name, value(*half))).collect();
    Ok(Algorithm::new(name, &values)?)
}

/// The setting that gives the numbers of an algorithm with these tuned parameters: its own, unless it is another
/// algorithm under another name.
fn stand_in(description: &Description, halves: &[i32]) -> Key {
    match *halves {
        [lambda2, sigma2, c] if description.name == CombLinUcb::DESCRIPTION.name => {
            (C2ucb::DESCRIPTION.name, vec![sigma2 - lambda2, c + sigma2 / 2])
        }
        [lambda2, sigma2] if description.name == CombLinTs::DESCRIPTION.name => {
            (RoundWiseTs::DESCRIPTION.name, vec![sigma2 - lambda2, sigma2 / 2])
        }
        _ => (description.name, halves.to_vec()),
    }
}

impl Grid {
    /// The grid over 10^e for these exponents e, of the algorithms that can play every problem.
    ///
    /// # Errors
    /// [`Error::Armwise`] for values that an algorithm refuses.
    pub fn new(exponents: &[i32]) -> Result<Self, Error> {
        Self::among(exponents, |description| !description.in_turn)
    }

    /// The same grid, and algorithms that take one arm after another, which cannot play every problem.
    ///
    /// # Errors
    /// [`Error::Armwise`] for values that an algorithm refuses.
    pub fn with_in_turn(exponents: &[i32]) -> Result<Self, Error> {
        Self::among(exponents, |_| true)
    }

    fn among(exponents: &[i32], wanted: impl Fn(&Description) -> bool) -> Result<Self, Error> {
        let mut places: BTreeMap<Key, usize> = BTreeMap::new();
        let mut runs = Vec::new();
        let mut algorithms = Vec::new();
        for description in Algorithm::ALL.iter().filter(|description| wanted(description)) {
            let mut candidates = Vec::new();
            for halves in combinations(description.tuned().count(), exponents) {
                let key = stand_in(description, &halves);
                let run = places.get(&key).copied().unwrap_or(runs.len());
                if run == runs.len() {
                    runs.push(Setting::by_id(algorithm(&key)?));
                    places.insert(key, run);
                }
                candidates.push(Candidate { params: params(description, &halves), run });
            }
            algorithms.push((description.name, candidates));
        }
        Ok(Self { values: exponents.iter().map(|e| value(2 * e)).collect(), runs, algorithms })
    }

    /// The settings of an algorithm.
    ///
    /// # Errors
    /// [`Error::Armwise`] if no algorithm has this name.
    pub fn of(&self, name: &str) -> Result<&[Candidate], Error> {
        let name = Algorithm::describe(name)?.name;
        let found = self.algorithms.iter().find(|(known, _)| *known == name);
        Ok(found.map_or(&[], |(_, candidates)| candidates))
    }
}

/// All combinations of 10^e for this many parameters; the last parameter changes fastest.
pub(crate) fn values(parameters: usize, exponents: &[i32]) -> Vec<Vec<f64>> {
    let combinations = combinations(parameters, exponents);
    combinations.into_iter().map(|halves| halves.into_iter().map(value).collect()).collect()
}

/// All combinations of the exponents for this many parameters, in half decades; the last parameter changes fastest.
fn combinations(parameters: usize, exponents: &[i32]) -> Vec<Vec<i32>> {
    let longer = |shorter: Vec<Vec<i32>>, _| {
        let with =
            |start: &Vec<i32>| exponents.iter().map(|e| [start.as_slice(), &[2 * e]].concat()).collect::<Vec<_>>();
        shorter.iter().flat_map(with).collect()
    };
    (0..parameters).fold(vec![Vec::new()], longer)
}

/// The values tried, and the parameters left at their defaults; empty for an algorithm that is not tuned.
fn params(description: &Description, halves: &[i32]) -> Params {
    if halves.is_empty() {
        return Params::new();
    }
    let untuned = description.parameters.iter().filter(|parameter| !parameter.tuned);
    let untuned = untuned.map(|parameter| (parameter.name.to_owned(), parameter.default));
    let tuned = description.tuned().zip(halves).map(|(parameter, half)| (parameter.name.to_owned(), value(*half)));
    tuned.chain(untuned).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use armwise::{Lambda, Policy, Schedule};

    use super::*;

    #[test]
    fn the_papers_grid_has_the_known_counts() {
        let grid = Grid::new(&PAPER).unwrap();
        let eight = || SEVEN.into_iter().chain(["random"]).map(|name| grid.of(name).unwrap());
        assert_eq!(eight().map(<[Candidate]>::len).collect::<Vec<_>>(), [5, 125, 25, 25, 25, 25, 25, 1]);
        let distinct: BTreeSet<usize> = grid.of("comblin-ucb").unwrap().iter().map(|candidate| candidate.run).collect();
        assert_eq!(distinct.len(), 89);
        assert!(grid.of("c2ucb").unwrap().iter().all(|candidate| distinct.contains(&candidate.run)));
        // greedy 5, UCB 89, PC2UCB 25, round-wise 25 + 25 - 11, arm-wise 25, random 1
        let distinct: BTreeSet<usize> = eight().flatten().map(|candidate| candidate.run).collect();
        assert_eq!(distinct.len(), 184);
    }

    #[test]
    fn an_unknown_name_has_no_candidates_of_another() {
        let error = Grid::new(&[0]).unwrap().of("ucb").unwrap_err();
        assert!(error.to_string().starts_with("algorithm \"ucb\" is unknown; it must be one of greedy"), "{error}");
    }

    /// The run that gives the numbers of a setting has the same ridge and the same scale.
    #[test]
    fn stand_ins_are_what_they_stand_for() {
        let grid = Grid::new(&PAPER).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b;
        for candidate in grid.of("comblin-ucb").unwrap() {
            let p = |name: &str| candidate.params[name];
            let wen = CombLinUcb { lambda2: p("lambda2"), sigma2: p("sigma2"), c: p("c") };
            let Algorithm::C2ucb(C2ucb { lambda: Lambda::Value(lambda), alpha: Schedule::Constant(alpha) }) =
                grid.runs[candidate.run].algorithm
            else {
                panic!("{candidate:?}")
            };
            assert!(close(lambda, wen.ridge()) && close(alpha, wen.c * wen.sigma2.sqrt()));
        }
        for candidate in grid.of("comblin-ts").unwrap() {
            let p = |name: &str| candidate.params[name];
            let wen = CombLinTs { lambda2: p("lambda2"), sigma2: p("sigma2") };
            let Algorithm::RoundWiseTs(RoundWiseTs { lambda: Lambda::Value(lambda), v: Schedule::Constant(v) }) =
                grid.runs[candidate.run].algorithm
            else {
                panic!("{candidate:?}")
            };
            assert!(close(lambda, wen.ridge()) && close(v, wen.sigma2.sqrt()));
        }
    }
}
