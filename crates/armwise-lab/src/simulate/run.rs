//! Runs a study and puts its results in the shape that `--json` prints.
//!
//! All settings play the same trials, so every difference is paired. Finished trials are kept
//! beside the study until it is finished; where they cannot be, the study is run all the same.

use std::{collections::BTreeMap, path::Path};

use armwise::Algorithm;
use serde::Serialize;
use serde_json::{Value, json};

use super::spec::{Problem, Study};
use crate::{
    Error,
    data::{Customers, Generated, Ratings},
    play::{Detail, Sample, Setting},
    results::Mean,
    session::{Job, Session, Store, Watch},
    stats::Units,
    world::{Promotions, Purpose, Trial, World},
};

/// The most splits of the movies that the trials are spread over.
const SPLITS: usize = 4;

/// The results of a study.
#[derive(Debug, Clone, Serialize)]
pub struct Simulation {
    /// The problem with all its parameters.
    pub problem: Value,
    /// One entry per setting, in the order of the study.
    pub results: Vec<Entry>,
    /// Differences a - b of cumulative reward over the same trials; of a grid, the setting with the best mean on these
    /// trials, which flatters larger grids.
    pub paired: Vec<PairedEntry>,
    /// How many settings take part in the differences; fewer than the results where there is a grid. Not printed.
    #[serde(skip)]
    pub settings_compared: usize,
    /// Rounds played, and rounds taken over from an interrupted run; not part of the printed shape.
    #[serde(skip)]
    pub rounds: (u64, u64),
}

/// A mean as it is printed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; null for a single trial, which has none.
    pub se: Option<f64>,
}

impl From<Mean> for Estimate {
    fn from(Mean { mean, se, .. }: Mean) -> Self {
        Self { mean, se }
    }
}

/// One setting's results.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// The algorithm.
    pub algorithm: String,
    /// Its parameters, also those that were left to their default.
    pub params: BTreeMap<String, Value>,
    /// Trials.
    pub trials: usize,
    /// The reward of all rounds.
    pub cumulative_reward: Estimate,
    /// The regret of all rounds.
    pub regret: Estimate,
    /// Mean number of clusters touched in each round; empty where there are no clusters.
    pub clusters_per_round: Vec<f64>,
}

/// A paired difference.
#[derive(Debug, Clone, Serialize)]
pub struct PairedEntry {
    /// The first algorithm; with its parameters where its name is not enough.
    pub a: String,
    /// The second algorithm.
    pub b: String,
    /// The mean difference of cumulative reward, a - b.
    pub mean: f64,
    /// Its standard error; null for a single trial.
    pub se: Option<f64>,
}

pub(super) fn run(study: &Study, path: &Path, watch: &dyn Watch) -> Result<Simulation, Error> {
    let threads = study.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let session = Session::new(threads, Store::none(), watch);
    match &study.problem {
        Problem::Clustered(world) => {
            let mut problem = json!({
                "kind": "clustered", "angle": world.angle, "d": world.d, "n": world.n, "k": world.k,
                "rounds": world.rounds, "order": world.order, "spread": world.spread,
            });
            if let Some(turn) = &world.turn {
                problem["turn"] = json!(turn);
            }
            play(study, path, &session, world, problem, 1)
        }
        Problem::TwoSets(world) => {
            let mut settings = study.algorithms.iter().flatten();
            if let Some(caution) = settings.find_map(|setting| world.choice.caution(&setting.algorithm)) {
                watch.note(caution);
            }
            let problem = json!({
                "kind": "two-sets", "k": world.k, "theta": world.theta, "rounds": world.rounds,
                "constraint": world.choice, "spare": world.spare,
            });
            play(study, path, &session, world, problem, 1)
        }
        Problem::Promotions { ratings, features, reading, promotions, k, n, rounds, ratings_place } => {
            let read = match ratings {
                // A relative path is relative to the study's folder.
                Some(file) => {
                    let beside = path.parent().unwrap_or(Path::new("")).join(file);
                    let found = if beside.exists() { beside } else { file.into() };
                    Ratings::read(&found)
                        .map_err(|error| Error::Study { place: ratings_place.clone(), what: error.to_string() })?
                }
                None => Ratings::generate(&Generated::default(), study.seed)?,
            };
            let groups = (study.trials / 5).clamp(1, SPLITS);
            watch.start("features", groups as u64);
            let made = session.install(|| {
                let split = |number| {
                    let made = Customers::new(&read, *features, *promotions, study.seed, number);
                    watch.advance(1);
                    made
                };
                (0..groups as u64).map(split).collect::<Result<Vec<_>, Error>>()
            });
            watch.finish();
            let splits =
                made?.map_err(|error| Error::Study { place: ratings_place.clone(), what: error.to_string() })?;
            let world = Promotions::new(&splits, study.seed, *reading, *k, *n, *rounds)?;
            let problem = json!({
                "kind": "promotions", "ratings": read.source().to_string(),
                "fingerprint": format!("{:016x}", read.fingerprint()), "features": features, "reading": reading,
                "promotions": promotions, "k": k, "n": n, "rounds": rounds, "splits": groups,
                "sampling": world.sampling(),
            });
            play(study, path, &session, &world, problem, groups)
        }
    }
}

