//! Progress bars with the time left, on stderr and only on a terminal.
//!
//! `indicatif` hides itself where stderr is not a terminal, so a piped run prints nothing.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use armwise_lab::session::Watch;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows each stage as a bar.
#[derive(Default)]
pub(crate) struct Bars {
    bar: Mutex<Option<ProgressBar>>,
}

impl Bars {
    fn with(&self, use_bar: impl FnOnce(&mut Option<ProgressBar>)) {
        use_bar(&mut self.bar.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Watch for Bars {
    fn start(&self, stage: &str, ticks: u64) {
        let bar = ProgressBar::new(ticks).with_message(stage.to_owned());
        let style =
            ProgressStyle::with_template("{msg:<44} {wide_bar} {percent:>3}%  {elapsed} of {duration}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(500));
        self.with(|shown| *shown = Some(bar));
    }

    fn advance(&self, ticks: u64) {
        self.with(|shown| shown.iter().for_each(|bar| bar.inc(ticks)));
    }

    fn finish(&self) {
        self.with(|shown| shown.take().into_iter().for_each(|bar| bar.finish()));
    }

    fn note(&self, what: &str) {
        eprintln!("note: {what}");
    }
}
