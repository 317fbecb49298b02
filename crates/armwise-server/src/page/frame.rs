//! The frame around every page: head, navigation, cards, panels.
//!
//! The content security policy allows nothing inline, so there is no style attribute and no script in the markup; what is
//! not ours reaches it through `escape` or the plain text of the chart kit.

use armwise_campaign::report::{self, Alert};
use armwise_charts::{document, escape, number, percent, significant, style, write};
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// What a browser may do with a page: load from this server, and send to it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The width of pictures in panels over the whole page.
pub(super) const FULL: f64 = 1120.0;
/// The width of pictures in panels that stand side by side.
pub(super) const HALF: f64 = 530.0;

/// A file that pages load.
pub(super) struct Asset {
    pub(super) kind: &'static str,
    pub(super) text: String,
    /// A few digits of its hash, so that a new program's page does not meet an old program's file.
    pub(super) version: String,
}

fn asset(kind: &'static str, text: String) -> Asset {
    let version = format!("{:x}", Sha256::digest(text.as_bytes()))[..12].to_owned();
    Asset { kind, text, version }
}

pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    asset("text/css; charset=utf-8", style(&format!("{}{}", report::style(), include_str!("assets/page.css"))))
});
pub(super) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| asset("text/javascript; charset=utf-8", include_str!("assets/page.js").to_owned()));
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| asset("image/svg+xml", include_str!("assets/icon.svg").to_owned()));

/// A page.
pub(super) struct Page {
    /// What the browser calls it, as plain text.
    pub(super) title: String,
    /// Which link of the navigation it belongs to.
    pub(super) place: Place,
    /// Whether somebody is signed in, so that signing out is offered.
    pub(super) signed_in: bool,
    /// Whether it follows what happens.
    pub(super) live: bool,
    /// The content, as markup.
    pub(super) body: String,
}

/// The links of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Campaigns,
    Operator,
    Tokens,
    Nowhere,
}

impl Page {
    fn html(&self) -> String {
        let links = format!(
            "<link rel=\"stylesheet\" href=\"/assets/page.css?{}\">\n<link rel=\"icon\" type=\"image/svg+xml\" href=\"/assets/icon.svg?{}\">\n<script type=\"module\" src=\"/assets/page.js?{}\"></script>\n",
            STYLE.version, ICON.version, SCRIPT.version
        );
        let mut body =
            String::from("<a class=\"skip\" href=\"#main\">To the content</a>\n<header class=\"bar\"><div>\n");
        body.push_str("<a class=\"home\" href=\"/\">armwise</a>\n<nav aria-label=\"Pages\">");
        let all = [
            (Place::Campaigns, "/", "Campaigns"),
            (Place::Operator, "/operator", "Operator"),
            (Place::Tokens, "/tokens", "Tokens"),
        ];
        for (place, address, name) in all {
            let current = if place == self.place { " aria-current=\"page\"" } else { "" };
            write(&mut body, format_args!("<a href=\"{address}\"{current}>{name}</a>"));
        }
        body.push_str("</nav>\n");
        if self.live {
            body.push_str("<span id=\"live\" class=\"live\" role=\"status\">connecting</span>\n");
        }
        if self.signed_in {
            body.push_str("<form method=\"post\" action=\"/sign-out\"><button>Sign out</button></form>\n");
        }
        write(&mut body, format_args!("</div></header>\n<main id=\"main\" tabindex=\"-1\">\n{}</main>\n", self.body));
        let html = document(&format!("{} – armwise", self.title), &links, &body);
        if self.live { html.replacen("<body>", "<body data-events=\"/events\">", 1) } else { html }
    }

    /// As an answer with this status.
    pub(super) fn with(&self, status: StatusCode) -> Response {
        let policy = HeaderValue::from_static(POLICY);
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        let headers = [(header::CONTENT_SECURITY_POLICY, policy), (header::CONTENT_TYPE, kind)];
        (status, headers, self.html()).into_response()
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        self.with(StatusCode::OK)
    }
}

/// A part of a page that is put in place anew when something has changed. `content` is markup.
pub(super) fn live(id: &str, content: &str) -> String {
    format!("<div id=\"{id}\" data-live>\n{content}</div>\n")
}

