//! Figure 4: the average reward per round so far, for each k and each reading of the paper.
//!
//! Rows are k, columns are readings, and the two panels of a row share their axis. The oracle knows every rating in
//! advance and earns several times as much. The caption gives its value, and it is not drawn where it would squeeze the
//! other lines together.

use super::{
    Figure, TITLES, both, data_line, generated_note, names_with_ties, series_of_curve, trials, with_error,
    with_interval,
};
use crate::report::looks::title_of;
use crate::results::{AverageReward, Promotions, Results};
use armwise_charts::{
    Cell, ErrorMark, Ink, LinePanel, Scale, Scene, Series, Table, WIDE, escape, grid, number, range, rounds_axis, write,
};

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let promotions = results.promotions.as_ref()?;
    let studies: Vec<&AverageReward> = ordered(promotions)
        .into_iter()
        .filter(|study| study.curves.iter().any(|curve| !curve.points.is_empty()))
        .collect();
    if studies.is_empty() {
        return None;
    }
    let (wide, narrow) = both(|width| scene(promotions, &studies, width));
    Some(Figure {
        number: 4,
        title: TITLES[3].to_owned(),
        caption: caption(promotions, &studies),
        alt: "Line charts of the average reward per round so far, one panel per k and reading, one line per algorithm; the values in the last round are in the table below.".to_owned(),
        wide,
        narrow,
        numbers: numbers(&studies),
    })
}

/// By k, then by reading.
fn ordered(promotions: &Promotions) -> Vec<&AverageReward> {
    let mut studies: Vec<&AverageReward> = promotions.average_reward.iter().collect();
    studies.sort_by_key(|study| study.k);
    studies
}

fn lines(study: &AverageReward) -> Vec<Series> {
    let mut series: Vec<Series> =
        study.curves.iter().map(|curve| series_of_curve(curve, names_with_ties(&study.curves, curve))).collect();
    for one in &mut series {
        one.every = usize::MAX;
        // Seven overlapping bands show nothing; the table has all margins.
        if !one.bold {
            one.error = ErrorMark::None;
        }
    }
    series.sort_by_key(|one| one.bold);
    series
}

/// The oracle's line, where it is near enough to be drawn.
fn oracle(study: &AverageReward, y: Scale) -> Option<Series> {
    let (Scale::Linear { high, .. } | Scale::Log { high, .. }) = y;
    let mut series = Series::reference("Oracle", Ink::Text);
    series.error = ErrorMark::None;
    series.points = super::points_over_rounds(&study.oracle, "Oracle");
    let highest = series.points.iter().map(|point| point.y).fold(f64::NEG_INFINITY, f64::max);
    (highest.is_finite() && highest <= 1.5 * high).then_some(series)
}

fn scene(promotions: &Promotions, studies: &[&AverageReward], width: f64) -> Scene {
    let mut scene = Scene::new(width, 0.0);
    let top = data_line(&mut scene, &promotions.data, 0.0);
    let readings = studies.iter().map(|study| study.reading.as_str()).collect::<std::collections::BTreeSet<_>>().len();
    let columns = if width < WIDE || readings < 2 && studies.len() < 2 { 1 } else { 2 };
    let (areas, end) = grid(studies.len(), columns, width, top, 290.0);
    scene.height = end;
    for (study, area) in studies.iter().zip(areas) {
        let row: Vec<Series> =
            studies.iter().filter(|other| other.k == study.k).flat_map(|other| lines(other)).collect();
        let mut y = range(&row, true);
        let mut series = lines(study);
        if let Some(oracle) = oracle(study, y) {
            series.insert(0, oracle);
            y = range(&[row, series.clone()].concat(), true);
        }
        let last = series.iter().flat_map(|one| &one.points).map(|point| point.x).fold(1.0, f64::max);
        let panel = LinePanel {
            title: format!("k = {}, {}", study.k, study.reading),
            x: rounds_axis(last, area.width * 0.5),
            y_title: "Average reward per round so far (stars)".to_owned(),
            y,
            series,
            dodge: 0.0,
        };
        panel.draw(&mut scene, area);
    }
    scene
}

fn caption(promotions: &Promotions, studies: &[&AverageReward]) -> String {
    let mut text = format!(
        "Fresh trials. The value in round t is the sum of rewards of rounds 1 to t, divided by t; a round sends {} promotions to k customers each, and a reward is a rating in stars or 0. Bands are 95% intervals of the two arm-wise algorithms, from the means of the draws of test movies where there are several; the margins of all are in the table below, and since all meet the same trials, the ratios of Table I say more about differences. <i>Independent</i>: a customer may get several promotions in a round, as the formula of S has it; <i>disjoint</i>: at most one, as the text has it. ",
        promotions.promotions
    );
    for study in studies.iter().take(1) {
        let early: Vec<String> = study
            .curves
            .iter()
            .filter_map(|curve| {
                Some(format!("{} {}", title_of(&curve.algorithm), number(curve.points.get(2)?.mean, 0)))
            })
            .collect();
        if !early.is_empty() {
            write(
                &mut text,
                format_args!(
                    "At k = {} ({}, {}) the averages after three rounds are: {}. ",
                    study.k,
                    escape(&study.reading),
                    trials(study.trials),
                    escape(&early.join(", "))
                ),
            );
        }
        let pairs: Vec<String> = study
            .early
            .iter()
            .filter(|pair| {
                matches!((pair.a.as_str(), pair.b.as_str()), ("pc2ucb", "c2ucb") | ("arm-wise-ts", "round-wise-ts"))
            })
            .map(|pair| format!("{} − {} {}", title_of(&pair.a), title_of(&pair.b), with_interval(pair.difference, 1)))
            .collect();
        if !pairs.is_empty() {
            write(
                &mut text,
                format_args!(
                    "Differences in the reward of the first {} rounds, on the same trials: {}. ",
                    study.early_rounds,
                    escape(&pairs.join("; "))
                ),
            );
        }
        if let Some(last) = study.oracle.last() {
            write(
                &mut text,
                format_args!(
                    "The oracle, which knows every rating in advance, would earn {} per round there.",
                    number(last.mean, 0)
                ),
            );
        }
    }
    text + &generated_note(&promotions.data)
}

fn numbers(studies: &[&AverageReward]) -> String {
    let mut head = vec![Cell::text("Algorithm")];
    head.extend(studies.iter().map(|study| Cell::number(&format!("k = {}, {}", study.k, study.reading))));
    let mut names: Vec<&str> = Vec::new();
    for curve in studies.iter().flat_map(|study| &study.curves) {
        if !names.contains(&curve.algorithm.as_str()) {
            names.push(&curve.algorithm);
        }
    }
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for name in names {
        let mut row = vec![Cell::text(&title_of(name))];
        for study in studies {
            let curve = study.curves.iter().find(|curve| curve.algorithm == name);
            let last = curve.and_then(|curve| curve.points.last());
            row.push(Cell::number(&last.map_or("–".to_owned(), |mean| with_error(*mean, 1))));
        }
        rows.push(row);
    }
    let mut row = vec![Cell::text("Oracle")];
    row.extend(
        studies
            .iter()
            .map(|study| Cell::number(&study.oracle.last().map_or("–".to_owned(), |mean| number(mean.mean, 1)))),
    );
    rows.push(row);
    Table { caption: "Average reward per round over all rounds, with 95% margins".to_owned(), head, rows }.html("plain")
}
