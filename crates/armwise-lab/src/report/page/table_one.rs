//! Table I: the paper's cumulative rewards beside ours, for each k, under both readings and both protocols.
//!
//! The largest of the seven in a row is bold, as in the paper. Random choice and the oracle come last, to show the
//! range of what can be earned. Ratios and their intervals are in a separate table.

use crate::grid::SEVEN;
use crate::report::figures::{data_label, margin_of, trials, tuned, under};
use crate::report::looks::{is_arm_wise, title_of};
use crate::results::{Comparison, Data, Interval, Promotions, Protocol, Results, Table as Reading};
use armwise_charts::{Cell, Table, escape, number, write};

/// Table I and its ratios; a line that says so where the run has none.
pub(super) fn html(results: &Results) -> String {
    let promotions =
        results.promotions.as_ref().filter(|promotions| promotions.tables.iter().any(|table| !table.rows.is_empty()));
    let Some(promotions) = promotions else {
        return "<p class=\"absent\">Table I is left out: this run has no data for it.</p>\n".to_owned();
    };
    let mut out = "<div id=\"table-1\">\n<h3>Table I. Cumulative rewards, sending promotions</h3>\n".to_owned();
    write(&mut out, format_args!("<p>{}</p>\n", introduction(promotions)));
    for reading in &promotions.tables {
        out.push_str(&rewards(promotions, reading));
    }
    out.push_str(&ratios(promotions));
    out.push_str("</div>\n");
    out
}

fn introduction(promotions: &Promotions) -> String {
    let data = &promotions.data;
    let source = if data.generated {
        format!(
            "<strong class=\"flag\">Ours are on generated ratings</strong>, not on MovieLens ({})",
            escape(&data_label(data))
        )
    } else {
        format!("Ours are on {}", escape(&data.label))
    };
    format!(
        "Rewards are ratings in stars, summed over {} rounds. The paper’s are on MovieLens 20M, 5 trials, best of the grid. {source}, features {}: levels differ from the paper’s with the data, so compare orders and ratios. ± is the 95% margin by Student’s t, {}. The largest of the seven is bold; random choice and the oracle give the scale.",
        promotions.rounds,
        escape(&data.features),
        units(data)
    )
}

/// What the intervals treat as independent.
fn units(data: &Data) -> String {
    match data.fresh_splits {
        0 | 1 => "from trials, all on one draw of test movies".to_owned(),
        draws => {
            format!("from the means of the draws of test movies ({draws} for fresh trials), not from single trials")
        }
    }
}

fn rewards(promotions: &Promotions, reading: &Reading) -> String {
    let mut head = vec![Cell::text("Problem"), Cell::text("Source")];
    head.extend(SEVEN.iter().map(|name| Cell::html(name_of(name)).class("n")));
    head.extend(["Random", "Oracle"].map(Cell::number));
    let mut rows = Vec::new();
    for row in &reading.rows {
        let problem = format!("k = {}", row.k);
        let mut first = Some(problem.clone());
        let mut line = |source: &str, cells: Vec<Cell>, class: &'static str| {
            let start = first.take().map_or_else(
                || Cell::html(format!("<span class=\"again\">{}</span>", escape(&problem))),
                |problem| Cell::text(&problem).class("first"),
            );
            let mut all = vec![start, Cell::text(source).class(class)];
            all.extend(cells);
            rows.push(all);
        };
        if !row.published.is_empty() {
            let best = row.published.values().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut cells: Vec<Cell> = SEVEN
                .iter()
                .map(|name| {
                    row.published.get(*name).map_or_else(none, |&value| strong(&number(value, 1), value >= best))
                })
                .collect();
            cells.extend([none(), none()]);
            line("published", cells, "src");
        }
        for protocol in [Protocol::Paper, Protocol::Fresh] {
            if let Some(comparison) = under(&row.comparisons, protocol) {
                let count = comparison.algorithms.iter().map(|tuned| tuned.trials).max().unwrap_or(0);
                let name = if protocol == Protocol::Paper { "paper" } else { "fresh" };
                line(&format!("ours, {name}, {}", trials(count)), ours(comparison), "src");
            }
        }
    }
    let what = match reading.reading.as_str() {
        "independent" => "a customer may get several promotions in a round, as the formula of S has it",
        "disjoint" => "a customer gets at most one promotion in a round, as the text has it",
        _ => "",
    };
    let flag = if promotions.data.generated { " <strong class=\"flag\">Ours: generated ratings.</strong>" } else { "" };
    let caption = format!("Reading <i>{}</i>: {what}.{flag}", escape(&reading.reading));
    Table { caption, head, rows }.html("rewards")
}

