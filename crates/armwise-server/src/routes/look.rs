//! Why an arm was chosen, the report, the model.

use super::{
    common::{Params, SEQ, Served, blocking, looked},
    faults::ReadFaults,
};
use crate::problem::Fault;
use armwise_campaign::{
    core::why as explain,
    report::{html, report as make},
};
use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

/// What is to be explained.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    id: String,
    decision: Option<String>,
}

/// Explains why an arm was chosen, with the numbers that decided, from the journal.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/why", operation_id = "why", tag = "look",
    security(("token" = ["read"])),
    params(("campaign" = String, Path, description = "The campaign"),
        ("id" = String, Query, description = "The arm's id"),
        ("decision" = Option<String>, Query, description = "The decision; left out, the last one that chose it")),
    responses((status = 200, description = "Why", body = ref("#/components/schemas/Object")), ReadFaults))]
pub(crate) async fn why(Served(live): Served, Params(about): Params<About>) -> Result<Response, Fault> {
    let round = about.decision.as_deref().map(|decision| live.round_of(decision)).transpose()?;
    looked(live, move |campaign| explain(campaign, &about.id, round, None)).await
}

/// What was shown, what came back and what was learned: as JSON, or as one page for `Accept: text/html`.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/report", operation_id = "report", tag = "look",
    security(("token" = ["read"])),
    params(("campaign" = String, Path, description = "The campaign")),
    responses((status = 200, description = "The report", content((ref("#/components/schemas/Object") = "application/json"), (String = "text/html"))), ReadFaults))]
pub(crate) async fn report(Served(live): Served, headers: HeaderMap) -> Result<Response, Fault> {
    if !wants(&headers, "text/html") {
        return looked(live, make).await;
    }
    let (seq, page) =
        blocking(move || Ok(live.read(|campaign| Ok((campaign.head().seq, html(&make(campaign)?))))?)).await?;
    // The report is one file that works without a server, so its style stands in it; scripts are not run.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'";
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy.to_owned()),
        (SEQ, seq.to_string()),
    ];
    Ok((headers, page).into_response())
}

/// Whether an answer of this type is asked for by name.
pub(crate) fn wants(headers: &HeaderMap, media: &str) -> bool {
    let accepted = headers.get_all(header::ACCEPT);
    let mut types = accepted.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    types.any(|one| one.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(media)))
}

/// The learner, as the library and Python's `load` read it.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/model", operation_id = "model", tag = "look",
    security(("token" = ["read"])),
    params(("campaign" = String, Path, description = "The campaign")),
    responses((status = 200, description = "The learner", body = ref("#/components/schemas/Object")), ReadFaults))]
pub(crate) async fn model(Served(live): Served) -> Result<Response, Fault> {
    let (seq, learner) =
        blocking(move || Ok(live.read(|campaign| Ok((campaign.head().seq, campaign.saved_learner()?)))?)).await?;
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (SEQ, seq.to_string())];
    Ok((headers, learner).into_response())
}
