//! The report as one HTML page that needs nothing else.
//!
//! Names of campaigns, promotions, columns and segments are the user's and can hold anything: they reach the page
//! through the plain text of `Cell` and `Bar`, or through `escape`.

mod effects;

use super::{GroupLine, Report, Shares, tally::Tally};
use armwise_charts::{Bar, BarChart, Cell, NARROW, Scene, Table, WIDE, escape, inline, number, page, percent, write};

fn reward(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| number(value, 4))
}

fn interval(value: Option<f64>, half_width: Option<f64>) -> String {
    match (value, half_width) {
        (Some(value), Some(half)) => format!("{} ± {}", number(value, 4), number(half, 4)),
        (value, _) => reward(value),
    }
}

fn of(tally: &Tally) -> String {
    interval(tally.mean, tally.half_width)
}

fn count(count: u64) -> Cell {
    Cell::number(&number(count as f64, 0))
}

fn counts(tally: &Tally) -> [Cell; 5] {
    [tally.sends, tally.delivered, tally.answered, tally.silent, tally.pending].map(count)
}

/// The head of a table whose first column is text and whose others are numbers.
fn head(names: &[&str]) -> Vec<Cell> {
    let cell = |(place, name): (usize, &&str)| if place == 0 { Cell::text(name) } else { Cell::number(name) };
    names.iter().enumerate().map(cell).collect()
}

fn table(head: Vec<Cell>, rows: impl Iterator<Item = Vec<Cell>>) -> String {
    Table { caption: String::new(), head, rows: rows.collect() }.html("full")
}

const COUNTS: [&str; 5] = ["sent", "delivered", "answered", "silent", "pending"];
const REWARD: &str = "Mean reward of a send that arrived (95% interval)";
/// Names are the user's and may be long: they wrap instead of pushing the numbers out of sight. Pictures in the rows of
/// a table take the whole height of the row, so that the line at zero goes through.
const STYLE: &str = "section>.chart,header>.chart{margin-bottom:1.5rem}\n.full{width:100%}\n\
                     .full tbody th{white-space:normal;overflow-wrap:anywhere;min-width:5.5rem}\n\
                     .summary{font-size:1.1rem;line-height:1.5;padding-left:1.15rem;margin:0 0 1.75rem;max-width:47.5rem}\n\
                     .summary li{margin:0 0 .45rem}\n.summary li::marker{color:var(--axis)}\n\
                     section>p,section>ul{max-width:47.5rem}\n\
                     .forest{table-layout:fixed}\n.forest td,.forest th{vertical-align:middle}\n\
                     .forest thead th:first-child{width:38%}\n.forest thead .plot{width:276px;vertical-align:bottom}\n\
                     .forest .plot{padding:0 1rem 0 0}\n.forest .chart{max-width:none}\n\
                     .forest tbody tr+tr .plot{border-top-color:transparent}\n\
                     .small{font-size:.875rem;color:var(--muted)}\n\
                     @media (max-width:48rem){.forest thead th:first-child{width:auto}.forest thead .plot{width:126px}\n\
                     .forest .plot{padding-right:.5rem}.forest .n{white-space:normal;width:5.6rem}.forest tbody th{min-width:0}}\n";

/// A part of the report as markup, so that other pages can show it too.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its name in links, unique in a page.
    pub id: &'static str,
    /// The heading.
    pub title: &'static str,
    /// What is to be known before the numbers, as markup; may be empty.
    pub text: String,
    /// The picture, as markup; may be empty.
    pub chart: String,
    /// The numbers of the picture as a table, as markup; empty where the picture is a table itself.
    pub table: String,
}

/// The page.
#[must_use]
pub fn html(report: &Report) -> String {
    let mut body = format!(
        "<header>\n<p class=\"kicker\">armwise report</p>\n<h1>Campaign {}</h1>\n{}{}</header>\n<main>\n",
        escape(&report.campaign),
        summary(report),
        picture(report)
    );
    let mut all = sections(report, WIDE);
    if let Some(shares) = &report.probabilities {
        all.insert(all.len() - 1, probabilities(shares));
    }
    for Section { title, text, chart, table, .. } in all {
        write(&mut body, format_args!("<section>\n<h2>{title}</h2>\n{text}{chart}{table}</section>\n"));
    }
    body.push_str("</main>\n");
    page(&report.campaign, STYLE, &body)
}

/// What the sections need beyond the style of all pages.
#[must_use]
pub fn style() -> &'static str {
    STYLE
}