/// Where finished trials are kept: beside the study, or nowhere if that cannot be written to.
fn store(study: &Study, path: &Path, watch: &dyn Watch) -> Store {
    let store = Store::beside(path, &Store::prefix(study.seed));
    match store.prepare() {
        Ok(()) => store,
        Err(error) => {
            watch.note(&format!("if this study is interrupted it starts again: {error}"));
            Store::none()
        }
    }
}

fn play(
    study: &Study,
    path: &Path,
    session: &Session<'_>,
    world: &dyn World,
    problem: Value,
    groups: usize,
) -> Result<Simulation, Error> {
    let session = Session::new(session.threads(), store(study, path, session.watch()), session.watch());
    let settings: Vec<Setting> = study.algorithms.iter().flatten().copied().collect();
    let trials = Trial::of(study.seed, Purpose::Evaluation, study.trials);
    let job = Job { world, trials, settings: settings.clone(), feedback: study.feedback, detail: Detail::Rounds };
    let samples = session.play("simulate", &[job])?.swap_remove(0);
    session.store().clear()?;
    let units = |value: &dyn Fn(&Sample) -> f64| Units::new(&samples.iter().map(value).collect::<Vec<_>>(), groups);
    let rewards: Vec<Units> =
        (0..settings.len()).map(|place| units(&|sample| sample.played[place].total_reward())).collect();
    let entry = |(place, setting): (usize, &Setting)| {
        let rounds = samples.first().map_or(0, |sample| sample.played[place].clusters.len());
        let touched = |t: usize| units(&|sample| f64::from(sample.played[place].clusters[t])).mean().mean;
        Entry {
            algorithm: setting.algorithm.name().to_owned(),
            params: params(&setting.algorithm),
            trials: samples.len(),
            cumulative_reward: rewards[place].mean().into(),
            regret: units(&|sample| sample.played[place].total_regret()).mean().into(),
            clusters_per_round: (0..rounds).map(touched).collect(),
        }
    };
    let results: Vec<Entry> = settings.iter().enumerate().map(entry).collect();

    let mut best = Vec::new();
    let mut first = 0;
    for group in &study.algorithms {
        let places = first..first + group.len();
        let better = |a: usize, b: usize| if rewards[b].mean().mean > rewards[a].mean().mean { b } else { a };
        best.extend(places.reduce(better));
        first += group.len();
    }
    let label = |place: usize| {
        let entry = &results[place];
        let same = results.iter().filter(|other| other.algorithm == entry.algorithm).count();
        if same == 1 {
            return entry.algorithm.clone();
        }
        format!("{}({})", entry.algorithm, entry.parameters().join(","))
    };
    let pairs = best.iter().enumerate().flat_map(|(i, &a)| best[i + 1..].iter().map(move |&b| (a, b)));
    let paired = pairs
        .map(|(a, b)| {
            let Mean { mean, se, .. } = rewards[a].less(&rewards[b]).mean();
            PairedEntry { a: label(a), b: label(b), mean, se }
        })
        .collect();
    Ok(Simulation { problem, results, paired, settings_compared: best.len(), rounds: session.rounds() })
}

/// The parameters of an algorithm as it is written.
fn params(algorithm: &Algorithm) -> BTreeMap<String, Value> {
    let written = serde_json::to_value(algorithm).unwrap_or_default();
    let all = written.as_object().into_iter().flatten().filter(|(name, _)| *name != "name");
    all.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl Entry {
    /// Its parameters as text, `name=value` each.
    #[must_use]
    pub fn parameters(&self) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()),
            Value::String(word) => word.clone(),
            other => other.to_string().replace('"', ""),
        };
        self.params.iter().map(|(name, value)| format!("{name}={}", text(value))).collect()
    }
}
