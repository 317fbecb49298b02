//! The guard before every route of the API: no handler runs, and no body is read, before it has let the request pass.
//!
//! Without a file of tokens the server listens to this machine only, and everybody on it may do everything; then a page of
//! another site that runs in a browser here is kept out by the names in `Host` and `Origin`.

use super::{Need, Scope, Token, Tokens};
use crate::{app::App, problem::Fault};
use axum::{
    body::Body,
    extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State},
    http::{HeaderMap, HeaderName, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{net::IpAddr, sync::Arc};

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller(Option<Arc<Token>>);

impl Caller {
    /// Whether the caller may do this with a campaign; without one, with all of them.
    #[must_use]
    pub fn may(&self, needed: Scope, campaign: Option<&str>) -> bool {
        self.0.as_ref().is_none_or(|token| token.may(needed, campaign))
    }

    /// Whether the caller may do this with some campaign.
    #[must_use]
    pub fn may_somewhere(&self, needed: Scope) -> bool {
        self.0.as_ref().is_none_or(|token| token.scopes.iter().any(|scope| scope.covers(needed)))
    }

    /// The token that was sent, where tokens are needed.
    #[must_use]
    pub fn token(&self) -> Option<&Token> {
        self.0.as_deref()
    }

    /// Whether the caller's token has this name.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|token| token.name == name)
    }

    /// Who a request with these headers comes from, by the token in `Authorization`, or by the cookie of a page of this
    /// server.
    ///
    /// # Errors
    /// [`Fault`]: 401 without a good token where one is needed, 403 for another site's page.
    pub fn of(app: &App, method: &Method, headers: &HeaderMap) -> Result<Self, Fault> {
        let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        // No page can say where it comes from: the browser does. What says nothing is no page of ours.
        let own = cookie(headers).filter(|_| site == Some("same-origin"));
        Self::with(app, method, headers, bearer(headers).or(own))
    }

    /// As [`of`](Self::of), with a token that came by another way, such as a cookie of the page.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn with(app: &App, method: &Method, headers: &HeaderMap, sent: Option<&str>) -> Result<Self, Fault> {
        match app.tokens.all()? {
            None if app.is_local => {
                same_site(method, headers)?;
                Ok(Self(None))
            }
            tokens => {
                let sent = sent.ok_or_else(|| refused("no-token", "a token is needed"))?;
                let found = Tokens::find(tokens.as_deref().map_or(&[], Vec::as_slice), sent);
                match found {
                    None => Err(refused("bad-token", "the token is not known")),
                    Some(token) if token.is_expired() => Err(refused("bad-token", "the token has expired")),
                    Some(token) => Ok(Self(Some(Arc::new(token)))),
                }
            }
        }
    }
}

/// Whoever follows a campaign over a stream: asked again while it is open, so that a token that is revoked or has expired
/// sees nothing more.
#[derive(Debug, Clone)]
pub(crate) struct Follower {
    headers: HeaderMap,
    campaign: String,
}

impl Follower {
    /// Who sent these headers, and the campaign.
    pub(crate) fn new(headers: &HeaderMap, campaign: &str) -> Self {
        Self { headers: headers.clone(), campaign: campaign.to_owned() }
    }

    /// Refuses whoever may not look any more.
    ///
    /// # Errors
    /// As [`Caller::of`], and 403.
    pub(crate) fn check(&self, app: &App) -> Result<(), Fault> {
        if Caller::of(app, &Method::GET, &self.headers)?.may(Scope::Read, Some(&self.campaign)) {
            return Ok(());
        }
        Err(Fault::new(StatusCode::FORBIDDEN, "forbidden", "the token does not have the scope read here any more"))
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Fault::internal("the guard was passed by"))
    }
}

fn refused(kind: &'static str, detail: &str) -> Fault {
    Fault::new(StatusCode::UNAUTHORIZED, kind, detail)
        .at("Authorization")
        .help("send Authorization: Bearer and a token that the operator of the server made")
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The cookie that a page of the dashboard keeps its token in.
pub(crate) const PAGE_COOKIE: &str = "armwise_token";

/// The token in the page's cookie.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, value)| *name == PAGE_COOKIE && !value.is_empty()).map(|(_, value)| value)
}

/// Refuses what a browser sends here on behalf of another site. The names of this machine in `Host` keep out sites whose
/// names were made to lead here.
fn same_site(method: &Method, headers: &HeaderMap) -> Result<(), Fault> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let foreign = |what: &'static str, value: &str| {
        Fault::new(StatusCode::FORBIDDEN, "other-site", "without tokens only this machine is served")
            .at(what)
            .value(value)
            .help("ask by the name localhost or 127.0.0.1, or make a token")
    };
    let host = text(header::HOST).unwrap_or_default();
    if !is_here(host) {
        return Err(foreign("Host", host));
    }
    if let Some(origin) = text(header::ORIGIN)
        && origin.split_once("://").is_none_or(|(_, of)| of != host)
    {
        return Err(foreign("Origin", origin));
    }
    let site = text(HeaderName::from_static("sec-fetch-site"));
    match site {
        Some(site @ ("cross-site" | "same-site")) if method != Method::GET => Err(foreign("Sec-Fetch-Site", site)),
        _ => Ok(()),
    }
}

