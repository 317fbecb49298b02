//! Figure 5: clusters touched in each round and the average reward, with rewards at once and in batches.
//!
//! Each way of feedback is a row with the same two panels, so that cause (clusters touched) and
//! effect (reward) stand side by side.

use super::{Figure, TITLES, angle_of, both, names_with_ties, series_of_curve, trials};
use crate::results::{Curve, Results, Touched};
use armwise_charts::{
    Cell, Ink, LinePanel, Point, Scale, Scene, Series, Table, WIDE, escape, grid, number, range, rounds_axis, write,
};

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let all = &results.clustered.as_ref()?.touched;
    let studies: Vec<&Touched> =
        all.iter().filter(|study| study.clusters_per_round.iter().any(|curve| !curve.points.is_empty())).collect();
    if studies.is_empty() {
        return None;
    }
    let (wide, narrow) = both(|width| scene(&studies, width));
    Some(Figure {
        number: 5,
        title: TITLES[4].to_owned(),
        caption: caption(&studies),
        alt: "Line charts of clusters touched per round and of average reward per round, one row per way that feedback arrives; the values of the first and the last round are in the table below.".to_owned(),
        wide,
        narrow,
        numbers: studies.iter().map(|study| numbers(study)).collect(),
    })
}

fn lines(curves: &[Curve]) -> Vec<Series> {
    let mut series: Vec<Series> =
        curves.iter().map(|curve| series_of_curve(curve, names_with_ties(curves, curve))).collect();
    let longest = series.iter().map(|one| one.points.len()).max().unwrap_or(0);
    for one in &mut series {
        one.every = if longest <= 12 { 1 } else { longest.div_ceil(8) };
    }
    series.sort_by_key(|one| one.bold);
    series
}

fn scene(studies: &[&Touched], width: f64) -> Scene {
    let columns = if width < WIDE { 1 } else { 2 };
    let (areas, end) = grid(studies.len() * 2, columns, width, 0.0, 330.0);
    let mut scene = Scene::new(width, end);
    for (place, study) in studies.iter().enumerate() {
        let last = study.clusters_per_round.iter().map(|curve| curve.points.len()).max().unwrap_or(1) as f64;
        let area = areas[2 * place];
        let touched = LinePanel {
            title: study.label.clone(),
            x: rounds_axis(last, area.width * 0.5),
            y_title: format!("Clusters touched, of {}", study.clusters),
            y: Scale::Linear { low: 0.0, high: study.clusters as f64 * 1.04 },
            series: lines(&study.clusters_per_round),
            dodge: 0.0,
        };
        touched.draw(&mut scene, area);
        let mut series = lines(&study.average_reward);
        if study.oracle_per_round.is_finite() {
            let mut oracle = Series::reference("Oracle", Ink::Text);
            let at = |x: f64| Point { x, y: study.oracle_per_round, error: 0.0, tip: String::new() };
            oracle.points = vec![at(1.0), at(last)];
            series.insert(0, oracle);
        }
        let area = areas[2 * place + 1];
        let reward = LinePanel {
            title: if columns == 1 { study.label.clone() } else { " ".to_owned() },
            x: rounds_axis(last, area.width * 0.5),
            y_title: "Average reward per round so far".to_owned(),
            y: range(&series, true),
            series,
            dodge: 0.0,
        };
        reward.draw(&mut scene, area);
    }
    scene
}

fn named(study: &Touched, curve: &Curve) -> String {
    series_of_curve(curve, names_with_ties(&study.clusters_per_round, curve)).label
}

fn caption(studies: &[&Touched]) -> String {
    let mut text = String::new();
    for study in studies {
        let first: Vec<String> = study
            .clusters_per_round
            .iter()
            .filter_map(|curve| Some(format!("{} {}", named(study, curve), number(curve.points.first()?.mean, 1))))
            .collect();
        write(
            &mut text,
            format_args!(
                "<b>{}</b> (angle {}, k = {}, {}). Clusters touched in round 1, of {}: {}. ",
                escape(&study.label),
                angle_of(study.angle),
                number(study.k as f64, 0),
                trials(study.trials),
                study.clusters,
                escape(&first.join(", "))
            ),
        );
    }
    text.push_str("Bands are 95% intervals. A policy that spreads its first choice learns about all clusters before the model is next updated; with exactly equal features the tie rule alone can do the spreading.");
    text
}

fn numbers(study: &Touched) -> String {
    let rows = study.clusters_per_round.iter().zip(&study.average_reward).map(|(touched, reward)| {
        let cell = |mean: Option<&crate::results::Mean>| {
            Cell::number(&mean.map_or("–".to_owned(), |mean| super::with_error(*mean, 2)))
        };
        vec![
            Cell::text(&named(study, touched)),
            cell(touched.points.first()),
            cell(touched.points.last()),
            cell(reward.points.first()),
            cell(reward.points.last()),
        ]
    });
    let head = ["Clusters, first round", "Clusters, last round", "Reward, first round", "Average reward, all rounds"];
    Table {
        caption: escape(&study.label),
        head: std::iter::once(Cell::text("Algorithm")).chain(head.map(Cell::number)).collect(),
        rows: rows.collect(),
    }
    .html("plain")
}
