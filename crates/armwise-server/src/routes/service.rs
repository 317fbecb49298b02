//! The server itself: its document, whether it lives and is ready, its metrics.

use crate::{
    app::App,
    problem::{Fault, Problem},
};
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A body that says that all is well.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Service)]
pub(crate) struct Service {
    /// `ok` or `ready`.
    status: String,
}

/// JSON with its content type.
pub(crate) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => Fault::internal(format!("an answer cannot be written: {error}")).into_response(),
    }
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", operation_id = "document", tag = "service", security(()),
    responses((status = 200, description = "The document", content_type = "application/json", body = Object)))]
pub(crate) async fn document(State(app): State<Arc<App>>) -> Response {
    json(app.document())
}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "service", security(()),
    responses((status = 200, description = "It lives", body = Service)))]
pub(crate) async fn health() -> Response {
    json(&Service { status: "ok".to_owned() })
}

/// Whether requests are taken: not before every campaign's journal is read, not while the database cannot be reached, and
/// not after the server begins to stop.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "service", security(()), responses(
    (status = 200, description = "Requests are taken", body = Service),
    (status = 503, description = "Not yet, or not any more", content_type = "application/problem+json", body = Problem)))]
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Result<Response, Fault> {
    if let Some(trouble) = app.campaigns.trouble() {
        return Err(Fault::later("not-ready", trouble));
    }
    if app.is_ready() {
        return Ok(json(&Service { status: "ready".to_owned() }));
    }
    Err(Fault::later("not-ready", "the campaigns are being read, or the server stops"))
}

/// Counters and histograms for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "service",
    security(("token" = ["read", "all-campaigns"])), responses(
    (status = 200, description = "OpenMetrics text", content_type = "application/openmetrics-text", body = String),
    (status = 401, description = "No good token", content_type = "application/problem+json", body = Problem),
    (status = 403, description = "Not by this token", content_type = "application/problem+json", body = Problem),
    (status = 503, description = "Come again", content_type = "application/problem+json", body = Problem)))]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.meter.text(&app.campaigns)).into_response()
}
