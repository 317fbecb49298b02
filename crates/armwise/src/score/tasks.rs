//! Tasks shared by the caller and the threads of the pool.
//!
//! The caller works too, and threads of the pool join in when they are awake. So a caller from outside the pool does
//! not wait for it to wake up, and work too small to share never leaves its thread. Any thread may take any task, so
//! the result of a task must not depend on the thread that runs it.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Runs the tasks 0 to `count` - 1, each once, with one state per participating thread. Returns the states in no
/// particular order.
pub(crate) fn share<S: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize) + Sync,
) -> Vec<S> {
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
    let others = rayon::current_num_threads().min(count).saturating_sub(1);
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
pub(crate) fn share_parts<S: Send, P: Send>(
    parts: impl Iterator<Item = P>,
    state: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize, P) + Sync,
) {
    let parts: Vec<Mutex<Option<P>>> = parts.map(|part| Mutex::new(Some(part))).collect();
    share(parts.len(), state, |state, number| {
        if let Some(part) = lock(&parts[number]).take() {
            task(state, number, part);
        }
    });
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
            let sums = share(1_000, || 0, |sum, number| *sum += number);
            assert!(sums.len() <= rayon::current_num_threads());
            sums.into_iter().sum::<usize>()
        };
        assert_eq!((done(), pool.install(done)), (499_500, 499_500));
        assert!(share(0, || (), |(), _| ()).is_empty());
    }
}
