//! Tasks shared by the caller and the threads of the pool: the only file of the library that knows rayon.
//!
//! The caller works too, and threads of the pool join in when they are awake. So a caller from outside the pool does
//! not wait for it to wake up, and work too small to share never leaves its thread. Any thread may take any task, so
//! the result of a task must not depend on the thread that runs it.
//!
//! Threads do not survive a fork, and a process that waits for those of its parent waits for ever. So a process that was
//! forked after its parent used the pool works alone: on the caller's thread, with the same results.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
};

/// The process that first used the pool of all threads, and so started it; 0 before.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Whether this process was forked from one that had started the pool, whose threads it therefore lacks. Otherwise the
/// pool is this process's from now on.
fn is_alone() -> bool {
    let process = std::process::id();
    OWNER.compare_exchange(0, process, Relaxed, Relaxed).is_err_and(|owner| owner != process)
}

/// How many threads may work at once as the user said; `usize::MAX` for all that there are.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Lets at most so many threads work at once on what begins from now on, the caller's among them. No result depends on
/// it.
pub fn set_most(threads: NonZeroUsize) {
    MOST.store(threads.get(), Relaxed);
}

/// How many threads may work at once, the caller's among them.
#[must_use]
pub fn threads() -> usize {
    let most = MOST.load(Relaxed);
    if most == 1 {
        return 1;
    }
    // Asking rayon from outside of a pool would start the pool, hence the order.
    let all = if rayon::current_thread_index().is_none() && is_alone() { 1 } else { rayon::current_num_threads() };
    all.min(most)
}

/// Does work that uses rayon directly: in a forked process, or where the user limits the threads, on threads that are
/// made for it.
pub fn with_rayon<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() || (!is_alone() && MOST.load(Relaxed) == usize::MAX) {
        return work();
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads()).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Runs the tasks 0 to `count` - 1, each once, with one state per participating thread. Returns the states in no
/// particular order.
pub fn share<S: Send>(count: usize, state: impl Fn() -> S + Sync, task: impl Fn(&mut S, usize) + Sync) -> Vec<S> {
    let next = AtomicUsize::new(0);
    let states = Mutex::new(Vec::new());
    let work = || {
        let mut mine = None;
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= count {
                break;
            }
            task(mine.get_or_insert_with(&state), number);
        }
        lock(&states).extend(mine);
    };
    let others = if count > 1 { threads().min(count) - 1 } else { 0 };
    if others == 0 {
        work();
    } else {
        rayon::in_place_scope(|scope| {
            (0..others).for_each(|_| scope.spawn(|_| work()));
            work();
        });
    }
    states.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// As [`share`], with a task for each of these parts.
pub fn share_parts<S: Send, P: Send>(
    parts: impl Iterator<Item = P>,
    state: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize, P) + Sync,
) -> Vec<S> {
    let parts: Vec<Mutex<Option<P>>> = parts.map(|part| Mutex::new(Some(part))).collect();
    share(parts.len(), state, |state, number| {
        if let Some(part) = lock(&parts[number]).take() {
            task(state, number, part);
        }
    })
}

/// What the tasks 0 to `count` - 1 make, in their order; each with the state of its thread, as [`share`].
pub fn map<S: Send, R: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize) -> R + Sync,
) -> Vec<R> {
    let made = share(count, || (state(), Vec::new()), |(state, made), number| made.push((number, task(state, number))));
    let mut all: Vec<(usize, R)> = made.into_iter().flat_map(|(_, made)| made).collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, made)| made).collect()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_done_once_inside_and_outside_of_a_pool() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        let done = || {
            let mut out = vec![0_usize; 1_000];
            let add = |(): &mut (), number: usize, part: &mut [usize]| part.iter_mut().for_each(|to| *to += number + 1);
            share_parts(out.chunks_mut(7), || (), add);
            assert!(out.iter().enumerate().all(|(place, found)| *found == place / 7 + 1));
            assert_eq!(map(100, || (), |(), number| number * number), (0..100).map(|n| n * n).collect::<Vec<_>>());
            let sums = share(1_000, || 0, |sum, number| *sum += number);
            assert!(sums.len() <= rayon::current_num_threads());
            sums.into_iter().sum::<usize>()
        };
        assert_eq!((done(), pool.install(done), with_rayon(done)), (499_500, 499_500, 499_500));
        assert!(share(0, || (), |(), _| ()).is_empty());
    }
}
