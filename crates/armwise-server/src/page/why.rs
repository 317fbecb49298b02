//! Why: one decision, or the last one about a customer or an item, by search.

use super::{
    actions,
    frame::{HALF, interval, name as shown_name, panel},
};
use crate::{name::Name, problem::Fault};
use armwise_campaign::{
    Campaign, Error,
    core::{Fate, Sent, Tag, Why, WhyPromotion, fates, why},
    live::Live,
};
use armwise_charts::{Bar, BarChart, Cell, NARROW, Table, escape, inline, number, write};

/// The search.
pub(super) fn form(name: &Name, question: &str) -> String {
    format!(
        "<form class=\"search\" role=\"search\" action=\"/campaigns/{name}/why\">\n<div><label for=\"q\">Why? A decision, a customer or an \
         item</label><input id=\"q\" name=\"q\" type=\"search\" required value=\"{}\"></div>\n\
         <button class=\"strong\">Explain</button></form>\n",
        escape(question)
    )
}

/// What was found.
pub(super) struct Found {
    /// The decision as a whole.
    decision: String,
    at: String,
    revoked: bool,
    closed: bool,
    rows: Vec<(Sent, Fate)>,
    /// The explanation of one of its arms.
    why: Option<Why>,
    tag: Tag,
}

/// Looks for a decision or for a row's last one.
pub(super) fn find(live: &Live, question: &str) -> Result<Found, Fault> {
    let question = question.trim();
    Ok(live.read(|campaign| found(campaign, live, question))?)
}

fn found(campaign: &Campaign, live: &Live, question: &str) -> Result<Found, Error> {
    let (tag, whole) = (campaign.tag(), live.round_of(question).ok());
    let (round, why) = if let Some(round) = whole {
        let rows = fates(campaign, round)?;
        let named = rows.iter().find(|(sent, _)| tag.name(sent.id) == question);
        let first = named.or(rows.first()).map(|(sent, _)| sent.customer.clone());
        (round, first.map(|customer| why(campaign, &customer, Some(round), None)).transpose()?)
    } else {
        let why = why(campaign, question, None, None)?;
        (why.round, Some(why))
    };
    let info = campaign.round(round)?;
    Ok(Found {
        decision: tag.name_round(round),
        at: info.at.clone(),
        revoked: info.revoked(),
        closed: info.closed(),
        rows: fates(campaign, round)?,
        why,
        tag,
    })
}

/// The most arms that a page lists.
const MOST: usize = 100;

/// The page of what was found.
pub(super) fn page(name: &Name, question: &str, found: &Found, may_act: bool) -> String {
    let state = match (found.revoked, found.closed) {
        (true, _) => "revoked",
        (false, true) => "closed",
        (false, false) => "open",
    };
    let mut out = head(name, question);
    write(
        &mut out,
        format_args!(
            "<p>Decision <code>{}</code>, {}, <span class=\"state\">{state}</span></p>\n",
            escape(&found.decision),
            escape(&found.at)
        ),
    );
    if let Some(why) = &found.why {
        if let Some(auto) = why.auto {
            write(&mut out, format_args!("<p>With {auto}, as the rewards told then.</p>\n"));
        }
        out.push_str("<div class=\"panels\">\n");
        for promotion in why.promotions.iter().take(6) {
            out.push_str(&explained(why, promotion));
        }
        out.push_str("</div>\n");
    }
    let rows = found.rows.iter().take(MOST).map(|(sent, fate)| {
        let link = format!(
            "<a href=\"/campaigns/{name}/why?q={}\">{}</a>",
            escape(&found.tag.name(sent.id)),
            shown_name(&sent.customer)
        );
        let fate = match (fate.reward(), fate.examined()) {
            (Some(reward), None) => format!("{}: {}", fate.name(), number(reward, 4)),
            (Some(reward), Some(q)) => {
                format!("{}: {}, examined with probability {}", fate.name(), number(reward, 4), number(q, 4))
            }
            (None, _) => fate.name().to_owned(),
        };
        let hold_out = if sent.hold_out { " (hold-out)" } else { "" };
        vec![
            Cell::html(link),
            Cell::text(&format!("{}{hold_out}", sent.promotion)),
            Cell::number(&sent.rank.to_string()),
            Cell::number(&number(sent.mean, 4)),
            Cell::number(&number(sent.width, 4)),
            Cell::number(&number(sent.score, 4)),
            Cell::text(&fate),
        ]
    });
    let numbers = ["rank", "estimate", "uncertainty", "score"].map(Cell::number);
    let mut names = vec![Cell::text("chosen"), Cell::text("promotion")];
    names.extend(numbers);
    names.push(Cell::text("became"));
    let table = Table { caption: String::new(), head: names, rows: rows.collect() }.html("full");
    let more = if found.rows.len() > MOST {
        format!("<p>The first {MOST} of {}.</p>\n", found.rows.len())
    } else {
        String::new()
    };
    out.push_str(&panel("arms", "The arms of this decision", true, &more, &table, ""));
    out.push_str(&actions::of_decision(name, &found.decision, (found.revoked, found.closed), &found.rows, may_act));
    out
}

