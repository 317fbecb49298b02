//! Long work that Ctrl-C can stop.
//!
//! The work runs on a separate thread while this one checks for signals. When one has come, a flag tells the work to
//! stop, and this thread waits for it.

use std::{
    panic::resume_unwind,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use pyo3::prelude::*;

/// Does the work without the interpreter's lock. On Ctrl-C `stop` becomes true, and the exception is returned.
pub(crate) fn interruptible<R: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> R + Send) -> PyResult<R> {
    let stop = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let (done, finished) = channel::<()>();
            let worker = scope.spawn(|| {
                let result = armwise::tasks::with_rayon(|| work(&stop));
                drop(done);
                result
            });
            let mut signal = Ok(());
            while finished.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
                if signal.is_ok() {
                    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime only")]
                    let come = Python::attach(|py| py.check_signals());
                    signal = come;
                    stop.store(signal.is_err(), Ordering::Relaxed);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            signal.map(|()| result)
        })
    })
}