/// The parts of the page below its head, those that have something to say, with pictures of this width on wide screens.
#[must_use]
pub fn sections(report: &Report, wide: f64) -> Vec<Section> {
    let mut all = Vec::new();
    let mut add = |id, title, (text, chart, table)| all.push(Section { id, title, text, chart, table });
    if !report.uplift.is_empty() {
        add("uplift", "Uplift over the hold-out", uplift(report, wide));
    }
    add("rounds", "Round by round", rounds(report));
    add("promotions", "Promotions", groups("promotion", &report.promotions, report, wide));
    if !report.segments.is_empty() {
        add("segments", "Response by segment", groups("segment", &report.segments, report, wide));
    }
    add("effects", "Estimated effects", effects::effects(report));
    if !report.calibration.is_empty() {
        add("calibration", "Calibration", calibration(report, wide));
    }
    add("about", "About this page", (about(report), String::new(), String::new()));
    all
}

/// With which probability sends were chosen: what an evaluation of other policies divides by.
fn probabilities(shares: &Shares) -> Section {
    let name = |at: usize| format!("{}–{}%", 10 * at, 10 * (at + 1));
    let bars = shares.tenths.iter().enumerate().map(|(at, &many)| Bar {
        label: name(at),
        value: Some(many as f64),
        half_width: None,
        dot: None,
        open: false,
        tip: format!("{}: {} sends", name(at), number(many as f64, 0)),
    });
    let bars =
        BarChart { labels: "Probability of being chosen".to_owned(), values: "Sends".to_owned(), bars: bars.collect() };
    let rows = shares.tenths.iter().enumerate().map(|(at, &many)| vec![Cell::text(&name(at)), count(many)]);
    let text = format!(
        "<p>With which probability those who were chosen were chosen, before the draws of their round: {} on average, {} at \
         least. Where most are near 100% little was tried, and the log says little about other policies.</p>\n",
        percent(shares.mean, 1),
        percent(shares.least, 2)
    );
    Section {
        id: "probabilities",
        title: "How probable the sends were",
        text,
        chart: chart(&bars, BarChart::vertical, WIDE, "Bars of how many sends were chosen with which probability"),
        table: table(head(&["probability", "sends"]), rows),
    }
}

/// Text, picture and table of a section.
type Parts = (String, String, String);

fn summary(report: &Report) -> String {
    let lines =
        report.summary.iter().map(|line| format!("<li>{}</li>\n", escape(line).replace(" ± ", "&nbsp;±&nbsp;")));
    format!("<ul class=\"summary\">\n{}</ul>\n", lines.collect::<String>())
}

/// What proves the numbers, for those who ask.
fn about(report: &Report) -> String {
    format!(
        "<p class=\"small\">All intervals are 95%. The algorithm is {}{}. The numbers follow from the campaign's journal: \
         model <code>{}</code>, journal <code>{}</code>; whoever has the campaign's file can compute them again.</p>\n",
        escape(&report.algorithm),
        report.auto.map_or(String::new(), |auto| format!(", with {auto}, as the rewards tell")),
        report.model,
        report.head
    )
}

/// The chart for both widths; the table that follows it has the same numbers.
fn chart(chart: &BarChart, draw: fn(&BarChart, f64) -> Scene, wide: f64, alt: &str) -> String {
    inline(&draw(chart, wide), &draw(chart, NARROW), &format!("{alt}; the table below has the numbers.")) + "\n"
}

/// What a line is called.
fn name(line: &super::RoundLine) -> String {
    line.when.clone().unwrap_or_else(|| line.round.to_string())
}

fn is_open(line: &super::RoundLine) -> bool {
    !line.closed && !line.revoked && line.tally.pending > 0
}

/// Which rounds are left out where only settled ones count.
fn left_out(report: &Report) -> String {
    let open: Vec<String> = report.rounds.iter().filter(|line| is_open(line)).map(name).collect();
    if open.is_empty() {
        return String::new();
    }
    let rounds = if open.len() == 1 { "round" } else { "rounds" };
    format!(
        "<p>Mean rewards are without the open {rounds} {}: those who answer early are not like the others.</p>\n",
        open.join(", ")
    )
}

fn mean(line: &super::RoundLine) -> String {
    match (line.revoked, line.closed) {
        (true, _) => "never sent".to_owned(),
        (false, true) => of(&line.tally),
        (false, false) if line.tally.pending == 0 => reward(line.mean_reward),
        (false, false) => format!("{} so far", reward(line.mean_reward)),
    }
}

