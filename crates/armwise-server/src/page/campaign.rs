//! The page of one campaign: what happened lately, what was learned, and what should be looked at.
//!
//! Sections that the campaign's report has too are the report's own, with the tables put behind the pictures.

use super::{
    actions,
    desk::View,
    frame::{FULL, HALF, alerts, cards, count, interval, live, panel, share, with_interval},
    overview::age,
    why,
};
use crate::name::Name;
use armwise_campaign::report::{Cohort, GroupLine, Recent, Section, sections};
use armwise_charts::{
    Bar, BarChart, Cell, Ink, NARROW, Part, Stack, StackChart, Table, escape, inline, number, percent,
};

/// The page; `may_act` says whether actions are offered.
pub(super) fn campaign(name: &Name, view: &View, may_act: bool) -> String {
    let head = format!("<p class=\"kicker\"><a href=\"/\">Campaigns</a></p>\n<h1>{}</h1>\n", escape(name.as_str()));
    let recent = &view.recent;
    head + &live(
        "now",
        &(summary(view)
            + &alerts(
                &recent.alerts,
                "No alert. Drift is told from 400 settled arms on, low entropy from 40 decisions on.",
            )),
    ) + &why::form(name, "")
        + &live("panels", &format!("<div class=\"panels\">\n{}</div>\n", panels(view)))
        + &live("actions", &actions::of_campaign(name, may_act))
        + &live("about", &about(view))
}

fn summary(view: &View) -> String {
    let recent = &view.recent;
    let counts = &recent.counts;
    cards(&[
        ("Decisions", count(recent.rounds)),
        ("Arms chosen", count(counts.sends)),
        ("Answered", count(counts.answered)),
        ("May still answer", count(counts.pending)),
        ("Reward of an arm", with_interval(recent.tally.mean, recent.tally.half_width)),
        ("Exploration", share(recent.exploration)),
        ("Model", format!("{}<small>entry {}</small>", age(view), count(view.seq))),
    ])
}

fn panels(view: &View) -> String {
    let recent = &view.recent;
    let mut out = reward(recent);
    let of_report = sections(&recent.report, HALF);
    let own = |id: &str| of_report.iter().find(|section| section.id == id).map_or(String::new(), shown);
    out.push_str(&own("uplift"));
    if recent.report.promotions.len() > 1 {
        out.push_str(&answers("promotions", "Promotions: sent and answered", &recent.report.promotions, ""));
        out.push_str(&own("promotions"));
    }
    out.push_str(&rows(view));
    out.push_str(&own("segments"));
    out.push_str(&exploration(recent));
    out.push_str(&probabilities(recent));
    out.push_str(&own("calibration"));
    out.push_str(&prices(recent));
    out.push_str(&own("effects"));
    out
}

/// A section of the report as a panel.
fn shown(section: &Section) -> String {
    let Section { id, title, text, chart, table } = section;
    let id = if *id == "promotions" { "promotion-rewards" } else { id };
    let title = if *title == "Promotions" { "Promotions: mean reward" } else { title };
    // Effects are a table with pictures in its rows, too wide for half a page.
    panel(id, title, id == "effects", text, chart, table)
}

fn chart(bars: &BarChart, vertical: bool, wide: f64, alt: &str) -> String {
    let draw = |width| if vertical { bars.vertical(width) } else { bars.horizontal(width) };
    inline(&draw(wide), &draw(NARROW), &format!("{alt}; the numbers are in the table below."))
}

fn table(names: &[&str], rows: Vec<Vec<Cell>>) -> String {
    let cell = |(place, name): (usize, &&str)| if place == 0 { Cell::text(name) } else { Cell::number(name) };
    Table { caption: String::new(), head: names.iter().enumerate().map(cell).collect(), rows }.html("full")
}

/// Rounds where they are few, otherwise times.
fn axis(recent: &Recent) -> &'static str {
    let few = recent.cohorts.iter().all(|cohort| cohort.rounds == 1);
    if few { "Round" } else { "Chosen at (UTC)" }
}

fn said(cohort: &Cohort) -> String {
    let half = cohort.tally.half_width.filter(|_| !cohort.open);
    let so_far = if cohort.open { " so far" } else { "" };
    format!("{}{so_far}", interval(cohort.mean_reward, half))
}

