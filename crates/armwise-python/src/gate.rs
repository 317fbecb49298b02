//! Forks: a child must not inherit a lock that another thread of its parent holds, nor a half changed model.
//!
//! Only the thread that forks lives on in the child. So everything that computes without the interpreter's lock passes
//! this gate ([`detach`]), and a fork waits until nobody is inside. Python code that the library calls runs outside
//! ([`attach`]), since it may fork itself. Nobody may wait at the gate with the interpreter's lock, because the thread
//! that forks needs that lock to go on.

use std::{
    cell::RefCell,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use pyo3::prelude::*;

/// How many threads are inside.
static INSIDE: Mutex<usize> = Mutex::new(0);
/// Somebody has left.
static LEFT: Condvar = Condvar::new();

thread_local! {
    /// The closed gate, while this thread forks.
    static CLOSED: RefCell<Option<MutexGuard<'static, usize>>> = const { RefCell::new(None) };
}

fn inside() -> MutexGuard<'static, usize> {
    INSIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn leave() {
    *inside() -= 1;
    LEFT.notify_all();
}

/// A thread that computes.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        leave();
    }
}

/// A computing thread that runs Python code for a while.
struct Outside;

impl Drop for Outside {
    fn drop(&mut self) {
        *inside() += 1;
    }
}

/// Computes; no fork happens meanwhile. Not with the interpreter's lock.
pub(crate) fn enter<R>(work: impl FnOnce() -> R) -> R {
    *inside() += 1;
    let _inside = Inside;
    work()
}

/// Computes without the interpreter's lock; no fork happens meanwhile.
pub(crate) fn detach<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    py.detach(|| enter(work))
}

/// What needs no gate, in the midst of a computation: a fork may happen meanwhile.
pub(crate) fn outside<R>(work: impl FnOnce() -> R) -> R {
    leave();
    let _outside = Outside;
    work()
}

/// Python code in the midst of a computation.
pub(crate) fn attach<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    outside(|| Python::attach(work))
}

/// Closes the gate as soon as nobody is inside.
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) {
    py.detach(|| {
        let empty = LEFT.wait_while(inside(), |inside| *inside > 0).unwrap_or_else(PoisonError::into_inner);
        CLOSED.set(Some(empty));
    });
}

/// Opens the gate, in the parent and in the child.
#[pyfunction]
pub(crate) fn after_fork() {
    CLOSED.take();
}
