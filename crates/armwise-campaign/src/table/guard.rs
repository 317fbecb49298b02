//! Damaged files as errors: the Arrow and Parquet readers panic on some of them.
//!
//! A panic inside a reader is caught and becomes the table's error, and its message is kept
//! from the terminal by a panic hook that is silent in guarded calls only. The release profile must unwind.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a reader; a panic is a problem of the file. What the call borrowed must not be used after one.
pub(super) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                before(panic);
            }
        }));
    });
    GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(false);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        format!("the file is damaged: {}", text.unwrap_or_default())
    })
}
