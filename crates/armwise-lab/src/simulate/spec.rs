//! The TOML of a study.
//!
//! Every value keeps its span, so that also what only the library can refuse (a negative
//! lambda, k above n) is reported with its line and column. Unknown keys are errors.

use std::{collections::BTreeMap, f64::consts::FRAC_PI_2};

use armwise::{Algorithm, Model, Ties};
use serde::Deserialize;
use toml::Spanned;

use super::place::Source;
use crate::{
    Error,
    data::Variant,
    play::{Feedback, Setting},
    world::{Clustered, Order, Reading},
};

/// A study, checked.
#[derive(Debug)]
pub(super) struct Study {
    pub(super) problem: Problem,
    pub(super) trials: usize,
    pub(super) seed: u64,
    pub(super) threads: Option<usize>,
    pub(super) feedback: Feedback,
    /// One list of settings per `[[algorithm]]`.
    pub(super) algorithms: Vec<Vec<Setting>>,
}

#[derive(Debug)]
pub(super) enum Problem {
    Clustered(Clustered),
    Promotions {
        ratings: Option<String>,
        features: Variant,
        reading: Reading,
        promotions: usize,
        k: usize,
        n: usize,
        rounds: u64,
        /// Where a failure of the data is reported.
        ratings_place: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    problem: ProblemTable,
    #[serde(default)]
    run: RunTable,
    #[serde(default)]
    algorithm: Vec<Spanned<AlgorithmTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProblemTable {
    kind: Spanned<String>,
    angle: Option<Spanned<f64>>,
    d: Option<Spanned<usize>>,
    n: Option<Spanned<usize>>,
    k: Option<Spanned<usize>>,
    rounds: Option<Spanned<u64>>,
    order: Option<Spanned<Order>>,
    spread: Option<Spanned<f64>>,
    ratings: Option<Spanned<String>>,
    features: Option<Spanned<String>>,
    reading: Option<Spanned<String>>,
    promotions: Option<Spanned<usize>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RunTable {
    trials: Option<Spanned<usize>>,
    seed: Option<u64>,
    ties: Option<Ties>,
    gamma: Option<Spanned<f64>>,
    threads: Option<Spanned<usize>>,
    delay: Option<u64>,
    batch: Option<Spanned<u64>>,
}

/// An algorithm's name and parameters; which it may have, the library knows.
type AlgorithmTable = BTreeMap<String, Spanned<Given>>;

/// A number, or a list of numbers to try; of the name, a text.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or a list of numbers")]
enum Given {
    Text(String),
    One(f64),
    Many(Vec<f64>),
}

fn start<T>(value: Option<&Spanned<T>>) -> Option<usize> {
    value.map(|value| value.span().start)
}

fn or<T: Clone>(value: Option<&Spanned<T>>, default: T) -> T {
    value.map_or(default, |value| value.get_ref().clone())
}

impl Study {
    pub(super) fn read(name: &str, text: &str) -> Result<Self, Error> {
        let source = Source { name, text };
        let tables: Tables = toml::from_str(text).map_err(|error| source.toml(&error))?;
        let problem = tables.problem.check(source)?;
        let RunTable { trials, seed, ties, gamma, threads, delay, batch } = tables.run;
        let at_least_one = |ok: bool, at: Option<usize>, name: &str| {
            if ok { Ok(()) } else { Err(source.error(at.unwrap_or(0), format!("{name} = 0: must be at least 1"))) }
        };
        let (count, batch_size) = (or(trials.as_ref(), 100), or(batch.as_ref(), 1));
        at_least_one(count > 0, start(trials.as_ref()), "trials")?;
        at_least_one(batch_size > 0, start(batch.as_ref()), "batch")?;
        at_least_one(or(threads.as_ref(), 1) > 0, start(threads.as_ref()), "threads")?;
        if tables.algorithm.is_empty() {
            return Err(source.error(text.len(), "there is no [[algorithm]]; give at least one"));
        }
        // The model knows the range of gamma.
        let forgetting = Model::new(1, 1).and_then(|model| model.with_gamma(or(gamma.as_ref(), 1.0)));
        let forgetting =
            forgetting.map_err(|error| source.error(start(gamma.as_ref()).unwrap_or(0), error.to_string()))?;
        let common = (ties.unwrap_or_default(), forgetting.gamma());
        let settings = |table: &Spanned<AlgorithmTable>| settings(table, source, common);
        Ok(Self {
            problem,
            trials: count,
            seed: seed.unwrap_or(1),
            threads: threads.map(Spanned::into_inner),
            feedback: Feedback { delay: delay.unwrap_or(0), batch: batch_size },
            algorithms: tables.algorithm.iter().map(settings).collect::<Result<_, Error>>()?,
        })
    }
}

impl ProblemTable {
    fn check(&self, source: Source<'_>) -> Result<Problem, Error> {
        let clustered_only = [
            ("angle", start(self.angle.as_ref())),
            ("d", start(self.d.as_ref())),
            ("order", start(self.order.as_ref())),
            ("spread", start(self.spread.as_ref())),
        ];
        let promotions_only = [
            ("ratings", start(self.ratings.as_ref())),
            ("features", start(self.features.as_ref())),
            ("reading", start(self.reading.as_ref())),
            ("promotions", start(self.promotions.as_ref())),
        ];
        let kind = self.kind.get_ref().as_str();
        let foreign: &[(&str, Option<usize>)] = match kind {
            "clustered" => &promotions_only,
            "promotions" => &clustered_only,
            _ => {
                let what = format!("kind {kind:?} is unknown; it must be one of clustered, promotions");
                return Err(source.error(self.kind.span().start, what));
            }
        };
        for (name, at) in foreign {
            if let Some(at) = at {
                return Err(source.error(*at, format!("{name} does not belong to kind = {kind:?}")));
            }
        }
        if kind == "clustered" { self.clustered(source) } else { self.promotions(source) }
    }

    /// Puts the place of the named value before what is wrong with it.
    fn placed(&self, source: Source<'_>, error: Error) -> Error {
        let Error::Parameter { name, .. } = &error else { return error };
        let at = match *name {
            "angle" => start(self.angle.as_ref()),
            "d" => start(self.d.as_ref()),
            "n" => start(self.n.as_ref()),
            "k" => start(self.k.as_ref()),
            "rounds" => start(self.rounds.as_ref()),
            "spread" => start(self.spread.as_ref()),
            "promotions" => start(self.promotions.as_ref()),
            _ => None,
        };
        source.error(at.unwrap_or(self.kind.span().start), error.to_string())
    }

    fn clustered(&self, source: Source<'_>) -> Result<Problem, Error> {
        let world = Clustered::new(
            or(self.angle.as_ref(), FRAC_PI_2),
            or(self.d.as_ref(), 11),
            or(self.n.as_ref(), 2000),
            or(self.k.as_ref(), 100),
            or(self.rounds.as_ref(), 10),
            or(self.order.as_ref(), Order::ByCluster),
            or(self.spread.as_ref(), 0.0),
        );
        world.map(Problem::Clustered).map_err(|error| self.placed(source, error))
    }

    fn promotions(&self, source: Source<'_>) -> Result<Problem, Error> {
        let named = |value: Option<&Spanned<String>>| value.map(|value| (value.get_ref().clone(), value.span().start));
        let placed = |at: usize| move |error: Error| source.error(at, error.to_string());
        let features = match named(self.features.as_ref()) {
            Some((name, at)) => name.parse().map_err(placed(at))?,
            None => Variant::default(),
        };
        let reading = match named(self.reading.as_ref()) {
            Some((name, at)) => name.parse().map_err(placed(at))?,
            None => Reading::default(),
        };
        let (promotions, k, rounds) =
            (or(self.promotions.as_ref(), 10), or(self.k.as_ref(), 50), or(self.rounds.as_ref(), 20));
        let n = or(self.n.as_ref(), k.saturating_mul(100));
        let check = |name, value: u64, ok: bool, must: String| {
            let error = Error::Parameter { name, value: value.to_string(), must };
            if ok { Ok(()) } else { Err(self.placed(source, error)) }
        };
        check("promotions", promotions as u64, promotions > 0, "at least 1".to_owned())?;
        check("rounds", rounds, rounds > 0, "at least 1".to_owned())?;
        check("k", k as u64, k > 0 && k <= n, format!("from 1 to n = {n}"))?;
        let most = if reading == Reading::Disjoint { n / promotions } else { n };
        let must = format!("at most n / promotions = {most} where a customer gets at most one promotion");
        check("k", k as u64, k <= most, must)?;
        let at = start(self.ratings.as_ref()).unwrap_or(self.kind.span().start);
        let ratings_place = match source.error(at, "") {
            Error::Study { place, .. } => place,
            _ => source.name.to_owned(),
        };
        let ratings = self.ratings.as_ref().map(|ratings| ratings.get_ref().clone());
        Ok(Problem::Promotions { ratings, features, reading, promotions, k, n, rounds, ratings_place })
    }
}

/// The settings that an `[[algorithm]]` asks for: all combinations of its values, the last parameter's changing fastest.
fn settings(
    table: &Spanned<AlgorithmTable>,
    source: Source<'_>,
    (ties, gamma): (Ties, f64),
) -> Result<Vec<Setting>, Error> {
    let (start, table) = (table.span().start, table.get_ref());
    let Some(name) = table.get("name") else { return Err(source.error(start, "this [[algorithm]] has no name")) };
    let at = name.span().start;
    let Given::Text(name) = name.get_ref() else { return Err(source.error(at, "name: expected a text")) };
    let description = Algorithm::describe(name).map_err(|error| source.error(at, error.to_string()))?;
    let place = |name: &str| table.get(name).map(|value| value.span().start);
    for given in table.keys().filter(|given| *given != "name") {
        let refused = |error: armwise::Error| source.error(place(given).unwrap_or(at), error.to_string());
        description.parameter(given).map_err(refused)?;
    }
    let mut lists: Vec<Vec<(&str, f64)>> = vec![Vec::new()];
    for parameter in description.parameters {
        let name = parameter.name;
        let Some(given) = table.get(name) else { continue };
        let values = match given.get_ref() {
            Given::One(value) => std::slice::from_ref(value),
            Given::Many(values) if !values.is_empty() => values,
            Given::Many(_) => {
                return Err(source.error(given.span().start, format!("{name} = []: give at least one value")));
            }
            Given::Text(_) => {
                return Err(source.error(given.span().start, format!("{name}: expected a number or a list of numbers")));
            }
        };
        let with = |list: &Vec<(&'static str, f64)>| {
            values.iter().map(|value| [list.as_slice(), &[(name, *value)]].concat()).collect::<Vec<_>>()
        };
        lists = lists.iter().flat_map(with).collect();
    }
    let setting = |list: Vec<(&str, f64)>| {
        let algorithm = Algorithm::new(description.name, &list).map_err(|error| {
            // What is wrong with a quotient is reported at its first number.
            let first = match &error {
                armwise::Error::Parameter { name, .. } => name.split(' ').next().and_then(place),
                _ => None,
            };
            source.error(first.unwrap_or(at), error.to_string())
        })?;
        Ok(Setting { algorithm, ties, gamma })
    };
    lists.into_iter().map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "[problem]\nkind = \"clustered\"\nangle = 0.5\n";

    fn refusal(text: &str) -> String {
        Study::read("e.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn a_list_of_values_makes_a_grid() {
        let text = format!(
            "{HEAD}[[algorithm]]\nname = \"arm-wise-ts\"\nlambda = [0.1, 1]\nv = [1, 2.5, 3]\n[[algorithm]]\nname = \"greedy\"\n"
        );
        let study = Study::read("e.toml", &text).unwrap();
        assert_eq!(study.algorithms.iter().map(Vec::len).collect::<Vec<_>>(), [6, 1]);
        let last = serde_json::to_string(&study.algorithms[0][5].algorithm).unwrap();
        assert_eq!(last, r#"{"name":"arm-wise-ts","lambda":1.0,"v":3.0}"#);
    }

    #[test]
    fn whatever_is_wrong_has_its_place() {
        let with = |rest: &str| refusal(&format!("{HEAD}{rest}"));
        let algorithm = |rest: &str| with(&format!("[[algorithm]]\n{rest}"));
        assert!(with("colour = 1\n").starts_with("e.toml:4:1: unknown field `colour`"), "{}", with("colour = 1\n"));
        assert!(
            algorithm("name = \"ucb\"")
                .starts_with("e.toml:5:8: algorithm \"ucb\" is unknown; it must be one of greedy")
        );
        assert_eq!(
            algorithm("name = \"c2ucb\"\nlambda = -1.0"),
            "e.toml:6:10: lambda = -1: must be a finite number above 0"
        );
        assert_eq!(
            algorithm("name = \"c2ucb\"\nlambda = [1, -0.5]"),
            "e.toml:6:10: lambda = -0.5: must be a finite number above 0"
        );
        assert_eq!(
            algorithm("name = \"c2ucb\"\nv = 1"),
            "e.toml:6:5: c2ucb has no v; its parameters are lambda, alpha"
        );
        assert_eq!(with("n = 100\nk = 101\n"), "e.toml:5:5: k = 101: must be from 1 to n = 100");
        assert_eq!(with("reading = \"disjoint\"\n"), "e.toml:4:11: reading does not belong to kind = \"clustered\"");
        assert_eq!(with("[run]\ntrials = 0"), "e.toml:5:10: trials = 0: must be at least 1");
        assert_eq!(with("[run]\ngamma = 1.5"), "e.toml:5:9: gamma = 1.5: must be above 0 and at most 1");
        assert!(with("").ends_with("there is no [[algorithm]]; give at least one"));
        assert!(refusal("[problem]\nkind = \"promotion\"").starts_with("e.toml:2:8: kind \"promotion\" is unknown"));
        let promotions = "[problem]\nkind = \"promotions\"\nk = 20\nn = 100\nreading = \"disjoint\"";
        assert_eq!(
            refusal(promotions),
            "e.toml:3:5: k = 20: must be at most n / promotions = 10 where a customer gets at most one promotion"
        );
        assert!(refusal("[problem\n").starts_with("e.toml:1:"));
    }
}
