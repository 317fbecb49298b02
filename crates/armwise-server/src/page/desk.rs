//! What pages keep between two looks: the newest rounds of each campaign, and the metrics of some minutes.
//!
//! A campaign is read again only if something has happened, and never for more than a tenth of the time: however many people
//! watch, and however large the campaign is, watching stays cheap.

use super::metrics::Metrics;
use crate::{name::Name, problem::Fault};
use armwise_campaign::{
    config::Config,
    live::Live,
    report::{Recent, recent},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// A campaign at some moment.
#[derive(Debug)]
pub(super) struct View {
    /// The last entry that was read.
    pub(super) seq: u64,
    /// The newest rounds.
    pub(super) recent: Recent,
    /// The rules in force.
    pub(super) rules: Config,
    /// When the model in force was made, in seconds since 1970.
    pub(super) learned: Option<u64>,
    at: Instant,
    took: Duration,
}

/// The least time between two looks at a campaign.
const LEAST: Duration = Duration::from_millis(800);
/// How many times as long as reading took nothing is read.
const REST: u32 = 10;
/// Over how long a time the operator's page looks back.
const BACK: Duration = Duration::from_mins(5);
/// The time between two moments that are kept.
const STEP: Duration = Duration::from_secs(10);

type Slot = Arc<Mutex<Option<Arc<View>>>>;

/// What pages keep.
#[derive(Debug, Default)]
pub(super) struct Desk {
    views: Mutex<BTreeMap<Name, Slot>>,
    moments: Mutex<VecDeque<(Instant, Metrics)>>,
}

impl Desk {
    /// A campaign as it is now, or was a moment ago. This may take a while.
    pub(super) fn view(&self, name: &Name, live: &Live) -> Result<Arc<View>, Fault> {
        let slot = {
            let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(views.entry(name.clone()).or_default())
        };
        // Whoever comes meanwhile waits for the same reading.
        let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = kept.as_ref() {
            let rests = view.at.elapsed() < LEAST.max(REST * view.took);
            if rests || view.seq == live.seq() {
                return Ok(Arc::clone(view));
            }
        }
        let (started, model) = (Instant::now(), live.load().model);
        let view = live.read(|campaign| {
            Ok(View {
                seq: campaign.head().seq,
                recent: recent(campaign)?,
                rules: campaign.config().clone(),
                learned: campaign.time_of(model)?,
                at: Instant::now(),
                took: started.elapsed(),
            })
        })?;
        let view = Arc::new(view);
        *kept = Some(Arc::clone(&view));
        Ok(view)
    }

    /// What was counted in the last minutes, and in how many seconds; the first time, since the start.
    pub(super) fn lately(&self, now: Metrics) -> (Metrics, Option<u64>) {
        let mut moments = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
        while moments.front().is_some_and(|(at, _)| at.elapsed() > BACK) {
            moments.pop_front();
        }
        let (lately, since) = match moments.front().filter(|(at, _)| at.elapsed() >= STEP) {
            Some((at, before)) => (now.since(before), Some(at.elapsed().as_secs())),
            None => (now.clone(), None),
        };
        if moments.back().is_none_or(|(at, _)| at.elapsed() >= STEP) {
            moments.push_back((Instant::now(), now));
        }
        (lately, since)
    }
}