/// The mean reward of every round.
fn picture(report: &Report) -> String {
    if report.rounds.is_empty() {
        return String::new();
    }
    let bars = report.rounds.iter().map(|line| Bar {
        label: name(line),
        value: line.mean_reward,
        half_width: line.tally.half_width.filter(|_| line.closed),
        dot: None,
        open: is_open(line),
        tip: match &line.when {
            Some(when) => format!("{when}: {}", mean(line)),
            None => format!("round {}: {}", line.round, mean(line)),
        },
    });
    let bars = BarChart { labels: "Round".to_owned(), values: REWARD.to_owned(), bars: bars.collect() };
    let open = if report.rounds.iter().any(is_open) {
        "<p>Pale bars: the response window is open, and whoever has not answered so far is counted as silent.</p>\n"
    } else {
        ""
    };
    chart(&bars, BarChart::vertical, WIDE, "Bars of the mean reward in each round") + open
}

fn rounds(report: &Report) -> Parts {
    if report.rounds.is_empty() {
        return ("<p class=\"absent\">No round was chosen yet.</p>\n".to_owned(), String::new(), String::new());
    }
    let rows = report.rounds.iter().map(|line| {
        let state = match (line.revoked, line.closed) {
            (true, _) => " (revoked)",
            (false, true) => "",
            (false, false) => " (open)",
        };
        let mut row = vec![Cell::text(&format!("{}{state}", name(line)))];
        row.extend(counts(&line.tally));
        row.extend([Cell::number(&mean(line)), Cell::number(&percent(line.exploration, 1))]);
        row
    });
    let names = head(&[&["round"], &COUNTS[..], &["mean reward", "exploration"]].concat());
    let text = "<p>Exploration is the share of sends that went to customers of whom more is to be learned, instead of to those \
                with the best estimate.</p>\n";
    (text.to_owned(), String::new(), table(names, rows))
}

fn bar(line: &GroupLine) -> Bar {
    Bar {
        label: line.name.clone(),
        value: line.tally.mean,
        half_width: line.tally.half_width,
        dot: None,
        open: false,
        tip: format!("{}: {}", line.name, of(&line.tally)),
    }
}

fn groups(what: &str, lines: &[GroupLine], report: &Report, wide: f64) -> Parts {
    let bars = BarChart { labels: String::new(), values: REWARD.to_owned(), bars: lines.iter().map(bar).collect() };
    let rows = lines.iter().map(|line| {
        let mut row = vec![Cell::text(&line.name)];
        row.extend(counts(&line.tally));
        row.push(Cell::number(&of(&line.tally)));
        row
    });
    let names = head(&[&[what], &COUNTS[..], &["mean reward"]].concat());
    let picture = chart(&bars, BarChart::horizontal, wide, &format!("Bars of the mean reward of each {what}"));
    (left_out(report), picture, table(names, rows))
}

fn calibration(report: &Report, wide: f64) -> Parts {
    let bars = report.calibration.iter().map(|line| Bar {
        dot: Some(line.predicted),
        tip: format!("decile {}: observed {}, predicted {}", line.name, of(&line.tally), number(line.predicted, 4)),
        ..bar(line)
    });
    let bars = BarChart {
        labels: "Decile of the predicted reward".to_owned(),
        values: REWARD.to_owned(),
        bars: bars.collect(),
    };
    let rows = report.calibration.iter().map(|line| {
        vec![Cell::text(&line.name), Cell::number(&number(line.predicted, 4)), Cell::number(&of(&line.tally))]
    });
    let text = "<p>Sends by decile of the reward that was predicted when they were chosen. Bars: observed; dots: \
                predicted.</p>\n";
    let picture =
        chart(&bars, BarChart::vertical, wide, "Bars of the observed and dots of the predicted reward in each decile");
    (text.to_owned(), picture, table(head(&["decile", "predicted", "observed"]), rows))
}

fn uplift(report: &Report, wide: f64) -> Parts {
    let rows = report.uplift.iter().map(|line| {
        vec![
            Cell::text(&line.promotion),
            count(line.sent.sends),
            Cell::number(&of(&line.sent)),
            count(line.hold_out.sends),
            Cell::number(&of(&line.hold_out)),
            Cell::number(&line.refused.map_or(interval(line.uplift, line.half_width), |_| "–".to_owned())),
        ]
    });
    let refused = report.uplift.iter().rev().find_map(|line| line.refused);
    let refused = refused.map_or(String::new(), |why| format!("<p>No uplift: {}.</p>\n", escape(&why.to_string())));
    let text = "<p>The hold-out is a random share of customers who are never contacted. Compared are those of them whom the same \
                rules would have chosen, within each closed round and promotion; a customer who comes back counts once in the \
                intervals.</p>\n";
    let numbers = table(head(&["promotion", "sent", "mean reward", "hold-out", "mean reward", "uplift"]), rows);
    (text.to_owned() + &refused, uplift_chart(report, wide), numbers + &money(report))
}

