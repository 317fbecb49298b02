//! The report as one HTML page that needs nothing else.

use super::{
    GroupLine, Report,
    chart::{Bar, bars, escape},
    style::STYLE,
    tally::Tally,
};
use std::fmt::Write;

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.4}"))
}

fn interval(value: Option<f64>, half_width: Option<f64>) -> String {
    match (value, half_width) {
        (Some(value), Some(half)) => format!("{value:.4} &plusmn; {half:.4}"),
        (value, _) => number(value),
    }
}

fn counts(tally: &Tally) -> String {
    let Tally { sends, delivered, answered, silent, pending, .. } = tally;
    format!("<td>{sends}<td>{delivered}<td>{answered}<td>{silent}<td>{pending}")
}

const COUNTS: &str = "<th>sent<th>delivered<th>answered<th>silent<th>pending";

fn bar(line: &GroupLine, hatched: bool) -> Bar {
    let (label, tally) = (line.name.clone(), &line.tally);
    Bar { label, value: tally.mean, half_width: tally.half_width, mark: None, hatched }
}

/// The page.
#[must_use]
pub fn html(report: &Report) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{0}</title><style>{STYLE}</style></head><body><h1>Campaign {0}</h1>\
         <p>Algorithm {1}; intervals are 95&nbsp;%. Model <code>{2}</code>, log <code>{3}</code>.</p>",
        escape(&report.campaign),
        escape(&report.algorithm),
        report.model,
        report.head
    );
    rounds(&mut page, report);
    groups(&mut page, "Promotions", "promotion", &report.promotions);
    if !report.segments.is_empty() {
        groups(&mut page, "Response by segment", "segment", &report.segments);
    }
    effects(&mut page, report);
    calibration(&mut page, report);
    uplift(&mut page, report);
    page + "</body></html>\n"
}

fn rounds(page: &mut String, report: &Report) {
    let drawn: Vec<Bar> = report
        .rounds
        .iter()
        .map(|line| Bar {
            label: line.round.to_string(),
            value: line.so_far,
            half_width: line.tally.half_width.filter(|_| line.closed),
            mark: None,
            hatched: !line.closed && !line.revoked,
        })
        .collect();
    let _ = write!(
        page,
        "<h2>Reward per round</h2><p>Mean reward of a send that arrived. Hatched: the response window is open, and \
         whoever has not answered so far is counted as silent.</p>{}<div class=wide><table><tr><th>round{COUNTS}<th>mean reward<th>exploration",
        bars("mean reward per round", &drawn)
    );
    for line in &report.rounds {
        let _ = write!(
            page,
            "<tr><td>{}{}{}<td>{}<td>{:.1} %",
            line.round,
            match (line.revoked, line.closed) {
                (true, _) => " (revoked)",
                (false, true) => "",
                (false, false) => " (open)",
            },
            counts(&line.tally),
            if line.closed || line.revoked {
                interval(line.tally.mean, line.tally.half_width)
            } else {
                format!("{} so far", number(line.so_far))
            },
            100.0 * line.exploration
        );
    }
    *page += "</table></div>";
}

fn groups(page: &mut String, title: &str, what: &str, lines: &[GroupLine]) {
    let drawn: Vec<Bar> = lines.iter().map(|line| bar(line, false)).collect();
    let _ = write!(
        page,
        "<h2>{title}</h2>{}<div class=wide><table><tr><th>{what}{COUNTS}<th>mean reward",
        bars(title, &drawn)
    );
    for line in lines {
        let tally = &line.tally;
        let _ = write!(
            page,
            "<tr><td>{}{}<td>{}",
            escape(&line.name),
            counts(tally),
            interval(tally.mean, tally.half_width)
        );
    }
    *page += "</table></div>";
}

fn effects(page: &mut String, report: &Report) {
    *page += "<h2>Estimated effects</h2><p>By how much the reward changes, all else equal. Bold: zero is outside the \
              interval.</p>";
    if report.effects.is_empty() {
        *page += "<p>Not enough rewards yet.</p>";
        return;
    }
    *page += "<div class=wide><table><tr><th>promotion<th class=t>column<th class=t>change<th>effect";
    for line in &report.effects {
        let sure = if line.effect.abs() > line.half_width { " class=sure" } else { "" };
        let _ = write!(
            page,
            "<tr{sure}><td>{}<td class=t>{}<td class=t>{}<td>{}",
            escape(&line.promotion),
            escape(&line.column),
            escape(&line.change),
            interval(Some(line.effect), Some(line.half_width))
        );
    }
    *page += "</table></div>";
}

fn calibration(page: &mut String, report: &Report) {
    if report.calibration.is_empty() {
        return;
    }
    let drawn: Vec<Bar> =
        report.calibration.iter().map(|line| Bar { mark: Some(line.predicted), ..bar(line, false) }).collect();
    let _ = write!(
        page,
        "<h2>Calibration</h2><p>Sends by decile of the reward that was predicted when they were chosen. Bars: observed; \
         dots: predicted.</p>{}<div class=wide><table><tr><th>decile<th>predicted<th>observed",
        bars("predicted against observed by decile", &drawn)
    );
    for line in &report.calibration {
        let observed = interval(line.tally.mean, line.tally.half_width);
        let _ = write!(page, "<tr><td>{}<td>{:.4}<td>{observed}", escape(&line.name), line.predicted);
    }
    *page += "</table></div>";
}

fn uplift(page: &mut String, report: &Report) {
    if report.uplift.is_empty() {
        return;
    }
    *page += "<h2>Uplift over the hold-out</h2><p>The hold-out is a random share of customers who are never contacted. \
              Compared are those of them whom the same rules would have chosen.</p><div class=wide><table><tr><th>promotion<th>sent\
              <th>mean reward<th>held out<th>mean reward<th>uplift";
    for line in &report.uplift {
        let _ = write!(
            page,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            escape(&line.promotion),
            line.sent.sends,
            interval(line.sent.mean, line.sent.half_width),
            line.held_out.sends,
            interval(line.held_out.mean, line.held_out.half_width),
            interval(line.uplift, line.half_width)
        );
    }
    *page += "</table></div>";
}
