//! The journal as it grows: a list, a long poll, or server-sent events.
//!
//! Nothing of a customer is in it: entries say what was done when, and carry the hashes that hold the journal together.

use super::{
    common::{Params, Places, SEQ, Served, answered, blocking},
    faults::ReadFaults,
    look::wants,
};
use crate::{access::Follower, app::App, problem::Fault};
use armwise_campaign::{
    core::{Entry, log as entries_after},
    live::Live,
};
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// How often it is looked whether the journal has grown.
const LOOK: Duration = Duration::from_millis(50);
/// The most entries of an answer.
const MOST: u64 = 1000;
/// How often it is looked whether a follower may still look.
const CHECK: Duration = Duration::from_secs(1);
/// The longest wait of a poll, in seconds.
const LONGEST: u64 = 30;

/// From where on, and how long to wait.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct From {
    #[serde(default)]
    after: u64,
    #[serde(default)]
    wait: u64,
    limit: Option<u64>,
}

/// The entries after one; with `wait` it waits for the next, with `Accept: text/event-stream` they come as events.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/log", operation_id = "log", tag = "look",
    security(("token" = ["read"])),
    params(("campaign" = String, Path, description = "The campaign"),
        ("after" = Option<u64>, Query, description = "The last entry that is known; 0 for all", minimum = 0),
        ("wait" = Option<u64>, Query, description = "How many seconds to wait for an entry", minimum = 0, maximum = 30),
        ("limit" = Option<u64>, Query, description = "The most entries", minimum = 1, maximum = 1000)),
    responses((status = 200, description = "The entries", content((ref("#/components/schemas/Log") = "application/json"), (String = "text/event-stream"))), ReadFaults))]
pub(crate) async fn log(
    State(app): State<Arc<App>>,
    Served(live): Served,
    Places(campaign): Places<String>,
    Params(from): Params<From>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let most = from.limit.unwrap_or(MOST);
    if from.wait > LONGEST || !(1..=MOST).contains(&most) || i64::try_from(from.after).is_err() {
        let detail = format!("wait is at most {LONGEST} seconds, limit 1 to {MOST}, and after an entry");
        return Err(Fault::invalid(detail).at("query"));
    }
    let follower = Follower::new(&headers, &campaign);
    if wants(&headers, "text/event-stream") {
        let after = known(&live, last_seen(&headers).unwrap_or(from.after)).await?;
        return Ok(events(app, live, follower, after));
    }
    let after = known(&live, from.after).await?;
    let until = Instant::now() + Duration::from_secs(from.wait).min(app.options.limits.time / 2);
    wait_for(&app, &live, after, until).await;
    follower.check(&app)?;
    let entries = read(&live, after, most).await?;
    let seq = entries.last().map_or(after, |entry| entry.seq);
    Ok(answered(StatusCode::OK, seq, &json!({"seq": seq, "entries": entries})))
}

/// The entry that is named, or the last one of the journal if that one was never written: an answer must not name an entry
/// that nobody has seen.
async fn known(live: &Live, after: u64) -> Result<u64, Fault> {
    if after <= live.seq() {
        return Ok(after);
    }
    let live = live.clone();
    blocking(move || Ok(live.newest()?.min(after))).await
}

/// Where a browser's event source goes on after it was cut off.
fn last_seen(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok())
}

async fn read(live: &Live, after: u64, most: u64) -> Result<Vec<Entry>, Fault> {
    let live = live.clone();
    blocking(move || Ok(live.read(|campaign| entries_after(campaign, after, most))?)).await
}

/// Waits until there is an entry after this one; says whether there is.
async fn wait_for(app: &App, live: &Live, after: u64, until: Instant) -> bool {
    let mut stopping = app.stopping.clone();
    loop {
        if live.seq() > after {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return false,
        }
    }
}

/// What a stream of events is at.
struct At {
    app: Arc<App>,
    live: Live,
    follower: Follower,
    after: u64,
    read: VecDeque<Entry>,
}

fn events(app: Arc<App>, live: Live, follower: Follower, after: u64) -> Response {
    let at = At { app, live, follower, after, read: VecDeque::new() };
    let events = stream::unfold(at, |mut at| async move {
        while at.read.is_empty() {
            at.follower.check(&at.app).ok()?;
            if wait_for(&at.app, &at.live, at.after, Instant::now() + CHECK).await {
                at.read = read(&at.live, at.after, MOST).await.ok()?.into();
            } else if *at.app.stopping.borrow() {
                return None;
            }
        }
        let entry = at.read.pop_front()?;
        at.after = entry.seq;
        let data = serde_json::to_string(&entry).unwrap_or_default();
        let event = Event::default().id(entry.seq.to_string()).event(entry.kind.name()).data(data);
        Some((Ok::<_, Infallible>(event), at))
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response();
    response.headers_mut().insert(SEQ, HeaderValue::from(after));
    response
}