fn head(name: &Name, question: &str) -> String {
    format!(
        "<p class=\"kicker\"><a href=\"/\">Campaigns</a> › <a href=\"/campaigns/{name}\">{name}</a></p>\n<h1>Why {}</h1>\n{}",
        shown_name(question),
        form(name, question)
    )
}

/// The page where nothing was found.
pub(super) fn nothing(name: &Name, question: &str, fault: &Fault) -> String {
    let said =
        if question.is_empty() { "Type a decision, a customer or an item.".to_owned() } else { fault.to_string() };
    format!("{}<p class=\"said\" role=\"status\">{}</p>\n", head(name, question), escape(&said))
}

fn explained(why: &Why, line: &WhyPromotion) -> String {
    let fate = match (line.rank, line.threshold) {
        (Some(rank), _) if line.hold_out => format!("Rank {rank} of the hold-out, which is not contacted."),
        (Some(rank), _) => format!("Chosen, rank {rank}."),
        (None, Some(threshold)) => format!("Not chosen: the lowest score that was is {}.", number(threshold, 4)),
        (None, None) => "Not chosen.".to_owned(),
    };
    let draw = line.draw.map_or(String::new(), |draw| format!(", draw {}", number(draw, 4)));
    let text = format!(
        "<p>{fate} Estimated reward {}, score {}{draw}.</p>\n",
        interval(Some(line.mean), Some(line.width)),
        number(line.score, 4),
    );
    let label = |feature: &str, own: &Option<String>| match own {
        Some(own) => format!("{feature}: {own}"),
        None => feature.to_owned(),
    };
    let bars = line.contributions.iter().map(|part| Bar {
        label: label(&part.feature, &part.own),
        value: Some(part.adds),
        half_width: None,
        dot: None,
        open: false,
        tip: format!("{}: {}", label(&part.feature, &part.own), number(part.adds, 4)),
    });
    let bars = BarChart { labels: String::new(), values: "Adds to the estimate".to_owned(), bars: bars.collect() };
    let alt = "Bars of what each feature adds to the estimate; the numbers are in the table below.";
    let picture = inline(&bars.horizontal(HALF), &bars.horizontal(NARROW), alt);
    let rows = line.contributions.iter().map(|part| {
        vec![
            Cell::text(&part.feature),
            Cell::text(part.own.as_deref().unwrap_or("")),
            Cell::number(&number(part.value, 4)),
            Cell::number(&number(part.adds, 4)),
        ]
    });
    let head = vec![Cell::text("feature"), Cell::text("own value"), Cell::number("x"), Cell::number("adds")];
    let table = Table { caption: String::new(), head, rows: rows.collect() }.html("full");
    let title = format!("{} for {}", why.customer, line.promotion);
    panel("why", &title, false, &text, &picture, &table)
}
