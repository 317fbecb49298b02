//! Points at which a test can make the process die as by kill -9, by name in `ARMWISE_FAILPOINT`.
//!
//! They are in the released program, because the tests must test what is shipped. Each reads one environment variable,
//! a handful of times per command.

/// Dies here if a test asks for it.
pub(crate) fn failpoint(name: &str) {
    if std::env::var_os("ARMWISE_FAILPOINT").is_some_and(|wanted| wanted == name) {
        std::process::abort();
    }
}
