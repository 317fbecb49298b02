//! The TOML of a study.
//!
//! Every value keeps its span, so that also what only the library can refuse (a negative
//! lambda, k above n) is reported with its line and column. Unknown keys are errors.

use std::{collections::BTreeMap, f64::consts::FRAC_PI_2};

use armwise::{Algorithm, Gamma, Policy, Ties};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toml::Spanned;

use super::place::Source;
use crate::{
    Error,
    data::Variant,
    play::{Feedback, Setting},
    world::{Choice, Clustered, Order, Reading, Turn, TwoSets},
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
    TwoSets(TwoSets),
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
    turn: Option<Spanned<f64>>,
    turn_round: Option<Spanned<u64>>,
    theta: Option<Spanned<[f64; 2]>>,
    constraint: Option<Spanned<Choice>>,
    spare: Option<Spanned<usize>>,
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
    gamma: Option<Spanned<Gamma>>,
    threads: Option<Spanned<usize>>,
    delay: Option<u64>,
    batch: Option<Spanned<u64>>,
}

/// An algorithm's name and parameters; which it may have, the library knows.
type AlgorithmTable = BTreeMap<String, Spanned<Given>>;

/// A value, or a list of values to try: numbers, or whatever the library takes for the parameter.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a value or a list of values")]
enum Given {
    Many(Vec<toml::Value>),
    One(toml::Value),
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
        let forgetting = or(gamma.as_ref(), Gamma::default());
        let bad = |error: armwise::Error| source.error(start(gamma.as_ref()).unwrap_or(0), error.to_string());
        forgetting.check().map_err(bad)?;
        if tables.algorithm.is_empty() {
            return Err(source.error(text.len(), "there is no [[algorithm]]; give at least one"));
        }
        let common = (ties.unwrap_or_default(), forgetting);
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
        let (clustered, promotions, two_sets) = ("clustered", "promotions", "two-sets");
        // The keys that belong to one kind only.
        let owners = [
            ("angle", start(self.angle.as_ref()), clustered),
            ("d", start(self.d.as_ref()), clustered),
            ("order", start(self.order.as_ref()), clustered),
            ("spread", start(self.spread.as_ref()), clustered),
            ("turn", start(self.turn.as_ref()), clustered),
            ("turn_round", start(self.turn_round.as_ref()), clustered),
            ("ratings", start(self.ratings.as_ref()), promotions),
            ("features", start(self.features.as_ref()), promotions),
            ("reading", start(self.reading.as_ref()), promotions),
            ("promotions", start(self.promotions.as_ref()), promotions),
            ("theta", start(self.theta.as_ref()), two_sets),
            ("constraint", start(self.constraint.as_ref()), two_sets),
            ("spare", start(self.spare.as_ref()), two_sets),
        ];
        let kind = self.kind.get_ref().as_str();
        if ![clustered, promotions, two_sets].contains(&kind) {
            let what = format!("kind {kind:?} is unknown; it must be one of clustered, promotions, two-sets");
            return Err(source.error(self.kind.span().start, what));
        }
        let n = ("n", start(self.n.as_ref()).filter(|_| kind == two_sets), clustered);
        for (name, at, owner) in owners.into_iter().chain([n]) {
            if let Some(at) = at.filter(|_| owner != kind) {
                return Err(source.error(at, format!("{name} does not belong to kind = {kind:?}")));
            }
        }
        match kind {
            "clustered" => self.clustered(source),
            "two-sets" => self.two_sets(source),
            _ => self.promotions(source),
        }
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
            "turn" => start(self.turn.as_ref()),
            "turn_round" => start(self.turn_round.as_ref()).or(start(self.turn.as_ref())),
            "theta" => start(self.theta.as_ref()),
            "spare" => start(self.spare.as_ref()),
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
        let world = world.and_then(|world| match &self.turn {
            None => Ok(world),
            Some(by) => {
                let round = or(self.turn_round.as_ref(), world.rounds / 2 + 1);
                world.turning(Turn { round, by: *by.get_ref() })
            }
        });
        if let (None, Some(round)) = (&self.turn, &self.turn_round) {
            return Err(source.error(round.span().start, "turn_round needs turn, the angle by which theta turns"));
        }
        world.map(Problem::Clustered).map_err(|error| self.placed(source, error))
    }

    fn two_sets(&self, source: Source<'_>) -> Result<Problem, Error> {
        let world = TwoSets::with(
            or(self.k.as_ref(), 100),
            or(self.theta.as_ref(), TwoSets::THETA),
            or(self.rounds.as_ref(), 100),
            or(self.constraint.as_ref(), Choice::Explicit),
            or(self.spare.as_ref(), 0),
        );
        world.map(Problem::TwoSets).map_err(|error| self.placed(source, error))
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
    (ties, gamma): (Ties, Gamma),
) -> Result<Vec<Setting>, Error> {
    let (start, table) = (table.span().start, table.get_ref());
    let Some(name) = table.get("name") else { return Err(source.error(start, "this [[algorithm]] has no name")) };
    let at = name.span().start;
    let Given::One(toml::Value::String(name)) = name.get_ref() else {
        return Err(source.error(at, "name: expected a text"));
    };
    let description = Algorithm::describe(name).map_err(|error| source.error(at, error.to_string()))?;
    let place = |name: &str| table.get(name).map(|value| value.span().start);
    for given in table.keys().filter(|given| *given != "name") {
        let refused = |error: armwise::Error| source.error(place(given).unwrap_or(at), error.to_string());
        if description.switch(given).is_none() {
            description.parameter(given).map_err(refused)?;
        }
    }
    let mut whole: Map<String, Value> = Map::from_iter([("name".to_owned(), description.name.into())]);
    for switch in description.switches {
        let Some(given) = table.get(switch.name) else { continue };
        let value = match given.get_ref() {
            Given::One(value) => serde_json::to_value(value).unwrap_or_default(),
            Given::Many(_) => Value::Null,
        };
        // Tried by itself, since what a whole algorithm says of it does not name its place.
        Algorithm::with(description.name, &[(switch.name, value.clone())]).map_err(|error| {
            let why = if let armwise::Error::BadFormat(_) = error { String::new() } else { format!("{error}; ") };
            source.error(given.span().start, format!("{}: {why}give {}", switch.name, switch.values))
        })?;
        whole.insert(switch.name.to_owned(), value);
    }
    let mut lists: Vec<Map<String, Value>> = vec![whole];
    for parameter in description.parameters {
        let name = parameter.name;
        let Some(given) = table.get(name) else { continue };
        let values = match given.get_ref() {
            Given::One(value) => std::slice::from_ref(value),
            Given::Many(values) if !values.is_empty() => values,
            Given::Many(_) => {
                return Err(source.error(given.span().start, format!("{name} = []: give at least one value")));
            }
        };
        let read = |value: &toml::Value| {
            if value.as_float().is_some_and(|value| !value.is_finite()) {
                return Err(source.error(given.span().start, format!("{name} = {value}: must be a finite number")));
            }
            let value = serde_json::to_value(value).unwrap_or_default();
            // Alone, so that what the library does not take is reported at its place.
            let alone = json!({ "name": description.name, name: value });
            let refused = |error: serde_json::Error| source.error(given.span().start, format!("{name}: {error}"));
            serde_json::from_value::<Algorithm>(alone).map_err(refused)?;
            Ok(value)
        };
        let values = values.iter().map(read).collect::<Result<Vec<Value>, Error>>()?;
        let with = |list: &Map<String, Value>| {
            let one = |value: &Value| list.clone().into_iter().chain([(name.to_owned(), value.clone())]).collect();
            values.iter().map(one).collect::<Vec<Map<String, Value>>>()
        };
        lists = lists.iter().flat_map(with).collect();
    }
    let setting = |list: Map<String, Value>| {
        let algorithm: Algorithm =
            serde_json::from_value(list.into()).map_err(|error| source.error(at, error.to_string()))?;
        algorithm.validate().map_err(|error| {
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
    fn two_sets_take_the_schedules_of_the_theory() {
        let text = "[problem]\nkind = \"two-sets\"\nk = 20\ntheta = [0.1, 0.2]\nconstraint = \"linear\"\nspare = 2\n[[algorithm]]\nname = \"arm-wise-ts\"\nlambda = 20\nv = [0.5, { r = 1, s = 1, delta = 0.1, k = 20, n = 44, rounds = 100 }]\n";
        let study = Study::read("e.toml", text).unwrap();
        let Problem::TwoSets(world) = &study.problem else { panic!("{:?}", study.problem) };
        assert_eq!((world.k, world.theta, world.rounds, world.spare), (20, [0.1, 0.2], 100, 2));
        assert_eq!(study.algorithms[0].len(), 2);
        let theory = serde_json::to_value(study.algorithms[0][1].algorithm).unwrap();
        assert_eq!(theory["v"]["n"], 44);
        assert_eq!(
            refusal("[problem]\nkind = \"two-sets\"\nn = 5"),
            "e.toml:3:5: n does not belong to kind = \"two-sets\""
        );
        assert!(
            refusal("[problem]\nkind = \"two-sets\"\ntheta = [0.9, 0.2]")
                .starts_with("e.toml:3:9: theta = [0.9, 0.2]: must")
        );
        let turn = "[problem]\nkind = \"clustered\"\nturn_round = 4";
        assert_eq!(refusal(turn), "e.toml:3:14: turn_round needs turn, the angle by which theta turns");
    }

    #[test]
    fn parameters_may_choose_themselves() {
        let text = format!(
            "{HEAD}[[algorithm]]\nname = \"arm-wise-ts\"\nlambda = \"auto\"\nv = \"auto\"\nnoise = \"estimated\"\n"
        );
        let study = Study::read("e.toml", &text).unwrap();
        let written = serde_json::to_string(&study.algorithms[0][0].algorithm).unwrap();
        assert_eq!(written, r#"{"name":"arm-wise-ts","lambda":"auto","v":"auto","noise":"estimated"}"#);
        let text = format!("{HEAD}[[algorithm]]\nname = \"pc2ucb\"\nc = \"auto\"\n");
        assert!(refusal(&text).starts_with("e.toml:6:5: c: "), "{}", refusal(&text));
    }

    #[test]
    fn a_switch_is_a_word_or_a_table() {
        let of = |scope: &str| format!("{HEAD}[[algorithm]]\nname = \"pc2ucb\"\nscope = {scope}\nalpha = [0.1, 1]\n");
        let study = Study::read("e.toml", &of("{ best-of = { k = 9 } }")).unwrap();
        let last = serde_json::to_string(&study.algorithms[0][1].algorithm).unwrap();
        assert_eq!(last, r#"{"name":"pc2ucb","lambda":1.0,"alpha":1.0,"c":1.0,"scope":{"best-of":{"k":9}}}"#);
        for bad in ["\"mine\"", "3", "{ mixed = 2.0 }", "{ best-of = 0 }"] {
            let text = refusal(&of(bad));
            assert!(text.starts_with("e.toml:6:9: scope: ") && text.contains("{ mixed = 0.5 }"), "{text}");
        }
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
        let text = algorithm("name = \"c2ucb\"\nalpha = \"large\"");
        assert!(text.starts_with("e.toml:6:9: alpha: expected a number, or a table with `r`, `s`, `delta`"), "{text}");
        assert_eq!(algorithm("name = \"c2ucb\"\nalpha = nan"), "e.toml:6:9: alpha = nan: must be a finite number");
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
