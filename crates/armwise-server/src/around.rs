//! What happens around every request: a number, a time limit, a place among those in flight, headers, metrics, the log.
//!
//! The log and the metrics know the route as the document writes it, the campaign and the status, never what a request
//! said: nothing of a customer, an arm or a reward.

use crate::{
    app::App,
    problem::{Fault, FaultKind},
};
use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// The header with the number of a request.
#[expect(clippy::declare_interior_mutable_const, reason = "a name that is static has nothing to change")]
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What a browser may do with an answer of the API: nothing. Pages of the dashboard bring their own.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Routes that are answered however much is in flight: what watches over the server must see it when it is busy.
const WATCHING: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Carries a request through.
pub(crate) async fn around(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let id = request_id(&app, &request);
    let watching = route.as_ref().is_some_and(|route| WATCHING.contains(&route.as_str()));
    let place = if watching { Ok(None) } else { app.in_flight.try_acquire().map(Some) };
    let mut response = match place {
        Err(_) => Fault::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", "too many requests are in flight")
            .help("send the same request again a little later")
            .into_response(),
        Ok(_place) => match tokio::time::timeout(app.options.limits.time, next.run(request)).await {
            Ok(response) => response,
            Err(_) => Fault::later("time-limit", "the answer took too long; the request may have been carried out")
                .help("send the same request again with the same Idempotency-Key")
                .into_response(),
        },
    };
    let route = route.as_ref().map_or("other", MatchedPath::as_str);
    let (status, seconds) = (response.status(), started.elapsed().as_secs_f64());
    let kind = response.extensions().get::<FaultKind>().map(|kind| kind.0);
    app.meter.answered(&method, route, status, kind, seconds);
    let id_text = id.to_str().unwrap_or_default();
    if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
        tracing::error!(request = id_text, %method, route, status = status.as_u16(), kind, seconds, "failed");
    } else {
        tracing::info!(request = id_text, %method, route, status = status.as_u16(), kind, seconds, "answered");
    }
    protect(&app, &mut response, id);
    response
}

/// The headers that every answer has.
fn protect(app: &App, response: &mut Response, id: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    let all = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    let secure = (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    for (name, value) in all.into_iter().chain(app.options.tls.is_some().then_some(secure)) {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// The caller's own number for the request, if it is short and plain, or one of ours.
fn request_id(app: &App, request: &Request) -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let plain = |value: &&HeaderValue| {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        (1..=64).contains(&value.len()) && value.as_bytes().iter().all(is_plain)
    };
    if let Some(own) = request.headers().get(REQUEST_ID).filter(plain) {
        return own.clone();
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    HeaderValue::from_str(&format!("{:08x}-{number}", app.start)).unwrap_or(HeaderValue::from_static("-"))
}
