//! "Which algorithm should I use?": what the study of all problems says, in one table before the pictures.
//!
//! The table is about automatic parameters, which need nobody to tune them. The worst problem counts: whoever reads this does
//! not know which of the problems is his.

use crate::report::figures::{contender_name, relative};
use crate::results::{Contender, How, Results, Which};
use armwise_charts::{Cell, Table, escape, number};

/// The table, or a line that says that it is left out.
pub(super) fn html(results: &Results) -> String {
    let Some(which) = results.which.as_ref().filter(|which| !which.problems.is_empty()) else {
        return "<p class=\"absent\">This run did not compare all algorithms on all problems.</p>\n".to_owned();
    };
    format!(
        "<p>Regret with automatic parameters on {} problems, relative to the best tuned setting of any algorithm: 1 is as good as tuning everything on trials of your own, 2 loses twice as much. Take the smallest number in your row; the last rows say what happens if you do not know your row.</p>\n{}",
        which.problems.len(),
        table(which)
    )
}

fn table(which: &Which) -> String {
    let contenders = &which.problems[0].contenders;
    let mut head = vec![Cell::text("Problem")];
    head.extend(contenders.iter().map(|contender| Cell::number(&contender_name(contender))));
    let of = |contender: &Contender| contender.way(How::Automatic).map_or(f64::NAN, |way| way.relative.value);
    let mut rows = Vec::new();
    for problem in &which.problems {
        let least = problem.contenders.iter().map(of).fold(f64::INFINITY, f64::min);
        let mut row = vec![Cell::text(&problem.label)];
        row.extend(problem.contenders.iter().map(|contender| {
            let text = contender.way(How::Automatic).map_or("–".to_owned(), relative);
            let (value, rest) = text.split_once(' ').unwrap_or((&text, ""));
            let value = escape(value);
            let value = if of(contender) <= least { format!("<strong>{value}</strong>") } else { value };
            Cell::html(format!("{value}<small>{}</small>", escape(rest.trim_matches(['(', ')'])))).class("n")
        }));
        rows.push(row);
    }
    let over = |name: &str, take: &dyn Fn(&[f64]) -> f64| {
        let mut row = vec![Cell::text(name)];
        row.extend((0..contenders.len()).map(|place| {
            let all = which.problems.iter().filter_map(|problem| problem.contenders.get(place)).map(of);
            let all: Vec<f64> = all.filter(|value| value.is_finite()).collect();
            Cell::number(&if all.is_empty() { "–".to_owned() } else { number(take(&all), 2) })
        }));
        row
    };
    rows.push(over("worst problem", &|all| all.iter().copied().fold(0.0, f64::max)));
    rows.push(over("geometric mean", &|all| {
        let sum: f64 = all.iter().map(|value| value.max(1e-9).ln()).sum();
        (sum / all.len().max(1) as f64).exp()
    }));
    let caption = "Regret with automatic parameters, best tuned = 1, with 95% intervals of the paired ratios; the smallest in bold".to_owned();
    Table { caption, head, rows }.html("plain")
}
