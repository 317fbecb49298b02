//! How fast a campaign in service decides and learns, with the journal on and off.
//!
//! `cargo run --release --example live_speed -- [THREADS] [SECONDS]`. What is compared runs in turns, so that a busy machine
//! is busy for both. Without the journal nothing is kept: it only tells what writing costs.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and stops where something fails")]
#![allow(clippy::cast_sign_loss, reason = "shares and seconds are not negative")]

use armwise_campaign::{
    config::Config,
    core::{Feedback, Line},
    live::{
        Among, ArmsChange, DecideRequest, Decided, Features, Journalling, Live, LiveOptions, Offered, RewardsRequest,
    },
    round::Asked,
};
use arrow_array::{ArrayRef, FixedSizeListArray, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// Arms with made-up features.
fn arms(count: usize, dim: usize, salt: u64) -> RecordBatch {
    let draws = armwise::Round::new(salt, 1).draws(0, armwise::Stream(300));
    let x: Vec<f64> = (0..(count * dim) as u64).map(|id| draws.normal(id) / (dim as f64).sqrt()).collect();
    let field = Arc::new(Field::new("item", DataType::Float64, false));
    let x = FixedSizeListArray::try_new(field, i32::try_from(dim).unwrap(), Arc::new(Float64Array::from(x)), None);
    let ids = StringArray::from_iter_values((0..count).map(|number| format!("item-{number}")));
    RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef), ("features", Arc::new(x.unwrap()))]).unwrap()
}

fn begin(folder: &Path, dim: usize, journal: Journalling) -> Live {
    let rules = "customer = \"id\"\nseed = 1\nrounds_per_segment = 256\n[[promotion]]\nname = \"show\"\n";
    let config = Config::parse(rules, Path::new("rules")).unwrap();
    let path = folder.join(format!("{dim}-{journal:?}.armwise"));
    Live::begin(&path, config, Features::Dim(dim), LiveOptions { journal, ..LiveOptions::default() }).unwrap()
}

/// Calls something from many threads for a while: how often a second, and the quantiles of its time in milliseconds.
fn timed(threads: usize, seconds: f64, call: &(dyn Fn(usize, u64) + Sync)) -> (f64, [f64; 3]) {
    let times = Mutex::new(Vec::new());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let times = &times;
            scope.spawn(move || {
                let mut own = Vec::new();
                for step in 0.. {
                    let now = Instant::now();
                    if (now - begun).as_secs_f64() > seconds {
                        break;
                    }
                    call(thread, step);
                    own.push(now.elapsed().as_secs_f64() * 1e3);
                }
                times.lock().unwrap().extend(own);
            });
        }
    });
    let elapsed = begun.elapsed().as_secs_f64();
    let mut times = times.into_inner().unwrap();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    (times.len() as f64 / elapsed, [at(0.5), at(0.99), at(0.999)])
}

fn show(what: &str, (rate, [p50, p99, p999]): (f64, [f64; 3])) -> f64 {
    println!("{what:<44} {rate:>9.0}/s   p50 {p50:>8.3} ms   p99 {p99:>8.3} ms   p99.9 {p999:>8.3} ms");
    rate
}

fn rewards(decided: &[Decided], reward: f64) -> RewardsRequest {
    let line = |decided: &Decided| Line {
        decision: Some(decided.decision.clone()),
        id: Some(decided.arms[0].id.clone()),
        reward: Some(reward),
        ..Line::default()
    };
    RewardsRequest { key: None, decision: None, lines: decided.iter().map(line).collect(), feedback: Feedback::Rewards }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let threads: usize = arguments.next().map_or(64, |text| text.parse().unwrap());
    let seconds: f64 = arguments.next().map_or(3.0, |text| text.parse().unwrap());
    let folder = std::env::var_os("ARMWISE_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("armwise-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let small = arms(100, 11, 1);
    let (on, off) = (begin(&folder, 11, Journalling::On), begin(&folder, 11, Journalling::OffForBenchmarks));
    let slate = |live: &Live| live.decide(DecideRequest::k_of(small.clone(), 5)).unwrap();
    for _ in 0..50 {
        let decided: Vec<Decided> = (0..20).map(|_| slate(&on)).collect();
        on.rewards(rewards(&decided, 1.0)).unwrap();
    }
    let _ = on.wait_for(on.seq(), Duration::from_secs(5));
    let alone = timed(1, seconds / 3.0, &|_, _| drop(slate(&off)));
    show("one thread, k = 5 of 100 x 11, journal off", alone);
    let mut ratios = Vec::new();
    for turn in 1..=3 {
        let with = show(
            &format!("{threads} threads, k = 5 of 100 x 11, on, {turn}"),
            timed(threads, seconds, &|_, _| drop(slate(&on))),
        );
        let without = show(
            &format!("{threads} threads, k = 5 of 100 x 11, off, {turn}"),
            timed(threads, seconds, &|_, _| drop(slate(&off))),
        );
        ratios.push(with / without);
    }
    println!("on / off: {ratios:.2?}");
    let decided = Mutex::new(Vec::new());
    let needed = (seconds * 40_000.0) as usize;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..needed.div_ceil(threads) {
                    let own = slate(&on);
                    decided.lock().unwrap().push(own);
                }
            });
        }
    });
    let next = || decided.lock().unwrap().pop();
    show(
        "rewards one by one",
        timed(threads, seconds / 2.0, &|_, _| {
            if let Some(own) = next() {
                on.rewards(rewards(&[own], 1.0)).unwrap();
            }
        }),
    );
    let some = || (0..100).filter_map(|_| next()).collect::<Vec<_>>();
    show(
        "rewards 100 at once (requests)",
        timed(threads, seconds / 2.0, &|_, _| drop(on.rewards(rewards(&some(), 0.5)).unwrap())),
    );
    println!("{} decisions were left over", decided.lock().unwrap().len());
    let begun = Instant::now();
    on.wait_for(on.seq(), Duration::from_mins(1)).unwrap();
    println!("all of it in the model after {:.3} s", begun.elapsed().as_secs_f64());
    let (many_on, many_off) = (begin(&folder, 51, Journalling::On), begin(&folder, 51, Journalling::OffForBenchmarks));
    let begun = Instant::now();
    let rows = arms(100_000, 51, 2);
    many_on.arms(ArmsChange::Put(rows.clone()), None).unwrap();
    println!("a catalogue of 100,000 x 51 is there after {:.2} s", begun.elapsed().as_secs_f64());
    drop(many_off);
    let ask = || DecideRequest {
        key: None,
        arms: Offered::Catalogue(Among::default()),
        context: None,
        asked: Asked::K(10),
        hold: false,
    };
    let from = |live: &Live| live.decide(ask()).unwrap();
    for _ in 0..20 {
        let decided: Vec<Decided> = (0..5).map(|_| from(&many_on)).collect();
        many_on.rewards(rewards(&decided, 1.0)).unwrap();
    }
    let _ = many_on.wait_for(many_on.seq(), Duration::from_secs(5));
    show("one thread, k = 10 of a catalogue 100,000 x 51", timed(1, seconds, &|_, _| drop(from(&many_on))));
    show(&format!("{threads} threads, the same"), timed(threads, seconds, &|_, _| drop(from(&many_on))));
    for live in [on, off, many_on] {
        live.stop();
    }
    let bytes = std::fs::metadata(folder.join("11-On.armwise")).unwrap().len();
    println!("{:.0} bytes of the file with 100 x 11", bytes as f64);
    std::fs::remove_dir_all(&folder).unwrap();
}
