//! The library's side of `bench/choose.py`: keeps arms and a learner, and does what each line of standard input asks.
//!
//! The other side decides when we run, so that repetitions of all candidates are interleaved
//! in one session; only the call of the library is timed. Numbers come in files of raw little-endian floats.
//!
//! ```text
//! {"load": {"x": FILE, "n": 2000, "d": 11, "storage": "f64", "blocks": 1, "threads": 1, "algorithm": {...},
//!           "seen": FILE, "rewards": FILE}}      rows that were seen in every block, and what they paid;
//!                                                with "catalogue": true the arms become one; 0 threads: called
//!                                                from outside of the library's pool, as a program does
//! {"choose": {"t": 1, "constraint": {...}}}       answers seconds and the chosen [row, block] in order;
//!                                                 with "runs": 3 rounds t, t + 1 and t + 2 one after the other, each
//!                                                 timed (`runs`), the last of them answered
//! {"learn": {"rewards": [...]}}                   of the last decision, in its order; answers seconds
//! {"pass": {"runs": 3}}                           reads all features once and does next to nothing with them, with the same
//!                                                 threads: what no choice that looks at every arm can beat (`runs`)
//! {"draws": {"n": 65536, "runs": 20}}             makes so many normal numbers on one thread, each time timed (`runs`)
//! ```
#![expect(clippy::print_stdout, reason = "the answers")]
#![allow(clippy::inline_always, reason = "must be compiled inside the dispatch, for its instruction set")]

use armwise::{
    Algorithm, Arms, Catalogue, Constraint, Decision, Features, Learner, Model, Observation, Reward, Round, Stream,
    tasks,
};
use serde::Deserialize;
use std::{error::Error, fs, hint::black_box, io, time::Instant};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ask {
    Load(Load),
    Choose(Choose),
    Learn(Learn),
    Pass(Pass),
    Draws(Draws),
}

#[derive(Deserialize)]
struct Load {
    x: String,
    n: usize,
    d: usize,
    storage: Storage,
    blocks: usize,
    threads: usize,
    algorithm: Algorithm,
    seen: String,
    rewards: String,
    #[serde(default)]
    catalogue: bool,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Storage {
    F32,
    F64,
}

#[derive(Deserialize)]
struct Choose {
    t: u64,
    constraint: Constraint,
    #[serde(default = "once")]
    runs: u64,
}

fn once() -> u64 {
    1
}

#[derive(Deserialize)]
struct Pass {
    runs: usize,
}

#[derive(Deserialize)]
struct Draws {
    n: u64,
    runs: usize,
}

#[derive(Deserialize)]
struct Learn {
    rewards: Vec<f64>,
}

enum Owned {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Catalogue(Box<Catalogue>),
}

struct Loaded {
    x: Owned,
    d: usize,
    learner: Learner,
    pool: Option<rayon::ThreadPool>,
    last: Option<Decision>,
}

fn wide(path: &str) -> io::Result<Vec<f64>> {
    let bytes = fs::read(path)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

fn load(ask: &Load) -> Result<Loaded, Box<dyn Error>> {
    let x = wide(&ask.x)?;
    if x.len() != ask.n * ask.d {
        return Err(format!("{} has {} numbers instead of {} x {}", ask.x, x.len(), ask.n, ask.d).into());
    }
    let (seen, rewards) = (wide(&ask.seen)?, wide(&ask.rewards)?);
    let mut model = Model::new(ask.d, ask.blocks)?;
    for (x, rewards) in seen.chunks_exact(ask.d).zip(rewards.chunks_exact(ask.blocks)) {
        for (block, &reward) in (0..).zip(rewards) {
            model.observe(&Observation { t: 1, block, x, reward })?;
        }
    }
    let x = match ask.storage {
        Storage::F32 => Owned::F32(x.iter().map(|&x| x as f32).collect()),
        Storage::F64 => Owned::F64(x),
    };
    let x = if ask.catalogue { Owned::Catalogue(Box::new(Catalogue::new(&x.arms(ask.d)?)?)) } else { x };
    let learner = Learner::with_model(ask.algorithm, model)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(ask.threads);
    let pool = if ask.threads == 0 { None } else { Some(pool.build()?) };
    Ok(Loaded { x, d: ask.d, learner, pool, last: None })
}

impl Owned {
    fn arms(&self, d: usize) -> Result<Arms<'_>, armwise::Error> {
        match self {
            Self::F32(x) => Arms::new(Features::F32(x), d),
            Self::F64(x) => Arms::new(Features::F64(x), d),
            Self::Catalogue(catalogue) => Ok(catalogue.arms()),
        }
    }
}

impl Loaded {
    fn choose(&mut self, ask: &Choose) -> Result<serde_json::Value, armwise::Error> {
        let arms = self.x.arms(self.d)?;
        let choose = || {
            let mut runs = Vec::new();
            let mut last = None;
            for t in ask.t..ask.t + ask.runs {
                drop(last.take()); // freeing the last one is no part of the call
                let start = Instant::now();
                let round = Round::new(1, t);
                last = Some(match &self.x {
                    Owned::Catalogue(items) => self.learner.choose_from(items, round, &arms, &ask.constraint),
                    _ => self.learner.choose(round, &arms, &ask.constraint),
                });
                runs.push(start.elapsed().as_secs_f64());
            }
            (last, runs)
        };
        let (decision, runs) = self.pool.as_ref().map_or_else(choose, |pool| pool.install(choose));
        let decision = self.last.insert(decision.expect("there is at least one run")?);
        let chosen: Vec<(u64, u32)> = decision.arms.iter().map(|arm| (arm.id, arm.block)).collect();
        let seconds = runs.last();
        Ok(serde_json::json!({ "seconds": seconds, "runs": runs, "chosen": chosen }))
    }

