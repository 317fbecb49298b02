//! What each column does, as a forest plot in the rows of a table for each promotion, all on one scale.

use super::{Parts, interval};
use crate::report::{EffectLine, Report};
use armwise_charts::{Cell, Estimate, Forest, Table, escape, write};

pub(super) fn effects(report: &Report) -> Parts {
    if report.effects.is_empty() {
        return ("<p class=\"absent\">Not enough rewards yet.</p>\n".to_owned(), String::new(), String::new());
    }
    let estimates = report.effects.iter().map(|line| Estimate {
        value: line.effect,
        half_width: line.half_width,
        tip: format!("{}: {}, {}: {}", line.promotion, line.column, line.change, shown(line)),
    });
    let forest = Forest::new(estimates.collect());
    let mut out = String::new();
    let mut cells = forest.cells();
    for of_one in report.effects.chunk_by(|a, b| a.promotion == b.promotion) {
        let head = vec![
            Cell::text("what changes"),
            Cell::html(forest.axis()).class("plot"),
            Cell::number("change of the reward"),
        ];
        let rows = of_one.iter().zip(&mut cells).map(|(line, plot)| row(line, plot)).collect();
        let table = Table { caption: String::new(), head, rows }.html("full forest");
        write(&mut out, format_args!("<h3>{}</h3>\n{table}", escape(&of_one[0].promotion)));
    }
    (introduction(report.effects.len()), out, String::new())
}

fn shown(line: &EffectLine) -> String {
    interval(Some(line.effect), Some(line.half_width))
}

fn row(line: &EffectLine, plot: String) -> Vec<Cell> {
    let effect = escape(&shown(line));
    let effect = if line.effect.abs() > line.half_width { format!("<strong>{effect}</strong>") } else { effect };
    let effect = if line.together { format!("{effect} ✓") } else { effect };
    vec![
        Cell::html(format!("{}: {}", escape(&line.column), escape(&line.change))),
        Cell::html(plot).class("plot"),
        Cell::html(effect).class("n"),
    ]
}

/// What the numbers mean, and what many intervals at once mean.
fn introduction(count: usize) -> String {
    let many = if count == 1 {
        "This is one interval; with 95% it holds the truth.".to_owned()
    } else {
        format!(
            "Of {count} intervals, about {} leave zero out by chance even if no column does anything: a bold one among \
             many may be luck. ✓: zero stays outside even if all {count} are widened so that they hold together.",
            (count as f64 / 20.0).round().max(1.0)
        )
    };
    format!(
        "<p>By how much the reward of a send changes with a customer's column, all else equal; dots are estimates, lines \
         95% intervals. Bold: zero is outside the interval.</p>\n<p>{many}</p>\n"
    )
}
