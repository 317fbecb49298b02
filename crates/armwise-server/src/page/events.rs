//! What tells an open page that something has happened: server-sent events, one a second at most.
//!
//! An event says only that there is something new. The page then asks for itself again, so there is one place where numbers
//! become markup.

use super::session;
use crate::{access::Scope, app::App};
use axum::{
    extract::State,
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use std::{convert::Infallible, sync::Arc, time::Duration};

/// The time between two looks.
const EVERY: Duration = Duration::from_secs(1);

pub(super) async fn events(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    if let Err(page) = session::caller(&app, &headers) {
        return page.into_response();
    }
    // Asked at every look, so that a token that is revoked or has expired is told nothing more.
    let seen = move |app: &App| -> Option<u64> {
        let caller = session::caller(app, &headers).ok()?;
        let open = app.campaigns.all_open().into_iter();
        let own = open.filter(|(name, _)| caller.may(Scope::Read, Some(name.as_str())));
        // Numbers of entries only grow, so the sum tells whether any has. One more campaign counts too.
        Some(own.map(|(_, live)| 1 + live.seq() + live.load().model).sum())
    };
    let follow = stream::unfold((app, None), move |(app, before)| {
        let seen = seen.clone();
        async move {
            let mut stopping = app.stopping.clone();
            loop {
                if *stopping.borrow_and_update() {
                    return None;
                }
                let now = seen(&app)?;
                if before != Some(now) {
                    let event = Event::default().event("changed").data(now.to_string());
                    // The first event comes at once, and says that the page is followed.
                    return Some((Ok::<Event, Infallible>(event), (app, Some(now))));
                }
                tokio::select! {
                    () = tokio::time::sleep(EVERY) => {}
                    _ = stopping.changed() => {}
                }
            }
        }
    });
    // A page in the background would otherwise hold what it has seen for ever.
    Sse::new(follow).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}
