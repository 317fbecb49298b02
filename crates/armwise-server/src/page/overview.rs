//! The first page: all campaigns, each with what is to be known of it at a glance.

use super::{
    desk::View,
    frame::{alerts, cards, count, duration, live, share, with_interval},
};
use crate::{access::now, name::Name, problem::Fault};
use armwise_charts::{escape, write};
use std::sync::Arc;

/// A campaign, or why it cannot be shown.
pub(super) type Shown = (Name, Result<Arc<View>, Fault>);

pub(super) fn overview(all: &[Shown]) -> String {
    let mut tiles = String::new();
    for (name, view) in all {
        let head = format!("<h2><a href=\"/campaigns/{name}\">{}</a></h2>\n", escape(name.as_str()));
        let inner = match view {
            Ok(view) => tile(view),
            Err(fault) => format!("<p class=\"said\">{}</p>\n", escape(&fault.to_string())),
        };
        write(&mut tiles, format_args!("<section class=\"tile\">\n{head}{inner}</section>\n"));
    }
    let content = if all.is_empty() {
        "<p class=\"absent\">There is no campaign yet. <code>PUT /v1/campaigns/NAME</code> makes one, and so does a file of \
         <code>armwise init</code> in the folder of the data.</p>\n"
            .to_owned()
    } else {
        format!("<div class=\"tiles\">\n{tiles}</div>\n")
    };
    format!("<h1>Campaigns</h1>\n{}", live("overview", &content))
}

fn tile(view: &View) -> String {
    let recent = &view.recent;
    let list = [
        ("Decisions", count(recent.rounds)),
        ("Pending", format!("{}<small>of {} arms</small>", count(recent.counts.pending), count(recent.counts.sends))),
        ("Reward of an arm", with_interval(recent.tally.mean, recent.tally.half_width)),
        ("Exploration", share(recent.exploration)),
        ("Model", age(view)),
    ];
    cards(&list) + &alerts(&recent.alerts, "")
}

/// How old the model is.
pub(super) fn age(view: &View) -> String {
    match view.learned {
        Some(at) => format!("{} old", duration(now().saturating_sub(at))),
        None => "new".to_owned(),
    }
}