fn reward(recent: &Recent) -> String {
    if recent.cohorts.is_empty() {
        return panel("reward", "Reward", true, "<p class=\"absent\">Nothing was decided yet.</p>\n", "", "");
    }
    let bars = recent.cohorts.iter().map(|cohort| Bar {
        label: cohort.name.clone(),
        value: cohort.mean_reward,
        half_width: cohort.tally.half_width.filter(|_| !cohort.open),
        dot: None,
        open: cohort.open,
        tip: format!("{}: {}, {} arms", cohort.name, said(cohort), count(cohort.tally.sends)),
    });
    let bars = BarChart {
        labels: axis(recent).to_owned(),
        values: "Mean reward of an arm (95% interval)".to_owned(),
        bars: bars.collect(),
    };
    let rows = recent.cohorts.iter().map(|cohort| {
        let tally = &cohort.tally;
        vec![
            Cell::text(&cohort.name),
            Cell::text(if cohort.open { "open" } else { "settled" }),
            Cell::number(&count(tally.sends)),
            Cell::number(&count(tally.answered)),
            Cell::number(&count(tally.pending)),
            Cell::number(&said(cohort)),
        ]
    });
    let names = [axis(recent), "answers", "arms", "answered", "pending", "mean reward"];
    let open = if recent.cohorts.iter().any(|cohort| cohort.open) {
        " Pale bars are not settled: answers may still come, and whoever has not answered counts as silent so far."
    } else {
        ""
    };
    let text = format!("<p>The newest {} decisions.{open}</p>\n", count(recent.looked_at));
    let picture = chart(&bars, true, FULL, "Bars of the mean reward over time");
    panel("reward", "Reward over time", true, &text, &picture, &table(&names, rows.collect()))
}

/// Bars of what became of sends, one for each group.
fn answers(id: &str, title: &str, lines: &[GroupLine], text: &str) -> String {
    let part = |name: &str, ink, open| Part { name: name.to_owned(), ink, open };
    let parts = vec![
        part("answered", Ink::Blue, false),
        part("silent", Ink::Quiet, false),
        part("did not arrive", Ink::Orange, false),
        part("may still answer", Ink::Sky, true),
    ];
    let lost = |line: &GroupLine| line.tally.sends.saturating_sub(line.tally.delivered);
    let bars = lines.iter().map(|line| {
        let tally = &line.tally;
        Stack {
            label: line.name.clone(),
            lengths: [tally.answered, tally.silent, lost(line), tally.pending].map(|count| count as f64).to_vec(),
            tip: format!(
                "{}: {} sent, {} answered, {} silent, {} may still answer",
                line.name,
                count(tally.sends),
                count(tally.answered),
                count(tally.silent),
                count(tally.pending)
            ),
        }
    });
    let bars = StackChart { values: "Arms".to_owned(), parts, bars: bars.collect() };
    let alt = "Bars of how many arms were answered, silent and pending; the numbers are in the table below.";
    let picture = inline(&bars.scene(HALF), &bars.scene(NARROW), alt);
    let rows = lines.iter().map(|line| {
        let tally = &line.tally;
        vec![
            Cell::text(&line.name),
            Cell::number(&count(tally.sends)),
            Cell::number(&count(tally.answered)),
            Cell::number(&count(tally.silent)),
            Cell::number(&count(tally.pending)),
            Cell::number(&interval(tally.mean, tally.half_width)),
            Cell::number(&number(line.predicted, 4)),
        ]
    });
    let names = ["name", "sent", "answered", "silent", "pending", "mean reward", "predicted"];
    panel(id, title, false, text, &picture, &table(&names, rows.collect()))
}

fn rows(view: &View) -> String {
    let recent = &view.recent;
    if recent.rows.is_empty() {
        return String::new();
    }
    let text = format!(
        "<p>{} different values of <code>{}</code> were chosen; these most often.</p>\n",
        count(recent.different_rows),
        escape(&view.rules.customer)
    );
    answers("rows", "Most often chosen", &recent.rows, &text)
}