/// What the uplift is worth, where that is known.
fn money(report: &Report) -> String {
    let rows: Vec<Vec<Cell>> = (report.uplift.iter())
        .filter_map(|line| Some((line, line.profit?)))
        .map(|(line, money)| {
            let percents = |share: f64| 100.0 * share;
            vec![
                Cell::text(&line.promotion),
                Cell::number(&interval(Some(money.value), Some(money.half_width))),
                Cell::number(&number(money.cost, 2)),
                Cell::number(&interval(Some(money.profit), Some(money.half_width))),
                Cell::number(&format!("{} %", interval(money.roi.map(percents), money.roi_half_width.map(percents)))),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let names = ["promotion", "value of the uplift", "cost", "profit", "return on the cost"];
    "<p>What the uplift of these sends is worth, and what they cost.</p>\n".to_owned()
        + &table(head(&names), rows.into_iter())
}

/// Uplift by promotion, if there is any.
fn uplift_chart(report: &Report, wide: f64) -> String {
    let bars: Vec<Bar> = (report.uplift.iter())
        .filter(|line| line.uplift.is_some())
        .map(|line| Bar {
            label: line.promotion.clone(),
            value: line.uplift,
            half_width: line.half_width,
            dot: None,
            open: false,
            tip: format!("{}: {}", line.promotion, interval(line.uplift, line.half_width)),
        })
        .collect();
    if bars.is_empty() {
        return String::new();
    }
    let values = "Reward of a send beyond that of the hold-out (95% interval)".to_owned();
    let bars = BarChart { labels: String::new(), values, bars };
    chart(&bars, BarChart::horizontal, wide, "Bars of the uplift of each promotion")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        core::Sha,
        report::{EffectLine, RoundLine, UpliftLine},
    };

    fn tally() -> Tally {
        Tally { sends: 2, delivered: 2, answered: 1, mean: Some(0.5), half_width: Some(0.1), ..Tally::default() }
    }

    /// A report with one line of each kind and the same name wherever the user gives one.
    fn report(name: &str) -> Report {
        let text = || name.to_owned();
        let group = || vec![GroupLine { name: text(), predicted: 0.4, tally: tally() }];
        let round = |round, closed| RoundLine {
            round,
            when: None,
            closed,
            revoked: false,
            exploration: 0.25,
            mean_reward: Some(0.5),
            aside: 0,
            tally: Tally { pending: u64::from(!closed), ..tally() },
        };
        Report {
            probabilities: Shares::of([0.2, 0.25, 1.0].into_iter()),
            campaign: text(),
            head: Sha::of(name),
            model: Sha::of(name),
            algorithm: text(),
            auto: None,
            drift: None,
            summary: vec![text()],
            rounds: vec![round(1, true), round(2, false)],
            promotions: group(),
            segments: group(),
            calibration: group(),
            effects: vec![EffectLine {
                promotion: text(),
                column: text(),
                change: text(),
                effect: -0.2,
                half_width: 0.1,
                together: true,
            }],
            uplift: vec![UpliftLine {
                promotion: text(),
                sent: tally(),
                hold_out: tally(),
                uplift: Some(0.0),
                half_width: None,
                freedom: None,
                refused: None,
                left_out: 0,
                profit: None,
            }],
        }
    }

    #[test]
    fn no_name_becomes_markup() {
        let page = html(&report("<script>\"'"));
        assert!(!page.contains("<script") && !page.contains("\"'"));
        // The title, the heading's two, and a cell of each of promotions, segments, deciles and uplift, three of effects.
        assert!(page.matches("&lt;script&gt;&quot;&#39;").count() >= 10);
    }

    #[test]
    fn an_open_round_is_drawn_and_said_to_be_open() {
        let page = html(&report("mail"));
        assert!(page.contains("<th scope=\"row\">2 (open)</th>") && page.contains("0.5000 so far"));
        assert!(page.contains("stroke-dasharray") && page.contains("Pale bars"));
        let closed = html(&Report { rounds: report("mail").rounds[..1].to_vec(), ..report("mail") });
        assert!(!closed.contains("stroke-dasharray") && !closed.contains("Pale bars"));
        let mut revoked = report("mail");
        revoked.rounds[1].revoked = true;
        let page = html(&revoked);
        assert!(page.contains("2 (revoked)") && page.contains("never sent") && !page.contains("Pale bars"));
        let none = html(&Report { rounds: Vec::new(), ..report("mail") });
        assert!(none.contains("No round was chosen yet"));
    }

    #[test]
    fn an_effect_whose_interval_leaves_zero_out_is_bold() {
        let page = html(&report("mail"));
        assert!(page.contains("<strong>\u{2212}0.2000 ± 0.1000</strong> ✓") && page.contains("one interval"), "{page}");
    }
}