fn name_of(name: &str) -> String {
    let title = escape(&title_of(name)).replace(" TS", "\u{a0}TS");
    if is_arm_wise(name) { format!("<strong>{title}</strong>") } else { title }
}

fn none() -> Cell {
    Cell::number("–")
}

fn strong(text: &str, best: bool) -> Cell {
    let text = escape(text);
    Cell::html(if best { format!("<strong>{text}</strong>") } else { text }).class("n")
}

fn ours(comparison: &Comparison) -> Vec<Cell> {
    let seven: Vec<_> = SEVEN.iter().map(|name| tuned(comparison, name)).collect();
    let best = seven.iter().flatten().map(|tuned| tuned.cumulative_reward.mean).fold(f64::NEG_INFINITY, f64::max);
    let cell = |tuned: &crate::results::Tuned, best: f64| {
        let reward = tuned.cumulative_reward;
        let mean = escape(&number(reward.mean, 1));
        let mean = if reward.mean >= best { format!("<strong>{mean}</strong>") } else { mean };
        Cell::html(format!("{mean}<small>±\u{202f}{}</small>", margin_of(reward, 1))).class("n")
    };
    let mut cells: Vec<Cell> = seven.into_iter().map(|one| one.map_or_else(none, |tuned| cell(tuned, best))).collect();
    cells.push(tuned(comparison, "random").map_or_else(none, |tuned| cell(tuned, f64::INFINITY)));
    cells.push(Cell::number(&number(comparison.oracle.mean, 0)));
    cells
}

/// A row per reading and k, three columns per pair: published, and ours under the two protocols.
fn ratios(promotions: &Promotions) -> String {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for ratio in promotions.tables.iter().flat_map(|reading| &reading.rows).flat_map(|row| &row.ratios) {
        if !pairs.contains(&(ratio.a.as_str(), ratio.b.as_str())) {
            pairs.push((&ratio.a, &ratio.b));
        }
    }
    if pairs.is_empty() {
        return String::new();
    }
    let mut head = vec![Cell::text("Problem"), Cell::text("Reading")];
    for (a, b) in &pairs {
        let pair = format!("{} / {}", name_of(a), name_of(b));
        head.push(Cell::html(format!("{pair}<br>published")).class("n"));
        head.push(Cell::number("ours, paper"));
        head.push(Cell::number("ours, fresh"));
    }
    let mut rows = Vec::new();
    for reading in &promotions.tables {
        for row in &reading.rows {
            let mut cells = vec![Cell::text(&format!("k = {}", row.k)), Cell::text(&reading.reading)];
            for (a, b) in &pairs {
                let ratio = row.ratios.iter().find(|ratio| ratio.a == *a && ratio.b == *b);
                let published = ratio.and_then(|ratio| ratio.published);
                cells.push(published.map_or_else(none, |value| Cell::number(&number(value, 3))));
                cells.push(ratio.and_then(|ratio| ratio.paper).map_or_else(none, interval));
                cells.push(ratio.map_or_else(none, |ratio| interval(ratio.fresh)));
            }
            rows.push(cells);
        }
    }
    let flag = if promotions.data.generated { " <strong class=\"flag\">Ours: generated ratings.</strong>" } else { "" };
    let caption = format!(
        "Arm-wise over existing: ratios of cumulative rewards with 95% intervals from pairs, of the means of the draws of test movies where there are several; bold where the interval does not contain 1. Intervals under the paper’s protocol do not know that the best of many settings was taken.{flag}"
    );
    Table { caption, head, rows }.html("plain")
}

fn interval(interval: Interval) -> Cell {
    let value = number(interval.value, 3);
    let decided = interval.low > 1.0 || interval.high < 1.0;
    let value = if decided { format!("<strong>{value}</strong>") } else { value };
    let ends = format!("{} to {}", number(interval.low, 3), number(interval.high, 3));
    Cell::html(format!("{value}<small>{ends}</small>")).class("n")
}
