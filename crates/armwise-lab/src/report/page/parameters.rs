//! The parameters that were chosen for each algorithm.
//!
//! One table per problem with a column per setting of the problem, fresh protocol first, and one
//! table for both where they chose the same; a parameter at an end of the grid is marked, since the best value may lie
//! beyond.

use crate::report::figures::{in_order, tuned, under};
use crate::report::looks::{is_arm_wise, look, title_of};
use crate::results::{Comparison, Protocol, Results, Tuned};
use armwise_charts::{Cell, Table, compact, escape};

/// An algorithm's name with a piece of its line.
pub(super) fn swatch(name: &str) -> String {
    let title = escape(&title_of(name));
    let title = if is_arm_wise(name) { format!("<strong>{title}</strong>") } else { title };
    format!("<span class=\"key\">{}{title}</span>", look(name).swatch())
}

/// The tables of chosen parameters.
pub(super) fn html(results: &Results) -> String {
    let mut out = String::new();
    if let Some(clustered) = &results.clustered {
        let angles = clustered.angles.iter();
        let columns: Vec<Column<'_>> =
            angles.map(|angle| (angle.label.replace("pi", "π"), &*angle.comparisons)).collect();
        out.push_str(&tables("Clustered case", "by angle", &columns, &clustered.grid));
    }
    if let Some(promotions) = &results.promotions {
        for table_one in &promotions.tables {
            let rows = table_one.rows.iter();
            let columns: Vec<Column<'_>> = rows.map(|row| (format!("k = {}", row.k), &*row.comparisons)).collect();
            let by = if promotions.data.generated { "by k (generated ratings)" } else { "by k" };
            let problem = format!("Sending promotions, {}", table_one.reading);
            out.push_str(&tables(&problem, by, &columns, &promotions.grid));
        }
    }
    if out.is_empty() {
        return "<p class=\"absent\">No parameters were chosen in this run.</p>\n".to_owned();
    }
    let note = "An asterisk marks a value at an end of the grid, beyond which a better one may lie.";
    format!(
        "<p>Protocol fresh chooses on tuning trials of its own, protocol paper on the evaluated trials, which are the first of those tuning trials. {note}</p>\n{out}"
    )
}

/// A setting of the problem and its comparisons.
type Column<'r> = (String, &'r [Comparison]);

/// A table for each protocol, or one for both where they chose the same.
fn tables(problem: &str, by: &str, columns: &[Column<'_>], grid: &[f64]) -> String {
    let of = |protocol: Protocol, name: &str| {
        let columns: Vec<(String, &Comparison)> = columns
            .iter()
            .filter_map(|(label, comparisons)| Some((label.clone(), under(comparisons, protocol)?)))
            .collect();
        table(&format!("{problem}, {name}, {by}"), &columns, grid)
    };
    let both = "protocols fresh and paper";
    let same = of(Protocol::Fresh, both);
    if same == of(Protocol::Paper, both) {
        return same;
    }
    of(Protocol::Fresh, "protocol fresh") + &of(Protocol::Paper, "protocol paper")
}

fn table(caption: &str, columns: &[(String, &Comparison)], grid: &[f64]) -> String {
    let Some((_, first)) = columns.first() else { return String::new() };
    let mut head = vec![Cell::text("Algorithm"), Cell::text("Parameters")];
    head.extend(columns.iter().map(|(label, _)| Cell::text(label)));
    head.push(Cell::number("Settings tried"));
    let rows = first.algorithms.iter().filter(|one| !one.params.is_empty()).map(|one| {
        let names: Vec<&str> = in_order(&one.algorithm, &one.params).into_iter().map(|(symbol, _)| symbol).collect();
        let mut row = vec![Cell::html(swatch(&one.algorithm)), Cell::text(&names.join(", "))];
        row.extend(columns.iter().map(|(_, comparison)| {
            let values = tuned(comparison, &one.algorithm).map(|tuned| values(tuned, grid));
            Cell::text(&values.unwrap_or_else(|| "–".to_owned())).class("p")
        }));
        row.push(Cell::number(&one.settings.to_string()));
        row
    });
    Table { caption: escape(caption), head, rows: rows.collect() }.html("plain")
}

/// `1, 0.1*`: the values in the order of their names, those at an end of the grid with an asterisk.
fn values(tuned: &Tuned, grid: &[f64]) -> String {
    let low = grid.iter().copied().fold(f64::INFINITY, f64::min);
    let high = grid.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let at_end = |value: f64| value <= low * (1.0 + 1e-9) || value >= high * (1.0 - 1e-9);
    let one = |(_, value): (&str, f64)| format!("{}{}", compact(value), if at_end(value) { "*" } else { "" });
    in_order(&tuned.algorithm, &tuned.params).into_iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Mean;

    #[test]
    fn a_value_at_an_end_of_the_grid_is_marked() {
        let none = Mean { mean: 0.0, se: None, margin: None };
        let tuned = Tuned {
            algorithm: "c2ucb".to_owned(),
            params: [("lambda".to_owned(), 1.0), ("alpha".to_owned(), 0.01)].into(),
            settings: 25,
            trials: 1,
            cumulative_reward: none,
            regret: none,
        };
        assert_eq!(values(&tuned, &[0.01, 1.0, 100.0]), "1, 0.01*");
    }
}