fn exploration(recent: &Recent) -> String {
    if recent.cohorts.is_empty() {
        return String::new();
    }
    let bars = recent.cohorts.iter().map(|cohort| Bar {
        label: cohort.name.clone(),
        value: Some(100.0 * cohort.exploration),
        half_width: None,
        dot: None,
        open: false,
        tip: format!("{}: {}", cohort.name, percent(cohort.exploration, 1)),
    });
    let bars = BarChart { labels: axis(recent).to_owned(), values: "Exploration (%)".to_owned(), bars: bars.collect() };
    let rows = recent.cohorts.iter().map(|cohort| {
        vec![
            Cell::text(&cohort.name),
            Cell::number(&count(cohort.tally.sends)),
            Cell::number(&percent(cohort.exploration, 1)),
        ]
    });
    let text = format!(
        "<p>The share of arms that were chosen to learn of them, not because their estimate was best: {} of the newest \
         decisions, over {} different rows{}.</p>\n",
        share(recent.exploration),
        count(recent.different_rows),
        recent.different_segments.map_or(String::new(), |many| format!(" in {} segments", count(many)))
    );
    let picture = chart(&bars, true, HALF, "Bars of the share of exploration over time");
    panel(
        "exploration",
        "Exploration",
        false,
        &text,
        &picture,
        &table(&[axis(recent), "arms", "exploration"], rows.collect()),
    )
}

fn probabilities(recent: &Recent) -> String {
    let Some(shares) = &recent.probabilities else {
        let text = "<p class=\"absent\">These decisions carry no probability.</p>\n";
        return panel("probabilities", "Inclusion probabilities", false, text, "", "");
    };
    let name = |at: usize| format!("{}–{}%", 10 * at, 10 * (at + 1));
    let bars = shares.tenths.iter().enumerate().map(|(at, &many)| Bar {
        label: name(at),
        value: Some(many as f64),
        half_width: None,
        dot: None,
        open: false,
        tip: format!("{}: {} arms", name(at), count(many)),
    });
    let bars = BarChart {
        labels: "Probability of being chosen".to_owned(),
        values: "Chosen arms".to_owned(),
        bars: bars.collect(),
    };
    let rows =
        shares.tenths.iter().enumerate().map(|(at, &many)| vec![Cell::text(&name(at)), Cell::number(&count(many))]);
    let text = format!(
        "<p>With which probability the chosen arms were chosen: {} on average, {} at least.</p>\n",
        percent(shares.mean, 1),
        percent(shares.least, 2)
    );
    let picture = chart(&bars, true, HALF, "Bars of how many arms were chosen with which probability");
    panel(
        "probabilities",
        "Inclusion probabilities",
        false,
        &text,
        &picture,
        &table(&["probability", "arms"], rows.collect()),
    )
}

fn prices(recent: &Recent) -> String {
    if recent.prices.is_empty() {
        return String::new();
    }
    let bars = recent.prices.iter().map(|price| Bar {
        label: price.of.clone(),
        value: Some(price.value),
        half_width: None,
        dot: None,
        open: false,
        tip: format!("{}: {}", price.of, number(price.value, 4)),
    });
    let bars = BarChart { labels: String::new(), values: "Gain of one more unit".to_owned(), bars: bars.collect() };
    let rows = recent.prices.iter().map(|price| vec![Cell::text(&price.of), Cell::number(&number(price.value, 4))]);
    let text =
        "<p>What one more unit of each limit would have added to the estimated reward of the newest round.</p>\n";
    let picture = chart(&bars, false, HALF, "Bars of the price of each limit");
    panel("prices", "Prices of limits", false, text, &picture, &table(&["limit", "gain per unit"], rows.collect()))
}

fn about(view: &View) -> String {
    let report = &view.recent.report;
    format!(
        "<p class=\"small\">Intervals are 95%. Times are UTC. The algorithm is {}. The numbers are those of the newest {} of \
         {} decisions, counts those of all; they follow from the journal up to entry {}, model <code>{}</code>, journal <code>{}</code>.</p>\n",
        escape(&report.algorithm),
        count(view.recent.looked_at),
        count(view.recent.rounds),
        view.seq,
        report.model,
        report.head
    )
}
