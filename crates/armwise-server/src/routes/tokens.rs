//! `/v1/tokens`: make, list and revoke them; for tokens that may do everything everywhere.

use super::{
    common::{Body, Places, blocking},
    faults::{ReadFaults, WriteFaults},
    service::json,
};
use crate::{
    access::{Caller, Scope, Token},
    app::App,
    body::{self, Media},
    problem::Fault,
};
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json as value};
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    name: String,
    scopes: Vec<Scope>,
    campaigns: Option<Vec<String>>,
    expires: Option<u64>,
}

/// All tokens, without what their holders send.
#[utoipa::path(get, path = "/v1/tokens", operation_id = "listTokens", tag = "tokens",
    security(("token" = ["admin", "all-campaigns"])),
    responses((status = 200, description = "The tokens", body = ref("#/components/schemas/Tokens")), ReadFaults))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response, Fault> {
    let tokens = app.tokens.all()?.unwrap_or_default();
    let shown: Vec<Value> = tokens.iter().map(Token::shown).collect();
    Ok(json(&value!({ "tokens": shown })))
}

/// Makes a token. The first one ends the time in which everybody on this machine may do everything.
#[utoipa::path(post, path = "/v1/tokens", operation_id = "addToken", tag = "tokens",
    security(("token" = ["admin", "all-campaigns"])),
    request_body(content = ref("#/components/schemas/NewToken"), content_type = "application/json"),
    responses((status = 201, description = "The token, shown once", body = ref("#/components/schemas/ShownToken"),
        links(("revoke" = (operation_id = "revokeToken", parameters(("name" = "$response.body#/name")))))), WriteFaults))]
pub(crate) async fn add(State(app): State<Arc<App>>, headers: HeaderMap, Body(body): Body) -> Result<Response, Fault> {
    Media::json(&headers)?;
    let New { name, scopes, campaigns, expires } = body::json(&body)?;
    let (name, secret) = blocking(move || {
        let (token, secret) = Token::new(&name, &scopes, campaigns.as_deref(), expires)?;
        app.tokens.add(token)?;
        Ok((name, secret))
    })
    .await?;
    Ok((StatusCode::CREATED, json(&value!({"name": name, "token": secret}))).into_response())
}

/// Revokes a token, at once; not the one that asks, so that nobody locks himself out.
#[utoipa::path(delete, path = "/v1/tokens/{name}", operation_id = "revokeToken", tag = "tokens",
    security(("token" = ["admin", "all-campaigns"])),
    params(("name" = String, Path, description = "The token's name")),
    responses((status = 204, description = "It is revoked"), WriteFaults))]
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    Places(name): Places<String>,
) -> Result<Response, Fault> {
    if caller.is(&name) {
        return Err(Fault::conflict("a token does not revoke itself")
            .help("use another one, or revoke it on the machine of the server"));
    }
    blocking(move || app.tokens.revoke(&name)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
