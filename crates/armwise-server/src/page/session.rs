//! Who looks at a page: a browser cannot send a token with a link, so signing in puts it into a cookie.
//!
//! The cookie is for this server alone, out of a script's reach, and not sent from other sites' pages. The API believes it
//! only if the browser says that a page of this server asks.

use super::frame::{Page, Place};
use crate::{
    access::{Caller, PAGE_COOKIE, cookie, is_from_elsewhere},
    app::App,
    problem::Fault,
};
use armwise_charts::escape;
use axum::{
    Form,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use std::sync::Arc;

/// The page that is shown instead of the one that was asked for.
pub(super) struct Instead(Box<Response>);

impl Instead {
    /// A page that says what went wrong.
    pub(super) fn of(fault: &Fault, signed_in: bool) -> Self {
        Self(Box::new(failed(fault, signed_in)))
    }
}

impl IntoResponse for Instead {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// Who looks.
pub(super) fn caller(app: &App, headers: &HeaderMap) -> Result<Caller, Instead> {
    Caller::with(app, &Method::GET, headers, cookie(headers)).map_err(|fault| {
        let said = if cookie(headers).is_some() { "That token is not good any more." } else { "" };
        Instead(Box::new(if fault.status() == StatusCode::UNAUTHORIZED { ask(said) } else { failed(&fault, false) }))
    })
}

fn failed(fault: &Fault, signed_in: bool) -> Response {
    let body = format!(
        "<h1>This cannot be shown</h1>\n<p>{}</p>\n<p><a href=\"/\">To the campaigns</a></p>\n",
        escape(&fault.to_string())
    );
    let page = Page { title: "armwise".to_owned(), place: Place::Nowhere, signed_in, live: false, body };
    page.with(fault.status())
}

/// The page that asks for a token; `said` is plain text.
fn ask(said: &str) -> Response {
    let said = if said.is_empty() {
        String::new()
    } else {
        format!("<p class=\"said\" role=\"alert\">{}</p>\n", escape(said))
    };
    let body = format!(
        "<h1>Sign in</h1>\n<p>This server has tokens, so the pages need one too: with the scope <code>read</code> to look, \
         with <code>admin</code> to act. <code>armwise token add</code> makes one.</p>\n{said}\
         <form class=\"search\" method=\"post\" action=\"/sign-in\"><div><label for=\"token\">Token</label>\
         <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus></div>\
         <button class=\"strong\">Sign in</button></form>\n"
    );
    let page = Page { title: "Sign in".to_owned(), place: Place::Nowhere, signed_in: false, live: false, body };
    page.with(StatusCode::UNAUTHORIZED)
}

/// What the form of the sign-in page sends.
#[derive(Deserialize)]
pub(super) struct SignIn {
    token: String,
}

pub(super) async fn sign_in(State(app): State<Arc<App>>, headers: HeaderMap, Form(form): Form<SignIn>) -> Response {
    if let Some(refused) = elsewhere(&headers) {
        return refused;
    }
    let token = form.token.trim();
    let plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match Caller::with(&app, &Method::POST, &headers, Some(token)) {
        Ok(_) if plain => set(&app, &format!("{PAGE_COOKIE}={token}; Max-Age=43200")),
        Ok(_) => ask("That is no token."),
        Err(fault) if fault.status() == StatusCode::UNAUTHORIZED => {
            ask("The server does not know this token, or it has expired.")
        }
        Err(fault) => failed(&fault, false),
    }
}

/// Another site's page may neither sign somebody in, with a token of its own choice, nor out.
fn elsewhere(headers: &HeaderMap) -> Option<Response> {
    let fault = || Fault::new(StatusCode::FORBIDDEN, "other-site", "this was sent by a page of another site");
    is_from_elsewhere(headers).then(|| failed(&fault(), false))
}

pub(super) async fn sign_out(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    if let Some(refused) = elsewhere(&headers) {
        return refused;
    }
    set(&app, &format!("{PAGE_COOKIE}=; Max-Age=0"))
}

/// Sends the browser to the first page with another cookie.
fn set(app: &App, cookie: &str) -> Response {
    let secure = if app.options.tls.is_some() { "; Secure" } else { "" };
    let cookie = format!("{cookie}; Path=/; HttpOnly; SameSite=Strict{secure}");
    let mut response = Redirect::to("/").into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
