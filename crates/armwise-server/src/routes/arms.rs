//! `/v1/campaigns/{campaign}/arms`: the catalogue that the server keeps.

use super::{
    common::{Body, Keyed, Places, Served, answered, blocking},
    decisions::batch,
    faults::WriteFaults,
};
use crate::{
    body::{self, Media},
    problem::Fault,
};
use armwise_campaign::live::{ArmsChange, JsonRows, Live};
use arrow_array::RecordBatch;
use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    arms: JsonRows,
}

/// The rows of a body.
pub(super) fn rows(live: &Live, headers: &HeaderMap, body: &[u8]) -> Result<RecordBatch, Fault> {
    match Media::of(headers)? {
        Media::Json => body::json::<Listed>(body).map(|listed| listed.arms.0),
        Media::JsonLines => Err(Media::refused(headers)),
        Media::Table(format) => batch(&body::table(body, format, &live.setup().config.tables)?),
    }
}

/// Makes these arms the catalogue: those with other ids go.
#[utoipa::path(put, path = "/v1/campaigns/{campaign}/arms", operation_id = "putArms", tag = "arms",
    security(("token" = ["admin"])),
    params(("campaign" = String, Path, description = "The campaign"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    request_body(content((ref("#/components/schemas/Arms") = "application/json"), ("text/csv"),
        ("application/vnd.apache.arrow.stream"), ("application/vnd.apache.parquet"))),
    responses((status = 200, description = "The catalogue is this", body = ref("#/components/schemas/Done")), WriteFaults))]
pub(crate) async fn put(
    Served(live): Served,
    Keyed(key): Keyed,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    let done = blocking(move || {
        let rows = rows(&live, &headers, &body)?;
        Ok(live.arms(ArmsChange::Replace(rows), key)?)
    })
    .await?;
    Ok(answered(StatusCode::OK, done.seq, &done))
}

/// Adds arms to the catalogue, and changes the given fields of those that are there.
#[utoipa::path(patch, path = "/v1/campaigns/{campaign}/arms", operation_id = "changeArms", tag = "arms",
    security(("token" = ["admin"])),
    params(("campaign" = String, Path, description = "The campaign"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    request_body(content((ref("#/components/schemas/Arms") = "application/json"), ("text/csv"),
        ("application/vnd.apache.arrow.stream"), ("application/vnd.apache.parquet"))),
    responses((status = 200, description = "They are in the catalogue", body = ref("#/components/schemas/Done")), WriteFaults))]
pub(crate) async fn change(
    Served(live): Served,
    Keyed(key): Keyed,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    let done = blocking(move || {
        let rows = rows(&live, &headers, &body)?;
        Ok(live.arms(ArmsChange::Put(rows), key)?)
    })
    .await?;
    Ok(answered(StatusCode::OK, done.seq, &done))
}

/// Takes an arm out of the catalogue; what was learned from it stays.
#[utoipa::path(delete, path = "/v1/campaigns/{campaign}/arms/{id}", operation_id = "retireArm", tag = "arms",
    security(("token" = ["admin"])),
    params(("campaign" = String, Path, description = "The campaign"), ("id" = String, Path, description = "The arm's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    responses((status = 200, description = "It is retired", body = ref("#/components/schemas/Done")), WriteFaults))]
pub(crate) async fn retire(
    Served(live): Served,
    Places((_, id)): Places<(String, String)>,
    Keyed(key): Keyed,
) -> Result<Response, Fault> {
    let done = blocking(move || Ok(live.arms(ArmsChange::Retire(vec![id]), key)?)).await?;
    Ok(answered(StatusCode::OK, done.seq, &done))
}