    /// Every element is read once, with the widest registers.
    fn pass(&self, ask: &Pass) -> Result<serde_json::Value, armwise::Error> {
        /// A part of this many elements is a task.
        const PART: usize = 1 << 16;
        let arms = self.x.arms(self.d)?;
        let once = || match arms.features() {
            Features::F32(x) => {
                let parts: Vec<&[f32]> = x.chunks(PART).collect();
                tasks::share(parts.len(), || 0, |sum, part| *sum ^= bits_of(parts[part], |x| u64::from(x.to_bits())))
            }
            Features::F64(x) => {
                let parts: Vec<&[f64]> = x.chunks(PART).collect();
                tasks::share(parts.len(), || 0, |sum, part| *sum ^= bits_of(parts[part], f64::to_bits))
            }
        };
        let read = || seconds(ask.runs, || drop(black_box(once())));
        let runs = self.pool.as_ref().map_or_else(read, |pool| pool.install(read));
        Ok(serde_json::json!({ "runs": runs }))
    }

    fn learn(&mut self, ask: &Learn) -> Result<serde_json::Value, Box<dyn Error>> {
        let decision = self.last.take().ok_or("nothing was chosen")?;
        let rewards: Vec<Reward> = (decision.arms.iter().zip(&ask.rewards))
            .map(|(arm, &reward)| Reward::new(arm.id, arm.block, reward))
            .collect();
        let start = Instant::now();
        self.learner.learn(&decision, &rewards)?;
        Ok(serde_json::json!({ "seconds": start.elapsed().as_secs_f64() }))
    }
}

fn seconds(runs: usize, mut call: impl FnMut()) -> Vec<f64> {
    let timed = |_| {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(timed).collect()
}

fn bits_of<T: Copy>(x: &[T], bits: impl Fn(T) -> u64) -> u64 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || x.iter().fold(0, |all, &x| all | bits(x)),
    )
}

fn draw(ask: &Draws) -> serde_json::Value {
    let ids: Vec<u64> = (0..ask.n).collect();
    let mut out = vec![0.0; ids.len()];
    let draws = Round::new(1, 1).draws(0, Stream::BONUS);
    let runs = seconds(ask.runs, || draws.normals(black_box(&ids), black_box(&mut out)));
    serde_json::json!({ "runs": runs })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut loaded: Option<Loaded> = None;
    for line in io::stdin().lines() {
        let answer = match (serde_json::from_str(&line?)?, loaded.as_mut()) {
            (Ask::Load(ask), _) => {
                drop(loaded.take());
                loaded = Some(load(&ask)?);
                serde_json::json!({})
            }
            (Ask::Draws(ask), _) => draw(&ask),
            (Ask::Pass(ask), Some(loaded)) => loaded.pass(&ask)?,
            (Ask::Choose(ask), Some(loaded)) => loaded.choose(&ask)?,
            (Ask::Learn(ask), Some(loaded)) => loaded.learn(&ask)?,
            (_, None) => return Err("nothing is loaded".into()),
        };
        println!("{answer}");
    }
    Ok(())
}
