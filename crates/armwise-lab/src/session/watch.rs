//! Who is told how the work goes.
//!
//! The lab draws no progress bars; it reports ticks, and a terminal shows them.

/// Is told how the work goes.
pub trait Watch: Sync {
    /// A stage begins that will have this many ticks.
    fn start(&self, stage: &str, ticks: u64);
    /// This many ticks are done.
    fn advance(&self, ticks: u64);
    /// The stage is over.
    fn finish(&self);
    /// A warning for the user; the work goes on.
    fn note(&self, what: &str);
}

/// Says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Watch for Silent {
    fn start(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
    fn note(&self, _: &str) {}
}
