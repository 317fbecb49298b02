//! The laboratory: the paper's problems, played by the library's algorithms on all threads.
//!
//! Ctrl-C stops the trials through the world, which then refuses to make another round.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use armwise::Oracle;
use armwise_lab::{
    Error,
    data::{Customers, Generated, Ratings, Variant},
    play::{Detail, Feedback, Sample, Setting},
    results::Interval,
    session::{Job, Session, Silent, Store},
    stats::Units,
    world::{Clustered, Game, Order, Promotions, Purpose, Reading, Scene, Trial, World},
};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
    types::PyDict,
};

use crate::{
    errors::raise_lab,
    interrupt::interruptible,
    oracle::{gamma_of, ties_of},
    policy::AnyPolicy,
};

/// Rewards, and their expectations.
type Paid<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// A standard error, and a value with the ends of its interval twice.
type Paired = (Option<f64>, Ends, Ends);
type Ends = (f64, Option<f64>, Option<f64>);

/// A problem of the paper.
#[pyclass(frozen)]
pub(crate) struct Problem {
    kind: Kind,
}

enum Kind {
    Clustered(Clustered),
    Promotions { splits: Vec<Customers>, seed: u64, reading: Reading, k: usize, n: usize, rounds: u64 },
}

impl Kind {
    /// Calls `work` with the world.
    fn with<R>(&self, work: impl FnOnce(&dyn World) -> Result<R, Error>) -> Result<R, Error> {
        match self {
            Self::Clustered(world) => work(world),
            Self::Promotions { splits, seed, reading, k, n, rounds } => {
                work(&Promotions::new(splits, *seed, *reading, *k, *n, *rounds)?)
            }
        }
    }

    fn splits(&self) -> usize {
        match self {
            Self::Clustered(_) => 1,
            Self::Promotions { splits, .. } => splits.len(),
        }
    }
}

fn order_of(name: &str) -> PyResult<Order> {
    match name {
        "by-cluster" => Ok(Order::ByCluster),
        "shuffled" => Ok(Order::Shuffled),
        _ => Err(PyValueError::new_err(format!("order = {name:?}: must be \"by-cluster\" or \"shuffled\""))),
    }
}

#[pymethods]
impl Problem {
    #[staticmethod]
    fn clustered(
        py: Python<'_>,
        angle: f64,
        d: usize,
        n: usize,
        k: usize,
        rounds: u64,
        order: &str,
        spread: f64,
    ) -> PyResult<Self> {
        let world = Clustered::new(angle, d, n, k, rounds, order_of(order)?, spread);
        Ok(Self { kind: Kind::Clustered(world.map_err(|error| raise_lab(py, &error))?) })
    }

    #[staticmethod]
    fn promotions(
        py: Python<'_>,
        ratings: Option<PathBuf>,
        sizes: (usize, usize, usize),
        features: &str,
        reading: &str,
        promotions: usize,
        k: usize,
        n: usize,
        rounds: u64,
        splits: u64,
        seed: u64,
    ) -> PyResult<Self> {
        let library = |error: Error| raise_lab(py, &error);
        let variant: Variant = features.parse().map_err(library)?;
        let reading: Reading = reading.parse().map_err(library)?;
        if splits == 0 {
            return Err(PyValueError::new_err("splits = 0: must be at least 1"));
        }
        let made = interruptible(py, |stop| {
            let (users, movies, count) = sizes;
            let ratings = match ratings {
                Some(path) => Ratings::read(&path)?,
                None => Ratings::generate(&Generated { users, movies, ratings: count }, seed)?,
            };
            let split = |number| {
                if stop.load(Ordering::Relaxed) {
                    return Err(interrupted());
                }
                Customers::new(&ratings, variant, promotions, seed, number)
            };
            let splits = (0..splits).map(split).collect::<Result<Vec<_>, Error>>()?;
            let kind = Kind::Promotions { splits, seed, reading, k, n, rounds };
            // Refuses what the sizes do not allow.
            kind.with(|_| Ok(()))?;
            Ok(kind)
        })?;
        Ok(Self { kind: made.map_err(library)? })
    }

    /// (d, M, N, T, clusters).
    #[getter]
    fn sizes(&self, py: Python<'_>) -> PyResult<(usize, usize, usize, u64, usize)> {
        let sizes =
            |world: &dyn World| Ok((world.dim(), world.blocks(), world.rows(), world.rounds(), world.clusters()));
        self.kind.with(sizes).map_err(|error| raise_lab(py, &error))
    }

    #[getter]
    fn splits(&self) -> usize {
        self.kind.splits()
    }

