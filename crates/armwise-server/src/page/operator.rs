//! The operator's page: how long answers take, how much waits, what went wrong.

use super::{
    frame::{FULL, cards, count, live, milliseconds, panel},
    metrics::{Buckets, Labels, Metrics},
};
use crate::name::Name;
use armwise_campaign::live::Load;
use armwise_charts::{Bar, BarChart, Cell, NARROW, Table, inline};

/// The histogram of all answers.
const ANSWERS: &str = "armwise_http_request_seconds";

/// The page. `lately` are the metrics of the last `seconds`, or since the start.
pub(super) fn operator(lately: &Metrics, seconds: Option<u64>, loads: &[(Name, Load)], version: &str) -> String {
    let (all, requests) = (together(lately), requests(lately));
    let over = seconds.map_or("since the start".to_owned(), |seconds| format!("of the last {seconds} s"));
    let waiting: usize = loads.iter().map(|(_, load)| load.waiting).sum();
    let failed: f64 = requests.iter().filter(|(status, _)| *status >= 500).map(|(_, many)| many).sum();
    let total: f64 = requests.iter().map(|(_, many)| many).sum();
    let text = format!("<p>Requests {over}; those of pages count too.</p>\n");
    let quantile = |share| all.quantile(share).map_or("–".to_owned(), milliseconds);
    let list = [
        ("Requests", count(whole(total))),
        ("Half are answered within", quantile(0.5)),
        ("99% within", quantile(0.99)),
        ("99.9% within", quantile(0.999)),
        ("Waiting in queues", count(waiting as u64)),
        ("Failed (5xx)", count(whole(failed))),
    ];
    let panels = routes(lately) + &queues(loads) + &work(lately) + &problems(lately);
    let content = text + &cards(&list) + "<div class=\"panels\">\n" + &panels + "</div>\n";
    format!(
        "<h1>Operator</h1>\n{}<p class=\"small\">armwise {version}. The same numbers, and more, are in <a href=\"/metrics\">/metrics</a> for \
         Prometheus.</p>\n",
        live("operator", &content)
    )
}

#[expect(clippy::cast_sign_loss, reason = "a count is not negative")]
fn whole(count: f64) -> u64 {
    count.max(0.0).round() as u64
}

fn together(metrics: &Metrics) -> Buckets {
    metrics.histograms(ANSWERS).fold(Buckets::default(), |sum, (_, one)| sum.with(one))
}

/// Answers by status.
fn requests(metrics: &Metrics) -> Vec<(u16, f64)> {
    let status = |labels: &Labels| labels.get("status").and_then(|status| status.parse().ok()).unwrap_or(0);
    metrics.values("armwise_http_requests_total").map(|(labels, many)| (status(labels), many)).collect()
}

/// The quantiles of some histograms as a picture of the largest and a table.
fn quantiles(lines: &[(String, &Buckets)], what: &str) -> (String, String) {
    let shown = |buckets: &Buckets, share| buckets.quantile(share).map_or("–".to_owned(), milliseconds);
    let bars = lines.iter().take(12).map(|(name, buckets)| Bar {
        label: name.clone(),
        value: buckets.quantile(0.99).map(|seconds| 1e3 * seconds),
        half_width: None,
        dot: buckets.quantile(0.5).map(|seconds| 1e3 * seconds),
        open: false,
        tip: format!("{name}: half within {}, 99% within {}", shown(buckets, 0.5), shown(buckets, 0.99)),
    });
    let bars = BarChart { labels: String::new(), values: "Milliseconds".to_owned(), bars: bars.collect() };
    let alt = "Bars of the time within which 99% of the answers come; the numbers are in the table below.";
    let picture = inline(&bars.horizontal(FULL), &bars.horizontal(NARROW), alt);
    let rows = lines.iter().map(|(name, buckets)| {
        let mut row = vec![Cell::text(name), Cell::number(&count(whole(buckets.count())))];
        row.extend([0.5, 0.9, 0.99, 0.999].map(|share| Cell::number(&shown(buckets, share))));
        row.push(Cell::number(&milliseconds(buckets.mean())));
        row
    });
    let names = [what, "count", "50%", "90%", "99%", "99.9%", "mean"];
    let cell = |(place, name): (usize, &&str)| if place == 0 { Cell::text(name) } else { Cell::number(name) };
    let head = names.iter().enumerate().map(cell).collect();
    (picture, Table { caption: String::new(), head, rows: rows.collect() }.html("full"))
}

