//! What Prometheus is told. What is measured inside a campaign is observed as it happens, for all campaigns together;
//! where each stands is asked when somebody looks. Labels are routes, kinds of problems and names of campaigns, nothing of
//! a customer or an arm.

use crate::campaigns::Campaigns;
use armwise_campaign::live::{Measured, Observe};
use axum::http::{Method, StatusCode};
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
};

/// Seconds, from a tenth of a millisecond to a minute.
const SECONDS: [f64; 18] =
    [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];
/// Commands of a commit.
const BATCH: [f64; 11] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answer {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    method: String,
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ProblemKind {
    kind: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    campaign: String,
}

/// What is counted inside a campaign.
type Sum = Counter<f64, AtomicU64>;

type Seconds = Family<Route, Histogram, fn() -> Histogram>;

/// The counters and histograms of a server.
pub(crate) struct Meter {
    registry: Mutex<Registry>,
    answers: Family<Answer, Counter>,
    seconds: Seconds,
    problems: Family<ProblemKind, Counter>,
    measured: Arc<Vec<(Measured, Histogram)>>,
    counted: Arc<Vec<(Measured, Sum)>>,
    /// The last entry, the last one that the model knows, commands that wait, arms of the catalogue.
    standing: [Family<Of, Gauge>; 4],
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

/// The name and the meaning of what is measured inside a campaign.
fn about(what: Measured) -> (&'static str, &'static str) {
    match what {
        Measured::Choose => ("choose", "Choosing, in the thread of the request"),
        Measured::Queue => ("queue", "Waiting for the writer"),
        Measured::Commit => ("commit", "Writing to the disk, synced"),
        Measured::Batch => ("batch_commands", "Commands of a commit"),
        Measured::Behind => ("behind", "From the first new reward until the model knows it"),
        Measured::Learn => ("learn", "Bringing new rewards into the model"),
        Measured::Conflict => ("conflicts", "Appends that came too late, since another server was faster"),
        Measured::Followed => ("followed_entries", "Entries of other servers that were taken over"),
        Measured::Follow => ("follow", "Taking over entries of other servers"),
        _ => ("other", "Something else"),
    }
}

impl Meter {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("armwise");
        let (answers, problems) = (Family::default(), Family::default());
        let seconds: Seconds = Family::new_with_constructor(seconds);
        registry.register("http_requests", "Answers by route and status", answers.clone());
        registry.register_with_unit("http_request", "Time to the answer", Unit::Seconds, seconds.clone());
        registry.register("problems", "Answers that are problems, by kind", problems.clone());
        let (mut measured, mut counted) = (Vec::new(), Vec::new());
        for what in Measured::ALL {
            let (name, help) = about(what);
            if matches!(what, Measured::Conflict | Measured::Followed) {
                let counter = Sum::default();
                registry.register(name, help, counter.clone());
                counted.push((what, counter));
                continue;
            }
            let histogram = if what == Measured::Batch { Histogram::new(BATCH) } else { self::seconds() };
            if what == Measured::Batch {
                registry.register(name, help, histogram.clone());
            } else {
                registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
            }
            measured.push((what, histogram));
        }
        let standing: [Family<Of, Gauge>; 4] = Default::default();
        for (family, (name, help)) in standing.iter().zip([
            ("seq", "The last entry of the journal"),
            ("learned_seq", "The last entry whose rewards the model knows"),
            ("queue_waiting", "Commands that wait for the writer"),
            ("catalogue_arms", "Arms of the catalogue"),
        ]) {
            registry.register(name, help, family.clone());
        }
        let registry = Mutex::new(registry);
        Self {
            registry,
            answers,
            seconds,
            problems,
            measured: Arc::new(measured),
            counted: Arc::new(counted),
            standing,
        }
    }

    /// What a campaign tells its measurements to.
    pub(crate) fn observe(&self) -> Observe {
        let (measured, counted) = (Arc::clone(&self.measured), Arc::clone(&self.counted));
        Arc::new(move |what, value| {
            if let Some((_, counter)) = counted.iter().find(|(own, _)| *own == what) {
                counter.inc_by(value);
            }
            if let Some((_, histogram)) = measured.iter().find(|(own, _)| *own == what) {
                histogram.observe(value);
            }
        })
    }

    /// Counts an answer.
    pub(crate) fn answered(
        &self,
        method: &Method,
        route: &str,
        status: StatusCode,
        kind: Option<&'static str>,
        seconds: f64,
    ) {
        // A method may be any word, which would make any number of labels.
        let known = [Method::GET, Method::PUT, Method::POST, Method::PATCH, Method::DELETE, Method::HEAD];
        let method = if known.contains(method) { method.as_str() } else { "other" }.to_owned();
        let route = route.to_owned();
        let answer = Answer { method: method.clone(), route: route.clone(), status: status.as_u16() };
        self.answers.get_or_create(&answer).inc();
        self.seconds.get_or_create(&Route { method, route }).observe(seconds);
        if let Some(kind) = kind {
            self.problems.get_or_create(&ProblemKind { kind: kind.to_owned() }).inc();
        }
    }

    /// Everything as text.
    pub(crate) fn text(&self, campaigns: &Campaigns) -> String {
        for (name, live) in campaigns.all_open() {
            let (load, of) = (live.load(), Of { campaign: name.to_string() });
            let now = [load.seq, load.learned, load.waiting as u64, load.catalogue as u64];
            for (family, value) in self.standing.iter().zip(now) {
                family.get_or_create(&of).set(value.cast_signed());
            }
        }
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a text does not fail.
        let _ = text::encode(&mut out, &registry);
        out
    }
}
