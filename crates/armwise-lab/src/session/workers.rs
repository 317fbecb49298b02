//! Units of work on several threads.
//!
//! Each worker has a rayon pool of one thread, so that what the library does in parallel runs
//! in line here. The units are many and small; splitting them further would only cost.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Error;

/// A pool of this many threads.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, Error> {
    let built = ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|error| Error::Numerical { method: "threads", what: error.to_string() })
}

/// Computes every unit once; the results are in the order of the units.
pub(crate) fn run<U: Sync, R: Send>(
    threads: usize,
    units: &[U],
    work: impl Fn(&U) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let results: Mutex<Vec<Option<Result<R, Error>>>> = Mutex::new(units.iter().map(|_| None).collect());
    let worker = || {
        while !stop.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(place) else { break };
            let result = work(unit);
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(result);
        }
    };
    let pools = (0..threads.min(units.len()).max(1)).map(|_| pool(1)).collect::<Result<Vec<_>, Error>>()?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| pool.install(worker));
        }
    });
    // After an error some units were never done; every unit before the first error was.
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}