/// A name that is not ours, kept from turning the text around it.
pub(super) fn name(text: &str) -> String {
    format!("<bdi class=\"name\">{}</bdi>", escape(text))
}

/// Numbers with their names; each value is markup.
pub(super) fn cards(list: &[(&str, String)]) -> String {
    let mut out = String::from("<dl class=\"cards\">\n");
    for (what, value) in list {
        write(&mut out, format_args!("<div><dt>{}</dt><dd>{value}</dd></div>\n", escape(what)));
    }
    out.push_str("</dl>\n");
    out
}

/// A panel: heading, text, picture, and the numbers behind it. All but id and title are markup.
pub(super) fn panel(id: &str, title: &str, wide: bool, text: &str, picture: &str, table: &str) -> String {
    let class = if wide { "panel full" } else { "panel" };
    let mut out = format!("<section class=\"{class}\" id=\"{id}\">\n<h2>{}</h2>\n{text}{picture}", escape(title));
    if !table.is_empty() {
        write(&mut out, format_args!("<details><summary>The numbers</summary>\n{table}</details>\n"));
    }
    out.push_str("</section>\n");
    out
}

/// Alerts with their causes; what to say where there is none is plain text, nothing if it is empty.
pub(super) fn alerts(alerts: &[Alert], calm: &str) -> String {
    if alerts.is_empty() && calm.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ul class=\"alerts\">\n");
    for alert in alerts {
        let (title, cause) = (escape(alert.title()), escape(&alert.to_string()));
        write(&mut out, format_args!("<li><b>{title}</b>{cause}</li>\n"));
    }
    if alerts.is_empty() {
        write(&mut out, format_args!("<li class=\"calm\">{}</li>\n", escape(calm)));
    }
    out.push_str("</ul>\n");
    out
}

/// A count.
pub(super) fn count(count: u64) -> String {
    number(count as f64, 0)
}

/// A value with half of its interval.
pub(super) fn interval(value: Option<f64>, half_width: Option<f64>) -> String {
    match (value, half_width) {
        (Some(value), Some(half)) => format!("{} ± {}", number(value, 4), number(half, 4)),
        (Some(value), None) => number(value, 4),
        (None, _) => "–".to_owned(),
    }
}

/// The same as markup for a card, the interval below the value.
pub(super) fn with_interval(value: Option<f64>, half_width: Option<f64>) -> String {
    let below = half_width.filter(|_| value.is_some()).map(|half| format!("<small>± {}</small>", number(half, 4)));
    interval(value, None) + &below.unwrap_or_default()
}

/// A share, as a percentage.
pub(super) fn share(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| percent(share, 1))
}

/// How long ago, or for how long: `12 s`, `5 min`, `3 h`, `2 days`.
pub(super) fn duration(seconds: u64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", count(seconds / 86_400)),
    }
}

/// A time in milliseconds, as precise as it is of use.
pub(super) fn milliseconds(seconds: f64) -> String {
    format!("{} ms", significant(1e3 * seconds, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_nothing_inline_and_loads_from_this_server_only() {
        let body = panel("a", "<b>", true, "<p>text</p>", "", "<table></table>") + &cards(&[("x", "1".to_owned())]);
        let page = Page { title: "<t>".to_owned(), place: Place::Campaigns, signed_in: true, live: true, body };
        let html = page.html();
        assert!(!html.contains("style=") && !html.contains("<style") && !html.contains(" on"), "{html}");
        assert!(html.contains("&lt;b&gt;") && html.contains("<title>&lt;t&gt; – armwise</title>"));
        let loads = html.split(['"']).filter(|part| part.starts_with('/') || part.contains("://"));
        assert!(loads.clone().count() >= 8 && loads.clone().all(|part| part.starts_with('/')), "{html}");
        assert!(html.contains("<body data-events=\"/events\">"));
    }

    #[test]
    fn durations_are_short() {
        assert_eq!(
            [5, 119, 120, 7199, 7200, 200_000].map(duration),
            ["5 s", "119 s", "2 min", "119 min", "2 h", "2 days"]
        );
    }
}
