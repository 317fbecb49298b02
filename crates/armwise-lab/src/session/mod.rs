//! Many trials on many threads, with what was finished kept on disk.
//!
//! Work is cut into units that are pure functions of their key. Units are computed on any
//! thread in any order and put together in theirs, so neither the thread count nor an interruption changes a number.

mod store;
mod watch;
mod workers;

pub use store::Store;
pub use watch::{Silent, Watch};

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{
    Error,
    play::{Detail, Feedback, Sample, Setting, play},
    world::{Trial, World},
};

/// Multiplications that a unit of work should take: about half a second.
const UNIT: f64 = 2e9;
/// The smallest number of settings in a unit, so that making its rounds costs little compared with playing them.
const LEAST_SETTINGS: usize = 6;

/// Trials of a world to be played.
pub struct Job<'w> {
    /// The world.
    pub world: &'w dyn World,
    /// The trials.
    pub trials: Vec<Trial>,
    /// Who plays.
    pub settings: Vec<Setting>,
    /// How rewards come back.
    pub feedback: Feedback,
    /// What is kept.
    pub detail: Detail,
}

/// Where and how work is done.
pub struct Session<'a> {
    threads: usize,
    store: Store,
    watch: &'a dyn Watch,
    played: AtomicU64,
    kept: AtomicU64,
}

/// A part of a job: some trials, some settings.
struct Unit {
    job: usize,
    trials: Range<usize>,
    settings: Range<usize>,
}

impl<'a> Session<'a> {
    /// Computes on `threads` threads, keeps finished work in `store`, and tells `watch` how it goes.
    #[must_use]
    pub fn new(threads: usize, store: Store, watch: &'a dyn Watch) -> Self {
        Self { threads: threads.max(1), store, watch, played: AtomicU64::new(0), kept: AtomicU64::new(0) }
    }

    /// Threads that compute.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Where finished work is kept.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Who is told how it goes.
    #[must_use]
    pub fn watch(&self) -> &dyn Watch {
        self.watch
    }

    /// Rounds played so far in this session, and rounds taken over from an earlier one.
    #[must_use]
    pub fn rounds(&self) -> (u64, u64) {
        (self.played.load(Ordering::Relaxed), self.kept.load(Ordering::Relaxed))
    }

    /// Does something that is parallel in itself on as many threads as this session has.
    ///
    /// # Errors
    /// [`Error::Numerical`] if the threads cannot be started.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, Error> {
        Ok(workers::pool(self.threads)?.install(work))
    }

    /// Plays jobs; for each job one sample per trial, in order.
    ///
    /// # Errors
    /// The first error in the order of the jobs; what was finished before stays in the store.
    pub fn play(&self, stage: &str, jobs: &[Job<'_>]) -> Result<Vec<Vec<Sample>>, Error> {
        let units: Vec<Unit> = jobs.iter().enumerate().flat_map(|(number, job)| cut(number, job)).collect();
        let cost = |unit: &Unit| {
            let job = &jobs[unit.job];
            unit.trials.len() as f64
                * job.settings[unit.settings.clone()].iter().map(|s| cost(job.world, s)).sum::<f64>()
        };
        // Progress counts in thousandths of a unit's worth, so that the time left is about right.
        #[expect(clippy::cast_sign_loss, reason = "costs are positive")]
        let ticks = |unit: &Unit| (cost(unit) / UNIT * 1000.0) as u64 + 1;
        self.watch.start(stage, units.iter().map(ticks).sum());
        let work = |unit: &Unit| {
            let samples = self.unit(&jobs[unit.job], unit)?;
            self.watch.advance(ticks(unit));
            Ok(samples)
        };
        let parts = workers::run(self.threads, &units, work);
        self.watch.finish();
        let mut samples: Vec<Vec<Sample>> = jobs.iter().map(|job| vec![EMPTY; job.trials.len()]).collect();
        for (unit, part) in units.iter().zip(parts?) {
            for (trial, part) in unit.trials.clone().zip(part) {
                let sample = &mut samples[unit.job][trial];
                sample.best = part.best;
                sample.played.extend(part.played);
            }
        }
        Ok(samples)
    }

    fn unit(&self, job: &Job<'_>, unit: &Unit) -> Result<Vec<Sample>, Error> {
        let (trials, settings) = (&job.trials[unit.trials.clone()], &job.settings[unit.settings.clone()]);
        let rounds = job.world.rounds() * (trials.len() * settings.len()) as u64;
        let what = (trials, settings, job.feedback, job.detail);
        let key = self.store.key(&format!("{} {what:?}", job.world.key()));
        if let Some(samples) = self.store.get(&key) {
            self.kept.fetch_add(rounds, Ordering::Relaxed);
            return Ok(samples);
        }
        let sample = |trial: &Trial| play(job.world, *trial, settings, job.feedback, job.detail);
        let samples = trials.iter().map(sample).collect::<Result<Vec<_>, Error>>()?;
        self.store.put(&key, &samples)?;
        self.played.fetch_add(rounds, Ordering::Relaxed);
        Ok(samples)
    }
}