/// Whether a browser says that a page of another site sends this. Where the browser does not say it outright, `Origin`
/// must name the host that is asked.
pub(crate) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match text(HeaderName::from_static("sec-fetch-site")) {
        Some(site) => !matches!(site, "same-origin" | "none"),
        None => {
            text(header::ORIGIN).is_some_and(|origin| origin.split_once("://").map(|(_, of)| of) != text(header::HOST))
        }
    }
}

/// Whether a host, perhaps with a port, names this machine.
fn is_here(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Lets a request pass whose caller may do what its route needs.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match pass(&app, request).await {
        Ok(request) => next.run(request).await,
        Err(fault) => fault.into_response(),
    }
}

async fn pass(app: &App, request: Request) -> Result<Request, Fault> {
    let (mut parts, body): (Parts, Body) = request.into_parts();
    let path = parts.extensions.get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    let need = app.rights().of_route(&parts.method, &path);
    let campaign = {
        let given = RawPathParams::from_request_parts(&mut parts, &()).await.ok();
        given.and_then(|given| {
            let own = given.iter().find(|(name, _)| *name == "campaign");
            own.map(|(_, value)| value.to_owned())
        })
    };
    let forbidden = |detail: &str| {
        Err(Fault::new(StatusCode::FORBIDDEN, "forbidden", detail)
            .help("ask the operator of the server for a token with this scope"))
    };
    match need {
        Some(Need::Nothing) => {}
        None => return forbidden("the route is not among those of the document"),
        Some(need) => {
            let caller = Caller::of(app, &parts.method, &parts.headers)?;
            let (scope, may) = match (need, &campaign) {
                (Need::Everywhere(scope), _) => (scope, caller.may(scope, None)),
                (Need::Scope(scope), None) => (scope, caller.may_somewhere(scope)),
                (Need::Scope(scope), Some(campaign)) => (scope, caller.may(scope, Some(campaign))),
                (Need::Nothing, _) => (Scope::Read, true),
            };
            if !may {
                return forbidden(&format!("the token does not have the scope {scope} here"));
            }
            parts.extensions.insert(caller);
        }
    }
    Ok(Request::from_parts(parts, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_here() {
        for here in
            ["localhost", "localhost:8080", "LOCALHOST", "127.0.0.1", "127.0.0.1:1", "127.9.9.9", "[::1]:8080", "[::1]"]
        {
            assert!(is_here(here), "{here}");
        }
        for other in [
            "",
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "10.0.0.1:8080",
            "[::2]",
            "localhost.:1",
        ] {
            assert!(!is_here(other), "{other}");
        }
    }

    #[test]
    fn a_browser_tells_whose_page_asks() {
        let with = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            pairs.iter().for_each(|(name, value)| {
                headers.insert(*name, value.parse().expect("a header value"));
            });
            is_from_elsewhere(&headers)
        };
        // A program, a link that was typed, and a page of this server, also behind another name.
        assert!(!with(&[("host", "here")]) && !with(&[("host", "here"), ("sec-fetch-site", "none")]));
        assert!(!with(&[("host", "here"), ("origin", "https://here")]));
        assert!(!with(&[("host", "inside"), ("origin", "https://here"), ("sec-fetch-site", "same-origin")]));
        for site in ["cross-site", "same-site", "nonsense"] {
            assert!(with(&[("host", "here"), ("origin", "https://here"), ("sec-fetch-site", site)]), "{site}");
        }
        assert!(
            with(&[("host", "here"), ("origin", "https://there")]) && with(&[("host", "here"), ("origin", "null")])
        );
    }

    #[test]
    fn pages_of_other_sites_are_kept_out() {
        let with = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            pairs.iter().for_each(|(name, value)| {
                headers.insert(*name, value.parse().expect("a header value"));
            });
            same_site(&Method::POST, &headers).is_ok()
        };
        assert!(with(&[("host", "localhost:8080")]));
        assert!(with(&[
            ("host", "localhost:8080"),
            ("origin", "http://localhost:8080"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(!with(&[("host", "evil.example:8080")]) && !with(&[]));
        assert!(!with(&[("host", "localhost:8080"), ("origin", "http://evil.example")]));
        assert!(!with(&[("host", "localhost:8080"), ("origin", "http://localhost:9090")]));
        assert!(!with(&[("host", "localhost:8080"), ("origin", "null")]));
        assert!(!with(&[("host", "localhost:8080"), ("sec-fetch-site", "cross-site")]));
    }
}
