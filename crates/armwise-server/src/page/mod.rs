//! The dashboard: pages that the server makes whole, with the project's own charts, and one small script for what moves.
//!
//! Pages are not in the OpenAPI document, so the guard of the API does not stand before them: each asks
//! [`session::caller`] itself, and shows only what the caller may read. They work without the script too, which only keeps them
//! up to date and sends actions to the API.

mod actions;
mod campaign;
mod desk;
mod events;
mod frame;
mod metrics;
mod operator;
mod overview;
mod session;
mod why;

use crate::{
    access::{Caller, Scope},
    app::App,
    name::Name,
    problem::Fault,
    routes::blocking,
};
use armwise_campaign::live::Live;
use axum::{
    Extension, Router,
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use desk::Desk;
use frame::{Asset, Page, Place};
use metrics::Metrics;
use serde::Deserialize;
use session::Instead;
use std::sync::{Arc, LazyLock};

/// The routes of the dashboard.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(home))
        .route("/campaigns/{campaign}", get(one))
        .route("/campaigns/{campaign}/why", get(explain))
        .route("/operator", get(operate))
        .route("/tokens", get(tokens))
        .route("/events", get(events::events))
        .route("/sign-in", post(session::sign_in))
        .route("/sign-out", post(session::sign_out))
        .route("/assets/page.css", get(async || sent(&frame::STYLE)))
        .route("/assets/page.js", get(async || sent(&frame::SCRIPT)))
        .route("/assets/icon.svg", get(async || sent(&frame::ICON)))
        .layer(Extension(Arc::new(Desk::default())))
}

/// A file of the pages; its address changes with it, so a browser may keep it.
fn sent(asset: &'static LazyLock<Asset>) -> Response {
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    let kind = HeaderValue::from_static(asset.kind);
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, kept)], asset.text.as_str()).into_response()
}

/// What a handler of a page answers: a page, or the page that says why not.
type Answer = Result<Response, Instead>;

fn failed(caller: &Caller) -> impl Fn(Fault) -> Instead {
    let signed_in = caller.token().is_some();
    move |fault| Instead::of(&fault, signed_in)
}

fn page(title: &str, place: Place, caller: &Caller, body: String) -> Page {
    Page { title: title.to_owned(), place, signed_in: caller.token().is_some(), live: true, body }
}

/// Whether actions are offered: only to a token, even where everybody on this machine may do everything.
fn may_act(caller: &Caller, campaign: Option<&str>) -> bool {
    caller.token().is_some() && caller.may(Scope::Admin, campaign)
}

async fn home(State(app): State<Arc<App>>, Extension(desk): Extension<Arc<Desk>>, headers: HeaderMap) -> Answer {
    let caller = session::caller(&app, &headers)?;
    let by = caller.clone();
    let body = blocking(move || {
        let mut shown = Vec::new();
        for name in app.campaigns.names().into_iter().filter(|name| by.may(Scope::Read, Some(name.as_str()))) {
            let view = app.campaigns.get(&name).and_then(|live| desk.view(&name, &live));
            shown.push((name, view));
        }
        Ok(overview::overview(&shown))
    });
    Ok(page("Campaigns", Place::Campaigns, &caller, body.await.map_err(failed(&caller))?).into_response())
}

/// The campaign of a path, for who may read it; to others it is not there.
async fn campaign_of(app: &Arc<App>, caller: &Caller, name: &str) -> Result<(Name, Live), Instead> {
    let missing = || Fault::not_found("there is no such campaign, or the token is not for it");
    let name = Name::new(name).map_err(|_| missing()).map_err(failed(caller))?;
    if !caller.may(Scope::Read, Some(name.as_str())) {
        return Err(failed(caller)(missing()));
    }
    let (app, asked) = (Arc::clone(app), name.clone());
    let live = blocking(move || app.campaigns.get(&asked)).await.map_err(failed(caller))?;
    Ok((name, live))
}

async fn one(
    State(app): State<Arc<App>>,
    Extension(desk): Extension<Arc<Desk>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let caller = session::caller(&app, &headers)?;
    let (name, live) = campaign_of(&app, &caller, &name).await?;
    let asked = name.clone();
    let view = blocking(move || desk.view(&asked, &live)).await.map_err(failed(&caller))?;
    let body = campaign::campaign(&name, &view, may_act(&caller, Some(name.as_str())));
    Ok(page(name.as_str(), Place::Campaigns, &caller, body).into_response())
}

/// What is searched for.
#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    q: String,
}

async fn explain(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(Question { q }): Query<Question>,
    headers: HeaderMap,
) -> Answer {
    let caller = session::caller(&app, &headers)?;
    let (name, live) = campaign_of(&app, &caller, &name).await?;
    let asked = q.clone();
    let found = blocking(move || why::find(&live, &asked)).await;
    let (status, body) = match found {
        Ok(found) => (StatusCode::OK, why::page(&name, &q, &found, may_act(&caller, Some(name.as_str())))),
        Err(fault) => (fault.status(), why::nothing(&name, &q, &fault)),
    };
    Ok(Page { live: false, ..page(&format!("Why {q}"), Place::Campaigns, &caller, body) }.with(status))
}

async fn operate(State(app): State<Arc<App>>, Extension(desk): Extension<Arc<Desk>>, headers: HeaderMap) -> Answer {
    let caller = session::caller(&app, &headers)?;
    if !caller.may(Scope::Read, None) {
        let fault =
            Fault::new(StatusCode::FORBIDDEN, "forbidden", "this page needs a token that may read all campaigns");
        return Err(failed(&caller)(fault));
    }
    let (lately, seconds) = desk.lately(Metrics::read(&app.meter.text(&app.campaigns)));
    let loads: Vec<_> = app.campaigns.all_open().into_iter().map(|(name, live)| (name, live.load())).collect();
    let body = operator::operator(&lately, seconds, &loads, env!("CARGO_PKG_VERSION"));
    Ok(page("Operator", Place::Operator, &caller, body).into_response())
}

async fn tokens(State(app): State<Arc<App>>, headers: HeaderMap) -> Answer {
    let caller = session::caller(&app, &headers)?;
    let all = app.tokens.all().map_err(failed(&caller))?;
    let body = actions::tokens(all.as_ref().map(|all| all.as_slice()), may_act(&caller, None));
    Ok(Page { live: false, ..page("Tokens", Place::Tokens, &caller, body) }.into_response())
}
