//! Damaged files as errors: the Arrow and Parquet readers panic on some of them.
//!
//! A panic inside a reader is caught and becomes the table's error. Its message still goes to the process's panic hook;
//! a program that wants to keep it from its users asks [`is_guarded`] there. The release profile must unwind.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is reading a table, so that a panic now becomes an error. A panic hook may stay silent then.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Calls a reader and reports a panic as an error of the file. What the call borrowed must not be used after a panic.
pub(super) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(before);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        format!("the file is damaged: {}", text.unwrap_or_default())
    })
}