    /// Plays trials with each (algorithm as JSON, tie rule, gamma): arrays of settings x trials x rounds.
    fn run<'py>(
        &self,
        py: Python<'py>,
        policies: Vec<(String, String, Option<f64>)>,
        trials: usize,
        seed: u64,
        delay: u64,
        batch: u64,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let setting = |(policy, ties, gamma): &(String, String, Option<f64>)| -> PyResult<Setting> {
            let algorithm = AnyPolicy::from_json(policy)?.algorithm()?;
            Ok(Setting { algorithm, ties: ties_of(ties)?, gamma: gamma_of(*gamma) })
        };
        let settings = policies.iter().map(setting).collect::<PyResult<Vec<_>>>()?;
        if trials == 0 || batch == 0 || settings.is_empty() {
            return Err(PyValueError::new_err("there must be at least 1 policy, 1 trial and a batch of at least 1"));
        }
        let count = settings.len();
        let threads = threads.unwrap_or_else(armwise::tasks::threads);
        let samples = interruptible(py, |stop| {
            self.kind.with(|world| {
                let world = Stoppable { world, stop };
                let job = Job {
                    world: &world,
                    trials: Trial::of(seed, Purpose::Evaluation, trials),
                    settings,
                    feedback: Feedback { delay, batch },
                    detail: Detail::Rounds,
                };
                Session::new(threads, Store::none(), &Silent).play("run", &[job])
            })
        })?;
        let samples = samples.map_err(|error| raise_lab(py, &error))?.swap_remove(0);
        let rounds = samples[0].best.len();
        let result = PyDict::new(py);
        let all = |value: &dyn Fn(&Sample, usize) -> Vec<f64>| {
            let each = (0..count).flat_map(|setting| samples.iter().flat_map(move |sample| value(sample, setting)));
            PyArray1::from_vec(py, each.collect::<Vec<f64>>())
        };
        result.set_item("reward", all(&|s, i| s.played[i].reward.clone()).reshape([count, trials, rounds])?)?;
        result.set_item("regret", all(&|s, i| s.played[i].regret.clone()).reshape([count, trials, rounds])?)?;
        if !samples[0].played[0].clusters.is_empty() {
            let touched = |s: &Sample, i: usize| s.played[i].clusters.iter().map(|&c| f64::from(c)).collect();
            result.set_item("clusters", all(&touched).reshape([count, trials, rounds])?)?;
        }
        let best = PyArray1::from_vec(py, samples.iter().flat_map(|sample| sample.best.clone()).collect());
        result.set_item("best", best.reshape([trials, rounds])?)?;
        Ok(result)
    }

    /// The seeds of the trials of a run, which are also the seeds of the policies in them.
    #[staticmethod]
    fn trial_seeds(seed: u64, trials: usize) -> Vec<u64> {
        Trial::of(seed, Purpose::Evaluation, trials).iter().map(|trial| trial.seed).collect()
    }

    /// The features of a round, and what the best super arm earns.
    fn scene<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        number: u64,
        t: u64,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, f64)> {
        let made = py.detach(|| {
            self.kind.with(|world| {
                let game = world.open(Trial { seed, number });
                let scene = game.scene(t)?;
                Ok((scene.features.to_vec(), world.dim(), scene.best))
            })
        });
        let (features, dim, best) = made.map_err(|error| raise_lab(py, &error))?;
        let rows = features.len() / dim;
        Ok((PyArray1::from_vec(py, features).reshape([rows, dim])?, best))
    }

    /// What arms pay in a round, and what they pay on average.
    fn pay<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        number: u64,
        t: u64,
        arms: Vec<(usize, usize)>,
    ) -> PyResult<Paid<'py>> {
        let paid = py.detach(|| {
            self.kind.with(|world| {
                if arms.iter().any(|&(row, block)| row >= world.rows() || block >= world.blocks()) {
                    return Ok(None);
                }
                let game = world.open(Trial { seed, number });
                let scene = game.scene(t)?;
                Ok(Some(arms.iter().map(|&(row, block)| (scene.pay)(row, block)).unzip::<_, _, Vec<_>, Vec<_>>()))
            })
        });
        let paid = paid.map_err(|error| raise_lab(py, &error))?;
        let (paid, expected) = paid.ok_or_else(|| PyIndexError::new_err("there is no such arm"))?;
        Ok((PyArray1::from_vec(py, paid), PyArray1::from_vec(py, expected)))
    }
}

/// A world that refuses further rounds once it is told to stop.
struct Stoppable<'a> {
    world: &'a dyn World,
    stop: &'a AtomicBool,
}

struct StoppableGame<'a> {
    game: Box<dyn Game + 'a>,
    stop: &'a AtomicBool,
}

impl World for Stoppable<'_> {
    fn dim(&self) -> usize {
        self.world.dim()
    }

    fn blocks(&self) -> usize {
        self.world.blocks()
    }

    fn rows(&self) -> usize {
        self.world.rows()
    }

    fn rounds(&self) -> u64 {
        self.world.rounds()
    }

    fn clusters(&self) -> usize {
        self.world.clusters()
    }

    fn oracle(&self, t: u64) -> &dyn Oracle {
        self.world.oracle(t)
    }

    fn key(&self) -> String {
        self.world.key()
    }

    fn open(&self, trial: Trial) -> Box<dyn Game + '_> {
        Box::new(StoppableGame { game: self.world.open(trial), stop: self.stop })
    }
}

impl Game for StoppableGame<'_> {
    fn scene(&self, t: u64) -> Result<Scene<'_>, Error> {
        if self.stop.load(Ordering::Relaxed) { Err(interrupted()) } else { self.game.scene(t) }
    }
}

/// Never seen by a user, who gets `KeyboardInterrupt`.
fn interrupted() -> Error {
    Error::Numerical { method: "lab", what: "interrupted".to_owned() }
}

/// The mean of trials and its standard error, none for a single one; trials of the same split are averaged first.
#[pyfunction]
pub(crate) fn mean(values: Vec<f64>, groups: usize) -> (f64, Option<f64>) {
    let mean = Units::new(&values, groups).mean();
    (mean.mean, mean.se)
}

/// What pairs of trials say: the mean difference a - b with its standard error, and 95% intervals (value, low, high) of
/// the difference and of the ratio of the means. A single pair has no standard error and no intervals.
#[pyfunction]
pub(crate) fn paired(a: Vec<f64>, b: Vec<f64>, groups: usize) -> Paired {
    let (a, b) = (Units::new(&a, groups), Units::new(&b, groups));
    let (difference, ratio) = (a.less(&b), a.ratio(&b));
    let se = difference.mean().se;
    let ends = |of: Interval| (of.value, se.map(|_| of.low), se.map(|_| of.high));
    (se, ends(difference.interval()), ends(ratio))
}