fn routes(metrics: &Metrics) -> String {
    let named = |labels: &Labels| {
        let part = |name: &str| labels.get(name).map_or("", String::as_str);
        format!("{} {}", part("method"), part("route").trim_start_matches("/v1"))
    };
    let mut lines: Vec<(String, &Buckets)> =
        metrics.histograms(ANSWERS).map(|(labels, buckets)| (named(labels), buckets)).collect();
    lines.sort_by(|a, b| b.1.count().total_cmp(&a.1.count()).then_with(|| a.0.cmp(&b.0)));
    let (picture, table) = quantiles(&lines, "route");
    let text = "<p>Bars: the time within which 99% of the answers come; dots: half of them.</p>\n";
    panel("latency", "Time to the answer", true, text, &picture, &table)
}

/// Histograms of the work behind the answers: choosing, committing, learning.
fn work(metrics: &Metrics) -> String {
    let mut lines: Vec<(String, &Buckets)> = Vec::new();
    for name in metrics.histogram_names().into_iter().filter(|name| *name != ANSWERS && name.ends_with("_seconds")) {
        let short = name.trim_start_matches("armwise_").trim_end_matches("_seconds").replace('_', " ");
        for (labels, buckets) in metrics.histograms(name) {
            let of: Vec<&str> = labels.values().map(String::as_str).collect();
            lines.push((format!("{short} {}", of.join(" ")).trim().to_owned(), buckets));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let (picture, table) = quantiles(&lines, "work");
    let text = "<p>Where the time goes: choosing, committing to the disk, learning.</p>\n";
    panel("work", "Time of the work", true, text, &picture, &table)
}

fn queues(loads: &[(Name, Load)]) -> String {
    let rows = loads.iter().map(|(name, load)| {
        vec![
            Cell::text(name.as_str()),
            Cell::number(&format!("{} of {}", load.waiting, load.queue)),
            Cell::number(&count(load.seq)),
            Cell::number(&count(load.seq.saturating_sub(load.learned))),
            Cell::number(&count(load.model)),
            Cell::number(&count(load.catalogue as u64)),
        ]
    });
    let head = ["campaign", "waiting", "entries", "not learned yet", "model of entry", "catalogue"];
    let cell = |(place, name): (usize, &&str)| if place == 0 { Cell::text(name) } else { Cell::number(name) };
    let head = head.iter().enumerate().map(cell).collect();
    let table = Table { caption: String::new(), head, rows: rows.collect() }.html("full");
    let text =
        "<p>Commands wait in the queue of their campaign until they are on the disk; a full queue answers 429.</p>\n";
    panel("queues", "Queues", true, text, &table, "")
}

fn problems(metrics: &Metrics) -> String {
    let mut lines: Vec<(String, u64)> = metrics
        .values("armwise_problems_total")
        .map(|(labels, many)| (labels.get("kind").cloned().unwrap_or_default(), whole(many)))
        .filter(|(_, many)| *many > 0)
        .collect();
    lines.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if lines.is_empty() {
        return panel("problems", "Problems by kind", true, "<p>None.</p>\n", "", "");
    }
    let bars = lines.iter().map(|(kind, many)| Bar {
        label: kind.clone(),
        value: Some(*many as f64),
        half_width: None,
        dot: None,
        open: false,
        tip: format!("{kind}: {}", count(*many)),
    });
    let bars = BarChart { labels: String::new(), values: "Answers".to_owned(), bars: bars.collect() };
    let alt = "Bars of how many answers were problems, by kind; the numbers are in the table below.";
    let picture = inline(&bars.horizontal(FULL), &bars.horizontal(NARROW), alt);
    let rows = lines.iter().map(|(kind, many)| vec![Cell::text(kind), Cell::number(&count(*many))]).collect();
    let head = vec![Cell::text("kind"), Cell::number("answers")];
    let table = Table { caption: String::new(), head, rows }.html("full");
    panel("problems", "Problems by kind", true, "", &picture, &table)
}