const EMPTY: Sample = Sample { best: Vec::new(), played: Vec::new() };

/// About how many multiplications a trial takes.
fn cost(world: &dyn World, setting: &Setting) -> f64 {
    let (d, pairs) = (world.dim() as f64, (world.rows() * world.blocks()) as f64);
    let widths = setting.algorithm.description().uses_width;
    world.rounds() as f64 * pairs * (d + 60.0 + if widths { 0.5 * d * d } else { 0.0 })
}

/// Cuts a job into units that do not depend on the thread count.
fn cut(number: usize, job: &Job<'_>) -> Vec<Unit> {
    let costs: Vec<f64> = job.settings.iter().map(|setting| cost(job.world, setting)).collect();
    let whole: f64 = costs.iter().sum();
    #[expect(clippy::cast_sign_loss, reason = "costs are positive")]
    let together = ((UNIT / whole) as usize).clamp(1, job.trials.len().max(1));
    let mut settings: Vec<Range<usize>> = Vec::new();
    let (mut first, mut sum) = (0, 0.0);
    for (place, cost) in costs.iter().enumerate() {
        sum += cost;
        if place + 1 == costs.len() || (sum >= UNIT && place + 1 - first >= LEAST_SETTINGS) {
            settings.push(first..place + 1);
            (first, sum) = (place + 1, 0.0);
        }
    }
    let starts = (0..job.trials.len()).step_by(together);
    let trials = starts.map(|start| start..(start + together).min(job.trials.len()));
    trials
        .flat_map(|trials| {
            settings.iter().map(move |settings| Unit {
                job: number,
                trials: trials.clone(),
                settings: settings.clone(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use armwise::{Algorithm, ArmWiseTs, Greedy, Random};

    use super::*;
    use crate::world::{Clustered, Order, Purpose};

    fn jobs(worlds: &[Clustered]) -> Vec<Job<'_>> {
        let algorithms = [
            Algorithm::Greedy(Greedy::new(1.0)),
            Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1)),
            Algorithm::Random(Random::new(1.0)),
        ];
        let job = |world| Job {
            world,
            trials: Trial::of(9, Purpose::Tuning, 7),
            settings: algorithms.map(Setting::by_id).to_vec(),
            feedback: Feedback::AT_ONCE,
            detail: Detail::Rounds,
        };
        worlds.iter().map(|world| job(world as &dyn World)).collect()
    }

    fn worlds() -> Vec<Clustered> {
        [0.5, 1.5].map(|angle| Clustered::new(angle, 5, 400, 20, 6, Order::ByCluster, 0.0).unwrap()).to_vec()
    }

    #[test]
    fn one_and_three_threads_and_the_store_give_the_same_samples() {
        let worlds = worlds();
        let folder = std::env::temp_dir().join(format!("armwise-session-{}", std::process::id()));
        let run = |threads, store| Session::new(threads, store, &Silent).play("test", &jobs(&worlds)).unwrap();
        let one = run(1, Store::none());
        assert_eq!(one, run(3, Store::none()));
        let first = Session::new(2, Store::in_folder(&folder, "a"), &Silent);
        assert_eq!(one, first.play("test", &jobs(&worlds)).unwrap());
        assert_eq!(first.rounds(), (2 * 7 * 3 * 6, 0));
        let second = Session::new(2, Store::in_folder(&folder, "a"), &Silent);
        assert_eq!(one, second.play("test", &jobs(&worlds)).unwrap());
        assert_eq!(second.rounds(), (0, 2 * 7 * 3 * 6));
        // Work of another version or another command is not used.
        let other = Session::new(2, Store::in_folder(&folder, "b"), &Silent);
        other.play("test", &jobs(&worlds)).unwrap();
        assert_eq!(other.rounds().1, 0);
        other.store().clear().unwrap();
        assert!(!folder.join(".unfinished").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn units_cover_every_trial_and_setting_once() {
        let worlds = worlds();
        let jobs = jobs(&worlds);
        let mut seen = [[0; 3]; 7];
        for unit in cut(0, &jobs[0]) {
            unit.trials.for_each(|trial| unit.settings.clone().for_each(|setting| seen[trial][setting] += 1));
        }
        assert_eq!(seen, [[1; 3]; 7]);
    }
}
